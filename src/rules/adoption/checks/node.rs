//! JavaScript and TypeScript: the scripts that `package.json` declares.

use serde_json::{Map, Value};

use super::{Found, TreeFacts, joined, shell};
use crate::domain::profile::{Check, CheckKind};

/// Which script becomes which check; the first name that is declared wins.
const SCRIPTS: &[(&str, CheckKind, &[&str])] = &[
    ("test", CheckKind::Test, &["test"]),
    ("lint", CheckKind::Lint, &["lint"]),
    ("typecheck", CheckKind::Typecheck, &["typecheck", "type-check", "check-types", "check:types", "tsc"]),
    ("build", CheckKind::Build, &["build"]),
];

const LOCKFILES: &[(&str, Manager)] = &[
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("yarn.lock", Manager::Yarn),
    ("bun.lock", Manager::Bun),
    ("bun.lockb", Manager::Bun),
    ("package-lock.json", Manager::Npm),
    ("npm-shrinkwrap.json", Manager::Npm),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

impl Manager {
    fn name(self) -> &'static str {
        match self {
            Manager::Npm => "npm",
            Manager::Pnpm => "pnpm",
            Manager::Yarn => "yarn",
            Manager::Bun => "bun",
        }
    }

    /// Installs exactly what the lockfile says.
    fn install(self) -> &'static str {
        match self {
            Manager::Npm => "npm ci",
            Manager::Pnpm => "pnpm install --frozen-lockfile",
            Manager::Yarn => "yarn install --immutable",
            Manager::Bun => "bun install --frozen-lockfile",
        }
    }
}

pub fn look(facts: &TreeFacts, found: &mut Found) {
    for dir in facts.projects("package.json") {
        let manifest = joined(&dir, "package.json");
        let package = facts.content(&manifest).map(serde_json::from_str::<Value>);
        let Some(Ok(Value::Object(package))) = package else {
            found
                .notices
                .push(format!("`{manifest}` could not be read as a JSON object; no check is proposed from it"));
            continue;
        };
        let (manager, why) = manager(facts, &dir, &package, found);
        set_up(facts, found, &dir, &package, manager);
        let scripts = package.get("scripts").and_then(Value::as_object);
        for (name, kind, spellings) in SCRIPTS {
            let script = spellings.iter().find_map(|key| Some((*key, scripts?.get(*key)?.as_str()?)));
            if let Some((key, text)) = script {
                propose(
                    found,
                    &dir,
                    name,
                    *kind,
                    (manager, key, text),
                    &format!("script `{key}` in `{manifest}`{why}"),
                );
            }
        }
    }
}

fn propose(
    found: &mut Found,
    dir: &str,
    name: &'static str,
    kind: CheckKind,
    (manager, key, text): (Manager, &str, &str),
    because: &str,
) {
    // What `npm init` writes where there are no tests.
    if text.contains("no test specified") {
        return;
    }
    if let Some(why) = crate::rules::profile::vacuous::why(&crate::domain::profile::Run::Shell(text.to_owned())) {
        found.notices.push(format!("not proposed: `{name}` ({because}) cannot fail: {why}"));
        return;
    }
    if text.split_whitespace().any(|word| matches!(word, "--watch" | "--watchAll" | "-w" | "watch")) {
        found.notices.push(format!("not proposed: `{name}` ({because}) watches and would never end"));
        return;
    }
    let run = match (manager, key) {
        (Manager::Npm, "test") => "npm test".to_owned(),
        // `bun test` is bun's own runner, and plain `yarn build` may be a program: `run` names the script.
        (manager, key) => format!("{} run {key}", manager.name()),
    };
    found.add("node", dir, name, Check { kind, ..shell(run) }, because.to_owned());
}

fn set_up(facts: &TreeFacts, found: &mut Found, dir: &str, package: &Map<String, Value>, manager: Manager) {
    let depends = ["dependencies", "devDependencies", "workspaces"].iter().any(|key| package.contains_key(*key));
    let lockfile = LOCKFILES.iter().find(|(file, owner)| *owner == manager && facts.has(&joined(dir, file)));
    if let (true, Some((file, _))) = (depends, lockfile) {
        found.set_up(dir, manager.install(), format!("`{}`: a new worktree has no node_modules", joined(dir, file)));
    }
}

/// The package manager: what `packageManager` names, else the lockfile's, else npm. With words for the reason.
fn manager(facts: &TreeFacts, dir: &str, package: &Map<String, Value>, found: &mut Found) -> (Manager, String) {
    let named = package.get("packageManager").and_then(Value::as_str).and_then(|text| {
        let name = text.split('@').next()?;
        [Manager::Npm, Manager::Pnpm, Manager::Yarn, Manager::Bun].into_iter().find(|manager| manager.name() == name)
    });
    if let Some(manager) = named {
        return (manager, ", run by its `packageManager`".to_owned());
    }
    let locks: Vec<_> = LOCKFILES.iter().filter(|(file, _)| facts.has(&joined(dir, file))).collect();
    let Some((file, manager)) = locks.first() else { return (Manager::Npm, String::new()) };
    if locks.iter().any(|(_, other)| other != manager) {
        let files: Vec<&str> = locks.iter().map(|(file, _)| *file).collect();
        found.notices.push(format!("several lockfiles ({}): {} was taken", files.join(", "), manager.name()));
    }
    (*manager, format!(" and `{file}`"))
}
