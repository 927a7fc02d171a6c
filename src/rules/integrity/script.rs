//! Tests of JavaScript and TypeScript: jest, vitest, mocha, ava, tap, playwright and node's own runner.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tree_sitter::Node;

use super::body::short;
use super::chain::Chain;
use super::express::constant;
use super::length::length;
use super::model::Marker;
use super::options::Objects;
use super::suite::{Collector, Scope, Spec};
use super::syntax::{Class, Source, children, is_comment, named};

const SUITES: [&str; 6] = ["describe", "context", "suite", "xdescribe", "fdescribe", "xcontext"];
const TESTS: [&str; 10] = ["it", "test", "specify", "xit", "fit", "xtest", "ftest", "xspecify", "bench", "t"];
const HOOKS: [&str; 8] = ["before", "beforeAll", "beforeEach", "after", "afterAll", "afterEach", "setup", "teardown"];
const FUNCTIONS: [&str; 3] = ["arrow_function", "function_expression", "generator_function"];

/// What a call declares.
struct Declared<'s> {
    suite: bool,
    skip: bool,
    conditional: bool,
    only: bool,
    fails: bool,
    /// `.each(table)`.
    table: Option<Range<usize>>,
    name: &'s str,
}

pub(super) fn collect(collector: &mut Collector<'_>, scope: &Scope) {
    let root = collector.source.root();
    let aliases = aliases(collector.source, root);
    let objects = Objects::of(collector.source);
    let mut reader = Reader { collector, aliases, objects };
    reader.block(root, scope);
    reader.loose(root);
}

/// `const itIf = condition ? it : it.skip`.
fn aliases(source: &Source, root: Node<'_>) -> BTreeMap<String, bool> {
    let mut out = BTreeMap::new();
    for statement in named(root) {
        if !matches!(statement.kind(), "lexical_declaration" | "variable_declaration") {
            continue;
        }
        for declared in named(statement) {
            let Some(value) = declared.child_by_field_name("value") else { continue };
            let words: Vec<&str> = source.slice(value).take(64).map(|at| source.word(at)).collect();
            let base = words.iter().find(|word| SUITES.contains(word) || (TESTS.contains(word) && **word != "t"));
            let short_value = matches!(value.kind(), "ternary_expression" | "member_expression" | "identifier");
            if let Some(base) = base.filter(|_| short_value && words.contains(&"skip") || value.kind() == "identifier")
            {
                out.insert(source.field(declared, "name").to_owned(), SUITES.contains(base));
            }
        }
    }
    out
}

struct Reader<'c, 's> {
    collector: &'c mut Collector<'s>,
    aliases: BTreeMap<String, bool>,
    objects: Objects<'s>,
}

