//! Which check a command is, however it was spelled.

mod flags;
pub(in crate::rules) mod shell;
mod words;

use crate::domain::failure::{Key, MAX_TARGETS};

/// Reads a command line as the check that it is: `cd X && timeout 60 python -m pytest -q t 2>&1 | tail` is `pytest t` in
/// `X`.
pub fn lineage(command: &str) -> Key {
    let mut key = Key::default();
    let mut dir = None;
    for words in shell::commands(command) {
        let step = flags::step(words);
        if let Some(to) = step.dir {
            dir = Some(to);
        }
        if step.program.is_empty() {
            continue;
        }
        if key.program.is_empty() {
            key.program = step.program;
            key.subcommand = step.subcommand;
            key.targets = step.targets.into_iter().take(MAX_TARGETS).collect();
        } else {
            let other =
                Key { program: step.program, subcommand: step.subcommand, targets: step.targets, ..Key::default() };
            key.then.push(other.to_string());
        }
    }
    if key.program.is_empty() {
        key.program = command.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    key.dir = dir;
    key
}
