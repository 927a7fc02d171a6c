//! `task.block`: work cannot go on, or a person is asked.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::refusal::Refusal;
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
    /// What stands in the way
    reason: String,
    /// What a person is asked
    #[serde(default)]
    question: Option<String>,
}

pub struct Block;

impl Op for Block {
    const NAME: &'static str = "task.block";
    const ABOUT: &'static str = "Say that work cannot go on, and ask a person if one can help";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Claim;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["contract_digest", "claim.since", "fence", "updated_at"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl task block t-7k2 --reason 'two formats are possible' --question 'Which format do clients expect?'",
        "the claim stays; nothing can be finished until it is answered",
    )];
    type In = In;
    type Out = Whole;

    fn task(input: &In) -> Option<&TaskRef> {
        Some(&input.task)
    }

    fn run(call: &mut Call<'_>, input: In) -> Result<Whole, Refusal> {
        contract::text("reason", &input.reason, 1)?;
        if let Some(question) = &input.question {
            contract::text("question", question, 1)?;
        }
        let asked = input.question.is_some();
        let task = call.task(&input.task)?;
        let blocked = TaskEvent::Blocked { reason: input.reason, question: input.question };
        let task = call.record::<Task>(&task.value.id, task.ver, blocked)?.value;
        // A question is a person's to answer: the agent is shown other work meanwhile.
        match asked {
            true => call.propose("task.ready", "lists what can be done meanwhile", json!({})),
            false => onward::propose(call, &task, Came::Unverified)?,
        }
        Whole::of(call, task)
    }
}
