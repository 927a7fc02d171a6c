//! Worktrees that a crash left half made, or half removed.
//!
//! `git worktree add` makes the branch, then a registration locked as `initializing`, then the directory with its `.git`,
//! then the files, and lifts the lock last. A process killed in between leaves any prefix of that, the last file perhaps
//! torn. What such a prefix holds is in the branch: it is compared with it, removed file by file, and made anew. Anything
//! that is not in the branch stops the repair, untouched (I11).

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use git2::Repository;

use super::compare::{lfs_oid, open_file};
use super::leaving::{self, Judged};
use super::objects::{self, theirs};
use super::place::{io, open_at, pointed_at};
use super::program::MAX_LOCAL_WAIT;
use super::worktrees::{INITIALIZING, Yard, settled, taken};
use super::{branches, dirt, head, losses};
use crate::adapters::failpoint;
use crate::adapters::trees::meta::{Kind, Meta};
use crate::adapters::trees::{ignores::Ignores, nested, scan};
use crate::domain::id::Oid;
use crate::domain::path::TreePath;
use crate::ports::git::{Checkout, GitFault, GitResult, Leaving, Listed, Lost, Repair, Spot, Standing, Worktree};

/// A registration without a path is another process's business for this long; git takes microseconds to write one.
const MIN_NAMELESS_AGE_MS: u64 = 10_000;
/// A larger file is not compared with what is stored; it counts as somebody's work.
const MAX_COMPARED_BYTES: u64 = 256 << 20;

pub(super) fn repair(yard: &Yard<'_>, path: &Path, checkout: &Checkout) -> GitResult<Repair> {
    match yard.spot(path)? {
        Spot::Free => {
            yard.add(path, &attachable(yard, path, checkout)?)?;
            Ok(Repair::Made)
        }
        Spot::Worktree(tree) if tree.standing == Standing::Sound => {
            let branch = tree.at.as_ref().and_then(|at| at.branch());
            if branch == Some(checkout.branch()) {
                return Ok(Repair::Nothing);
            }
            Err(taken(path, format!("the worktree there is at {}", branch.unwrap_or("a detached head"))))
        }
        Spot::Worktree(tree) if tree.standing == Standing::Estranged => {
            Err(taken(path, "the directory there belongs to something else".to_owned()))
        }
        Spot::Worktree(tree) => {
            if let Some(admin) = yard.admin_of_whole(&tree) {
                // Its removal had begun and taken nothing: it stays, wherever its head is.
                leaving::withdraw(&admin)?;
                return Ok(Repair::Nothing);
            }
            if tree.standing == Standing::HalfMade && is_whole(&tree, path, checkout) {
                let args = ["worktree", "unlock", "--"].map(std::ffi::OsStr::new);
                let args: Vec<_> = args.into_iter().chain([path.as_os_str()]).collect();
                yard.git.must(yard.dir(), &args, MAX_LOCAL_WAIT)?;
                return Ok(Repair::Unlocked);
            }
            clear_for(yard, path, Some(&tree), checkout)?;
            yard.add(path, &attachable(yard, path, checkout)?)?;
            Ok(Repair::MadeAnew)
        }
        Spot::Leftover => {
            clear_for(yard, path, None, checkout)?;
            yard.add(path, &attachable(yard, path, checkout)?)?;
            Ok(Repair::MadeAnew)
        }
        Spot::Taken { why } => Err(taken(path, why)),
    }
}

/// Removes what a crash left at `path`, if its head commit has it all.
pub(super) fn clear(yard: &Yard<'_>, path: &Path, tree: &Worktree) -> GitResult<()> {
    clear_against(yard, path, Some(tree), head_of(tree))
}

/// What [`clear`] would lose of the files at `path`.
pub(super) fn lost_files(yard: &Yard<'_>, path: &Path, tree: &Worktree) -> GitResult<Vec<Lost>> {
    Ok(compare(yard, path, Some(tree), head_of(tree))?.1)
}

fn head_of(tree: &Worktree) -> Option<&Oid> {
    tree.at.as_ref().and_then(|at| at.commit())
}

fn clear_for(yard: &Yard<'_>, path: &Path, tree: Option<&Worktree>, checkout: &Checkout) -> GitResult<()> {
    let commit = match checkout {
        Checkout::New { base, .. } => Some(base.clone()),
        Checkout::Existing { branch } => branches::tip(yard.repo, branch)?,
    };
    let lost = tree.map(|tree| losses::with_registration(yard, Some(tree), &Leaving::default())).transpose()?;
    refuse(path, lost.unwrap_or_default())?;
    clear_against(yard, path, tree, commit.as_ref())
}

