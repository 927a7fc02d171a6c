//! What a contract may say. Whatever cannot fail, or names nothing, is refused where it is written down.

use std::collections::HashSet;

use crate::domain::contract::{Contract, Criterion, LIMITS, MAX_CRITERIA, Proof};
use crate::domain::refusal::{Code, Refusal};

use super::scope;
use super::verification::due::is_address;
use super::verification::syntax::Format;

/// The longest title, objective or statement, in bytes.
pub const MAX_TEXT_BYTES: usize = 4_000;
/// The longest pattern or literal a criterion searches for, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1_000;
/// The most sources one criterion cites.
pub const MAX_SOURCES: usize = 32;
/// The largest compiled regular expression, in bytes; a larger one would cost more than it tells.
pub const MAX_REGEX_BYTES: usize = 1 << 20;

/// Paths that nobody means: a scope that covers all of them covers everything.
const PROBES: [&str; 4] = ["q7x", ".q7x", "q7x/q7x.q7x", "q7x/.q7x/q7x/q7x"];

/// Accepts `contract`, or names the field that cannot be.
///
/// # Errors
/// `INVALID_VALUE`, `VACUOUS_CRITERION` or `OUT_OF_TREE`, with the field.
pub fn accept(contract: &Contract) -> Result<(), Refusal> {
    text("goal", &contract.goal, 0)?;
    if contract.criteria.len() > MAX_CRITERIA {
        let words = format!("a contract has at most {MAX_CRITERIA} criteria, not {}", contract.criteria.len());
        return Err(Refusal::invalid("criteria", words));
    }
    let mut seen = HashSet::new();
    for (index, criterion) in contract.criteria.iter().enumerate() {
        let field = format!("criteria[{index}]");
        if !seen.insert(&criterion.id) {
            return Err(Refusal::invalid(&format!("{field}.id"), format!("`{}` names two criteria", criterion.id)));
        }
        if criterion.id.as_str() == LIMITS {
            let words = format!("`{LIMITS}` is what the contract's own limits are called");
            return Err(Refusal::invalid(&format!("{field}.id"), words));
        }
        self::criterion(&field, criterion)?;
    }
    scope::compile(&contract.scope).map_err(|why| Refusal::invalid("scope", why))?;
    for (name, list) in [("constraints", &contract.constraints), ("forbidden", &contract.forbidden)] {
        for (index, constraint) in list.iter().enumerate() {
            let field = format!("{name}[{index}]");
            text(&format!("{field}.text"), &constraint.text, 1)?;
            if let Some(enforcer) = &constraint.enforced_by {
                enforces(contract, enforcer).map_err(|why| Refusal::invalid(&format!("{field}.enforced_by"), why))?;
            }
        }
    }
    Ok(())
}

/// The gates that hold whatever the contract says.
const GATES: [&str; 4] = ["task.finish", "commit.close", "publish", "pre-push"];

/// Whether `enforcer` is something that can hold a constraint: nothing is decorative.
fn enforces(contract: &Contract, enforcer: &str) -> Result<(), String> {
    match enforcer.split_once(':') {
        Some(("gate", gate)) if GATES.contains(&gate) => Ok(()),
        Some(("gate", gate)) => Err(format!("`{gate}` is no gate: {}", GATES.join(", "))),
        Some(("check", check)) => {
            let names = |proof: &Proof| matches!(proof, Proof::Check { check: named } if named == check);
            match contract.criteria.iter().any(|criterion| names(&criterion.proof)) {
                true => Ok(()),
                false => Err(format!("no criterion of this contract rests on the check `{check}`")),
            }
        }
        _ if contract.criteria.iter().any(|criterion| criterion.id.as_str() == enforcer) => Ok(()),
        _ => Err(format!("`{enforcer}` is neither a criterion of this contract nor `check:NAME` nor `gate:NAME`")),
    }
}

/// A text of at least `least` and at most [`MAX_TEXT_BYTES`] bytes, without NUL.
///
/// # Errors
/// `INVALID_VALUE` with the field.
pub fn text(field: &str, text: &str, least: usize) -> Result<(), Refusal> {
    if text.trim().len() < least {
        return Err(Refusal::invalid(field, format!("`{field}` is empty")));
    }
    if text.len() > MAX_TEXT_BYTES {
        let words = format!("`{field}` has {} bytes and may have {MAX_TEXT_BYTES}", text.len());
        return Err(Refusal::invalid(field, words));
    }
    if text.contains('\0') {
        return Err(Refusal::invalid(field, format!("`{field}` has a NUL character")));
    }
    Ok(())
}

