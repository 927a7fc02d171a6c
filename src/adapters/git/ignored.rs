//! Files that git ignores: which of them are work, which a tool makes again, and which the root has as well.
//!
//! Ignored is not worthless: a key, a database or a report may lie there. What counts as made again: a directory with a
//! `CACHEDIR.TAG`, and a directory of a name that only tools use ([`MADE_AGAIN`]) which the ignore rules name as a whole.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::compare::open_file;
use super::place::io;
use crate::adapters::trees::index::Tracked;
use crate::adapters::trees::meta::{Kind, Meta};
use crate::adapters::trees::nested;
use crate::domain::path::TreePath;
use crate::ports::git::{GitFault, GitResult, Lost};
use crate::ports::trees::{MAX_DEPTH, MAX_FILES};

/// How `CACHEDIR.TAG` begins, by its specification.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
/// Directories that package managers and builds fill, where the ignore rules name the directory itself.
const MADE_AGAIN: [&[u8]; 24] = [
    b"node_modules",
    b"bower_components",
    b"__pycache__",
    b".venv",
    b"venv",
    b".tox",
    b".nox",
    b".eggs",
    b".mypy_cache",
    b".pytest_cache",
    b".ruff_cache",
    b".gradle",
    b".terraform",
    b".dart_tool",
    b"Pods",
    b"target",
    b"dist",
    b"build",
    b".next",
    b".nuxt",
    b".svelte-kit",
    b".parcel-cache",
    b".turbo",
    b"zig-cache",
];
/// Of these, those in which nobody keeps anything of their own, even where only the files are ignored.
const MADE_BY_TOOLS_ONLY: usize = 11;
/// A larger file is not compared with the root's; it counts as being only here.
const MAX_COMPARED_BYTES: u64 = 16 << 20;
/// All that is compared with the root's, in bytes.
const MAX_COMPARED_ALL: u64 = 256 << 20;
/// More ignored files of one directory than this are one item.
const MAX_SINGLE: usize = 5;

#[derive(Default)]
pub(super) struct Found {
    pub lost: Vec<Lost>,
    /// Repositories in ignored directories, by path.
    pub repositories: Vec<Vec<u8>>,
}

/// What `ignored` (sorted; a directory ends with `/`) holds that is neither made again nor in the work tree `root` too.
pub(super) fn look(top: &Path, root: Option<&Path>, ignored: &[Vec<u8>], tracked: &[Tracked]) -> GitResult<Found> {
    let mut look = Look { top, root, tracked, compared: 0, seen: 0, repositories: Vec::new() };
    let mut lost = Vec::new();
    let mut single: BTreeMap<&[u8], Vec<(&[u8], u64)>> = BTreeMap::new();
    for path in ignored {
        if let Some(dir) = path.strip_suffix(b"/") {
            let made_again = MADE_AGAIN.contains(&name(dir));
            let (files, bytes) = look.directory(dir, made_again)?;
            if files > 0 {
                lost.push(Lost::Ignored { path: TreePath::new(path.as_slice()), files, bytes });
            }
        } else if let Some(bytes) = look.file(path)?
            && !look.made_by_a_tool(path)
        {
            single.entry(parent(path)).or_default().push((path, bytes));
        }
    }
    for (dir, files) in single {
        if files.len() > MAX_SINGLE && !dir.is_empty() {
            let bytes = files.iter().map(|(_, bytes)| bytes).sum();
            lost.push(Lost::Ignored { path: TreePath::new(dir), files: files.len() as u64, bytes });
        } else {
            let one = |(path, bytes): (&[u8], u64)| Lost::Ignored { path: TreePath::new(path), files: 1, bytes };
            lost.extend(files.into_iter().map(one));
        }
    }
    Ok(Found { lost, repositories: look.repositories })
}

struct Look<'a> {
    top: &'a Path,
    root: Option<&'a Path>,
    tracked: &'a [Tracked],
    compared: u64,
    seen: usize,
    repositories: Vec<Vec<u8>>,
}

