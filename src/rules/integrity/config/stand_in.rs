//! Files by the name of a program or module that runs tests: they are run in its place.

use super::super::model::{Change, Checks, Finding, Kind, Severity};
use super::super::standard::PYTHON;
use super::base;

/// Runners, and what runs them. A directory of the tree may come first on PATH, and does on Python's module path.
const RUNNERS: &[&str] = &[
    "pytest",
    "py.test",
    "_pytest",
    "pluggy",
    "iniconfig",
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
    "cargo-test",
    "go",
    "gotestsum",
    "node",
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "bun",
    "deno",
    "python",
    "python3",
    "java",
    "javac",
    "mvn",
    "gradle",
    "make",
    "bash",
    "grep",
    "timeout",
    "env",
];
/// Modules that Python loads when it starts.
const AT_START: [&str; 2] = ["sitecustomize", "usercustomize"];

/// A new file that a check would run, or load, instead of the tool of its name.
pub(super) fn find(change: &Change<'_>, checks: &Checks) -> Option<Finding> {
    let path = change.new_path.as_deref().filter(|_| change.old.is_none() && change.old_path.is_none())?;
    if checks.targets.iter().any(|target| target == path) {
        return Some(held(path, format!("`make` takes the new file for `{path}`, which is up to date then")));
    }
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop()?;
    let package = parts.last().copied().filter(|_| name == "__init__.py");
    let module = package.filter(|_| parts.len() == 1);
    let stem = name.strip_suffix(".py");
    if let Some(taken) = stem.or(package).filter(|taken| AT_START.contains(taken)) {
        return Some(held(path, format!("Python loads `{taken}` before anything else")));
    }
    let at_top = module.or(stem.filter(|_| parts.is_empty()));
    let program = Some(base(path)).filter(|name| !name.contains('.') || *name == "py.test");
    // A runner among the installed packages, where those are kept in the tree.
    let installed = parts.iter().position(|part| matches!(*part, "node_modules" | "site-packages"));
    let installed = installed.and_then(|at| path.split('/').nth(at + 1)).filter(|name| RUNNERS.contains(name));
    let known = |name: &&str| RUNNERS.contains(name);
    let run = |name: &&str| checks.programs.iter().any(|program| program == *name);
    let taken = at_top
        .filter(|name| known(name) || PYTHON.contains(name))
        .or(program.filter(|name| known(name) || run(name) && !matches!(*name, "test" | "check")))
        .or(installed)?;
    Some(held(path, format!("a new file can be run in place of `{taken}`")))
}

fn held(path: &str, message: String) -> Finding {
    Finding {
        severity: Severity::Hold,
        kind: Kind::TestConfigChanged,
        path: path.to_owned(),
        line: None,
        test: None,
        before: None,
        after: None,
        message,
    }
}
