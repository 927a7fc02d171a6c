//! The text of a new profile: commented, stable, and saying of every check what it was made from.

use std::fmt::Write as _;

use super::checks::{Proposal, Proposals};
use crate::domain::profile::{Check, CheckKind, Run};

const HEAD: &str = "\
# What this repository declares to kctl. Review it like code: the accepted base's copy judges a change.
# `kctl init` proposed the checks below from what it found; correct them, then commit this file.
# Every key and its default: `kctl help profile`.

version = 1
";

const NO_CHECKS: &str = "
# Nothing was found to propose a check from. Without one, nothing can be verified and nothing published.
[checks]
# [checks.test]
# run = \"make test\"          # a string runs under bash with pipefail; a list runs directly
# kind = \"test\"              # test | build | lint | typecheck | command
# timeout = \"10m\"
# inputs = [\"src/**\"]        # what the verdict speaks for; the whole tree if left out
";

const TAIL: &str = "
# [publish]
# remote = \"origin\"
# base = \"main\"              # the remote's HEAD if left out
# protected = [\"main\", \"master\", \"release/*\"]
# gate = \"workspaces\"        # which pushes the pre-push gate judges: workspaces | all
";

/// Renders the profile that `kctl init` writes.
pub fn profile_text(proposals: &Proposals) -> String {
    let mut text = HEAD.to_owned();
    for proposal in &proposals.checks {
        push_check(&mut text, proposal);
    }
    if proposals.checks.is_empty() {
        text.push_str(NO_CHECKS);
    }
    if !proposals.setup.is_empty() {
        text.push_str("\n[workspace]\n# Run in order in a new worktree.\nsetup = [\n");
        for (run, because) in &proposals.setup {
            let _ = writeln!(text, "    {}, # {}", written(run), comment(because));
        }
        text.push_str("]\n");
    }
    text.push_str(TAIL);
    text
}

fn push_check(text: &mut String, proposal: &Proposal) {
    let Proposal { name, definition, because } = proposal;
    let usual = Check::new(definition.run.clone());
    let _ = writeln!(text, "\n# Because of {}.\n[checks.{name}]\nrun = {}", comment(because), written(&definition.run));
    if definition.kind != usual.kind {
        let _ = writeln!(text, "kind = \"{}\"", kind(definition.kind));
    }
    if definition.timeout != usual.timeout {
        let _ = writeln!(text, "timeout = \"{}\"", definition.timeout);
    }
}

fn kind(kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::Test => "test",
        CheckKind::Build => "build",
        CheckKind::Lint => "lint",
        CheckKind::Typecheck => "typecheck",
        CheckKind::Command => "command",
    }
}

fn written(run: &Run) -> String {
    match run {
        Run::Shell(text) => toml::Value::String(text.clone()).to_string(),
        Run::Argv(words) => toml::Value::from(words.clone()).to_string(),
    }
}

/// A file's name may hold anything; a comment may not hold a line end or a control character.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::stamp::Length;
    use crate::rules::adoption::checks::{TreeFacts, propose};
    use crate::rules::profile::read;

    #[test]
    fn what_init_writes_is_what_was_proposed() {
        let mut proposals = Proposals::default();
        let odd =
            Check { timeout: Length::minutes(20), ..Check::new(Run::Shell("make \"a\\b\" && echo 'ü\n'".into())) };
        let argv = Check { kind: CheckKind::Lint, ..Check::new(Run::Argv(vec!["a b".into(), "\"".into()])) };
        for (name, definition) in [("odd", odd), ("argv", argv)] {
            let name = name.parse().expect("a name");
            proposals.checks.push(Proposal { name, definition, because: "`a\nb\u{7}`".into() });
        }
        proposals.setup.push((Run::Shell("npm ci".into()), "it # needs\nit".into()));
        let profile = read(profile_text(&proposals).as_bytes()).expect("what init writes is legal");
        for Proposal { name, definition, .. } in &proposals.checks {
            assert_eq!(profile.checks.get(name), Some(definition));
        }
        assert_eq!(profile.workspace.setup, [Run::Shell("npm ci".into())]);
    }

    #[test]
    fn nothing_found_is_an_empty_table_with_an_example_that_is_legal() {
        let text = profile_text(&propose(&TreeFacts::default()));
        assert!(read(text.as_bytes()).expect("legal").checks.is_empty());
        let uncommented: String = text
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if rest.starts_with('[') || rest.contains(" = ") => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        assert_eq!(read(uncommented.as_bytes()).expect("the example is legal").checks.len(), 1);
    }
}
