//! Files by the name of a program or module that runs tests: they are run in its place.

use super::super::model::{Change, Finding, Kind, Severity};
use super::base;

/// Runners, and what runs them. A directory of the tree may come first on PATH, and does on Python's module path.
const RUNNERS: [&str; 26] = [
    "pytest",
    "py.test",
    "unittest",
    "nose",
    "nose2",
    "tox",
    "nox",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tap",
    "playwright",
    "cypress",
    "cargo",
    "rustc",
    "cargo-nextest",
    "go",
    "gotestsum",
    "node",
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "python",
    "python3",
];

/// A new file that a check would run instead of the tool of its name.
pub(super) fn find(change: &Change<'_>) -> Option<Finding> {
    let path = change.new_path.as_deref().filter(|_| change.old.is_none())?;
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop()?;
    let module = parts.last().filter(|_| name == "__init__.py" && parts.len() == 1);
    let stem = name.strip_suffix(".py").filter(|_| parts.is_empty());
    let program = Some(base(path)).filter(|name| !name.contains('.') || *name == "py.test");
    let taken = module.copied().or(stem).or(program)?;
    RUNNERS.contains(&taken).then(|| Finding {
        severity: Severity::Hold,
        kind: Kind::TestConfigChanged,
        path: path.to_owned(),
        line: None,
        test: None,
        before: None,
        after: None,
        message: format!("a new file can be run in place of `{taken}`"),
    })
}
