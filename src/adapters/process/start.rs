//! Starting the command: its own session, no terminal, no stdin, and an end that comes with kctl's own.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::io::FdFlags;
use rustix::process::{Resource, Rlimit};

use super::environment::{MARKER, Scrubbed};
use super::shell;
use super::shut::{Means, Shut, inner};
use super::variables::COMPILED;
use crate::adapters::failpoint;
use crate::ports::runner::{Invocation, NotStarted, Program, Streams};

/// A started command and our ends of its pipes.
pub struct Started {
    pub child: Child,
    pub stdout: Option<PipeReader>,
    pub stderr: Option<PipeReader>,
    /// Where the shell reports its stages' statuses.
    pub report: Option<PipeReader>,
    /// Where kctl's program inside reports how the command ended.
    pub told: Option<Told>,
}

/// What is heard from a sandbox.
pub struct Told {
    pub report: PipeReader,
    /// What `bwrap` itself complains of. The run can reach this one, and not the report.
    pub complaints: Option<PipeReader>,
}

pub fn start(
    invocation: &Invocation,
    scrubbed: &Scrubbed,
    marker: &str,
    shut: &Shut,
    helper: &Path,
    compiled: &Path,
) -> Result<Started, NotStarted> {
    check_directory(&invocation.cwd)?;
    let (report, report_end) = match &invocation.program {
        Program::Shell(_) => high_pipe().map_or((None, None), |(reader, writer)| (Some(reader), Some(writer))),
        Program::Argv(_) => (None, None),
    };
    let words = words(&invocation.program, report_end.as_ref())?;
    let program = words[0].to_string_lossy().into_owned();
    let (stdout, stdout_end) = pipe()?;
    let (stderr, stderr_end) = match invocation.streams {
        Streams::Merged => (None, stdout_end.try_clone().map_err(|error| system(&error))?),
        Streams::Apart => pipe().map(|(reader, writer)| (Some(reader), writer))?,
    };
    let ends = Ends { stdout: stdout_end, stderr: stderr_end };
    let (mut command, told, mut handed) = within(shut, helper, &words, ends)?;
    handed.extend(report_end);
    command.current_dir(&invocation.cwd).env_clear().envs(&scrubbed.vars).env(MARKER, marker).stdin(Stdio::null());
    if !scrubbed.vars.contains_key(OsStr::new(COMPILED)) {
        command.env(COMPILED, compiled);
    }
    alone(&mut command, handed);
    // Dropping `command` closes our copies of the writing ends: or the output would never end.
    failpoint::reach("run.starting");
    let child = command.spawn().map_err(|error| not_started(&error, &program, &invocation.cwd))?;
    failpoint::reach("run.started");
    Ok(Started { child, stdout: Some(stdout), stderr, report, told })
}

/// The ends of the pipes that the command writes to.
struct Ends {
    stdout: PipeWriter,
    stderr: PipeWriter,
}

type Within = (Command, Option<Told>, Vec<OwnedFd>);

/// The command that leads to `words`, our end of what is told from inside, and what it is handed beside 0, 1 and 2.
fn within(shut: &Shut, helper: &Path, words: &[OsString], ends: Ends) -> Result<Within, NotStarted> {
    let told = || high_pipe().ok_or_else(|| NotStarted::System { why: "there are too many open files".to_owned() });
    let number = |end: &OwnedFd| end.as_raw_fd().to_string();
    match &shut.means {
        Means::Open => {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).stdout(ends.stdout).stderr(ends.stderr);
            Ok((command, None, Vec::new()))
        }
        Means::Landlock(rules) => {
            let (reader, told) = told()?;
            let rules = serde_json::to_string(rules).map_err(|why| NotStarted::System { why: why.to_string() })?;
            let mut command = Command::new(helper);
            command.args([inner::WORD, "landlock", &number(&told), &rules]).args(words);
            command.stdout(ends.stdout).stderr(ends.stderr);
            Ok((command, Some(Told { report: reader, complaints: None }), vec![told]))
        }
        Means::Bwrap { program, arguments } => {
            let (reader, told) = told()?;
            let (out, err) = (OwnedFd::from(ends.stdout), OwnedFd::from(ends.stderr));
            let mut command = Command::new(program);
            command.args(arguments).arg("--").arg(helper);
            // `bwrap` keeps 0, 1 and 2 open as long as it runs, so the command gets its streams by other numbers.
            command.args([inner::WORD, "wait", &number(&told), &number(&out), &number(&err)]).args(words);
            let (complaints, complaining) = pipe()?;
            command.stdout(Stdio::null()).stderr(complaining);
            Ok((command, Some(Told { report: reader, complaints: Some(complaints) }), vec![told, out, err]))
        }
    }
}

