//! Replaying one stream: every event it has, in the one order, into one state (I2). What cannot be folded is set aside.

use super::caller::Caller;
use super::event::{Event, EventFault, Meta, Recorded};
use super::fold::{Aggregate, Folded, Stream, refuse_stray};
use super::stamp::Stamp;

/// A folded state, and what it folds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// How many events its stream has, those that no fold understands included.
    pub ver: u64,
    /// The place of the last of them in the order of folding.
    pub seq: u64,
    pub folded: Folded,
}

/// What came of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// `None` if no event could be folded.
    pub state: Option<State>,
    pub events: u64,
    /// Events of types or versions that only a newer kctl knows: kept, counted and skipped.
    pub unknown: u64,
    /// Places of events that cannot be folded, and why: kept, counted and reported.
    pub quarantined: Vec<(u64, String)>,
}

/// Folds the events of the stream called `name`, which come in [`Recorded::order`].
///
/// # Errors
/// Only what `events` itself gives; no event fails a replay.
pub fn replay<E>(name: &str, events: impl IntoIterator<Item = Result<Recorded, E>>) -> Result<Replay, E> {
    let stream = name.parse::<Stream>();
    let mut done = Replay::default();
    let mut aggregate = None;
    let mut last_seq = 0;
    for event in events {
        let event = event?;
        done.events += 1;
        last_seq = event.seq;
        match &stream {
            Ok(stream) => step(&mut aggregate, stream, &event, &mut done),
            Err(why) => done.quarantined.push((event.seq, why.clone())),
        }
    }
    let (ver, seq) = (done.events, last_seq);
    done.state = aggregate.map(|aggregate| State { ver, seq, folded: aggregate.folded() });
    Ok(done)
}

fn step(aggregate: &mut Option<Aggregate>, stream: &Stream, event: &Recorded, done: &mut Replay) {
    match read(stream, event) {
        Ok(Some((fact, meta))) => match aggregate.take().map_or_else(|| Aggregate::blank(stream), Ok) {
            Ok(before) => *aggregate = Some(before.apply(&fact, &meta)),
            Err(why) => done.quarantined.push((event.seq, why.to_string())),
        },
        Ok(None) => done.unknown += 1,
        Err(why) => done.quarantined.push((event.seq, why)),
    }
}

/// The event's meaning; `None` if only a newer kctl knows it.
fn read(stream: &Stream, event: &Recorded) -> Result<Option<(Event, Meta)>, String> {
    let fact = match Event::read(&event.type_name, event.version, &event.body) {
        Ok(fact) => fact,
        Err(EventFault::Unknown { .. }) => return Ok(None),
        Err(fault @ EventFault::Bad { .. }) => return Err(fault.to_string()),
    };
    refuse_stray(stream, &fact).map_err(|fault| fault.to_string())?;
    let caller: Caller =
        serde_json::from_str(&event.caller).map_err(|why| format!("its caller cannot be read: {why}"))?;
    Ok(Some((fact, Meta { at: Stamp(event.at), caller })))
}
