//! What ends something for good rests on records as they were written: their seals hold, the chain goes on behind them,
//! and the states that were judged are their folds. `ledger.verify` proves the whole; here only what the decision rests on
//! is looked at, so that a long history costs nothing.

use serde_json::json;

use crate::domain::event::Recorded;
use crate::domain::fold::{AsId, Entity, Kind, Stream};
use crate::domain::id::EvidenceId;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::replay::replay;
use crate::domain::run::Run;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ports::ledger::MAX_PAGE;

/// Refuses to decide on `subject` and `evidence` if their records were edited behind kctl's back.
///
/// # Errors
/// `LEDGER_CORRUPT` with what does not hold.
pub fn refuse_edited<T: Entity>(call: &Call<'_>, subject: &T::Id, evidence: &[EvidenceId]) -> Result<(), Refusal> {
    refuse_edited_stream(call, T::KIND, &subject.to_stream())?;
    evidence.iter().try_for_each(|id| refuse_edited_stream(call, Run::KIND, &id.to_stream()))
}

fn refuse_edited_stream(call: &Call<'_>, kind: Kind, id: &str) -> Result<(), Refusal> {
    let name = Stream::new(kind, id).to_string();
    let refuse = |what: String| Err(edited(&name, &what));
    let mut events = of_stream(call, &name)?;
    for event in &events {
        if event.computed_seal().as_str() != event.seal {
            return refuse(format!("event {} of {} does not have the seal of its bytes", event.oseq, event.origin));
        }
        if !is_followed(call, event)? {
            return refuse(format!("what was recorded after event {} does not name its seal", event.oseq));
        }
    }
    events.sort_by(|one, other| one.order().cmp(&other.order()));
    let folded = replay(&name, events.into_iter().map(Ok::<_, std::convert::Infallible>));
    let Ok(folded) = folded;
    let stored = call.views()?.load(kind, id).map_err(fault::of_ledger)?.map(|row| row.body);
    match folded.state.map(|state| state.folded.body) == stored {
        true => Ok(()),
        false => refuse("its state is not the fold of its events".to_owned()),
    }
}

fn of_stream(call: &Call<'_>, name: &str) -> Result<Vec<Recorded>, Refusal> {
    let mut all: Vec<Recorded> = Vec::new();
    loop {
        let after = all.last().map_or(0, |event| event.seq);
        let page = call.views()?.events(Some(name), after, MAX_PAGE).map_err(fault::of_ledger)?;
        let is_last = page.len() < MAX_PAGE as usize;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// Whether the next event of the chain, or the ledger's head if there is none, names the seal of `event`. Whoever edits an
/// event and seals it anew has to do so with all that came after.
fn is_followed(call: &Call<'_>, event: &Recorded) -> Result<bool, Refusal> {
    let views = call.views()?;
    let next = views.events(None, event.seq, 1).map_err(fault::of_ledger)?.pop();
    match next {
        // Events that came from another clone stand between: that chain is proved by `ledger.verify`.
        Some(next) if next.origin != event.origin => Ok(true),
        Some(next) => Ok(next.oseq == event.oseq + 1 && next.prev == event.seal),
        None => {
            let head = views.head().map_err(fault::of_ledger)?;
            Ok(head.is_none_or(|head| head.origin.to_string() != event.origin || head.seal.as_str() == event.seal))
        }
    }
}

fn edited(name: &str, what: &str) -> Refusal {
    let words = format!("the records of `{name}` are not as they were written, so nothing is decided on them: {what}");
    Refusal::new(Code::LEDGER_CORRUPT, words)
        .with("stream", name)
        .with("why", what)
        .next("ledger.verify", "says all that does not hold", json!({}))
        .next("ledger.recover", "salvages what can be read and keeps the damaged file", json!({}))
}
