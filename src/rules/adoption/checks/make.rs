//! make and just: their `test`, `check` and `lint` targets, where nothing else has proposed the same.

use super::{Found, TreeFacts, shell};
use crate::domain::profile::{Check, CheckKind};

const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
const JUSTFILES: &[&str] = &["justfile", "Justfile", ".justfile"];

const TARGETS: &[(&str, CheckKind)] =
    &[("test", CheckKind::Test), ("check", CheckKind::Command), ("lint", CheckKind::Lint)];

pub fn look(facts: &TreeFacts, found: &mut Found) {
    let sources = [("make", facts.first_of("", MAKEFILES)), ("just", facts.first_of("", JUSTFILES))];
    for (program, file) in sources {
        let Some(file) = file else { continue };
        let text = facts.content(file).unwrap_or_default();
        for (target, kind) in TARGETS {
            // A language's own runner tells more than a wrapper around it, and `check` is mostly `test` by another name.
            let taken = found.has(target) || *target == "check" && found.has("test");
            if !taken && defines(text, target) {
                let check = Check { kind: *kind, ..shell(format!("{program} {target}")) };
                found.add(program, "", target, check, format!("target `{target}` in `{file}`"));
            }
        }
    }
}

/// Whether a line starts a rule (make) or a recipe without parameters that must be given (just) of this name.
fn defines(text: &str, target: &str) -> bool {
    text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '.'])).any(|line| {
        let Some((heads, rest)) = line.trim_start_matches('@').split_once(':') else { return false };
        !rest.starts_with('=')
            && !rest.starts_with(":=")
            && heads.split_whitespace().any(|head| head == target)
            && !heads.contains('=')
    })
}
