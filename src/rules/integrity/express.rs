//! What a condition demands: read from its tokens, in every language alike.

use std::ops::Range;

use super::chain::{Chain, find, split};
use super::model::{Digest, Language, Strength};
use super::syntax::{Class, Digester, Source};

const MAX_DEPTH: u8 = 12;
const OR: &[&str] = &["||", "or"];
const AND: &[&str] = &["&&", "and"];
const COMPARE: &[&str] =
    &["==", "===", "!=", "!==", "<", ">", "<=", ">=", "in", "is", "is not", "not in", "instanceof"];

/// The parts of a condition that must all hold, each with its strength. `negated`: the test fails if it holds.
pub(super) fn judge(source: &Source, range: Range<usize>, negated: bool) -> Vec<(Strength, Range<usize>)> {
    let mut out = Vec::new();
    conjuncts(source, range, negated, 0, &mut out);
    out
}

/// The strength of a whole condition: its strongest part.
pub(super) fn strength(source: &Source, range: Range<usize>, negated: bool) -> Strength {
    judge(source, range, negated)
        .into_iter()
        .map(|(strength, _)| strength)
        .max_by_key(|s| s.rank())
        .unwrap_or(Strength::Truthy)
}

/// Whether a condition is the same whatever happens.
pub(super) fn constant(source: &Source, range: Range<usize>, depth: u8) -> Option<bool> {
    let range = bare(source, range);
    if depth > MAX_DEPTH || range.is_empty() {
        return None;
    }
    let known = |marks| {
        let parts = split(source, range.clone(), marks);
        (parts.len() > 1).then(|| parts.into_iter().map(|part| constant(source, part, depth + 1)).collect::<Vec<_>>())
    };
    if let Some(parts) = known(OR) {
        return if parts.contains(&Some(true)) {
            Some(true)
        } else {
            parts.into_iter().all(|p| p == Some(false)).then_some(false)
        };
    }
    if let Some(parts) = known(AND) {
        return if parts.contains(&Some(false)) {
            Some(false)
        } else {
            parts.into_iter().all(|p| p == Some(true)).then_some(true)
        };
    }
    if matches!(source.word(range.start), "!" | "not") && find(source, range.clone(), COMPARE).is_none() {
        return constant(source, range.start + 1..range.end, depth + 1).map(|value| !value);
    }
    if range.len() == 1 {
        return truth(source, range.start);
    }
    if let Some(at) = find(source, range.clone(), COMPARE) {
        let (left, right) = (range.start..at, at + 1..range.end);
        if left.len() == 1 && right.len() == 1 && is_literal(source, &left) && is_literal(source, &right) {
            let same = source.word(left.start) == source.word(right.start);
            return match source.word(at) {
                "==" | "===" | "is" => Some(same),
                "!=" | "!==" | "is not" => Some(!same),
                _ => None,
            };
        }
    }
    let never = ["cfg", "!", "(", "any", "(", ")", ")"];
    (range.len() == never.len() && range.clone().zip(never).all(|(at, want)| source.word(at) == want)).then_some(false)
}

fn truth(source: &Source, at: usize) -> Option<bool> {
    let text = source.word(at);
    match text {
        "true" | "True" => Some(true),
        "false" | "False" | "None" | "null" | "undefined" | "TYPE_CHECKING" => Some(false),
        _ if source.class(at) != Some(Class::Literal) => None,
        _ => Some(!text.is_empty() && !text.trim_start_matches('0').trim_start_matches('.').is_empty()),
    }
}

fn conjuncts(source: &Source, range: Range<usize>, negated: bool, depth: u8, out: &mut Vec<(Strength, Range<usize>)>) {
    let range = bare(source, range);
    if depth > MAX_DEPTH {
        out.push((Strength::Truthy, range));
        return;
    }
    if let Some(value) = constant(source, range.clone(), depth) {
        let never_fails = value != negated;
        out.push((if never_fails { Strength::Nothing } else { Strength::Failure }, range));
        return;
    }
    for (marks, all) in [(OR, negated), (AND, !negated)] {
        let parts = split(source, range.clone(), marks);
        if parts.len() < 2 {
            continue;
        }
        if all {
            parts.into_iter().for_each(|part| conjuncts(source, part, negated, depth + 1, out));
        } else {
            let weigh = |part| {
                let mut inner = Vec::new();
                conjuncts(source, part, negated, depth + 1, &mut inner);
                inner.into_iter().map(|(strength, _)| strength).max_by_key(|s| s.rank()).unwrap_or(Strength::Truthy)
            };
            let least = parts.into_iter().map(weigh).min_by_key(|s| s.rank());
            out.push((least.unwrap_or(Strength::Truthy), range));
        }
        return;
    }
    if matches!(source.word(range.start), "!" | "not") && find(source, range.clone(), COMPARE).is_none() {
        conjuncts(source, range.start + 1..range.end, !negated, depth + 1, out);
        return;
    }
    if source.word(range.start) == "not" {
        conjuncts(source, range.start + 1..range.end, !negated, depth + 1, out);
        return;
    }
    out.push((atom(source, &range, negated), range));
}

