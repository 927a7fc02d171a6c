//! Tests of Rust: attributes, modules, `proptest!`, and macros that make tests.

use std::ops::Range;

use tree_sitter::Node;

use super::body::{Walk, short};
use super::chain::{find, split};
use super::model::{Claim, Language, Marker, Strength};
use super::suite::{Collector, Scope, Spec, built, with_attributes};
use super::syntax::{Class, Source, child_of_kind};

const TEST_ATTRIBUTES: [&str; 9] = [
    "test",
    "rstest",
    "test_case",
    "wasm_bindgen_test",
    "quickcheck",
    "proptest",
    "parameterized",
    "test_matrix",
    "bench",
];

pub(super) fn collect(collector: &mut Collector<'_>, scope: &Scope) {
    let mut scope = scope.clone();
    let root = collector.source.root();
    for child in super::syntax::named(root) {
        if child.kind() == "inner_attribute_item" {
            let read = Attribute::read(collector.source, child);
            if let Some(marker) = read.condition(collector.source, child) {
                scope.skip = Some(marker);
            }
            silenced(collector, child, &read);
        }
    }
    items(collector, root, &scope);
}

fn items(collector: &mut Collector<'_>, node: Node<'_>, scope: &Scope) {
    if !collector.enter() {
        return;
    }
    for (attributes, item) in with_attributes(node) {
        let read: Vec<Attribute> = attributes.iter().map(|found| Attribute::read(collector.source, *found)).collect();
        for (node, attribute) in attributes.iter().zip(&read) {
            if !scope.tests {
                silenced(collector, *node, attribute);
            }
        }
        one(collector, item, &attributes, &read, scope);
    }
    collector.depth -= 1;
}

