//! The git port: what operations need of a repository.
//!
//! Reads run no program that a repository can name: no filter, fsmonitor, textconv, external diff or hook. What talks
//! to a remote or makes a worktree runs the git program under the user's own configuration, as the user would.

mod facts;
mod losses;

use std::path::{Path, PathBuf};

pub use facts::{
    Ancestry, At, Blob, Branch, Change, ChangeKind, Checkout, CommitLine, ConfigOrigin, ConfigValue, Configured, Depth,
    Head, InProgress, Layer, Listed, LockFile, Place, Pushed, RefUpdate, Rejection, RemoteUrl, Repair, Spot, Standing,
    Submodule, Unpublished, Worktree,
};
pub use losses::{Leaving, Lost, Whose};

use crate::domain::id::Oid;
use crate::domain::path::TreePath;

/// The most entries of one tree that are listed.
pub const MAX_LISTED: usize = 1_000_000;
/// The most commits that [`Git::unpublished`] names.
pub const MAX_UNPUBLISHED: usize = 1000;
/// The most branches that are listed.
pub const MAX_BRANCHES: usize = 10_000;
/// The most files that [`Git::converted`] names.
pub const MAX_CONVERTED: usize = 100;
/// Characters of a commit's first line that are kept.
pub const MAX_SUBJECT_CHARS: usize = 200;

