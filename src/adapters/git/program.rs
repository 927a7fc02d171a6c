//! Running the git program: hardened, bounded in time and output, and killed with all it started.
//!
//! What talks to a remote or writes a worktree runs as the user's own `git` would: credential helpers, ssh settings,
//! `core.sshCommand`, filters and hooks of the user and of the repository's own configuration apply, since that
//! configuration is not cloned and the user's next plain `git` would run the same. Reads go through libgit2 and run
//! none of it.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::url::redact_words;
use crate::adapters::failpoint;
use crate::adapters::lock::FileLock;
use crate::ports::git::{GitFault, GitResult};

/// The longest wait for a command that only touches this machine.
pub(super) const MAX_LOCAL_WAIT: Duration = Duration::from_secs(60);
/// The longest wait for a checkout, whose filters may fetch content.
pub(super) const MAX_CHECKOUT_WAIT: Duration = Duration::from_secs(600);
/// The longest wait for a question to a remote.
pub(super) const MAX_REMOTE_WAIT: Duration = Duration::from_secs(120);
/// The longest wait for objects to travel, and for the hooks of a push.
pub(super) const MAX_TRANSFER_WAIT: Duration = Duration::from_secs(900);
/// Bytes of each of git's two outputs that are kept; the rest is read and dropped.
const MAX_OUTPUT_BYTES: usize = 16 << 20;
/// Bytes of git's words that go into a fault.
const MAX_WORDS_BYTES: usize = 4 << 10;
/// How long output may trail the end of the program; a grandchild can hold the pipe for ever.
const MAX_TRAILING: Duration = Duration::from_millis(500);
/// How long a program that was told to end may take.
const MAX_GRACE: Duration = Duration::from_secs(2);

/// Settings that hold over any configuration.
const SETTINGS: [&str; 11] = [
    "core.fsmonitor=false",
    "core.pager=cat",
    "color.ui=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "push.followTags=false",
    // A remote of this kind is a command line.
    "protocol.ext.allow=never",
    "advice.detachedHead=false",
    "core.editor=false",
];

/// Variables of git's that say how to reach and trust a remote or who commits; all others of its are cleared.
const KEPT: [&str; 17] = [
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_PROXY_SSL_CERT",
    "GIT_PROXY_SSL_KEY",
    "GIT_ALLOW_PROTOCOL",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
];

/// A finished run.
pub(super) struct Ran {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Ran {
    pub fn ok(&self) -> bool {
        self.status.success()
    }

    /// The exit status; 128 and the signal's number for a signal, as a shell has it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// What git said on stderr: no secrets of an address, and only the end of it where it is long.
    pub fn words(&self) -> String {
        let start = self.stderr.len().saturating_sub(MAX_WORDS_BYTES);
        redact_words(String::from_utf8_lossy(&self.stderr[start..]).trim())
    }
}

/// The git program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    name: OsString,
    /// Held by every git that is run, for as long as it runs.
    held: Option<Arc<FileLock>>,
}

impl Default for Program {
    fn default() -> Self {
        Self { name: "git".into(), held: None }
    }
}

impl Program {
    #[cfg(test)]
    pub fn named(name: impl Into<OsString>) -> Self {
        Self { name: name.into(), held: None }
    }

    /// The same, and what it runs holds `lock` to its own end: whoever takes the lock after a kctl was killed knows that
    /// no git is left which that kctl started.
    pub fn holding(&self, lock: FileLock) -> Self {
        Self { name: self.name.clone(), held: Some(Arc::new(lock)) }
    }

    /// Runs git in `dir` and waits for its end, whatever its exit status.
    pub fn run(&self, dir: &Path, args: &[&OsStr], limit: Duration) -> GitResult<Ran> {
        tracing::debug!(command = ?args.first(), dir = %dir.display(), "runs git");
        failpoint::reach("git.starting");
        let not_run = |error: std::io::Error| GitFault::NotRun { words: error.to_string() };
        let mut command = self.command(dir);
        command.args(args);
        if let Some(lock) = &self.held {
            command.stdin(lock.as_stdin().map_err(not_run)?);
        }
        let child = command.spawn().map_err(not_run)?;
        failpoint::reach("git.started");
        let shown = || args.first().map(|arg| arg.to_string_lossy().into_owned()).unwrap_or_default();
        let ran = Run::begin(child).finish(limit).map_err(|end| match end {
            End::Late => GitFault::TimedOut { command: shown(), limit_s: limit.as_secs() },
            End::Lost(words) => GitFault::NotRun { words },
        });
        failpoint::reach("git.ended");
        ran
    }

