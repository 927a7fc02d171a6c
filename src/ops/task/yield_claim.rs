//! `task.yield`: the holder puts the task back, with a note for whoever comes next.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::refusal::Refusal;
use crate::domain::task::{ClaimEnd, Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::rules::contract;

use super::view::Whole;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// What was done, what is left, what to watch out for
    note: String,
}

pub struct Yield;

impl Op for Yield {
    const NAME: &'static str = "task.yield";
    const ABOUT: &'static str = "Give a task back with a note for the next holder; its workspace stays";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Claim;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["contract_digest", "claim.since", "fence", "updated_at"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl task yield t-7k2 --note 'parser done, printer left'", "the next claim is shown the note")];
    type In = In;
    type Out = Whole;

    fn task(input: &In) -> Option<&TaskRef> {
        Some(&input.task)
    }

    fn run(call: &mut Call<'_>, input: In) -> Result<Whole, Refusal> {
        contract::text("note", &input.note, 1)?;
        let task = call.task(&input.task)?;
        let fence = call.claim()?.fence;
        let ended = TaskEvent::ClaimEnded { fence, how: ClaimEnd::Yielded, note: Some(input.note) };
        let task = call.record::<Task>(&task.value.id, task.ver, ended)?.value;
        call.propose("task.next", "names the next task", json!({}));
        Whole::of(call, task)
    }
}
