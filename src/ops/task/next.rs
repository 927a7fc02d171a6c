//! `task.next`: the most urgent task that is ready, claimed in the same step if that is wanted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskId;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::Task;
use crate::ops::call::{Call, Held, held};
use crate::ops::fault;
use crate::ops::op::Op;
use crate::rules::claim;

use super::claiming;
use super::view::{Claimed, Line};

/// How many ready tasks are tried for one whose paths nobody works on.
const MAX_TRIED: u32 = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Claim it as well
    #[serde(default)]
    claim: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    task: Line,
    /// The claim, if it was asked for.
    claim: Option<Claimed>,
}

pub struct NextTask;

impl Op for NextTask {
    const NAME: &'static str = "task.next";
    const ABOUT: &'static str = "Name the most urgent task that is ready, and claim it if asked";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const ASKS_BASE: bool = true;
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl task next --claim", "picks and claims in one step, so that no two agents pick the same")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let rows = call.views()?.ready(None, MAX_TRIED).map_err(fault::of_ledger)?;
        let mut tasks = rows.iter().map(held::<Task>).collect::<Result<Vec<_>, _>>()?.into_iter();
        let Some(first) = tasks.next() else { return Err(nothing_ready()) };
        if !input.claim {
            call.propose("task.claim", "takes the lease on it", json!({ "task": first.value.id }));
            return Ok(Out { task: Line::of(call, first.value)?, claim: None });
        }
        let id = first.value.id.clone();
        match claiming::take(call, first, claim::claim) {
            // Somebody works on the same paths: the next one is as good, and more so.
            Err(overlap) if overlap.code() == Code::SCOPE_OVERLAP => next_free(call, tasks, overlap),
            claimed => taken(call, &id, claimed?),
        }
    }
}

/// Claims the first of `tasks` whose paths are free; refuses with `overlap` where there is none.
fn next_free(call: &mut Call<'_>, tasks: impl Iterator<Item = Held<Task>>, overlap: Refusal) -> Result<Out, Refusal> {
    for task in tasks {
        let id = task.value.id.clone();
        match claiming::take(call, task, claim::claim) {
            Err(refusal) if refusal.code() == Code::SCOPE_OVERLAP => {}
            claimed => return taken(call, &id, claimed?),
        }
    }
    Err(overlap)
}

fn taken(call: &Call<'_>, id: &TaskId, claimed: Claimed) -> Result<Out, Refusal> {
    let task = call.load_or_blank::<Task>(id)?.value;
    Ok(Out { task: Line::of(call, task)?, claim: Some(claimed) })
}

fn nothing_ready() -> Refusal {
    Refusal::new(Code::NOTHING_READY, "no task is ready")
        .next("task.list", "shows what is claimed, blocked or waits", json!({}))
        .next("task.create", "writes down a new one", json!({ "title": "what is to be done" }))
}
