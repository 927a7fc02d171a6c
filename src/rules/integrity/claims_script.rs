//! Assertions of JavaScript: `expect` of every kind, chai, node's `assert`, ava.

use std::ops::Range;

use super::chain::Chain;
use super::claims::{Demand, named, plain, thrown};
use super::express::{equal, is_literal};
use super::model::Strength;
use super::syntax::Source;

pub(super) fn script(source: &Source, chain: &Chain<'_>, range: &Range<usize>, statement: bool) -> Option<Vec<Demand>> {
    let first = chain.name(0);
    let should = chain.names().position(|name| name == "should");
    if first == "expect" && chain.is_call(0) {
        return Some(matcher(source, chain, 0, chain.args(0).first(), range));
    }
    if first == "expect" && matches!(chain.name(1), "soft" | "poll") && chain.is_call(1) {
        return Some(matcher(source, chain, 1, chain.args(1).first(), range));
    }
    if first == "expect" && matches!(chain.name(1), "fail" | "unreachable") {
        return Some(Demand::of(Strength::Failure, range));
    }
    if let Some(at) = should
        && at > 0
    {
        let strength = if chain.is_call(at) {
            vec![Demand { strength: Strength::Partial, error: false, range: range.clone(), by_name: false }]
        } else {
            matcher(source, chain, at, None, range)
        };
        return Some(strength);
    }
    let steps: Vec<usize> =
        (1..chain.segments.len()).filter(|at| chain.name(*at) == "expect" && chain.is_call(*at)).collect();
    if !steps.is_empty() {
        return Some(steps.iter().flat_map(|_| Demand::of(Strength::Equal, range)).collect());
    }
    let last = (0..chain.segments.len()).rev().find(|at| chain.is_call(*at))?;
    if first == "t" && last == 1 && statement {
        return match plain(chain.name(1)).as_str() {
            "is" => named(source, "equal", &chain.args(1), range),
            "truthy" => named(source, "ok", &chain.args(1), range),
            "falsy" => named(source, "notok", &chain.args(1), range),
            "like" | "regex" => Some(Demand::of(Strength::Partial, range)),
            "snapshot" => Some(Demand::of(Strength::Snapshot, range)),
            "not" => named(source, "notequal", &chain.args(1), range),
            other => named(source, other, &chain.args(1), range),
        };
    }
    if matches!(first, "assert" | "strict") {
        let name = if chain.segments.len() == 1 { "assert".to_owned() } else { plain(chain.name(last)) };
        return Some(
            named(source, &name, &chain.args(last), range).unwrap_or_else(|| Demand::of(Strength::Partial, range)),
        );
    }
    None
}

/// `expect(subject).not.toBe(x)` and chai's `expect(subject).to.be.true`.
fn matcher(
    source: &Source,
    chain: &Chain<'_>,
    from: usize,
    subject: Option<&Range<usize>>,
    range: &Range<usize>,
) -> Vec<Demand> {
    let rest = from + 1..chain.segments.len();
    let not = rest.clone().any(|at| chain.name(at) == "not");
    let Some(at) = rest.clone().rev().find(|at| {
        !chain.name(*at).is_empty()
            && !matches!(
                chain.name(*at),
                "not"
                    | "to"
                    | "be"
                    | "deep"
                    | "have"
                    | "resolves"
                    | "rejects"
                    | "a"
                    | "is"
                    | "and"
                    | "that"
                    | "then"
                    | "catch"
            )
    }) else {
        return Demand::of(Strength::Nothing, range);
    };
    let args = chain.args(at);
    let name = plain(chain.name(at));
    let fixed = subject.is_some_and(|subject| is_literal(source, subject));
    let strength = match name.as_str() {
        "tobe" | "toequal" | "tostrictequal" | "equal" | "eql" | "equals" | "eq" | "deepequal" => {
            match (subject, args.first()) {
                (Some(left), Some(right)) => equal(source, left, right),
                _ => Strength::Equal,
            }
        }
        "tobetruthy" | "tobedefined" | "tobefalsy" | "ok" | "exist" | "true" | "false" | "tobenotnull" => {
            if fixed {
                Strength::Nothing
            } else {
                Strength::Truthy
            }
        }
        "tobenull"
        | "tobeundefined"
        | "null"
        | "undefined"
        | "tobenan"
        | "empty"
        | "tohavelength"
        | "lengthof"
        | "length"
        | "tomatchobject"
        | "tohavebeencalledwith"
        | "tohavebeencalledtimes"
        | "tohavebeenlastcalledwith"
        | "calledwith"
        | "calledoncewith"
        | "tohavebeennthcalledwith"
        | "tohavereturnedwith"
        | "tohavetextcontent"
        | "tohavetext"
        | "tohavevalue"
        | "toequaltypeof"
        | "tohavebeencalledexactlyoncewith"
        | "tobecalledwith"
        | "tobecalledtimes" => Strength::Equal,
        "tohavebeencalled" | "tobecalled" | "called" | "tohavebeencalledonce" | "calledonce" => Strength::Called,
        _ if name.contains("snapshot") => Strength::Snapshot,
        "tobegreaterthan"
        | "tobegreaterthanorequal"
        | "tobelessthan"
        | "tobelessthanorequal"
        | "above"
        | "below"
        | "atleast"
        | "atmost"
        | "greaterthan"
        | "lessthan"
        | "gt"
        | "gte"
        | "lt"
        | "lte"
            if !fixed =>
        {
            Strength::Ordered
        }
        "tothrow" | "tothrowerror" | "throw" | "throws" | "rejectedwith" | "toreject" | "rejected" => {
            let strength = if not { Strength::Truthy } else { thrown(source, args.first()) };
            return if not { Demand::of(strength, range) } else { Demand::error(strength, range) };
        }
        _ if fixed && args.iter().all(|arg| is_literal(source, arg)) => Strength::Nothing,
        _ => Strength::Partial,
    };
    let absent = matches!(name.as_str(), "tobenull" | "tobeundefined" | "null" | "undefined");
    let strength = match strength {
        Strength::Equal if not && absent => Strength::Truthy,
        Strength::Equal if not => Strength::Unequal,
        other => other,
    };
    Demand::of(strength, range)
}
