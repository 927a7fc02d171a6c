//! Recognises, line by line, where a symbol is defined. Cheap and forgiving: what is missed only makes a fragment
//! longer, and what is taken wrongly only cuts it earlier.

use crate::domain::path::TreePath;

use super::fragments::{MAX_NAME_BYTES, boundary};

/// How many columns a definition may be indented: a method in a class, not a closure in a method.
const MAX_INDENT: usize = 4;
/// Lines longer than this define nothing that a person named.
const MAX_LINE_BYTES: usize = 400;

/// Languages that are cut in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Markdown,
    Rust,
    Python,
    Script,
    Go,
    /// Java and the languages that define methods as it does.
    Java,
    /// C, C++ and their kin.
    C,
    Plain,
}

/// Something that is defined on a line.
pub(super) struct Symbol {
    pub name: String,
}

impl Language {
    pub fn of(path: &TreePath) -> Self {
        let bytes = path.as_bytes();
        let name = bytes.rsplit(|byte| *byte == b'/').next().unwrap_or(bytes);
        let extension = name.iter().rposition(|byte| *byte == b'.').map_or(&b""[..], |at| &name[at + 1..]);
        match extension.to_ascii_lowercase().as_slice() {
            b"md" | b"markdown" | b"mdx" => Self::Markdown,
            b"rs" => Self::Rust,
            b"py" | b"pyi" | b"rb" => Self::Python,
            b"js" | b"jsx" | b"mjs" | b"cjs" | b"ts" | b"tsx" | b"mts" | b"cts" | b"vue" | b"svelte" | b"php" => {
                Self::Script
            }
            b"go" => Self::Go,
            b"java" | b"kt" | b"kts" | b"cs" | b"scala" | b"swift" | b"dart" => Self::Java,
            b"c" | b"h" | b"cc" | b"cpp" | b"cxx" | b"hpp" | b"hh" | b"m" | b"mm" | b"cu" => Self::C,
            _ => Self::Plain,
        }
    }

    /// What the line defines, if it defines something.
    pub fn symbol(self, line: &str) -> Option<Symbol> {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        let columns = if line.starts_with('\t') { indent * 4 } else { indent };
        if text.is_empty() || text.len() > MAX_LINE_BYTES || columns > MAX_INDENT {
            return None;
        }
        let name = match self {
            Self::Rust => rust(text, columns),
            Self::Python => keyword(text, &["async"], &["def", "class", "module"]),
            Self::Script => script(text, columns),
            Self::Go => go(text, columns),
            Self::Java => java(text),
            Self::C => c(text, columns),
            Self::Markdown | Self::Plain => None,
        }?;
        Some(Symbol { name: name[..boundary(&name, MAX_NAME_BYTES)].to_owned() })
    }

    /// Whether the line, above a symbol, belongs to it: a comment, an attribute, a decorator, a template head.
    pub fn leads(self, line: &str) -> bool {
        let text = line.trim();
        let comment = match self {
            Self::Python => text.starts_with('#'),
            _ => text.starts_with("//") || text.starts_with("/*") || text.starts_with('*') || text.starts_with("#["),
        };
        let template = self == Self::C && text.starts_with("template");
        comment || text.starts_with('@') || template
    }
}

/// The identifier that `text` begins with.
fn identifier(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(text.len());
    let starts_well = text.chars().next().is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$'));
    (end > 0 && starts_well).then(|| &text[..end])
}

/// What follows `word` as a whole word.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

/// Drops modifiers, then reads a keyword and the name after it.
fn keyword(text: &str, modifiers: &[&str], keywords: &[&str]) -> Option<String> {
    let mut text = text;
    while let Some(rest) = modifiers.iter().find_map(|word| after(text, word)) {
        text = rest;
    }
    let rest = keywords.iter().find_map(|word| after(text, word))?;
    identifier(rest).map(str::to_owned)
}

