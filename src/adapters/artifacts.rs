//! The artifact store: one file per artifact, named by its digest, in one directory.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::adapters::failpoint;
use crate::domain::digest::Digest;
use crate::ports::artifacts::{ArtifactError, Artifacts};

/// What begins like this is half written, and left behind only by a process that was killed.
const TEMPORARY: &str = ".tmp-";

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Artifacts in `dir`, which is made when the first is stored. Every name is opened relative to the open directory and
/// no symbolic link in it is followed, so a planted one can neither redirect a write nor stand in for a read.
#[derive(Clone, Debug)]
pub struct ArtifactDir {
    dir: PathBuf,
}

impl ArtifactDir {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }
}

impl Artifacts for ArtifactDir {
    fn store(&self, bytes: &[u8]) -> Result<Digest, ArtifactError> {
        let digest = Digest::of(bytes);
        let dir = self.made()?;
        // A damaged or planted file under this name is replaced: its digest says what belongs there.
        if read(&dir, &digest, bytes.len() as u64).is_ok() {
            return Ok(digest);
        }
        let temporary = temporary_name();
        failpoint::reach("artifact.storing");
        let written = write(&dir, &temporary, bytes)
            .inspect(|()| failpoint::reach("artifact.written"))
            .and_then(|()| Ok(rustix::fs::renameat(&dir, &temporary, &dir, digest.hex())?))
            .and_then(|()| Ok(rustix::fs::fsync(&dir)?));
        if let Err(error) = written {
            let _ = rustix::fs::unlinkat(&dir, &temporary, AtFlags::empty());
            return Err(self.storage(digest.hex(), &error));
        }
        failpoint::reach("artifact.stored");
        Ok(digest)
    }

    fn load(&self, digest: &Digest, max_bytes: u64) -> Result<Vec<u8>, ArtifactError> {
        let dir = match self.open() {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return Err(ArtifactError::Missing(digest.clone())),
            Err(error) => return Err(self.storage("", &error.into())),
        };
        let corrupt = |why: String| ArtifactError::Corrupt { digest: digest.clone(), why };
        read(&dir, digest, max_bytes).map_err(|fault| match fault {
            Unreadable::Missing => ArtifactError::Missing(digest.clone()),
            Unreadable::NotAFile(kind) => corrupt(format!("it is {kind} and not a file")),
            Unreadable::Differs(found) => corrupt(format!("its content has the digest `{found}`")),
            Unreadable::TooLarge(bytes) => ArtifactError::TooLarge { digest: digest.clone(), bytes, max_bytes },
            Unreadable::Failed(error) => self.storage(digest.hex(), &error),
        })
    }
}

impl ArtifactDir {
    fn open(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(&self.dir, flags, Mode::empty())
    }

    fn made(&self) -> Result<OwnedFd, ArtifactError> {
        match self.open() {
            Err(Errno::NOENT) => {
                let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
                made.map_err(|error| self.storage("", &error))?;
                self.open().map_err(|error| self.storage("", &error.into()))
            }
            opened => opened.map_err(|error| self.storage("", &error.into())),
        }
    }

    fn storage(&self, name: &str, error: &io::Error) -> ArtifactError {
        ArtifactError::Storage { path: self.dir.join(name).display().to_string(), why: error.to_string() }
    }
}

enum Unreadable {
    Missing,
    NotAFile(&'static str),
    Differs(Digest),
    TooLarge(u64),
    Failed(io::Error),
}

/// Reads and verifies. A pipe or a device under this name is not waited for.
fn read(dir: &OwnedFd, digest: &Digest, max_bytes: u64) -> Result<Vec<u8>, Unreadable> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(dir, digest.hex(), flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Err(Unreadable::Missing),
        Err(Errno::LOOP) => return Err(Unreadable::NotAFile("a symbolic link")),
        Err(error) => return Err(Unreadable::Failed(error.into())),
    };
    let found = rustix::fs::fstat(&file).map_err(|error| Unreadable::Failed(error.into()))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(Unreadable::NotAFile("a directory, a pipe or a device"));
    }
    let bytes = u64::try_from(found.st_size).unwrap_or(u64::MAX);
    if bytes > max_bytes {
        return Err(Unreadable::TooLarge(bytes));
    }
    let mut content = Vec::new();
    // One more than there should be: the file may grow while it is read.
    let read = fd_file(file).take(bytes + 1).read_to_end(&mut content);
    read.map_err(Unreadable::Failed)?;
    let actual = Digest::of(&content);
    if actual == *digest { Ok(content) } else { Err(Unreadable::Differs(actual)) }
}

fn write(dir: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?;
    let mut file = fd_file(file);
    file.write_all(bytes)?;
    file.sync_all()
}

#[expect(clippy::disallowed_types, reason = "an open descriptor has no path that an error could name")]
fn fd_file(descriptor: OwnedFd) -> std::fs::File {
    std::fs::File::from(descriptor)
}

fn temporary_name() -> String {
    let mut random = [0; 8];
    // Without randomness the process and the count still make it new; `EXCL` refuses what is not.
    let _ = getrandom::fill(&mut random);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{TEMPORARY}{}-{count}-{:016x}", std::process::id(), u64::from_ne_bytes(random))
}

