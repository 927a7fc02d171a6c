//! Commands of the profile as the runner takes them.

use crate::domain::profile::Run;
use crate::ports::runner::Program;

pub fn of(run: &Run) -> Program {
    match run {
        Run::Shell(text) => Program::Shell(text.clone()),
        Run::Argv(words) => Program::Argv(words.clone()),
    }
}

/// The words of a command as a record keeps them.
pub fn argv(run: &Run) -> Vec<String> {
    match run {
        Run::Shell(text) => ["bash", "--noprofile", "--norc", "-o", "pipefail", "-c", text].map(str::to_owned).to_vec(),
        Run::Argv(words) => words.clone(),
    }
}

/// The longest tail that a record keeps, in bytes.
pub const MAX_TAIL_BYTES: usize = 4_000;

/// The last `lines` lines that are not blank, within [`MAX_TAIL_BYTES`].
pub fn tail(text: &str, lines: usize) -> String {
    let mut kept: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(lines).collect();
    kept.reverse();
    let joined = kept.join("\n");
    let mut start = joined.len().saturating_sub(MAX_TAIL_BYTES);
    while !joined.is_char_boundary(start) {
        start += 1;
    }
    joined[start..].to_owned()
}
