//! A shell as a person has one open: a line goes in, and what a terminal would show comes out, in the order in which it
//! was written. For `kctl quickstart`, which types what it tells; everything else runs under `adapters::process`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// The longest that one line may take, in seconds.
const MAX_LINE_WAIT_S: u64 = 120;
/// The most that is kept of what one line shows, in bytes; the rest is read and dropped.
const MAX_SHOWN_BYTES: u64 = 1 << 20;
/// How long the end of the shell may trail the end of its output.
const MAX_TRAILING: Duration = Duration::from_secs(5);
/// How often the shell is asked whether it has ended, where its output has.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// What came of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// Standard output and standard error, as they came.
    pub shown: String,
    /// 128 and the signal's number where a signal ended it, as a shell has it.
    pub status: i32,
}

/// The directory and the environment that lines are run in.
pub struct Shell {
    cwd: PathBuf,
    env: BTreeMap<OsString, OsString>,
}

impl Shell {
    /// A shell at `home`, whose home directory it is. It has the caller's environment, without what would let the
    /// caller's repository, sessions or settings bend what happens: git's, kctl's and cargo's variables, and the XDG
    /// directories. Rust tool chains stay where they are.
    pub fn at(home: &Path) -> Self {
        let mut env: BTreeMap<OsString, OsString> = std::env::vars_os().filter(|(name, _)| is_kept(name)).collect();
        if let Some(real) = std::env::home_dir() {
            for (name, dir) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
                let dir = real.join(dir);
                if dir.is_dir() {
                    env.entry(name.into()).or_insert_with(|| dir.into_os_string());
                }
            }
        }
        // Settings of the whole machine may sign commits, or run hooks, as settings of a person may.
        env.insert("GIT_CONFIG_NOSYSTEM".into(), "1".into());
        env.insert("HOME".into(), home.as_os_str().to_owned());
        Self { cwd: home.to_owned(), env }
    }

    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub fn cd(&mut self, dir: impl Into<PathBuf>) {
        self.cwd = dir.into();
    }

    pub fn export(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.insert(name.into(), value.into());
    }

    /// Looks for programs in `dir` before anywhere else.
    pub fn prepend_path(&mut self, dir: &Path) {
        let mut path = dir.as_os_str().to_owned();
        if let Some(rest) = self.env.get(OsStr::new("PATH")) {
            path.push(":");
            path.push(rest);
        }
        self.env.insert("PATH".into(), path);
    }

    /// Runs `line` and waits for its end.
    ///
    /// # Errors
    /// When there is no shell, or the line takes longer than `MAX_LINE_WAIT_S`.
    pub fn run(&self, line: &str) -> io::Result<Typed> {
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).current_dir(&self.cwd).env_clear().envs(&self.env);
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn()?;
        // The command holds the writing ends; the output would never end for whoever reads it.
        drop(command);
        let Some(shown) = collected(reader) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("no end after {MAX_LINE_WAIT_S} s")));
        };
        let since = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                use std::os::unix::process::ExitStatusExt as _;
                let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
                return Ok(Typed { shown, status });
            }
            if since.elapsed() > MAX_TRAILING {
                let _ = child.kill();
            }
            thread::sleep(ASK_EVERY);
        }
    }
}

/// What comes out of `reader` up to its end; none if that is not reached in time.
fn collected(reader: io::PipeReader) -> Option<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut kept = Vec::new();
        let mut reader = reader;
        let _ = (&mut reader).take(MAX_SHOWN_BYTES).read_to_end(&mut kept);
        let _ = io::copy(&mut reader, &mut io::sink());
        // Nobody listens any more where the wait was given up.
        let _ = sender.send(String::from_utf8_lossy(&kept).into_owned());
    });
    receiver.recv_timeout(Duration::from_secs(MAX_LINE_WAIT_S)).ok()
}

fn is_kept(name: &OsStr) -> bool {
    const BENDING: [&str; 8] =
        ["CARGO", "BASH_ENV", "ENV", "CDPATH", "MAKEFLAGS", "CLICOLOR_FORCE", "RUST_BACKTRACE", "RUST_LOG"];
    const PREFIXES: [&str; 4] = ["GIT_", "KCTL_", "XDG_", "CARGO_"];
    let Some(name) = name.to_str() else { return false };
    name == "CARGO_HOME" || !(BENDING.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// Makes `link` stand for the program at `target`.
///
/// # Errors
/// When the link cannot be made.
pub fn link_program(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_both_outputs_in_their_order_and_its_status() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut shell = Shell::at(dir.path());
        shell.export("WORD", "a b");
        let typed = shell.run("echo one; echo \"$WORD\" >&2; echo \"$HOME\"; exit 7").expect("there is a shell");
        assert_eq!(typed, Typed { shown: format!("one\na b\n{}\n", dir.path().display()), status: 7 });
        assert_eq!(shell.run("kill -9 $$").expect("it runs").status, 137);
    }

    #[test]
    fn more_than_is_kept_does_not_block_the_line() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let typed = Shell::at(dir.path()).run("yes | head -c 3000000; echo end").expect("there is a shell");
        assert_eq!((typed.shown.len() as u64, typed.status), (MAX_SHOWN_BYTES, 0));
    }

    #[test]
    fn what_would_bend_the_story_is_not_inherited() {
        let kept = ["PATH", "TERM", "LANG", "CARGO_HOME", "RUSTUP_TOOLCHAIN", "TMPDIR"];
        let gone = ["GIT_DIR", "KCTL_SESSION", "XDG_STATE_HOME", "CARGO_MANIFEST_DIR", "CARGO_TARGET_DIR", "CARGO"];
        assert!(kept.iter().all(|name| is_kept(OsStr::new(name))));
        assert!(!gone.iter().any(|name| is_kept(OsStr::new(name))));
    }
}
