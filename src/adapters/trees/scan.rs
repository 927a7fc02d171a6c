//! One walk of a work tree: what became of each tracked path, and what else is there.

use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::ignores::Ignores;
use super::index::Tracked;
use super::meta::{Kind, Meta};
use super::nested;
use crate::domain::path::TreePath;
use crate::ports::trees::{MAX_DEPTH, MAX_FILES, TreeFault};

/// Fewer tracked files than this are walked by one thread.
const PARALLEL_FROM: usize = 1000;
const THREADS: usize = 2;

/// What is on disk.
#[derive(Default)]
pub(crate) struct Scan {
    /// For each tracked path what `lstat` says; none where nothing of a file's kind is there.
    pub tracked: Vec<Option<Meta>>,
    /// Files and symlinks that are neither tracked nor ignored, sorted.
    pub untracked: Vec<(Vec<u8>, Meta)>,
    /// Directories that are repositories of their own and not tracked, sorted.
    pub repositories: Vec<Vec<u8>>,
    /// What is ignored; a directory ends with `/` and stands for all in it. Sorted.
    pub ignored: Vec<Vec<u8>>,
}

/// Walks `top`. `tracked` is sorted by path.
pub(crate) fn scan(top: &Path, tracked: &[Tracked], ignores: &Arc<Ignores>) -> Result<Scan, TreeFault> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(top, flags, Mode::empty())
        .map_err(|error| TreeFault::NotOpened { dir: top.to_owned(), words: error.to_string() })?;
    let first = Job {
        parent: Arc::new(root),
        name: b".".to_vec(),
        rel: Vec::new(),
        tracked: 0..tracked.len(),
        rules: Some(Arc::clone(ignores)),
        depth: 0,
    };
    let walk = Walk { top, tracked, seen: AtomicUsize::new(0), queue: Mutex::default(), woken: Condvar::new() };
    let threads = if tracked.len() < PARALLEL_FROM { 1 } else { THREADS };
    walk.lock().jobs.push(first);
    let found: Vec<Result<Found, TreeFault>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| walk.work())).collect();
        let mut found = vec![walk.work()];
        found.extend(others.into_iter().map(|other| other.join().expect("a worker does not panic")));
        found
    });
    merge(found, tracked.len())
}

/// A directory to walk.
struct Job {
    parent: Arc<OwnedFd>,
    name: Vec<u8>,
    /// The path from the top with its closing slash; empty at the top.
    rel: Vec<u8>,
    /// The tracked paths that lie in it.
    tracked: Range<usize>,
    /// None in an ignored directory: only what is tracked counts there.
    rules: Option<Arc<Ignores>>,
    depth: usize,
}

#[derive(Default)]
struct Found {
    tracked: Vec<(usize, Meta)>,
    untracked: Vec<(Vec<u8>, Meta)>,
    repositories: Vec<Vec<u8>>,
    ignored: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    busy: usize,
    stop: bool,
}

struct Walk<'a> {
    top: &'a Path,
    tracked: &'a [Tracked],
    seen: AtomicUsize,
    queue: Mutex<Queue>,
    woken: Condvar,
}

