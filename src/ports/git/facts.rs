//! What git says: the facts that the port answers with.

use std::path::PathBuf;

use crate::domain::id::Oid;
use crate::domain::path::TreePath;

/// Where a directory stands among a repository's parts. Every path is absolute and free of symlinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The root: what all worktrees share.
    pub common_dir: PathBuf,
    /// This worktree's own part; the common directory itself in the main worktree.
    pub git_dir: PathBuf,
    /// The worktree that the directory is in.
    pub work_tree: Option<PathBuf>,
    /// The main worktree; none where the root is bare.
    pub main_work_tree: Option<PathBuf>,
    /// Whether the root is bare. A linked worktree of a bare root has a work tree all the same.
    pub bare: bool,
}

/// What `HEAD` of a worktree names. Branches are named without `refs/heads/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// A branch that has no commit yet.
    Unborn {
        branch: String,
    },
    Branch {
        branch: String,
        commit: Oid,
    },
    Detached {
        commit: Oid,
    },
}

impl At {
    pub fn commit(&self) -> Option<&Oid> {
        match self {
            At::Unborn { .. } => None,
            At::Branch { commit, .. } | At::Detached { commit } => Some(commit),
        }
    }

    pub fn branch(&self) -> Option<&str> {
        match self {
            At::Unborn { branch } | At::Branch { branch, .. } => Some(branch),
            At::Detached { .. } => None,
        }
    }
}

/// An operation that git has begun in a worktree and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InProgress {
    Merge,
    Revert,
    CherryPick,
    Bisect,
    Rebase,
    ApplyMailbox,
}

/// A lock file that some git process holds or has left behind. Git does not record whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFile {
    pub path: PathBuf,
    /// Milliseconds since it was made; 0 if the clock says the future.
    pub age_ms: u64,
}

/// The state of one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub at: At,
    /// The tree of the commit that `at` names.
    pub tree: Option<Oid>,
    pub in_progress: Option<InProgress>,
    pub index_lock: Option<LockFile>,
    /// Whether history ends at a boundary that `git fetch --unshallow` would move.
    pub shallow: bool,
}

/// Whether one commit builds on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancestry {
    Yes,
    No,
    /// History here ends before the question is decided; a deeper clone would tell.
    UnknownShallow,
}

/// A blob of some commit's tree, as stored: no filter has run over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub bytes: Vec<u8>,
    pub mode: u32,
    pub oid: Oid,
}

/// An entry of some commit's tree: a file, a symlink or a submodule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub path: TreePath,
    pub mode: u32,
    pub oid: Oid,
}

/// How a path differs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    TypeChanged,
    Untracked,
    Renamed { from: TreePath },
    Conflicted,
}

/// Between which two states a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// The base and the head commit.
    Committed,
    /// The head commit and the index.
    Staged,
    /// The index and the files on disk.
    WorkTree,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Change {
    pub path: TreePath,
    pub kind: ChangeKind,
    pub layer: Layer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Without `refs/heads/`.
    pub name: String,
    pub tip: Oid,
    /// The full name of the remote-tracking ref, where one is configured.
    pub upstream: Option<String>,
}

/// A commit, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitLine {
    pub oid: Oid,
    /// The first line of the message, at most [`MAX_SUBJECT_CHARS`](super::MAX_SUBJECT_CHARS) long.
    pub subject: String,
}

/// Commits that exist nowhere else, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Unpublished {
    pub commits: Vec<CommitLine>,
    /// There are more than [`MAX_UNPUBLISHED`](super::MAX_UNPUBLISHED).
    pub more: bool,
}

/// What a worktree's registration and its directory say about each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Sound,
    /// Git was stopped while it made it: locked with git's own reason `initializing`, or parts were never written. Or
    /// while it removed it: parts are gone.
    HalfMade,
    /// Registered, but there is no such directory.
    Missing,
    /// The directory is there and belongs to something else.
    Estranged,
}

/// A registered worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// Its name under `<common dir>/worktrees`; none for the main worktree.
    pub name: Option<String>,
    /// Where its registration says it is; none where that part was never written.
    pub path: Option<PathBuf>,
    pub at: Option<At>,
    /// The reason given when it was locked, which may be empty.
    pub locked: Option<String>,
    pub standing: Standing,
}

impl Worktree {
    /// Whether `git worktree prune` would forget it.
    pub fn prunable(&self) -> bool {
        self.locked.is_none() && matches!(self.standing, Standing::Missing | Standing::HalfMade)
    }
}

/// What is at a path where a worktree is meant to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Nothing, or an empty directory, and no registration.
    Free,
    /// A registered worktree, in whatever standing.
    Worktree(Worktree),
    /// A directory that says it is a worktree of this root, without a registration.
    Leftover,
    /// Something else: it is not touched.
    Taken { why: String },
}

/// Which branch a new worktree gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checkout {
    /// A new branch at `base`, with no upstream.
    New { branch: String, base: Oid },
    /// A branch that exists and is checked out nowhere.
    Existing { branch: String },
}

impl Checkout {
    pub fn branch(&self) -> &str {
        match self {
            Checkout::New { branch, .. } | Checkout::Existing { branch } => branch,
        }
    }
}

/// What it took to make a worktree sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// It was sound already.
    Nothing,
    /// The checkout was whole; git's own lock on it was lifted.
    Unlocked,
    /// What the crash left held nothing that the branch does not; it was cleared and made anew.
    MadeAnew,
    /// There was nothing to repair; it was made.
    Made,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submodule {
    pub path: TreePath,
    /// What the index says it should be at.
    pub commit: Oid,
    /// Whether it has a repository of its own on disk.
    pub populated: bool,
}

/// An address, and the same without what may be secret in it.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteUrl {
    /// For git only: it may carry a password.
    pub secret: String,
    pub shown: String,
}

impl std::fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

/// How much history a fetch asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    AsConfigured,
    /// `--unshallow`: the whole of it.
    Whole,
}

/// One ref that a push is to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    /// The exact object.
    pub oid: Oid,
    /// The full name of the remote's ref.
    pub dst: String,
    /// What the remote's ref must be at; none if it must not exist.
    pub expected: Option<Oid>,
}

/// What a push came to. Only reading the remote back proves the first two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    Accepted,
    UpToDate,
    /// The ref was not where `expected` said.
    LeaseMoved {
        dst: String,
    },
    Rejected {
        reason: Rejection,
        words: String,
    },
    /// No answer, a refused connection, failed authentication: git's words, without secrets.
    Unreachable {
        words: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The update would drop commits, or this clone cannot tell. Nothing was sent.
    NotAncestor,
    /// A hook of this clone said no, or git stopped before it sent anything.
    Local,
    /// The remote said no: a hook, a protected branch.
    Remote,
    /// The remote cannot move several refs at once.
    AtomicUnsupported,
}

/// Where a configured value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigOrigin {
    System,
    Global,
    Local,
    Worktree,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    pub value: String,
    pub origin: ConfigOrigin,
}

/// One of the values that some configuration gives a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    pub origin: ConfigOrigin,
    /// As it is written.
    pub raw: PathBuf,
    /// As git expands it when a path is meant.
    pub path: PathBuf,
}
