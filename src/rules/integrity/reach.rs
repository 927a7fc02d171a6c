//! Whether a change of the code can be why a test now expects something else.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::model::{Digest, Language, Suite, Test};
use super::syntax::{Digester, Source, hash, named};

const MAX_WORDS: usize = 4000;

/// The functions at the top of a file, and a digest of everything else in it, tests left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outline {
    functions: BTreeMap<String, Function>,
    rest: Digest,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Function {
    digest: Digest,
    words: BTreeSet<u64>,
}

impl Outline {
    pub fn of(source: &Source) -> Outline {
        let mut out = Outline::default();
        let mut rest = Digester::new();
        for child in named(source.root()) {
            if is_of_tests(source, child) {
                continue;
            }
            if let Some(name) = function(source, child) {
                let range = source.slice(child);
                let known = out.functions.entry(name.to_owned()).or_default();
                known.digest = known.digest.rotate_left(1) ^ source.digest(range.clone(), true);
                known.words.extend(range.take(MAX_WORDS).map(|at| hash(source.word(at))));
            } else {
                source.slice(child).for_each(|at| rest.add(source.word(at)));
            }
        }
        out.rest = rest.finish();
        out
    }

    pub fn defines(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }
}

/// Rust keeps tests beside the code.
fn is_of_tests(source: &Source, node: Node<'_>) -> bool {
    source.language == Language::Rust
        && match node.kind() {
            "mod_item" => matches!(source.field(node, "name"), "tests" | "test"),
            "attribute_item" => source.text(node).contains("test"),
            _ => false,
        }
}

/// The name of a function that stands at the top of a file.
fn function<'s>(source: &'s Source, node: Node<'_>) -> Option<&'s str> {
    match node.kind() {
        "function_definition" | "function_item" | "function_declaration" | "generator_function_declaration" => {
            Some(source.field(node, "name"))
        }
        "decorated_definition" => function(source, node.child_by_field_name("definition")?),
        "export_statement" => function(source, node.child_by_field_name("declaration")?),
        "lexical_declaration" => {
            let only = node.named_child(0).filter(|_| node.named_child_count() == 1)?;
            let value = only.child_by_field_name("value")?;
            matches!(value.kind(), "arrow_function" | "function_expression").then(|| source.field(only, "name"))
        }
        _ => None,
    }
}

/// What a change does to the code, as far as it is seen.
#[derive(Default)]
pub(super) struct Reach {
    /// Something changed of which it cannot be said what it is for.
    anything: bool,
    changed: BTreeSet<String>,
    /// Functions that stayed as they were, in files that changed.
    kept: BTreeMap<String, BTreeSet<u64>>,
}

impl Reach {
    /// A file of which no more is known than that it changed.
    pub fn unknown(&mut self) {
        self.anything = true;
    }

    pub fn file(&mut self, old: &Suite, new: &Suite) {
        let (old, new) = (&old.outline, &new.outline);
        self.anything |= old.rest != new.rest;
        for name in old.functions.keys().chain(new.functions.keys()) {
            match (old.functions.get(name), new.functions.get(name)) {
                (Some(was), Some(is)) if was == is => {
                    self.kept.insert(name.clone(), is.words.clone());
                }
                _ => {
                    self.changed.insert(name.clone());
                }
            }
        }
    }

    /// Whether what the test calls may do something else now.
    pub fn may_change(&self, test: &Test) -> bool {
        self.calls_may_change(&test.calls)
    }

    pub fn calls_may_change(&self, calls: &BTreeSet<String>) -> bool {
        if self.anything || self.changed.is_empty() {
            return self.anything;
        }
        let mut open: Vec<&str> = calls.iter().map(String::as_str).collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut known = false;
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            if self.changed.contains(name) {
                return true;
            }
            let Some(words) = self.kept.get(name) else { continue };
            known = true;
            if self.changed.iter().any(|other| words.contains(&hash(other))) {
                return true;
            }
            open.extend(self.kept.keys().filter(|other| words.contains(&hash(other))).map(String::as_str));
        }
        // Calls that leave the changed files may lead back into them.
        !known
    }
}