fn rust(text: &str, columns: usize) -> Option<String> {
    let mut text = text;
    if let Some(rest) = text.strip_prefix("pub(") {
        text = rest.split_once(')')?.1.trim_start();
    }
    if let Some(rest) = text.strip_prefix("macro_rules! ") {
        return identifier(rest).map(str::to_owned);
    }
    if text.starts_with("impl") && matches!(text.as_bytes().get(4), Some(b' ' | b'<')) {
        return Some(text.trim_end_matches(['{', ' ']).to_owned());
    }
    let modifiers = ["pub", "async", "unsafe", "const", "default", "extern \"C\"", "extern"];
    // Inside an impl or a trait only functions are worth a cut.
    let keywords = ["fn", "struct", "enum", "trait", "union", "mod", "type", "static", "macro"];
    keyword(text, &modifiers, if columns == 0 { &keywords } else { &keywords[..1] })
}

fn script(text: &str, columns: usize) -> Option<String> {
    const MODIFIERS: [&str; 14] = [
        "export",
        "default",
        "declare",
        "abstract",
        "async",
        "public",
        "private",
        "protected",
        "static",
        "readonly",
        "final",
        "override",
        "get",
        "set",
    ];
    let keywords = ["function", "function*", "class", "interface", "type", "enum", "namespace", "trait"];
    if let Some(name) = keyword(text, &MODIFIERS, &keywords) {
        return Some(name);
    }
    let mut rest = text;
    while let Some(next) = MODIFIERS.iter().find_map(|word| after(rest, word)) {
        rest = next;
    }
    if let Some(bound) = ["const", "let", "var"].iter().find_map(|word| after(rest, word)) {
        let is_function = columns == 0 && (bound.contains("=>") || bound.contains("function") || bound.ends_with('('));
        return is_function.then(|| identifier(bound).map(str::to_owned)).flatten();
    }
    let name = identifier(rest)?;
    let is_method = columns > 0 && rest[name.len()..].starts_with(['(', '<']) && text.ends_with('{');
    (is_method && !is_control(name)).then(|| name.to_owned())
}

fn go(text: &str, columns: usize) -> Option<String> {
    if columns > 0 {
        return None;
    }
    if let Some(method) = text.strip_prefix("func (") {
        return identifier(method.split_once(')')?.1.trim_start()).map(str::to_owned);
    }
    keyword(text, &[], &["func", "type"])
}

fn java(text: &str) -> Option<String> {
    const MODIFIERS: [&str; 20] = [
        "public",
        "private",
        "protected",
        "internal",
        "static",
        "final",
        "abstract",
        "sealed",
        "partial",
        "open",
        "override",
        "data",
        "inline",
        "suspend",
        "async",
        "virtual",
        "export",
        "case",
        "default",
        "mutating",
    ];
    let keywords = [
        "class",
        "interface",
        "enum",
        "record",
        "object",
        "trait",
        "struct",
        "protocol",
        "extension",
        "fun",
        "func",
        "def",
        "@interface",
    ];
    if let Some(name) = keyword(text, &MODIFIERS, &keywords) {
        return Some(name);
    }
    (text.ends_with('{') || text.ends_with("=>")).then(|| called(text)).flatten()
}

fn c(text: &str, columns: usize) -> Option<String> {
    if columns > 0 || text.starts_with(['#', '}', '{', '/', '*']) {
        return None;
    }
    let modifiers = ["typedef", "static", "extern", "inline", "export"];
    let is_body = !text.ends_with(';');
    if is_body && let Some(name) = keyword(text, &modifiers, &["struct", "enum", "union", "class", "namespace"]) {
        let is_function = text.contains('(');
        return if is_function { called(text) } else { Some(name) };
    }
    is_body.then(|| called(text)).flatten()
}

/// The name before the first parenthesis, if that looks like the head of a definition.
fn called(text: &str) -> Option<String> {
    let head = text[..text.find('(')?].trim_end();
    let start = head
        .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '~' | ':')))
        .map_or(0, |at| at + head[at..].chars().next().map_or(1, char::len_utf8));
    let name = &head[start..];
    let first = head.split_whitespace().next().unwrap_or_default();
    let is_definition =
        !name.is_empty() && !head.contains(['=', '.', '"', '!']) && !is_control(name) && !is_control(first);
    is_definition.then(|| name.to_owned())
}

fn is_control(word: &str) -> bool {
    const CONTROL: [&str; 18] = [
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "return",
        "else",
        "do",
        "try",
        "with",
        "synchronized",
        "using",
        "lock",
        "new",
        "throw",
        "await",
        "when",
        "foreach",
    ];
    CONTROL.contains(&word)
}
