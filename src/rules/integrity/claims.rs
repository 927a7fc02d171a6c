//! Which calls are assertions, and what they demand.

use std::ops::Range;

use super::chain::Chain;
use super::express::{equal, is_literal, judge, pattern, unequal};
use super::model::{Language, Strength};
use super::syntax::{Class, Source};
use super::{claims_java, claims_script};

/// One demand: its strength, whether it expects an error, and the tokens that it is known by.
pub(super) struct Demand {
    pub strength: Strength,
    pub error: bool,
    pub range: Range<usize>,
    /// An assertion by its name only: counted by what the function does, where that is seen.
    pub by_name: bool,
}

impl Demand {
    pub(super) fn of(strength: Strength, range: &Range<usize>) -> Vec<Demand> {
        vec![Demand { strength, error: false, range: range.clone(), by_name: false }]
    }
    pub(super) fn by_name(range: &Range<usize>) -> Vec<Demand> {
        vec![Demand { strength: Strength::Partial, error: false, range: range.clone(), by_name: true }]
    }
    pub(super) fn error(strength: Strength, range: &Range<usize>) -> Vec<Demand> {
        vec![Demand { strength, error: true, range: range.clone(), by_name: false }]
    }
}

/// The demands of a call, or nothing where it is no assertion. `statement`: its value is dropped.
pub(super) fn demands(
    source: &Source,
    chain: &Chain<'_>,
    range: &Range<usize>,
    statement: bool,
) -> Option<Vec<Demand>> {
    match source.language {
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            claims_script::script(source, chain, range, statement)
        }
        Language::Java => claims_java::java(source, chain, range),
        Language::Go => go(source, chain, range),
        Language::Rust => rust(source, chain, range),
        Language::Python => python(source, chain, range),
    }
    .or_else(|| other(source, chain, range, statement))
}

/// A condition of an `assert` of any kind, split into what must hold.
pub(super) fn condition(source: &Source, range: Range<usize>, negated: bool) -> Vec<Demand> {
    judge(source, range, negated)
        .into_iter()
        .map(|(strength, range)| Demand { strength, error: strength == Strength::AnyError, range, by_name: false })
        .collect()
}

pub(super) fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "")
}

/// A name that says that it asserts, of a function that is not seen here.
fn other(source: &Source, chain: &Chain<'_>, range: &Range<usize>, statement: bool) -> Option<Vec<Demand>> {
    let at = (0..chain.segments.len()).find(|at| chain.is_call(*at))?;
    let name = plain(chain.name(at));
    let asserts = name.starts_with("assert") && !matches!(name.as_str(), "asserter");
    let expects = name.starts_with("expect") && name.len() > "expect".len() && source.language != Language::Java;
    let checks = ["check", "verify", "should", "require"]
        .iter()
        .any(|word| name.strip_prefix(word).is_some_and(|rest| !rest.is_empty()));
    let known = asserts || (expects && !(name == "expecterr" && source.language == Language::Rust));
    (known || (checks && statement && at == 0)).then(|| Demand::by_name(range))
}

fn rust(source: &Source, chain: &Chain<'_>, range: &Range<usize>) -> Option<Vec<Demand>> {
    let last = chain.segments.iter().rposition(|segment| segment.bang)?;
    let name = chain.name(last);
    let args = chain.args(last);
    let name = name.strip_prefix("debug_").or_else(|| name.strip_prefix("prop_")).unwrap_or(name);
    Some(match name {
        "assert" | "ensure" | "check" => condition(source, args.first().cloned().unwrap_or(0..0), false),
        "assert_eq" | "assert_str_eq" | "ensure_eq" => pair(source, &args, range, equal),
        "assert_ne" => pair(source, &args, range, unequal),
        "assert_matches" | "assert_let" => Demand::of(pattern(source, &args), range),
        "panic" | "unreachable" => Demand::of(Strength::Failure, range),
        _ if name.starts_with("assert") && name.contains("snapshot") => Demand::of(Strength::Snapshot, range),
        _ => return None,
    })
}