fn one(collector: &mut Collector<'_>, item: Node<'_>, attributes: &[Node<'_>], read: &[Attribute], scope: &Scope) {
    let source = collector.source;
    let name = source.field(item, "name").to_owned();
    let condition = attributes.iter().zip(read).find_map(|(node, attribute)| attribute.condition(source, *node));
    let for_tests = read.iter().any(|attribute| attribute.name == "cfg" && attribute.mentions(source, "test"));
    match item.kind() {
        "mod_item" => {
            let mut inner = scope.within(&name);
            inner.tests = scope.tests || for_tests || matches!(name.as_str(), "tests" | "test");
            inner.skip = condition.or(inner.skip);
            match item.child_by_field_name("body") {
                Some(body) => items(collector, body, &inner),
                None if inner.tests => collector.suite.modules.push((name, source.line(item))),
                None => {}
            }
        }
        "impl_item" | "trait_item" => {
            if let Some(body) = item.child_by_field_name("body") {
                items(collector, body, &Scope { skip: condition.or_else(|| scope.skip.clone()), ..scope.clone() });
            }
            if item.kind() == "trait_item" {
                collector.symbol(&name, item, scope.tests);
            }
        }
        "function_item" => function(collector, item, attributes, read, condition, scope),
        "macro_definition" => {
            if let Some(rule) = child_of_kind(item, "macro_rule") {
                collector.helper(&name, item, rule, scope.tests);
                macro_claims(collector, item);
            }
        }
        "macro_invocation" => generated(collector, item, scope),
        "expression_statement" => {
            if let Some(call) = child_of_kind(item, "macro_invocation") {
                generated(collector, call, scope);
            }
        }
        "struct_item" | "enum_item" | "const_item" | "static_item" | "type_item" => {
            collector.symbol(&name, item, scope.tests)
        }
        _ => {}
    }
}

fn function(
    collector: &mut Collector<'_>,
    item: Node<'_>,
    attributes: &[Node<'_>],
    read: &[Attribute],
    condition: Option<Marker>,
    scope: &Scope,
) {
    let source = collector.source;
    let name = source.field(item, "name").to_owned();
    let Some(body) = item.child_by_field_name("body") else { return };
    if !read.iter().any(|attribute| TEST_ATTRIBUTES.contains(&attribute.name.as_str())) {
        return collector.helper(&name, item, body, scope.tests);
    }
    let mut spec = Spec { name, line: source.line(item), skip: condition, ..Spec::default() };
    let mut cases = 0u32;
    for (node, attribute) in attributes.iter().zip(read) {
        let marker = || Marker {
            text: short(source.text(*node)),
            line: source.line(*node),
            conditional: false,
            inherited: false,
        };
        match attribute.name.as_str() {
            "ignore" => spec.skip = Some(marker()),
            "cfg_attr" if attribute.mentions(source, "ignore") => {
                spec.skip = Some(Marker { conditional: true, ..marker() })
            }
            "should_panic" => {
                let exact = attribute.mentions(source, "expected");
                spec.xfail = Some(marker());
                spec.claims.push(outside(source, *node, if exact { Strength::ExactError } else { Strength::AnyError }));
            }
            "case" | "test_case" => cases = cases.saturating_add(1),
            _ => {}
        }
    }
    let values = item.child_by_field_name("parameters").map_or(1, |node| values(source, source.slice(node)));
    if cases > 0 || values > 1 {
        spec.cases = Some(cases.max(1).saturating_mul(values));
    }
    collector.test(spec, scope, Some(body), &|_| false);
}

/// An assertion that stands in an attribute.
pub(super) fn outside(source: &Source, node: Node<'_>, strength: Strength) -> Claim {
    let range = source.slice(node);
    Claim {
        strength,
        digest: source.digest(range.clone(), true),
        skeleton: source.digest(range, false),
        times: 1,
        line: source.line(node),
        error: true,
        by_name: None,
        slack: None,
        among: false,
    }
}

/// The product of the `#[values(…)]` lists among the parameters.
fn values(source: &Source, range: Range<usize>) -> u32 {
    range
        .clone()
        .filter(|at| source.word(*at) == "values" && source.word(*at + 1) == "(")
        .map(|at| u32::try_from(split(source, at + 2..source.close(at + 1), &[","]).len()).unwrap_or(1).max(1))
        .fold(1, u32::saturating_mul)
}

struct Attribute {
    /// The last name of its path.
    name: String,
    args: Range<usize>,
}

impl Attribute {
    fn read(source: &Source, node: Node<'_>) -> Attribute {
        let range = source.slice(node);
        let open = range.clone().find(|at| source.word(*at) == "[").map_or(range.start, |at| at + 1);
        let stop = find(source, open..range.end, &["=", "(", "]"]).unwrap_or(range.end);
        let name =
            (open..stop).rev().find(|at| source.class(*at) == Some(Class::Word)).map_or("", |at| source.word(at));
        let case = (open..stop).any(|at| source.word(at) == "case");
        let args = if source.word(stop) == "(" { stop + 1..source.close(stop).max(stop + 1) } else { stop..range.end };
        Attribute { name: if case { "case".to_owned() } else { name.to_owned() }, args }
    }
    fn mentions(&self, source: &Source, word: &str) -> bool {
        self.args.clone().any(|at| source.word(at) == word)
    }
    /// `cfg(…)` that is more than `cfg(test)`.
    fn condition(&self, source: &Source, node: Node<'_>) -> Option<Marker> {
        let words: Vec<&str> = self.args.clone().map(|at| source.word(at)).collect();
        if self.name != "cfg" || words.as_slice() == ["test"] || words.starts_with(&["debug_assertions"]) {
            return None;
        }
        let never = matches!(words.as_slice(), ["any", "(", ")"] | ["FALSE" | "false" | "never"])
            || words.windows(3).any(|window| window == ["any", "(", ")"])
            || words.as_slice() == ["not", "(", "test", ")"];
        Some(Marker { text: short(source.text(node)), line: source.line(node), conditional: !never, inherited: false })
    }
}

fn silenced(collector: &mut Collector<'_>, node: Node<'_>, attribute: &Attribute) {
    if matches!(attribute.name.as_str(), "allow" | "expect") {
        let marker = collector.marker(node, false);
        collector.suite.suppressions.push(marker);
    }
}

/// The assertions in a macro's own rules.
fn macro_claims(collector: &mut Collector<'_>, item: Node<'_>) {
    let source = collector.source;
    let range = source.slice(item);
    let claims: Vec<Claim> = range
        .filter(|at| source.word(*at).starts_with("assert") && source.word(*at + 1) == "!")
        .map(|at| Claim {
            strength: if source.word(at) == "assert_eq" { Strength::Equal } else { Strength::Partial },
            digest: source.digest(at..source.close(at + 2).max(at), true),
            skeleton: source.digest(at..source.close(at + 2).max(at), false),
            times: 1,
            line: source.line(item),
            error: false,
            by_name: None,
            slack: None,
            among: false,
        })
        .collect();
    if let Some(symbol) = collector.suite.helpers.last_mut() {
        symbol.claims = claims;
    }
}

/// Tests inside a macro: `proptest! { #[test] fn … }`.
fn generated(collector: &mut Collector<'_>, call: Node<'_>, scope: &Scope) {
    let source = collector.source;
    let range = source.slice(call);
    let mut found = false;
    let mut at = range.start;
    while at < range.end {
        if source.word(at) == "fn" && source.class(at + 1) == Some(Class::Word) && source.word(at + 2) == "(" {
            let body = source.close(at + 2) + 1;
            let body = (body..range.end.min(body + 12)).find(|index| source.word(*index) == "{").unwrap_or(body);
            let attributes = attributes_before(source, range.start, at);
            if source.word(body) == "{" && attributes.iter().any(|text| TEST_ATTRIBUTES.contains(&text.0.as_str())) {
                from_tokens(collector, at + 1, body, &attributes, scope);
                found = true;
            }
            at = body;
        }
        at += 1;
    }
    // `my_test!(name, input, expected);` where a macro of this file makes a test of it.
    let macro_name = source.field(call, "macro");
    let makes_tests = collector
        .suite
        .helpers
        .iter()
        .any(|helper| helper.name == macro_name && helper.calls.is_empty() && !helper.claims.is_empty());
    if !found && makes_tests && scope.tests {
        let first = range
            .clone()
            .skip(3)
            .find(|at| source.class(*at).is_some_and(|class| class != Class::Mark))
            .map_or("", |at| source.word(at));
        let name = format!("{macro_name}! {first}");
        let spec = Spec { name, line: source.line(call), ..Spec::default() };
        collector.test(spec, scope, Some(call), &|_| false);
    }
}

fn attributes_before(source: &Source, start: usize, at: usize) -> Vec<(String, u32)> {
    let mut out = Vec::new();
    let mut index = at;
    while index > start + 2 && source.word(index - 1) == "]" {
        let close = index - 1;
        let Some(open) =
            (start..close).rev().take(64).find(|open| source.word(*open) == "[" && source.close(*open) == close)
        else {
            break;
        };
        let name = (open + 1..close)
            .take_while(|at| source.word(*at) != "(" && source.word(*at) != "=")
            .last()
            .map_or("", |at| source.word(at));
        out.push((name.to_owned(), 0));
        index = open.saturating_sub(1);
    }
    out
}

/// A function whose tokens stand in a macro: its body is parsed by itself.
fn from_tokens(
    collector: &mut Collector<'_>,
    name_at: usize,
    body_at: usize,
    attributes: &[(String, u32)],
    scope: &Scope,
) {
    let source = collector.source;
    let (Some(first), Some(last)) = (source.tokens.get(body_at), source.tokens.get(source.close(body_at))) else {
        return;
    };
    let text = source.text.get(first.start as usize..last.end as usize).unwrap_or("");
    let line = u32::try_from(source.text.get(..first.start as usize).unwrap_or("").matches('\n').count()).unwrap_or(0);
    let Ok(mut inner) = Source::parse(Language::Rust, format!("fn x() {text}").as_bytes()) else { return };
    inner.line_offset = line;
    let Some(body) = inner.root().named_child(0).and_then(|item| item.child_by_field_name("body")) else { return };
    let marker =
        |text: &str| Marker { text: format!("#[{text}]"), line: line + 1, conditional: false, inherited: false };
    let has = |name: &str| attributes.iter().any(|(text, _)| text == name);
    let spec = Spec {
        name: source.word(name_at).to_owned(),
        line: line + 1,
        skip: has("ignore").then(|| marker("ignore")),
        xfail: has("should_panic").then(|| marker("should_panic")),
        ..Spec::default()
    };
    let walked = Walk::new(&inner, collector.tables, &|_| false).run(body);
    let (test, exits) = built(&inner, spec, scope, Some((body, walked)));
    collector.add(test, exits);
}
