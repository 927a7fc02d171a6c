//! What the names of a runner stand for in a file of tests, and which of its classes judge.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::model::{Digest, Language};
use super::standard::{ASSERT_MODULES, RUNNERS};
use super::subject::Names;
use super::syntax::{Class as Token, Source, children, named};

/// Names that a runner of JavaScript gives to every file.
pub(super) const GLOBALS: [&str; 5] = ["test", "it", "describe", "expect", "assert"];
/// Objects that are there without an import, and are a runner's own.
const OWNERS: [&str; 9] = ["chai", "jest", "vi", "sinon", "global", "globalThis", "window", "QUnit", "Deno"];
const ASSERTING: [&str; 6] =
    ["strictEqual", "deepStrictEqual", "notStrictEqual", "notDeepStrictEqual", "deepEqual", "equal"];
/// Methods by which unittest decides whether a test failed.
const JUDGES: &[&str] = &[
    "run",
    "debug",
    "fail",
    "subTest",
    "skipTest",
    "doCleanups",
    "countTestCases",
    "defaultTestResult",
    "failureException",
    "addTypeEqualityFunc",
    "__call__",
    "__init__",
    "__new__",
    "__init_subclass__",
    "__getattribute__",
    "__getattr__",
    "__unittest_skip__",
    "__unittest_expecting_failure__",
    "_callTestMethod",
    "_callSetUp",
    "_callTearDown",
    "_callCleanup",
    "_baseAssertEqual",
    "_getAssertEqualityFunc",
    "_feedErrorsToResult",
    "assertEqual",
    "assertNotEqual",
    "assertTrue",
    "assertFalse",
    "assertIs",
    "assertIsNot",
    "assertIsNone",
    "assertIsNotNone",
    "assertIn",
    "assertNotIn",
    "assertIsInstance",
    "assertNotIsInstance",
    "assertRaises",
    "assertRaisesRegex",
    "assertWarns",
    "assertLogs",
    "assertNoLogs",
    "assertAlmostEqual",
    "assertNotAlmostEqual",
    "assertGreater",
    "assertGreaterEqual",
    "assertLess",
    "assertLessEqual",
    "assertRegex",
    "assertNotRegex",
    "assertCountEqual",
    "assertMultiLineEqual",
    "assertSequenceEqual",
    "assertListEqual",
    "assertTupleEqual",
    "assertSetEqual",
    "assertDictEqual",
];
const MAX_DEPTH: usize = 4;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bindings {
    /// Names that are made here, of nothing that is a runner's.
    pub made: BTreeMap<String, u32>,
    /// Names that are a runner's own, under this or another name: `base.extend(…)`, `export { expect } from "vitest"`.
    pub derived: BTreeSet<String>,
    /// Names whose methods assert.
    pub roots: BTreeSet<String>,
    pub classes: BTreeMap<String, Class>,
    /// A module that says itself which of its tests are run.
    pub loads: Option<(Digest, u32)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Class {
    pub bases: Vec<String>,
    /// What it does in the runner's place.
    pub judges: BTreeSet<String>,
    pub line: u32,
}

pub(super) fn bindings(source: &Source, names: &Names) -> Bindings {
    let mut out = Bindings::default();
    match source.language {
        Language::Python => python(source, source.root(), 0, &mut out),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            for child in named(source.root()) {
                script(source, child, names, &mut out);
            }
            let asserts = |at: &usize| {
                source.class(*at) == Some(Token::Word)
                    && source.word(at + 1) == "."
                    && ASSERTING.contains(&source.word(at + 2))
                    && source.word(at.saturating_sub(1)) != "."
            };
            let roots = (0..source.tokens.len()).filter(asserts);
            out.roots = roots.map(|at| source.word(at).to_owned()).collect();
        }
        Language::Rust | Language::Go | Language::Java => {}
    }
    out
}

/// A path of the tree, and no package's name.
pub(super) fn is_tree_script(module: &str) -> bool {
    module.starts_with(['.', '#', '~', '/']) || module.starts_with("@/") || module.starts_with("file:")
}

pub(super) fn is_runner(language: Language, module: &str) -> bool {
    if language == Language::Python {
        return RUNNERS.contains(&module.split('.').next().unwrap_or(module)) && module != "unittest.mock";
    }
    const OTHERS: [&str; 8] = ["@playwright/test", "bun:test", "mocha", "ava", "tap", "tape", "uvu", "uvu/assert"];
    ASSERT_MODULES.contains(&module) || OTHERS.contains(&module)
}

fn script(source: &Source, node: Node<'_>, names: &Names, out: &mut Bindings) {
    match node.kind() {
        "export_statement" => {
            let module = source.field(node, "source").trim_matches(['"', '\'', '`']);
            if is_runner(source.language, module) {
                let words = source.slice(node).filter(|at| source.class(*at) == Some(Token::Word));
                out.derived.extend(words.map(|at| source.word(at).to_owned()));
                if source.text(node).contains('*') {
                    out.derived.extend(GLOBALS.map(str::to_owned));
                }
            } else if let Some(inner) = node.child_by_field_name("declaration") {
                script(source, inner, names, out);
            } else if module.is_empty() {
                // `export { expect }` of what a runner gave.
                let words = source.slice(node).filter(|at| source.class(*at) == Some(Token::Word));
                let own = words.map(|at| source.word(at)).filter(|word| names.of_runner(source.language, word));
                out.derived.extend(own.map(str::to_owned));
            }
        }
        "function_declaration" | "class_declaration" | "generator_function_declaration" => {
            out.made.insert(source.field(node, "name").to_owned(), source.line(node));
        }
        "lexical_declaration" | "variable_declaration" => {
            for declared in named(node) {
                let (Some(name), Some(value)) =
                    (declared.child_by_field_name("name"), declared.child_by_field_name("value"))
                else {
                    continue;
                };
                let words = source.slice(name).filter(|at| {
                    source.class(*at) != Some(Token::Literal)
                        && source.word(*at).starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
                        && source.word(at + 1) != ":"
                });
                let words: Vec<String> = words.map(|at| source.word(at).to_owned()).collect();
                if words.iter().any(|word| names.imports.contains_key(word)) {
                    continue;
                }
                if is_own(source, value, names) {
                    out.derived.extend(words);
                } else {
                    out.made.extend(words.into_iter().map(|word| (word, source.line(declared))));
                }
            }
        }
        _ => {}
    }
}