impl<'s> Reader<'_, 's> {
    fn source(&self) -> &'s Source {
        self.collector.source
    }

    /// Exits and skips of the file's own statements.
    fn loose(&mut self, root: Node<'_>) {
        let apart = |node: Node<'_>| {
            FUNCTIONS.contains(&node.kind()) || matches!(node.kind(), "function_declaration" | "class_declaration")
        };
        if let Some(marker) = self.collector.around(root, &apart) {
            self.collector.suite.loose_skips.push(marker);
        }
    }

    fn block(&mut self, node: Node<'_>, scope: &Scope) {
        if !self.collector.enter() {
            return;
        }
        let mut scope = scope.clone();
        for child in children(node) {
            if !child.is_named() || is_comment(child.kind()) {
                continue;
            }
            self.node(child, &scope);
            if child.kind() == "return_statement" {
                // What stands after it is never declared.
                let marker = self.collector.marker(child, false);
                scope.skip = Some(marker);
            }
        }
        self.collector.depth -= 1;
    }

    fn node(&mut self, node: Node<'_>, scope: &Scope) {
        if self.collector.enter() {
            self.one(node, scope);
            self.collector.depth -= 1;
        }
    }

    fn one(&mut self, node: Node<'_>, scope: &Scope) {
        let source = self.source();
        match node.kind() {
            "call_expression" => self.call(node, scope),
            "function_declaration" | "generator_function_declaration" | "method_definition" => {
                if let Some(body) = node.child_by_field_name("body") {
                    let name = source.field(node, "name").to_owned();
                    self.collector.helper(&name, node, body, scope.tests);
                }
            }
            "class_declaration" => {
                let name = source.field(node, "name").to_owned();
                self.collector.symbol(&name, node, scope.tests);
                if let Some(body) = node.child_by_field_name("body") {
                    self.block(body, scope);
                }
            }
            "variable_declarator" => self.variable(node, scope),
            "if_statement" => self.conditional(node, scope),
            "for_in_statement" => {
                let times = node.child_by_field_name("right").and_then(|over| self.length(over));
                let scope = Scope { times: scope.times.or(times), ..scope.clone() };
                self.block(node, &scope);
            }
            _ if FUNCTIONS.contains(&node.kind()) => {
                if let Some(body) = node.child_by_field_name("body") {
                    self.inner(body, scope);
                }
            }
            "comment" | "string" | "template_string" | "object" | "array" => {}
            _ => self.block(node, scope),
        }
    }

    fn inner(&mut self, body: Node<'_>, scope: &Scope) {
        if body.kind() == "statement_block" { self.block(body, scope) } else { self.node(body, scope) }
    }

    fn length(&self, node: Node<'_>) -> Option<u32> {
        length(self.source(), node, &|name| self.collector.tables.get(name).copied())
    }

    fn variable(&mut self, node: Node<'_>, scope: &Scope) {
        let source = self.source();
        let name = source.field(node, "name").to_owned();
        let Some(value) = node.child_by_field_name("value") else { return };
        if FUNCTIONS.contains(&value.kind()) {
            if let Some(body) = value.child_by_field_name("body") {
                self.collector.helper(&name, node, body, scope.tests);
            }
        } else {
            self.collector.symbol(&name, node, scope.tests);
            self.node(value, scope);
        }
    }

    fn conditional(&mut self, node: Node<'_>, scope: &Scope) {
        let source = self.source();
        let Some(test) = node.child_by_field_name("condition") else { return };
        let known = constant(source, source.slice(test), 0);
        let marker = Marker {
            text: format!("if {}", short(source.text(test))),
            line: source.line(test),
            conditional: known.is_none(),
            inherited: false,
        };
        let mut inner = scope.clone();
        if known != Some(true) {
            inner.skip = inner.skip.or(Some(marker));
        }
        for child in
            [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")].into_iter().flatten()
        {
            let live = known == Some(false) && Some(child) == node.child_by_field_name("alternative");
            self.inner(child, if live { scope } else { &inner });
        }
    }

    fn call(&mut self, node: Node<'_>, scope: &Scope) {
        let source = self.source();
        let arguments = node.child_by_field_name("arguments").filter(|found| found.kind() == "arguments");
        let parts = arguments.map(named).unwrap_or_default();
        let chain = Chain::read(source, &source.slice(node));
        if let Some(declared) = self.declared(&chain, node, scope)
            && !parts.is_empty()
        {
            return if declared.suite {
                self.suite(node, &parts, &declared, scope)
            } else {
                self.test(node, &parts, &declared, scope)
            };
        }
        if HOOKS.contains(&chain.name(0))
            || matches!((chain.name(0), chain.name(1)), ("test", name) if HOOKS.contains(&name))
        {
            self.hook(&parts, scope);
            return;
        }
        let mut scope = scope.clone();
        if matches!(chain.name(chain.segments.len().saturating_sub(1)), "forEach" | "map") {
            let object = node.child_by_field_name("function").and_then(|callee| callee.child_by_field_name("object"));
            scope.times = scope.times.or_else(|| object.and_then(|object| self.length(object)));
        }
        for part in children(node) {
            if part.kind() == "arguments" {
                for argument in named(part).into_iter().filter(|argument| FUNCTIONS.contains(&argument.kind())) {
                    self.node(argument, &scope);
                }
            } else if part.kind() == "parenthesized_expression" {
                self.block(part, &scope);
            }
        }
    }

    /// A hook that skips does so for every test of its block.
    fn hook(&mut self, parts: &[Node<'_>], scope: &Scope) {
        for part in parts.iter().filter(|part| FUNCTIONS.contains(&part.kind())) {
            let Some(body) = part.child_by_field_name("body") else { continue };
            let Some(marker) = self.collector.around(body, &|_| false) else { continue };
            if marker.text.starts_with("return if") {
                continue;
            }
            self.collector.hook(&scope.path, marker);
        }
    }

    fn declared<'n>(&self, chain: &Chain<'n>, node: Node<'_>, scope: &Scope) -> Option<Declared<'n>> {
        let source = self.source();
        if !scope.tests {
            return None;
        }
        let first = chain.name(0);
        let last = chain.segments.len().checked_sub(1)?;
        // `(condition ? it : it.skip)("name", …)`
        if first.is_empty() && chain.segments.len() >= 2 {
            let words: BTreeSet<&str> = source.slice(node).take(24).map(|at| source.word(at)).collect();
            let base = SUITES.iter().chain(&TESTS).find(|name| words.contains(**name) && **name != "t");
            let base = base.filter(|_| words.contains("?") && words.contains("skip"))?;
            return Some(Declared {
                suite: SUITES.contains(base),
                skip: true,
                conditional: true,
                only: false,
                fails: false,
                table: None,
                name: "",
            });
        }
        let alias = self.aliases.get(first).copied();
        let known = SUITES.contains(&first)
            || TESTS.contains(&first)
            || alias.is_some()
            || (first == "Deno" && chain.name(1) == "test");
        if !known || (first == "t" && chain.name(1) != "test") {
            return None;
        }
        let words: Vec<&str> = chain.names().collect();
        let has = |name: &str| words.iter().skip(1).any(|word| *word == name);
        let modifiers = [
            "only",
            "skip",
            "todo",
            "each",
            "for",
            "failing",
            "fails",
            "fixme",
            "concurrent",
            "sequential",
            "skipIf",
            "runIf",
            "describe",
            "test",
            "serial",
            "parallel",
            "slow",
            "fail",
            "shuffle",
            "extend",
            "cb",
            "step",
        ];
        let foreign = words.iter().skip(1).any(|word| !word.is_empty() && !modifiers.contains(word));
        if foreign {
            return None;
        }
        let each = (0..last).find(|at| matches!(chain.name(*at), "each" | "for"));
        let table = each.and_then(|at| {
            chain.segments[at]
                .args
                .clone()
                .or_else(|| chain.segments.get(at + 1)?.args.clone().filter(|_| at + 1 < last))
        });
        Some(Declared {
            suite: SUITES.contains(&first) || alias == Some(true) || has("describe"),
            skip: has("skip")
                || has("todo")
                || has("fixme")
                || first.starts_with('x')
                || has("skipIf")
                || has("runIf")
                || alias.is_some() && !SUITES.contains(&first) && !TESTS.contains(&first),
            conditional: has("skipIf") || has("runIf") || alias.is_some(),
            only: has("only") || matches!(first, "fit" | "fdescribe" | "ftest"),
            fails: has("failing") || has("fails") || (has("fail") && first == "test"),
            table,
            name: first,
        })
    }

    fn markers(&self, node: Node<'_>, parts: &[Node<'_>], declared: &Declared<'_>) -> Spec {
        let source = self.source();
        let head = || {
            let callee = node.child_by_field_name("function").map_or("", |callee| source.text(callee));
            short(if callee.is_empty() { declared.name } else { callee })
        };
        let marker = |conditional| Marker { text: head(), line: source.line(node), conditional, inherited: false };
        let mut spec = Spec {
            name: self.title(parts),
            line: source.line(node),
            skip: declared.skip.then(|| marker(declared.conditional)),
            xfail: declared.fails.then(|| marker(false)),
            focus: declared.only.then(|| marker(false)),
            ..Spec::default()
        };
        self.objects.read(source, parts, &mut spec);
        spec
    }

    fn title(&self, parts: &[Node<'_>]) -> String {
        let source = self.source();
        let Some(first) = parts.first() else { return String::new() };
        if FUNCTIONS.contains(&first.kind()) {
            return "(no name)".to_owned();
        }
        let range = source.slice(*first);
        if range.len() == 1 && source.class(range.start) == Some(Class::Literal) {
            return source.word(range.start).to_owned();
        }
        short(source.text(*first))
    }

    fn cases(&self, declared: &Declared<'_>) -> Option<u32> {
        let table = declared.table.clone()?;
        let source = self.source();
        if source.class(table.start) != Some(Class::Literal) && !matches!(source.word(table.start), "[") {
            return self.collector.tables.get(source.word(table.start)).copied();
        }
        if source.word(table.start) == "[" {
            return u32::try_from(
                super::chain::split(source, table.start + 1..source.close(table.start), &[","]).len(),
            )
            .ok();
        }
        None
    }

    /// Rows of a tagged template: one per line with a value in it.
    fn rows(&self, node: Node<'_>) -> Option<u32> {
        let callee = node.child_by_field_name("function")?;
        let template = callee.child_by_field_name("arguments").filter(|found| found.kind() == "template_string")?;
        let rows = self.source().text(template).lines().filter(|line| line.contains("${")).count();
        u32::try_from(rows).ok()
    }

    fn test(&mut self, node: Node<'_>, parts: &[Node<'_>], declared: &Declared<'_>, scope: &Scope) {
        let mut spec = self.markers(node, parts, declared);
        spec.cases = self.rows(node).or_else(|| self.cases(declared));
        spec.uncounted = declared.table.is_some() && spec.cases.is_none();
        let callback = parts.iter().rev().find(|part| FUNCTIONS.contains(&part.kind())).copied();
        let other = parts
            .iter()
            .skip(1)
            .any(|part| matches!(part.kind(), "identifier" | "call_expression" | "member_expression"));
        if callback.is_none() && !other {
            // `it("name")` waits to be written.
            spec.skip = spec.skip.or(Some(self.collector.marker(node, false)));
        }
        let body = callback
            .and_then(|callback| callback.child_by_field_name("body"))
            .or_else(|| parts.get(1).copied().filter(|_| other));
        let mut nested: Vec<usize> = Vec::new();
        let mut inner_scope = scope.within(&spec.name);
        inner_scope.skip = spec.skip.clone().or(inner_scope.skip);
        if let Some(body) = body.filter(|_| !inner_scope.too_deep()) {
            self.subtests(body, &inner_scope, &mut nested);
        }
        self.collector.test(spec, scope, body, &|node| nested.contains(&node.id()));
    }

    /// `t.test("name", …)` inside of a test.
    fn subtests(&mut self, body: Node<'_>, scope: &Scope, nested: &mut Vec<usize>) {
        let source = self.source();
        for statement in named(body) {
            let call = statement.named_child(0).map(|inner| {
                if inner.kind() == "await_expression" { inner.named_child(0).unwrap_or(inner) } else { inner }
            });
            let Some(call) =
                call.filter(|call| statement.kind() == "expression_statement" && call.kind() == "call_expression")
            else {
                continue;
            };
            if matches!(source.field(call, "function"), "t.test" | "it" | "test" | "describe") {
                nested.push(statement.id());
                self.node(call, scope);
            }
        }
    }

    fn suite(&mut self, node: Node<'_>, parts: &[Node<'_>], declared: &Declared<'_>, scope: &Scope) {
        let spec = self.markers(node, parts, declared);
        let mut inner = scope.within(&spec.name);
        if inner.too_deep() {
            self.collector.suite.unread = Some(super::model::Unread::TooDeep);
            return;
        }
        inner.skip = spec.skip.or(inner.skip);
        inner.xfail = spec.xfail.or(inner.xfail);
        inner.focus = spec.focus.or(inner.focus);
        inner.times = self.rows(node).or_else(|| self.cases(declared)).or(inner.times);
        for part in parts.iter().filter(|part| FUNCTIONS.contains(&part.kind())) {
            if let Some(body) = part.child_by_field_name("body") {
                self.inner(body, &inner);
            }
        }
    }
}
