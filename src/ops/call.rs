//! One call under way: what it found, who makes it, and what it has recorded so far.

use std::cell::OnceCell;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::answer::{Truncation, Warning};
use crate::domain::caller::Caller;
use crate::domain::commitment::Commitment;
use crate::domain::event::{Draft, Event};
use crate::domain::fold::{AsId, Entity, Kind, Stream};
use crate::domain::id::{CommitmentId, CommitmentRef, EventId, EvidenceId, EvidenceRef, SessionId, TaskId, TaskRef};
use crate::domain::refusal::{Code, Next, Refusal};
use crate::domain::root::SeenBase;
use crate::domain::run::Run;
use crate::domain::stamp::Stamp;
use crate::domain::task::{Claim, Task};
use crate::ports::artifacts::Artifacts;
use crate::ports::files::Files;
use crate::ports::git::Git;
use crate::ports::ledger::{Cursor, Ledger, MAX_PAGE, Query, Row, Views};

use super::base::Base;
use super::fault;
use super::redact;
use super::refusals;
use super::world::World;

/// How many ids a prefix that fits several of them is answered with.
const MAX_CANDIDATES: u32 = 10;

/// How often a step is decided anew when its stream moved meanwhile.
const MAX_TRIES: u32 = 5;

/// A state as it was read: its value, and how many events it folds.
#[derive(Clone, Debug)]
pub struct Held<T> {
    pub ver: u64,
    pub seq: u64,
    pub value: T,
}

/// One call under way.
pub struct Call<'w> {
    pub world: &'w World<'w>,
    pub caller: Caller,
    pub dry_run: bool,
    pub next: Vec<Next>,
    pub warnings: Vec<Warning>,
    pub truncated: Vec<Truncation>,
    pub(super) repository: Option<Box<dyn Git>>,
    pub(super) ledger: Option<Box<dyn Ledger>>,
    pub(super) events: Vec<EventId>,
    pub(super) claim: Option<Claim>,
    /// Looked up once: a call is judged by one base from start to end.
    pub(super) base: OnceCell<Option<Base>>,
    /// Where the remote said, in this call, that bases are. In a dry run nothing of it is recorded.
    pub(super) asked: Vec<SeenBase>,
    pub(super) in_step: bool,
    /// Codes of refusals that what this call has recorded already tells of.
    pub(super) refusals: Vec<String>,
    /// How many of them are durable.
    pub(super) kept_refusals: usize,
    /// Values that no record may hold: the caller's own token.
    pub(super) secrets: Vec<String>,
}

impl<'w> Call<'w> {
    pub fn now(&self) -> Stamp {
        self.world.clock.now()
    }

    /// The repository of the call. Only operations that need one ask.
    ///
    /// # Errors
    /// `NO_REPOSITORY`.
    pub fn repository(&self) -> Result<&dyn Git, Refusal> {
        self.repository.as_deref().ok_or_else(|| fault::no_repository(&self.world.cwd))
    }

    /// The top of the work tree that the call was made in.
    ///
    /// # Errors
    /// `NO_WORK_TREE` in a bare repository.
    pub fn work_tree(&self) -> Result<&Path, Refusal> {
        let place = self.repository()?.place();
        place.work_tree.as_deref().ok_or_else(|| {
            Refusal::new(Code::NO_WORK_TREE, "there is no work tree here")
                .with("directory", self.world.cwd.display().to_string())
        })
    }

    /// The folded states.
    ///
    /// # Errors
    /// `NOT_INITIALISED` where there is no ledger.
    pub fn views(&self) -> Result<&dyn Views, Refusal> {
        match &self.ledger {
            Some(ledger) => Ok(ledger.as_ref() as &dyn Views),
            None => Err(fault::not_initialised()),
        }
    }

    /// The files of `work_tree` (or of the one the call was made in) and of the git common directory.
    ///
    /// # Errors
    /// `NO_REPOSITORY`.
    pub fn files(&self, work_tree: Option<&Path>) -> Result<Box<dyn Files>, Refusal> {
        let place = self.repository()?.place();
        let top = work_tree.or(place.work_tree.as_deref()).or(place.main_work_tree.as_deref());
        Ok((self.world.files)(top, &place.common_dir))
    }

    /// # Errors
    /// `NO_REPOSITORY`.
    pub fn artifacts(&self) -> Result<Box<dyn Artifacts>, Refusal> {
        Ok((self.world.artifacts)(&self.repository()?.place().common_dir))
    }

