//! What a ledger holds.

use std::collections::BTreeMap;

use crate::domain::chain::{Before, Chain};
use crate::domain::event::Recorded;
use crate::domain::fold::{Kind, Stream};
use crate::domain::id::OriginId;
use crate::domain::replay::{Replay, State, replay};
use crate::domain::stamp::Stamp;
use crate::ports::ledger::{Problem, Problems, StoredAnswer};

/// Everything that one ledger holds. A transaction works on a copy.
#[derive(Clone, Debug)]
pub struct Tables {
    pub origin: OriginId,
    pub events: Vec<Recorded>,
    pub states: BTreeMap<(Kind, String), State>,
    pub heads: BTreeMap<String, Chain>,
    pub answers: BTreeMap<String, (StoredAnswer, Stamp)>,
}

impl Tables {
    pub fn new(origin: OriginId) -> Self {
        Self { origin, events: Vec::new(), states: BTreeMap::new(), heads: BTreeMap::new(), answers: BTreeMap::new() }
    }

    /// The end of this ledger's own chain.
    pub fn chain(&self) -> Chain {
        let origin = self.origin.to_string();
        self.heads.get(&origin).cloned().unwrap_or(Chain { origin, oseq: 0, seal: String::new() })
    }

    /// The end of the chain that was written to last.
    pub fn newest(&self) -> Option<Chain> {
        self.events.last().and_then(|event| self.heads.get(&event.origin).cloned())
    }

    /// What is known of `stream` before an append.
    pub fn before(&self, stream: &Stream) -> Before {
        let events = self.stream(&stream.to_string());
        let last = events.last().map(|event| (event.at, event.origin.clone()));
        let state = self.states.get(&(stream.kind, stream.id.clone()));
        Before {
            body: state.map(|state| state.folded.body.clone()),
            events: state.map_or(events.len() as u64, |state| state.ver),
            last,
        }
    }

    /// The events of one stream in the order in which they fold.
    fn stream(&self, name: &str) -> Vec<&Recorded> {
        let mut events: Vec<_> = self.events.iter().filter(|event| event.stream == name).collect();
        events.sort_by(|a, b| a.order().cmp(&b.order()));
        events
    }

    /// Every stream, replayed.
    pub fn replays(&self) -> BTreeMap<&str, Replay> {
        let mut streams: BTreeMap<&str, Vec<&Recorded>> = BTreeMap::new();
        for event in &self.events {
            streams.entry(&event.stream).or_default().push(event);
        }
        let replayed = streams.into_iter().map(|(name, mut events)| {
            events.sort_by(|a, b| a.order().cmp(&b.order()));
            let events = events.into_iter().cloned().map(Ok::<_, std::convert::Infallible>);
            match replay(name, events) {
                Ok(done) => (name, done),
                Err(never) => match never {},
            }
        });
        replayed.collect()
    }

    /// The states that the events fold into, and what cannot be folded.
    pub fn folded(&self) -> (BTreeMap<(Kind, String), State>, Vec<Problem>) {
        let mut states = BTreeMap::new();
        let mut problems = Problems::default();
        for (name, done) in self.replays() {
            if let (Some(state), Ok(stream)) = (done.state, name.parse::<Stream>()) {
                states.insert((stream.kind, stream.id), state);
            }
            done.quarantined.into_iter().for_each(|(seq, what)| problems.add(Some(seq), what));
        }
        (states, problems.into_list())
    }
}
