//! `task.release`: a claim ends. The holder ends its own; a person ends anybody's.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{ClaimEnd, Task, TaskEvent};
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
    #[serde(default)]
    reason: Option<String>,
}

pub struct Release;

impl Op for Release {
    const NAME: &'static str = "task.release";
    const ABOUT: &'static str = "End a claim: the holder its own, a person anybody's; the workspace stays";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["contract_digest", "claim.since", "fence", "updated_at"];
    type In = In;
    type Out = Whole;

    fn run(call: &mut Call<'_>, input: In) -> Result<Whole, Refusal> {
        if let Some(reason) = &input.reason {
            contract::text("reason", reason, 1)?;
        }
        let task = call.task(&input.task)?;
        let id = task.value.id.clone();
        let Some(claim) = &task.value.claim else {
            return Err(Refusal::new(Code::CONFLICT, format!("task `{id}` is not claimed")).with("task", &id));
        };
        if claim.session != call.caller.session && !call.caller.is_person() {
            return Err(custody::held(call, &task.value)?);
        }
        let ended = TaskEvent::ClaimEnded { fence: claim.fence, how: ClaimEnd::Released, note: input.reason };
        let task = call.record::<Task>(&id, task.ver, ended)?.value;
        Whole::of(call, task)
    }
}