fn pair(
    source: &Source,
    args: &[Range<usize>],
    range: &Range<usize>,
    of: fn(&Source, &Range<usize>, &Range<usize>) -> Strength,
) -> Vec<Demand> {
    let strength = match args {
        [left, right, ..] => of(source, left, right),
        _ => Strength::Partial,
    };
    Demand::of(strength, range)
}

fn python(source: &Source, chain: &Chain<'_>, range: &Range<usize>) -> Option<Vec<Demand>> {
    let at = (0..chain.segments.len()).rev().find(|at| chain.is_call(*at))?;
    let name = plain(chain.name(at));
    if matches!(name.as_str(), "raises" | "warns" | "deprecatedcall") {
        return Some(raises(source, &chain.args(at), range));
    }
    if name == "fail" && matches!(chain.name(0), "pytest" | "self") {
        return Some(Demand::of(Strength::Failure, range));
    }
    named(source, &name, &chain.args(at), range)
}

pub(super) fn raises(source: &Source, args: &[Range<usize>], range: &Range<usize>) -> Vec<Demand> {
    let exact = args.iter().skip(1).any(|arg| source.word(arg.start) == "match");
    let any = args.first().is_none_or(|arg| arg.clone().any(|at| is_any_error(source.word(at))));
    Demand::error(
        if any && exact {
            Strength::TypedError
        } else if any {
            Strength::AnyError
        } else if exact {
            Strength::ExactError
        } else {
            Strength::TypedError
        },
        range,
    )
}

pub(super) fn is_any_error(name: &str) -> bool {
    matches!(name, "Exception" | "BaseException" | "Throwable" | "Error" | "RuntimeException")
}

fn go(source: &Source, chain: &Chain<'_>, range: &Range<usize>) -> Option<Vec<Demand>> {
    let last = (0..chain.segments.len()).rev().find(|at| chain.is_call(*at))?;
    let name = chain.name(last);
    let fails = matches!(name, "Error" | "Errorf" | "Fatal" | "Fatalf" | "Fail" | "FailNow");
    if fails && matches!(chain.name(0), "t" | "b" | "f" | "tb" | "T") && chain.segments.len() == 2 || name == "panic" {
        return Some(Demand::of(Strength::Failure, range));
    }
    let first = chain.name(0);
    if !matches!(first, "assert" | "require" | "is" | "must" | "qt" | "td" | "gomega" | "g") {
        return (first == "Expect").then(|| Demand::of(Strength::Equal, range));
    }
    let mut args = chain.args(last);
    if args.first().is_some_and(|arg| arg.len() == 1 && matches!(source.word(arg.start), "t" | "b" | "tb" | "T")) {
        args.remove(0);
    }
    let mut name = plain(name);
    if name.ends_with('f') && name != "isf" {
        name.pop();
    }
    Some(named(source, &name, &args, range).unwrap_or_else(|| Demand::of(Strength::Partial, range)))
}

