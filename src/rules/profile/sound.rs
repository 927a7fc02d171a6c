//! What a profile of the right shape may still not say.

use std::collections::{BTreeMap, HashSet};

use super::fault::ProfileFault;
use super::lines::{Lines, dotted};
use super::vacuous;
use crate::domain::profile::{
    Check, CheckKind, CheckName, IsolationWish, Profile, PublishRules, Run, SandboxRules, WorkspaceRules, matcher,
};
use crate::domain::stamp::Length;

pub const MAX_CHECKS: usize = 200;
pub const MAX_ITEMS: usize = 500;
pub const MAX_TEXT_BYTES: usize = 16 * 1024;
pub const MAX_GLOB_BYTES: usize = 1024;
pub const MAX_TIMEOUT: Length = Length::hours(24);
pub const MAX_LEASE: Length = Length::hours(30 * 24);
pub const MAX_PARALLEL: u32 = 64;
pub const MAX_MIN_TESTS: u32 = 1_000_000;

/// Variables that say which repository git works on. Let through, they would point a check at another tree.
const FIXED_ENV: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
];

const LEGAL_GLOB: &str = "write a glob from the top of the tree with `/` between the parts, such as `src/**`";

/// Lists everything in `profile` that cannot be accepted.
pub fn faults(profile: &Profile, lines: &Lines<'_>) -> Vec<ProfileFault> {
    let mut critic = Critic { lines, faults: Vec::new() };
    critic.checks(&profile.checks);
    critic.workspace(&profile.workspace);
    critic.publish(&profile.publish);
    critic.at_most(&["tasks", "lease"], profile.tasks.lease, MAX_LEASE);
    critic.between(&["limits", "parallel"], profile.limits.parallel, MAX_PARALLEL);
    critic.sandbox(&profile.sandbox);
    critic.faults
}

struct Critic<'a, 't> {
    lines: &'a Lines<'t>,
    faults: Vec<ProfileFault>,
}

impl Critic<'_, '_> {
    fn refuse(&mut self, path: &[&str], problem: impl Into<String>, legal: impl Into<String>) {
        let (key, line) = (dotted(path), self.lines.of(path));
        self.faults.push(ProfileFault::Value { key, line, problem: problem.into(), legal: legal.into() });
    }

    fn checks(&mut self, checks: &BTreeMap<CheckName, Check>) {
        if checks.len() > MAX_CHECKS {
            self.refuse(&["checks"], format!("has {} checks", checks.len()), format!("declare at most {MAX_CHECKS}"));
            return;
        }
        for (name, check) in checks {
            self.check(name.as_str(), check);
            for need in &check.needs {
                if !checks.contains_key(need) {
                    let path = ["checks", name.as_str(), "needs"];
                    self.refuse(&path, format!("names `{need}`, which is not declared"), "name a declared check");
                }
            }
        }
        if let Some(round) = cycle(checks) {
            let path = ["checks", round[0].as_str(), "needs"];
            let round: Vec<&str> = round.iter().chain(round.first()).map(CheckName::as_str).collect();
            self.refuse(&path, format!("goes round in a circle: {}", round.join(" → ")), "take one of them out");
        }
    }

