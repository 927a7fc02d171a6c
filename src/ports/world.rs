//! The small things of the world: time, randomness, environment, secrets.

use std::path::{Path, PathBuf};

use crate::domain::digest::Digest;
use crate::domain::id::{EvidenceId, SessionId};
use crate::domain::stamp::Stamp;

/// Tells the time.
pub trait Clock {
    fn now(&self) -> Stamp;
}

/// Draws what must not repeat or be guessed.
pub trait Ids {
    /// A UUIDv7.
    fn uuid(&self) -> uuid::Uuid;

    /// A secret of 256 random bits, as 64 hex digits.
    fn secret(&self) -> String;
}

/// The process's environment.
pub trait Env {
    fn var(&self, name: &str) -> Option<String>;

    /// Whether a program of this name, or at this path, could be started.
    fn has_program(&self, program: &str) -> bool;
}

/// The secrets of sessions, kept in the platform's state directory and not in the repository.
pub trait Secrets {
    /// # Errors
    /// In words, when there is no state directory or it cannot be written. The session still stands; its holder keeps
    /// the token itself.
    fn keep(&self, session: &SessionId, token: &str) -> Result<(), String>;

    fn find(&self, session: &SessionId) -> Option<String>;

    fn forget(&self, session: &SessionId);

    /// Where they are kept.
    ///
    /// # Errors
    /// In words, when there is no such place.
    fn place(&self) -> Result<String, String>;

    /// What of that place others than its owner may read or write.
    fn exposed(&self) -> Vec<String>;
}

/// Shows a person what goes on during a long call. It is no part of the answer. Several runs may tell it at once.
pub trait Progress: Sync {
    /// These are due; what became of each is told as it is known.
    fn planned(&self, whats: &[String]);
    /// Whether what is told from now on happens on the accepted base.
    fn on_base(&self, is_on_base: bool);
    /// `again` says why it is run once more, where nobody asked for that.
    fn started(&self, what: &str, command: &str, again: Option<&str>);
    fn output(&self, what: &str, text: &str);
    fn ended(&self, what: &str, how: &str);
}

/// A lock that is held until this is dropped.
#[must_use]
pub struct Guard {
    _held: Box<dyn std::any::Any>,
}

impl Guard {
    pub fn new(held: impl std::any::Any) -> Self {
        Self { _held: Box::new(held) }
    }
}

/// Locks between the processes of one root.
pub trait Locks {
    /// The lock under which worktrees are made and removed.
    ///
    /// # Errors
    /// When another process kept it for too long, or it cannot be taken here.
    fn worktrees(&self, common_dir: &Path) -> Result<Guard, LockFault>;

    /// The lock under which checks run on the base, in a worktree that is there for that alone.
    ///
    /// # Errors
    /// As [`Locks::worktrees`].
    fn baseline(&self, common_dir: &Path) -> Result<Guard, LockFault>;

    /// What a kctl holds while it supervises the run: the system gives it back when that kctl is killed.
    ///
    /// # Errors
    /// When it cannot be taken here.
    fn run(&self, common_dir: &Path, id: &EvidenceId) -> Result<Guard, LockFault>;

    /// Whether some kctl still supervises the run. Where nobody can tell, it does.
    fn is_run_alive(&self, common_dir: &Path, id: &EvidenceId) -> bool;
}

/// Why a lock was not had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockFault {
    #[error("another kctl has been making or removing worktrees for {waited_s} s")]
    Busy { waited_s: u64 },
    #[error("the lock `{}` cannot be taken: {words}", .path.display())]
    Failed { path: PathBuf, words: String },
}

/// The digest under which a session's token is recorded.
pub fn token_digest(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}
