//! What is kept of a session's observations. Everything is bounded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::Spans;
use super::observation::{Mode, Touched};
use crate::domain::digest::Digest;
use crate::domain::id::SessionId;
use crate::domain::stamp::Stamp;

/// Redundant turns in a row after which the agent is shown what is known.
pub const MAX_REDUNDANT_TURNS: u32 = 2;
/// The same inside of one turn: redundant observations with nothing new between them.
pub const MAX_REDUNDANT_IN_ROW: u32 = 4;
/// Observations without progress after which that is said, however new each of them was.
pub const MAX_UNMOVED: u64 = 100;
/// Observations kept of one epoch; the oldest goes first.
pub const MAX_KNOWN: usize = 128;
/// Files whose last known content is kept.
pub(super) const MAX_FILES: usize = 64;
/// Processes that may run at once.
pub(super) const MAX_RUNNING: usize = 16;
/// What one kept text may hold.
pub(super) const MAX_TEXT_CHARS: usize = 200;

/// What a session has seen since something last changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stagnation {
    pub session: SessionId,
    /// Observations of the session.
    pub count: u64,
    /// Rises with every real change.
    pub epoch: u64,
    /// The number of the observation that began the epoch.
    pub since: u64,
    pub known: Vec<Known>,
    pub redundant_turns: u32,
    /// What was known has been laid out in this epoch.
    pub regrounded: bool,
    /// What the last observation meant.
    pub last: Option<Judged>,
    pub updated_at: Stamp,
    pub(super) turn: Option<String>,
    /// The last turn of a person, or the last resumption.
    pub(super) begun_by: Option<String>,
    pub(super) turn_is_fresh: bool,
    pub(super) turn_is_redundant: bool,
    /// Redundant observations in a row.
    pub(super) in_row: u32,
    pub(super) mode: Option<Mode>,
    pub(super) tasks: Option<Digest>,
    pub(super) evidence: Option<Digest>,
    pub(super) tree: Option<Digest>,
    /// The number of the first observation from which on the tree is known not to have changed.
    pub(super) settled: Option<u64>,
    /// The last observation before that point that may have changed the tree, and the last of another key.
    pub(super) acted: Option<Acted>,
    pub(super) acted_else: Option<u64>,
    pub(super) files: Vec<Touched>,
    /// Processes that the host says are running.
    pub(super) running: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Acted {
    pub key: Digest,
    pub at: u64,
}

/// Something that was seen in this epoch: by whom is told by the session, when and where it says itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Known {
    pub key: Digest,
    /// The host's id of the first call that saw it.
    pub call: String,
    pub tool: String,
    /// What it was about, in words.
    pub about: String,
    /// What came of it, where that has a digest.
    pub result: Option<Digest>,
    pub exit: Option<i32>,
    pub turn: Option<String>,
    pub at: Stamp,
    /// The number of the observation.
    pub number: u64,
    pub times: u32,
    /// Lines that were seen, and those that were seen again.
    pub seen: Spans,
    pub again: Spans,
}

/// What an observation means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    pub advice: Advice,
    pub epoch: u64,
    /// The change that began a new epoch with this observation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// How often it was seen in this epoch, this time included.
    pub times: u32,
    /// Nothing new was seen, and not for the first time.
    pub redundant: bool,
    /// It looks at something that is still running.
    pub polling: bool,
    pub redundant_turns: u32,
    /// Observations since the epoch began.
    pub unmoved: u64,
    /// The call that saw it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    GoOn,
    /// It was seen before, and nothing has changed.
    Noted,
    /// What is known is laid out, once.
    Reground,
    /// The answer is known, and this is where it stands.
    Known,
    /// Much was looked at, and nothing has changed for long.
    Unmoved,
}

/// What began an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// A person said something new.
    UserTurn,
    /// The conversation was resumed or compacted.
    Resumed,
    Mode,
    TaskState,
    /// A run was made, or evidence handed in.
    Evidence,
    /// A file was written.
    Written,
    /// The tree is another than it was, whoever changed it.
    TreeChanged,
}
