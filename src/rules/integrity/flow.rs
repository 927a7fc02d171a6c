//! Where control goes in a body: what leaves a block, what is caught, what returns before it asserts.

use tree_sitter::Node;

use super::body::{Walk, short};
use super::express::constant;
use super::model::{Language, Marker};
use super::syntax::{Class, children};

/// Tokens of an exception handler that are looked at.
const MAX_HANDLER_NODES: usize = 2000;

impl Walk<'_> {
    pub(super) fn asserts_in(&self, node: Node<'_>) -> bool {
        self.source.slice(node).any(|at| {
            let word = self.source.word(at);
            self.source.class(at) != Some(Class::Literal)
                && (word.starts_with("assert")
                    || matches!(word, "expect" | "Errorf" | "Fatalf" | "Fatal" | "Error" | "raises"))
        })
    }

    pub(super) fn leaves(&self, node: Node<'_>) -> bool {
        let node = self.unwrapped(node);
        if self.shapes.ends.contains(&node.kind()) {
            return true;
        }
        // `if (true) return`
        if self.shapes.ifs.contains(&node.kind())
            && let Some(test) = node.child_by_field_name("condition")
            && constant(self.source, self.source.slice(test), 0) == Some(true)
            && let Some(then) = node.child_by_field_name("consequence")
        {
            return self.shapes.ends.contains(&self.unwrapped(then).kind())
                || children(then).into_iter().any(|child| self.shapes.ends.contains(&self.unwrapped(child).kind()));
        }
        false
    }

    pub(super) fn is_return(&self, node: Node<'_>) -> bool {
        self.shapes.returns.contains(&self.unwrapped(node).kind())
            || self.shapes.ifs.contains(&self.unwrapped(node).kind())
    }

    pub(super) fn unwrapped<'t>(&self, node: Node<'t>) -> Node<'t> {
        if matches!(node.kind(), "expression_statement") { node.named_child(0).unwrap_or(node) } else { node }
    }

    /// `if condition { return }` and `let … else { return }` before any assertion.
    pub(super) fn guarded_return(&self, node: Node<'_>) -> Option<(Marker, usize)> {
        let node = self.unwrapped(node);
        let (condition, branch) = if self.shapes.ifs.contains(&node.kind()) {
            if node.child_by_field_name("alternative").is_some() {
                return None;
            }
            (node.child_by_field_name("condition")?, node.child_by_field_name("consequence")?)
        } else if node.kind() == "let_declaration" {
            (node.child_by_field_name("value")?, node.child_by_field_name("alternative")?)
        } else {
            return None;
        };
        if constant(self.source, self.source.slice(condition), 0).is_some() {
            return None;
        }
        let words: Vec<&str> = self
            .source
            .slice(branch)
            .map(|at| self.source.word(at))
            .filter(|w| !matches!(*w, "{" | "}" | "else" | ":"))
            .collect();
        let plain = matches!(
            words.as_slice(),
            ["return"] | ["return", "None" | "null" | "undefined"] | ["return", "Ok", "(", "(", ")", ")"]
        );
        let printed = words.last() == Some(&"return")
            && words.iter().any(|w| w.contains("print") || matches!(*w, "log" | "warn" | "Log" | "Logf"));
        (plain || printed).then(|| {
            let text = format!("return if {}", short(self.source.text(condition)));
            (Marker { text, line: self.source.line(node), conditional: true, inherited: false }, node.start_byte())
        })
    }

    /// The handler catches what a failed assertion raises.
    pub(super) fn catches_all(&self, handler: Node<'_>) -> bool {
        let head_end = handler
            .child_by_field_name("body")
            .or_else(|| children(handler).into_iter().find(|c| self.shapes.blocks.contains(&c.kind())));
        let end = head_end.map_or(handler.end_byte(), |body| body.start_byte());
        let range = self.source.slice(handler);
        let words: Vec<&str> = range
            .take_while(|at| self.source.tokens.get(*at).is_some_and(|token| (token.start as usize) < end))
            .map(|at| self.source.word(at))
            .collect();
        match self.source.language {
            Language::Python => {
                words.iter().all(|word| matches!(*word, "except" | ":" | "*"))
                    || words.iter().any(|word| matches!(*word, "Exception" | "BaseException" | "AssertionError"))
            }
            Language::Java => words
                .iter()
                .any(|word| matches!(*word, "Throwable" | "Error" | "AssertionError" | "AssertionFailedError")),
            _ => true,
        }
    }

    /// The handler raises again, fails or asserts.
    pub(super) fn speaks_up(&self, handler: Node<'_>) -> bool {
        let range = self.source.slice(handler);
        range.take(MAX_HANDLER_NODES).any(|at| {
            let word = self.source.word(at);
            self.source.class(at) != Some(Class::Literal)
                && (matches!(word, "raise" | "throw" | "fail" | "expect" | "done" | "reject" | "Fatal" | "Fatalf")
                    || word.to_lowercase().starts_with("assert")
                        && word != "AssertionError"
                        && word != "AssertionFailedError"
                    || matches!(word, "addSuppressed" | "exit"))
        })
    }

    pub(super) fn suppresses(&self, node: Node<'_>) -> bool {
        let Some(clause) = children(node).into_iter().find(|child| child.kind() == "with_clause") else { return false };
        let words: Vec<&str> = self.source.slice(clause).map(|at| self.source.word(at)).collect();
        words.contains(&"suppress")
            && words.iter().any(|word| matches!(*word, "Exception" | "BaseException" | "AssertionError"))
    }

    /// `let _ = catch_unwind(…)`.
    pub(super) fn drops_panic(&self, node: Node<'_>) -> bool {
        self.source.field(node, "pattern").starts_with('_')
            && self.source.slice(node).take(MAX_HANDLER_NODES).any(|at| self.source.word(at) == "catch_unwind")
    }
}