/// Assertions that are told by name: JUnit, unittest, testify, node and chai `assert`.
pub(super) fn named(source: &Source, name: &str, args: &[Range<usize>], range: &Range<usize>) -> Option<Vec<Demand>> {
    let name = name.strip_prefix("assertions.").unwrap_or(name);
    let about = || {
        // JUnit 4 puts the message first, the others last.
        let message = args.len() == 2
            && args[0].len() == 1
            && source.class(args[0].start) == Some(Class::Literal)
            && !matches!(source.word(args[0].start), "true" | "false" | "True" | "False");
        args.get(usize::from(message && source.language == Language::Java)).cloned().unwrap_or(0..0)
    };
    let operands = || {
        let message = args.len() == 3
            && source.language == Language::Java
            && args[0].len() == 1
            && source.class(args[0].start) == Some(Class::Literal)
            && !args[2].is_empty()
            && !is_literal(source, &args[2]);
        if message { &args[1..] } else { args }
    };
    Some(match name {
        "assert" | "asserttrue" | "istrue" | "ok" | "assertok" | "true" | "assertistrue" => {
            condition(source, about(), false)
        }
        "assertfalse" | "isfalse" | "notok" | "false" | "isnotok" => condition(source, about(), true),
        "equal"
        | "equals"
        | "strictequal"
        | "deepequal"
        | "deepstrictequal"
        | "isequal"
        | "asserteq"
        | "assertequal"
        | "assertequals"
        | "assertdeepequal"
        | "same"
        | "assertsame"
        | "assertis"
        | "equalvalues"
        | "exactly"
        | "jsoneq"
        | "assertlistequal"
        | "assertdictequal"
        | "assertsetequal"
        | "asserttupleequal"
        | "assertsequenceequal"
        | "assertcountequal"
        | "assertmultilineequal"
        | "assertarrayequals"
        | "assertiterableequals"
        | "elementsmatch"
        | "assertlinesmatch"
        | "assertarrayequal"
        | "assertframeequal"
        | "assertseriesequal"
        | "deepequals"
        | "eql" => pair(source, operands(), range, equal),
        "notequal" | "notequals" | "assertne" | "assertnotequal" | "assertnotequals" | "notstrictequal"
        | "notdeepequal" | "assertnotsame" | "assertisnot" | "notdeepstrictequal" | "notsame" => {
            pair(source, operands(), range, unequal)
        }
        "assertnone" | "assertisnone" | "assertnull" | "isnull" | "isundefined" | "empty" | "assertempty"
        | "isempty" | "len" | "lengthof" | "nil" | "isnil" | "zero" => Demand::of(Strength::Equal, range),
        "noerror" | "noerr" | "assertnotnull" | "assertisnotnone" | "notnil" | "notempty" | "isnotnull" | "exists"
        | "isok" | "isdefined" | "notzero" | "ifrror" | "iferror" | "doesnotthrow" | "assertdoesnotthrow"
        | "notpanics" | "doesnotreject" => Demand::of(Strength::Truthy, range),
        "error" | "assertpanics" | "panics" => Demand::error(Strength::AnyError, range),
        "erroris" | "erroras" => Demand::error(Strength::TypedError, range),
        "errorcontains"
        | "equalerror"
        | "panicswitherror"
        | "panicswithvalue"
        | "assertraisesregex"
        | "assertthrowsexactly"
        | "assertraisesmessage" => Demand::error(Strength::ExactError, range),
        "assertraises" | "assertthrows" | "assertwarns" | "expectthrows" => raises(source, args, range),
        "throws" | "rejects" | "throwsasync" => Demand::error(thrown(source, args.get(1)), range),
        "assertcalled" | "assertcalledonce" | "assertawaited" | "assertnotcalled" => {
            Demand::of(Strength::Called, range)
        }
        "assertcalledwith" | "assertcalledoncewith" | "asserthascalls" | "assertanycall" => {
            Demand::of(Strength::Equal, range)
        }
        "pass" => Demand::of(Strength::Nothing, range),
        "assertgreater" | "assertgreaterequal" | "assertless" | "assertlessequal" | "greater" | "greaterorequal"
        | "less" | "lessorequal" | "isabove" | "isbelow" | "isatleast" | "isatmost" | "positive" => {
            Demand::of(Strength::Ordered, range)
        }
        "fail" | "failnow" => Demand::of(Strength::Failure, range),
        _ if name.starts_with("assert") => Demand::by_name(range),
        _ => return None,
    })
}

/// What `throws(f, this)` demands of the error.
pub(super) fn thrown(source: &Source, expected: Option<&Range<usize>>) -> Strength {
    let Some(expected) = expected else { return Strength::AnyError };
    if expected.len() == 1 && is_any_error(source.word(expected.start)) {
        Strength::AnyError
    } else if expected.len() == 1 && source.class(expected.start) == Some(Class::Word) {
        Strength::TypedError
    } else {
        Strength::ExactError
    }
}
