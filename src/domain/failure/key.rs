//! Which check a command is: program, subcommand and targets.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Targets one key holds; a command with more is cut after sorting.
pub const MAX_TARGETS: usize = 64;

/// Programs whose plain words are all paths.
const TAKE_PATHS: &[&str] =
    &["go", "pytest", "jest", "vitest", "mocha", "rspec", "phpunit", "eslint", "ruff", "mypy", "flake8", "pylint"];

/// Program, subcommand and targets, without wrappers, presentation and pipes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    pub program: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subcommand: Option<String>,
    pub targets: BTreeSet<String>,
    /// Further commands of the same line, each in its short form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<String>,
}

impl Key {
    /// Says whether a run of `self` runs at least what `other` runs.
    pub fn covers(&self, other: &Self) -> bool {
        let same = self.program == other.program
            && self.subcommand == other.subcommand
            && self.dir == other.dir
            && self.then == other.then;
        same && (self.targets == other.targets || self.targets.is_empty() || self.holds_paths_of(other))
    }

    /// A directory holds its files, a file its tests. Flags narrow in ways of their own, so with them nothing is said.
    fn holds_paths_of(&self, other: &Self) -> bool {
        let by_path = TAKE_PATHS.contains(&self.program.as_str());
        let is_path = |target: &String| !target.starts_with('-') && (by_path || target.contains(['/', '.']));
        let plain = |key: &Self| key.targets.iter().all(is_path);
        let within = |target: &String| self.targets.iter().any(|ours| holds(ours, target));
        plain(self) && plain(other) && !other.targets.is_empty() && other.targets.iter().all(within)
    }
}

fn holds(ours: &str, theirs: &str) -> bool {
    // Go's `./...` is written `...` here.
    let tree = ours.strip_suffix("...").map(|dir| dir.trim_end_matches('/'));
    match tree {
        Some("") => true,
        Some(dir) => holds(dir, theirs),
        None => {
            let rest = theirs.strip_prefix(ours);
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('/') || rest.starts_with("::") || rest.starts_with('[')
            })
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        for word in self.subcommand.iter().chain(&self.targets) {
            write!(f, " {word}")?;
        }
        for more in &self.then {
            write!(f, " && {more}")?;
        }
        self.dir.iter().try_for_each(|dir| write!(f, " (in {dir})"))
    }
}
