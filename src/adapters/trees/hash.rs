//! Digests of files as they are on disk.

use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::meta::{Kind, Meta};
use super::nested::join;
use crate::domain::path::TreePath;
use crate::ports::trees::TreeFault;

/// Fewer files than this are hashed by one thread.
const PARALLEL_FROM: usize = 64;
const THREADS: usize = 2;
const BUFFER_BYTES: usize = 128 << 10;

/// A file that was read.
#[derive(Clone, Copy)]
pub(crate) struct Hashed {
    pub digest: [u8; 32],
    /// What the file was when it was read. The one seen by the walk may have been replaced since.
    pub meta: Meta,
    /// When reading began, by this machine's clock; none if the file changed meanwhile.
    pub steady_since_ns: Option<i64>,
}

/// Hashes each file; none for one that has gone since the walk.
pub(crate) fn all(top: &Path, files: &[(&[u8], Meta)]) -> Result<Vec<Option<Hashed>>, TreeFault> {
    if files.len() < PARALLEL_FROM {
        let mut buffer = vec![0; BUFFER_BYTES];
        return files.iter().map(|(path, meta)| one(top, path, meta, &mut buffer)).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Option<Hashed>)>, TreeFault> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((path, meta)) = files.get(index) else { return Ok(done) };
            done.push((index, one(top, path, meta, &mut buffer)?));
        }
    };
    let parts = std::thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(work)).collect();
        let mut parts = vec![work()];
        parts.extend(others.into_iter().map(|other| other.join().expect("a worker does not panic")));
        parts
    });
    let mut hashed = vec![None; files.len()];
    for part in parts {
        for (index, file) in part? {
            hashed[index] = file;
        }
    }
    Ok(hashed)
}

fn one(top: &Path, rel: &[u8], meta: &Meta, buffer: &mut [u8]) -> Result<Option<Hashed>, TreeFault> {
    let outcome = match meta.kind() {
        Kind::File => file(&join(top, rel), buffer),
        Kind::Symlink => symlink(&join(top, rel)),
        Kind::Directory | Kind::Special => Ok(unread(*meta)),
    };
    match outcome {
        Ok(hashed) => Ok(Some(hashed)),
        Err(error)
            if matches!(error.raw_os_error().map(Errno::from_raw_os_error), Some(Errno::NOENT | Errno::NOTDIR)) =>
        {
            Ok(None)
        }
        Err(error) => Err(TreeFault::Unreadable { path: TreePath::new(rel), words: error.to_string() }),
    }
}

/// A file of which only the kind is known.
fn unread(meta: Meta) -> Hashed {
    Hashed { digest: Sha256::digest(b"").into(), meta, steady_since_ns: None }
}

fn file(path: &Path, buffer: &mut [u8]) -> std::io::Result<Hashed> {
    let began_ns = now_ns();
    // A FIFO that took the file's place must not stop us, and opening it must not be felt at its other end.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::LOOP) => return symlink(path),
        opened => opened?,
    };
    let meta = Meta::of(&rustix::fs::fstat(&fd)?);
    if meta.kind() != Kind::File {
        return Ok(unread(meta));
    }
    let mut hasher = Sha256::new();
    let mut file = fs_err::File::from_parts(fd.into(), path);
    // At most as long as it was: a file that grows while it is read is not steady, and must not hold us for ever.
    let mut left = meta.size;
    while left > 0 {
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let got = file.read(&mut buffer[..want])?;
        if got == 0 {
            break;
        }
        hasher.update(&buffer[..got]);
        left -= got as u64;
    }
    let steady = left == 0 && Meta::of(&rustix::fs::fstat(&file)?) == meta;
    Ok(Hashed { digest: hasher.finalize().into(), meta, steady_since_ns: steady.then_some(began_ns) })
}

fn symlink(path: &Path) -> std::io::Result<Hashed> {
    let began_ns = now_ns();
    let meta = Meta::of(&rustix::fs::lstat(path)?);
    if meta.kind() != Kind::Symlink {
        return Ok(unread(meta));
    }
    let target = rustix::fs::readlink(path, Vec::new())?;
    let steady = Meta::of(&rustix::fs::lstat(path)?) == meta;
    Ok(Hashed { digest: Sha256::digest(target.to_bytes()).into(), meta, steady_since_ns: steady.then_some(began_ns) })
}

fn now_ns() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
