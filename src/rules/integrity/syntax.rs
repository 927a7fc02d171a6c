//! A parsed file: its tree, and its tokens with comments left out and brackets matched.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::model::{Digest, Language, MAX_FILE_BYTES, Unread};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Word,
    Literal,
    Mark,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub start: u32,
    pub end: u32,
    pub class: Class,
    /// Index of the bracket that closes this one; its own index for everything else.
    pub close: u32,
}

pub(super) struct Source {
    pub language: Language,
    pub text: String,
    pub tree: Tree,
    pub tokens: Vec<Token>,
    pub errors: u32,
    /// Lines above this text in the file that it was cut from.
    pub line_offset: u32,
}

impl Source {
    pub fn parse(language: Language, bytes: &[u8]) -> Result<Source, Unread> {
        if bytes.len() > MAX_FILE_BYTES {
            return Err(Unread::TooLong);
        }
        let text = String::from_utf8_lossy(bytes).into_owned();
        let tree = tree_of(language, &text).ok_or(Unread::TooHard)?;
        let mut source = Source { language, text, tree, tokens: Vec::new(), errors: 0, line_offset: 0 };
        source.tokenise();
        source.match_brackets();
        Ok(source)
    }
    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }
    pub fn text(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or("")
    }
    /// The text of a field of a node, or nothing.
    pub fn field(&self, node: Node<'_>, name: &str) -> &str {
        node.child_by_field_name(name).map_or("", |found| self.text(found))
    }
    pub fn line(&self, node: Node<'_>) -> u32 {
        line_number(node.start_position().row).saturating_add(self.line_offset)
    }
    pub fn slice(&self, node: Node<'_>) -> Range<usize> {
        let start = self.tokens.partition_point(|token| (token.start as usize) < node.start_byte());
        let end = self.tokens.partition_point(|token| (token.start as usize) < node.end_byte());
        start..end.max(start)
    }
    pub fn word(&self, index: usize) -> &str {
        self.tokens.get(index).map_or("", |token| self.token_text(token))
    }
    pub fn token_text(&self, token: &Token) -> &str {
        let raw = self.text.get(token.start as usize..token.end as usize).unwrap_or("");
        if token.class == Class::Literal { unquoted(raw) } else { raw }
    }
    pub fn class(&self, index: usize) -> Option<Class> {
        self.tokens.get(index).map(|token| token.class)
    }
    pub fn close(&self, index: usize) -> usize {
        self.tokens.get(index).map_or(index, |token| token.close as usize)
    }
    pub fn digest(&self, range: Range<usize>, literals: bool) -> Digest {
        let mut digest = Digester::new();
        for index in range {
            let Some(token) = self.tokens.get(index) else { break };
            if token.class == Class::Literal && !literals {
                digest.add("\u{1}");
            } else if token.class == Class::Literal {
                digest.add("\u{2}");
                digest.add(self.token_text(token));
            } else {
                digest.add(self.token_text(token));
            }
        }
        digest.finish()
    }
    fn tokenise(&mut self) {
        let mut tokens = Vec::with_capacity(self.text.len() / 4);
        let mut errors = 0u32;
        let mut cursor = self.tree.walk();
        loop {
            let node = cursor.node();
            if node.is_error() || node.is_missing() {
                errors = errors.saturating_add(1);
            }
            let leaf = is_comment(node.kind()) || is_whole_literal(node) || node.child_count() == 0;
            if leaf {
                if let Some(token) = self.token(node) {
                    tokens.push(token);
                }
            } else if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    drop(cursor);
                    self.tokens = tokens;
                    self.errors = errors;
                    return;
                }
            }
        }
    }
    fn token(&self, node: Node<'_>) -> Option<Token> {
        let kind = node.kind();
        if is_comment(kind) || node.start_byte() == node.end_byte() || matches!(kind, "string_start" | "string_end") {
            return None;
        }
        let text = self.text(node);
        if text == ";" || text.trim().is_empty() {
            return None;
        }
        let class = if is_whole_literal(node) || kind.contains("string") || kind == "escape_sequence" {
            Class::Literal
        } else if kind.ends_with("identifier") || matches!(kind, "self" | "this" | "super" | "crate" | "metavariable") {
            Class::Word
        } else {
            Class::Mark
        };
        let start = u32::try_from(node.start_byte()).ok()?;
        let end = u32::try_from(node.end_byte()).ok()?;
        Some(Token { start, end, class, close: 0 })
    }
    /// Drops trailing commas, so that a formatter changes nothing, and matches the brackets.
    fn match_brackets(&mut self) {
        let tokens = std::mem::take(&mut self.tokens);
        let mut kept: Vec<Token> = Vec::with_capacity(tokens.len());
        let mut open: Vec<usize> = Vec::new();
        for mut token in tokens {
            let text = self.text.get(token.start as usize..token.end as usize).unwrap_or("");
            let mark = token.class == Class::Mark;
            if mark && is_closer(text) && kept.last().is_some_and(|last| self.is_comma(last)) {
                kept.pop();
            }
            let index = kept.len();
            token.close = u32::try_from(index).unwrap_or(u32::MAX);
            if mark && matches!(text, "(" | "[" | "{") {
                open.push(index);
            } else if mark
                && is_closer(text)
                && let Some(opener) = open.pop().and_then(|at| kept.get_mut(at))
            {
                opener.close = token.close;
            }
            kept.push(token);
        }
        self.tokens = kept;
    }
    fn is_comma(&self, token: &Token) -> bool {
        self.text.get(token.start as usize..token.end as usize) == Some(",")
    }
}

