//! What moves a task on, under whatever status it has and whoever calls.

use serde_json::json;

use crate::domain::refusal::Refusal;
use crate::domain::task::{Task, TaskStatus};
use crate::ops::call::Call;

use super::needs;

/// What the caller came from, where that decides between two steps of the one who holds the claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// Everything that was asked for has passed.
    Verified,
    /// Nobody looked now: what the ledger says of it counts.
    AsItStands,
    /// Something has not, or nobody looked yet.
    Unverified,
}

/// Proposes the operation that moves `task` on, and none that its status refuses.
///
/// # Errors
/// When the ledger cannot be read.
pub fn propose(call: &mut Call<'_>, task: &Task, came: Came) -> Result<(), Refusal> {
    let id = &task.id;
    let now = call.now();
    let mine = is_mine(call, task);
    let live = task.live_claim(now).is_some();
    match task.status {
        TaskStatus::Open => match needs::unmet(call, task)?.first() {
            Some(need) => call.propose("task.show", "shows what it waits for", json!({ "task": need })),
            None => call.propose("task.claim", "takes the lease on it", json!({ "task": id })),
        },
        TaskStatus::Claimed if !live => {
            let params = json!({ "task": id, "reason": "the claim ran out" });
            call.propose("task.takeover", "takes over the claim, which ran out; the fence rises", params);
        }
        TaskStatus::Claimed if !mine => {
            call.propose("task.show", "shows who holds it", json!({ "task": id }));
        }
        TaskStatus::Claimed if came == Came::AsItStands && task.rejections.exhausted.is_some() => {
            let params = json!({
                "task": id,
                "reason": "finishing was refused too often",
                "question": "What should be done about the criteria that are not met?",
            });
            call.propose("task.block", "asks a person, who decides how it goes on", params);
        }
        TaskStatus::Claimed if came != Came::Unverified => {
            call.propose("task.finish", "asks the gate", json!({ "task": id }));
        }
        TaskStatus::Claimed => call.propose("validate", "runs the checks that are due", json!({ "task": id })),
        TaskStatus::Blocked => {
            let (next, why, params) = out_of_block(task);
            call.propose(next, why, params);
        }
        // Whether publication needs anything else is not known here, and validating shows it.
        TaskStatus::Finished if mine => {
            let params = json!({ "task": id, "scope": "branch" });
            call.propose("validate", "shows whether it can be published, or what that needs", params);
        }
        TaskStatus::Finished | TaskStatus::Cancelled => {
            call.propose("task.show", "shows how it ended", json!({ "task": id }));
        }
    }
    Ok(())
}

/// Whether the caller's session has the claim, or had it when the task ended.
pub fn is_mine(call: &Call<'_>, task: &Task) -> bool {
    task.claim.as_ref().is_some_and(|claim| claim.session.is_some() && claim.session == call.caller.session)
}

/// Adds to a refusal what leads out of the block of `task`.
#[must_use]
pub fn unblock(refusal: Refusal, task: &Task) -> Refusal {
    let (next, why, params) = out_of_block(task);
    refusal.next(next, why, params)
}

/// A question is a person's to answer; what else stands in the way, whoever cleared it may say.
fn out_of_block(task: &Task) -> (&'static str, &'static str, serde_json::Value) {
    let note = |note: &str| json!({ "task": task.id, "note": note });
    match task.block.as_ref().is_some_and(|block| block.question.is_some()) {
        true => ("task.unblock", "goes on, once a person has answered the question", note("the answer")),
        false => ("task.unblock", "goes on, once it is out of the way", note("what was found out")),
    }
}