/// Whether `name` is that of a half-written artifact: pruning may remove it once it is old.
pub fn is_temporary(name: &OsStr) -> bool {
    name.as_bytes().starts_with(TEMPORARY.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn store() -> (tempfile::TempDir, ArtifactDir) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let artifacts = ArtifactDir::new(dir.path().join("decapod/artifacts"));
        (dir, artifacts)
    }

    #[test]
    fn what_is_stored_is_loaded_and_storing_it_again_changes_nothing() {
        let (_dir, artifacts) = store();
        for bytes in [&b""[..], b"text", &[0xff; 100_000]] {
            let digest = artifacts.store(bytes).expect("it is writable");
            let path = artifacts.dir.join(digest.hex());
            let first = std::fs::metadata(&path).expect("it is there");
            assert_eq!(first.permissions().mode() & 0o777, 0o600);
            assert_eq!(artifacts.store(bytes).expect("it is there"), digest);
            let second = std::fs::metadata(&path).expect("it is there");
            assert_eq!(first.modified().expect("a time"), second.modified().expect("a time"));
            assert_eq!(artifacts.load(&digest, 1 << 20).expect("it is there"), bytes);
        }
        let names: Vec<_> = std::fs::read_dir(&artifacts.dir).expect("it is there").flatten().collect();
        assert!(names.len() == 3 && names.iter().all(|entry| !is_temporary(&entry.file_name())));
    }

    #[test]
    fn what_is_not_there_is_missing_and_what_is_large_is_refused() {
        let (_dir, artifacts) = store();
        assert!(matches!(artifacts.load(&Digest::of(b"x"), 10), Err(ArtifactError::Missing(_))));
        let digest = artifacts.store(b"twelve bytes").expect("it is writable");
        assert!(matches!(artifacts.load(&Digest::of(b"x"), 10), Err(ArtifactError::Missing(_))));
        assert!(matches!(artifacts.load(&digest, 11), Err(ArtifactError::TooLarge { bytes: 12, max_bytes: 11, .. })));
    }

    #[test]
    fn a_damaged_artifact_is_an_error_and_storing_heals_it() {
        let (_dir, artifacts) = store();
        let digest = artifacts.store(b"evidence").expect("it is writable");
        std::fs::write(artifacts.dir.join(digest.hex()), b"evidencE").expect("it is writable");
        assert!(matches!(artifacts.load(&digest, 100), Err(ArtifactError::Corrupt { .. })));
        artifacts.store(b"evidence").expect("it is writable");
        assert_eq!(artifacts.load(&digest, 100).expect("it is whole again"), b"evidence");
    }

    #[test]
    fn a_planted_link_is_neither_read_nor_written_through() {
        let (dir, artifacts) = store();
        artifacts.store(b"first").expect("it is writable");
        let victim = dir.path().join("victim");
        std::fs::write(&victim, b"evidence").expect("it is writable");
        let digest = Digest::of(b"evidence");
        let name = artifacts.dir.join(digest.hex());
        symlink(&victim, &name).expect("a link");
        // Even though the content behind it has the right digest: it is not ours and can change at any time.
        assert!(matches!(artifacts.load(&digest, 100), Err(ArtifactError::Corrupt { .. })));
        artifacts.store(b"evidence").expect("it is writable");
        assert!(std::fs::symlink_metadata(&name).expect("it is there").is_file());
        std::fs::write(&victim, b"changed").expect("it is writable");
        assert_eq!(artifacts.load(&digest, 100).expect("it is there"), b"evidence");
    }

    #[test]
    fn a_pipe_in_its_place_is_not_waited_for() {
        let (_dir, artifacts) = store();
        artifacts.store(b"first").expect("it is writable");
        let digest = Digest::of(b"x");
        rustix::fs::mknodat(rustix::fs::CWD, artifacts.dir.join(digest.hex()), FileType::Fifo, Mode::RUSR, 0)
            .expect("a pipe");
        assert!(matches!(artifacts.load(&digest, 100), Err(ArtifactError::Corrupt { .. })));
    }

    #[test]
    fn a_directory_that_is_a_link_or_a_file_is_refused() {
        let (dir, artifacts) = store();
        std::fs::create_dir_all(dir.path().join("decapod")).expect("it is writable");
        symlink(dir.path(), &artifacts.dir).expect("a link");
        assert!(matches!(artifacts.store(b"x"), Err(ArtifactError::Storage { .. })));
        let file = dir.path().join("file");
        std::fs::write(&file, b"").expect("it is writable");
        assert!(matches!(ArtifactDir::new(file.join("sub")).store(b"x"), Err(ArtifactError::Storage { .. })));
    }

    #[test]
    fn many_threads_storing_the_same_bytes_all_succeed() {
        let (_dir, artifacts) = store();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| artifacts.store(&[7; 50_000]).expect("it is writable"));
            }
        });
        assert_eq!(std::fs::read_dir(&artifacts.dir).expect("it is there").count(), 1);
    }
}
