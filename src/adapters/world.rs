//! The small things of the world: time, randomness, environment, secrets, locks.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use fs_err as fs;

use crate::adapters::failpoint;
use crate::adapters::layout::Layout;
use crate::adapters::lock::FileLock;
use crate::domain::id::EvidenceId;
use crate::domain::id::SessionId;
use crate::domain::stamp::Stamp;
use crate::ports::world::{Clock, Env, Guard, Ids, LockFault, Locks, Secrets};

/// The system's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Stamp {
        #[cfg(feature = "testing")]
        if let Some(ms) = std::env::var("KCTL_TEST_NOW_MS").ok().and_then(|text| text.parse().ok()) {
            return Stamp::from_ms(ms);
        }
        Stamp::from_ms(jiff::Timestamp::now().as_millisecond())
    }
}

/// The system's randomness.
pub struct SystemIds;

impl Ids for SystemIds {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }

    fn secret(&self) -> String {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).expect("the system gives random bytes, or nothing here is safe to do");
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The process's environment.
pub struct SystemEnv;

impl Env for SystemEnv {
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn has_program(&self, program: &str) -> bool {
        let is_program =
            |path: PathBuf| rustix::fs::access(&path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file();
        if program.contains('/') {
            return is_program(PathBuf::from(program));
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|dir| is_program(dir.join(program)))
    }
}

/// Tokens as files of mode 0600 in the platform's state directory.
pub struct SecretFiles;

impl SecretFiles {
    /// The directory of the tokens.
    ///
    /// # Errors
    /// In words, when there is no home.
    pub fn dir() -> Result<PathBuf, String> {
        // The password database knows a home for every user. Nobody who runs kctl without one, in a sandbox or a
        // container, means that place.
        let names = |name: &str| std::env::var_os(name).is_some_and(|path| Path::new(&path).is_absolute());
        match std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute()) {
            Some(state) if cfg!(target_os = "linux") => return Ok(state.join("kctl").join("sessions")),
            _ if cfg!(unix) && !names("HOME") => return Err("there is no home directory".to_owned()),
            _ => {}
        }
        let dirs = directories::ProjectDirs::from("", "", "kctl").ok_or("there is no home directory")?;
        Ok(dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()).join("sessions"))
    }

    fn file(session: &SessionId) -> Result<PathBuf, String> {
        Ok(Self::dir()?.join(format!("{session}.token")))
    }
}

impl Secrets for SecretFiles {
    fn keep(&self, session: &SessionId, token: &str) -> Result<(), String> {
        let path = Self::file(session)?;
        let dir = path.parent().expect("the file is in the directory");
        failpoint::reach("secret.keeping");
        let write = || {
            fs::create_dir_all(dir)?;
            private(dir, 0o700)?;
            // A temporary file is made with mode 0600, so the token is never readable for anybody else.
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            file.write_all(token.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|fault| fault.error).map(drop)
        };
        let written = write().map_err(|why: std::io::Error| why.to_string());
        failpoint::reach("secret.kept");
        written
    }

    fn find(&self, session: &SessionId) -> Option<String> {
        let text = fs::read_to_string(Self::file(session).ok()?).ok()?;
        Some(text.trim().to_owned())
    }

    fn forget(&self, session: &SessionId) {
        if let Ok(path) = Self::file(session) {
            // A token that stays behind opens nothing: its session is released.
            let _ = fs::remove_file(path);
            failpoint::reach("secret.forgotten");
        }
    }

    fn place(&self) -> Result<String, String> {
        Self::dir().map(|dir| dir.display().to_string())
    }

    #[cfg(unix)]
    fn exposed(&self) -> Vec<String> {
        use std::os::unix::fs::PermissionsExt as _;
        let Ok(dir) = Self::dir() else { return Vec::new() };
        let files = fs::read_dir(&dir).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
        let open = |path: &PathBuf| {
            fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_symlink() && meta.permissions().mode() & 0o077 != 0)
        };
        let all = std::iter::once(dir.clone()).chain(files).take(MAX_LOOKED_AT);
        all.filter(open).map(|path| path.display().to_string()).collect()
    }

    #[cfg(not(unix))]
    fn exposed(&self) -> Vec<String> {
        Vec::new()
    }
}

/// How many files of the state directory are looked at.
const MAX_LOOKED_AT: usize = 10_000;

#[cfg(unix)]
fn private(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn private(_: &Path, _: u32) -> std::io::Result<()> {
    Ok(())
}

/// Locks as files under the git common directory.
pub struct FileLocks;

/// How long a call waits for others to make or remove their worktrees, in seconds.
const MAX_WORKTREE_WAIT_S: u64 = 300;

impl Locks for FileLocks {
    fn worktrees(&self, common_dir: &Path) -> Result<Guard, LockFault> {
        let layout = Layout::of(common_dir);
        let lock = take(layout.worktree_lock())?;
        // A kctl that was killed may have left a git at work, which holds this lock until it ends.
        drop(take(layout.git_lock())?);
        failpoint::reach("worktrees.locked");
        Ok(Guard::new(lock))
    }

    fn baseline(&self, common_dir: &Path) -> Result<Guard, LockFault> {
        take(Layout::of(common_dir).baseline_lock()).map(Guard::new)
    }

    fn run(&self, common_dir: &Path, id: &EvidenceId) -> Result<Guard, LockFault> {
        let path = Layout::of(common_dir).run_lock(id.as_str());
        let lock = take(path.clone())?;
        Ok(Guard::new(RunLock { path, _lock: lock }))
    }

    fn is_run_alive(&self, common_dir: &Path, id: &EvidenceId) -> bool {
        let path = Layout::of(common_dir).run_lock(id.as_str());
        if !path.exists() {
            return false;
        }
        match FileLock::take(&path, 0) {
            // Its kctl was killed, and left the file behind.
            Ok(lock) => {
                drop(RunLock { path, _lock: lock });
                false
            }
            Err(_) => true,
        }
    }
}

/// The lock of a run, with the file that is there for it alone.
struct RunLock {
    path: PathBuf,
    _lock: FileLock,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A file that stays is removed by whoever asks for it next.
        let _ = fs_err::remove_file(&self.path);
    }
}

fn take(path: PathBuf) -> Result<FileLock, LockFault> {
    match FileLock::take(&path, MAX_WORKTREE_WAIT_S * 1000) {
        Ok(lock) => Ok(lock),
        Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => {
            Err(LockFault::Busy { waited_s: MAX_WORKTREE_WAIT_S })
        }
        Err(why) => Err(LockFault::Failed { path, words: why.to_string() }),
    }
}

/// Where the process was started.
///
/// # Errors
/// In words, when that directory is gone.
pub fn current_dir() -> Result<PathBuf, String> {
    std::env::current_dir().map_err(|why| format!("the current directory cannot be read: {why}"))
}

/// The program that is running, absolute. It is found by name where the system does not say.
pub fn current_program() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("kctl"));
    program.canonicalize().unwrap_or(program)
}

/// Lets a write beyond the limit on file sizes fail with an error, as any other write that fails, instead of ending the
/// process by a signal.
#[cfg(unix)]
pub fn outlive_file_limits() {
    // A signal that is caught leaves the write to fail; nobody asks for the flag.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

#[cfg(not(unix))]
pub fn outlive_file_limits() {}