/// A text in one line, such as a title: nothing that moves a cursor or starts another line.
///
/// # Errors
/// `INVALID_VALUE` with the field.
pub fn line(field: &str, line: &str) -> Result<(), Refusal> {
    text(field, line, 1)?;
    match line.chars().find(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        None => Ok(()),
        Some(c) => {
            let words = format!("`{field}` is one line without control characters, and has {}", c.escape_unicode());
            Err(Refusal::invalid(field, words))
        }
    }
}

fn criterion(field: &str, criterion: &Criterion) -> Result<(), Refusal> {
    if let Proof::Attested { question: Some(question) } | Proof::Judgement { question: Some(question) } =
        &criterion.proof
    {
        text(&format!("{field}.question"), question, 1)?;
    }
    text(&format!("{field}.statement"), &criterion.statement, 1)?;
    match &criterion.proof {
        Proof::Check { check } if check.is_empty() => vacuous(field, "check", "names no check"),
        Proof::Check { .. } => Ok(()),
        Proof::FileExists { path } | Proof::FileAbsent { path } => file(field, path),
        Proof::FileContains { path, text, pattern } => {
            file(field, path)?;
            match (text, pattern) {
                (Some(text), None) => searched(field, "text", text),
                (None, Some(pattern)) if pattern.trim().is_empty() => {
                    vacuous(field, "pattern", "is blank, and is found in nearly everything")
                }
                (None, Some(pattern)) => regex(field, pattern),
                _ => Err(Refusal::invalid(field, "a `file_contains` criterion has either `text` or `pattern`")),
            }
        }
        Proof::SearchNone { pattern, paths } => {
            regex(field, pattern)?;
            scope::compile(paths).map(drop).map_err(|why| Refusal::invalid(&format!("{field}.paths"), why))
        }
        Proof::DiffScope { paths, .. } if paths.is_empty() => vacuous(field, "paths", "covers nothing"),
        Proof::DiffScope { paths, max_files } => {
            let scope = scope::compile(paths).map_err(|why| Refusal::invalid(&format!("{field}.paths"), why))?;
            if max_files.is_none() && PROBES.iter().all(|probe| scope.is_match(probe)) {
                return vacuous(field, "paths", "covers everything, so it cannot fail");
            }
            Ok(())
        }
        Proof::JsonValid { path, .. } | Proof::TomlValid { path } | Proof::YamlValid { path } => file(field, path),
        Proof::Parses { path } => {
            file(field, path)?;
            match Format::of_path(path) {
                Some(_) => Ok(()),
                None => {
                    let words = format!("kctl has no parser for `{path}`; it has them for {}", Format::known());
                    Err(Refusal::invalid(&format!("{field}.path"), words))
                }
            }
        }
        Proof::Citation { sources } => cited(field, sources),
        Proof::Receipt { signer: Some(signer) } => text(&format!("{field}.signer"), signer, 1),
        Proof::Receipt { signer: None } | Proof::Attested { .. } | Proof::Judgement { .. } => Ok(()),
    }
}

fn cited(field: &str, sources: &[String]) -> Result<(), Refusal> {
    if sources.is_empty() {
        return vacuous(field, "sources", "names no source");
    }
    if sources.len() > MAX_SOURCES {
        let words = format!("a citation has at most {MAX_SOURCES} sources, not {}", sources.len());
        return Err(Refusal::invalid(&format!("{field}.sources"), words));
    }
    for (index, source) in sources.iter().enumerate() {
        let field = format!("{field}.sources[{index}]");
        text(&field, source, 1)?;
        if !is_address(source) {
            file(&field, source)?;
        }
    }
    Ok(())
}

fn file(field: &str, path: &str) -> Result<(), Refusal> {
    let field =
        if field.ends_with(']') && !field.contains(".sources") { format!("{field}.path") } else { field.to_owned() };
    if path.trim().is_empty() {
        return vacuous(&field, "path", "names no file");
    }
    if path.ends_with('/') || path.split('/').next_back() == Some(".") {
        return Err(Refusal::new(Code::VACUOUS_CRITERION, format!("`{path}` is a directory; a file is meant"))
            .with("field", field));
    }
    let leaves = path.starts_with('/') || path.split('/').any(|part| part == "..") || path.contains('\0');
    if leaves {
        return Err(Refusal::new(Code::OUT_OF_TREE, format!("`{path}` leaves the tree")).with("field", field));
    }
    // What git keeps about a tree is no part of it, and no candidate carries it.
    if path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(Refusal::new(Code::OUT_OF_TREE, format!("`{path}` is git's own")).with("field", field));
    }
    Ok(())
}

