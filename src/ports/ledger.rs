//! What the ledger must offer: folded states to look at, and one way to append (DESIGN §4).

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::domain::answer::LedgerHead;
use crate::domain::chain::LinkFault;
use crate::domain::digest::Digest;
use crate::domain::event::{Draft, Recorded};
use crate::domain::fold::{FoldFault, Kind, Rel};
use crate::domain::id::OriginId;
use crate::domain::stamp::Stamp;

/// The most rows one page holds.
pub const MAX_PAGE: u32 = 500;

/// A folded state as stored, and how many events its stream has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: String,
    pub ver: u64,
    /// The last event of its stream, in the order of folding.
    pub seq: u64,
    pub rank: i64,
    pub body: Vec<u8>,
}

/// Which states to look at. Every condition that is given must hold; rows come by rank, then id.
#[derive(Clone, Debug)]
pub struct Query {
    pub kind: Kind,
    pub statuses: Vec<&'static str>,
    pub owner: Option<String>,
    pub parent: Option<String>,
    pub name: Option<String>,
    pub link: Option<(Rel, String)>,
    /// Only rows whose `until` is later than this.
    pub live_at: Option<Stamp>,
    /// The last row of the page before.
    pub after: Option<Cursor>,
    pub limit: u32,
}

impl Query {
    pub fn all(kind: Kind) -> Self {
        Self {
            kind,
            statuses: Vec::new(),
            owner: None,
            parent: None,
            name: None,
            link: None,
            live_at: None,
            after: None,
            limit: MAX_PAGE,
        }
    }
}

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub rank: i64,
    pub id: String,
}

impl Row {
    /// Where a page that ends with this row ends.
    pub fn cursor(&self) -> Cursor {
        Cursor { rank: self.rank, id: self.id.clone() }
    }
}

/// The stored answer of a call that carried an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// Digest of the operation and its parameters.
    pub request: Digest,
    pub answer: String,
}

/// Folded states and recorded events. Reading writes nothing.
pub trait Views {
    /// # Errors
    /// When the ledger cannot be read.
    fn load(&self, kind: Kind, id: &str) -> Result<Option<Row>, LedgerFault>;

    /// Ids of `kind` that start with `prefix`, at most `limit`.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn with_prefix(&self, kind: Kind, prefix: &str, limit: u32) -> Result<Vec<String>, LedgerFault>;

    /// # Errors
    /// When the ledger cannot be read.
    fn query(&self, query: &Query) -> Result<Vec<Row>, LedgerFault>;

    /// Tasks that are open, unclaimed and need nothing that is not finished.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn ready(&self, after: Option<&Cursor>, limit: u32) -> Result<Vec<Row>, LedgerFault>;

    /// How many states of `kind` have each status.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn counts(&self, kind: Kind) -> Result<Vec<(String, u64)>, LedgerFault>;

    /// Recorded events with `seq > after_seq`, oldest first, of one stream if it is named.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn events(&self, stream: Option<&str>, after_seq: u64, limit: u32) -> Result<Vec<Recorded>, LedgerFault>;

    /// The newest recorded events with `seq < before_seq`, oldest first, of one stream if it is named.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn events_before(&self, stream: Option<&str>, before_seq: u64, limit: u32) -> Result<Vec<Recorded>, LedgerFault>;

    /// # Errors
    /// When the ledger cannot be read.
    fn answer(&self, key: &str) -> Result<Option<StoredAnswer>, LedgerFault>;

    /// The last event of this origin; of the origin that wrote last, where this one, new since a recovery, has none.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn head(&self) -> Result<Option<LedgerHead>, LedgerFault>;

    /// When the last event was recorded.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn last_at(&self) -> Result<Option<Stamp>, LedgerFault>;

    fn origin(&self) -> &OriginId;
}

/// A ledger that can be written: take the lock, look, append, commit. Dropping it without `commit` undoes.
pub trait Ledger: Views {
    /// Takes the one write lock, waiting at most [`MAX_LOCK_WAIT_MS`].
    ///
    /// # Errors
    /// When the lock is not had in time, or the ledger cannot be written. Then no lock is held.
    fn begin(&mut self) -> Result<(), LedgerFault>;

    /// Appends `drafts`, all or none of them, and folds them. Nothing is kept unless `commit` follows.
    ///
    /// An event's time is the draft's, or later: it is never recorded before what its stream already has.
    ///
    /// # Errors
    /// `Moved` when a stream has another number of events than the draft expected; the transaction goes on. After any
    /// other fault it is over, as after `rollback`.
    fn append(&mut self, drafts: &[Draft]) -> Result<Vec<Recorded>, LedgerFault>;

    /// Stores the answer that repeats of `key` get, for [`ANSWER_LIFETIME_MS`] at least.
    ///
    /// # Errors
    /// When `key` has an answer already, or the ledger cannot be written; the transaction is then over.
    fn remember(&mut self, key: &str, answer: &StoredAnswer, at: Stamp) -> Result<(), LedgerFault>;

    /// Makes everything since `begin` durable and gives the lock back (I1).
    ///
    /// # Errors
    /// When it could not be made durable; then nothing of it is kept.
    fn commit(&mut self) -> Result<(), LedgerFault>;

    /// Forgets everything since `begin` and gives the lock back.
    fn rollback(&mut self);
}

/// How long a stored answer is kept, in milliseconds: 7 days.
pub const ANSWER_LIFETIME_MS: i64 = 7 * 86_400_000;

/// How long a writer waits for the lock, in milliseconds.
pub const MAX_LOCK_WAIT_MS: u64 = 30_000;

/// How a ledger is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Looks only; works where nothing can be written.
    Read,
    Write,
    /// As `Write`, and makes the ledger if there never was one.
    Create,
}