fn is_closer(text: &str) -> bool {
    matches!(text, ")" | "]" | "}")
}

fn tree_of(language: Language, text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&grammar(language)).ok()?;
    // The parser calls back once in a hundred steps: a bound on work that is the same on every machine.
    let budget = text.len().saturating_add(20_000);
    let mut steps = 0usize;
    let mut progress = |_: &tree_sitter::ParseState| {
        steps += 1;
        if steps > budget { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or(&[]), None, Some(options))
}

fn grammar(language: Language) -> tree_sitter::Language {
    match language {
        Language::Rust => tree_sitter_rust::LANGUAGE.into(),
        Language::Python => tree_sitter_python::LANGUAGE.into(),
        Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        Language::Go => tree_sitter_go::LANGUAGE.into(),
        Language::Java => tree_sitter_java::LANGUAGE.into(),
    }
}

pub(super) fn is_comment(kind: &str) -> bool {
    kind.contains("comment") || kind == "hash_bang_line"
}

/// A literal that is one token. A string with expressions inside is read as its parts.
fn is_whole_literal(node: Node<'_>) -> bool {
    let kind = node.kind();
    let literal = match kind {
        "composite_literal" | "func_literal" | "class_literal" | "concatenated_string" | "string_start" => false,
        "integer" | "float" | "true" | "false" | "none" | "null" | "undefined" | "nil" | "number" | "regex" => {
            node.is_named()
        }
        _ => {
            node.is_named()
                && (kind.ends_with("_literal")
                    || matches!(kind, "string" | "template_string")
                    || (kind.contains("string") && node.child_count() == 0))
        }
    };
    if !literal {
        return false;
    }
    let mut cursor = node.walk();
    !node
        .children(&mut cursor)
        .any(|child| matches!(child.kind(), "interpolation" | "template_substitution" | "string_interpolation"))
}

fn unquoted(raw: &str) -> &str {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`');
    let (Some(first), Some(last)) = (raw.find(is_quote), raw.rfind(is_quote)) else { return raw };
    let quote = &raw[first..=first];
    let inner = raw.get(first + 1..last).unwrap_or("");
    inner.trim_start_matches(quote).trim_end_matches(quote)
}

pub(super) fn line_number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

pub(super) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

pub(super) fn named<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !is_comment(child.kind())).collect()
}

pub(super) fn child_of_kind<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| child.kind() == kind)
}

/// Two differently keyed runs of the standard hasher, side by side.
pub(super) struct Digester(DefaultHasher, DefaultHasher);

impl Digester {
    pub fn new() -> Self {
        let mut second = DefaultHasher::new();
        second.write_u8(1);
        Self(DefaultHasher::new(), second)
    }
    pub fn add(&mut self, text: &str) {
        text.hash(&mut self.0);
        text.hash(&mut self.1);
    }
    pub fn finish(&self) -> Digest {
        (u128::from(self.0.finish()) << 64) | u128::from(self.1.finish())
    }
}

pub(super) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

pub(super) fn digest_of(text: &str) -> Digest {
    let mut digest = Digester::new();
    digest.add(text);
    digest.finish()
}
