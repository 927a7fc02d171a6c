//! `task.claim`: one winner, and losers are told no.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::rules::claim;

use super::claiming;
use super::view::Claimed;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
}

pub struct Claim;

impl Op for Claim {
    const NAME: &'static str = "task.claim";
    const ABOUT: &'static str = "Take the exclusive lease on a task";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const ASKS_BASE: bool = true;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl task claim t-7k2", "with KCTL_SESSION exported; otherwise name the session with `--session`")];
    type In = In;
    type Out = Claimed;

    fn run(call: &mut Call<'_>, input: In) -> Result<Claimed, Refusal> {
        let task = call.task(&input.task)?;
        claiming::take(call, task, claim::claim)
    }
}
