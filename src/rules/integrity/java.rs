//! Tests of Java: JUnit 3 to 5, TestNG.

use tree_sitter::Node;

use super::body::short;
use super::length::length;
use super::model::{Marker, Strength, Unread};
use super::rust::outside;
use super::suite::{Collector, Scope, Spec};
use super::syntax::{Source, child_of_kind, children, named};

const TESTS: [&str; 7] =
    ["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate", "Property", "Theory"];

pub(super) fn collect(collector: &mut Collector<'_>, scope: &Scope) {
    classes(collector, collector.source.root(), scope);
}

fn classes(collector: &mut Collector<'_>, node: Node<'_>, scope: &Scope) {
    if !collector.enter() {
        return;
    }
    for child in named(node) {
        if matches!(
            child.kind(),
            "class_declaration" | "interface_declaration" | "record_declaration" | "enum_declaration"
        ) {
            class(collector, child, scope);
        }
    }
    collector.depth -= 1;
}

/// An annotation: its name, its node.
type Annotation<'t> = (String, Node<'t>);

fn annotations<'t>(source: &Source, node: Node<'t>) -> Vec<Annotation<'t>> {
    let Some(modifiers) = child_of_kind(node, "modifiers") else { return Vec::new() };
    children(modifiers)
        .into_iter()
        .filter(|child| matches!(child.kind(), "marker_annotation" | "annotation"))
        .map(|child| (source.field(child, "name").rsplit('.').next().unwrap_or("").to_owned(), child))
        .collect()
}

fn has_modifier(source: &Source, node: Node<'_>, word: &str) -> bool {
    child_of_kind(node, "modifiers")
        .is_some_and(|modifiers| children(modifiers).into_iter().any(|child| source.text(child) == word))
}

fn skips(source: &Source, annotations: &[Annotation<'_>]) -> Option<Marker> {
    annotations.iter().find_map(|(name, node)| {
        let marker = |conditional| {
            Some(Marker { text: short(source.text(*node)), line: source.line(*node), conditional, inherited: false })
        };
        match name.as_str() {
            "Disabled" | "Ignore" | "Ignored" => marker(false),
            "Test" if value_of(source, *node, "enabled").is_some_and(|value| source.text(value) == "false") => {
                marker(false)
            }
            _ if name.starts_with("EnabledIf")
                || name.starts_with("DisabledIf")
                || name.starts_with("EnabledOn")
                || name.starts_with("DisabledOn") =>
            {
                marker(true)
            }
            _ if name.starts_with("EnabledFor")
                || name.starts_with("DisabledFor")
                || name.starts_with("DisabledIn")
                || name.starts_with("EnabledIn") =>
            {
                marker(true)
            }
            _ => None,
        }
    })
}

/// The value of an element of an annotation; `value` is the one without a name.
fn value_of<'t>(source: &Source, annotation: Node<'t>, key: &str) -> Option<Node<'t>> {
    let arguments = annotation.child_by_field_name("arguments")?;
    named(arguments).into_iter().find_map(|argument| {
        if argument.kind() == "element_value_pair" {
            return (source.field(argument, "key") == key).then(|| argument.child_by_field_name("value")).flatten();
        }
        (key == "value").then_some(argument)
    })
}

fn class(collector: &mut Collector<'_>, node: Node<'_>, scope: &Scope) {
    let source = collector.source;
    let name = source.field(node, "name").to_owned();
    let Some(body) = node.child_by_field_name("body") else { return };
    let own = annotations(source, node);
    let mut inner = scope.within(&name);
    if inner.too_deep() {
        collector.suite.unread = Some(Unread::TooDeep);
        return;
    }
    inner.skip = skips(source, &own).or(inner.skip);
    if has_modifier(source, node, "abstract") && inner.skip.is_none() {
        inner.skip = Some(Marker {
            text: "an abstract class does not run".to_owned(),
            line: source.line(node),
            conditional: true,
            inherited: false,
        });
    }
    let old_style = source.field(node, "superclass").contains("TestCase");
    collector.symbol(&name, node, scope.tests);
    for member in named(body) {
        if member.kind() == "method_declaration" {
            method(collector, member, &inner, old_style, body);
        }
    }
    classes(collector, body, &inner);
}

