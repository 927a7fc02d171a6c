//! Reads git's trees: what changed between two of them, and what one of them holds at a path.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use git2::{Delta, DiffOptions, FileMode, ObjectType, Oid, Repository, Tree};

use crate::ports::passages::Skip;

/// One path that two trees disagree on.
pub struct Change {
    pub path: Vec<u8>,
    pub old: Option<Oid>,
    pub new: Option<(Oid, Option<Skip>)>,
}

/// The paths that differ from `old` to `new`, in order; all of `new` if there is no `old`.
pub fn changes(repo: &Repository, old: Option<&Tree<'_>>, new: &Tree<'_>) -> Result<Vec<Change>, git2::Error> {
    let mut options = DiffOptions::new();
    options.include_typechange(true).skip_binary_check(true).context_lines(0);
    let diff = repo.diff_tree_to_tree(old, Some(new), Some(&mut options))?;
    let change = |delta: git2::DiffDelta<'_>| {
        let (old, new) = (delta.old_file(), delta.new_file());
        let (had, has) = (delta.status() != Delta::Added, delta.status() != Delta::Deleted);
        Some(Change {
            path: new.path_bytes().or_else(|| old.path_bytes())?.to_vec(),
            old: had.then(|| old.id()),
            new: has.then(|| (new.id(), by_mode(new.mode()))),
        })
    };
    let mut changes: Vec<Change> = diff.deltas().filter_map(change).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

fn by_mode(mode: FileMode) -> Option<Skip> {
    match mode {
        FileMode::Link => Some(Skip::Symlink),
        FileMode::Commit => Some(Skip::Submodule),
        FileMode::Blob
        | FileMode::BlobExecutable
        | FileMode::BlobGroupWritable
        | FileMode::Tree
        | FileMode::Unreadable => None,
    }
}

/// The blob that `tree` holds at `path`.
pub fn blob_at(tree: &Tree<'_>, path: &[u8]) -> Option<Oid> {
    let entry = tree.get_path(Path::new(OsStr::from_bytes(path))).ok()?;
    (entry.kind() == Some(ObjectType::Blob)).then(|| entry.id())
}

/// The part of a path before its first `/`; `None` for a file at the top.
pub fn top(path: &[u8]) -> Option<&[u8]> {
    path.iter().position(|byte| *byte == b'/').map(|at| &path[..at])
}

/// The directory of a path, without a `/` at its end; empty at the top.
pub fn directory(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |at| &path[..at])
}