    /// Where a page begins: after the one row whose id is `prefix` or starts with it.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn cursor(&self, kind: Kind, prefix: &str) -> Result<Cursor, Refusal> {
        let row = self.row(kind, prefix, "row").map_err(|none| none.with("field", "after"))?;
        Ok(Cursor { rank: row.rank, id: row.id })
    }

    /// The claim that the waist verified for this call.
    ///
    /// # Errors
    /// Never for an operation with `Custody::Claim` or more.
    pub fn claim(&self) -> Result<&Claim, Refusal> {
        self.claim.as_ref().ok_or_else(|| Refusal::new(Code::CLAIM_REQUIRED, "the operation needs the live claim"))
    }

    /// The session that the waist verified for this call.
    ///
    /// # Errors
    /// `SESSION_REQUIRED` when a person without a session calls.
    pub fn session(&self) -> Result<SessionId, Refusal> {
        self.caller.session.clone().ok_or_else(|| fault::session_required(&self.caller))
    }

    /// # Errors
    /// When the ledger cannot be read.
    pub fn load<T: Entity>(&self, id: &T::Id) -> Result<Option<Held<T>>, Refusal> {
        let row = self.views()?.load(T::KIND, &id.to_stream()).map_err(fault::of_ledger)?;
        row.as_ref().map(held).transpose()
    }

    /// The state of `id`, or what it is before its first event.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn load_or_blank<T: Entity>(&self, id: &T::Id) -> Result<Held<T>, Refusal> {
        let blank = || {
            let again = T::Id::from_stream(&id.to_stream()).expect("an id reads back what it wrote");
            Held { ver: 0, seq: 0, value: T::blank(again) }
        };
        Ok(self.load(id)?.unwrap_or_else(blank))
    }

    /// # Errors
    /// `NOT_FOUND` for no task, or more than one, of that prefix.
    pub fn task(&self, reference: &TaskRef) -> Result<Held<Task>, Refusal> {
        self.find::<Task>(reference.as_str(), TaskId::NOUN, "task.list")
    }

    /// # Errors
    /// `NOT_FOUND` for no commitment, or more than one, of that prefix.
    pub fn commitment(&self, reference: &CommitmentRef) -> Result<Held<Commitment>, Refusal> {
        self.find::<Commitment>(reference.as_str(), CommitmentId::NOUN, "commit.list")
    }

    /// # Errors
    /// `NOT_FOUND` for no evidence, or more than one, of that prefix.
    pub fn evidence(&self, reference: &EvidenceRef) -> Result<Held<Run>, Refusal> {
        self.find::<Run>(reference.as_str(), EvidenceId::NOUN, "evidence.list")
    }

    /// The whole name of the stream `KIND:PREFIX`. One that nothing is known of is left as it is: it has no events.
    ///
    /// # Errors
    /// `NOT_FOUND` for a prefix of several.
    pub fn stream(&self, text: &str) -> Result<String, Refusal> {
        let parts = text.split_once(':').filter(|(_, prefix)| !prefix.is_empty());
        let kind = parts.and_then(|(kind, _)| Kind::ALL.into_iter().find(|known| known.name() == kind));
        let (Some((_, prefix)), Some(kind)) = (parts, kind) else { return Ok(text.to_owned()) };
        match self.row(kind, prefix, kind.name()) {
            Ok(row) => Ok(Stream::new(kind, row.id).to_string()),
            Err(none) if none.code() == Code::NOT_FOUND && !none.details().contains_key("candidates") => {
                Ok(text.to_owned())
            }
            Err(other) => Err(other.with("field", "stream")),
        }
    }

    /// The one state of `T`'s kind whose id is `prefix` or starts with it.
    pub(super) fn find<T: Entity>(&self, prefix: &str, noun: &str, list: &str) -> Result<Held<T>, Refusal> {
        let proposed = |none: Refusal| {
            let none = none.with("field", noun);
            let unknown = none.code() == Code::NOT_FOUND && !none.details().contains_key("candidates");
            if unknown { none.next(list, format!("lists every {noun}"), json!({})) } else { none }
        };
        held(&self.row(T::KIND, prefix, noun).map_err(proposed)?)
    }

    /// The one row of `kind` whose id is `prefix` or starts with it.
    fn row(&self, kind: Kind, prefix: &str, noun: &str) -> Result<Row, Refusal> {
        let views = self.views()?;
        let load = |id: &str| views.load(kind, id).map_err(fault::of_ledger);
        if let Some(row) = load(prefix)? {
            return Ok(row);
        }
        let none = || Refusal::new(Code::NOT_FOUND, format!("no {noun} is `{prefix}`"));
        let ids = views.with_prefix(kind, prefix, MAX_CANDIDATES).map_err(fault::of_ledger)?;
        match ids.as_slice() {
            [] => Err(none()),
            [id] => load(id)?.ok_or_else(none),
            several => Err(Refusal::new(Code::NOT_FOUND, format!("more than one {noun} starts with `{prefix}`"))
                .with("candidates", several)),
        }
    }

    /// States by `query`, read.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn query<T: Entity>(&self, query: &Query) -> Result<Vec<Held<T>>, Refusal> {
        self.views()?.query(query).map_err(fault::of_ledger)?.iter().map(held).collect()
    }

    /// Appends one event to the stream of `T`'s `id`, which was read at version `ver`, and gives the new state.
    /// Must be called inside a step.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn record<T: Entity>(&mut self, id: &T::Id, ver: u64, event: T::Event) -> Result<Held<T>, Refusal> {
        let at = self.now();
        let (event, secrets) = redact::event(event, &self.secrets);
        if secrets > 0 {
            self.warn("secret_redacted", format!("{secrets} secrets were taken out of what is recorded"));
        }
        let draft = Draft {
            id: EventId(self.world.ids.uuid()),
            stream: Stream::new(T::KIND, id.to_stream()),
            expected: ver,
            at,
            caller: self.caller.clone(),
            event: Event::from_family(event),
        };
        self.append(draft)?;
        Ok(self.load(id)?.expect("a state that was just folded is there"))
    }

    fn append(&mut self, draft: Draft) -> Result<(), Refusal> {
        assert!(self.in_step, "an event is only recorded inside a step");
        let ledger = self.ledger.as_mut().ok_or_else(fault::not_initialised)?;
        let id = draft.id;
        self.refusals.extend(refusals::recorded_by(&draft.event));
        ledger.append(&[draft]).map_err(fault::of_ledger)?;
        self.events.push(id);
        Ok(())
    }

    /// Runs `decide` under the write lock and makes what it records durable. For operations of `Span::Steps`.
    ///
    /// # Errors
    /// What `decide` refuses, after undoing whatever it recorded.
    pub fn step<R>(&mut self, mut decide: impl FnMut(&mut Self) -> Result<R, Refusal>) -> Result<R, Refusal> {
        let recorded = self.events.len();
        let mut tries = 0;
        loop {
            tries += 1;
            self.begin()?;
            let done = decide(self);
            match self.end(done.is_ok() && !self.dry_run) {
                Ok(()) => return done,
                Err(_) if done.is_err() => return done,
                Err(refusal) if tries >= MAX_TRIES || refusal.code() != Code::LEDGER_BUSY => return Err(refusal),
                Err(_) => self.events.truncate(recorded),
            }
        }
    }

    pub(super) fn begin(&mut self) -> Result<(), Refusal> {
        let ledger = self.ledger.as_mut().ok_or_else(fault::not_initialised)?;
        ledger.begin().map_err(fault::of_ledger)?;
        self.in_step = true;
        Ok(())
    }

    pub(super) fn end(&mut self, keep: bool) -> Result<(), Refusal> {
        self.in_step = false;
        let ledger = self.ledger.as_mut().ok_or_else(fault::not_initialised)?;
        let ended = if keep {
            ledger.commit().map_err(fault::of_ledger)
        } else {
            ledger.rollback();
            Ok(())
        };
        match keep && ended.is_ok() {
            true => self.kept_refusals = self.refusals.len(),
            false => self.refusals.truncate(self.kept_refusals),
        }
        ended
    }

    pub fn propose(&mut self, op: &str, why: impl Into<String>, params: Value) {
        self.next.push(Next::new(op, why, params));
    }

    pub fn warn(&mut self, code: &str, message: impl Into<String>) {
        self.warnings.push(Warning::new(code, message));
    }

    /// Says beside an empty list that it leaves out all there is of `kind`, and proposes to list that too.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn left_out(&mut self, kind: Kind, list: &str, left: &str) -> Result<(), Refusal> {
        let counts = self.views()?.counts(kind).map_err(fault::of_ledger)?;
        match counts.iter().map(|(_, count)| count).sum() {
            0 => {}
            all => self.propose(list, format!("none is open; {all} {left}"), json!({ "all": true })),
        }
        Ok(())
    }

    /// Cuts `rows`, read with one more than `limit`, and says so.
    pub fn cut<T>(&mut self, rows: &mut Vec<T>, limit: u32, what: &str, cursor: impl Fn(&T) -> String) {
        let limit_rows = limit as usize;
        if rows.len() > limit_rows {
            rows.truncate(limit_rows);
            let how =
                rows.last().map_or_else(String::new, |last| format!("ask again with `after`: `{}`", cursor(last)));
            self.truncated.push(Truncation { what: what.to_owned(), limit: u64::from(limit), total: None, how });
        }
    }
}

