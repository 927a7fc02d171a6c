//! Refusals that are counted: what a session's agent tried to change and was told no, for reasons of its own doing.

use crate::domain::digest::Digest;
use crate::domain::effect::Effect;
use crate::domain::event::Event;
use crate::domain::publication::PublicationEvent;
use crate::domain::refusal::{Category, Code, Refusal};
use crate::domain::session::{Session, SessionEvent};
use crate::domain::task::TaskEvent;

use super::call::Call;
use super::op::Entry;

/// Records that `refusal` was the answer, if it counts. The answer stands whatever comes of this. `request` is of the
/// idempotency key and the request, where there was a key.
pub fn count(call: &mut Call<'_>, entry: &Entry, refusal: &Refusal, request: Option<&Digest>) {
    let code = refusal.code();
    let is_recorded = call.refusals.iter().any(|recorded| recorded == code.name());
    if entry.info.effect == Effect::Read || call.dry_run || call.ledger.is_none() || !counts(code) || is_recorded {
        return;
    }
    let Some(session) = call.caller.session.clone() else { return };
    let op = entry.info.name.to_owned();
    // A ledger that cannot be written now says so to whoever needs it; a count is not worth a second refusal.
    drop(call.step(|call| {
        let held = call.load_or_blank::<Session>(&session)?;
        if request.is_some_and(|request| held.value.refused_requests.contains(request)) {
            return Ok(());
        }
        let (op, code) = (op.clone(), code.name().to_owned());
        let refused = SessionEvent::Refused { op, code, request: request.cloned() };
        call.record::<Session>(&session, held.ver, refused).map(drop)
    }));
}

/// Whether a refusal says something about what the agent does. Who waits for others, sends what cannot be read, or meets
/// a fault of the disk, has done nothing that is worth a count.
const fn counts(code: Code) -> bool {
    match code.category() {
        Category::Custody => !code.retry_helps(),
        Category::Boundary
        | Category::Permission
        | Category::Verification
        | Category::Completion
        | Category::Publication => true,
        Category::Decode
        | Category::Validation
        | Category::Execution
        | Category::ContextRequired
        | Category::Storage
        | Category::Internal => false,
    }
}

/// The code of the refusal that `event` itself records: it is not counted twice.
pub fn recorded_by(event: &Event) -> Option<String> {
    match event {
        Event::Task(TaskEvent::FinalizationRejected { .. }) => Some(Code::FINALIZATION_REJECTED.name().to_owned()),
        Event::Publication(PublicationEvent::Failed { code, .. }) => Some(code.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_others_or_cannot_be_read_is_not_counted() {
        for code in [Code::TASK_HELD, Code::NOTHING_READY, Code::LEDGER_BUSY, Code::INVALID_PARAMS, Code::NOT_FOUND] {
            assert!(!counts(code), "{}", code.name());
        }
        for code in [Code::CLAIM_REQUIRED, Code::PERSON_REQUIRED, Code::NOT_CLEARED, Code::OUT_OF_TREE] {
            assert!(counts(code), "{}", code.name());
        }
    }
}
