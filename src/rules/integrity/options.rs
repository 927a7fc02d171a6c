//! The options that a test of JavaScript is declared with, followed to the object that they are.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::body::short;
use super::model::Marker;
use super::suite::Spec;
use super::syntax::{Class, Source, named};

const FUNCTIONS: [&str; 3] = ["arrow_function", "function_expression", "generator_function"];
/// Names are followed so far.
const MAX_DEPTH: usize = 4;
const MARKS: [&str; 4] = ["skip", "todo", "only", "fails"];

/// What the names of a file are bound to.
#[derive(Default)]
pub(super) struct Objects<'s> {
    known: BTreeMap<&'s str, Node<'s>>,
    /// Bound more than once.
    unclear: BTreeSet<&'s str>,
}

impl<'s> Objects<'s> {
    pub fn of(source: &'s Source) -> Objects<'s> {
        let mut out = Objects::default();
        let mut cursor = source.tree.walk();
        loop {
            let node = cursor.node();
            let name = match node.kind() {
                "variable_declarator" => node.child_by_field_name("name"),
                "assignment_expression" => node.child_by_field_name("left"),
                _ => None,
            };
            if let Some(name) = name.filter(|name| name.kind() == "identifier") {
                let value = node.child_by_field_name("value").or_else(|| node.child_by_field_name("right"));
                let name = source.text(name);
                if let Some(value) = value
                    && out.known.insert(name, value).is_some()
                {
                    out.unclear.insert(name);
                }
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return out;
                }
            }
        }
    }

    /// Reads the options among the arguments of a test or a suite into `spec`.
    pub fn read(&self, source: &'s Source, parts: &[Node<'s>], spec: &mut Spec) {
        let callback = parts.iter().rposition(|part| FUNCTIONS.contains(&part.kind()));
        for (at, part) in parts.iter().enumerate() {
            // An argument before the function, or between the name and what stands for the function.
            let between = at > 0
                && match callback {
                    Some(callback) => at < callback,
                    None => at + 1 < parts.len() && part.kind() == "identifier",
                };
            if !self.argument(source, *part, spec, 0) && between {
                spec.skip.get_or_insert(Marker {
                    text: format!("options that are not seen: {}", short(source.text(*part))),
                    line: source.line(*part),
                    conditional: true,
                    inherited: false,
                });
            }
        }
    }

    /// Whether it was seen what the argument is.
    fn argument(&self, source: &'s Source, node: Node<'s>, spec: &mut Spec, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        match node.kind() {
            "object" => named(node).into_iter().all(|pair| self.pair(source, pair, spec, depth)),
            "as_expression" | "satisfies_expression" | "parenthesized_expression" => {
                node.named_child(0).is_some_and(|inner| self.argument(source, inner, spec, depth + 1))
            }
            "identifier" => {
                let name = source.text(node);
                self.changed_later(source, name, spec);
                let value = self.known.get(name).filter(|_| !self.unclear.contains(name));
                value.is_some_and(|value| self.argument(source, *value, spec, depth + 1))
            }
            "call_expression"
            | "member_expression"
            | "ternary_expression"
            | "subscript_expression"
            | "binary_expression"
            | "await_expression" => false,
            _ => true,
        }
    }

    fn pair(&self, source: &'s Source, pair: Node<'s>, spec: &mut Spec, depth: usize) -> bool {
        let (key, value) = match pair.kind() {
            "spread_element" => {
                return pair.named_child(0).is_some_and(|inner| self.argument(source, inner, spec, depth + 1));
            }
            "shorthand_property_identifier" => (source.text(pair), source.text(pair)),
            "method_definition" => (source.field(pair, "name"), ""),
            _ => (source.field(pair, "key"), source.field(pair, "value")),
        };
        let key = key.trim_matches(['"', '\'', '`']);
        if !key.starts_with('[') {
            mark(source, pair, key, value, spec);
        }
        !key.starts_with('[')
    }

    /// `options.skip = …`
    fn changed_later(&self, source: &'s Source, name: &str, spec: &mut Spec) {
        let sets = |at: &usize| {
            source.class(*at) == Some(Class::Word)
                && source.word(*at) == name
                && source.word(at + 1) == "."
                && MARKS.contains(&source.word(at + 2))
                && source.word(at + 3) == "="
        };
        for at in (0..source.tokens.len()).filter(sets) {
            let start = source.tokens.get(at).map_or(0, |token| token.start as usize);
            if let Some(node) = source.root().descendant_for_byte_range(start, start) {
                mark(source, node.parent().unwrap_or(node), source.word(at + 2), source.word(at + 4), spec);
            }
        }
    }
}

fn mark(source: &Source, node: Node<'_>, key: &str, value: &str, spec: &mut Spec) {
    if matches!(value, "false" | "undefined" | "null") {
        return;
    }
    let marker = Marker {
        text: short(source.text(node)),
        line: source.line(node),
        conditional: !matches!(value, "true") && !value.starts_with(['"', '\'', '`']),
        inherited: false,
    };
    match key {
        "skip" | "todo" => spec.skip = Some(marker),
        "only" => spec.focus = Some(marker),
        "fails" => spec.xfail = Some(marker),
        _ => {}
    }
}