/// Reads a stored state.
pub fn held<T: Entity>(row: &Row) -> Result<Held<T>, Refusal> {
    let value = serde_json::from_slice(&row.body).map_err(|why| {
        Refusal::new(Code::LEDGER_CORRUPT, format!("the state of `{}` cannot be read: {why}", row.id)).next(
            "ledger.rebuild",
            "folds every state anew from its events",
            json!({}),
        )
    })?;
    Ok(Held { ver: row.ver, seq: row.seq, value })
}

/// The most rows a list answers with when it is not told.
pub const DEFAULT_PAGE: u32 = 50;

/// How many rows a list should read: the page, and one to see whether there are more.
pub fn page(limit: Option<u32>) -> Result<u32, Refusal> {
    match limit {
        None => Ok(DEFAULT_PAGE),
        Some(limit) if (1..MAX_PAGE).contains(&limit) => Ok(limit),
        Some(limit) => Err(Refusal::invalid("limit", format!("`limit` is from 1 to {}, not {limit}", MAX_PAGE - 1))),
    }
}

/// A list that may have been cut.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct List<T> {
    pub items: Vec<T>,
}

/// The event log of one aggregate.
pub fn stream_of(kind: Kind, id: &impl AsId) -> String {
    Stream::new(kind, id.to_stream()).to_string()
}
