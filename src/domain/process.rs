//! Running a command under supervision: what is asked for, and everything that can come of it.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::isolation::{Isolation, Sandbox};
use super::stamp::{Length, Stamp};

/// The most output that is ever kept of one stream, whatever an invocation asks for.
pub const MAX_OUTPUT_BYTES: usize = 64 * 1024 * 1024;
/// What is kept of a stream when an invocation does not say.
pub const DEFAULT_OUTPUT_BYTES: usize = 1024 * 1024;
/// The least: a head and a tail that a person can still make sense of.
pub const MIN_OUTPUT_BYTES: usize = 4 * 1024;
/// How many processes left over by one run are listed; all are ended.
pub const MAX_LEFTOVERS: usize = 100;

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A text for `bash --noprofile --norc -o pipefail`.
    Shell(String),
    /// A program, found along `PATH` or relative to the directory, and its arguments.
    Argv(Vec<String>),
}

/// Whether the two output streams are kept as one, in the order in which they were written, or apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    Merged,
    /// For a parser that must not find warnings in its JSON.
    Apart,
}

/// A command and everything that bounds it.
#[derive(Clone, Debug)]
pub struct Invocation {
    pub program: Program,
    pub cwd: PathBuf,
    /// Variables of the caller's environment that are let through although they would be scrubbed.
    pub pass_env: Vec<String>,
    /// Variables set last, over everything else.
    pub set_env: Vec<(String, String)>,
    /// From the start until TERM.
    pub timeout: Length,
    /// From TERM until KILL.
    pub grace: Length,
    /// What is kept of each stream: half of it head, half of it tail. The middle is counted.
    pub max_output_bytes: usize,
    pub streams: Streams,
    /// None: it is not shut in.
    pub sandbox: Option<Sandbox>,
}

impl Invocation {
    pub fn new(program: Program, cwd: impl Into<PathBuf>, timeout: Length) -> Self {
        Self {
            program,
            cwd: cwd.into(),
            pass_env: Vec::new(),
            set_env: Vec::new(),
            timeout,
            grace: Length::seconds(5),
            max_output_bytes: DEFAULT_OUTPUT_BYTES,
            streams: Streams::Merged,
            sandbox: None,
        }
    }
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub ended: Ended,
    /// The exit status of each stage of the last pipeline of a `Shell` program. Empty where it is not known: the
    /// shell was replaced, killed or left with `exit N`, or the command set its own `EXIT` trap.
    pub pipe_statuses: Vec<i32>,
    /// Both streams, or only stdout under `Streams::Apart`.
    pub output: Output,
    /// Under `Streams::Apart`.
    pub stderr: Option<Output>,
    pub started: Stamp,
    pub finished: Stamp,
    /// By a clock that nobody sets back.
    pub elapsed_ms: u64,
    pub leftovers: Leftovers,
    /// The environment as it was passed: names and values, but of secrets only the names.
    pub env_digest: Digest,
    /// How far it was shut in.
    pub isolation: Isolation,
}

impl Outcome {
    /// The signal that ended the command itself, also where a shell reported it as 128 + n.
    pub fn signal(&self) -> Option<i32> {
        match self.ended {
            Ended::Signalled { signal, .. } => Some(signal),
            Ended::Exited { code: code @ 129..=192 } if !self.pipe_statuses.is_empty() => Some(code - 128),
            Ended::Exited { .. } | Ended::TimedOut { .. } | Ended::Interrupted { .. } | Ended::NotStarted(_) => None,
        }
    }

    /// The program that was not there: the one that was asked for or, as far as the shell's own last words tell, one
    /// that the command named.
    pub fn missing_program(&self) -> Option<&str> {
        match &self.ended {
            Ended::NotStarted(NotStarted::Missing { program }) => Some(program),
            Ended::Exited { code: 127 } => {
                let said = self.stderr.as_ref().unwrap_or(&self.output);
                said.text
                    .lines()
                    .rev()
                    .take(20)
                    .find_map(|line| line.strip_suffix(": command not found").and_then(|line| line.rsplit(": ").next()))
            }
            Ended::Exited { .. }
            | Ended::Signalled { .. }
            | Ended::TimedOut { .. }
            | Ended::Interrupted { .. }
            | Ended::NotStarted(_) => None,
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ended {
    /// It ended by itself.
    Exited {
        code: i32,
    },
    /// A signal that was not ours ended it.
    Signalled {
        signal: i32,
        core_dumped: bool,
    },
    /// The deadline passed; `killed` if TERM and the grace were not enough.
    TimedOut {
        killed: bool,
    },
    /// kctl itself was told to stop by this signal, and took the run down with it.
    Interrupted {
        signal: i32,
    },
    NotStarted(NotStarted),
}

/// Why a command was not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum NotStarted {
    #[error("there is no program `{program}` along PATH or in the directory")]
    Missing { program: String },
    #[error("the program `{program}` may not be executed: {why}")]
    NotExecutable { program: String, why: String },
    #[error("the directory `{path}` cannot be entered: {why}")]
    Directory { path: String, why: String },
    /// The invocation is malformed: an empty list, a NUL, a variable's name with `=`.
    #[error("the command cannot be started: {why}")]
    Malformed { why: String },
    /// The system is out of processes, memory or files.
    #[error("the system did not start the command: {why}")]
    System { why: String },
}

/// What a stream carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The kept text: escape sequences and control characters stripped, secrets redacted, and a line that says how
    /// much is missing where the middle was dropped.
    pub text: String,
    /// As the command wrote it.
    pub bytes_total: u64,
    /// Of the cleaned text. 0 means that nothing is missing.
    pub bytes_omitted: u64,
    pub invalid_utf8: bool,
    /// How many secrets were taken out, in the kept and in the dropped part.
    pub redactions: u32,
    /// Of `text`; the name it gets as an artifact.
    pub digest: Digest,
}

impl Output {
    /// Nothing was written.
    pub fn empty() -> Self {
        Self {
            text: String::new(),
            bytes_total: 0,
            bytes_omitted: 0,
            invalid_utf8: false,
            redactions: 0,
            digest: Digest::of(b""),
        }
    }
}

/// The processes that outlived the command or, at the deadline, TERM and the grace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leftovers {
    /// At most `MAX_LEFTOVERS`.
    pub listed: Vec<Leftover>,
    pub count: u32,
    /// Whether all of them are gone. A process in an uninterruptible wait can outlast even KILL.
    pub ended: bool,
    /// False where the system cannot be asked for processes that left the group: `count` is then a lower bound.
    pub known: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leftover {
    pub pid: i32,
    /// Its command line, redacted and shortened.
    pub command: String,
}

/// Why a tool's version is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoVersion {
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    #[error("`{program}` does not say its version: {why}")]
    Unsaid { program: String, why: String },
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exited { code } => write!(f, "exited with {code}"),
            Ended::Signalled { signal, core_dumped: false } => write!(f, "was ended by signal {signal}"),
            Ended::Signalled { signal, core_dumped: true } => write!(f, "was ended by signal {signal} (core dumped)"),
            Ended::TimedOut { killed: false } => f.write_str("ran out of time and was ended by TERM"),
            Ended::TimedOut { killed: true } => f.write_str("ran out of time and was ended by KILL"),
            Ended::Interrupted { signal } => write!(f, "was taken down because kctl got signal {signal}"),
            Ended::NotStarted(why) => why.fmt(f),
        }
    }
}