impl Walk<'_> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> Result<Found, TreeFault> {
        let mut found = Found::default();
        let mut more = Vec::new();
        while let Some(job) = self.next() {
            let outcome = self.visit(&job, &mut found, &mut more);
            let mut queue = self.lock();
            queue.busy -= 1;
            queue.jobs.append(&mut more);
            queue.stop |= outcome.is_err();
            drop(queue);
            self.woken.notify_all();
            outcome?;
        }
        Ok(found)
    }

    /// The next directory; none when no one has any left.
    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if queue.stop {
                return None;
            }
            if let Some(job) = queue.jobs.pop() {
                queue.busy += 1;
                return Some(job);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.woken.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn visit(&self, job: &Job, found: &mut Found, more: &mut Vec<Job>) -> Result<(), TreeFault> {
        if job.depth > MAX_DEPTH {
            return Err(self.too_many("directories inside each other", MAX_DEPTH, &job.rel));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = match rustix::fs::openat(&*job.parent, job.name.as_slice(), flags, Mode::empty()) {
            Ok(dir) => Arc::new(dir),
            // Gone since it was listed, or something else took its place: what was tracked in it is absent.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(unreadable(&job.rel, error)),
        };
        let names = list(&dir, &job.rel)?;
        let is_repository = job.depth > 0 && names.iter().any(|(name, _)| name == b".git");
        if is_repository && job.tracked.is_empty() && nested::is_repository(self.top, &job.rel) {
            found.repositories.push(job.rel[..job.rel.len() - 1].to_vec());
            return Ok(());
        }
        let rules = job.rules.as_ref().map(|rules| match names.iter().any(|(name, _)| name == b".gitignore") {
            true => rules.within(&dir, job.rel.len()),
            false => Arc::clone(rules),
        });
        let here = Directory { job, dir, rules };
        let (files, mut directories) = here.split_tracked(self.tracked);
        for &(name, index) in &files {
            found
                .tracked
                .extend(here.stat(name)?.filter(not_a_directory(&self.tracked[index])).map(|meta| (index, meta)));
        }
        for (name, kind) in &names {
            self.sort_out(&here, name, *kind, &files, &mut directories, found, more)?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one step of `visit`, which holds all of it")]
    fn sort_out(
        &self,
        here: &Directory<'_>,
        name: &[u8],
        kind: FileType,
        files: &[(&[u8], usize)],
        directories: &mut Below<'_>,
        found: &mut Found,
        more: &mut Vec<Job>,
    ) -> Result<(), TreeFault> {
        if name == b".git" {
            return Ok(());
        }
        let tracked = files.binary_search_by(|(file, _)| (*file).cmp(name)).ok().map(|at| files[at].1);
        let kind = match kind {
            FileType::Unknown => {
                here.stat(name)?.map_or(FileType::Unknown, |meta| FileType::from_raw_mode(meta.st_mode))
            }
            known => known,
        };
        let path = || [&here.job.rel, name].concat();
        match kind {
            FileType::Directory if tracked.is_some_and(|index| self.tracked[index].is_repository()) => {}
            FileType::Directory => {
                let below = directories.remove(name);
                let ignored = here.rules.as_ref().is_none_or(|rules| rules.ignores(&path(), true));
                let rel = [path().as_slice(), b"/"].concat();
                if ignored && here.rules.is_some() {
                    found.ignored.push(rel.clone());
                }
                if ignored && below.is_none() {
                    return Ok(());
                }
                let rules = here.rules.clone().filter(|_| !ignored);
                more.push(here.job_below(name, rel, below.unwrap_or(0..0), rules));
            }
            FileType::RegularFile | FileType::Symlink if tracked.is_none() => {
                let Some(rules) = &here.rules else { return Ok(()) };
                let path = path();
                if rules.ignores(&path, false) {
                    found.ignored.push(path);
                } else if let Some(meta) = here.stat(name)?.filter(|meta| meta.kind() != Kind::Directory) {
                    if self.seen.fetch_add(1, Ordering::Relaxed) >= MAX_FILES {
                        return Err(self.too_many("files", MAX_FILES, &path));
                    }
                    found.untracked.push((path, meta));
                }
            }
            // Tracked files were looked at by name; special files that are not tracked have no content to speak of.
            _ => {}
        }
        Ok(())
    }

    fn too_many(&self, what: &'static str, limit: usize, path: &[u8]) -> TreeFault {
        TreeFault::TooMany { what, limit, path: TreePath::new(path) }
    }
}

/// Tracked files of one directory by name, sorted, and where each is in the index.
type Names<'t> = Vec<(&'t [u8], usize)>;
/// Directories of one directory that hold tracked files, and which.
type Below<'t> = HashMap<&'t [u8], Range<usize>>;

/// An open directory of the walk.
struct Directory<'j> {
    job: &'j Job,
    dir: Arc<OwnedFd>,
    rules: Option<Arc<Ignores>>,
}

impl Directory<'_> {
    /// The tracked paths in this directory: files by name (sorted), and directories with what lies in each.
    fn split_tracked<'t>(&self, tracked: &'t [Tracked]) -> (Names<'t>, Below<'t>) {
        let skip = self.job.rel.len();
        let mut files = Vec::new();
        let mut directories = Below::new();
        let mut index = self.job.tracked.start;
        while index < self.job.tracked.end {
            let name = &tracked[index].path[skip..];
            let Some(slash) = memchr::memchr(b'/', name) else {
                files.push((name, index));
                index += 1;
                continue;
            };
            let below = &tracked[index].path[..=skip + slash];
            let rest = &tracked[index..self.job.tracked.end];
            let end = index + rest.partition_point(|entry| entry.path.starts_with(below));
            directories.insert(&name[..slash], index..end);
            index = end;
        }
        (files, directories)
    }

    fn stat(&self, name: &[u8]) -> Result<Option<Meta>, TreeFault> {
        match rustix::fs::statat(&*self.dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Meta::of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(unreadable(&[&self.job.rel, name].concat(), error)),
        }
    }

    fn job_below(&self, name: &[u8], rel: Vec<u8>, tracked: Range<usize>, rules: Option<Arc<Ignores>>) -> Job {
        Job { parent: Arc::clone(&self.dir), name: name.to_vec(), rel, tracked, rules, depth: self.job.depth + 1 }
    }
}

/// A tracked file whose place a directory took is absent; a tracked repository is a directory.
fn not_a_directory(tracked: &Tracked) -> impl Fn(&Meta) -> bool {
    let repository = tracked.is_repository();
    move |meta| repository || meta.kind() != Kind::Directory
}

fn list(dir: &OwnedFd, rel: &[u8]) -> Result<Vec<(Vec<u8>, FileType)>, TreeFault> {
    let entries = Dir::read_from(dir).map_err(|error| unreadable(rel, error))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(rel, error))?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push((name.to_vec(), entry.file_type()));
        }
    }
    Ok(names)
}

fn merge(found: Vec<Result<Found, TreeFault>>, tracked: usize) -> Result<Scan, TreeFault> {
    let mut scan = Scan { tracked: vec![None; tracked], ..Scan::default() };
    for part in found {
        let part = part?;
        for (index, meta) in part.tracked {
            scan.tracked[index] = Some(meta);
        }
        scan.untracked.extend(part.untracked);
        scan.repositories.extend(part.repositories);
        scan.ignored.extend(part.ignored);
    }
    scan.untracked.sort_by(|a, b| a.0.cmp(&b.0));
    scan.repositories.sort();
    scan.ignored.sort();
    Ok(scan)
}

fn unreadable(path: &[u8], error: Errno) -> TreeFault {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    TreeFault::Unreadable {
        path: TreePath::new(if path.is_empty() { b".".as_slice() } else { path }),
        words: error.to_string(),
    }
}
