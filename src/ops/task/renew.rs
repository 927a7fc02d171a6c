//! `task.renew`: the lease goes on.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::refusal::Refusal;
use crate::domain::stamp::Length;
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::rules::profile::MAX_LEASE;

use super::view::Claimed;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// How long the lease runs from now, at most 30 days (default: the profile's)
    #[serde(default)]
    lease: Option<Length>,
}

pub struct Renew;

impl Op for Renew {
    const NAME: &'static str = "task.renew";
    const ABOUT: &'static str = "Extend the lease on a task";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Claim;
    const POSITIONAL: &'static [&'static str] = &["task"];
    type In = In;
    type Out = Claimed;

    fn task(input: &In) -> Option<&TaskRef> {
        Some(&input.task)
    }

    fn run(call: &mut Call<'_>, input: In) -> Result<Claimed, Refusal> {
        let task = call.task(&input.task)?;
        let lease = input.lease.map_or_else(|| call.lease(), Ok)?;
        if lease > MAX_LEASE {
            return Err(Refusal::invalid("lease", format!("a lease runs at most {MAX_LEASE}, not {lease}")));
        }
        let renewed = TaskEvent::ClaimRenewed { fence: call.claim()?.fence, until: call.now().plus(lease) };
        let task = call.record::<Task>(&task.value.id, task.ver, renewed)?.value;
        let claim = task.claim.as_ref().expect("a renewed claim stands");
        Ok(Claimed::of(&task, claim))
    }
}
