//! Tests of Python: pytest functions and classes, unittest.

use std::ops::Range;

use tree_sitter::Node;

use super::body::short;
use super::chain::Chain;
use super::express::constant;
use super::length::length;
use super::model::{Marker, Strength};
use super::rust::outside;
use super::suite::{Collector, Scope, Spec};
use super::syntax::{Source, children, named};

pub(super) fn collect(collector: &mut Collector<'_>, scope: &Scope) {
    let root = collector.source.root();
    let mut scope = scope.clone();
    module_marks(collector, root, &mut scope);
    block(collector, root, &scope, false);
    let source = collector.source;
    let loose = collector.around(root, &|node| {
        matches!(node.kind(), "function_definition" | "class_definition" | "decorated_definition")
            || (node.kind() == "if_statement" && source.field(node, "condition").contains("__name__"))
    });
    if let Some(marker) = loose {
        for test in &mut collector.suite.tests {
            test.skipped.get_or_insert(Marker { inherited: true, ..marker.clone() });
        }
        collector.suite.loose_skips.push(marker);
    }
}

/// `pytestmark = …` and `__test__ = False`.
fn module_marks(collector: &mut Collector<'_>, node: Node<'_>, scope: &mut Scope) {
    let source = collector.source;
    for statement in named(node) {
        let Some(assignment) = statement
            .named_child(0)
            .filter(|inner| statement.kind() == "expression_statement" && inner.kind() == "assignment")
        else {
            continue;
        };
        let Some(right) = assignment.child_by_field_name("right") else { continue };
        match source.field(assignment, "left") {
            "pytestmark" => {
                let marks = if right.kind() == "list" { named(right) } else { vec![right] };
                for mark in marks {
                    apply(source, mark, &mut scope.skip, &mut scope.xfail);
                }
            }
            "__test__" if source.text(right) == "False" => scope.skip = Some(collector.marker(assignment, false)),
            _ => {}
        }
    }
}

/// Reads one mark: a skip or an expected failure.
fn apply(source: &Source, mark: Node<'_>, skip: &mut Option<Marker>, xfail: &mut Option<Marker>) {
    let range = source.slice(mark);
    let start = if source.word(range.start) == "@" { range.start + 1 } else { range.start };
    let chain = Chain::read(source, &(start..range.end));
    let Some(last) = chain.segments.len().checked_sub(1) else { return };
    let name = chain.name(last).to_lowercase();
    let args = chain.args(last);
    let conditional = !args.is_empty() && !is_text(source, &args[0]) && source.word(args[0].start) != "reason";
    let known = args.first().filter(|_| conditional).and_then(|arg| constant(source, arg.clone(), 0));
    let marker = Marker {
        text: short(source.text(mark)),
        line: source.line(mark),
        conditional: conditional && known.is_none(),
        inherited: false,
    };
    match name.as_str() {
        "skipif" if known == Some(false) => {}
        "skipunless" if known == Some(true) => {}
        "skip" | "skipif" | "skipunless" => *skip = Some(marker),
        "xfail" | "expectedfailure" if known != Some(false) => *xfail = Some(marker),
        _ if ["skip", "disable", "quarantine"].iter().any(|word| name.contains(word)) => {
            *skip = Some(Marker { conditional: true, ..marker });
        }
        _ => {}
    }
}

fn is_text(source: &Source, range: &Range<usize>) -> bool {
    source.class(range.start) == Some(super::syntax::Class::Literal)
        && range.len() == 1
        && !matches!(source.word(range.start), "True" | "False")
}

fn block(collector: &mut Collector<'_>, node: Node<'_>, scope: &Scope, class: bool) {
    if !collector.enter() {
        return;
    }
    for child in named(node) {
        statement(collector, child, scope, class);
    }
    collector.depth -= 1;
}

