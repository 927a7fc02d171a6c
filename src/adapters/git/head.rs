//! What a worktree is at.

use std::path::Path;
use std::time::SystemTime;

use git2::{ErrorCode, Repository, RepositoryState};

use super::objects::ours;
use super::place::{broken, open_at};
use crate::ports::git::{At, GitResult, Head, InProgress, LockFile};

pub(super) fn head(work_tree: &Path) -> GitResult<Head> {
    let repo = open_at(work_tree)?;
    let at = at(&repo)?;
    let tree = match at.commit() {
        Some(commit) => Some(super::objects::tree_of(&repo, commit)?),
        None => None,
    };
    let index_lock = lock_file(&repo.path().join("index.lock"));
    Ok(Head { at, tree, in_progress: in_progress(&repo), index_lock, shallow: repo.is_shallow() })
}

pub(super) fn at(repo: &Repository) -> GitResult<At> {
    match repo.head() {
        Ok(head) => {
            let commit = ours(head.peel_to_commit().map_err(broken)?.id());
            if repo.head_detached().map_err(broken)? {
                return Ok(At::Detached { commit });
            }
            Ok(At::Branch { branch: shorten(&String::from_utf8_lossy(head.name_bytes())), commit })
        }
        Err(error) if error.code() == ErrorCode::UnbornBranch => {
            let head = repo.find_reference("HEAD").map_err(broken)?;
            let target = head.symbolic_target_bytes().unwrap_or_default();
            Ok(At::Unborn { branch: shorten(&String::from_utf8_lossy(target)) })
        }
        Err(error) => Err(broken(error)),
    }
}

/// A lock file, if it is there.
pub(super) fn lock_file(path: &Path) -> Option<LockFile> {
    let meta = fs_err::symlink_metadata(path).ok()?;
    let age = meta.modified().ok().and_then(|made| SystemTime::now().duration_since(made).ok()).unwrap_or_default();
    Some(LockFile { path: path.to_owned(), age_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX) })
}

pub(super) fn shorten(reference: &str) -> String {
    reference.strip_prefix("refs/heads/").unwrap_or(reference).to_owned()
}

fn in_progress(repo: &Repository) -> Option<InProgress> {
    match repo.state() {
        RepositoryState::Clean => None,
        RepositoryState::Merge => Some(InProgress::Merge),
        RepositoryState::Revert | RepositoryState::RevertSequence => Some(InProgress::Revert),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => Some(InProgress::CherryPick),
        RepositoryState::Bisect => Some(InProgress::Bisect),
        RepositoryState::Rebase | RepositoryState::RebaseInteractive | RepositoryState::RebaseMerge => {
            Some(InProgress::Rebase)
        }
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => Some(InProgress::ApplyMailbox),
    }
}
