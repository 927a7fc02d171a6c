//! What the readers have found so far in one output.

use crate::domain::failure::{Item, Kind, Parser, Tests};
use crate::rules::failure::mask::{short, volatile};
use std::collections::{HashMap, HashSet};

/// Items one report holds; more are counted.
pub const MAX_REPORT_ITEMS: usize = 2_000;

/// An item before its ordinal is known.
pub struct Draft {
    pub kind: Kind,
    pub id: String,
    pub cause: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub message: String,
}

impl Draft {
    pub fn new(kind: Kind, id: impl Into<String>) -> Self {
        Self { kind, id: short(&id.into()), cause: String::new(), file: None, line: None, message: String::new() }
    }

    pub fn test(id: impl Into<String>) -> Self {
        Self::new(Kind::Test, id)
    }

    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        let cause = cause.into();
        // Formats of one linter differ in the full stop.
        self.cause = short(if self.kind == Kind::Lint { cause.trim_end_matches('.') } else { &cause });
        self
    }

    pub fn at(mut self, file: impl Into<String>, line: Option<u32>) -> Self {
        self.file = Some(file.into()).filter(|file| !file.is_empty());
        self.line = line;
        self
    }

    pub fn message(mut self, message: &str) -> Self {
        self.message = short(&volatile(message));
        self
    }
}

#[derive(Default)]
pub struct Found {
    items: Vec<Item>,
    /// By kind and id; for tests the cause is no part, so that two mentions of one test become one item.
    seen: HashMap<String, usize>,
    /// How many places one identity was found at.
    places: HashMap<String, HashSet<Option<u32>>>,
    pub omitted: usize,
    pub counts: Option<Tests>,
    pub cached: bool,
    pub said_failed: bool,
    pub readers: Vec<&'static str>,
    asked: Option<String>,
    /// Warnings, which are failures only where nothing worse is and the tool still failed.
    pub warnings: Vec<Draft>,
}

impl Found {
    pub fn asked(hint: Option<Parser>, program: Option<&str>) -> Self {
        let declared = hint.filter(|parser| *parser != Parser::Auto).map(|parser| parser.name().to_owned());
        let program = || program.and_then(|program| program.rsplit('/').next()).map(str::to_owned);
        Self { asked: declared.or_else(program), ..Self::default() }
    }

    /// Says whether one of `names` was declared, or is the program: its looser forms then count.
    pub fn is_asked(&self, names: &[&str]) -> bool {
        self.asked.as_deref().is_some_and(|asked| names.contains(&asked))
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn has(&self, kind: Kind) -> bool {
        self.items.iter().any(|item| item.kind == kind)
    }

    pub fn count(&mut self, tests: Tests) {
        self.counts = Some(self.counts.map_or(tests, |had| had.plus(tests)));
    }

    /// Adds an item, or completes the one that it repeats.
    pub fn push(&mut self, draft: Draft) {
        if draft.kind == Kind::Test { self.push_test(draft) } else { self.push_place(draft) }
    }

    fn push_test(&mut self, draft: Draft) {
        let key = format!("{}:{}", draft.kind, draft.id);
        if let Some(&at) = self.seen.get(&key) {
            complete(&mut self.items[at], draft);
        } else if let Some(at) = self.add(draft, None) {
            self.seen.insert(key, at);
        }
    }

    /// The same words at another line are another failure: the second of two is `#2`, wherever they stand.
    fn push_place(&mut self, draft: Draft) {
        let key = format!("{}:{}:{}", draft.kind, draft.id, draft.cause);
        let places = self.places.entry(key).or_default();
        if draft.line.is_none() && !places.is_empty() || !places.insert(draft.line) {
            return;
        }
        let nth = places.len();
        self.add(draft, (nth > 1).then_some(nth));
    }

    fn add(&mut self, draft: Draft, nth: Option<usize>) -> Option<usize> {
        if self.items.len() >= MAX_REPORT_ITEMS {
            self.omitted += 1;
            return None;
        }
        let Draft { kind, id, cause, file, line, message } = draft;
        let id = nth.map_or_else(|| id.clone(), |nth| format!("{id} #{nth}"));
        let message = if message.is_empty() { cause.clone() } else { message };
        self.items.push(Item { kind, id, cause, file, line, message });
        Some(self.items.len() - 1)
    }

    /// Drops tests that only failed because a test inside them did.
    pub fn drop_parents(&mut self, separator: &str) {
        let ids: Vec<String> =
            self.items.iter().filter(|item| item.kind == Kind::Test).map(|item| item.id.clone()).collect();
        let parents: HashSet<&str> =
            ids.iter().flat_map(|id| id.match_indices(separator).map(|(at, _)| &id[..at])).collect();
        self.items
            .retain(|item| item.kind != Kind::Test || !item.cause.is_empty() || !parents.contains(item.id.as_str()));
        self.seen = self.items.iter().enumerate().map(|(at, item)| (item.key(), at)).collect();
    }

    pub fn into_items(self) -> Vec<Item> {
        self.items
    }
}

fn complete(item: &mut Item, draft: Draft) {
    if item.cause.is_empty() {
        item.cause = draft.cause;
    }
    if item.file.is_none() {
        item.file = draft.file;
        item.line = draft.line;
    }
    if item.message.is_empty() {
        item.message = if draft.message.is_empty() { item.cause.clone() } else { draft.message };
    }
}
