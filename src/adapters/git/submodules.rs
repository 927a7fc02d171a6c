//! Submodules and Git LFS.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use super::compare::{MAX_LFS_POINTER_BYTES, lfs_oid, open_file};
use super::objects::ours;
use super::place::{broken, io, open_at};
use super::program::{MAX_TRANSFER_WAIT, Program};
use crate::adapters::trees::index::{self, Tracked};
use crate::adapters::trees::nested;
use crate::domain::path::TreePath;
use crate::ports::git::{GitFault, GitResult, Submodule};
use crate::ports::trees::MODE_SYMLINK;

/// The longest `.gitattributes` that is searched for `filter=lfs`.
const MAX_ATTRIBUTES_BYTES: u64 = 4 << 20;

pub(super) fn submodules(work_tree: &Path) -> GitResult<Vec<Submodule>> {
    let repo = open_at(work_tree)?;
    let tracked = index::read(&repo, work_tree)?.tracked;
    let found = tracked.into_iter().filter(Tracked::is_repository).map(|entry| {
        let populated = nested::open(&nested::join(work_tree, &entry.path), &entry.path)?.is_some();
        Ok(Submodule { path: TreePath::new(entry.path), commit: ours(entry.oid), populated })
    });
    found.collect()
}

pub(super) fn init(git: &Program, work_tree: &Path) -> GitResult<()> {
    // `--checkout` outranks `submodule.*.update`, which can be a command. Which protocols a submodule may use is
    // git's own rule: it does not clone from a local path unless the user allows it.
    let args = ["submodule", "update", "--init", "--recursive", "--checkout"].map(OsStr::new);
    git.must(work_tree, &args, MAX_TRANSFER_WAIT).map(drop)
}

/// Tracked files that are pointers on disk, where any `.gitattributes` speaks of LFS.
pub(super) fn lfs_pointers(work_tree: &Path) -> GitResult<Vec<TreePath>> {
    let repo = open_at(work_tree)?;
    let top = repo.workdir().ok_or_else(|| GitFault::NoWorkTree { dir: work_tree.to_owned() })?;
    let tracked = index::read(&repo, top)?.tracked;
    let info = repo.commondir().join("info/attributes");
    let attributes =
        tracked.iter().filter(|entry| entry.path.rsplit(|byte| *byte == b'/').next() == Some(b".gitattributes"));
    let speaks = attributes.map(|entry| nested::join(top, &entry.path)).chain([info]).any(|path| {
        let text = read_up_to(&path, MAX_ATTRIBUTES_BYTES).unwrap_or_default();
        memchr::memmem::find(&text, b"filter=lfs").is_some()
    });
    if !speaks {
        return Ok(Vec::new());
    }
    let odb = repo.odb().map_err(broken)?;
    let mut pointers = Vec::new();
    for entry in tracked.iter().filter(|entry| !entry.is_repository() && entry.mode != MODE_SYMLINK) {
        // What is stored is small when it is a pointer; what is on disk must be read to tell.
        if odb.read_header(entry.oid).is_ok_and(|(size, _)| size as u64 > MAX_LFS_POINTER_BYTES) {
            continue;
        }
        let path = nested::join(top, &entry.path);
        match read_up_to(&path, MAX_LFS_POINTER_BYTES) {
            Ok(text) if lfs_oid(&text).is_some() => pointers.push(TreePath::new(entry.path.as_slice())),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io(&path, &error)),
        }
    }
    Ok(pointers)
}

fn read_up_to(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let Some(file) = open_file(path)? else { return Ok(Vec::new()) };
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