fn clear_against(yard: &Yard<'_>, path: &Path, tree: Option<&Worktree>, commit: Option<&Oid>) -> GitResult<()> {
    let (files, lost) = compare(yard, path, tree, commit)?;
    refuse(path, lost)?;
    if path.is_dir() {
        remove_files(path, &files.files)?;
    }
    failpoint::reach("repair.files_removed");
    // The registration goes last: a crash before it is found again by its path.
    match tree.and_then(|tree| tree.name.as_deref()) {
        Some(name) => forget(&yard.admin(name)),
        None => Ok(()),
    }
}

/// Removes a registration, and what it is known by at the end: a crash before that finds it again.
fn forget(admin: &Path) -> GitResult<()> {
    let failed = |error: std::io::Error| io(admin, &error);
    for entry in fs_err::read_dir(admin).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_dir = entry.file_type().map_err(failed)?.is_dir();
        match is_dir {
            true => fs_err::remove_dir_all(entry.path()).map_err(failed)?,
            false if entry.file_name() == "gitdir" => {}
            false => fs_err::remove_file(entry.path()).map_err(failed)?,
        }
    }
    failpoint::reach("repair.registration_emptied");
    fs_err::remove_dir_all(admin).map_err(failed)
}

fn refuse(path: &Path, lost: Vec<Lost>) -> GitResult<()> {
    if lost.is_empty() { Ok(()) } else { Err(GitFault::WouldLose { path: path.to_owned(), what: lost }) }
}

/// The files at `path`, and those of them that `commit` does not have and that no removal was allowed to take.
fn compare(
    yard: &Yard<'_>,
    path: &Path,
    tree: Option<&Worktree>,
    commit: Option<&Oid>,
) -> GitResult<(Files, Vec<Lost>)> {
    let name = tree.and_then(|tree| tree.name.as_deref());
    let judged = name.map(|name| Judged::of(&yard.admin(name))).transpose()?.flatten();
    let files = match &judged {
        // Repositories inside may be half gone as well: they are looked at file by file.
        Some(_) => Files { files: leaving::files(path)?, repositories: Vec::new() },
        None if path.is_dir() => files_below(path)?,
        None => Files::default(),
    };
    let mut lost: Vec<Lost> =
        files.repositories.iter().map(|path| Lost::File(TreePath::new(path.as_slice()))).collect();
    let stored = match commit {
        Some(commit) => objects::list_at(yard.repo, commit, &TreePath::new(""))?,
        None => Vec::new(),
    };
    let stored: HashMap<&[u8], &Listed> = stored.iter().map(|listed| (listed.path.as_bytes(), listed)).collect();
    for (rel, meta) in files.files.iter().filter(|(rel, meta)| !judged.as_ref().is_some_and(|it| it.has(rel, meta))) {
        let known = stored.get(rel.as_slice()).copied();
        if !is_contained(yard.repo, &nested::join(path, rel), meta, known).map_err(|error| io(path, &error))? {
            lost.push(Lost::File(TreePath::new(rel.as_slice())));
        }
    }
    Ok((files, lost))
}

#[derive(Default)]
struct Files {
    files: Vec<(Vec<u8>, Meta)>,
    repositories: Vec<Vec<u8>>,
}

/// Everything below `path` but `.git`, ignored or not.
fn files_below(path: &Path) -> GitResult<Files> {
    let found = scan::scan(path, &[], &Ignores::none())?;
    Ok(Files { files: found.untracked, repositories: found.repositories })
}

/// Whether the file holds nothing that the stored one does not: it is the same, or its beginning.
fn is_contained(repo: &Repository, path: &Path, meta: &Meta, stored: Option<&Listed>) -> std::io::Result<bool> {
    let Some(stored) = stored else { return Ok(false) };
    let Ok(blob) = theirs(&stored.oid).map_err(drop).and_then(|oid| repo.find_blob(oid).map_err(drop)) else {
        return Ok(false);
    };
    if meta.kind() == Kind::Symlink {
        return Ok(rustix::fs::readlink(path, Vec::new())?.to_bytes() == blob.content());
    }
    if meta.size > MAX_COMPARED_BYTES {
        return Ok(false);
    }
    let Some(file) = open_file(path)? else { return Ok(false) };
    let mut bytes = Vec::new();
    file.take(MAX_COMPARED_BYTES).read_to_end(&mut bytes)?;
    if blob.content().starts_with(&bytes) {
        return Ok(true);
    }
    // What a checkout writes may differ in line endings from what is stored, or be what an LFS pointer names.
    let lines: Vec<u8> = without_carriage_returns(&bytes);
    let hex = || crate::domain::digest::Digest::of(&bytes).hex().to_owned();
    Ok(without_carriage_returns(blob.content()).starts_with(&lines) || lfs_oid(blob.content()) == Some(hex()))
}

/// The same with every CRLF, and a CR at the end that a torn write may have cut from one, as line feeds only.
fn without_carriage_returns(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || !matches!(bytes.get(at + 1), Some(b'\n') | None) {
            kept.push(*byte);
        }
    }
    kept
}

