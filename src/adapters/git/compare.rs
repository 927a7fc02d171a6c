//! The index against the files on disk, by raw content.
//!
//! No filter driver, fsmonitor, textconv or external diff runs. What git's own line-ending and `$Id$` conversions make of
//! a file is asked of libgit2, which has these two built in and knows no other. A file under any other filter driver
//! counts as changed once its raw content and its times both differ from what the index says; for Git LFS the pointer
//! tells more.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use git2::{AttrCheckFlags, DiffOptions, ObjectType, Repository};
use rustix::fs::{Mode, OFlags};
use sha2::{Digest as _, Sha256};

use super::place::broken;
use crate::adapters::trees::index::{IndexFile, Seen, Tracked};
use crate::adapters::trees::meta::{Kind, Meta};
use crate::adapters::trees::scan::{self, Scan};
use crate::adapters::trees::{ignores::Ignores, nested};
use crate::domain::path::TreePath;
use crate::ports::git::{Change, ChangeKind, GitFault, GitResult, Layer};
use crate::ports::trees::{MAX_NESTED_REPOSITORIES, MODE_EXECUTABLE, MODE_SYMLINK, TreeFault};

/// A larger file is hashed by libgit2 in pieces, a smaller one in memory.
pub(super) const MAX_IN_MEMORY_BYTES: u64 = 64 << 20;
/// The longest Git LFS pointer, by its specification.
pub(super) const MAX_LFS_POINTER_BYTES: u64 = 1024;

/// What differs between the index and the work tree of `repo`, untracked files included; sorted by path.
pub(super) fn work_tree(repo: &Repository, top: &Path, index: &IndexFile, depth: usize) -> GitResult<Vec<Change>> {
    if depth > MAX_NESTED_REPOSITORIES {
        return Err(GitFault::TooMany { what: "repositories inside each other", limit: MAX_NESTED_REPOSITORIES });
    }
    let found = scan::scan(top, &index.tracked, &Ignores::of(repo))?;
    let mut changes = Comparison::new(repo, top, index, depth).tracked(&found)?;
    let untracked = found.untracked.into_iter().map(|(path, _)| path).chain(found.repositories);
    changes.extend(untracked.map(|path| change(&path, ChangeKind::Untracked)));
    changes.sort();
    Ok(changes)
}

/// Whether nothing differs between the index and what a walk of the whole work tree `found`.
pub(super) fn is_same(repo: &Repository, top: &Path, index: &IndexFile, found: &Scan) -> GitResult<bool> {
    let extra = !found.untracked.is_empty() || !found.repositories.is_empty();
    Ok(!extra && Comparison::new(repo, top, index, 0).tracked(found)?.is_empty())
}

fn change(path: &[u8], kind: ChangeKind) -> Change {
    Change { path: TreePath::new(path), kind, layer: Layer::WorkTree }
}

struct Comparison<'a> {
    repo: &'a Repository,
    top: &'a Path,
    index: &'a IndexFile,
    depth: usize,
    file_mode: bool,
    symlinks: bool,
}

/// How one tracked path stands before its content is read.
enum Glance {
    Same,
    Changed(ChangeKind),
    /// Only the content tells.
    Unclear,
}

impl<'a> Comparison<'a> {
    fn new(repo: &'a Repository, top: &'a Path, index: &'a IndexFile, depth: usize) -> Self {
        let config = repo.config().ok();
        let flag = |name| config.as_ref().and_then(|config| config.get_bool(name).ok()).unwrap_or(true);
        Self { repo, top, index, depth, file_mode: flag("core.filemode"), symlinks: flag("core.symlinks") }
    }

    fn tracked(&self, found: &Scan) -> GitResult<Vec<Change>> {
        let mut changes = Vec::new();
        let mut convertible = Vec::new();
        for (entry, meta) in self.index.tracked.iter().zip(&found.tracked) {
            match self.glance(entry, meta.as_ref())? {
                Glance::Same => {}
                Glance::Changed(kind) => changes.push(change(&entry.path, kind)),
                Glance::Unclear => {
                    let meta = meta.as_ref().expect("an absent file is clear");
                    match self.read(entry, meta)? {
                        Content::Same => {}
                        Content::Changed => changes.push(change(&entry.path, ChangeKind::Modified)),
                        Content::MayBeConverted => convertible.push(&entry.path),
                    }
                }
            }
        }
        let changed = self.differ_when_converted(&convertible)?;
        changes.extend(changed.iter().map(|path| change(path, ChangeKind::Modified)));
        Ok(changes)
    }

