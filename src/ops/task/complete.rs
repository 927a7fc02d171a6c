//! `task.complete`: the agent says it is done. That is a claim, and is recorded as nothing more (I3).

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
    /// What was done, in a few lines
    summary: String,
}

pub struct Complete;

impl Op for Complete {
    const NAME: &'static str = "task.complete";
    const ABOUT: &'static str = "Claim that the implementation is done; only evidence makes it so";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Claim;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["contract_digest", "claim.since", "fence", "updated_at"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl task complete t-7k2 --summary 'negative numbers parse'", "then `kctl task finish t-7k2`")];
    type In = In;
    type Out = Whole;

    fn task(input: &In) -> Option<&TaskRef> {
        Some(&input.task)
    }

    fn run(call: &mut Call<'_>, input: In) -> Result<Whole, Refusal> {
        contract::text("summary", &input.summary, 1)?;
        let task = call.task(&input.task)?;
        let claimed = TaskEvent::CompletionClaimed { fence: call.claim()?.fence, summary: input.summary };
        let task = call.record::<Task>(&task.value.id, task.ver, claimed)?.value;
        call.propose("validate", "makes evidence: runs the checks that are due", json!({ "task": task.id }));
        onward::propose(call, &task, Came::Verified)?;
        Whole::of(call, task)
    }
}
