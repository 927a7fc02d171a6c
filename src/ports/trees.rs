//! The work-tree port: what is on disk, file by file.

use std::path::{Path, PathBuf};

use crate::domain::path::TreePath;
pub use crate::domain::tree::{Entry, MODE_EXECUTABLE, MODE_FILE, MODE_REPOSITORY, MODE_SYMLINK, Snapshot};

/// How deep repositories may lie inside each other.
pub const MAX_NESTED_REPOSITORIES: usize = 16;
/// The most files of one work tree.
pub const MAX_FILES: usize = 4_000_000;
/// How deep directories may lie inside each other.
pub const MAX_DEPTH: usize = 512;

/// Why a work tree could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeFault {
    #[error("`{path}` cannot be read: {words}")]
    Unreadable { path: TreePath, words: String },
    #[error("`{}` cannot be opened as a work tree: {words}", .dir.display())]
    NotOpened { dir: PathBuf, words: String },
    #[error("the index of `{}` cannot be read: {words}", .dir.display())]
    Index { dir: PathBuf, words: String },
    #[error("the work tree has more than {limit} {what}, at `{path}`")]
    TooMany { what: &'static str, limit: usize, path: TreePath },
}

/// Reads work trees.
pub trait Trees: Send + Sync {
    /// Reads every file of the worktree whose top is `work_tree`, without filters and without touching git's index.
    ///
    /// # Errors
    /// A file or directory that cannot be read is an error that names it: a partial snapshot would call unseen
    /// changes fresh.
    fn snapshot(&self, work_tree: &Path) -> Result<Snapshot, TreeFault>;

    /// The content of the regular file at `path` of the work tree; none if there is none, or something else is there.
    ///
    /// # Errors
    /// In words, when it is there and cannot be read, or has more than `max_bytes` bytes.
    fn read(&self, work_tree: &Path, path: &TreePath, max_bytes: u64) -> Result<Option<Vec<u8>>, String>;

    /// Whether `path` is a directory.
    fn exists(&self, path: &Path) -> bool;

    /// Whether `path` itself is a symbolic link, wherever it leads.
    fn is_link(&self, path: &Path) -> bool;

    /// The symbolic links of `snapshot` whose content it does not speak for: the target is there, and lies outside of
    /// the tree or is ignored. A snapshot has a link's target by name only.
    fn links_out(&self, work_tree: &Path, snapshot: &Snapshot) -> Vec<TreePath>;
}