    /// The index's `assume-unchanged` and `skip-worktree` bits are not believed: an agent can set them.
    fn glance(&self, entry: &Tracked, meta: Option<&Meta>) -> GitResult<Glance> {
        if entry.conflicted {
            return Ok(Glance::Changed(ChangeKind::Conflicted));
        }
        let Some(meta) = meta else {
            return Ok(if entry.skip_worktree { Glance::Same } else { Glance::Changed(ChangeKind::Deleted) });
        };
        if entry.is_repository() {
            return self.repository(entry, meta);
        }
        if entry.intent_to_add {
            return Ok(Glance::Changed(ChangeKind::Added));
        }
        let expected = if entry.mode == MODE_SYMLINK { Kind::Symlink } else { Kind::File };
        let plain_symlink = expected == Kind::Symlink && meta.kind() == Kind::File && !self.symlinks;
        if meta.kind() != expected && !plain_symlink {
            return Ok(Glance::Changed(ChangeKind::TypeChanged));
        }
        let executable = meta.git_mode() == MODE_EXECUTABLE;
        if expected == Kind::File && self.file_mode && executable != (entry.mode == MODE_EXECUTABLE) {
            return Ok(Glance::Changed(ChangeKind::Modified));
        }
        // A file as young as the index may have changed after git looked, with the same times.
        let settled = entry.seen.mtime_ns < self.index.written_ns && entry.seen.ctime_ns < self.index.written_ns;
        Ok(if settled && entry.seen == seen(meta) { Glance::Same } else { Glance::Unclear })
    }

    fn repository(&self, entry: &Tracked, meta: &Meta) -> GitResult<Glance> {
        if meta.kind() != Kind::Directory {
            return Ok(Glance::Changed(ChangeKind::TypeChanged));
        }
        let dir = nested::join(self.top, &entry.path);
        let Some(inner) = nested::open(&dir, &entry.path)? else {
            let empty = fs_err::read_dir(&dir).is_ok_and(|mut names| names.next().is_none());
            return Ok(if empty { Glance::Same } else { Glance::Changed(ChangeKind::Modified) });
        };
        let moved = inner.head().ok().and_then(|head| head.target()) != Some(entry.oid);
        let dirty = moved || !super::dirt::of(&inner, self.depth + 1)?.is_empty();
        Ok(if dirty { Glance::Changed(ChangeKind::Modified) } else { Glance::Same })
    }

    fn read(&self, entry: &Tracked, meta: &Meta) -> GitResult<Content> {
        let unreadable = |error: std::io::Error| {
            GitFault::Tree(TreeFault::Unreadable { path: TreePath::new(&*entry.path), words: error.to_string() })
        };
        let path = nested::join(self.top, &entry.path);
        if meta.kind() == Kind::Symlink {
            let target = rustix::fs::readlink(&path, Vec::new()).map_err(|error| unreadable(error.into()))?;
            let oid = git2::Oid::hash_object(ObjectType::Blob, target.to_bytes()).map_err(broken)?;
            return Ok(if oid == entry.oid { Content::Same } else { Content::Changed });
        }
        let stored = self.repo.odb().and_then(|odb| odb.read_header(entry.oid)).map_err(broken)?.0 as u64;
        if stored == meta.size && raw_oid(&path, meta.size).map_err(unreadable)? == Some(entry.oid) {
            return Ok(Content::Same);
        }
        if entry.assume_unchanged || entry.skip_worktree {
            return Ok(Content::Changed);
        }
        if !self.has_filter_driver(&entry.path) {
            return Ok(Content::MayBeConverted);
        }
        // Only the driver could tell whether the content is what the index means, and it must not run. Times that
        // are exactly what git saw stand for it.
        let same =
            entry.seen == seen(meta) || is_lfs_content(self.repo, entry.oid, &path, stored).map_err(unreadable)?;
        Ok(if same { Content::Same } else { Content::Changed })
    }

