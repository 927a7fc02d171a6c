//! By what progress is told: the tasks that the session holds, the runs for them, and, where it is asked for, the tree.

use crate::domain::digest::Digest;
use crate::domain::fold::Kind;
use crate::domain::id::{EvidenceId, SessionId};
use crate::domain::refusal::Refusal;
use crate::domain::run::Run;
use crate::domain::stagnation::Ground;
use crate::domain::task::Task;
use crate::ops::call::{Call, Held};
use crate::ops::fault;
use crate::ops::session::renew::held_by;
use crate::ops::verification::execute;
use crate::ports::ledger::Query;
use crate::rules::inputs;

/// How many of the newest runs of a task are looked at, and how many of its tasks.
const MAX_RUNS: u32 = 8;
const MAX_TASKS: usize = 8;

/// What stands for `session`, the tree left out.
pub fn of(call: &Call<'_>, session: &SessionId) -> Result<(Ground, Vec<Held<Task>>), Refusal> {
    let mut tasks = held_by(call, session)?;
    tasks.truncate(MAX_TASKS);
    let mut seen = Vec::new();
    for held in newest_runs(call, &tasks)? {
        seen.push((held.value.id, held.ver));
    }
    seen.sort();
    let states: Vec<_> = tasks.iter().map(|held| state(&held.value)).collect();
    let ground = Ground { tasks: Digest::of_json(&states), evidence: Digest::of_json(&seen), tree: None };
    Ok((ground, tasks))
}

/// What of a task is progress when it changes. A renewed lease and a refused finish are none.
fn state(task: &Task) -> impl serde::Serialize + use<> {
    let blocked = task.block.as_ref().map(|block| block.since);
    let claimed_done = task.completion.as_ref().map(|completion| completion.at);
    let decided = (task.attestations.len(), task.terms.waivers.len());
    let contract = (task.contract_digest.clone(), task.children.clone());
    (task.id.clone(), task.status, task.fence, contract, blocked, claimed_done, decided)
}

fn newest_runs(call: &Call<'_>, tasks: &[Held<Task>]) -> Result<Vec<Held<Run>>, Refusal> {
    let newest = Query { limit: MAX_RUNS, ..Query::all(Kind::Run) };
    if tasks.is_empty() {
        let mut runs = call.query::<Run>(&newest)?;
        runs.retain(|run| run.value.subject.as_ref().is_none_or(|subject| subject.task.is_none()));
        return Ok(runs);
    }
    let mut runs = Vec::new();
    for task in tasks {
        runs.extend(call.query::<Run>(&Query { parent: Some(task.value.id.to_string()), ..newest.clone() })?);
    }
    Ok(runs)
}

/// A run that is under way for one of `tasks`.
pub fn running(call: &Call<'_>, tasks: &[Held<Task>]) -> Result<Option<EvidenceId>, Refusal> {
    for run in newest_runs(call, tasks)? {
        if execute::is_under_way(call, &run.value)? {
            return Ok(Some(run.value.id));
        }
    }
    Ok(None)
}

/// The digest of every file of the work tree.
pub fn tree(call: &Call<'_>) -> Result<Digest, Refusal> {
    let snapshot = call.world.trees.snapshot(call.work_tree()?).map_err(fault::of_tree)?;
    Ok(inputs::whole(&snapshot))
}