impl Look<'_> {
    /// Counts the files below the ignored directory `dir`, and collects the repositories there, in caches as well.
    fn directory(&mut self, dir: &[u8], made_again: bool) -> GitResult<(u64, u64)> {
        let (mut files, mut bytes) = (0, 0);
        let mut open = vec![(dir.to_vec(), made_again, 0_usize)];
        while let Some((dir, made_again, depth)) = open.pop() {
            if depth > MAX_DEPTH {
                return Err(GitFault::TooMany { what: "directories inside each other", limit: MAX_DEPTH });
            }
            let at = nested::join(self.top, &dir);
            if self.is_repository(&at, &dir) {
                self.repositories.push(dir);
                continue;
            }
            let made_again = made_again || has_cache_tag(&at);
            for entry in fs_err::read_dir(&at).map_err(|error| io(&at, &error))? {
                let entry = entry.map_err(|error| io(&at, &error))?;
                self.seen += 1;
                if self.seen > MAX_FILES {
                    return Err(GitFault::TooMany { what: "ignored files", limit: MAX_FILES });
                }
                let path = [dir.as_slice(), b"/", entry.file_name().as_bytes()].concat();
                if entry.file_type().map_err(|error| io(&at, &error))?.is_dir() {
                    open.push((path, made_again, depth + 1));
                } else if !made_again && let Some(size) = self.file(&path)? {
                    files += 1;
                    bytes += size;
                }
            }
        }
        Ok((files, bytes))
    }

    fn is_repository(&self, at: &Path, rel: &[u8]) -> bool {
        let bare = || at.join("HEAD").is_file() && at.join("objects").is_dir() && at.join("refs").is_dir();
        nested::is_repository(self.top, rel) || bare()
    }

    /// The size of the ignored file at `path`; none if it is tracked, of no content, or the root's work tree has it too.
    fn file(&mut self, path: &[u8]) -> GitResult<Option<u64>> {
        if self.tracked.binary_search_by(|entry| entry.path.as_slice().cmp(path)).is_ok() {
            return Ok(None);
        }
        let here = nested::join(self.top, path);
        let Some(meta) = meta(&here) else { return Ok(None) };
        if !matches!(meta.kind(), Kind::File | Kind::Symlink) {
            return Ok(None);
        }
        let Some(there) = self.root.map(|root| nested::join(root, path)) else { return Ok(Some(meta.size)) };
        let alike = self::meta(&there).is_some_and(|other| (other.kind(), other.size) == (meta.kind(), meta.size));
        let copy = alike && self.same_content(&here, &there, &meta).map_err(|error| io(&here, &error))?;
        Ok((!copy).then_some(meta.size))
    }

    fn same_content(&mut self, here: &Path, there: &Path, meta: &Meta) -> std::io::Result<bool> {
        if meta.kind() == Kind::Symlink {
            return Ok(rustix::fs::readlink(here, Vec::new())? == rustix::fs::readlink(there, Vec::new())?);
        }
        if meta.size > MAX_COMPARED_BYTES || self.compared + meta.size > MAX_COMPARED_ALL {
            return Ok(false);
        }
        self.compared += meta.size;
        let (here, there) = (read(here), read(there));
        // What cannot be read is not known to be a copy.
        Ok(here.is_some() && here == there)
    }

    /// Whether the ignored file at `path` lies in a directory that only tools fill.
    fn made_by_a_tool(&self, path: &[u8]) -> bool {
        let mut dir = parent(path);
        while let Some(inner) = dir.strip_suffix(b"/") {
            if MADE_AGAIN[..MADE_BY_TOOLS_ONLY].contains(&name(inner)) || has_cache_tag(&nested::join(self.top, inner))
            {
                return true;
            }
            dir = parent(inner);
        }
        false
    }
}

fn meta(path: &Path) -> Option<Meta> {
    rustix::fs::lstat(path).ok().map(|stat| Meta::of(&stat))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path).ok()??.take(MAX_COMPARED_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn has_cache_tag(dir: &Path) -> bool {
    let mut begin = Vec::new();
    let tag = open_file(&dir.join("CACHEDIR.TAG")).ok().flatten();
    tag.is_some_and(|tag| tag.take(CACHE_TAG.len() as u64).read_to_end(&mut begin).is_ok() && begin == CACHE_TAG)
}

/// The last name of a path.
fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// The directory that `path` lies in with its slash; empty at the top.
fn parent(path: &[u8]) -> &[u8] {
    &path[..path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)]
}