/// Removes `files` and then only directories that are empty: what appeared meanwhile stays, and is a fault.
fn remove_files(path: &Path, files: &[(Vec<u8>, Meta)]) -> GitResult<()> {
    for (rel, _) in files {
        let file = nested::join(path, rel);
        fs_err::remove_file(&file).map_err(|error| io(&file, &error))?;
    }
    let mut strangers = Vec::new();
    remove_empty_dirs(path, b"", &mut strangers)?;
    if !strangers.is_empty() {
        return Err(GitFault::WouldLose { path: path.to_owned(), what: strangers });
    }
    let dot_git = path.join(".git");
    if dot_git.symlink_metadata().is_ok() {
        // A directory there would be a repository, and is no file to remove.
        fs_err::remove_file(&dot_git).map_err(|error| io(&dot_git, &error))?;
    }
    fs_err::remove_dir(path).map_err(|error| io(path, &error))
}

/// Removes every directory below `top` that holds nothing but such directories; names what else there is. The walk
/// has bounded how deep they are.
fn remove_empty_dirs(top: &Path, rel: &[u8], strangers: &mut Vec<Lost>) -> GitResult<()> {
    let dir = nested::join(top, rel);
    for entry in fs_err::read_dir(&dir).map_err(|error| io(&dir, &error))? {
        let entry = entry.map_err(|error| io(&dir, &error))?;
        let name = entry.file_name();
        let below = [rel, std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str())].concat();
        if below == b".git" {
            continue;
        }
        if !entry.file_type().map_err(|error| io(&dir, &error))?.is_dir() {
            strangers.push(Lost::File(TreePath::new(below)));
            continue;
        }
        let before = strangers.len();
        remove_empty_dirs(top, &[&below, b"/".as_slice()].concat(), strangers)?;
        if strangers.len() == before {
            fs_err::remove_dir(entry.path()).map_err(|error| io(&entry.path(), &error))?;
        }
    }
    Ok(())
}

/// Whether only git's own lock is left of the making.
fn is_whole(tree: &Worktree, path: &Path, checkout: &Checkout) -> bool {
    let on_branch = tree.at.as_ref().and_then(|at| at.branch()) == Some(checkout.branch());
    let linked = pointed_at(&path.join(".git"), "gitdir: ").is_some();
    let Ok(repo) = open_at(path) else { return false };
    let locked = tree.locked.as_deref() == Some(INITIALIZING);
    let quiet = !repo.path().join("index.lock").exists() && repo.path().join("index").exists();
    locked && on_branch && linked && quiet && dirt::dirt(path).is_ok_and(|dirt| dirt.is_empty())
}

/// The way to add that fits a branch which the crashed call may have made.
fn attachable(yard: &Yard<'_>, path: &Path, checkout: &Checkout) -> GitResult<Checkout> {
    let Checkout::New { branch, base } = checkout else { return Ok(checkout.clone()) };
    match branches::tip(yard.repo, branch)? {
        None => Ok(checkout.clone()),
        Some(tip) if tip == *base => Ok(Checkout::Existing { branch: branch.clone() }),
        Some(tip) => Err(taken(path, format!("the branch `{branch}` exists and is at {tip}"))),
    }
}

/// Removes registrations without a path, of worktrees named like the one at `path`: old ones that never learnt it, and
/// what a removal has left of one.
pub(super) fn sweep_nameless(yard: &Yard<'_>, path: &Path) -> GitResult<()> {
    let Some(wanted) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { return Ok(()) };
    for tree in yard.all()? {
        let Some(name) = tree.name.as_deref().filter(|name| tree.path.is_none() && name.starts_with(&wanted)) else {
            continue;
        };
        let admin = yard.admin(name);
        let unfinished = matches!(tree.locked.as_deref(), None | Some("" | INITIALIZING));
        // A person's own `git worktree add` takes no lock of ours, and may be at just this step.
        let old = head::lock_file(&admin).is_some_and(|dir| dir.age_ms >= MIN_NAMELESS_AGE_MS);
        if unfinished && (old || is_remnant(&admin)) && settled(&admin) == admin {
            let mut lost = losses::with_registration(yard, Some(&tree), &Leaving::default())?;
            lost.retain(|one| !matches!(one, Lost::Locked { .. }));
            if lost.is_empty() {
                fs_err::remove_dir_all(&admin).map_err(|error| io(&admin, &error))?;
            }
        }
    }
    Ok(())
}

/// Whether a registration without a path is what a removal left: making one begins with the lock and then the path.
fn is_remnant(admin: &Path) -> bool {
    let holds_something = || fs_err::read_dir(admin).is_ok_and(|mut names| names.next().is_some());
    !admin.join("locked").exists() && !admin.join("gitdir").exists() && holds_something()
}