    fn check(&mut self, name: &str, check: &Check) {
        let key = |field| ["checks", name, field];
        self.run(&key("run"), &check.run);
        if let Some(why) = vacuous::why(&check.run) {
            self.refuse(&key("run"), format!("cannot fail: {why}"), "write a command whose exit status answers");
        }
        if check.inputs.is_empty() {
            self.refuse(
                &key("inputs"),
                "is empty, so nothing could ever stale the verdict",
                "leave it out or name files",
            );
        }
        self.globs(&key("inputs"), &check.inputs, tree_glob);
        self.at_most(&key("timeout"), check.timeout, MAX_TIMEOUT);
        self.items(&key("env"), check.env.len());
        for variable in check.env.iter().filter(|variable| !may_pass(variable)) {
            let problem = format!("names {variable:?}, which is not let through");
            self.refuse(&key("env"), problem, "name variables other than those that place git or kctl");
        }
        if let Some(report) = check.report.as_ref().filter(|path| !stays_in_tree(path)) {
            let problem = format!("is {report:?}, which leaves the tree");
            self.refuse(&key("report"), problem, "name a file below the top of the work tree, outside `.git`");
        }
        self.between(&key("min_tests"), check.min_tests, MAX_MIN_TESTS);
        if check.min_tests.is_some() && check.kind != CheckKind::Test {
            self.refuse(&key("min_tests"), "is for checks that run tests", "write `kind = \"test\"`, or leave it out");
        }
        if check.network && check.isolation == IsolationWish::None {
            let problem = "says nothing beside `isolation = \"none\"`, which leaves the network open";
            self.refuse(&key("network"), problem, "leave one of them out");
        }
        let distinct: HashSet<_> = check.needs.iter().collect();
        if distinct.len() != check.needs.len() {
            self.refuse(&key("needs"), "names a check twice", "name each once");
        }
    }

    fn run(&mut self, path: &[&str], run: &Run) {
        let (empty, bytes, nul) = match run {
            Run::Shell(text) => (text.trim().is_empty(), text.len(), text.contains('\0')),
            Run::Argv(words) => {
                let empty = words.first().is_none_or(|program| program.trim().is_empty());
                (empty, words.iter().map(String::len).sum(), words.iter().any(|word| word.contains('\0')))
            }
        };
        if empty {
            self.refuse(path, "is empty", "write a command, or a program and its arguments");
        }
        if bytes > MAX_TEXT_BYTES {
            self.refuse(path, format!("has {bytes} bytes"), format!("write at most {MAX_TEXT_BYTES}; call a script"));
        }
        if nul {
            self.refuse(path, "holds a NUL character", "leave it out: no command can be given one");
        }
    }

    fn workspace(&mut self, workspace: &WorkspaceRules) {
        if let Some(dir) = &workspace.dir {
            let problem = match dir.as_str() {
                "" | "." | "./" => Some("is the tree itself"),
                text if text.starts_with('~') => Some("starts with `~`, which is not expanded"),
                text if text.contains('\0') || text.len() > 4096 => Some("is not a path"),
                text if text.split('/').any(|part| part.eq_ignore_ascii_case(".git")) => Some("lies in `.git`"),
                _ => None,
            };
            if let Some(problem) = problem {
                let legal = "write a directory, from the top of the work tree or absolute, such as `../project.work`";
                self.refuse(&["workspace", "dir"], problem, legal);
            }
        }
        self.items(&["workspace", "setup"], workspace.setup.len());
        for run in &workspace.setup {
            self.run(&["workspace", "setup"], run);
        }
        self.items(&["workspace", "copy"], workspace.copy.len());
        for path in workspace.copy.iter().filter(|path| !stays_in_tree(path)) {
            let problem = format!("names {path:?}, which leaves the tree");
            self.refuse(&["workspace", "copy"], problem, "name files below the top of the work tree, outside `.git`");
        }
    }

    fn sandbox(&mut self, sandbox: &SandboxRules) {
        self.items(&["sandbox", "writable"], sandbox.writable.len());
        for path in sandbox.writable.iter().take(MAX_ITEMS) {
            let below = path.trim_start_matches('~').trim_matches('/');
            let is_whole = below.is_empty() || (path.starts_with('~') && !path.starts_with("~/"));
            let in_git = path.split('/').any(|part| part.eq_ignore_ascii_case(".git"));
            if is_whole || in_git || path.contains('\0') || path.len() > MAX_GLOB_BYTES {
                let problem = format!("names {:?}, which cannot be opened", clipped(path));
                let legal = "name a directory: from the top of the work tree, absolute, or from `~/`; not `/`, a home \
                             or `.git`";
                self.refuse(&["sandbox", "writable"], problem, legal);
            }
        }
    }

