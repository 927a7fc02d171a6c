//! What a tool says its version is, for the record beside a verdict.

use std::path::Path;

use super::supervisor::Supervisor;
use crate::domain::stamp::Length;
use crate::ports::runner::{Ended, Invocation, MIN_OUTPUT_BYTES, NoVersion, Program, Runner as _, Sandbox};

const TIMEOUT: Length = Length::seconds(10);
const GRACE: Length = Length::seconds(1);
const MAX_VERSION_CHARS: usize = 200;

pub fn of(supervisor: &Supervisor, program: &str, cwd: &Path, sandbox: Option<&Sandbox>) -> Result<String, NoVersion> {
    let argv = vec![program.to_owned(), word_for(program).to_owned()];
    let invocation = Invocation {
        grace: GRACE,
        max_output_bytes: MIN_OUTPUT_BYTES,
        sandbox: sandbox.cloned(),
        ..Invocation::new(Program::Argv(argv), cwd, TIMEOUT)
    };
    let outcome = supervisor.run(&invocation, &mut |_| ());
    let unsaid = |why: String| NoVersion::Unsaid { program: program.to_owned(), why };
    match outcome.ended {
        Ended::Exited { code: 0 } => {
            let line = outcome.output.text.lines().map(str::trim).find(|line| !line.is_empty());
            let shown = line.map(|line| line.chars().take(MAX_VERSION_CHARS).collect());
            shown.ok_or_else(|| unsaid("it prints nothing".to_owned()))
        }
        Ended::NotStarted(why) => Err(why.into()),
        ended @ (Ended::Exited { .. }
        | Ended::Signalled { .. }
        | Ended::TimedOut { .. }
        | Ended::Interrupted { .. }) => Err(unsaid(format!("it {ended}"))),
    }
}

/// How to ask. Nearly every tool has agreed on one word.
fn word_for(program: &str) -> &'static str {
    match program.rsplit('/').next().unwrap_or(program) {
        "go" | "zig" | "terraform" | "helm" => "version",
        "java" | "javac" => "-version",
        "ssh" => "-V",
        _ => "--version",
    }
}
