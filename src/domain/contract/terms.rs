//! A contract as it stands: which revision, what came from a person, and what a person waived.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Contract, Criterion, CriterionId};
use crate::domain::caller::{Caller, Grade};
use crate::domain::digest::Digest;
use crate::domain::event::Meta;
use crate::domain::id::SessionId;
use crate::domain::stamp::Stamp;

/// What happened to a contract since it was written. Folded from who recorded what, never taken from a caller's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    /// 1 for the contract as it was written; one more with every amendment.
    pub revision: u32,
    /// Whether a person wrote the contract: then goal, scope, constraints and limits are changed by a person only.
    pub by_person: bool,
    /// The criteria that came from a person: they are changed by a person only.
    pub criteria_by_person: Vec<CriterionId>,
    /// The session that wrote it; none for a person, and for a caller without a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_by: Option<SessionId>,
    /// What an amendment took from what was required, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<Weakening>,
    /// Newest last. One that ran out, or whose criterion was changed since, no longer counts.
    pub waivers: Vec<Waiver>,
}

/// A required criterion that an amendment took out, made optional, or gave another proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Weakening {
    pub criterion: CriterionId,
    /// Who did it: `person`, or the agent's name.
    pub by: String,
    /// Whether that was a person: then nothing is demanded in its place.
    pub by_person: bool,
    pub reason: String,
    /// The revision that it came with.
    pub revision: u32,
}

/// A person's decision that a criterion need not be met for now. It satisfies nothing: it is shown wherever it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waiver {
    pub criterion: CriterionId,
    /// Digest of the criterion as it was then: one that was changed is not waived any more.
    pub definition: Digest,
    pub reason: String,
    pub until: Stamp,
    pub grade: Grade,
    pub at: Stamp,
}

impl Terms {
    /// The contract was written.
    pub fn written(&mut self, contract: &Contract, meta: &Meta) {
        self.revision = 1;
        self.by_person = meta.caller.is_person();
        self.written_by.clone_from(&meta.caller.session);
        self.criteria_by_person = if self.by_person { ids(contract) } else { Vec::new() };
    }

    /// `old` became `new`, for `reason`. What a person touched is a person's from then on; what is gone is forgotten, but
    /// for that it was required.
    pub fn amended(&mut self, old: &Contract, new: &Contract, reason: &str, meta: &Meta) {
        self.revision = self.revision.saturating_add(1);
        let by = if meta.caller.is_person() {
            "person".to_owned()
        } else {
            meta.caller.agent.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string)
        };
        self.weakened.extend(old.weakened_in(new).into_iter().map(|criterion| Weakening {
            criterion,
            by: by.clone(),
            by_person: meta.caller.is_person(),
            reason: reason.to_owned(),
            revision: self.revision,
        }));
        let touched = |criterion: &&Criterion| old.criterion(&criterion.id) != Some(criterion);
        if meta.caller.is_person() {
            self.criteria_by_person.extend(new.criteria.iter().filter(touched).map(|criterion| criterion.id.clone()));
            self.criteria_by_person.sort();
            self.criteria_by_person.dedup();
        }
        self.criteria_by_person.retain(|id| new.criterion(id).is_some());
    }

    /// Whether `caller` may change or withdraw the criterion `id`.
    pub fn lets_change(&self, id: &CriterionId, caller: &Caller) -> bool {
        caller.is_person() || !self.criteria_by_person.contains(id)
    }

    /// Whether `caller` may take from what is required: the session that wrote it, or a person.
    pub fn lets_weaken(&self, caller: &Caller) -> bool {
        caller.is_person() || (self.written_by.is_some() && self.written_by == caller.session)
    }

    /// Whether anything was taken from what is required that no person took.
    pub fn weakened_by_agent(&self) -> bool {
        self.weakened.iter().any(|one| !one.by_person)
    }

    /// The waiver of `criterion` that counts at `now`.
    pub fn waiver(&self, criterion: &Criterion, now: Stamp) -> Option<&Waiver> {
        let newest = self.waivers.iter().rev().find(|waiver| waiver.criterion == criterion.id)?;
        (newest.until > now && newest.definition == criterion.digest()).then_some(newest)
    }
}

fn ids(contract: &Contract) -> Vec<CriterionId> {
    contract.criteria.iter().map(|criterion| criterion.id.clone()).collect()
}
