//! Whose criteria they are: a task's or a commitment's. What both have in common stands here once.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::commitment::{Commitment, CommitmentEvent};
use crate::domain::contract::{Attestation, Contract, Criterion, CriterionId, Terms, Waiver};
use crate::domain::digest::Digest;
use crate::domain::id::{CommitmentId, CommitmentRef, TaskId, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::{Call, Held};
use crate::ops::commit::evaluate::refuse_closed;
use crate::ops::criterion::files::refuse_directories;
use crate::ops::custody;
use crate::ops::verification::subject::Subject;
use crate::ops::workspace::look;
use crate::rules::contract;

/// What holds the contract.
pub enum Holder {
    Task(Box<Held<Task>>),
    Commitment(Box<Held<Commitment>>),
}

/// A contract as it stands after a call.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Standing {
    pub task: Option<TaskId>,
    pub commitment: Option<CommitmentId>,
    pub revision: u32,
    pub contract_digest: Digest,
    pub criteria: Vec<Criterion>,
}

impl Holder {
    /// # Errors
    /// `INVALID_VALUE` unless exactly one is given; `NOT_FOUND`.
    pub fn of(call: &Call<'_>, task: Option<&TaskRef>, commitment: Option<&CommitmentRef>) -> Result<Self, Refusal> {
        match (task, commitment) {
            (Some(task), None) => Ok(Self::Task(Box::new(call.task(task)?))),
            (None, Some(commitment)) => Ok(Self::Commitment(Box::new(call.commitment(commitment)?))),
            _ => Err(Refusal::invalid("task", "exactly one of `task` and `commitment` is given")
                .next("task.list", "lists the tasks", json!({}))
                .next("commit.list", "lists the commitments", json!({}))),
        }
    }

    pub fn contract(&self) -> &Contract {
        match self {
            Self::Task(held) => &held.value.contract,
            Self::Commitment(held) => &held.value.contract,
        }
    }

    pub fn contract_digest(&self) -> &Digest {
        match self {
            Self::Task(held) => &held.value.contract_digest,
            Self::Commitment(held) => &held.value.contract_digest,
        }
    }

    pub fn terms(&self) -> &Terms {
        match self {
            Self::Task(held) => &held.value.terms,
            Self::Commitment(held) => &held.value.terms,
        }
    }

    /// # Errors
    /// `NOT_FOUND` with the criteria there are.
    pub fn criterion(&self, id: &CriterionId) -> Result<&Criterion, Refusal> {
        self.contract().criterion(id).ok_or_else(|| {
            let known: Vec<_> = self.contract().criteria.iter().map(|criterion| &criterion.id).collect();
            Refusal::new(Code::NOT_FOUND, format!("no criterion is `{id}`"))
                .with("field", "criterion")
                .with("known", known)
                .next("criterion.list", "shows the criteria there are", self.reference())
        })
    }

    /// The parameters that name it in a call.
    pub fn reference(&self) -> Value {
        match self {
            Self::Task(held) => json!({ "task": held.value.id }),
            Self::Commitment(held) => json!({ "commitment": held.value.id }),
        }
    }

    /// # Errors
    /// As looking up a task's or a commitment's work tree.
    pub fn subject(&self, call: &Call<'_>) -> Result<Subject, Refusal> {
        match self {
            Self::Task(held) => Subject::of_task(call, &held.value),
            Self::Commitment(held) => Subject::of_commitment(call, &held.value),
        }
    }

    /// Refuses what is over, and a claimed task that another session holds, or that the caller's own claim on ran out.
    ///
    /// # Errors
    /// `CONFLICT`, `TASK_HELD`, `CLAIM_REQUIRED`.
    pub fn refuse_unless_open(&self, call: &Call<'_>) -> Result<(), Refusal> {
        match self {
            Self::Commitment(held) => refuse_closed(&held.value),
            Self::Task(held) => {
                let task = &held.value;
                if task.status.is_over() {
                    let words = format!("task `{}` is {}", task.id, task.status.name());
                    return Err(Refusal::new(Code::CONFLICT, words).with("task", &task.id).with("status", task.status));
                }
                custody::refuse_strangers(call, task)
            }
        }
    }

    /// Refuses an agent that would change what came from a person.
    ///
    /// # Errors
    /// `PERSON_REQUIRED`.
    pub fn refuse_unless_own(&self, call: &Call<'_>, id: &CriterionId) -> Result<(), Refusal> {
        if self.terms().lets_change(id, &call.caller) {
            return Ok(());
        }
        let words = format!("criterion `{id}` came from a person, so that only a person changes or withdraws it");
        Err(self.ask_a_person(Refusal::new(Code::PERSON_REQUIRED, words).with("field", "criterion")))
    }

