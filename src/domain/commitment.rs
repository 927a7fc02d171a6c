//! A commitment: a durable obligation that outlives sessions and closes with a verdict and evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::{Attestation, Contract, CriterionId, EvidenceClass, Strength, Terms, Waiver};
use super::digest::Digest;
use super::event::Meta;
use super::fold::{Entity, Index, Kind};
use super::id::{CommitmentId, EvidenceId};
use super::stamp::Stamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body")]
pub enum CommitmentEvent {
    #[serde(rename = "commit.opened")]
    Opened { objective: String, contract: Contract, class: EvidenceClass, until: Stamp },
    #[serde(rename = "commit.evaluated")]
    Evaluated { met: Vec<CriterionId>, unmet: Vec<CriterionId>, evidence: Vec<EvidenceId> },
    #[serde(rename = "commit.attested")]
    Attested { attestation: Attestation },
    /// The whole contract as it is from now on, and why.
    #[serde(rename = "commit.contract_amended")]
    ContractAmended { contract: Contract, reason: String },
    #[serde(rename = "commit.criterion_waived")]
    CriterionWaived { waiver: Waiver },
    #[serde(rename = "commit.closed")]
    Closed {
        verdict: Closing,
        strength: Strength,
        evidence: Vec<EvidenceId>,
        contract_digest: Digest,
        note: Option<String>,
    },
}

/// How a commitment ends. Only `fulfilled` has to be earned; every other verdict is always recordable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    Fulfilled,
    Partial,
    Failed,
    Abandoned,
    Superseded,
    Expired,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Active,
    /// At least one criterion was met when last evaluated.
    Satisfying,
    Closed,
}

impl Phase {
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Active => "active",
            Phase::Satisfying => "satisfying",
            Phase::Closed => "closed",
        }
    }
}

/// A commitment as the ledger knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Commitment {
    pub id: CommitmentId,
    pub objective: String,
    pub phase: Phase,
    pub class: EvidenceClass,
    pub contract: Contract,
    pub contract_digest: Digest,
    pub terms: Terms,
    /// When it should be closed as expired if nothing else closed it.
    pub until: Stamp,
    pub met: Vec<CriterionId>,
    pub unmet: Vec<CriterionId>,
    pub attestations: Vec<Attestation>,
    pub closed: Option<Closed>,
    pub opened_at: Stamp,
    pub updated_at: Stamp,
}

/// The end of a commitment, with what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Closed {
    pub verdict: Closing,
    pub strength: Strength,
    pub evidence: Vec<EvidenceId>,
    pub note: Option<String>,
    pub at: Stamp,
}

impl Entity for Commitment {
    type Event = CommitmentEvent;
    type Id = CommitmentId;
    const KIND: Kind = Kind::Commitment;

    fn blank(id: CommitmentId) -> Self {
        Self {
            id,
            objective: String::new(),
            phase: Phase::Active,
            class: EvidenceClass::Verified,
            contract: Contract::default(),
            contract_digest: Contract::default().digest(),
            terms: Terms::default(),
            until: Stamp(0),
            met: Vec::new(),
            unmet: Vec::new(),
            attestations: Vec::new(),
            closed: None,
            opened_at: Stamp(0),
            updated_at: Stamp(0),
        }
    }

    fn apply(mut self, event: &CommitmentEvent, meta: &Meta) -> Self {
        match event {
            CommitmentEvent::Opened { objective, contract, class, until } => {
                self.objective.clone_from(objective);
                self.terms.written(contract, meta);
                self.contract_digest = contract.digest();
                self.contract = contract.clone();
                self.class = *class;
                self.until = *until;
                self.opened_at = meta.at;
                self.unmet = contract.criteria.iter().map(|criterion| criterion.id.clone()).collect();
            }
            CommitmentEvent::Evaluated { met, unmet, evidence: _ } => {
                self.met.clone_from(met);
                self.unmet.clone_from(unmet);
                if self.phase != Phase::Closed {
                    self.phase = if met.is_empty() { Phase::Active } else { Phase::Satisfying };
                }
            }
            CommitmentEvent::Attested { attestation } => self.attestations.push(attestation.clone()),
            CommitmentEvent::ContractAmended { contract, reason } => {
                self.terms.amended(&self.contract, contract, reason, meta);
                self.contract_digest = contract.digest();
                self.contract = contract.clone();
                self.met.retain(|id| contract.criterion(id).is_some());
                self.unmet =
                    contract.criteria.iter().map(|one| one.id.clone()).filter(|id| !self.met.contains(id)).collect();
            }
            CommitmentEvent::CriterionWaived { waiver } => self.terms.waivers.push(waiver.clone()),
            CommitmentEvent::Closed { verdict, strength, evidence, contract_digest: _, note } => {
                self.phase = Phase::Closed;
                // The first close stands: a second one can only come from another clone's ledger.
                self.closed.get_or_insert_with(|| Closed {
                    verdict: *verdict,
                    strength: *strength,
                    evidence: evidence.clone(),
                    note: note.clone(),
                    at: meta.at,
                });
            }
        }
        self.updated_at = meta.at;
        self
    }

    fn index(&self) -> Index {
        Index { status: self.phase.name(), rank: self.opened_at.ms(), until: Some(self.until.ms()), ..Index::default() }
    }
}
