//! `task.unblock`: what stood in the way is gone. A question to a person is answered by a person.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::rules::contract;

use super::onward::{self, Came};
use super::view::Whole;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// The answer, or what changed
    note: String,
}

pub struct Unblock;

impl Op for Unblock {
    const NAME: &'static str = "task.unblock";
    const ABOUT: &'static str = "Say what changed, or answer the question, so that work goes on";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["contract_digest", "claim.since", "fence", "updated_at"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl task unblock t-7k2 --note 'clients expect RFC 3339'", "a person answers at a terminal")];
    type In = In;
    type Out = Whole;

    fn run(call: &mut Call<'_>, input: In) -> Result<Whole, Refusal> {
        contract::text("note", &input.note, 1)?;
        let task = call.task(&input.task)?;
        let id = task.value.id.clone();
        let Some(block) = &task.value.block else {
            return Err(Refusal::new(Code::CONFLICT, format!("task `{id}` is not blocked")).with("task", &id));
        };
        if block.question.is_some() && !call.caller.is_person() {
            return Err(crate::ops::custody::person_required(&call.caller)
                .with("task", &id)
                .with("question", &block.question));
        }
        let task = call.record::<Task>(&id, task.ver, TaskEvent::Unblocked { note: input.note })?.value;
        onward::propose(call, &task, Came::Unverified)?;
        Whole::of(call, task)
    }
}