    /// Runs git and takes any exit status but 0 for a fault.
    pub fn must(&self, dir: &Path, args: &[&OsStr], limit: Duration) -> GitResult<Ran> {
        let ran = self.run(dir, args, limit)?;
        if ran.ok() { Ok(ran) } else { Err(failed(args, &ran)) }
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(&self.name);
        for (name, _) in std::env::vars_os() {
            if name.as_bytes().starts_with(b"GIT_") && !KEPT.iter().any(|kept| name == **kept) {
                command.env_remove(name);
            }
        }
        // A place where a test kills us is not a place where it kills the hooks that git runs.
        command.env_remove("KCTL_FAILPOINT").env_remove("KCTL_FAILPOINT_TRACE");
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        command
            .current_dir(dir)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_PAGER", "cat")
            .env("GIT_EDITOR", "false")
            .env("GIT_SEQUENCE_EDITOR", "false")
            .env("GIT_MERGE_AUTOEDIT", "no")
            .env("LC_ALL", "C")
            // ssh then asks the user's own ask-pass program or fails, and does not wait on a terminal we do not own.
            .env("SSH_ASKPASS_REQUIRE", "force")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }
}

pub(super) fn failed(args: &[&OsStr], ran: &Ran) -> GitFault {
    // Options and addresses stay out: the first two words name the command.
    let named: Vec<_> =
        args.iter().take(2).map(|arg| arg.to_string_lossy()).filter(|arg| !arg.starts_with('-')).collect();
    GitFault::Failed { command: redact_words(&named.join(" ")), status: ran.code(), words: ran.words() }
}

enum End {
    Late,
    Lost(String),
}

struct Run {
    child: Child,
    outputs: [Arc<Mutex<Vec<u8>>>; 2],
    closed: Receiver<()>,
}

impl Run {
    fn begin(mut child: Child) -> Self {
        let (sender, closed) = channel();
        let outputs = [
            collect(child.stdout.take().expect("stdout is piped"), sender.clone(), false),
            collect(child.stderr.take().expect("stderr is piped"), sender, true),
        ];
        Self { child, outputs, closed }
    }

    fn finish(mut self, limit: Duration) -> Result<Ran, End> {
        let deadline = Instant::now() + limit;
        let mut open = self.outputs.len();
        let mut ended: Option<(ExitStatus, Instant)> = None;
        // Short at first, since most runs are; both outputs closing wakes us sooner.
        let mut pause = Duration::from_millis(1);
        loop {
            if ended.is_none() {
                let status = self.child.try_wait().map_err(|error| End::Lost(error.to_string()))?;
                ended = status.map(|status| (status, Instant::now()));
            }
            match ended {
                Some((status, at)) if open == 0 || at.elapsed() >= MAX_TRAILING => return Ok(self.ran(status)),
                None if Instant::now() >= deadline => {
                    self.stop();
                    return Err(End::Late);
                }
                Some(_) | None => {}
            }
            match self.closed.recv_timeout(pause) {
                Ok(()) => open -= 1,
                Err(RecvTimeoutError::Timeout) => pause = (pause * 2).min(Duration::from_millis(50)),
                // Both outputs are closed: the end is near, and nothing wakes us for it.
                Err(RecvTimeoutError::Disconnected) => {
                    open = 0;
                    std::thread::sleep(pause.min(Duration::from_millis(5)));
                }
            }
        }
    }

    fn ran(self, status: ExitStatus) -> Ran {
        let take =
            |output: &Mutex<Vec<u8>>| std::mem::take(&mut *output.lock().unwrap_or_else(PoisonError::into_inner));
        Ran { status, stdout: take(&self.outputs[0]), stderr: take(&self.outputs[1]) }
    }

    /// Ends git and what it started: asked first, so that git removes its lock files.
    fn stop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.child);
        let signal = |signal| rustix::process::kill_process_group(group, signal).is_ok();
        signal(rustix::process::Signal::TERM);
        let grace = Instant::now() + MAX_GRACE;
        while Instant::now() < grace && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(rustix::process::Signal::KILL);
        if let Err(error) = self.child.wait() {
            tracing::debug!(%error, "git's end was not seen");
        }
    }
}