/// A value that is a runner's, or a member of it: `chai.expect`, `base.extend({ … })`.
fn is_own(source: &Source, value: Node<'_>, names: &Names) -> bool {
    let start = source.slice(value).start;
    let root = source.word(start);
    let plain = match value.kind() {
        "identifier" | "member_expression" => true,
        "call_expression" => {
            value.child_by_field_name("function").is_some_and(|callee| callee.kind() == "member_expression")
        }
        _ => false,
    };
    plain
        && source.class(start) == Some(Token::Word)
        && (OWNERS.contains(&root) || names.imports.get(root).is_some_and(|module| !is_tree_script(module)))
}

fn python(source: &Source, node: Node<'_>, depth: usize, out: &mut Bindings) {
    for child in named(node) {
        let inner = if child.kind() == "decorated_definition" {
            child.child_by_field_name("definition").unwrap_or(child)
        } else {
            child
        };
        match inner.kind() {
            "class_definition" => {
                out.classes.insert(source.field(inner, "name").to_owned(), class(source, inner));
            }
            "function_definition" if source.field(inner, "name") == "load_tests" && !only_adds(source, inner) => {
                out.loads = Some((source.digest(source.slice(inner), true), source.line(inner)));
            }
            "import_from_statement" | "import_statement" => {
                let range = source.slice(inner);
                if range.clone().any(|at| source.word(at) == "load_tests") {
                    out.loads = Some((source.digest(range, true), source.line(inner)));
                }
            }
            "expression_statement"
                if inner.named_child(0).is_some_and(|set| source.field(set, "left") == "load_tests") =>
            {
                out.loads = Some((source.digest(source.slice(inner), true), source.line(inner)));
            }
            "try_statement" | "if_statement" | "block" | "except_clause" | "else_clause" | "with_statement"
                if depth < MAX_DEPTH =>
            {
                python(source, inner, depth + 1, out);
            }
            _ => {}
        }
    }
}

/// `load_tests` as it is written for doctest: it adds to the tests that were found, and gives all of them.
fn only_adds(source: &Source, function: Node<'_>) -> bool {
    let parameters = function.child_by_field_name("parameters").map(named).unwrap_or_default();
    let Some(tests) = parameters.get(1).map(|second| source.text(*second)) else { return false };
    let Some(body) = function.child_by_field_name("body") else { return false };
    adds(source, body, tests, 0)
}

fn adds(source: &Source, block: Node<'_>, tests: &str, depth: usize) -> bool {
    depth < MAX_DEPTH
        && named(block).into_iter().all(|statement| match statement.kind() {
            "return_statement" => source.text(statement) == format!("return {tests}"),
            "import_statement" | "import_from_statement" => true,
            "for_statement" => {
                source.field(statement, "left") != tests
                    && statement.child_by_field_name("body").is_some_and(|body| adds(source, body, tests, depth + 1))
            }
            "expression_statement" => statement.named_child(0).is_some_and(|inner| match inner.kind() {
                "string" => true,
                "assignment" => {
                    let left = source.field(inner, "left");
                    left != tests && !left.contains(['.', '['])
                }
                _ => ["addTest(", "addTests("].iter().any(|add| {
                    source
                        .text(inner)
                        .strip_prefix(tests)
                        .and_then(|rest| rest.strip_prefix('.'))
                        .is_some_and(|rest| rest.starts_with(add))
                }),
            }),
            _ => false,
        })
}

fn class(source: &Source, node: Node<'_>) -> Class {
    let mut out = Class { line: source.line(node), ..Class::default() };
    for base in node.child_by_field_name("superclasses").map(named).unwrap_or_default() {
        if base.kind() == "keyword_argument" {
            if source.field(base, "name") == "metaclass" && !source.field(base, "value").ends_with("ABCMeta") {
                out.judges.insert(format!("metaclass {}", source.field(base, "value")));
            }
        } else {
            out.bases.push(source.text(base).to_owned());
        }
    }
    let body = node.child_by_field_name("body").map(children).unwrap_or_default();
    for child in body {
        let inner = child.child_by_field_name("definition").unwrap_or(child);
        match inner.kind() {
            "function_definition" => {
                let name = source.field(inner, "name");
                let text = source.text(inner);
                if JUDGES.contains(&name) {
                    out.judges.insert(name.to_owned());
                } else if name.to_lowercase().starts_with("setup")
                    && ["skipTest(", "raise unittest.SkipTest", "raise SkipTest"].iter().any(|way| text.contains(way))
                {
                    out.judges.insert(format!("{name}, which skips"));
                }
            }
            "expression_statement" => {
                let left = inner.named_child(0).map_or("", |set| source.field(set, "left"));
                if JUDGES.contains(&left) {
                    out.judges.insert(left.to_owned());
                }
            }
            _ => {}
        }
    }
    out
}
