//! Snapshots of work trees on this machine's disks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::{Repository, RepositoryOpenFlags};

use super::cache::{self, Row};
use super::hash::{self, Hashed};
use super::ignores::Ignores;
use super::index::{self, IndexFile};
use super::links;
use super::meta::{Kind, Meta};
use super::nested;
use super::scan;
use crate::adapters::git::is_clean;
use crate::domain::digest::Fields;
use crate::domain::path::TreePath;
use crate::ports::git::GitFault;
use crate::ports::trees::{Entry, MAX_NESTED_REPOSITORIES, MODE_REPOSITORY, Snapshot, TreeFault, Trees};

/// Reads work trees on disk, with a stat cache in the root's `decapod/cache/`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalTrees;

impl Trees for LocalTrees {
    fn snapshot(&self, work_tree: &Path) -> Result<Snapshot, TreeFault> {
        let not_opened = |words: String| TreeFault::NotOpened { dir: work_tree.to_owned(), words };
        let repo = Repository::open_ext(work_tree, RepositoryOpenFlags::NO_SEARCH, &[] as &[&std::ffi::OsStr])
            .map_err(|error| not_opened(error.message().to_owned()))?;
        let top = repo.workdir().ok_or_else(|| not_opened("it is bare".to_owned()))?.to_owned();
        let mut files = Vec::new();
        let (level, clean) = gather(&top, Some(&repo), b"", 0, &mut files)?;
        let hashed = digests(&top, repo.commondir(), &files)?;
        Ok(Snapshot { entries: fold(level, &files, &hashed), clean })
    }

    fn read(&self, work_tree: &Path, path: &TreePath, max_bytes: u64) -> Result<Option<Vec<u8>>, String> {
        use std::io::Read as _;
        let at = work_tree.join(OsStr::from_bytes(path.as_bytes()));
        match at.symlink_metadata() {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Ok(None),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(why.to_string()),
        }
        let mut bytes = Vec::new();
        let file = fs_err::File::open(&at).map_err(|why| why.to_string())?;
        file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(|why| why.to_string())?;
        if bytes.len() as u64 > max_bytes {
            return Err(format!("it has more than {max_bytes} bytes"));
        }
        Ok(Some(bytes))
    }