    fn between(&mut self, path: &[&str], number: Option<u32>, max: u32) {
        if let Some(number) = number.filter(|number| !(1..=max).contains(number)) {
            self.refuse(path, format!("is {number}"), format!("write a number from 1 to {max}"));
        }
    }

    fn publish(&mut self, publish: &PublishRules) {
        if !is_remote(&publish.remote) {
            let problem = format!("is {:?}", publish.remote);
            self.refuse(&["publish", "remote"], problem, "write the name of a git remote, such as `origin`");
        }
        if let Some(base) = publish.base.as_ref().filter(|base| !is_branch(base)) {
            self.refuse(&["publish", "base"], format!("is {base:?}"), "write a branch's name, such as `main`");
        }
        self.globs(&["publish", "protected"], &publish.protected, |glob| !glob.is_empty());
    }

    fn globs(&mut self, path: &[&str], globs: &[String], legal: fn(&str) -> bool) {
        self.items(path, globs.len());
        for glob in globs.iter().take(MAX_ITEMS) {
            if glob.len() > MAX_GLOB_BYTES || !legal(glob) || matcher(glob).is_none() {
                self.refuse(path, format!("holds {:?}, which is no glob here", clipped(glob)), LEGAL_GLOB);
            }
        }
    }

    fn items(&mut self, path: &[&str], count: usize) {
        if count > MAX_ITEMS {
            self.refuse(path, format!("has {count} items"), format!("write at most {MAX_ITEMS}"));
        }
    }

    fn at_most(&mut self, path: &[&str], length: Length, max: Length) {
        if length > max {
            self.refuse(path, format!("is {length}"), format!("write at most {max}"));
        }
    }
}

/// The checks of one circle of `needs`, in its order. None if there is no circle.
fn cycle(checks: &BTreeMap<CheckName, Check>) -> Option<Vec<CheckName>> {
    let mut left: BTreeMap<&CheckName, &Check> = checks.iter().collect();
    // Whatever needs nothing that is left is in no circle; what remains has one.
    loop {
        let free: Vec<&CheckName> = left
            .iter()
            .filter(|(_, check)| !check.needs.iter().any(|need| left.contains_key(need)))
            .map(|(name, _)| *name)
            .collect();
        if free.is_empty() {
            break;
        }
        left.retain(|name, _| !free.contains(name));
    }
    let mut walk = vec![left.keys().next().copied()?.clone()];
    loop {
        let check = left.get(walk.last()?)?;
        let next = check.needs.iter().find(|need| left.contains_key(need))?;
        if let Some(start) = walk.iter().position(|seen| seen == next) {
            return Some(walk.split_off(start));
        }
        walk.push(next.clone());
    }
}

fn tree_glob(glob: &str) -> bool {
    !glob.starts_with(['/', '!']) && !glob.is_empty() && !glob.contains('\0') && no_dots(glob)
}

fn no_dots(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "." | ".."))
}

fn stays_in_tree(path: &str) -> bool {
    let in_git = path.split('/').next().is_some_and(|first| first.eq_ignore_ascii_case(".git"));
    !path.is_empty() && !path.starts_with('/') && !path.contains(['\0', '\\']) && no_dots(path) && !in_git
}

fn may_pass(variable: &str) -> bool {
    let mut bytes = variable.bytes();
    let named = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    named && !FIXED_ENV.contains(&variable) && !variable.starts_with("KCTL_")
}

fn is_remote(name: &str) -> bool {
    is_branch(name) && !name.contains(':')
}

/// What `git check-ref-format --branch` accepts, near enough that the rest is git's to refuse.
fn is_branch(name: &str) -> bool {
    let odd = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let part_ok = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    (1..=255).contains(&name.len())
        && !name.starts_with('-')
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(odd)
        && name.split('/').all(part_ok)
}

fn clipped(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
#[path = "sound_tests.rs"]
mod tests;