/// Opens, proves, mends and copies ledgers.
pub trait Ledgers {
    /// Opens the ledger of the repository whose git common directory is `common_dir`.
    ///
    /// # Errors
    /// `Absent` where there never was one, `Missing` where there was one and it is gone.
    fn open(&self, common_dir: &Path, access: Access) -> Result<Box<dyn Ledger>, LedgerFault>;

    /// Recomputes every seal, the chain of every origin, and every folded state.
    ///
    /// # Errors
    /// When the file cannot be read at all. What does not verify is in the report.
    fn verify(&self, common_dir: &Path) -> Result<Verification, LedgerFault>;

    /// Drops all folded state, and tables' guards that are not as they should be, and makes them anew from the events;
    /// a dry run only says what would change. It mends no event and no chain.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    fn rebuild(&self, common_dir: &Path, dry_run: bool) -> Result<Rebuilt, LedgerFault>;

    /// Copies a consistent ledger to the new file `to`.
    ///
    /// # Errors
    /// When `to` exists or cannot be written.
    fn backup(&self, common_dir: &Path, to: &Path) -> Result<LedgerHead, LedgerFault>;

    /// Replaces a missing or damaged ledger. The damaged file is kept beside.
    ///
    /// # Errors
    /// When nothing could be recovered.
    fn recover(&self, common_dir: &Path, from: &RecoverFrom) -> Result<Recovered, LedgerFault>;

    /// What a recovery could read: the file in its place, those that were set aside, backups that were made from here
    /// and are still where they were written. Most events first.
    fn sources(&self, common_dir: &Path) -> Vec<Source>;

    /// Deletes the ledger, its artifacts, caches and markers, for good. The lock file stays.
    ///
    /// # Errors
    /// What could not be deleted.
    fn purge(&self, common_dir: &Path) -> Result<(), LedgerFault>;

    /// What the diagnosis says of the place: file, version of SQLite, journal mode, file system.
    fn describe(&self, common_dir: &Path) -> Description;
}

/// What a ledger is recovered from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecoverFrom {
    Backup(PathBuf),
    /// The readable rows of the damaged file.
    Damaged,
    /// As `Damaged`, and an empty ledger if there is nothing to read.
    DamagedOrNothing,
}

/// What `verify` found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Verification {
    pub events: u64,
    pub states: u64,
    pub origins: u64,
    /// Events of types that only a newer kctl knows: kept and skipped.
    pub unknown: u64,
    pub problems: Vec<Problem>,
}

/// Something in the ledger that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Problem {
    /// The event's place, where it is about one.
    pub seq: Option<u64>,
    pub what: String,
}

/// The most problems that one report lists.
pub const MAX_PROBLEMS: usize = 100;

/// Problems as they are found: listed up to [`MAX_PROBLEMS`], and counted beyond.
#[derive(Debug, Default)]
pub struct Problems {
    listed: Vec<Problem>,
    more: u64,
}

impl Problems {
    pub fn add(&mut self, seq: Option<u64>, what: impl Into<String>) {
        if self.listed.len() < MAX_PROBLEMS {
            self.listed.push(Problem { seq, what: what.into() });
        } else {
            self.more += 1;
        }
    }

    /// The list; its last entry says how many it leaves out.
    pub fn into_list(mut self) -> Vec<Problem> {
        if self.more > 0 {
            self.listed.push(Problem { seq: None, what: format!("and {} more", self.more) });
        }
        self.listed
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Rebuilt {
    pub events: u64,
    pub states: u64,
    pub quarantined: Vec<Problem>,
    /// Whether the states differed from the fold before.
    pub changed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Recovered {
    pub events: u64,
    /// What could not be saved, or was saved and does not verify.
    pub lost: Vec<Problem>,
    /// Where the damaged file was kept.
    pub kept: Option<String>,
    /// What it was recovered from.
    pub source: String,
}

/// A file that a recovery could read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Source {
    pub path: String,
    /// How many events can be read of it.
    pub events: u64,
    /// Whether it is the file in the ledger's place, which is read where no other is named.
    pub in_place: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Description {
    pub path: String,
    pub exists: bool,
    pub bytes: u64,
    pub sqlite_version: String,
    pub journal_mode: Option<String>,
    pub file_system: String,
    pub writable: bool,
}

/// Why the ledger did not serve.
#[derive(Debug, thiserror::Error)]
pub enum LedgerFault {
    #[error("the repository has no ledger yet")]
    Absent,
    #[error("there was a ledger at `{}` and it is gone", .0.display())]
    Missing(PathBuf),
    #[error("`{stream}` has {found} events, not {expected}")]
    Moved { stream: String, expected: u64, found: u64 },
    #[error("the ledger's lock was not had within {waited_ms} ms")]
    Busy { waited_ms: u64 },
    #[error("custody is not writable: {0}")]
    NotWritable(String),
    #[error("the ledger does not read back: {0}")]
    Corrupt(String),
    #[error("{0}")]
    Version(String),
    #[error("`{0}` file systems do not keep locks: custody cannot live there")]
    Unsuitable(String),
    #[error("{0}")]
    Failed(String),
}

impl From<LinkFault> for LedgerFault {
    fn from(fault: LinkFault) -> Self {
        match fault {
            LinkFault::Moved { stream, expected, found } => LedgerFault::Moved { stream, expected, found },
            LinkFault::Fold(why @ FoldFault::BadState(_)) => LedgerFault::Corrupt(why.to_string()),
            LinkFault::Fold(why @ (FoldFault::BadId(_) | FoldFault::WrongStream { .. })) => {
                LedgerFault::Failed(why.to_string())
            }
        }
    }
}
