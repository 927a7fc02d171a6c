//! Files that judge without a runner: what they compare, and with what, where no test and no assertion is recognised.

use std::collections::{BTreeMap, BTreeSet};

use super::body::short;
use super::model::{Finding, Kind, Severity, Suite};
use super::paths::base;
use super::reach::Reach;
use super::syntax::{Class, Source, hash};

const EXACT: [&str; 6] = ["==", "===", "!=", "!==", "is", "is not"];
const ASSERTIONS: [&str; 9] = [
    "strictEqual",
    "deepStrictEqual",
    "deepEqual",
    "equal",
    "assertEqual",
    "assertEquals",
    "toBe",
    "toEqual",
    "toStrictEqual",
];
/// What is only told to people.
const TELL: [&str; 10] =
    ["print", "log", "error", "write", "info", "warn", "debug", "println", "printf", "add_argument"];
/// A file of such a name helps tests, and judges nothing.
const HELPS: [&str; 11] =
    ["conftest", "fixture", "helper", "mock", "fake", "stub", "util", "support", "factor", "dummy", "setup"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// Comparisons that only one value meets.
    exact: u32,
    /// `or`: another way to be right.
    ways: u32,
    values: BTreeMap<u64, u32>,
    called: BTreeSet<String>,
    /// The first comparison, for people.
    first: Option<String>,
}

pub(super) fn compared(source: &Source) -> Compared {
    let mut out = Compared::default();
    let mut at = 0;
    while at < source.tokens.len() {
        let word = source.word(at);
        let call = source.word(at + 1) == "(";
        match source.class(at) {
            Some(Class::Literal) if is_aside(source, at) => {}
            Some(Class::Literal) => *out.values.entry(hash(word)).or_insert(0) += 1,
            _ if EXACT.contains(&word) || call && ASSERTIONS.contains(&word) => {
                out.exact = out.exact.saturating_add(1);
                let from = source.tokens.get(at.saturating_sub(4)).map_or(0, |token| token.start as usize);
                let to = source.tokens.get((at + 4).min(source.tokens.len() - 1)).map_or(0, |token| token.end as usize);
                out.first.get_or_insert_with(|| short(source.text.get(from..to).unwrap_or_default()));
            }
            _ if matches!(word, "or" | "||") => out.ways = out.ways.saturating_add(1),
            Some(Class::Word) if call && TELL.contains(&word) => at = source.close(at + 1).max(at + 1),
            Some(Class::Word) if call => {
                out.called.insert(word.to_owned());
            }
            _ => {}
        }
        at += 1;
    }
    out
}

/// The name of a module, or a text that stands for itself.
fn is_aside(source: &Source, at: usize) -> bool {
    let before = source.word(at.saturating_sub(1));
    if matches!(before, "from" | "import") || before == "(" && at > 1 && source.word(at - 2) == "require" {
        return true;
    }
    let Some(token) = source.tokens.get(at) else { return false };
    let (start, end) = (token.start as usize, token.end as usize);
    let mut node = source.root().descendant_for_byte_range(start, end.saturating_sub(1).max(start));
    while let Some(inner) = node {
        match inner.kind() {
            "expression_statement" => return true,
            kind if kind.contains("string") => node = inner.parent(),
            _ => return false,
        }
    }
    false
}

/// A file that judges, on both sides.
pub(super) struct Judge<'a> {
    pub path: &'a str,
    /// A check runs it by its name.
    pub run: bool,
    pub old: &'a Suite,
    pub new: &'a Suite,
}

pub(super) fn findings(judge: &Judge<'_>, reach: &Reach, out: &mut Vec<Finding>) {
    let name = base(judge.path).to_lowercase();
    let recognised = |suite: &Suite| !suite.tests.is_empty() || suite.helpers.iter().any(|one| !one.claims.is_empty());
    if recognised(judge.old) || recognised(judge.new) || !judge.run && HELPS.iter().any(|word| name.contains(word)) {
        return;
    }
    let (old, new) = (&judge.old.compared, &judge.new.compared);
    if old.exact == 0 && !judge.run {
        return;
    }
    let mut say = |kind, before: String, after: String, message: &str| {
        out.push(Finding {
            severity: Severity::Hold,
            kind,
            path: judge.path.to_owned(),
            line: None,
            test: None,
            before: Some(before),
            after: Some(after),
            message: message.to_owned(),
        });
    };
    if new.exact < old.exact {
        let count = |side: &Compared| format!("{} exact comparisons", side.exact);
        say(Kind::AssertionWeakened, count(old), count(new), "what judges compares less, or less exactly");
    } else if new.ways > old.ways && new.exact == old.exact {
        let count = |side: &Compared| format!("{} alternatives", side.ways);
        say(Kind::AssertionWeakened, count(old), count(new), "what judges has more ways to be content");
    }
    let lost = old.values.iter().any(|(value, count)| new.values.get(value).is_none_or(|left| left < count));
    if lost && !reach.calls_may_change(&old.called) {
        let shown = |side: &Compared| side.first.clone().unwrap_or_default();
        let message = "the values that are compared changed, and nothing that is judged did";
        say(Kind::ExpectationChanged, shown(old), shown(new), message);
    }
}
