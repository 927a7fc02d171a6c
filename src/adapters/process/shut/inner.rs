//! kctl's own program as it starts a command from inside.

use std::ffi::{OsStr, OsString};
use std::io::{PipeWriter, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::io::FdFlags;
use rustix::process::DumpableBehavior;

use super::landlock::Rules;
use crate::adapters::process::{start, supervisor};
use crate::ports::runner::{Ended, NotStarted};

/// The first word by which kctl's program knows that it is called from inside. No operation has such a name.
pub const WORD: &str = "--shut-in";
/// The first line: the command was reached, and what comes after is about it.
pub const ON: &str = "on";

/// Serves a call from inside; none if `args` are no such call. Gives the exit status, if it comes back at all.
pub fn serve(args: &[OsString]) -> Option<u8> {
    let [word, how, rest @ ..] = args else { return None };
    if word.as_os_str() != OsStr::new(WORD) {
        return None;
    }
    let status = match (how.to_str(), rest) {
        (Some("wait"), [report, stdout, stderr, words @ ..]) => wait([report, stdout, stderr], words),
        (Some("landlock"), [report, rules, words @ ..]) => become_held(report, rules, words),
        _ => None,
    };
    // Whatever is amiss, kctl sees that nothing was reported.
    Some(status.unwrap_or(1))
}

/// Starts the command, reports how it ended, and stays: what it left behind lives as long as this does.
fn wait(ends: [&OsString; 3], words: &[OsString]) -> Option<u8> {
    // What is started here runs as the same user, and must not reach our end of the report through /proc.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).ok()?;
    let [report, stdout, stderr] = ends.map(taken);
    let (mut report, stdout, stderr) = (PipeWriter::from(report?), stdout?, stderr?);
    // What the command is told by a signal to its group is not for us; caught signals are given back to what we start.
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, std::sync::Arc::default()).ok()?;
    }
    writeln!(report, "{ON}").ok()?;
    let ended = match started(words, stdout, stderr) {
        Ok(mut child) => supervisor::ended(child.wait().ok()),
        Err(why) => Ended::NotStarted(why),
    };
    writeln!(report, "{}", serde_json::to_string(&ended).ok()?).ok()?;
    loop {
        std::thread::park();
    }
}

fn started(words: &[OsString], stdout: OwnedFd, stderr: OwnedFd) -> Result<Child, NotStarted> {
    let mut command = called(words)?;
    command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    start::alone(&mut command, Vec::new());
    command.spawn().map_err(|error| refused(&error, words))
}

/// Holds itself to the rules, and becomes the command.
fn become_held(report: &OsString, rules: &OsString, words: &[OsString]) -> Option<u8> {
    let mut report = PipeWriter::from(taken(report)?);
    let rules: Rules = serde_json::from_str(rules.to_str()?).ok()?;
    let why = match rules.hold() {
        Ok(()) => match called(words) {
            Ok(mut command) => refused(&command.exec(), words),
            Err(why) => why,
        },
        Err(why) => NotStarted::System { why: format!("Landlock did not take its rules: {why}") },
    };
    writeln!(report, "{}", serde_json::to_string(&Ended::NotStarted(why)).ok()?).ok()?;
    Some(1)
}

fn called(words: &[OsString]) -> Result<Command, NotStarted> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(NotStarted::Malformed { why: "it names no program".to_owned() });
    };
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn refused(error: &std::io::Error, words: &[OsString]) -> NotStarted {
    let program = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    start::not_started(error, &program, std::path::Path::new("."))
}

/// A descriptor that kctl has left open for us, closed to what we start.
#[expect(unsafe_code, reason = "a descriptor that was handed down has no owner in this process until one is made")]
fn taken(number: &OsString) -> Option<OwnedFd> {
    let number: i32 = number.to_str()?.parse().ok().filter(|number| *number > 2)?;
    // SAFETY: the number was given to this process for this one use, at its start, before anything else was opened;
    // it is asked for once.
    let taken = unsafe { OwnedFd::from_raw_fd(number) };
    if rustix::io::fcntl_setfd(&taken, FdFlags::CLOEXEC).is_err() {
        // Nothing was open under it, and nothing may be closed.
        std::mem::forget(taken);
        return None;
    }
    Some(taken)
}
