//! Commits that only a worktree's own `HEAD`, its logs or its private refs know: made on a detached head and left again,
//! or reset away. They go with the registration.
//!
//! A commit whose change stands in the branch under another name (a rebase made it anew) is not lost.

use std::collections::HashSet;
use std::path::Path;

use git2::{Commit, Oid, Repository};

use super::losses::{commits, held_by_refs, reached_only_by};
use super::objects::theirs;
use super::place::{broken, io, read_small};
use super::worktrees::Yard;
use crate::ports::git::{GitFault, GitResult, Leaving, Lost, Whose, Worktree};

/// The longest log of a ref that is read, in bytes.
const MAX_LOG_BYTES: u64 = 64 << 20;
/// Commits of the branch that what was left is compared with.
const MAX_COMPARED: usize = 1000;
/// Files of one worktree that name a commit beside `HEAD`.
const PRIVATE_HEADS: [&str; 5] = ["ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD"];
const MAX_REFS_DEPTH: usize = 32;

pub(super) fn lost(yard: &Yard<'_>, tree: Option<&Worktree>, leaving: &Leaving) -> GitResult<Option<Lost>> {
    let repo = yard.repo;
    let mut tips = Vec::new();
    let mut kept = held_by_refs(repo)?;
    for oid in leaving.kept.iter().chain(&leaving.base) {
        kept.push(theirs(oid)?);
    }
    if let Some(branch) = &leaving.branch {
        tips.extend(logged(&yard.place.common_dir.join("logs/refs/heads").join(branch))?);
    }
    let head = tree.and_then(|tree| tree.at.as_ref()).and_then(|at| at.commit()).map(theirs).transpose()?;
    tips.extend(head);
    if let Some(name) = tree.and_then(|tree| tree.name.as_deref()) {
        let admin = yard.admin(name);
        tips.extend(logged(&admin.join("logs/HEAD"))?);
        for file in PRIVATE_HEADS {
            tips.extend(named(&admin.join(file)));
        }
        private_refs(&admin.join("refs"), 0, &mut tips)?;
        kept.extend(fetched(&admin));
    }
    tips.sort();
    tips.dedup();
    let mut found = reached_only_by(repo, &tips, &kept)?;
    if !found.is_empty() {
        let anew = made_anew(repo, head, leaving)?;
        found.retain(|oid| !change(repo, *oid).ok().flatten().is_some_and(|change| anew.contains(&change)));
    }
    commits(repo, Whose::Head, &found)
}

/// Every commit that the log of a ref names.
pub(super) fn logged(log: &Path) -> GitResult<Vec<Oid>> {
    let size = match fs_err::metadata(log) {
        Ok(meta) => meta.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(log, &error)),
    };
    if size > MAX_LOG_BYTES {
        return Err(GitFault::TooMany { what: "bytes in the log of a ref", limit: MAX_LOG_BYTES as usize });
    }
    let text = fs_err::read(log).map_err(|error| io(log, &error))?;
    let mut oids = HashSet::new();
    for line in text.split(|byte| *byte == b'\n') {
        for word in line.splitn(3, |byte| *byte == b' ').take(2) {
            oids.extend(std::str::from_utf8(word).ok().and_then(|word| Oid::from_str(word).ok()));
        }
    }
    oids.retain(|oid| !oid.is_zero());
    Ok(oids.into_iter().collect())
}

/// Commits that a remote gave this worktree last: they are there.
pub(super) fn fetched(git_dir: &Path) -> Vec<Oid> {
    let text = read_small(&git_dir.join("FETCH_HEAD")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| Oid::from_str(line.split('\t').next()?).ok()).collect()
}

fn named(file: &Path) -> Option<Oid> {
    let text = read_small(file)?;
    Oid::from_str(String::from_utf8_lossy(&text).lines().next()?.trim()).ok()
}

fn private_refs(dir: &Path, depth: usize, tips: &mut Vec<Oid>) -> GitResult<()> {
    if depth > MAX_REFS_DEPTH {
        return Err(GitFault::TooMany { what: "directories of refs inside each other", limit: MAX_REFS_DEPTH });
    }
    let names = match fs_err::read_dir(dir) {
        Ok(names) => names,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(dir, &error)),
    };
    for entry in names {
        let entry = entry.map_err(|error| io(dir, &error))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            private_refs(&entry.path(), depth + 1, tips)?;
        } else {
            tips.extend(named(&entry.path()));
        }
    }
    Ok(())
}

/// The changes that stand in the branch, or where the head is, since the base.
fn made_anew(repo: &Repository, head: Option<Oid>, leaving: &Leaving) -> GitResult<HashSet<Change>> {
    let branch = match &leaving.branch {
        Some(branch) => super::branches::tip(repo, branch)?.as_ref().map(theirs).transpose()?,
        None => None,
    };
    let Some(base) = leaving.base.as_ref().map(theirs).transpose()? else { return Ok(HashSet::new()) };
    // What the head alone holds is itself looked for.
    let tips: Vec<Oid> = branch.or(head).into_iter().collect();
    let standing = reached_only_by(repo, &tips, &[base])?;
    Ok(standing.into_iter().take(MAX_COMPARED).filter_map(|oid| change(repo, oid).ok().flatten()).collect())
}

/// What a commit changes, wherever it builds on: a digest of the patch, and the new content of what is not text.
#[derive(PartialEq, Eq, Hash)]
struct Change {
    patch: Oid,
    binary: Vec<(Vec<u8>, Oid)>,
}

/// None for a merge, and for a commit that changes nothing.
fn change(repo: &Repository, oid: Oid) -> GitResult<Option<Change>> {
    let commit: Commit<'_> = repo.find_commit(oid).map_err(broken)?;
    if commit.parent_count() > 1 {
        return Ok(None);
    }
    let before = commit.parent(0).ok().map(|parent| parent.tree()).transpose().map_err(broken)?;
    let after = commit.tree().map_err(broken)?;
    let diff = repo.diff_tree_to_tree(before.as_ref(), Some(&after), None).map_err(broken)?;
    if diff.deltas().len() == 0 {
        return Ok(None);
    }
    let mut binary = Vec::new();
    for delta in diff.deltas() {
        let sides = [delta.old_file().id(), delta.new_file().id()];
        if sides.iter().any(|id| !id.is_zero() && !repo.find_blob(*id).is_ok_and(|blob| !blob.is_binary())) {
            binary.push((delta.new_file().path_bytes().unwrap_or_default().to_vec(), delta.new_file().id()));
        }
    }
    Ok(Some(Change { patch: diff.patchid(None).map_err(broken)?, binary }))
}