    fn has_filter_driver(&self, path: &[u8]) -> bool {
        let path = nested::join(Path::new(""), path);
        let flags = AttrCheckFlags::FILE_THEN_INDEX;
        let Ok(Some(driver)) = self.repo.get_attr_bytes(&path, "filter", flags) else { return false };
        driver == b"lfs"
            || self.repo.config().is_ok_and(|config| {
                let driver = String::from_utf8_lossy(driver);
                ["clean", "process"].iter().any(|part| config.get_string(&format!("filter.{driver}.{part}")).is_ok())
            })
    }

    /// Of `paths`, those that differ even after libgit2's own conversions.
    fn differ_when_converted(&self, paths: &[&Vec<u8>]) -> GitResult<HashSet<Vec<u8>>> {
        if paths.is_empty() {
            return Ok(HashSet::new());
        }
        let mut options = DiffOptions::new();
        options.disable_pathspec_match(true).update_index(false).ignore_submodules(true).skip_binary_check(true);
        for path in paths {
            options.pathspec(path.as_slice());
        }
        let diff = self.repo.diff_index_to_workdir(None, Some(&mut options)).map_err(broken)?;
        let named: HashSet<&[u8]> = paths.iter().map(|path| path.as_slice()).collect();
        let changed = diff.deltas().filter_map(|delta| delta.old_file().path_bytes().map(<[u8]>::to_vec));
        Ok(changed.filter(|path| named.contains(path.as_slice())).collect())
    }
}

/// The name of the blob that the file would be without any conversion; none for what is no regular file.
pub(super) fn raw_oid(path: &Path, size: u64) -> std::io::Result<Option<git2::Oid>> {
    if size > MAX_IN_MEMORY_BYTES {
        return Ok(git2::Oid::hash_file(ObjectType::Blob, path).ok());
    }
    let Some(file) = open_file(path)? else { return Ok(None) };
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(size + 1).read_to_end(&mut bytes)?;
    Ok(git2::Oid::hash_object(ObjectType::Blob, &bytes).ok())
}

/// Whether the file is the content that the stored Git LFS pointer names.
pub(super) fn is_lfs_content(
    repo: &Repository,
    stored_as: git2::Oid,
    path: &Path,
    stored: u64,
) -> std::io::Result<bool> {
    if stored > MAX_LFS_POINTER_BYTES {
        return Ok(false);
    }
    let Ok(blob) = repo.find_blob(stored_as) else { return Ok(false) };
    let (Some(wanted), Some(mut file)) = (lfs_oid(blob.content()), open_file(path)?) else { return Ok(false) };
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            got => hasher.update(&buffer[..got]),
        }
    }
    let found: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(found == wanted)
}

enum Content {
    Same,
    Changed,
    /// Differs raw; line-ending or `$Id$` conversion may explain it.
    MayBeConverted,
}

/// What git would note of the file in its index.
#[expect(clippy::cast_possible_truncation, reason = "the index keeps the low 32 bits")]
fn seen(meta: &Meta) -> Seen {
    Seen { mtime_ns: meta.mtime_ns, ctime_ns: meta.ctime_ns, ino: meta.ino as u32, size: meta.size as u32 }
}

/// Opens a regular file without waiting on anything else that took its place.
pub(super) fn open_file(path: &Path) -> std::io::Result<Option<fs_err::File>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty())?;
    let regular = Meta::of(&rustix::fs::fstat(&fd)?).kind() == Kind::File;
    Ok(regular.then(|| fs_err::File::from_parts(fd.into(), path)))
}

/// The SHA-256 that a Git LFS pointer names.
pub(super) fn lfs_oid(pointer: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(pointer).ok()?;
    let mut lines = text.lines();
    let version = lines.next()?.strip_prefix("version ")?;
    let known = version.starts_with("https://git-lfs.github.com/spec/")
        || version.starts_with("https://hawser.github.com/spec/");
    let oid = lines.find_map(|line| line.strip_prefix("oid sha256:"))?;
    (known && oid.len() == 64).then(|| oid.to_owned())
}
