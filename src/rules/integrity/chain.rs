//! A call read from its tokens: `a::b(…).c.d!(…)` is a list of names with their arguments, in every language alike.

use std::ops::Range;

use super::syntax::{Class, Source};

const MAX_SEGMENTS: usize = 256;
const MAX_GENERICS: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// Index of the name's token; none for `(…)` that is called or continued.
    pub name: Option<usize>,
    /// The tokens between the brackets.
    pub args: Option<Range<usize>>,
    /// A Rust macro.
    pub bang: bool,
}

pub(super) struct Chain<'s> {
    source: &'s Source,
    pub segments: Vec<Segment>,
}

impl<'s> Chain<'s> {
    pub fn read(source: &'s Source, range: &Range<usize>) -> Chain<'s> {
        let mut chain = Chain { source, segments: Vec::new() };
        chain.fill(range);
        chain
    }
    pub fn name(&self, index: usize) -> &'s str {
        self.segments.get(index).and_then(|segment| segment.name).map_or("", |at| self.source.word(at))
    }
    pub fn names(&self) -> impl Iterator<Item = &'s str> {
        (0..self.segments.len()).map(|index| self.name(index))
    }
    /// The names joined with dots.
    pub fn path(&self) -> String {
        self.names().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(".")
    }
    pub fn args(&self, index: usize) -> Vec<Range<usize>> {
        self.segments
            .get(index)
            .and_then(|segment| segment.args.clone())
            .map_or_else(Vec::new, |args| split(self.source, args, &[","]))
    }
    pub fn is_call(&self, index: usize) -> bool {
        self.segments.get(index).is_some_and(|segment| segment.args.is_some())
    }
    fn fill(&mut self, range: &Range<usize>) {
        let mut at = range.start;
        while at < range.end && matches!(self.source.word(at), "await" | "!" | "&" | "*" | "new" | "return" | "yield") {
            at += 1;
        }
        while at < range.end && self.segments.len() < MAX_SEGMENTS {
            let Some(next) = self.segment(at, range.end) else { return };
            at = next;
            loop {
                match self.source.word(at) {
                    _ if at >= range.end => return,
                    "?" | "!" => at += 1,
                    "[" => at = self.source.close(at).max(at) + 1,
                    "(" => {
                        let close = self.source.close(at);
                        self.segments.push(Segment { name: None, args: Some(at + 1..close.max(at + 1)), bang: false });
                        at = close.max(at) + 1;
                    }
                    _ if self.source.class(at) == Some(Class::Literal) => {
                        self.segments.push(Segment { name: None, args: Some(at..at + 1), bang: false });
                        at += 1;
                    }
                    "." | "::" | "?." | "->" => break,
                    _ => return,
                }
            }
            at += 1;
        }
    }
    /// Reads one segment and answers where it ends.
    fn segment(&mut self, at: usize, end: usize) -> Option<usize> {
        let source = self.source;
        let text = source.word(at);
        if text == "(" {
            self.segments.push(Segment { name: None, args: None, bang: false });
            return Some(source.close(at).max(at) + 1);
        }
        if text == "<" {
            return Some(skip_generics(source, at, end));
        }
        if source.class(at) == Some(Class::Literal) {
            self.segments.push(Segment { name: None, args: None, bang: false });
            return Some(at + 1);
        }
        // Keywords are legal names after a dot: `expect(x).to.throw(…)`, `t.true(…)`.
        let name = source.class(at) == Some(Class::Word)
            || (text.starts_with(|c: char| c.is_alphabetic() || c == '_') && (at == 0 || !self.segments.is_empty()))
            || matches!(text, "assert" | "import");
        if !name {
            return None;
        }
        let mut next = at + 1;
        let bang = source.word(next) == "!" && matches!(source.word(next + 1), "(" | "[" | "{") && next < end;
        if bang {
            next += 1;
        }
        if source.word(next) == "<" && next < end {
            let after = skip_generics(source, next, end);
            if source.word(after) == "(" {
                next = after;
            }
        }
        let opens = next < end && (source.word(next) == "(" || (bang && matches!(source.word(next), "[" | "{")));
        let args = opens.then(|| next + 1..source.close(next).max(next + 1));
        let after = if opens { source.close(next).max(next) + 1 } else { next };
        self.segments.push(Segment { name: Some(at), args, bang });
        Some(after)
    }
}

fn skip_generics(source: &Source, at: usize, end: usize) -> usize {
    let mut depth = 0i32;
    for index in at..end.min(at + MAX_GENERICS) {
        match source.word(index) {
            "<" => depth += 1,
            ">" => depth -= 1,
            ">>" => depth -= 2,
            _ => {}
        }
        if depth <= 0 {
            return index + 1;
        }
    }
    at + 1
}

/// Splits a range at marks that stand outside of every bracket.
pub(super) fn split(source: &Source, range: Range<usize>, marks: &[&str]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    let mut at = range.start;
    while at < range.end {
        if source.class(at) != Some(Class::Literal) && marks.contains(&source.word(at)) {
            parts.push(start..at);
            start = at + 1;
        }
        at = source.close(at).max(at) + 1;
    }
    if start < range.end || !parts.is_empty() {
        parts.push(start..range.end);
    }
    parts
}

/// The first place outside of every bracket where one of the marks stands.
pub(super) fn find(source: &Source, range: Range<usize>, marks: &[&str]) -> Option<usize> {
    let mut at = range.start;
    while at < range.end {
        if source.class(at) != Some(Class::Literal) && marks.contains(&source.word(at)) {
            return Some(at);
        }
        at = source.close(at).max(at) + 1;
    }
    None
}
