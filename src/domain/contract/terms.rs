//! A contract as it stands: which revision, what came from a person, and what a person waived.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Contract, Criterion, CriterionId};
use crate::domain::caller::{Caller, Grade};
use crate::domain::digest::Digest;
use crate::domain::event::Meta;
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
    /// Newest last. One that ran out, or whose criterion was changed since, no longer counts.
    pub waivers: Vec<Waiver>,
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
        self.criteria_by_person = if self.by_person { ids(contract) } else { Vec::new() };
    }

    /// `old` became `new`. What a person touched is a person's from then on; what is gone is forgotten.
    pub fn amended(&mut self, old: &Contract, new: &Contract, meta: &Meta) {
        self.revision = self.revision.saturating_add(1);
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

    /// The waiver of `criterion` that counts at `now`.
    pub fn waiver(&self, criterion: &Criterion, now: Stamp) -> Option<&Waiver> {
        let newest = self.waivers.iter().rev().find(|waiver| waiver.criterion == criterion.id)?;
        (newest.until > now && newest.definition == criterion.digest()).then_some(newest)
    }
}

fn ids(contract: &Contract) -> Vec<CriterionId> {
    contract.criteria.iter().map(|criterion| criterion.id.clone()).collect()
}
