//! Repositories inside a work tree: submodules, and those that are none.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Repository, RepositoryOpenFlags};

use crate::domain::path::TreePath;
use crate::ports::trees::TreeFault;

/// Whether the directory `rel` below `top` is a repository that git would not look into. A `.git` that leads nowhere
/// hides nothing.
pub(crate) fn is_repository(top: &Path, rel: &[u8]) -> bool {
    let dir = join(top, rel);
    let dot_git = dir.join(".git");
    match fs_err::symlink_metadata(&dot_git) {
        Ok(meta) if meta.is_dir() => {
            dot_git.join("HEAD").symlink_metadata().is_ok() && dot_git.join("objects").is_dir()
        }
        Ok(meta) if meta.is_file() => {
            Repository::open_ext(&dir, RepositoryOpenFlags::NO_SEARCH, &[] as &[&OsStr]).is_ok()
        }
        _ => false,
    }
}

/// Opens the repository whose work tree is exactly `dir`; none if it has none of its own.
pub(crate) fn open(dir: &Path, rel: &[u8]) -> Result<Option<Repository>, TreeFault> {
    if dir.join(".git").symlink_metadata().is_err() {
        return Ok(None);
    }
    match Repository::open_ext(dir, RepositoryOpenFlags::NO_SEARCH, &[] as &[&OsStr]) {
        Ok(repo) => Ok(Some(repo)),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(TreeFault::Unreadable { path: TreePath::new(rel), words: error.message().to_owned() }),
    }
}

/// What `HEAD` names, as bytes that differ where it differs: a commit, or an unborn branch.
pub(crate) fn head_words(repo: &Repository, rel: &[u8]) -> Result<Vec<u8>, TreeFault> {
    match repo.head() {
        Ok(head) => Ok(head.target().map(|oid| oid.as_bytes().to_vec()).unwrap_or_default()),
        Err(error) if error.code() == git2::ErrorCode::UnbornBranch => Ok(b"unborn".to_vec()),
        Err(error) => Err(TreeFault::Unreadable { path: TreePath::new(rel), words: error.message().to_owned() }),
    }
}

/// The path `rel` of a tree below `top`.
pub(crate) fn join(top: &Path, rel: &[u8]) -> PathBuf {
    top.join(OsStr::from_bytes(rel))
}
