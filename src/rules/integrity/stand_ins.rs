//! A runner's names and classes that are the tree's own now, and modules that choose among their tests.

use std::collections::{BTreeMap, BTreeSet};

use super::bindings::{Class, GLOBALS, is_runner, is_tree_script};
use super::model::{Finding, Kind, Language, Severity, Suite};
use super::paths::{base, language_of};
use super::subject::Pair;

/// Base classes are followed so deep.
const MAX_DEPTH: usize = 6;
/// Stand-ins for objects are no part of the judgement.
const MOCKS: [&str; 5] = ["mock", "patch", "Mock", "MagicMock", "call"];

/// The files of one side of the change, by path.
pub(super) struct Tree<'a> {
    pub files: Vec<(&'a str, &'a Suite)>,
}

/// The name of a module, as it is imported by its last part.
pub(super) fn stem(path: &str) -> String {
    let stem = base(path).split('.').next().unwrap_or("");
    if matches!(stem, "__init__" | "index" | "mod") {
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        return base(dir).to_owned();
    }
    stem.to_owned()
}

impl<'a> Tree<'a> {
    fn named(&self, module: &str) -> impl Iterator<Item = &'a Suite> {
        let parts: BTreeSet<String> = module
            .split(['/', '.'])
            .filter(|part| !part.is_empty() && !matches!(*part, "js" | "ts" | "mjs" | "cjs" | "mts" | "tsx" | "jsx"))
            .map(str::to_owned)
            .collect();
        let last = module
            .rsplit('/')
            .next()
            .unwrap_or(module)
            .split('.')
            .find(|part| !part.is_empty())
            .unwrap_or_default()
            .to_owned();
        let script = module.contains('/');
        let fits = move |path: &str| {
            let stem = stem(path);
            if script { stem == last } else { parts.contains(&stem) }
        };
        let found: Vec<&'a Suite> = self.files.iter().filter(|(path, _)| fits(path)).map(|(_, suite)| *suite).collect();
        found.into_iter()
    }

    /// Whether a module of Python is one of the tree, as far as the change and the path of the test tell.
    fn has_module(&self, path: &str, module: &str) -> bool {
        let first = module.split('.').next().unwrap_or(module);
        module.starts_with('.')
            || path.split('/').rev().skip(1).any(|dir| dir == first)
            || self.files.iter().any(|(path, _)| stem(path) == first || path.split('/').next() == Some(first))
    }

    /// What a class, or one that it comes from, does in the runner's place.
    fn judges(&self, suite: &Suite, class: &Class, depth: usize) -> BTreeSet<String> {
        let mut out = class.judges.clone();
        if depth >= MAX_DEPTH {
            return out;
        }
        for name in &class.bases {
            if let Some(local) = suite.bindings.classes.get(name).filter(|local| *local != class) {
                out.extend(self.judges(suite, local, depth + 1));
                continue;
            }
            let mut parts = name.split('.');
            let (root, last) = (parts.next().unwrap_or(name), name.rsplit('.').next().unwrap_or(name));
            let Some(module) = suite.names.imports.get(root) else { continue };
            let last = if root == last { suite.names.origins.get(root).map_or(last, String::as_str) } else { last };
            for other in self.named(&format!("{module}.{root}")) {
                if let Some(found) = other.bindings.classes.get(last) {
                    out.extend(self.judges(other, found, depth + 1));
                }
            }
        }
        out
    }
}

fn hold(kind: Kind, path: &str, line: Option<u32>, before: &str, after: String, message: &str) -> Finding {
    Finding {
        severity: Severity::Hold,
        kind,
        path: path.to_owned(),
        line,
        test: None,
        before: Some(before.to_owned()).filter(|text| !text.is_empty()),
        after: Some(after),
        message: message.to_owned(),
    }
}