    /// Refuses an agent that would take from what a commitment requires, unless its own session opened it: nobody is let
    /// off what somebody else promised by whoever has to keep it.
    fn refuse_weakening(&self, call: &Call<'_>, new: &Contract) -> Result<(), Refusal> {
        let Self::Commitment(held) = self else { return Ok(()) };
        let weakened = held.value.contract.weakened_in(new);
        if weakened.is_empty() || held.value.terms.lets_weaken(&call.caller) {
            return Ok(());
        }
        let (who, opened_by) = match &held.value.terms.written_by {
            Some(session) => (format!("session `{session}`, which opened it, or a person"), Some(session)),
            None => ("a person".to_owned(), None),
        };
        let ids: Vec<_> = weakened.iter().map(|id| format!("`{id}`")).collect();
        let words = format!("commitment `{}` requires {}: only {who} takes that back", held.value.id, ids.join(", "));
        let refusal = Refusal::new(Code::PERSON_REQUIRED, words).with("field", "criterion").with("weakened", weakened);
        Err(self.ask_a_person(refusal.with("opened_by", opened_by)))
    }

    /// Warns if `contract` requires nothing any more, and says what decides instead.
    pub fn warn_if_nothing_required(&self, call: &mut Call<'_>, contract: &Contract) {
        if contract.requires_something() {
            return;
        }
        let words = match self {
            Self::Task(held) if held.value.commitment.is_some() && contract.criteria.is_empty() => {
                "no required criterion is left: the commitment's criteria decide"
            }
            Self::Commitment(held)
                if !held.value.terms.weakened_by_agent()
                    && (call.caller.is_person() || held.value.contract.weakened_in(contract).is_empty()) =>
            {
                "no required criterion is left: it cannot be closed as fulfilled"
            }
            Self::Task(_) | Self::Commitment(_) => "no required criterion is left: the base's required checks decide",
        };
        call.warn("nothing_required", words);
    }

    /// Adds the way to a person.
    pub fn ask_a_person(&self, refusal: Refusal) -> Refusal {
        match self {
            Self::Task(held) => refusal.next(
                "task.block",
                "asks the person",
                json!({
                    "task": held.value.id,
                    "reason": "the contract does not fit the work",
                    "question": "Should the contract be changed, or a criterion be waived?",
                }),
            ),
            Self::Commitment(held) => refusal.next(
                "commit.show",
                "shows the commitment, for the person who decides",
                json!({ "commitment": held.value.id }),
            ),
        }
    }

    /// Records `new` as the contract from now on.
    ///
    /// # Errors
    /// What `rules::contract` refuses; `CHECK_UNKNOWN`; `CONFLICT` if nothing changes.
    pub fn amend(self, call: &mut Call<'_>, new: Contract, reason: &str) -> Result<Standing, Refusal> {
        contract::text("reason", reason, 1)?;
        if new == *self.contract() {
            return Err(
                Refusal::new(Code::CONFLICT, "the contract says exactly that already").with("field", "criterion")
            );
        }
        contract::accept(&new)?;
        self.refuse_weakening(call, &new)?;
        call.knows_checks(&new)?;
        let top = match &self {
            Self::Task(held) => look::work_tree_for(call, Some(&held.value.id)).ok().map(|(top, _)| top),
            Self::Commitment(_) => None,
        };
        refuse_directories(call, top, &new, &self.contract().criteria)?;
        let reason = reason.to_owned();
        let held = match self {
            Self::Task(held) => {
                let event = TaskEvent::ContractAmended { contract: new, reason };
                Self::Task(Box::new(call.record::<Task>(&held.value.id, held.ver, event)?))
            }
            Self::Commitment(held) => {
                let event = CommitmentEvent::ContractAmended { contract: new, reason };
                Self::Commitment(Box::new(call.record::<Commitment>(&held.value.id, held.ver, event)?))
            }
        };
        call.propose("validate", "shows where each criterion stands under the new contract", held.reference());
        Ok(held.standing())
    }

    /// Records a person's word that a criterion holds.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn attest(self, call: &mut Call<'_>, attestation: Attestation) -> Result<(), Refusal> {
        match self {
            Self::Task(held) => {
                call.record::<Task>(&held.value.id, held.ver, TaskEvent::Attested { attestation }).map(drop)
            }
            Self::Commitment(held) => {
                let event = CommitmentEvent::Attested { attestation };
                call.record::<Commitment>(&held.value.id, held.ver, event).map(drop)
            }
        }
    }

    /// Records that a person waives a criterion.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn waive(self, call: &mut Call<'_>, waiver: Waiver) -> Result<(), Refusal> {
        match self {
            Self::Task(held) => {
                call.record::<Task>(&held.value.id, held.ver, TaskEvent::CriterionWaived { waiver }).map(drop)
            }
            Self::Commitment(held) => {
                let event = CommitmentEvent::CriterionWaived { waiver };
                call.record::<Commitment>(&held.value.id, held.ver, event).map(drop)
            }
        }
    }

    fn standing(&self) -> Standing {
        let (task, commitment) = match self {
            Self::Task(held) => (Some(held.value.id.clone()), None),
            Self::Commitment(held) => (None, Some(held.value.id.clone())),
        };
        Standing {
            task,
            commitment,
            revision: self.terms().revision,
            contract_digest: self.contract_digest().clone(),
            criteria: self.contract().criteria.clone(),
        }
    }
}