fn statement(collector: &mut Collector<'_>, node: Node<'_>, scope: &Scope, class: bool) {
    let source = collector.source;
    match node.kind() {
        "decorated_definition" => {
            let decorators: Vec<Node<'_>> =
                children(node).into_iter().filter(|child| child.kind() == "decorator").collect();
            if let Some(definition) = node.child_by_field_name("definition") {
                define(collector, definition, &decorators, scope, class);
            }
        }
        "function_definition" | "class_definition" => define(collector, node, &[], scope, class),
        "if_statement" => conditional(collector, node, scope, class),
        "try_statement" | "with_statement" | "else_clause" | "except_clause" | "finally_clause" | "elif_clause"
        | "for_statement" => {
            for child in named(node) {
                if child.kind() == "block" {
                    block(collector, child, scope, class);
                } else if child.kind().ends_with("_clause") {
                    statement(collector, child, scope, class);
                }
            }
        }
        "expression_statement" => rebind(collector, node, scope),
        "delete_statement" => {
            let gone: Vec<&str> = source.slice(node).map(|at| source.word(at)).collect();
            collector.suite.tests.retain(|test| !gone.contains(&test.name.as_str()));
            gone.iter().for_each(|name| replaced(collector, scope, name));
        }
        // A name that was a test's, or a class of tests, now means another.
        "import_statement" | "import_from_statement" => {
            let skip = usize::from(node.kind() == "import_from_statement");
            for item in named(node).into_iter().skip(skip) {
                let alias = source.field(item, "alias");
                replaced(collector, scope, if alias.is_empty() { source.text(item) } else { alias });
            }
        }
        _ => {}
    }
}

/// Definitions under a condition that never holds do not exist.
fn conditional(collector: &mut Collector<'_>, node: Node<'_>, scope: &Scope, class: bool) {
    let source = collector.source;
    let Some(test) = node.child_by_field_name("condition") else { return };
    let known = constant(source, source.slice(test), 0);
    for child in named(node) {
        if child.kind() == "block" {
            let mut inner = scope.clone();
            if known == Some(false) {
                inner.skip = Some(Marker {
                    text: format!("if {}", short(source.text(test))),
                    line: source.line(test),
                    conditional: false,
                    inherited: false,
                });
            }
            block(collector, child, &inner, class);
        } else if child.kind().ends_with("_clause") {
            statement(collector, child, scope, class);
        }
    }
}

/// `test_x = None`, `test_x.__test__ = False`.
fn rebind(collector: &mut Collector<'_>, node: Node<'_>, scope: &Scope) {
    let source = collector.source;
    let Some(assignment) = node.named_child(0).filter(|inner| inner.kind() == "assignment") else { return };
    let left = source.field(assignment, "left").to_owned();
    let right = source.field(assignment, "right");
    if let Some(name) = left.strip_suffix(".__test__") {
        let marker = collector.marker(assignment, false);
        if right == "False" {
            let owner = format!("{name} > ");
            collector
                .suite
                .tests
                .iter_mut()
                .filter(|test| test.name == name || test.id.starts_with(&owner))
                .for_each(|test| test.skipped = Some(marker.clone()));
        }
        return;
    }
    replaced(collector, scope, &left.replace('.', " > "));
}

/// What stood under a name before is not there any more, nor what is inside of it.
fn replaced(collector: &mut Collector<'_>, scope: &Scope, name: &str) {
    let mut id = scope.path.clone();
    id.push(name.to_owned());
    let id = id.join(" > ");
    let within = format!("{id} > ");
    collector.suite.tests.retain(|test| test.id != id && !test.id.starts_with(&within));
}

