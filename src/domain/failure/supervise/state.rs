//! What is kept between attempts. Everything is bounded and can be written into a ledger.

use crate::domain::failure::Item;
use crate::domain::failure::Key;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// Attempts without progress after which the agent is shown what is known.
pub const MAX_UNCHANGED: u32 = 3;
/// Failed attempts at one lineage after which a person is asked.
pub const MAX_ABSOLUTE: u32 = 8;
/// Lineages kept open; the one not seen for longest goes first.
pub const MAX_LINEAGES: usize = 64;
/// Items kept per lineage; more are only counted.
pub const MAX_ITEMS: usize = 256;
pub const MAX_COMMANDS: usize = 16;
pub const MAX_PATHS: usize = 64;
/// Gates kept per lineage and per item.
pub const MAX_GATES: usize = 16;
/// Past runs kept to find the same inputs with both results.
pub const MAX_RUNS: usize = 64;
/// What one kept text may hold.
pub const MAX_TEXT_CHARS: usize = 300;

/// What an attempt tried to pass: a contract's criterion, or a command that stands for itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Gate {
    Criterion(String),
    Command(Key),
}

impl Gate {
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Criterion(a), Self::Criterion(b)) => a == b,
            (Self::Command(a), Self::Command(b)) => a.covers(b),
            (Self::Criterion(_), Self::Command(_)) | (Self::Command(_), Self::Criterion(_)) => false,
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Criterion(id) => write!(f, "criterion {id}"),
            Self::Command(key) => write!(f, "{key}"),
        }
    }
}

/// What a run would have shown as failing, had it failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Covered {
    /// What this gate, or one that it covers, has shown before.
    #[default]
    Gate,
    /// Everything that any gate can show.
    All,
    /// These items, by [`Item::key`].
    Items(BTreeSet<String>),
}

/// One finished attempt.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    pub gate: &'a Gate,
    pub passed: bool,
    pub items: &'a [Item],
    pub signature: &'a str,
    pub covered: &'a Covered,
    /// The place of the failing check in the declared order, where there is one.
    pub stage: Option<u32>,
    pub command: Option<&'a str>,
    /// Paths changed since the attempt before.
    pub changed_paths: &'a [String],
    /// The digest of what the run read.
    pub inputs: Option<&'a str>,
}

/// What an attempt means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The lineage of a failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<u64>,
    /// Attempts without progress, this one included.
    pub count: u32,
    /// Failed attempts since the lineage was opened.
    pub absolute: u32,
    pub progress: Progress,
    pub verdict: Verdict,
    /// The lineages that a pass closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleared: Vec<u64>,
    /// The same inputs have given this gate the other result before.
    pub contradicts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The first failed attempt of its lineage.
    Opened,
    /// Fewer items fail than ever did, and no other ones.
    Shrunk,
    /// The fault is further on than it ever was.
    Later,
    /// Other items, or the same in another way: no fewer than before.
    Churn,
    Same,
    /// The attempt passed.
    Cleared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    GoOn,
    Reground,
    Ticket,
}

/// The fold over all attempts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lineages {
    pub(super) next: u64,
    pub(super) seen: u64,
    pub(super) open: Vec<Lineage>,
    pub(super) runs: VecDeque<Run>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Lineage {
    pub id: u64,
    pub gates: Vec<Gate>,
    pub now: BTreeMap<String, Tracked>,
    pub first: BTreeSet<String>,
    /// Items beyond [`MAX_ITEMS`].
    pub omitted: u64,
    pub signature: String,
    pub count: u32,
    pub absolute: u32,
    /// The furthest place reached, and the fewest items that failed there.
    pub stage: (u32, u32),
    pub fewest: u64,
    pub commands: Vec<String>,
    pub paths: Vec<String>,
    pub last_seen: u64,
}

/// One failing item over the attempts in which it failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Tracked {
    pub count: u32,
    pub cause: String,
    /// Its cause has changed since it was first seen.
    pub moved: bool,
    pub gates: Vec<Gate>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Run {
    pub gate: Gate,
    pub inputs: String,
    pub passed: bool,
}