/// Reads `pipe` to its end; keeps its first bytes, or its last.
fn collect(mut pipe: impl Read + Send + 'static, closed: Sender<()>, keep_end: bool) -> Arc<Mutex<Vec<u8>>> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&kept);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(got @ 1..) = pipe.read(&mut buffer) {
            let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let room = if keep_end { got } else { got.min(MAX_OUTPUT_BYTES - kept.len()) };
            kept.extend_from_slice(&buffer[..room]);
            if kept.len() > MAX_OUTPUT_BYTES {
                let half = kept.len() - MAX_OUTPUT_BYTES / 2;
                kept.drain(..half);
            }
        }
        // The receiver is gone when the run was stopped.
        closed.send(()).ok();
    });
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::git::fixture::make_executable;

    fn script(dir: &Path, body: &str) -> Program {
        let path = dir.join("git");
        fs_err::write(&path, format!("#!/bin/sh\n{body}\n")).expect("write a script");
        make_executable(&path);
        Program::named(path)
    }

    fn run(body: &str, limit: Duration) -> (tempfile::TempDir, GitResult<Ran>) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let ran = script(dir.path(), body).run(dir.path(), &[OsStr::new("anything")], limit);
        (dir, ran)
    }

    #[test]
    fn a_program_that_hangs_is_stopped_with_what_it_started() {
        let began = Instant::now();
        let (dir, ran) = run("echo $$ > pid; sleep 600 & sleep 600", Duration::from_millis(300));
        assert!(matches!(ran, Err(GitFault::TimedOut { .. })));
        assert!(began.elapsed() < Duration::from_secs(20));
        let group: i32 =
            fs_err::read_to_string(dir.path().join("pid")).expect("it began").trim().parse().expect("a pid");
        let group = rustix::process::Pid::from_raw(group).expect("a pid");
        // A killed child may wait a moment for its new parent to collect it.
        let gone = || rustix::process::test_kill_process_group(group).is_err();
        assert!((0..200).any(|_| gone() || {
            std::thread::sleep(Duration::from_millis(10));
            false
        }));
    }

    #[test]
    fn output_held_open_by_a_grandchild_does_not_hold_us() {
        let began = Instant::now();
        let (_dir, ran) = run("echo done; sleep 30 & exit 3", Duration::from_secs(20));
        let ran = ran.expect("it ended");
        assert_eq!((ran.code(), ran.stdout.as_slice()), (3, b"done\n".as_slice()));
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn output_is_bounded_and_read_to_its_end() {
        let (_dir, ran) = run("head -c 40000000 /dev/zero; echo end >&2", Duration::from_secs(60));
        let ran = ran.expect("it ended");
        assert_eq!((ran.ok(), ran.stdout.len(), ran.words().as_str()), (true, MAX_OUTPUT_BYTES, "end"));
    }

    #[test]
    fn a_missing_program_is_a_typed_fault_and_a_signal_has_a_number() {
        let missing = Program::named("no-such-git").run(Path::new("/"), &[], MAX_LOCAL_WAIT);
        assert!(matches!(missing, Err(GitFault::NotRun { .. })));
        let (_dir, ran) = run("kill -9 $$", MAX_LOCAL_WAIT);
        assert_eq!(ran.expect("it ended").code(), 137);
    }

    #[test]
    fn gits_own_variables_do_not_reach_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let program = script(dir.path(), "env");
        let mut command = program.command(dir.path());
        command.env("GIT_DIR", "/elsewhere");
        // `command` removes what is set when it is made; a name set afterwards shows that the script sees its environment.
        let output = command.output().expect("it runs");
        let seen = String::from_utf8_lossy(&output.stdout).into_owned();
        for wanted in
            ["GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "LC_ALL=C", "GIT_DIR=/elsewhere"]
        {
            assert!(seen.lines().any(|line| line == wanted), "{wanted}");
        }
        assert!(
            !KEPT.iter().any(|kept| kept.starts_with("GIT_CONFIG") || *kept == "GIT_DIR" || *kept == "GIT_INDEX_FILE")
        );
    }
}
