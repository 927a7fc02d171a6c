//! The chain of one origin: how an event gets its place and its seal, and how a chain is proved whole.

use std::collections::BTreeMap;

use super::event::{Draft, Meta, Recorded};
use super::fold::{FoldFault, Folded, Stream, fold};
use super::stamp::Stamp;

/// The end of one origin's chain. The next event goes behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    pub origin: String,
    /// How many events the origin has recorded.
    pub oseq: u64,
    /// The seal of the last of them; empty before the first.
    pub seal: String,
}

/// What a ledger knows of one stream before an append.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// The folded state, if any event of the stream could be folded.
    pub body: Option<Vec<u8>>,
    /// How many events the stream has, those that no fold understands included.
    pub events: u64,
    /// Time and origin of the last of them in the order of folding.
    pub last: Option<(i64, String)>,
}

impl Before {
    /// The version that a caller has seen, and must name: a stream without a state looks new.
    pub fn ver(&self) -> u64 {
        if self.body.is_some() { self.events } else { 0 }
    }
}

/// An event ready to be stored, with the state that it makes. Its `seq` is the store's to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    pub recorded: Recorded,
    pub folded: Folded,
}

/// Why an event is not appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkFault {
    #[error("`{stream}` has {found} events, not {expected}")]
    Moved { stream: String, expected: u64, found: u64 },
    #[error(transparent)]
    Fold(#[from] FoldFault),
}

impl Chain {
    /// Puts `draft` behind the end of the chain. Nothing is stored by this.
    ///
    /// # Errors
    /// `Moved` when the stream has another version than the draft expected; `Fold` when it cannot be folded.
    pub fn link(&mut self, draft: &Draft, before: &Before) -> Result<Linked, LinkFault> {
        let (expected, found) = (draft.expected, before.ver());
        if expected != found {
            return Err(LinkFault::Moved { stream: draft.stream.to_string(), expected, found });
        }
        let at = self.not_before(before, draft.at);
        let meta = Meta { at, caller: draft.caller.clone() };
        let folded = fold(&draft.stream, before.body.as_deref(), &draft.event, &meta)?;
        let spelled = draft.event.spell();
        let mut recorded = Recorded {
            seq: 0,
            id: draft.id.to_string(),
            stream: draft.stream.to_string(),
            ver: before.events + 1,
            type_name: spelled.type_name,
            version: spelled.version,
            at: at.ms(),
            caller: serde_json::to_string(&draft.caller).expect("a caller always serialises"),
            origin: self.origin.clone(),
            oseq: self.oseq + 1,
            prev: self.seal.clone(),
            body: spelled.body,
            seal: String::new(),
        };
        recorded.seal = recorded.computed_seal().to_string();
        self.oseq = recorded.oseq;
        self.seal.clone_from(&recorded.seal);
        Ok(Linked { recorded, folded })
    }

    /// The earliest time, at or after `at`, that puts the event behind everything its stream already has.
    ///
    /// A clock that was set back, or another clone's clock that is ahead, must not fold a later decision first.
    fn not_before(&self, before: &Before, at: Stamp) -> Stamp {
        let Some((last_at, last_origin)) = &before.last else { return at };
        let least = if *last_origin <= self.origin { *last_at } else { last_at.saturating_add(1) };
        Stamp(at.ms().max(least))
    }
}

/// Walks chains and says where they break. Give it every event in the order of `seq`.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    ends: BTreeMap<String, (u64, String)>,
}

impl Audit {
    /// What does not hold of `event` as the next of its origin's chain.
    pub fn walk(&mut self, event: &Recorded) -> Vec<String> {
        let (oseq, seal) = self.ends.get(&event.origin).cloned().unwrap_or_default();
        let name = format!("event {} of {}", event.oseq, event.origin);
        let mut problems = Vec::new();
        if event.oseq != oseq + 1 {
            problems.push(format!("{name} follows event {oseq}"));
        }
        if event.prev != seal {
            problems.push(format!("{name} does not name the seal before it"));
        }
        if event.computed_seal().as_str() != event.seal {
            problems.push(format!("{name} does not have the seal of its bytes"));
        }
        self.ends.insert(event.origin.clone(), (event.oseq, event.seal.clone()));
        problems
    }

    /// What does not hold of the ends that the ledger remembers: a chain that was cut short has no broken link.
    pub fn compare(&self, heads: &[Chain]) -> Vec<String> {
        let mut problems = Vec::new();
        for head in heads {
            match self.ends.get(&head.origin) {
                Some((oseq, seal)) if *oseq == head.oseq && *seal == head.seal => {}
                Some((oseq, _)) if *oseq < head.oseq => {
                    let (origin, last) = (&head.origin, head.oseq);
                    problems.push(format!("the events {} to {last} of {origin} are gone", oseq + 1));
                }
                Some((oseq, _)) => {
                    problems.push(format!("the chain of {} does not end as its head says, at {oseq}", head.origin));
                }
                None => problems.push(format!("all {} events of {} are gone", head.oseq, head.origin)),
            }
        }
        let unheaded = self.ends.keys().filter(|origin| !heads.iter().any(|head| head.origin == **origin));
        problems.extend(unheaded.map(|origin| format!("the chain of {origin} has no head on record")));
        problems
    }

    pub fn origins(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The end of every chain that was walked.
    pub fn ends(self) -> Vec<Chain> {
        self.ends.into_iter().map(|(origin, (oseq, seal))| Chain { origin, oseq, seal }).collect()
    }
}

/// Puts `drafts` behind the end of the chain, one after the other, each on what the one before made of its stream.
///
/// # Errors
/// What `look` gives, or the first draft that does not fit; then none of them is to be stored.
pub fn link_all<E: From<LinkFault>>(
    chain: &mut Chain,
    drafts: &[Draft],
    mut look: impl FnMut(&Stream) -> Result<Before, E>,
) -> Result<Vec<Linked>, E> {
    let mut touched: BTreeMap<&Stream, Before> = BTreeMap::new();
    let mut linked = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let before = match touched.remove(&draft.stream) {
            Some(before) => before,
            None => look(&draft.stream)?,
        };
        let link = chain.link(draft, &before)?;
        let last = Some((link.recorded.at, link.recorded.origin.clone()));
        let after = Before { body: Some(link.folded.body.clone()), events: link.recorded.ver, last };
        touched.insert(&draft.stream, after);
        linked.push(link);
    }
    Ok(linked)
}