fn searched(field: &str, name: &str, text: &str) -> Result<(), Refusal> {
    if text.is_empty() {
        return vacuous(field, name, "is found in everything");
    }
    if name == "text" && text.trim().is_empty() {
        return vacuous(field, name, "is blank, and is found in nearly everything");
    }
    if text.len() > MAX_PATTERN_BYTES {
        let words = format!("`{name}` has {} bytes and may have {MAX_PATTERN_BYTES}", text.len());
        return Err(Refusal::invalid(&format!("{field}.{name}"), words));
    }
    Ok(())
}

fn regex(field: &str, pattern: &str) -> Result<(), Refusal> {
    searched(field, "pattern", pattern)?;
    let compiled = compile(pattern).map_err(|why| Refusal::invalid(&format!("{field}.pattern"), why))?;
    if compiled.is_match(b"") {
        return vacuous(field, "pattern", "matches the empty text, so it is found in everything");
    }
    Ok(())
}

/// Compiles a criterion's pattern: Rust's regular expressions, line by line, over bytes.
///
/// # Errors
/// In words.
pub fn compile(pattern: &str) -> Result<regex::bytes::Regex, String> {
    regex::bytes::RegexBuilder::new(pattern)
        .multi_line(true)
        .size_limit(MAX_REGEX_BYTES)
        .build()
        .map_err(|why| format!("`{pattern}` is not a regular expression: {why}"))
}

fn vacuous(field: &str, name: &str, why: &str) -> Result<(), Refusal> {
    let field = if field.ends_with(name) { field.to_owned() } else { format!("{field}.{name}") };
    Err(Refusal::new(Code::VACUOUS_CRITERION, format!("`{field}` {why}")).with("field", field))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(proof: Proof) -> Contract {
        let id = "AC-1".parse().expect("a legal id");
        let criterion = Criterion { id, statement: "it holds".to_owned(), required: true, proof };
        Contract { criteria: vec![criterion], ..Contract::default() }
    }

    fn code(proof: Proof) -> Option<Code> {
        accept(&with(proof)).err().map(|refusal| refusal.code())
    }

    #[test]
    fn a_criterion_that_cannot_fail_is_refused_with_its_field() {
        let s = str::to_owned;
        for proof in [
            Proof::Check { check: s("") },
            Proof::FileExists { path: s(" ") },
            Proof::FileExists { path: s("src/") },
            Proof::FileExists { path: s("src/.") },
            Proof::DiffScope { paths: vec![s("*"), s("*/**")], max_files: None },
            Proof::FileContains { path: s("a"), text: Some(s("")), pattern: None },
            Proof::FileContains { path: s("a"), text: Some(s(" \t\n")), pattern: None },
            Proof::FileContains { path: s("a"), text: None, pattern: Some(s("  ")) },
            Proof::FileContains { path: s("a"), text: None, pattern: Some(s("x*")) },
            Proof::SearchNone { pattern: s(""), paths: vec![] },
            Proof::DiffScope { paths: vec![], max_files: None },
            Proof::DiffScope { paths: vec![s("**")], max_files: None },
        ] {
            let refusal = accept(&with(proof.clone())).expect_err("it is vacuous");
            assert_eq!(refusal.code(), Code::VACUOUS_CRITERION, "{proof:?}");
            assert!(refusal.details()["field"].as_str().is_some_and(|field| field.starts_with("criteria[0].")));
        }
    }

    #[test]
    fn a_path_that_leaves_the_tree_is_refused() {
        for path in ["/etc/passwd", "../x", "a/../../b"] {
            assert_eq!(code(Proof::FileExists { path: path.to_owned() }), Some(Code::OUT_OF_TREE), "{path}");
        }
    }

    #[test]
    fn one_of_text_and_pattern_is_given() {
        let both = Proof::FileContains { path: "a".into(), text: Some("x".into()), pattern: Some("x".into()) };
        assert_eq!(code(both), Some(Code::INVALID_VALUE));
        let hostile = Proof::SearchNone { pattern: "(a{1000}){1000}".into(), paths: vec![] };
        assert_eq!(code(hostile), Some(Code::INVALID_VALUE));
    }
}
