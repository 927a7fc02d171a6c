//! `criterion.attest`: a person says that a criterion holds. Agents cannot (I8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::commitment::{Commitment, CommitmentEvent};
use crate::domain::contract::{Attestation, Contract, CriterionId, GivenOn, Proof};
use crate::domain::digest::Digest;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::Candidate;
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ops::verification::subject::Subject;
use crate::ops::verification::{assess, execute};
use crate::rules::{contract, inputs};

use super::evaluate::refuse_closed;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose criterion it is
    #[serde(default)]
    task: Option<TaskRef>,
    /// The commitment whose criterion it is
    #[serde(default, alias = "commit")]
    commitment: Option<CommitmentRef>,
    criterion: CriterionId,
    /// What was looked at, for whoever reads the record
    note: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    attestation: Attestation,
}

pub struct Attest;

impl Op for Attest {
    const NAME: &'static str = "criterion.attest";
    const ABOUT: &'static str = "Attest as a person that a criterion holds";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Person;
    const POSITIONAL: &'static [&'static str] = &["criterion"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl criterion attest AC-2 --commitment c-9qd --note 'read the rendered page'",
        "only at a terminal, and without a session",
    )];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        contract::text("note", &input.note, 1)?;
        let attested = |call: &Call<'_>, contract: &Contract, digest: &Digest, subject: Result<Subject, Refusal>| {
            attested_kind(contract, &input.criterion)?;
            let note = input.note.clone();
            let (criterion, contract_digest) = (input.criterion.clone(), digest.clone());
            let (grade, at, given_on) = (call.caller.grade, call.now(), given_on(call, subject)?);
            Ok::<_, Refusal>(Attestation { criterion, contract_digest, note, grade, at, given_on })
        };
        match (&input.task, &input.commitment) {
            (Some(task), None) => {
                let held = call.task(task)?;
                let subject = Subject::of_task(call, &held.value);
                let attestation = attested(call, &held.value.contract, &held.value.contract_digest, subject)?;
                let event = TaskEvent::Attested { attestation: attestation.clone() };
                call.record::<Task>(&held.value.id, held.ver, event)?;
                Ok(Out { attestation })
            }
            (None, Some(commitment)) => {
                let held = call.commitment(commitment)?;
                refuse_closed(&held.value)?;
                let subject = Subject::of_commitment(call, &held.value);
                let attestation = attested(call, &held.value.contract, &held.value.contract_digest, subject)?;
                let event = CommitmentEvent::Attested { attestation: attestation.clone() };
                call.record::<Commitment>(&held.value.id, held.ver, event)?;
                Ok(Out { attestation })
            }
            _ => Err(Refusal::invalid("task", "exactly one of `task` and `commitment` is given")),
        }
    }
}

/// The tree that is judged where the attestation will count. None where there is no work tree to bind it to.
fn given_on(call: &Call<'_>, subject: Result<Subject, Refusal>) -> Result<Option<GivenOn>, Refusal> {
    let subject = match subject {
        Err(why) if why.code() == Code::NO_WORK_TREE => return Ok(None),
        subject => subject?,
    };
    let snapshot = assess::snapshot(call, &subject)?;
    let input = inputs::whole(&snapshot);
    let Candidate { head, clean, .. } = execute::candidate(call, &subject, &snapshot)?;
    Ok(Some(GivenOn { work_tree: subject.work_tree.display().to_string(), input, head, clean }))
}

fn attested_kind(contract: &Contract, id: &CriterionId) -> Result<(), Refusal> {
    match contract.criterion(id).map(|criterion| &criterion.proof) {
        Some(Proof::Attested { .. }) => Ok(()),
        Some(proof) => {
            let words = format!("`{id}` is shown by a `{}`, not by anybody's word", proof.kind());
            Err(Refusal::new(Code::CONFLICT, words).with("field", "criterion"))
        }
        None => {
            let known: Vec<_> = contract.criteria.iter().map(|criterion| &criterion.id).collect();
            Err(Refusal::new(Code::NOT_FOUND, format!("no criterion is `{id}`"))
                .with("field", "criterion")
                .with("known", known))
        }
    }
}