    fn exists(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn is_link(&self, path: &Path) -> bool {
        path.is_symlink()
    }

    fn links_out(&self, work_tree: &Path, snapshot: &Snapshot) -> Vec<TreePath> {
        links::out(work_tree, snapshot)
    }
}

/// One repository's part of the work tree.
struct Level {
    /// Its files, as a range of the list of all files.
    files: std::ops::Range<usize>,
    repositories: Vec<Inner>,
}

/// A repository inside, or a submodule's directory without one.
struct Inner {
    path: Vec<u8>,
    /// What it is and what its `HEAD` names.
    head: Vec<u8>,
    level: Level,
}

/// Lists the files of the repository at `prefix` and of those inside it, by their paths from `top`. Says of the outermost
/// whether it is clean.
fn gather(
    top: &Path,
    repo: Option<&Repository>,
    prefix: &[u8],
    depth: usize,
    files: &mut Vec<(Vec<u8>, Meta)>,
) -> Result<(Level, bool), TreeFault> {
    let path = |rel: &[u8]| [prefix, rel].concat();
    if depth > MAX_NESTED_REPOSITORIES {
        let limit = MAX_NESTED_REPOSITORIES;
        return Err(TreeFault::TooMany { what: "repositories inside each other", limit, path: TreePath::new(prefix) });
    }
    let here = nested::join(top, prefix);
    let (index, ignores) = match repo {
        Some(repo) => (index::read(repo, &here)?, Ignores::of(repo)),
        None => (IndexFile::default(), Ignores::none()),
    };
    let tracked = &index.tracked;
    let found = scan::scan(&here, tracked, &ignores).map_err(|fault| below(fault, prefix))?;
    let clean = match repo {
        Some(repo) if depth == 0 => is_clean(repo, &here, &index, &found).map_err(|fault| match fault {
            GitFault::Tree(fault) => fault,
            fault => TreeFault::NotOpened { dir: here.clone(), words: fault.to_string() },
        })?,
        Some(_) | None => false,
    };
    let start = files.len();
    let mut inside: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (entry, meta) in tracked.iter().zip(&found.tracked) {
        match meta {
            Some(meta) if entry.is_repository() && meta.kind() == Kind::Directory => {
                inside.push((path(&entry.path), entry.oid.as_bytes().to_vec()));
            }
            Some(meta) => files.push((path(&entry.path), *meta)),
            None => {}
        }
    }
    files.extend(found.untracked.into_iter().map(|(rel, meta)| (path(&rel), meta)));
    let own = start..files.len();
    inside.extend(found.repositories.iter().map(|rel| (path(rel), Vec::new())));
    let mut repositories = Vec::with_capacity(inside.len());
    for (path, oid) in inside {
        let repo = nested::open(&nested::join(top, &path), &path)?;
        let head = match &repo {
            Some(repo) => [b"head ".as_slice(), &nested::head_words(repo, &path)?].concat(),
            None => [b"unpopulated ".as_slice(), &oid].concat(),
        };
        let (level, _) = gather(top, repo.as_ref(), &[&path, b"/".as_slice()].concat(), depth + 1, files)?;
        repositories.push(Inner { path, head, level });
    }
    Ok((Level { files: own, repositories }, clean))
}

/// A digest for each file: remembered, or read now.
fn digests(top: &Path, common_dir: &Path, files: &[(Vec<u8>, Meta)]) -> Result<Vec<Option<Hashed>>, TreeFault> {
    let place = cache::place(common_dir, top);
    let bytes = cache::load(&place).unwrap_or_default();
    let rows = cache::rows(&bytes, top).unwrap_or_default();
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by(|&a, &b| files[a].0.cmp(&files[b].0));
    let mut hashed: Vec<Option<Hashed>> = vec![None; files.len()];
    let mut known = rows.iter().peekable();
    let mut kept = 0;
    let mut missed = Vec::new();
    for &at in &order {
        let (path, meta) = &files[at];
        while known.next_if(|row| row.path < path.as_slice()).is_some() {}
        match known.next_if(|row| row.path == path.as_slice()).filter(|row| row.meta == *meta) {
            Some(row) => {
                hashed[at] = Some(Hashed { digest: row.digest, meta: *meta, steady_since_ns: Some(i64::MAX) });
                kept += 1;
            }
            None => missed.push(at),
        }
    }
    let wanted: Vec<(&[u8], Meta)> = missed.iter().map(|&at| (files[at].0.as_slice(), files[at].1)).collect();
    let mut learnt = kept != rows.len();
    for (&at, read) in missed.iter().zip(hash::all(top, &wanted)?) {
        learnt |= read.as_ref().is_some_and(is_memorable);
        hashed[at] = read;
    }
    if learnt {
        let memorable = |&at: &usize| {
            let file = hashed[at].filter(is_memorable)?;
            Some(Row { path: &files[at].0, meta: file.meta, digest: file.digest })
        };
        let mut rows: Vec<Row<'_>> = order.iter().filter_map(memorable).collect();
        rows.dedup_by(|later, first| later.path == first.path);
        cache::store(&place, top, &rows);
    }
    Ok(hashed)
}

fn is_memorable(file: &Hashed) -> bool {
    file.steady_since_ns.is_some_and(|began_ns| Row::is_clearly_old(&file.meta, began_ns))
}

/// Makes entries of one level; a repository inside becomes one entry that speaks for all in it.
fn fold(level: Level, files: &[(Vec<u8>, Meta)], hashed: &[Option<Hashed>]) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(level.files.len() + level.repositories.len());
    for at in level.files {
        let Some(file) = hashed[at].filter(|file| file.meta.kind() != Kind::Directory) else { continue };
        let path = TreePath::new(files[at].0.as_slice());
        entries.push(Entry { path, mode: file.meta.git_mode(), digest: file.digest });
    }
    for inner in level.repositories {
        let mut fields = Fields::new();
        fields.push(&inner.head);
        for entry in fold(inner.level, files, hashed) {
            let below = &entry.path.as_bytes()[inner.path.len() + 1..];
            fields.push(below).push(&entry.mode.to_le_bytes()).push(&entry.digest);
        }
        let digest = fields.finish_raw();
        entries.push(Entry { path: TreePath::new(inner.path), mode: MODE_REPOSITORY, digest });
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    entries.dedup_by(|later, first| later.path == first.path);
    entries
}

/// The same fault, its path seen from the outer tree.
fn below(fault: TreeFault, prefix: &[u8]) -> TreeFault {
    let join = |path: TreePath| TreePath::new([prefix, path.as_bytes()].concat());
    match fault {
        TreeFault::Unreadable { path, words } => TreeFault::Unreadable { path: join(path), words },
        TreeFault::TooMany { what, limit, path } => TreeFault::TooMany { what, limit, path: join(path) },
        TreeFault::NotOpened { dir, words } => TreeFault::NotOpened { dir, words },
        TreeFault::Index { dir, words } => TreeFault::Index { dir, words },
    }
}