fn method(collector: &mut Collector<'_>, node: Node<'_>, scope: &Scope, old_style: bool, class: Node<'_>) {
    let source = collector.source;
    let name = source.field(node, "name").to_owned();
    let Some(body) = node.child_by_field_name("body") else { return };
    let own = annotations(source, node);
    let test = own.iter().any(|(name, _)| TESTS.contains(&name.as_str())) || (old_style && name.starts_with("test"));
    if !test {
        collector.helper(&name, node, body, scope.tests);
        return hook(collector, &own, scope);
    }
    let mut spec = Spec { name, line: source.line(node), skip: skips(source, &own), ..Spec::default() };
    if has_modifier(source, node, "private") && spec.skip.is_none() {
        spec.skip = Some(Marker {
            text: "a private method does not run".to_owned(),
            line: source.line(node),
            conditional: false,
            inherited: false,
        });
    }
    for (name, annotation) in &own {
        let expected =
            value_of(source, *annotation, "expected").or_else(|| value_of(source, *annotation, "expectedExceptions"));
        if let Some(expected) = expected.filter(|_| name == "Test") {
            let text = source.text(expected).trim_matches(['{', '}', ' ']);
            let any = matches!(text, "Exception.class" | "Throwable.class" | "RuntimeException.class");
            spec.claims.push(outside(source, *annotation, if any { Strength::AnyError } else { Strength::TypedError }));
            spec.xfail = Some(Marker {
                text: short(source.text(*annotation)),
                line: source.line(*annotation),
                conditional: false,
                inherited: false,
            });
        }
        if let Some(count) = cases(collector, name, *annotation, class) {
            spec.cases = Some(spec.cases.unwrap_or(0).saturating_add(count));
        } else if name.ends_with("Source") {
            spec.uncounted = true;
        }
    }
    collector.test(spec, scope, Some(body), &|_| false);
}

/// `@BeforeEach` that aborts does so for every test of its class.
fn hook(collector: &mut Collector<'_>, own: &[Annotation<'_>], scope: &Scope) {
    if !own.iter().any(|(name, _)| name.starts_with("Before")) {
        return;
    }
    let Some(marker) = collector.suite.helpers.last().and_then(|helper| helper.skips.first().cloned()) else { return };
    collector.hook(&scope.path, marker);
}

fn cases(collector: &Collector<'_>, name: &str, annotation: Node<'_>, class: Node<'_>) -> Option<u32> {
    let source = collector.source;
    let count = |node: Node<'_>| match node.kind() {
        "element_value_array_initializer" | "array_initializer" => u32::try_from(named(node).len()).ok(),
        _ => Some(1),
    };
    match name {
        "ValueSource" => {
            let arguments = annotation.child_by_field_name("arguments")?;
            named(arguments).first().and_then(|pair| pair.child_by_field_name("value")).and_then(count)
        }
        "CsvSource" => {
            if let Some(block) = value_of(source, annotation, "textBlock") {
                return u32::try_from(source.text(block).lines().filter(|line| line.contains(',')).count()).ok();
            }
            value_of(source, annotation, "value").and_then(count)
        }
        "EnumSource" => value_of(source, annotation, "names").and_then(count),
        "MethodSource" => {
            supplied(collector, source.text(value_of(source, annotation, "value")?).trim_matches('"'), class)
        }
        "Test" => {
            supplied(collector, source.text(value_of(source, annotation, "dataProvider")?).trim_matches('"'), class)
        }
        "RepeatedTest" => source.text(value_of(source, annotation, "value")?).parse().ok(),
        _ => None,
    }
}

/// The number of elements that a method returns which supplies cases.
fn supplied(collector: &Collector<'_>, name: &str, class: Node<'_>) -> Option<u32> {
    let source = collector.source;
    let method = named(class).into_iter().find(|member| {
        member.kind() == "method_declaration"
            && (source.field(*member, "name") == name
                || annotations(source, *member).iter().any(|(kind, node)| {
                    kind == "DataProvider"
                        && value_of(source, *node, "name")
                            .is_some_and(|value| source.text(value).trim_matches('"') == name)
                }))
    })?;
    let body = method.child_by_field_name("body")?;
    let returned =
        named(body).into_iter().rev().find(|statement| statement.kind() == "return_statement")?.named_child(0)?;
    length(source, returned, &|name| collector.tables.get(name).copied())
}
