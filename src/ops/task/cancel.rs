//! `task.cancel`: the task will not be done.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::custody;
use crate::ops::op::Op;
use crate::rules::contract;

use super::view::Whole;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// Why, for the record
    reason: String,
}

pub struct Cancel;

impl Op for Cancel {
    const NAME: &'static str = "task.cancel";
    const ABOUT: &'static str = "Give a task up: its holder or a person; its workspace stays until it is removed";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["contract_digest", "claim.since", "fence", "updated_at"];
    type In = In;
    type Out = Whole;

    fn run(call: &mut Call<'_>, input: In) -> Result<Whole, Refusal> {
        contract::text("reason", &input.reason, 1)?;
        let task = call.task(&input.task)?;
        let id = task.value.id.clone();
        if task.value.status.is_over() {
            let words = format!("task `{id}` is {}", task.value.status.name());
            return Err(Refusal::new(Code::CONFLICT, words).with("task", &id).with("status", task.value.status));
        }
        // A claim without a session waits for the agent it was handed to: it is somebody else's all the same.
        let of_another = task.value.claim.as_ref().is_some_and(|claim| claim.session != call.caller.session);
        if of_another && !call.caller.is_person() {
            return Err(custody::held(call, &task.value)?);
        }
        let task = call.record::<Task>(&id, task.ver, TaskEvent::Cancelled { reason: input.reason })?.value;
        Whole::of(call, task)
    }
}
