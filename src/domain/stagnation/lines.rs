//! Ranges of lines, and how much of one was seen before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of a hundred lines, how many must have been seen for the rest not to make it something new.
const SAME_PERCENT: u64 = 80;
/// How many separate ranges of one file are kept; beyond, the oldest is forgotten.
const MAX_SPANS: usize = 64;

/// Lines `first` to `last`, both included, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lines {
    pub first: u64,
    pub last: u64,
}

impl Lines {
    /// What stands for all there is, where lines are not told apart.
    pub const ONE: Lines = Lines { first: 1, last: 1 };

    /// From `first` on, at most `count` lines of the `total` there are. Never empty: past the end is one place, too.
    pub fn within(first: u64, count: u64, total: u64) -> Self {
        let first = first.max(1);
        let last = first.saturating_add(count.max(1) - 1).min(total.max(first));
        Self { first, last }
    }

    fn len(self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    /// A recorded range may be anything.
    fn is_sound(self) -> bool {
        self.first >= 1 && self.first <= self.last
    }

    fn shared(self, other: Self) -> u64 {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        if first > last { 0 } else { Lines { first, last }.len() }
    }
}

/// Ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spans(Vec<Lines>);

impl Spans {
    /// Whether nearly all of `lines` is in it.
    pub fn cover(&self, lines: Lines) -> bool {
        if !lines.is_sound() {
            return false;
        }
        let shared: u64 = self.0.iter().map(|span| span.shared(lines)).fold(0, u64::saturating_add);
        u128::from(shared) * 100 >= u128::from(lines.len()) * u128::from(SAME_PERCENT)
    }

    pub fn add(&mut self, lines: Lines) {
        if !lines.is_sound() {
            return;
        }
        let touches =
            |span: &Lines| span.first <= lines.last.saturating_add(1) && lines.first <= span.last.saturating_add(1);
        let (near, mut apart): (Vec<Lines>, Vec<Lines>) = self.0.iter().partition(|span| touches(span));
        let joined = near
            .iter()
            .fold(lines, |all, span| Lines { first: all.first.min(span.first), last: all.last.max(span.last) });
        if apart.len() >= MAX_SPANS {
            apart.remove(0);
        }
        apart.push(joined);
        self.0 = apart;
    }

    pub fn iter(&self) -> impl Iterator<Item = &Lines> {
        self.0.iter()
    }
}
