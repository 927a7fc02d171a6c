//! Ways in which an assertion of the same kind comes to accept more.

use std::ops::Range;

use super::compare::Pair;
use super::model::{Claim, Finding, Kind, Severity, Strength, Test};
use super::syntax::{Class, Source, hash};

/// Names of what an assertion lets pass, where more is looser.
const WIDE: [&str; 13] = [
    "abs",
    "rel",
    "delta",
    "atol",
    "rtol",
    "epsilon",
    "eps",
    "tolerance",
    "tol",
    "abs_tol",
    "rel_tol",
    "max_relative",
    "max_abs",
];
/// From here on an answer is hardly asked for.
const HUGE: f64 = 1.0;

/// What an assertion lets pass: a number, and whether a greater one lets more pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slack {
    wide: bool,
    text: String,
}

impl Slack {
    pub fn of(source: &Source, range: &Range<usize>) -> Option<Slack> {
        let number = |at: usize| source.class(at) == Some(Class::Literal) && value(source.word(at)).is_some();
        for at in range.clone() {
            let (word, next) = (source.word(at), at + 1);
            let named = matches!(source.word(next), "=" | ":") && number(next + 1);
            if named && (WIDE.contains(&word) || word == "places") {
                return Some(Slack { wide: word != "places", text: source.word(next + 1).to_owned() });
            }
            let position = match word {
                "assertAlmostEqual" | "assertNotAlmostEqual" => Some((2, false)),
                "toBeCloseTo" => Some((1, false)),
                "InDelta" | "InEpsilon" => Some((3, true)),
                "closeTo" | "approximately" => Some((1, true)),
                _ => None,
            };
            if let Some((index, wide)) = position.filter(|_| source.word(next) == "(") {
                let inside = next + 1..source.close(next).max(next + 1);
                let arg = super::chain::split(source, inside, &[","]).get(index).cloned().unwrap_or(0..0);
                let negative = arg.len() == 2 && source.word(arg.start) == "-";
                let at = arg.start + usize::from(negative);
                if arg.len() == 1 + usize::from(negative) && number(at) {
                    let sign = if negative { "-" } else { "" };
                    return Some(Slack { wide, text: format!("{sign}{}", source.word(at)) });
                }
            }
        }
        None
    }

    /// The literal that says how much.
    pub fn literal(&self) -> u64 {
        hash(self.text.trim_start_matches('-'))
    }

    fn value(&self) -> f64 {
        value(&self.text).unwrap_or(0.0)
    }

    fn is_looser(&self, than: &Slack) -> bool {
        self.wide == than.wide && if self.wide { self.value() > than.value() } else { self.value() < than.value() }
    }

    fn is_huge(&self) -> bool {
        if self.wide { self.value() >= HUGE } else { self.value() < HUGE }
    }
}

fn value(text: &str) -> Option<f64> {
    text.replace('_', "").trim_end_matches(['f', 'F', 'd']).parse().ok()
}

pub(super) fn findings(pair: &Pair<'_>, out: &mut Vec<Finding>) {
    let (old, new) = (pair.old, pair.new);
    let absent = |claim: &&Claim, other: &Test| other.claims.iter().all(|known| known.digest != claim.digest);
    let gone: Vec<&Claim> = old.claims.iter().filter(|claim| absent(claim, new)).collect();
    let fresh: Vec<&Claim> = new.claims.iter().filter(|claim| absent(claim, old)).collect();
    let mut say = |before: &str, after: &str, message: &str| {
        let (before, after) = (before.to_owned(), after.to_owned());
        out.push(pair.finding(Severity::Hold, Kind::AssertionWeakened, before, after, message.to_owned()));
    };
    for claim in &fresh {
        let Some(slack) = &claim.slack else { continue };
        let known = gone.iter().find(|other| other.skeleton == claim.skeleton).and_then(|other| other.slack.as_ref());
        let exact = gone.iter().any(|other| other.slack.is_none() && other.strength.rank() >= Strength::Equal.rank());
        if known.is_some_and(|known| slack.is_looser(known)) || known.is_none() && exact && slack.is_huge() {
            say(known.map_or("exact", |known| known.text.as_str()), &slack.text, "an assertion lets more pass");
        }
    }
    let exact = gone.iter().any(|claim| claim.strength == Strength::Equal);
    let several = |test: &Test| test.claims.iter().filter(|claim| claim.among).count();
    let admits =
        several(new) > several(old) && fresh.iter().any(|claim| claim.among && claim.strength == Strength::Partial);
    let named = !old.literals.is_empty() && old.literals.is_subset(&new.literals);
    if exact && admits && named && gone.len() == fresh.len() {
        say("one value", "several values", "an assertion accepts other values beside the one that it named");
    }
}

/// Whether an assertion asks only that something is one of several.
pub(super) fn among(source: &Source, range: &Range<usize>) -> bool {
    const AMONG: [&str; 9] =
        ["assertIn", "in", "toContain", "includes", "contains", "isIn", "oneOf", "toBeOneOf", "Contains"];
    range.clone().any(|at| AMONG.contains(&source.word(at)) && source.class(at) != Some(Class::Literal))
}

/// What is expected is asked of the code that is tested, where a value was named before.
pub(super) fn computed(pair: &Pair<'_>, named_elsewhere: impl Fn(u64) -> bool, out: &mut Vec<Finding>) {
    let (old, new) = (pair.old, pair.new);
    let lost = old.literals.iter().any(|literal| !new.literals.contains(literal) && !named_elsewhere(*literal));
    let more = old.helper_calls.iter().find(|(name, times)| {
        new.helper_calls.get(*name).is_some_and(|now| now > *times) && !name.starts_with("assert") && *name != "expect"
    });
    let same = old.claims.len() == new.claims.len() && old.parametrised == new.parametrised && old.table == new.table;
    let exact = |test: &Test| test.claims.iter().filter(|claim| claim.strength == Strength::Equal).count();
    if let (true, true, Some((name, _))) = (lost, same && exact(new) > 0 && exact(old) > 0, more) {
        let message = format!("what the test expects is asked of `{name}` itself");
        let (before, after) = ("a value".to_owned(), "what the code says".to_owned());
        out.push(pair.finding(Severity::Hold, Kind::AssertionWeakened, before, after, message));
    }
}
