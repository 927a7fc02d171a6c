//! `criterion.judge`: a model or a reviewer says whether a criterion holds. It is recorded, and is never more than asserted.

use schemars::JsonSchema;
use serde::Deserialize;

use super::named::Named;
use super::recorded::{self, Out};
use crate::domain::contract::CriterionId;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskRef};
use crate::domain::refusal::Refusal;
use crate::domain::run::{HandedIn, Verdict};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ops::verification::assess;
use crate::rules::contract;
use crate::rules::verification::proofs::Finding;

/// Confidence is given in percent.
const MAX_CONFIDENCE: u8 = 100;

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
    /// That it holds; without it, that it does not
    #[serde(default)]
    holds: bool,
    /// How sure, in percent
    confidence: u8,
    /// What the judgement rests on
    reason: String,
}

pub struct Judge;

impl Op for Judge {
    const NAME: &'static str = "criterion.judge";
    const ABOUT: &'static str =
        "Record a judgement on a criterion, with its confidence; it is never more than asserted";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const POSITIONAL: &'static [&'static str] = &["criterion"];
    const HIDDEN: &'static [&'static str] = &["handed_in"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl criterion judge AC-4 --commitment c-9qd --holds --confidence 80 --reason 'reads well'",
        "counts only where the commitment's class asks for no evidence",
    )];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        contract::text("reason", &input.reason, 1)?;
        if input.confidence > MAX_CONFIDENCE {
            return Err(Refusal::invalid("confidence", "`confidence` is a percentage, from 0 to 100"));
        }
        let holder = Named::of(call, input.task.as_ref(), input.commitment.as_ref())?;
        holder.refuse_unless_open(call)?;
        let criterion = holder.criterion(&input.criterion)?.clone();
        recorded::refuse_unless_by(Self::NAME, &criterion)?;
        let subject = holder.subject(call)?;
        let snapshot = assess::snapshot(call, &subject)?;
        let verdict = if input.holds { Verdict::Pass } else { Verdict::Fail };
        let finding = Finding { verdict, reasons: vec![format!("judged at {} %: {}", input.confidence, input.reason)] };
        let said = HandedIn::Judgement { confidence: input.confidence, reason: input.reason };
        recorded::record(call, &holder, (&subject, &snapshot), &criterion, (finding, said))
    }
}
