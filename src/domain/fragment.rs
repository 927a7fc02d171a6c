//! Pieces of text that can be served to an agent, and where each of them came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::id::Oid;
use super::path::TreePath;

/// The first and the last line of a piece, counted from 1, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Lines {
    pub first: u32,
    pub last: u32,
}

/// How far the words of a fragment may be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// kctl's own constitution, ledger, and overrides from the accepted base.
    Kernel,
    /// Authored by the project: instructions and living specs.
    Project,
    /// Recorded knowledge: as good as its provenance.
    Recorded,
    /// Text of the repository. It informs and never instructs.
    Untrusted,
}

/// What a fragment is a piece of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Task,
    Contract,
    Constraint,
    Criterion,
    FileMap,
    Instructions,
    Spec,
    Passage,
    Decision,
    Knowledge,
    Note,
}

/// Why a passage was found: named parts in thousandths, and their sum. Parts that are 0 are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Score {
    pub total: u32,
    /// BM25 of the query's words in the passage.
    #[serde(skip_serializing_if = "is_zero")]
    pub bm25: u32,
    /// The query's words in the name of the symbol or heading, whole or in part.
    #[serde(skip_serializing_if = "is_zero")]
    pub name: u32,
    /// The query's words in the file's path.
    #[serde(skip_serializing_if = "is_zero")]
    pub path: u32,
    /// Nearness to the touched paths.
    #[serde(skip_serializing_if = "is_zero")]
    pub proximity: u32,
    /// The file imports a touched file, or a touched file imports it.
    #[serde(skip_serializing_if = "is_zero")]
    pub imports: u32,
    /// The operation or a tag is named by the file's path or the passage's name.
    #[serde(skip_serializing_if = "is_zero")]
    pub binding: u32,
    /// How lately the file changed, seen from the commit that was searched.
    #[serde(skip_serializing_if = "is_zero")]
    pub recency: u32,
}

fn is_zero(part: &u32) -> bool {
    *part == 0
}

impl Score {
    /// Sets the total to the sum of the parts.
    #[must_use]
    pub fn summed(mut self) -> Self {
        let parts = [self.bm25, self.name, self.path, self.proximity, self.imports, self.binding, self.recency];
        self.total = parts.iter().fold(0, |sum: u32, part| sum.saturating_add(*part));
        self
    }

    /// What speaks for the passage itself. A recent change alone makes nothing relevant.
    pub fn relevance(&self) -> u32 {
        self.total.saturating_sub(self.recency)
    }
}

/// One piece of a file, as the cutter marks it: `text[start..end]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The heading or the symbols that the piece defines; empty if it has none.
    pub name: String,
    pub lines: Lines,
    pub start: usize,
    pub end: usize,
}

/// Cuts a text into spans that cover it in order. The path only says which language it is.
pub type Cut = fn(&TreePath, &str) -> Vec<Span>;

/// Whether the file on disk still holds the blob that a passage was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDisk {
    Same,
    Changed,
    Missing,
    /// There is no work tree, or comparing would have passed the bound on bytes read.
    NotCompared,
}

/// A piece of a tracked file that was found for a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Passage {
    pub path: TreePath,
    pub blob: Oid,
    pub lines: Lines,
    pub name: String,
    pub on_disk: OnDisk,
    pub score: Score,
    pub text: String,
}

/// A directory or file of the file map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MapEntry {
    pub path: TreePath,
    /// Whether it is a directory.
    pub directory: bool,
    /// Tracked files below it, where that has been counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
}

/// What lies where: the top level with counts, and the neighbours of the touched paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileMap {
    pub top: Vec<MapEntry>,
    pub near: Vec<MapEntry>,
    /// Entries left out by the bounds.
    pub left_out: u32,
    /// Why the map is not whole, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
}

/// A piece of text in a capsule. `text` is absent when the host said that it still holds `digest`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fragment {
    /// Names the fragment within the root, such as `src/lib.rs#L3-L40` or `t-…/contract`.
    pub r#ref: String,
    pub source: Source,
    pub trust: Trust,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    /// Of the text's bytes; what `have` names.
    pub digest: Digest,
    /// Estimated tokens of the text, never below what a tokeniser counts by more than 2 %.
    pub tokens: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// What else is known of it: findings of `prompt.evaluate`, `changed_on_disk`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
