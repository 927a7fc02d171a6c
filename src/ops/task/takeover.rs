//! `task.takeover`: a claim that ran out passes to somebody else, explicitly and on record.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::rules::{claim, contract};

use super::claiming;
use super::view::Claimed;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// Why it is taken over; kept on record
    reason: String,
}

pub struct Takeover;

impl Op for Takeover {
    const NAME: &'static str = "task.takeover";
    const ABOUT: &'static str = "Take over a claim that ran out; the fence rises and the former holder is shut out";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const ASKS_BASE: bool = true;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl task takeover t-7k2 --reason 'its session died'", "works once the lease or the session ran out")];
    type In = In;
    type Out = Claimed;

    fn run(call: &mut Call<'_>, input: In) -> Result<Claimed, Refusal> {
        contract::text("reason", &input.reason, 1)?;
        let task = call.task(&input.task)?;
        // A session is an agent's: a live claim is ended by a person with `task.release`, and then claimed.
        claiming::take(call, task, |facts| claim::take_over(facts, false, &input.reason))
    }
}