fn words(program: &Program, report_end: Option<&OwnedFd>) -> Result<Vec<OsString>, NotStarted> {
    match program {
        Program::Shell(text) => {
            let text = report_end.map_or_else(|| text.clone(), |end| shell::reporting(text, end.as_raw_fd()));
            Ok(shell::BASH.iter().copied().chain(["-c", &text]).map(OsString::from).collect())
        }
        Program::Argv(words) if words.first().is_none_or(String::is_empty) => {
            Err(NotStarted::Malformed { why: "it names no program".to_owned() })
        }
        Program::Argv(words) => Ok(words.iter().map(OsString::from).collect()),
    }
}

/// Makes the command lead a session, die with the thread that runs it, leave no core file in the work tree, and keep
/// what it is `handed`.
#[expect(unsafe_code, reason = "a session and a death signal can only be asked for between fork and exec")]
pub fn alone(command: &mut Command, handed: Vec<OwnedFd>) {
    let parent = rustix::process::getpid();
    let in_child = move || {
        rustix::process::setsid()?;
        end_with_parent(parent)?;
        let _ = rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
        for end in &handed {
            rustix::io::fcntl_setfd(end, FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only async-signal-safe work is done: `in_child` makes system calls, allocates
    // nothing, takes no lock and touches no memory but its own captures.
    unsafe { command.pre_exec(in_child) };
}

/// The run is synchronous, so the thread that forks outlives the command unless kctl dies.
#[cfg(target_os = "linux")]
fn end_with_parent(parent: rustix::process::Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // kctl may have died before the signal was asked for.
    if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
}

#[cfg(not(target_os = "linux"))]
fn end_with_parent(_: rustix::process::Pid) -> io::Result<()> {
    Ok(())
}

/// A pipe whose writing end has a number that people do not use.
fn high_pipe() -> Option<(PipeReader, OwnedFd)> {
    let (reader, writer) = io::pipe().ok()?;
    // Without a number this high there is no report, and the run goes on without one.
    let writer = rustix::io::fcntl_dupfd_cloexec(&writer, shell::MIN_REPORT_FD).ok()?;
    rustix::io::ioctl_fionbio(&reader, true).ok()?;
    Some((reader, writer))
}

fn pipe() -> Result<(PipeReader, PipeWriter), NotStarted> {
    let (reader, writer) = io::pipe().map_err(|error| system(&error))?;
    // Only the reading end: the command's own end blocks, as programs expect.
    rustix::io::ioctl_fionbio(&reader, true).map_err(|error| system(&error.into()))?;
    Ok((reader, writer))
}

fn check_directory(cwd: &Path) -> Result<(), NotStarted> {
    let refuse = |why: String| NotStarted::Directory { path: cwd.display().to_string(), why };
    match std::fs::metadata(cwd) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(refuse("it is not a directory".to_owned())),
        Err(error) => Err(refuse(error.to_string())),
    }
}

pub fn not_started(error: &io::Error, program: &str, cwd: &Path) -> NotStarted {
    let program = program.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound if program.contains('/') && cwd.join(&program).exists() => {
            NotStarted::NotExecutable { program, why: "its interpreter or loader is missing".to_owned() }
        }
        io::ErrorKind::NotFound => NotStarted::Missing { program },
        io::ErrorKind::PermissionDenied if cwd.join(".").metadata().is_err() => {
            NotStarted::Directory { path: cwd.display().to_string(), why: error.to_string() }
        }
        io::ErrorKind::PermissionDenied => NotStarted::NotExecutable { program, why: error.to_string() },
        io::ErrorKind::InvalidInput | io::ErrorKind::ArgumentListTooLong => {
            NotStarted::Malformed { why: error.to_string() }
        }
        _ => system(error),
    }
}

fn system(error: &io::Error) -> NotStarted {
    NotStarted::System { why: error.to_string() }
}
