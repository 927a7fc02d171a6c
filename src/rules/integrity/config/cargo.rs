//! `Cargo.toml`, `.cargo/config.toml`, `nextest.toml`.

use super::flat::{Difference, toml};
use super::{File, Severity, Verdict, base};
use crate::rules::integrity::model::Finding;

const LEVELS: [&str; 4] = ["allow", "warn", "deny", "forbid"];

pub(super) fn is_config(path: &str) -> bool {
    let name = base(path);
    name == "Cargo.toml"
        || name == "nextest.toml"
        || path.ends_with(".cargo/config.toml")
        || path.ends_with(".cargo/config")
        || matches!(name, "clippy.toml" | ".clippy.toml")
}

pub(super) fn findings(file: &File<'_>, out: &mut Vec<Finding>) {
    match base(file.path) {
        "Cargo.toml" if file.old.is_some() && file.new.is_some() => file.judge(out, toml, manifest),
        "Cargo.toml" => {}
        "nextest.toml" => file.judge(out, toml, nextest),
        "config.toml" | "config" => file.judge(out, toml, settings),
        _ => file.judge(out, toml, |_| Some(Severity::Note)),
    }
}

fn manifest(found: &Difference) -> Verdict {
    let parts: Vec<&str> = found.key.split('.').collect();
    match parts.as_slice() {
        ["(unreadable)"] => Some(Severity::Note),
        ["lib" | "bin" | "test" | "example", .., "test" | "harness" | "doctest"] => {
            Some(if found.is_new("false") { Severity::Hold } else { Severity::Note })
        }
        ["test", .., "required-features"] => {
            Some(if found.added().is_empty() { Severity::Note } else { Severity::Hold })
        }
        ["test", .., "path"] if found.old.is_some() && found.new.is_some() => Some(Severity::Hold),
        ["test", .., "name" | "path"] if found.new.is_none() => Some(Severity::Hold),
        ["package", "autotests"] => Some(if found.is_new("false") { Severity::Hold } else { Severity::Note }),
        ["package", "autobins" | "autoexamples"] => Some(Severity::Note),
        ["workspace", "members"] => removal(found),
        ["workspace", "exclude"] => addition(found),
        ["workspace", "default-members"] => {
            Some(if found.old.is_some() && found.removed().is_empty() { Severity::Note } else { Severity::Hold })
        }
        ["lints", ..] | ["workspace", "lints", ..] => lint(found),
        ["profile", "test" | "dev", .., "debug-assertions" | "overflow-checks"] => {
            Some(if found.is_new("false") { Severity::Hold } else { Severity::Note })
        }
        ["profile", "test" | "dev", .., "panic"] => Some(Severity::Hold),
        ["features", "default"] if !found.removed().is_empty() => Some(Severity::Note),
        // What the tests lean on is taken from the tree instead.
        ["patch" | "replace", .., "path"] | ["dev-dependencies", _, "path"] if found.new.is_some() => {
            let known = found.old.is_some() && found.key.starts_with("patch");
            Some(if known { Severity::Note } else { Severity::Hold })
        }
        ["patch" | "replace", ..] => Some(Severity::Note),
        ["package", "build"] => Some(Severity::Note),
        _ => None,
    }
}

/// A list from which something that is tested may be taken.
fn removal(found: &Difference) -> Verdict {
    Some(if found.removed().is_empty() || found.is().iter().any(|value| value.contains('*')) {
        Severity::Note
    } else {
        Severity::Hold
    })
}

/// A list of what is left out.
fn addition(found: &Difference) -> Verdict {
    Some(if found.added().is_empty() { Severity::Note } else { Severity::Hold })
}

fn lint(found: &Difference) -> Verdict {
    if matches!(found.last(), "priority" | "check-cfg" | "workspace") {
        return Some(Severity::Note);
    }
    let level = |values: &[String]| values.first().and_then(|value| LEVELS.iter().position(|level| level == value));
    match (level(found.was()), level(found.is())) {
        (Some(old), Some(new)) if new < old => Some(Severity::Hold),
        (Some(old), None) if old > 0 => Some(Severity::Hold),
        (None, Some(0)) => Some(Severity::Note),
        _ => None,
    }
}

fn settings(found: &Difference) -> Verdict {
    let first = found.key.split('.').next().unwrap_or("");
    match first {
        "net" | "registries" | "registry" | "source" | "http" | "term" | "install" => None,
        "profile" | "alias"
            if found.old.is_none() && !found.key.starts_with("alias.test") && !found.key.starts_with("alias.t") =>
        {
            Some(Severity::Note)
        }
        _ if found.last() == "jobs" || found.last() == "incremental" => None,
        _ => Some(Severity::Hold),
    }
}

fn nextest(found: &Difference) -> Verdict {
    match found.last() {
        "slow-timeout"
        | "status-level"
        | "failure-output"
        | "success-output"
        | "final-status-level"
        | "test-threads"
        | "period"
        | "terminate-after"
        | "path"
        | "report-name"
        | "store-success-output"
        | "store-failure-output"
        | "fail-fast" => Some(Severity::Note),
        _ => Some(Severity::Hold),
    }
}
