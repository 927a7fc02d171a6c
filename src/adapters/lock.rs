//! One file lock, held by one process at a time and given back by the system when that process dies.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fs_err::OpenOptions;
use fs4::{FileExt, TryLockError};

/// Enough stack for the thread that waits: it calls the system once and sends one message.
const WAITER_STACK_BYTES: usize = 64 * 1024;

/// A held lock. Dropping it gives the lock back; the file stays.
#[must_use]
#[derive(Debug)]
pub struct FileLock {
    file: fs_err::File,
}

impl FileLock {
    /// Takes the lock on `path`, making the file if need be, and waits at most `wait_ms` milliseconds.
    ///
    /// # Errors
    /// `WouldBlock` when another process kept the lock for that long; otherwise why the file cannot be opened. A
    /// symbolic link at `path` is not followed.
    pub fn take(path: &Path, wait_ms: u64) -> io::Result<Self> {
        let file = open(path)?;
        match FileExt::try_lock(file.file()) {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) if wait_ms > 0 => wait(file, Duration::from_millis(wait_ms)),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(fault)) => Err(fault),
        }
    }

    /// The lock as the standard input of a program, which then holds it too, and goes on holding it should this process
    /// die. Reading it gives nothing. A drop here gives the lock back for both.
    ///
    /// # Errors
    /// When the system has no file descriptor left.
    pub fn as_stdin(&self) -> io::Result<Stdio> {
        Ok(Stdio::from(self.file.file().try_clone()?))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file gives the lock back too; a failure here changes nothing.
        let _ = FileExt::unlock(self.file.file());
    }
}

fn open(path: &Path) -> io::Result<fs_err::File> {
    let mut how = OpenOptions::new();
    how.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use fs_err::os::unix::fs::OpenOptionsExt;
        how.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    how.open(path)
}

/// Waits in the system's own queue, which is fair and wakes one waiter at a time; polling is neither.
///
/// The system's call has no time limit, so a thread makes it. Should the limit pass first, the thread still gets the
/// lock one day, finds nobody to hand it to, and gives it back by dropping the file.
fn wait(file: fs_err::File, limit: Duration) -> io::Result<FileLock> {
    let (send, receive) = mpsc::channel();
    thread::Builder::new().name("lock".to_owned()).stack_size(WAITER_STACK_BYTES).spawn(move || {
        let had = block(&file).map(|()| FileLock { file });
        // Refused when nobody waits any more; the lock is dropped with the message.
        let _ = send.send(had);
    })?;
    match receive.recv_timeout(limit) {
        Ok(had) => had,
        Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::WouldBlock.into()),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the thread that waited for the lock ended")),
    }
}

fn block(file: &fs_err::File) -> io::Result<()> {
    loop {
        match FileExt::lock(file.file()) {
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_waits_until_the_first_gives_back() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("lock");
        let first = FileLock::take(&path, 0)?;
        assert_eq!(FileLock::take(&path, 0).expect_err("it is held").kind(), io::ErrorKind::WouldBlock);
        assert_eq!(FileLock::take(&path, 20).expect_err("it is held").kind(), io::ErrorKind::WouldBlock);
        let waiter = thread::spawn({
            let path = path.clone();
            move || FileLock::take(&path, 10_000).map(drop)
        });
        thread::sleep(Duration::from_millis(20));
        drop(first);
        waiter.join().expect("the waiter does not panic")?;
        assert!(path.exists(), "deleting a lock file gives two holders");
        Ok(())
    }

    #[test]
    fn a_waiter_that_gave_up_leaves_no_lock_behind() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("lock");
        let first = FileLock::take(&path, 0)?;
        assert!(FileLock::take(&path, 10).is_err());
        drop(first);
        FileLock::take(&path, 10_000).map(drop)
    }

    #[cfg(unix)]
    #[test]
    fn a_planted_link_is_not_followed_and_the_file_is_the_owners() -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir()?;
        let target = dir.path().join("elsewhere");
        std::os::unix::fs::symlink(&target, dir.path().join("planted"))?;
        assert!(FileLock::take(&dir.path().join("planted"), 0).is_err());
        assert!(!target.exists());
        drop(FileLock::take(&dir.path().join("lock"), 0)?);
        let mode = fs_err::metadata(dir.path().join("lock"))?.permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        Ok(())
    }
}
