//! What a removal would lose: one look, which both a refusal and the removal itself go by.

use std::fmt;
use std::path::PathBuf;

use super::facts::CommitLine;
use crate::domain::id::Oid;
use crate::domain::path::TreePath;

/// A worktree that is to go.
#[derive(Clone, Debug, Default)]
pub struct Leaving {
    pub path: PathBuf,
    /// The branch that goes too, if one does.
    pub branch: Option<String>,
    /// What it was made on.
    pub base: Option<Oid>,
    /// Commits that are known to be elsewhere, with all that they build on.
    pub kept: Vec<Oid>,
    /// The directory that was made for worktrees alone; it goes once it is empty.
    pub home: Option<PathBuf>,
}

/// Something that a removal would lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// A file that differs from what is recorded, or is not recorded at all.
    File(TreePath),
    /// Commits that nothing keeps which stays; `tips` reach all of them.
    Commits { whose: Whose, commits: Vec<CommitLine>, tips: Vec<Oid> },
    /// A repository inside that cannot be read, so that nobody can tell.
    Unread { path: TreePath, words: String },
    /// Files that git ignores. A path that ends with `/` is a directory, and stands for those below it.
    Ignored { path: TreePath, files: u64, bytes: u64 },
    /// A worktree that somebody locked on purpose.
    Locked { reason: String },
}

/// Who holds commits that would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The workspace's branch.
    Branch,
    /// The worktree's own `HEAD`, or only the log of where it was.
    Head,
    /// A submodule or another repository inside.
    Repository(TreePath),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::File(path) => write!(f, "`{path}`, which is not committed"),
            Lost::Commits { whose, commits, .. } => {
                let first = commits.first().map(|commit| format!(" ({} {})", commit.oid.short(), commit.subject));
                write!(f, "{}{} {whose}", count(commits.len(), "commit"), first.unwrap_or_default())
            }
            Lost::Unread { path, words } => write!(f, "the repository at `{path}`, which cannot be read: {words}"),
            Lost::Ignored { path, files, bytes } if path.as_bytes().ends_with(b"/") => {
                let files = count(usize::try_from(*files).unwrap_or(usize::MAX), "ignored file");
                write!(f, "{files} below `{path}` ({bytes} bytes)")
            }
            Lost::Ignored { path, .. } => write!(f, "`{path}`, which git ignores"),
            Lost::Locked { reason } if reason.is_empty() => f.write_str("a worktree that somebody locked"),
            Lost::Locked { reason } => write!(f, "a worktree that somebody locked: {reason}"),
        }
    }
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whose::Branch => f.write_str("of its branch, which no remote has"),
            Whose::Head => f.write_str("that no branch has: its detached head, or what was left or reset there"),
            Whose::Repository(path) => write!(f, "of the repository `{path}`, which its remotes do not have"),
        }
    }
}

/// How many items a sentence names before it only counts.
const MAX_NAMED: usize = 3;

/// What is lost as part of a sentence.
pub fn in_words(lost: &[Lost]) -> String {
    let mut named: Vec<String> = lost.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    if lost.len() > MAX_NAMED {
        named.push(format!("{} more", lost.len() - MAX_NAMED));
    }
    named.join("; ")
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
