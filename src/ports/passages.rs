//! Passages of a root's tracked files, found by words, nearness and imports. A cache stands behind it: whatever
//! happens to the cache, a call is answered, at worst with less and a reason.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::fragment::{FileMap, Passage};
use crate::domain::id::Oid;
use crate::domain::path::TreePath;

/// How long one call may spend on reading files that are not indexed yet, unless the caller says otherwise.
pub const REFRESH_WITHIN: Duration = Duration::from_secs(2);

/// One line of work on the root: usually a worktree, at the commit whose tree is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Stable over calls, such as the worktree's name; views share what they have in common.
    pub name: String,
    pub commit: Oid,
    /// Where the files are checked out, to tell which of them have changed since.
    pub work_tree: Option<PathBuf>,
}

/// What is looked for. All of it is untrusted text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub text: String,
    /// Paths that the task touches or names.
    pub touched: Vec<TreePath>,
    pub op: Option<String>,
    pub tags: Vec<String>,
    /// The most passages to return.
    pub limit: usize,
}

/// Why a tracked file is not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    Binary,
    Generated,
    Vendored,
    Huge,
    Symlink,
    Submodule,
    /// The blob is not in the object database, as in a partial clone.
    Missing,
}

/// Where the index of this call lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    Disk,
    /// On disk, but this process may not write it.
    ReadOnly,
    /// In this process only, within smaller bounds.
    Memory,
    #[default]
    None,
}

/// How much of a view's tree can be searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Tracked files of the tree.
    pub files: u32,
    pub indexed: u32,
    pub pending: u32,
    pub fragments: u32,
    pub skipped: BTreeMap<Skip, u32>,
    /// Files that this call read.
    pub read: u32,
    pub storage: Storage,
    /// Why the answer is not whole; absent when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
}

/// The answer to a query, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    pub passages: Vec<Passage>,
    /// Words that are too frequent to tell passages apart, and were not ranked by.
    pub too_common: Vec<String>,
    /// Words of the query beyond the bound on words.
    pub words_left_out: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
}

/// Finds passages. No call fails: what cannot be had is said in `partial`.
pub trait Passages {
    /// Brings the index up to the view's commit, within a length of time, and says how far it came.
    fn refresh(&self, view: &View, within: Duration) -> Coverage;

    /// Finds the passages of the view that fit the query best, out of what is indexed.
    fn search(&self, view: &View, query: &Query) -> Found;

    /// What lies where in the view's tree.
    fn map(&self, view: &View, touched: &[TreePath]) -> FileMap;
}
