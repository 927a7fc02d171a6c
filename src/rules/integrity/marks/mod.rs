//! What code does to the run that judges it: it patches the runner, ends the run, asks whether it is tested, or tries
//! again until it is lucky. Read from the tokens, wherever in a file they stand.

mod asks;
mod exits;
mod runner;

use std::collections::BTreeMap;
use std::ops::Range;

use super::body::short;
use super::chain::split;
use super::model::{Finding, Kind, Language, Marker, Severity, Suite};
use super::syntax::{Class, Source};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    kind: Kind,
    severity: Severity,
    message: &'static str,
    marker: Marker,
}

pub(super) struct Reader<'s> {
    source: &'s Source,
    /// The path says that the file belongs to the tests.
    tests: bool,
    out: Vec<Mark>,
}

/// All marks of a file.
pub(super) fn scan(source: &Source, tests: bool) -> Vec<Mark> {
    let mut reader = Reader { source, tests, out: Vec::new() };
    for at in 0..source.tokens.len() {
        reader.runner(at);
        reader.equality(at);
        reader.ends(at);
        if tests {
            reader.retries(at);
        } else {
            reader.asks(at);
        }
    }
    reader.out
}

impl<'s> Reader<'s> {
    fn word(&self, at: usize) -> &'s str {
        self.source.word(at)
    }

    /// Whether these words stand here.
    fn is(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(step, word)| self.word(at + step) == *word)
    }

    fn is_literal(&self, at: usize) -> bool {
        self.source.class(at) == Some(Class::Literal)
    }

    fn is_script(&self) -> bool {
        matches!(self.source.language, Language::JavaScript | Language::TypeScript | Language::Tsx)
    }

    /// The tokens between the bracket at `open` and its partner.
    fn inside(&self, open: usize) -> Range<usize> {
        open + 1..self.source.close(open).max(open + 1)
    }

    fn args(&self, open: usize) -> Vec<Range<usize>> {
        split(self.source, self.inside(open), &[","])
    }

    fn any(&self, range: Range<usize>, words: &[&str]) -> bool {
        range.into_iter().any(|at| words.contains(&self.word(at)))
    }

    /// Nothing stands before it on its line.
    fn at_margin(&self, at: usize) -> bool {
        let start = self.source.tokens.get(at).map_or(0, |token| token.start as usize);
        start == 0 || self.source.text.as_bytes().get(start - 1) == Some(&b'\n')
    }

    fn mark(&mut self, kind: Kind, severity: Severity, range: Range<usize>, message: &'static str) {
        let end = range.end.min(self.source.tokens.len());
        let (Some(first), Some(last)) =
            (self.source.tokens.get(range.start), self.source.tokens.get(end.saturating_sub(1)))
        else {
            return;
        };
        let text = &self.source.text;
        let line = text.get(..first.start as usize).map_or(0, |head| head.matches('\n').count());
        let line = u32::try_from(line).unwrap_or(u32::MAX).saturating_add(1);
        let shown = short(text.get(first.start as usize..last.end as usize).unwrap_or_default());
        self.out.push(Mark {
            kind,
            severity,
            message,
            marker: Marker { text: shown, line, conditional: false, inherited: false },
        });
    }

    fn hold(&mut self, kind: Kind, range: Range<usize>, message: &'static str) {
        self.mark(kind, Severity::Hold, range, message);
    }

    /// Marks of tests by which one failure of several tries is forgiven.
    fn retries(&mut self, at: usize) {
        const MESSAGE: &str = "a test is tried again until it passes";
        let forgives = |name: &str| {
            let name = name.to_lowercase();
            ["flaky", "retry", "rerun", "repeatedif"].iter().any(|word| name.contains(word))
        };
        let attribute = self.word(at) == "@" || self.is(at, &["#", "["]);
        if attribute {
            let names = (at + 1..at + 8).take_while(|next| !matches!(self.word(*next), "(" | "]" | "def" | "fn"));
            if names.filter(|next| self.source.class(*next) == Some(Class::Word)).any(|next| forgives(self.word(next)))
            {
                let end = (at + 1..at + 8)
                    .find(|next| self.word(*next) == "(")
                    .map_or(at + 4, |open| self.inside(open).end + 1);
                self.hold(Kind::RetryAdded, at..end, MESSAGE);
            }
        }
        let again = self.is_script()
            && (self.word(at) == "retryTimes" && self.word(at + 1) == "("
                || self.is(at, &["this", ".", "retries", "("]));
        if again {
            self.hold(Kind::RetryAdded, at..at + 3, MESSAGE);
        }
    }
}

/// What the candidate's files have more than the base's; what only moved is not new.
pub(super) fn findings(paths: &[&str], old: &[Option<Suite>], new: &[Option<Suite>], out: &mut Vec<Finding>) {
    let mut known: BTreeMap<(Kind, &str), usize> = BTreeMap::new();
    for mark in old.iter().flatten().flat_map(|suite| &suite.marks) {
        *known.entry((mark.kind, mark.marker.text.as_str())).or_insert(0) += 1;
    }
    for (path, suite) in paths.iter().zip(new) {
        for mark in suite.iter().flat_map(|suite| &suite.marks) {
            if let Some(left) = known.get_mut(&(mark.kind, mark.marker.text.as_str())).filter(|left| **left > 0) {
                *left -= 1;
                continue;
            }
            out.push(Finding {
                severity: mark.severity,
                kind: mark.kind,
                path: (*path).to_owned(),
                line: Some(mark.marker.line),
                test: None,
                before: None,
                after: Some(mark.marker.text.clone()),
                message: mark.message.to_owned(),
            });
        }
    }
}
