//! The note by which a removal that was cut short is known.
//!
//! `git worktree remove` deletes the files in whatever order a directory lists them, `.git` perhaps first, and the
//! registration last. Killed in between, it leaves what looks like work that was deleted, or like somebody else's
//! directory. So the registration gets a note first: that everything in the worktree was judged and may go, and which
//! files these were. What is still the same goes with the next call; whatever else is there is judged anew (I11).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::dirt;
use super::place::{io, pointed_at};
use super::worktrees::settled;
use crate::adapters::failpoint;
use crate::adapters::trees::meta::{Kind, Meta};
use crate::adapters::trees::nested;
use crate::ports::git::{ChangeKind, GitFault, GitResult, Worktree};

/// The note while its worktree is being looked at. It means nothing yet.
const JUDGING: &str = "kctl-judging";
/// The note of a removal that has begun.
const LEAVING: &str = "kctl-leaving";
const MAX_DEPTH: usize = 512;
/// With more files than this the note names none: each of them is then judged anew.
const MAX_NAMED_FILES: usize = 1_000_000;

/// A note that is being written. Dropped before [`Note::stands`], it was never there.
#[must_use]
pub(super) struct Note {
    admin: PathBuf,
}

impl Note {
    /// Names the files at `path`, before they are judged: one that changes meanwhile is not the one that is named.
    pub fn begin(admin: &Path, path: &Path) -> GitResult<Self> {
        let note = Self { admin: admin.to_owned() };
        let mut named = Vec::new();
        for (rel, meta) in files(path)?.iter().take(MAX_NAMED_FILES + 1) {
            let mut numbers = String::new();
            let _ = write!(numbers, "{} {} {} {} ", meta.ino, meta.ctime_ns, meta.size, meta.st_mode);
            named.extend(numbers.into_bytes());
            named.extend(rel);
            named.push(0);
        }
        if named.iter().filter(|byte| **byte == 0).count() > MAX_NAMED_FILES {
            named.clear();
        }
        let file = admin.join(JUDGING);
        let written = fs_err::File::create(&file).and_then(|mut file| {
            file.write_all(&named)?;
            file.sync_all()
        });
        written.map_err(|error| io(&file, &error))?;
        failpoint::reach("worktree.judging");
        Ok(note)
    }

    /// Everything there may go, and from now on it does.
    pub fn stands(self) -> GitResult<()> {
        let (from, to) = (self.admin.join(JUDGING), self.admin.join(LEAVING));
        let named = fs_err::rename(&from, &to).and_then(|()| fs_err::File::open(&self.admin)?.sync_all());
        named.map_err(|error| io(&to, &error))?;
        failpoint::reach("worktree.leaving");
        Ok(())
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        // Left behind it says nothing, and goes with the registration.
        let _ = fs_err::remove_file(self.admin.join(JUDGING));
    }
}

/// Whether a removal of this registration's worktree has begun.
pub(super) fn has_begun(admin: &Path) -> bool {
    admin.join(LEAVING).is_file()
}

/// Takes the note back: the worktree stays.
pub(super) fn withdraw(admin: &Path) -> GitResult<()> {
    let file = admin.join(LEAVING);
    match fs_err::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(&file, &error)),
        _ => Ok(()),
    }
}

/// Whether a removal that has begun has taken nothing that git tracks: the worktree can go on as if it had not.
pub(super) fn is_unharmed(admin: &Path, tree: &Worktree) -> bool {
    let Some(path) = tree.path.as_deref().filter(|_| tree.at.is_some()) else { return false };
    let names_it = pointed_at(&path.join(".git"), "gitdir: ").is_some_and(|named| settled(&named) == settled(admin));
    names_it && has_all(path)
}

/// Whether every file that git tracks in the worktree at `path` is there.
pub(super) fn has_all(path: &Path) -> bool {
    let is_deleted = |kind: &ChangeKind| matches!(kind, ChangeKind::Deleted);
    dirt::dirt(path).is_ok_and(|dirt| !dirt.iter().any(|change| is_deleted(&change.kind)))
}

/// The files that were judged.
pub(super) struct Judged(HashMap<Vec<u8>, [i128; 4]>);

impl Judged {
    /// None where no removal has begun.
    pub fn of(admin: &Path) -> GitResult<Option<Self>> {
        let file = admin.join(LEAVING);
        let text = match fs_err::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(&file, &error)),
        };
        // What cannot be read names no file.
        Ok(Some(Self(text.split(|byte| *byte == 0).filter_map(record).collect())))
    }

    /// Whether the file at `rel` is the one that was judged. Nothing but the system sets the time of the last change.
    pub fn has(&self, rel: &[u8], meta: &Meta) -> bool {
        self.0.get(rel) == Some(&numbers(meta))
    }
}

fn numbers(meta: &Meta) -> [i128; 4] {
    [meta.ino.into(), meta.ctime_ns.into(), meta.size.into(), meta.st_mode.into()]
}

fn record(record: &[u8]) -> Option<(Vec<u8>, [i128; 4])> {
    let mut parts = record.splitn(5, |byte| *byte == b' ');
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
    let numbers = [number()?, number()?, number()?, number()?];
    Some((parts.next()?.to_vec(), numbers))
}

/// Everything below `top` but its own `.git`, what lies in repositories inside as well; no directories.
pub(super) fn files(top: &Path) -> GitResult<Vec<(Vec<u8>, Meta)>> {
    let mut found = Vec::new();
    if top.is_dir() {
        walk(top, b"", 0, &mut found)?;
    }
    Ok(found)
}

fn walk(top: &Path, rel: &[u8], depth: usize, found: &mut Vec<(Vec<u8>, Meta)>) -> GitResult<()> {
    if depth > MAX_DEPTH {
        return Err(GitFault::TooMany { what: "directories inside each other", limit: MAX_DEPTH });
    }
    let dir = nested::join(top, rel);
    for entry in fs_err::read_dir(&dir).map_err(|error| io(&dir, &error))? {
        let name = entry.map_err(|error| io(&dir, &error))?.file_name();
        let below = [rel, name.as_bytes()].concat();
        if below == b".git" {
            continue;
        }
        let path = nested::join(top, &below);
        let meta = rustix::fs::lstat(&path).map_err(|error| io(&path, &error.into()))?;
        let meta = Meta::of(&meta);
        match meta.kind() {
            Kind::Directory => walk(top, &[&below, b"/".as_slice()].concat(), depth + 1, found)?,
            Kind::File | Kind::Symlink | Kind::Special => found.push((below, meta)),
        }
    }
    Ok(())
}
