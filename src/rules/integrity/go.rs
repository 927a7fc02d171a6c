//! Tests of Go: `TestXxx`, subtests, examples, testify suites, build constraints.

use tree_sitter::Node;

use super::model::{Claim, Marker, Strength};
use super::suite::{Collector, Scope, Spec};
use super::syntax::{Class, Source, children, digest_of, is_comment, named};

pub(super) fn collect(collector: &mut Collector<'_>, scope: &Scope) {
    let mut scope = scope.clone();
    scope.skip = collector.suite.constraints.first().cloned();
    for item in named(collector.source.root()) {
        let source = collector.source;
        match item.kind() {
            "function_declaration" | "method_declaration" => function(collector, item, &scope),
            "type_declaration" => {
                for spec in named(item) {
                    let name = source.field(spec, "name").to_owned();
                    collector.symbol(&name, spec, scope.tests);
                }
            }
            _ => {}
        }
    }
}

/// `TestX` is a test; `Testify` is not: the letter after the prefix must not be small.
fn is_test_name(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(|c: char| c.is_lowercase()))
}

fn function(collector: &mut Collector<'_>, item: Node<'_>, scope: &Scope) {
    let source = collector.source;
    let name = source.field(item, "name").to_owned();
    let Some(body) = item.child_by_field_name("body") else { return };
    let parameters = source.field(item, "parameters");
    let method = item.kind() == "method_declaration";
    if name == "TestMain" && !method {
        let runs = source.slice(body).any(|at| source.word(at) == "Run");
        if !runs {
            let marker = collector.marker(item, false);
            collector.suite.loose_skips.push(Marker { text: "TestMain does not call Run".to_owned(), ..marker });
        }
        let _ = collector.around(body, &|_| false);
        return;
    }
    let test = is_test_name(&name, "Test") && (parameters.contains("testing.T") || method || parameters.contains("*T"))
        || is_test_name(&name, "Fuzz") && parameters.contains("testing.F");
    let example = is_test_name(&name, "Example") && parameters == "()";
    if !test && !example || !scope.tests {
        return collector.helper(&name, item, body, scope.tests);
    }
    let mut spec = Spec { name: name.clone(), line: source.line(item), ..Spec::default() };
    if example {
        spec.claims.extend(output(source, body));
    }
    let owner = if method { scope.within(&receiver(source, item)) } else { scope.clone() };
    let mut apart = Vec::new();
    subtests(collector, body, &owner.within(&name), &mut apart);
    collector.test(spec, &owner, Some(body), &|node| apart.contains(&node.id()));
}

fn receiver(source: &Source, item: Node<'_>) -> String {
    let text = source.field(item, "receiver");
    text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !word.is_empty()).unwrap_or("").to_owned()
}

/// `// Output:` at the end of an example is its assertion.
fn output(source: &Source, body: Node<'_>) -> Option<Claim> {
    let mut comments: Vec<Node<'_>> = children(body).into_iter().filter(|child| is_comment(child.kind())).collect();
    if let Some(list) = children(body).into_iter().find(|child| child.kind() == "statement_list") {
        comments.extend(children(list).into_iter().filter(|child| is_comment(child.kind())));
    }
    let first = comments.iter().find(|comment| {
        let text = source.text(**comment).trim_start_matches('/').trim().to_lowercase();
        text.starts_with("output:") || text.starts_with("unordered output:")
    })?;
    let text: String = comments
        .iter()
        .filter(|comment| comment.start_byte() >= first.start_byte())
        .map(|comment| source.text(*comment))
        .collect();
    Some(Claim {
        strength: Strength::Equal,
        digest: digest_of(&text),
        skeleton: digest_of("output"),
        times: 1,
        line: source.line(*first),
        error: false,
        by_name: None,
        slack: None,
        among: false,
    })
}

/// `t.Run("name", func…)` that stands directly in the test.
fn subtests(collector: &mut Collector<'_>, body: Node<'_>, scope: &Scope, apart: &mut Vec<usize>) {
    if scope.too_deep() || !collector.enter() {
        return;
    }
    let source = collector.source;
    let mut statements = named(body);
    if let [list] = statements.as_slice()
        && list.kind() == "statement_list"
    {
        statements = named(*list);
    }
    for statement in statements {
        let call = if statement.kind() == "expression_statement" { statement.named_child(0) } else { None };
        let Some(call) =
            call.filter(|call| call.kind() == "call_expression" && source.field(*call, "function").ends_with(".Run"))
        else {
            continue;
        };
        let arguments = call.child_by_field_name("arguments").map(named).unwrap_or_default();
        let [name, callback] = arguments.as_slice() else { continue };
        let title = source.slice(*name);
        if title.len() != 1 || source.class(title.start) != Some(Class::Literal) || callback.kind() != "func_literal" {
            continue;
        }
        let Some(inner) = callback.child_by_field_name("body") else { continue };
        apart.push(statement.id());
        let name = source.word(title.start).to_owned();
        let mut deeper = Vec::new();
        subtests(collector, inner, &scope.within(&name), &mut deeper);
        let spec = Spec { name, line: source.line(call), ..Spec::default() };
        collector.test(spec, scope, Some(inner), &|node| deeper.contains(&node.id()));
    }
    collector.depth -= 1;
}
