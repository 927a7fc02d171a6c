//! Stored events: what reads, spells itself back to the same event, and any sequence of what reads folds (I2).
//!
//! The input is lines of `TYPE VERSION BODY`; what does not decode is skipped, as a ledger skips it.
#![no_main]

use std::collections::HashMap;

use kctl::domain::caller::{Caller, Door};
use kctl::domain::event::{Event, Meta};
use kctl::domain::fold::{FoldFault, Kind, Stream, fold};
use kctl::domain::stamp::Stamp;
use libfuzzer_sys::fuzz_target;

/// The stream that an event of this family belongs to.
fn stream(event: &Event) -> Stream {
    match event {
        Event::Root(_) => Stream::new(Kind::Root, "o-b5ssp0cx7efw"),
        Event::Session(_) => Stream::new(Kind::Session, "s-48nzrqk3cddk"),
        Event::Task(_) => Stream::new(Kind::Task, "t-06yrbfwk8pev"),
        Event::Commitment(_) => Stream::new(Kind::Commitment, "c-sxyh4sy4jxgg"),
        Event::Workspace(_) => Stream::new(Kind::Workspace, "t-06yrbfwk8pev"),
        Event::Run(_) => Stream::new(Kind::Run, "e-1t0973yc2fyp"),
        Event::Publication(_) => Stream::new(Kind::Publication, "p-c6j97xrvx6g0"),
        Event::Failure(_) => Stream::new(Kind::Failure, "t-06yrbfwk8pev"),
        Event::Finding(_) => Stream::new(Kind::Finding, "f-c6j97xrvx6g0"),
        Event::Action(_) => Stream::new(Kind::Action, "s-48nzrqk3cddk"),
    }
}

fn decode(line: &[u8]) -> Option<Event> {
    let mut parts = line.splitn(3, |byte| *byte == b' ');
    let (name, version, body) = (parts.next()?, parts.next()?, parts.next()?);
    let version = std::str::from_utf8(version).ok()?.parse().ok()?;
    Event::read(std::str::from_utf8(name).ok()?, version, body).ok()
}

fuzz_target!(|input: &[u8]| {
    let mut states: HashMap<Stream, Vec<u8>> = HashMap::new();
    for (number, event) in input.split(|byte| *byte == b'\n').filter_map(decode).enumerate() {
        let spelled = event.spell();
        let again = Event::read(&spelled.type_name, spelled.version, &spelled.body);
        assert_eq!(again.as_ref(), Ok(&event), "what is spelled reads back");
        let stream = stream(&event);
        let at = Stamp::from_ms(i64::try_from(number).expect("inputs are short") * 7_777);
        let meta = Meta { at, caller: Caller::unknown(Door::Rpc) };
        match fold(&stream, states.get(&stream).map(Vec::as_slice), &event, &meta) {
            Ok(folded) => drop(states.insert(stream, folded.body)),
            Err(FoldFault::BadId(_)) => panic!("the ids here are legal"),
            Err(fault) => panic!("a state that was folded, or an event in its own stream, does not fold: {fault}"),
        }
    }
});
