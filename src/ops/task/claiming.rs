//! What every way of taking a claim has in common.

use serde_json::json;

use crate::domain::fold::Kind;
use crate::domain::id::{SessionId, TaskId};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::session::Session;
use crate::domain::task::Task;
use crate::ops::call::{Call, Held};
use crate::ops::custody;
use crate::ops::fault;
use crate::ports::ledger::{MAX_PAGE, Query};
use crate::rules::claim::{Decision, Facts};
use crate::rules::scope;

use super::view::{Claimed, propose_work};
use super::{needs, onward};

/// Looks at the task, decides with `decide`, and records what was decided.
pub fn take(
    call: &mut Call<'_>,
    task: Held<Task>,
    decide: impl Fn(&Facts<'_>) -> Decision,
) -> Result<Claimed, Refusal> {
    let session = call.session()?;
    let agent = call.caller.agent.clone().ok_or_else(|| fault::session_required(&call.caller))?;
    let unmet = needs::unmet(call, &task.value)?;
    let holder = task.value.claim.as_ref().and_then(|claim| claim.session.clone());
    let now = call.now();
    let facts = Facts {
        task: &task.value,
        session: &session,
        agent: &agent,
        unmet: &unmet,
        holder_live: holder.map_or(Ok(false), |holder| is_live(call, &holder))?,
        now,
        until: now.plus(call.lease()?),
    };
    let task = match decide(&facts) {
        Decision::Holds => task,
        Decision::Record(event) => {
            judge_overlap(call, &task.value)?;
            call.record::<Task>(&task.value.id, task.ver, *event)?
        }
        Decision::Held | Decision::Takeable => return Err(custody::held(call, &task.value)?),
        no => return Err(refusal(&no, &task.value, &unmet, call)),
    };
    let claim = task.value.claim.as_ref().expect("a task that was just claimed has a claim");
    propose_work(call, &task.value.id);
    Ok(Claimed::of(&task.value, claim))
}

fn is_live(call: &Call<'_>, session: &SessionId) -> Result<bool, Refusal> {
    let now = call.now();
    Ok(call.load::<Session>(session)?.is_some_and(|held| held.value.is_live(now)))
}

fn refusal(decision: &Decision, task: &Task, unmet: &[TaskId], call: &Call<'_>) -> Refusal {
    let id = &task.id;
    let show = |refusal: Refusal| {
        refusal.with("task", id).next("task.show", "shows the task as it stands", json!({ "task": id })).next(
            "task.next",
            "names a task that is free",
            json!({}),
        )
    };
    match decision {
        Decision::Over => show(
            Refusal::new(Code::CONFLICT, format!("task `{id}` is {}", task.status.name())).with("status", task.status),
        ),
        Decision::Blocked => {
            show(onward::unblock(Refusal::new(Code::CONFLICT, format!("task `{id}` is blocked")), task))
                .with("block", &task.block)
        }
        Decision::NeedsUnmet => {
            let names: Vec<_> = unmet.iter().map(|need| format!("`{need}`")).collect();
            let words = format!("task `{id}` needs {} first", names.join(", "));
            show(Refusal::new(Code::CONFLICT, words).with("blocked_by", unmet))
        }
        Decision::Takeable | Decision::Held | Decision::Holds | Decision::Record(_) => {
            fault::task_held(task, call.now())
        }
    }
}

/// Warns of, or refuses, live claims whose paths meet this task's.
fn judge_overlap(call: &mut Call<'_>, task: &Task) -> Result<(), Refusal> {
    if task.paths.is_empty() {
        return Ok(());
    }
    let live =
        Query { statuses: vec!["claimed"], live_at: Some(call.now()), limit: MAX_PAGE, ..Query::all(Kind::Task) };
    let refuses = call.profile()?.tasks.overlap_refused();
    for other in call.query::<Task>(&live)? {
        let other = other.value;
        let Some((mine, theirs)) = scope::overlap(&task.paths, &other.paths).filter(|_| other.id != task.id) else {
            continue;
        };
        let holder = other.claim.as_ref().map_or_else(String::new, |claim| claim.agent.to_string());
        let words = format!("`{mine}` meets `{theirs}` of task `{}`, held by `{holder}`", other.id);
        if refuses {
            return Err(Refusal::new(Code::SCOPE_OVERLAP, words)
                .with("task", &other.id)
                .with("paths", [mine, theirs])
                .next("task.next", "names a task that is free", json!({})));
        }
        call.warn("scope_overlap", words);
    }
    Ok(())
}
