//! Where kctl keeps things under a repository's git common directory. Each name is spelled once.

use std::path::{Path, PathBuf};

/// `<git common dir>/decapod` and what is in it.
#[derive(Clone, Debug)]
pub struct Layout {
    dir: PathBuf,
}

impl Layout {
    pub fn of(common_dir: &Path) -> Self {
        Self { dir: common_dir.join("decapod") }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn ledger(&self) -> PathBuf {
        self.dir.join("ledger.db")
    }

    /// Locked by whoever writes. It is never deleted: deleting a lock file gives two holders.
    pub fn lock(&self) -> PathBuf {
        self.dir.join("ledger.lock")
    }

    /// Holds the origin's id. It tells a ledger that vanished from one that never was.
    pub fn marker(&self) -> PathBuf {
        self.dir.join("origin")
    }

    /// Locked while worktrees are made or removed.
    pub fn worktree_lock(&self) -> PathBuf {
        self.dir.join("worktrees.lock")
    }

    /// Held while checks run on the base.
    pub fn baseline_lock(&self) -> PathBuf {
        self.dir().join("baseline.lock")
    }

    /// Held by the kctl that supervises the run `id`, and gone when it ended.
    pub fn run_lock(&self, id: &str) -> PathBuf {
        self.dir().join(format!("run-{id}.lock"))
    }

    /// Held by every git that makes or removes a worktree, until that git ends: it may outlive the kctl that started it.
    pub fn git_lock(&self) -> PathBuf {
        self.dir.join("worktrees.git.lock")
    }

    /// Where backups were written, one path a line: the way back is known even where the ledger is gone.
    pub fn backups(&self) -> PathBuf {
        self.dir.join("backups")
    }

    pub fn artifacts(&self) -> PathBuf {
        self.dir.join("artifacts")
    }

    pub fn index(&self) -> PathBuf {
        self.dir.join("index.db")
    }

    pub fn cache(&self) -> PathBuf {
        self.dir.join("cache")
    }
}
