//! `criterion.waive`: a person decides that a criterion need not be met for now. It satisfies nothing, runs out, and is
//! shown wherever it counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::holder::Holder;
use crate::domain::contract::{CriterionId, Waiver};
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskRef};
use crate::domain::refusal::Refusal;
use crate::domain::stamp::Length;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::rules::contract;

/// A waiver runs this long unless it says otherwise.
const DEFAULT_WAIVER: Length = Length::hours(24);
/// The longest a waiver runs: what is not needed for longer is withdrawn.
const MAX_WAIVER: Length = Length::hours(90 * 24);

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
    /// Why, for whoever reads the record
    reason: String,
    /// How long it counts, at most 90 days (default: 24h)
    #[serde(default)]
    ttl: Option<Length>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    waiver: Waiver,
}

pub struct Waive;

impl Op for Waive {
    const NAME: &'static str = "criterion.waive";
    const ABOUT: &'static str = "Decide as a person that a criterion need not be met for now";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Person;
    const POSITIONAL: &'static [&'static str] = &["criterion"];
    const HIDDEN: &'static [&'static str] = &["waiver.definition"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl criterion waive AC-2 --task t-7k2 --reason 'the staging server is down' --ttl 4h",
        "only at a terminal, and without a session",
    )];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        contract::text("reason", &input.reason, 1)?;
        let holder = Holder::of(call, input.task.as_ref(), input.commitment.as_ref())?;
        holder.refuse_unless_open(call)?;
        let criterion = holder.criterion(&input.criterion)?;
        let ttl = input.ttl.unwrap_or(DEFAULT_WAIVER);
        if ttl > MAX_WAIVER || ttl == Length::seconds(0) {
            return Err(Refusal::invalid("ttl", "a waiver runs for at least a second and at most 90 days"));
        }
        let waiver = Waiver {
            criterion: criterion.id.clone(),
            definition: criterion.digest(),
            reason: input.reason,
            until: call.now().plus(ttl),
            grade: call.caller.grade,
            at: call.now(),
        };
        holder.waive(call, waiver.clone())?;
        Ok(Out { waiver })
    }
}