/// A module that chooses which of its tests are run, and did not, or did so in another way.
pub(super) fn loads(path: &str, old: Option<&Suite>, new: &Suite, out: &mut Vec<Finding>) {
    let Some((digest, line)) = new.bindings.loads else { return };
    if old.and_then(|suite| suite.bindings.loads).is_none_or(|(known, _)| known != digest) {
        let message = "the module chooses itself which of its tests are run";
        out.push(hold(Kind::CasesRemoved, path, Some(line), "", "load_tests".to_owned(), message));
    }
}

/// Names that were a runner's and are the tree's own now.
pub(super) fn names(pair: &Pair<'_>, tree: &Tree<'_>, out: &mut Vec<Finding>) {
    const MESSAGE: &str = "a name of the runner or of its assertions stands for something of the tree now";
    let Some(language) = language_of(pair.path) else { return };
    let (old, new) = (pair.old, pair.new);
    let taken: BTreeMap<&str, &str> = old
        .names
        .imports
        .iter()
        .filter(|(name, module)| is_runner(language, module) && !MOCKS.contains(&name.as_str()))
        .map(|(name, module)| (name.as_str(), module.as_str()))
        .collect();
    let mut say = |name: &str, line: Option<u32>, before: &str, after: &str| {
        out.push(hold(Kind::RunnerPatched, pair.path, line, before, format!("`{name}` {after}"), MESSAGE));
    };
    if language == Language::Python {
        for (name, module) in taken {
            if let Some(other) = new.names.imports.get(name) {
                if !is_runner(language, other) && tree.has_module(pair.path, other) {
                    say(name, None, module, &format!("from {other}"));
                }
            } else if new.names.defined.contains(name) && !old.names.defined.contains(name) {
                say(name, None, module, "made here");
            }
        }
        return;
    }
    if !matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx) || old.tests.is_empty() {
        return;
    }
    let passed_on = |module: &str, name: &str| tree.named(module).any(|suite| suite.bindings.derived.contains(name));
    let mut said = BTreeSet::new();
    let bare = |name: &&str| !old.names.imports.contains_key(*name) && !old.bindings.made.contains_key(*name);
    let globals = GLOBALS.iter().copied().filter(bare).map(|name| (name, "the runner"));
    for (name, module) in taken.into_iter().chain(globals) {
        if let Some(other) = new.names.imports.get(name) {
            if is_tree_script(other) && !passed_on(other, name) && said.insert(name) {
                say(name, None, module, &format!("from {other}"));
            }
        } else if let Some(line) = new.bindings.made.get(name).filter(|_| !old.bindings.made.contains_key(name))
            && said.insert(name)
        {
            say(name, Some(*line), module, "made here");
        }
    }
    // The same under another name.
    for root in new.bindings.roots.difference(&old.bindings.roots).filter(|_| !old.bindings.roots.is_empty()) {
        if let Some(other) = new.names.imports.get(root).filter(|other| is_tree_script(other))
            && !passed_on(other, root)
            && said.insert(root)
        {
            say(root, None, "the runner", &format!("from {other}"));
        } else if let Some(line) = new.bindings.made.get(root).filter(|_| !said.contains(root.as_str())) {
            say(root, Some(*line), "the runner", "made here");
        }
    }
}

/// Classes of tests that come to decide for themselves whether their tests fail.
pub(super) fn classes(pair: &Pair<'_>, before: &Tree<'_>, after: &Tree<'_>, out: &mut Vec<Finding>) {
    if pair.old.tests.is_empty() {
        return;
    }
    for (name, class) in &pair.new.bindings.classes {
        let owner = format!("{name} > ");
        if !pair.new.tests.iter().any(|test| test.id.starts_with(&owner)) {
            continue;
        }
        let known = pair.old.bindings.classes.get(name);
        let known = known.map(|known| before.judges(pair.old, known, 0)).unwrap_or_default();
        let fresh: Vec<String> = after.judges(pair.new, class, 0).difference(&known).cloned().collect();
        if !fresh.is_empty() {
            let message = "a class of tests does in the runner's place what decides whether they fail";
            let what = format!("`{name}`: {}", fresh.join(", "));
            out.push(hold(Kind::RunnerPatched, pair.path, Some(class.line), "", what, message));
        }
    }
}
