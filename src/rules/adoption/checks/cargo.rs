//! Rust: tests always, lint and format where the repository shows that it uses them.

use super::{Found, TreeFacts, joined, shell};
use crate::domain::profile::{Check, CheckKind};
use crate::domain::stamp::Length;

/// A cold build of a large workspace takes its time.
const TEST_TIMEOUT: Length = Length::minutes(30);

pub fn look(facts: &TreeFacts, found: &mut Found) {
    for dir in facts.projects("Cargo.toml") {
        let manifest = joined(&dir, "Cargo.toml");
        let Some(table) = facts.toml(&manifest) else {
            found.notices.push(format!("`{manifest}` could not be read as TOML; no check is proposed from it"));
            continue;
        };
        let workspace = table.contains_key("workspace");
        let locked = facts.has(&joined(&dir, "Cargo.lock"));
        let flags = format!("{}{}", if workspace { " --workspace" } else { "" }, if locked { " --locked" } else { "" });
        test(facts, found, &dir, &flags);
        lint(facts, found, &dir, &flags, &table);
        format(facts, found, &dir);
    }
}

fn test(facts: &TreeFacts, found: &mut Found, dir: &str, flags: &str) {
    let nextest = facts.has(&joined(dir, ".config/nextest.toml"));
    let program = if nextest { "cargo nextest run" } else { "cargo test" };
    let check = Check { kind: CheckKind::Test, timeout: TEST_TIMEOUT, ..shell(format!("{program}{flags}")) };
    let because = match nextest {
        true => format!("`{}` and `.config/nextest.toml`", joined(dir, "Cargo.toml")),
        false => format!("`{}`", joined(dir, "Cargo.toml")),
    };
    found.add("rust", dir, "test", check, because);
}

fn lint(facts: &TreeFacts, found: &mut Found, dir: &str, flags: &str, manifest: &toml::Table) {
    let lints = |table: &toml::Table| {
        table.get("lints").and_then(toml::Value::as_table).is_some_and(|lints| lints.contains_key("clippy"))
    };
    let workspace = manifest.get("workspace").and_then(toml::Value::as_table);
    let config = facts.first_of(dir, &["clippy.toml", ".clippy.toml"]);
    let (run, because) = match (facts.in_workflow("cargo clippy"), config) {
        (Some((path, line)), _) if dir.is_empty() => (line, format!("`{path}` runs it")),
        (_, Some(config)) => (format!("cargo clippy{flags} --all-targets"), format!("`{}`", joined(dir, config))),
        (_, None) if lints(manifest) || workspace.is_some_and(lints) => {
            (format!("cargo clippy{flags} --all-targets"), format!("clippy lints in `{}`", joined(dir, "Cargo.toml")))
        }
        (_, None) => return,
    };
    let check = Check { kind: CheckKind::Lint, timeout: TEST_TIMEOUT, ..shell(run) };
    found.add("rust", dir, "lint", check, because);
}

fn format(facts: &TreeFacts, found: &mut Found, dir: &str) {
    let config = facts.first_of(dir, &["rustfmt.toml", ".rustfmt.toml"]);
    let because = match (facts.in_workflow("cargo fmt"), config) {
        (Some((path, _)), _) if dir.is_empty() => format!("`{path}` runs it"),
        (_, Some(config)) => format!("`{}`", joined(dir, config)),
        (_, None) => return,
    };
    let check = Check { kind: CheckKind::Lint, ..shell("cargo fmt --all --check") };
    found.add("rust", dir, "format", check, because);
}