/// Why git could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitFault {
    #[error("`{}` is not inside a git repository", .dir.display())]
    NotARepository { dir: PathBuf },
    #[error("`{}` belongs to another user and is not listed in git's `safe.directory`", .dir.display())]
    DubiousOwnership { dir: PathBuf },
    #[error("the repository at `{}` uses {what}, which kctl cannot read", .dir.display())]
    Unsupported { dir: PathBuf, what: String },
    #[error("`{}` is a repository without a work tree", .dir.display())]
    NoWorkTree { dir: PathBuf },
    #[error("cannot read or write `{}`: {words}", .path.display())]
    Io { path: PathBuf, words: String },
    #[error("`{rev}` names no commit here")]
    UnknownRevision { rev: String },
    #[error("`{name}` is not a legal {noun}")]
    IllegalName { noun: &'static str, name: String },
    #[error("`{path}` has {size} bytes, more than the limit of {limit}")]
    TooLarge { path: TreePath, size: u64, limit: u64 },
    #[error("there are more than {limit} {what}")]
    TooMany { what: &'static str, limit: usize },
    #[error("git's data cannot be read: {words}")]
    Broken { words: String },
    #[error("removing `{}` would lose {}", .path.display(), losses::in_words(what))]
    WouldLose { path: PathBuf, what: Vec<Lost> },
    #[error("`{}` cannot be used for a worktree: {why}", .path.display())]
    Taken { path: PathBuf, why: String },
    #[error("`git {command}` ended with status {status}: {words}")]
    Failed { command: String, status: i32, words: String },
    #[error("`git {command}` was stopped after {limit_s} s")]
    TimedOut { command: String, limit_s: u64 },
    #[error("the git program cannot be run: {words}")]
    NotRun { words: String },
    #[error("the remote `{remote}` did not answer: {words}")]
    Unreachable { remote: String, words: String },
    #[error(transparent)]
    Tree(#[from] super::trees::TreeFault),
}

pub type GitResult<T> = Result<T, GitFault>;

/// One repository, seen from one directory.
///
/// `work_tree` parameters are the tops of worktrees of this repository. Branches are named without `refs/heads/`.
pub trait Git: Send + Sync {
    fn place(&self) -> &Place;
    fn head(&self, work_tree: &Path) -> GitResult<Head>;

    /// The commit that `rev` names, seen from the place; tags are followed.
    fn resolve(&self, rev: &str) -> GitResult<Oid>;
    fn tree_of(&self, commit: &Oid) -> GitResult<Oid>;
    /// Whether `new` is `old` or builds on it.
    fn ancestry(&self, old: &Oid, new: &Oid) -> GitResult<Ancestry>;
    /// The newest commit that both build on; none for histories that never met, or that end too early to tell.
    fn fork_point(&self, a: &Oid, b: &Oid) -> GitResult<Option<Oid>>;
    /// The file or symlink at `path` of `commit`; none if there is none, or it is a directory or a submodule.
    fn read_at(&self, commit: &Oid, path: &TreePath, max_bytes: u64) -> GitResult<Option<Blob>>;
    /// The mode of what is at `path` of `commit`: a file, a symlink, a directory or a submodule; none if nothing is.
    fn mode_at(&self, commit: &Oid, path: &TreePath) -> GitResult<Option<u32>>;
    /// Everything below `prefix` (a directory, or empty for the whole tree), sorted by path.
    fn list_at(&self, commit: &Oid, prefix: &TreePath) -> GitResult<Vec<Listed>>;

    /// What differs between the head commit, the index and the files on disk, sorted. Index bits that tell git to look
    /// away (`assume-unchanged`, `skip-worktree`) hide nothing but an absent file of a sparse checkout.
    fn dirt(&self, work_tree: &Path) -> GitResult<Vec<Change>>;
    /// Files whose raw bytes on disk are not those that `commit` stores, unless they are the content of the Git LFS
    /// pointer that is stored, or the `.gitattributes` files of `base` convert their line endings or `$Id$` and that is
    /// all. Absent files are [`Git::dirt`]'s to tell. At most `MAX_CONVERTED` are named.
    fn converted(&self, work_tree: &Path, commit: &Oid, base: &Oid) -> GitResult<Vec<TreePath>>;
    /// Every path that differs from `base` in a commit, in the index or on disk. A rename is a deletion and an
    /// addition here, so that both its sides are named.
    fn changed_since(&self, work_tree: &Path, base: &Oid) -> GitResult<Vec<Change>>;
    /// Every path that differs between two commits; a rename is told as in [`Git::changed_since`].
    fn changed_between(&self, from: &Oid, to: &Oid) -> GitResult<Vec<Change>>;
    /// Whether git ignores `path`, itself or by one of its directories.
    fn is_ignored(&self, work_tree: &Path, path: &str) -> GitResult<bool>;

    fn branch_tip(&self, branch: &str) -> GitResult<Option<Oid>>;
    /// Branches whose names begin with `prefix`, sorted.
    fn branches(&self, prefix: &str) -> GitResult<Vec<Branch>>;
    /// Commits reachable from `tip` and neither from a remote-tracking ref nor from `kept`.
    fn unpublished(&self, tip: &Oid, kept: &[Oid]) -> GitResult<Unpublished>;
    /// Deletes `branch` if it still points at `expected` and is checked out nowhere; says whether it was there.
    fn delete_branch(&self, branch: &str, expected: &Oid) -> GitResult<bool>;

    /// All worktrees, the main one first.
    fn worktrees(&self) -> GitResult<Vec<Worktree>>;
    /// Why what is at `path` is not the linked worktree that this root registers there, in words; none if it is. A
    /// symlink in its place is none, wherever it leads.
    fn estranged(&self, path: &Path) -> GitResult<Option<String>>;
    /// What is at `path`.
    fn spot(&self, path: &Path) -> GitResult<Spot>;
    /// Makes a worktree at `path`, with the sparse checkout of the worktree of the place.
    fn add_worktree(&self, path: &Path, checkout: &Checkout) -> GitResult<Worktree>;
    /// Makes the worktree at `path` sound again after a crash of [`Git::add_worktree`], or refuses and names what
    /// clearing it would lose (I11). The caller holds the root's lock, so that no living `add` is taken for a dead one.
    fn repair_worktree(&self, path: &Path, checkout: &Checkout) -> GitResult<Repair>;
    /// All that would go with the worktree and its branch and that is nowhere else (I11).
    ///
    /// # Errors
    /// `Taken` where what is at the path is not a worktree that can be removed.
    fn losses(&self, leaving: &Leaving) -> GitResult<Vec<Lost>>;
    /// Removes the worktree, after one more look: what it would lose beyond `accepted` refuses it. The branch stays.
    fn remove_worktree(&self, leaving: &Leaving, accepted: &[Lost]) -> GitResult<()>;
    /// Makes `reference` (a full name) hold `commit`, so that nothing forgets it.
    fn keep(&self, commit: &Oid, reference: &str) -> GitResult<()>;

    fn submodules(&self, work_tree: &Path) -> GitResult<Vec<Submodule>>;
    /// Fetches and checks out all submodules. Git's own limits on protocols hold.
    fn init_submodules(&self, work_tree: &Path) -> GitResult<()>;
    /// Files on disk that are pointers to content that Git LFS has not fetched.
    fn lfs_pointers(&self, work_tree: &Path) -> GitResult<Vec<TreePath>>;

    fn remotes(&self) -> GitResult<Vec<String>>;
    /// The one address that a push to `remote` goes to.
    fn push_url(&self, remote: &str) -> GitResult<RemoteUrl>;
    /// What the remote says that `refs` (full names) are at; absent refs are absent from the answer.
    fn remote_refs(&self, url: &RemoteUrl, refs: &[&str]) -> GitResult<Vec<(String, Oid)>>;
    /// Brings `reference` (a full name) of `remote` here, into no branch, and says what it is at; none if there is none.
    fn fetch(&self, remote: &str, reference: &str, depth: Depth) -> GitResult<Option<Oid>>;
    /// Moves refs of the remote to exact objects, all or none. Never forces: a branch only moves to what builds on
    /// `expected`, and a tag never moves.
    fn push(&self, url: &RemoteUrl, updates: &[RefUpdate]) -> GitResult<Pushed>;

    /// The ref that a symbolic ref such as `refs/remotes/origin/HEAD` names; none if it is absent or names an object.
    fn symbolic(&self, reference: &str) -> GitResult<Option<String>>;

    /// Every value that some configuration gives `key`, weakest first.
    fn config_values(&self, key: &str) -> GitResult<Vec<ConfigValue>>;
    /// The value in force for `key` in `work_tree`, or in the root.
    fn config(&self, work_tree: Option<&Path>, key: &str) -> GitResult<Option<Configured>>;
    fn set_local_config(&self, key: &str, value: &str) -> GitResult<()>;
    /// Says whether it was set.
    fn unset_local_config(&self, key: &str) -> GitResult<bool>;
    /// The directory that git runs hooks of `work_tree` from, whether or not it exists.
    fn hooks_dir(&self, work_tree: Option<&Path>) -> GitResult<PathBuf>;
}

/// Finds repositories.
pub trait Repositories {
    /// Opens the repository that `dir` is in. No environment variable changes which one that is.
    ///
    /// # Errors
    /// `NotARepository`, `DubiousOwnership`, `Unsupported` or `Io`.
    fn discover(&self, dir: &Path) -> GitResult<Box<dyn Git>>;
}
