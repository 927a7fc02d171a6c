//! What the end of a turn is judged by: whose task it is, and what this session did to its tree.

use std::path::Path;

use crate::domain::contract::LIMITS;
use crate::domain::fold::Kind;
use crate::domain::id::{SessionId, TaskRef};
use crate::domain::path::TreePath;
use crate::domain::refusal::Refusal;
use crate::domain::task::{Refused, Task};
use crate::domain::tree::Snapshot;
use crate::domain::workspace::{Workspace, WorkspaceStatus};
use crate::ops::call::{Call, Held};
use crate::ops::fault;
use crate::ops::verification::gate::Judged;
use crate::ops::verification::integrity;
use crate::ops::verification::subject::Subject;
use crate::ops::workspace::prepare::hex;
use crate::ports::ledger::Query;
use crate::rules::verification::state::{CriterionState, Standing};
use crate::rules::verification::turn::Facts;

/// How many of a session's tasks are looked through for the one whose worktree the call was made in.
const MAX_TASKS: u32 = 50;

/// The task that is named, else that of the worktree that the call was made in, else the only one that `session` holds.
pub fn task(call: &Call<'_>, named: Option<&TaskRef>, session: &SessionId) -> Result<Option<Held<Task>>, Refusal> {
    if let Some(named) = named {
        return call.task(named).map(Some);
    }
    let query = Query {
        owner: Some(session.to_string()),
        statuses: vec!["claimed", "blocked"],
        limit: MAX_TASKS,
        ..Query::all(Kind::Task)
    };
    let mut mine = call.query::<Task>(&query)?;
    let here = call.repository()?.place().work_tree.clone();
    for index in 0..mine.len() {
        let workspace = call.load::<Workspace>(&mine[index].value.id)?;
        let is_here = |held: Held<Workspace>| {
            held.value.status == WorkspaceStatus::Open && here.as_deref() == Some(Path::new(&held.value.path))
        };
        if workspace.is_some_and(is_here) {
            return Ok(Some(mine.swap_remove(index)));
        }
    }
    Ok(if mine.len() == 1 { mine.pop() } else { None })
}

pub fn facts(
    call: &Call<'_>,
    subject: &Subject,
    (task, judged): (&Task, &Judged),
    (waits, told_before): (bool, bool),
) -> Result<Facts, Refusal> {
    let unmet = judged.unmet();
    let met = |state: &&CriterionState| state.required && state.state.is_settled() && state.id.as_str() != LIMITS;
    // A tool that is missing, and a person's word, are beyond the agent. What is held can be undone.
    let is_beyond = |state: &CriterionState| state.by_person || state.state == Standing::Unavailable;
    let is_in_reach = |state: &&CriterionState| integrity::is_held(state) || !is_beyond(state);
    let mut counted = task.rejections.clone();
    counted.count(&Refused {
        fence: task.fence,
        unmet: &judged.unmet_ids(),
        basis: &judged.basis,
        bases: &judged.bases,
        turn: None,
        at: call.now(),
    });
    Ok(Facts {
        changed: is_changed(call, subject, task, &judged.snapshot)?,
        running: judged.running.is_some(),
        unmet: unmet.len(),
        met: judged.criteria.iter().filter(met).count(),
        waits,
        has_own: subject.contract.requires_something(),
        claimed_done: task.completion.is_some(),
        awaits_others: judged.awaits_others(),
        in_reach: unmet.is_empty() || unmet.iter().any(is_in_reach),
        is_shut: task.rejections.is_shut(unmet.len()) || (task.rejections.exhausted.is_some() && unmet.is_empty()),
        told_before,
        unchanged: counted.unchanged,
        total: counted.total,
    })
}

/// Whether this session did something: it said that it is done, or asked the gate, or the tree that was made for it is
/// not as it was made. Without a workspace nothing in the tree can be told to be its work.
fn is_changed(call: &Call<'_>, subject: &Subject, task: &Task, snapshot: &Snapshot) -> Result<bool, Refusal> {
    let claimed = task.completion.as_ref().is_some_and(|completion| completion.fence == task.fence);
    if claimed || (task.rejections.total > 0 && task.rejections.fence == task.fence) {
        return Ok(true);
    }
    let Some(workspace) = &subject.workspace else { return Ok(false) };
    Ok(is_committed(call, subject, workspace)? || is_dirty(call, subject, workspace, snapshot)?)
}

/// Whether the workspace holds commits that its base has not.
fn is_committed(call: &Call<'_>, subject: &Subject, workspace: &Workspace) -> Result<bool, Refusal> {
    let git = call.repository()?;
    let Some(head) = git.head(&subject.work_tree).map_err(fault::of_git)?.at.commit().cloned() else {
        return Ok(false);
    };
    if workspace.base.as_ref() == Some(&head) {
        return Ok(false);
    }
    let Some(base) = &subject.base else { return Ok(true) };
    // As it was last seen, and as it was fetched since: what others put there is not this work's.
    for known in [Some(&base.commit), base.tracking.as_ref()].into_iter().flatten() {
        if git.fork_point(known, &head).map_err(fault::of_git)?.as_ref() == Some(&head) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether something differs from the head commit that was not there, just so, when the workspace was made.
fn is_dirty(call: &Call<'_>, subject: &Subject, workspace: &Workspace, snapshot: &Snapshot) -> Result<bool, Refusal> {
    if snapshot.clean || workspace.baseline.is_empty() {
        return Ok(!snapshot.clean);
    }
    let changes = call.repository()?.dirt(&subject.work_tree).map_err(fault::of_git)?;
    let content = |path: &TreePath| match snapshot.entries.binary_search_by(|entry| entry.path.cmp(path)) {
        Ok(index) => hex(&snapshot.entries[index].digest),
        Err(_) => String::new(),
    };
    let was_there =
        |path: &TreePath| workspace.baseline.iter().any(|dirt| dirt.path == *path && dirt.content == content(path));
    Ok(!changes.iter().all(|change| was_there(&change.path)))
}
