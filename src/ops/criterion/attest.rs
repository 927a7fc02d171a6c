//! `criterion.attest`: a person says that a criterion holds. Agents cannot (I8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::holder::Holder;
use super::named::Named;
use super::recorded;
use crate::domain::contract::{Attestation, CriterionId, GivenOn};
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::Candidate;
use crate::ops::call::Call;
use crate::ops::commit::evaluate::refuse_closed;
use crate::ops::op::Op;
use crate::ops::verification::subject::Subject;
use crate::ops::verification::{assess, execute};
use crate::rules::{contract, inputs};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose criterion it is, its own or its commitment's (default: inside a task's worktree, that task)
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
        let holder = Named::of(call, input.task.as_ref(), input.commitment.as_ref())?;
        // A finished task may still be attested: what is published is judged once more.
        if let Holder::Commitment(held) = &holder.holder {
            refuse_closed(&held.value)?;
        }
        let criterion = holder.criterion(&input.criterion)?.clone();
        recorded::refuse_unless_by(Self::NAME, &criterion)?;
        let given_on = given_on(call, holder.subject(call))?;
        let attestation = Attestation {
            criterion: criterion.id,
            contract_digest: holder.contract_digest().clone(),
            note: input.note,
            grade: call.caller.grade,
            at: call.now(),
            given_on,
        };
        holder.holder.attest(call, attestation.clone())?;
        Ok(Out { attestation })
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