fn atom(source: &Source, range: &Range<usize>, negated: bool) -> Strength {
    if find(source, range.clone(), &[","]).is_some() && source.language == Language::Python {
        return Strength::Nothing; // a tuple: `assert (x == 1, "message")`
    }
    let Some(at) = find(source, range.clone(), COMPARE) else { return of_call(source, range, negated) };
    let (left, mut right) = (range.start..at, at + 1..range.end);
    let mut mark = source.word(at);
    if mark == "is" && source.word(right.start) == "not" && right.len() > 1 {
        (mark, right.start) = ("is not", right.start + 1);
    }
    match mark {
        "==" | "===" | "is" if !negated => equal(source, &left, &right),
        "!=" | "!==" | "is not" if negated => equal(source, &left, &right),
        "==" | "===" | "is" | "!=" | "!==" | "is not" => unequal(source, &left, &right),
        "<=" | ">=" if same(source, &left, &right) => Strength::Nothing,
        ">=" if source.word(right.start) == "0" && right.len() == 1 && counts(source, &left) => Strength::Nothing,
        "<=" | ">=" | "<" | ">" if is_literal(source, &left) && is_literal(source, &right) => Strength::Nothing,
        "<=" | "<" | ">" | ">=" if !near(source, range) => Strength::Ordered,
        _ => Strength::Partial,
    }
}

/// The strength of a claim that two expressions are equal.
pub(super) fn equal(source: &Source, left: &Range<usize>, right: &Range<usize>) -> Strength {
    if same(source, left, right) {
        let has_call = left.clone().any(|at| source.word(at) == "(");
        return if has_call { Strength::Truthy } else { Strength::Nothing };
    }
    if is_literal(source, left) && is_literal(source, right) {
        return Strength::Failure;
    }
    let either = |words: &[&str]| [left, right].iter().any(|r| r.len() == 1 && words.contains(&source.word(r.start)));
    if either(&["true", "false", "True", "False"]) || (source.language == Language::Go && either(&["nil"])) {
        return Strength::Truthy;
    }
    let mut words = left.clone().chain(right.clone()).map(|at| source.word(at));
    if words.any(|word| matches!(word, "anything" | "ANY")) {
        return Strength::Truthy;
    }
    Strength::Equal
}

pub(super) fn unequal(source: &Source, left: &Range<usize>, right: &Range<usize>) -> Strength {
    let absent =
        |r: &Range<usize>| r.len() == 1 && matches!(source.word(r.start), "None" | "null" | "nil" | "undefined");
    if is_literal(source, left) && is_literal(source, right) {
        return Strength::Nothing;
    }
    if absent(left) || absent(right) {
        let about_error = source.word(left.start).to_lowercase().starts_with("err");
        return if source.language == Language::Go && about_error { Strength::AnyError } else { Strength::Truthy };
    }
    Strength::Unequal
}

/// `abs(a - b) < epsilon` is an equality within a tolerance.
fn near(source: &Source, range: &Range<usize>) -> bool {
    range
        .clone()
        .any(|at| matches!(source.word(at).to_lowercase().as_str(), "abs" | "fabs" | "epsilon" | "tolerance" | "delta"))
}

