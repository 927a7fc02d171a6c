//! Checks proposed from what lies in the tree. Every proposal says what it was made from; a person reads them before
//! they count.

mod cargo;
mod facts;
mod go;
mod make;
mod node;
mod python;
mod unittest;

use std::collections::BTreeMap;

pub use facts::{MAX_CONTENT_BYTES, TreeFacts, wanted};

use crate::domain::profile::{Check, CheckName, Run};
use crate::rules::profile::vacuous;

/// How many projects below the top are looked at, where the top has none of their kind.
pub const MAX_PROJECTS: usize = 8;

/// A check that a person may keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub name: CheckName,
    pub definition: Check,
    /// What it was made from.
    pub because: String,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proposals {
    pub checks: Vec<Proposal>,
    /// Commands that prepare a new worktree, with what they were made from.
    pub setup: Vec<(Run, String)>,
    /// What was seen and not proposed, and why.
    pub notices: Vec<String>,
}

/// Proposes checks and preparation from `facts`. The same facts give the same proposals in the same order.
pub fn propose(facts: &TreeFacts) -> Proposals {
    let mut found = Found::default();
    cargo::look(facts, &mut found);
    node::look(facts, &mut found);
    python::look(facts, &mut found);
    go::look(facts, &mut found);
    make::look(facts, &mut found);
    found.finish()
}

/// A check as one kind of project proposes it, before its name is made unique.
struct Raw {
    kind: &'static str,
    dir: String,
    name: &'static str,
    definition: Check,
    because: String,
}

#[derive(Default)]
struct Found {
    raw: Vec<Raw>,
    setup: Vec<(Run, String)>,
    notices: Vec<String>,
}

impl Found {
    /// Adds a check of the project in `dir` (empty: the top), unless its command could not fail.
    fn add(&mut self, kind: &'static str, dir: &str, name: &'static str, definition: Check, because: String) {
        if let Some(why) = vacuous::why(&definition.run) {
            self.notices.push(format!("not proposed: `{name}` ({because}) cannot fail: {why}"));
            return;
        }
        let definition = Check { run: inside(dir, definition.run), ..definition };
        self.raw.push(Raw { kind, dir: dir.to_owned(), name, definition, because });
    }

    fn set_up(&mut self, dir: &str, run: &str, because: String) {
        self.setup.push((inside(dir, Run::Shell(run.to_owned())), because));
    }

    fn has(&self, name: &str) -> bool {
        self.raw.iter().any(|raw| raw.name == name)
    }

    fn finish(self) -> Proposals {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for raw in &self.raw {
            *counts.entry(raw.name).or_default() += 1;
        }
        let mut checks: Vec<Proposal> = Vec::new();
        for raw in &self.raw {
            let mut name = raw.name.to_owned();
            if counts[raw.name] > 1 || !raw.dir.is_empty() {
                let place = if raw.dir.is_empty() { raw.kind } else { &raw.dir };
                name = spelled(&format!("{place}-{name}"));
            }
            if checks.iter().any(|check| check.name.as_str() == name) {
                name = spelled(&format!("{}-{name}", raw.kind));
            }
            match name.parse::<CheckName>() {
                Ok(name) if !checks.iter().any(|check| check.name == name) => {
                    let (definition, because) = (raw.definition.clone(), raw.because.clone());
                    checks.push(Proposal { name, definition, because });
                }
                _ => {}
            }
        }
        Proposals { checks, setup: self.setup, notices: self.notices }
    }
}

/// Makes a check's name out of a directory's.
fn spelled(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = text.chars().map(plain).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_lowercase());
    name.chars().take(64).collect()
}

fn inside(dir: &str, run: Run) -> Run {
    match run {
        Run::Shell(text) if !dir.is_empty() => Run::Shell(format!("cd {} && {text}", quoted(dir))),
        run => run,
    }
}

fn quoted(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-');
    match !text.starts_with('-') && text.bytes().all(plain) {
        true => text.to_owned(),
        false => format!("'./{}'", text.replace('\'', r"'\''")),
    }
}

fn shell(text: impl Into<String>) -> Check {
    Check::new(Run::Shell(text.into()))
}

/// `dir/file`, or `file` where `dir` is the top.
fn joined(dir: &str, file: &str) -> String {
    if dir.is_empty() { file.to_owned() } else { format!("{dir}/{file}") }
}

#[cfg(test)]
#[path = "../checks_tests.rs"]
mod tests;
