//! Assertions of Java: JUnit by name, Hamcrest, AssertJ.

use std::ops::Range;

use super::chain::Chain;
use super::claims::{Demand, is_any_error, named, plain};
use super::express::equal;
use super::model::Strength;
use super::syntax::Source;

pub(super) fn java(source: &Source, chain: &Chain<'_>, range: &Range<usize>) -> Option<Vec<Demand>> {
    let at = (0..chain.segments.len()).find(|at| chain.is_call(*at) && !chain.name(*at).is_empty())?;
    let name = chain.name(at);
    match name {
        "assertAll" | "assertTimeout" | "assertTimeoutPreemptively" => return Some(Vec::new()),
        "verify" => return Some(Demand::of(Strength::Called, range)),
        "fail" => return Some(Demand::of(Strength::Failure, range)),
        "assertThat"
        | "assertThatThrownBy"
        | "assertThatCode"
        | "assertThatExceptionOfType"
        | "then"
        | "thenThrownBy" => {}
        _ if name.starts_with("assert") => return named(source, &plain(name), &chain.args(at), range),
        _ => return None,
    }
    let subject = chain.args(at);
    if chain.segments.len() == at + 1 {
        return Some(match subject.as_slice() {
            [_, .., matcher] => Demand::of(hamcrest(source, matcher), range),
            _ => Demand::of(Strength::Nothing, range),
        });
    }
    let mut found: Vec<Demand> = Vec::new();
    for index in at + 1..chain.segments.len() {
        let start = range.start;
        let end =
            chain.segments.get(index).and_then(|segment| segment.args.as_ref()).map_or(range.end, |args| args.end + 1);
        let own = chain.segments.get(index).and_then(|segment| segment.name).unwrap_or(start)..end;
        let (strength, error) = fluent(source, chain, index, subject.first());
        if let Some(strength) = strength {
            found.push(Demand {
                strength,
                error,
                range: if found.is_empty() { start..end } else { own },
                by_name: false,
            });
        }
    }
    if found.is_empty() {
        return Some(Demand::of(Strength::Nothing, range));
    }
    Some(found)
}

fn hamcrest(source: &Source, matcher: &Range<usize>) -> Strength {
    let has = |words: &[&str]| matcher.clone().any(|at| words.contains(&source.word(at)));
    if has(&["anything"]) {
        Strength::Nothing
    } else if has(&["notNullValue", "not"]) {
        Strength::Truthy
    } else if has(&["is", "equalTo", "nullValue", "hasSize", "empty"]) {
        Strength::Equal
    } else {
        Strength::Partial
    }
}

/// One step of AssertJ: its strength, or nothing for a step that only describes or selects.
fn fluent(
    source: &Source,
    chain: &Chain<'_>,
    index: usize,
    subject: Option<&Range<usize>>,
) -> (Option<Strength>, bool) {
    let args = chain.args(index);
    let name = chain.name(index);
    let strength = match name {
        "as"
        | "describedAs"
        | "withFailMessage"
        | "overridingErrorMessage"
        | "extracting"
        | "usingRecursiveComparison"
        | "ignoringFields"
        | "asString"
        | "asList"
        | "first"
        | "last"
        | "element"
        | "isThrownBy"
        | "and"
        | "filteredOn"
        | "rootCause"
        | "cause"
        | "" => {
            return (None, false);
        }
        "isEqualTo" | "isSameAs" => match (subject, args.first()) {
            (Some(left), Some(right)) => equal(source, left, right),
            _ => Strength::Equal,
        },
        "isNotEqualTo" => Strength::Unequal,
        "isTrue" | "isFalse" => match subject {
            Some(subject) => super::express::strength(source, subject.clone(), name == "isFalse"),
            None => Strength::Truthy,
        },
        "isGreaterThan"
        | "isGreaterThanOrEqualTo"
        | "isLessThan"
        | "isPositive"
        | "isLessThanOrEqualTo"
        | "isNotZero"
        | "hasSizeGreaterThan" => Strength::Ordered,
        "isNotNull" | "isNotEmpty" | "isPresent" | "isNotBlank" | "doesNotThrowAnyException" => Strength::Truthy,
        "hasSize"
        | "isNull"
        | "isEmpty"
        | "containsExactly"
        | "isZero"
        | "isEqualByComparingTo"
        | "hasToString"
        | "isNullOrEmpty"
        | "hasValue"
        | "containsExactlyInAnyOrder"
        | "isEqualToIgnoringCase" => Strength::Equal,
        "isInstanceOf" | "isExactlyInstanceOf" => {
            let any = args.first().is_some_and(|arg| is_any_error(source.word(arg.start)));
            return (Some(if any { Strength::AnyError } else { Strength::TypedError }), true);
        }
        "hasMessage" | "hasMessageContaining" | "hasMessageStartingWith" | "withMessage" | "withMessageContaining" => {
            return (Some(Strength::ExactError), true);
        }
        _ => Strength::Partial,
    };
    (Some(strength), false)
}