fn of_call(source: &Source, range: &Range<usize>, negated: bool) -> Strength {
    let chain = Chain::read(source, range);
    let Some(last) = (0..chain.segments.len()).rev().find(|index| chain.is_call(*index)) else {
        return Strength::Truthy;
    };
    let args = chain.args(last);
    let strength = match chain.name(last).to_lowercase().replace('_', "").as_str() {
        "matches" if chain.segments[last].bang => pattern(source, &args),
        "iserr" => Strength::AnyError,
        "isok" | "issome" => Strength::Truthy,
        "isempty" | "isnone" | "equals" | "eq" | "deepequal" | "equal" | "arrayequal" | "equalignorecase" => {
            Strength::Equal
        }
        "is" | "as" if chain.name(0) == "errors" => Strength::TypedError,
        "contains" | "includes" | "startswith" | "endswith" | "isinstance" | "has" | "containskey" | "haskey"
        | "ismatch" | "test" | "match" | "search" | "any" | "all" | "every" | "some" | "isclose" | "allclose"
        | "hasprefix" | "hassuffix" | "matchstring" | "issubset" | "iserrand" | "isokand" | "issomeand" => {
            Strength::Partial
        }
        _ => Strength::Truthy,
    };
    if strength == Strength::Equal
        && let [only] = args.as_slice()
        && chain.segments.len() == 2
        && only.len() == 1
        && source.word(only.start) == source.word(range.start)
    {
        return Strength::Nothing;
    }
    match (strength, negated) {
        (Strength::Equal, true) => Strength::Unequal,
        (Strength::AnyError, true) => Strength::Truthy,
        (other, _) => other,
    }
}

/// `matches!(value, pattern)`.
pub(super) fn pattern(source: &Source, args: &[Range<usize>]) -> Strength {
    let Some(pattern) = args.get(1) else { return Strength::Partial };
    let words: Vec<&str> = pattern.clone().map(|at| source.word(at)).collect();
    match words.as_slice() {
        ["_"] => Strength::Nothing,
        ["Err", "(", "_" | "..", ")"] => Strength::AnyError,
        ["Ok" | "Some", "(", "_" | "..", ")"] => Strength::Truthy,
        _ => Strength::Partial,
    }
}

fn counts(source: &Source, range: &Range<usize>) -> bool {
    range.clone().any(|at| matches!(source.word(at), "len" | "length" | "size" | "count"))
}

pub(super) fn same(source: &Source, left: &Range<usize>, right: &Range<usize>) -> bool {
    !left.is_empty()
        && left.len() == right.len()
        && left
            .clone()
            .zip(right.clone())
            .all(|(a, b)| source.word(a) == source.word(b) && source.class(a) == source.class(b))
}

pub(super) fn is_literal(source: &Source, range: &Range<usize>) -> bool {
    let range = bare(source, range.clone());
    !range.is_empty()
        && range.clone().any(|at| source.class(at) == Some(Class::Literal) || matches!(source.word(at), "[" | "{"))
        && range.clone().all(|at| {
            source.class(at) == Some(Class::Literal)
                || matches!(source.word(at), "-" | "[" | "]" | "," | "{" | "}" | ":" | "&" | "(" | ")")
        })
}

/// Without the brackets around it.
pub(super) fn bare(source: &Source, mut range: Range<usize>) -> Range<usize> {
    while range.len() > 2 && source.word(range.start) == "(" && source.close(range.start) + 1 == range.end {
        range = range.start + 1..range.end - 1;
    }
    range
}

/// A digest of an expression with its literals, plain names and lists of them left out: what stays is what it calls.
pub(super) fn skeleton(source: &Source, range: Range<usize>) -> Digest {
    let mut parts: Vec<&str> = Vec::new();
    let mut opened: Vec<(usize, bool)> = Vec::new();
    for at in range.clone() {
        let text = source.word(at);
        match source.class(at) {
            Some(Class::Literal) => parts.push("_"),
            Some(Class::Word) if !is_called(source, at) => parts.push("_"),
            Some(Class::Mark) if matches!(text, "(" | "[" | "{") => {
                let call = at > range.start && text == "(" && source.class(at - 1) == Some(Class::Word);
                opened.push((parts.len(), call));
                parts.push(text);
            }
            Some(Class::Mark) if matches!(text, ")" | "]" | "}") => match opened.pop() {
                Some((from, false)) if parts[from + 1..].iter().all(|part| matches!(*part, "_" | "," | ":")) => {
                    parts.truncate(from);
                    parts.push("_");
                }
                _ => parts.push(text),
            },
            Some(Class::Mark) if text == "-" && starts_operand(source, at, range.start) => {}
            Some(Class::Mark)
                if matches!(text, "&" | "await" | "*" | "new") && starts_operand(source, at, range.start) => {}
            _ => parts.push(text),
        }
    }
    let mut digest = Digester::new();
    parts.into_iter().for_each(|part| digest.add(part));
    digest.finish()
}

fn is_called(source: &Source, at: usize) -> bool {
    matches!(source.word(at + 1), "(" | "!") || (at > 0 && matches!(source.word(at - 1), "." | "::" | "?."))
}

fn starts_operand(source: &Source, at: usize, start: usize) -> bool {
    at == start || (source.class(at - 1) == Some(Class::Mark) && !matches!(source.word(at - 1), ")" | "]"))
}