fn define(collector: &mut Collector<'_>, node: Node<'_>, decorators: &[Node<'_>], scope: &Scope, class: bool) {
    let source = collector.source;
    let name = source.field(node, "name").to_owned();
    let Some(body) = node.child_by_field_name("body") else { return };
    let (mut skip, mut xfail) = (None, None);
    for decorator in decorators {
        apply(source, *decorator, &mut skip, &mut xfail);
    }
    if node.kind() == "class_definition" {
        replaced(collector, scope, &name);
        let bases = source.field(node, "superclasses");
        let unittest = bases.contains("Test") || bases.contains("Case");
        let mut inner = scope.within(&name);
        inner.skip = skip.or(inner.skip);
        inner.xfail = xfail.or(inner.xfail);
        module_marks(collector, body, &mut inner);
        let init = named(body)
            .into_iter()
            .find(|child| child.kind() == "function_definition" && source.field(*child, "name") == "__init__");
        if let Some(init) = init.filter(|_| !unittest && name.starts_with("Test")) {
            inner.skip = Some(Marker {
                text: "a class with `__init__` is not collected".to_owned(),
                line: source.line(init),
                conditional: false,
                inherited: false,
            });
        }
        if name.starts_with("Test") || unittest || bases.len() > 2 && scope.tests && bases != "(object)" {
            block(collector, body, &inner, true);
        } else {
            collector.symbol(&name, node, scope.tests);
            plain_methods(collector, body, scope);
        }
        return;
    }
    if name.starts_with("test") && (scope.tests || class) {
        let mut spec = Spec { name, line: source.line(node), skip, xfail, ..Spec::default() };
        cases(collector, decorators, &mut spec);
        return collector.test(spec, scope, Some(body), &|_| false);
    }
    collector.helper(&name, node, body, scope.tests);
    let hook = matches!(
        name.as_str(),
        "setUp"
            | "setup_method"
            | "setUpClass"
            | "setup"
            | "setup_module"
            | "setup_class"
            | "setup_function"
            | "setUpModule"
            | "asyncSetUp"
    );
    let fixture = decorators.iter().any(|decorator| {
        let text = source.text(*decorator);
        text.contains("fixture") && text.contains("autouse")
    });
    let hooked = name.starts_with("pytest_");
    if (hook || fixture || hooked)
        && let Some(marker) = collector.suite.helpers.last().and_then(|helper| helper.skips.first().cloned())
    {
        collector.hook(&scope.path, marker);
    }
}

fn plain_methods(collector: &mut Collector<'_>, body: Node<'_>, scope: &Scope) {
    for child in named(body) {
        let child = if child.kind() == "decorated_definition" {
            child.child_by_field_name("definition").unwrap_or(child)
        } else {
            child
        };
        if child.kind() == "function_definition"
            && let Some(inner) = child.child_by_field_name("body")
        {
            let name = collector.source.field(child, "name").to_owned();
            collector.helper(&name, child, inner, scope.tests);
        }
    }
}

/// `parametrize` lists multiply; cases that are marked as skipped or failing do not count.
fn cases(collector: &Collector<'_>, decorators: &[Node<'_>], spec: &mut Spec) {
    let source = collector.source;
    for decorator in decorators {
        let Some(call) = decorator.named_child(0).filter(|call| call.kind() == "call") else { continue };
        let function = source.field(call, "function");
        if function.ends_with("parameterized.expand") || function.ends_with("parametrize") {
            let arguments = call.child_by_field_name("arguments").map(named).unwrap_or_default();
            let values = arguments
                .iter()
                .skip(usize::from(function.ends_with("parametrize")))
                .find(|node| node.kind() != "keyword_argument" || source.field(**node, "name") == "argvalues");
            let Some(values) = values.map(|node| {
                node.child_by_field_name("value").filter(|_| node.kind() == "keyword_argument").unwrap_or(*node)
            }) else {
                continue;
            };
            let Some(count) = length(source, values, &|name| collector.tables.get(name).copied()) else {
                spec.uncounted = true;
                continue;
            };
            let marked = named(values).iter().filter(|case| is_marked(source, **case)).count();
            let marked = u32::try_from(marked).unwrap_or(0);
            spec.cases_marked = spec.cases_marked.saturating_add(marked);
            let live = count.saturating_sub(marked);
            spec.cases = Some(spec.cases.unwrap_or(1).saturating_mul(live));
            if count == 0 {
                spec.skip = Some(Marker {
                    text: short(source.text(*decorator)),
                    line: source.line(*decorator),
                    conditional: false,
                    inherited: false,
                });
            }
        } else if function == "raises" || function.ends_with(".raises") {
            spec.claims.push(outside(source, *decorator, Strength::TypedError));
        }
    }
}

fn is_marked(source: &Source, case: Node<'_>) -> bool {
    let range = source.slice(case);
    source.text(case).starts_with("pytest.param")
        && range.clone().any(|at| source.word(at) == "marks")
        && range.clone().any(|at| matches!(source.word(at), "skip" | "xfail" | "skipif"))
}
