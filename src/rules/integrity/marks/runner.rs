//! The runner and its assertions, changed from within.

use super::Reader;
use crate::rules::integrity::model::{Kind, Language};
use crate::rules::integrity::standard::{ASSERT_MODULES, MATCHERS, RUNNERS};
use crate::rules::integrity::syntax::Class;

const PATCHED: &str = "the runner or its assertions are changed from within";
const EQUAL: &str = "a value says that it equals everything";
/// Classes of unittest that judge.
const CLASSES: &[&str] = &[
    "TestCase",
    "TestResult",
    "TextTestResult",
    "TextTestRunner",
    "TestSuite",
    "TestLoader",
    "TestProgram",
    "Testing",
];
/// What the built-in names would have to be for an assertion not to fail.
const BUILT_IN: &[&str] = &["AssertionError", "isinstance", "all", "any", "len", "abs", "type", "__import__"];
const PYTEST: &[&str] = &["raises", "fail", "exit", "main", "mark", "approx", "warns", "fixture"];
/// Names of assertions that nothing else bears.
const ASSERTIONS: &[&str] = &[
    "strictEqual",
    "deepStrictEqual",
    "notStrictEqual",
    "deepEqual",
    "toBe",
    "toEqual",
    "toStrictEqual",
    "failureException",
];
const REPLACERS: &[&str] =
    &["setattr", "object", "patch", "defineProperty", "assign", "method", "stub", "spyOn", "replaceProperty"];

impl Reader<'_> {
    pub(super) fn runner(&mut self, at: usize) {
        let end = match self.source.language {
            Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => {
                self.assigned(at).or_else(|| self.replaced(at)).or_else(|| self.module(at))
            }
            Language::Rust => self.rust(at),
            Language::Go | Language::Java => None,
        };
        if let Some((start, end)) = end {
            self.hold(Kind::RunnerPatched, start..end, PATCHED);
        }
    }

    /// `unittest.TestCase.assertEqual = …`
    fn assigned(&self, at: usize) -> Option<(usize, usize)> {
        if self.is(at, &["def", "run", "(", "self", ",", "result"]) && self.tests {
            return Some((at, at + 7));
        }
        if self.is(at, &["addTypeEqualityFunc", "("]) && self.word(at.saturating_sub(1)) == "." {
            return Some((at, self.inside(at + 1).end + 1));
        }
        if self.source.language == Language::Python
            && matches!(self.word(at), "__unittest_skip__" | "__unittest_expecting_failure__")
        {
            return Some((at, at + 3));
        }
        if self.word(at) == "failureException" && self.word(at + 1) == "=" {
            return Some((at, at + 3));
        }
        if self.word(at) != "." || self.word(at + 2) != "=" || self.is_literal(at) || self.is_literal(at + 2) {
            return None;
        }
        let name = self.word(at + 1);
        let mut start = at;
        let mut path = Vec::new();
        while self.word(start) == "." && start > 0 {
            start -= 1;
            if self.word(start) == ")" && start >= 3 && self.word(start - 3) == "require" {
                path.push(self.word(start - 1));
                start -= 3;
                break;
            }
            path.push(self.word(start));
            if start == 0 {
                break;
            }
            if self.word(start - 1) != "." {
                break;
            }
            start -= 1;
        }
        let root = path.last().copied().unwrap_or_default();
        let asserts = name.strip_prefix("assert").is_some_and(|rest| rest.starts_with(|c: char| c.is_uppercase()));
        let found = asserts
            || ASSERTIONS.contains(&name)
            || if self.is_script() {
                let global = matches!(root, "global" | "globalThis" | "window");
                let made =
                    matches!(self.word(at + 3), "(" | "function" | "async" | "{" | "new") || self.word(at + 4) == "=>";
                let own = matches!(root, "assert" | "expect" | "chai" | "strict") || ASSERT_MODULES.contains(&root);
                (own && !path.contains(&"config") && name != "exports")
                    || global && made && matches!(name, "expect" | "assert" | "it" | "test" | "describe")
                    || matches!((root, name), ("Module", "_load" | "_resolveFilename" | "require"))
            } else {
                let of_runner =
                    path.iter().any(|part| CLASSES.contains(part)) || matches!(root, "unittest" | "_pytest");
                of_runner && !matches!(name, "maxDiff" | "longMessage")
                    || matches!(root, "builtins" | "__builtins__") && BUILT_IN.contains(&name)
                    || root == "pytest" && PYTEST.contains(&name)
            };
        found.then_some((start, at + 6))
    }

    /// `setattr(unittest.TestCase, "assertEqual", …)`, `jest.mock("node:assert", …)`
    fn replaced(&self, at: usize) -> Option<(usize, usize)> {
        let name = self.word(at);
        if self.word(at + 1) != "(" || self.source.class(at) == Some(Class::Literal) {
            return None;
        }
        let args = self.args(at + 1);
        let first = args.first().filter(|first| !first.is_empty())?;
        let end = self.inside(at + 1).end + 1;
        let text = self.word(first.start);
        if self.is_literal(first.start) {
            let mocks = matches!(name, "mock" | "doMock" | "module" | "unstable_mockModule" | "setMock");
            let path = text.split('.').collect::<Vec<_>>();
            let of_runner = matches!(path.as_slice(), ["unittest" | "_pytest", second, ..] if *second != "mock")
                || matches!(path.as_slice(), ["pytest", second] if PYTEST.contains(second))
                || matches!(path.as_slice(), ["builtins", second] if BUILT_IN.contains(second));
            let found = self.is_script() && mocks && ASSERT_MODULES.contains(&text)
                || matches!(name, "patch" | "setattr") && of_runner;
            return found.then_some((at, end));
        }
        if name == "extend" && self.word(at.saturating_sub(2)) == "expect" {
            let known =
                first.clone().any(|at| MATCHERS.contains(&self.word(at)) && matches!(self.word(at + 1), ":" | "("));
            return known.then_some((at.saturating_sub(2), end));
        }
        if !REPLACERS.contains(&name) {
            return None;
        }
        let second = args.get(1).map_or("", |arg| self.word(arg.start));
        let asserts = second.strip_prefix("assert").is_some_and(|rest| rest.starts_with(|c: char| c.is_uppercase()));
        let root = matches!(text, "unittest" | "_pytest") || CLASSES.contains(&text);
        let script = self.is_script() && (matches!(text, "assert" | "expect" | "chai") || ASSERTIONS.contains(&second));
        let builtin = text == "builtins" && BUILT_IN.contains(&second) || text == "pytest" && PYTEST.contains(&second);
        let mock = self.word(first.start + 2) == "mock" || matches!(second, "maxDiff" | "longMessage");
        (asserts || root && !mock || script || builtin || second == "failureException").then_some((at, end))
    }

    /// `sys.modules["unittest"] = …`, a loader that is exchanged.
    fn module(&self, at: usize) -> Option<(usize, usize)> {
        let placed = self.is(at, &["sys", ".", "modules", "["])
            && RUNNERS.contains(&self.word(at + 4).split('.').next().unwrap_or_default())
            && self.word(at + 4) != "unittest.mock"
            && self.word(at + 6) == "=";
        let loader = self.is(at, &["require", ".", "extensions", "["]) && self.word(self.inside(at + 3).end + 1) == "=";
        (placed || loader).then_some((at, at + 8))
    }

    fn rust(&self, at: usize) -> Option<(usize, usize)> {
        let asserts = |at: usize| matches!(self.word(at), "assert" | "assert_eq" | "assert_ne" | "debug_assert_eq");
        if self.word(at) == "macro_rules!" && asserts(at + 1) {
            return Some((at, at + 2));
        }
        if self.word(at) == "use" && matches!(self.word(at + 1), "crate" | "super" | "self") {
            let end = (at + 2..at + 24)
                .find(|next| matches!(self.word(*next), "use" | "fn" | "mod" | "#" | "pub" | "struct"));
            let end = end.unwrap_or(at + 24);
            // `as assert_eq` as well.
            return (at + 2..end).any(asserts).then_some((at, end));
        }
        if matches!(self.word(at), "test_runner" | "custom_test_frameworks" | "reexport_test_harness_main")
            && self.source.class(at) == Some(Class::Word)
        {
            return Some((at, at + 1));
        }
        let before_main = self.is(at, &["#", "["]) && self.any(at + 2..at + 6, &["ctor", "init_array", "link_section"]);
        (before_main && self.any(at..at + 80, &["exit", "_exit", "abort"])).then_some((at, at + 8))
    }

    /// An equality that holds for everything.
    pub(super) fn equality(&mut self, at: usize) {
        let open = at + 1;
        if self.word(open) != "(" {
            return;
        }
        let close = self.source.close(open);
        let yes: &[&[&str]] = match (self.source.language, self.word(at)) {
            (Language::Python, "__eq__") => &[&[":", "return", "True"], &["->", "bool", ":", "return", "True"]],
            (Language::Python, "__ne__") => &[&[":", "return", "False"], &["->", "bool", ":", "return", "False"]],
            (Language::Rust, "eq") => &[&["->", "bool", "{", "true", "}"], &["->", "bool", "{", "return", "true", "}"]],
            (Language::Rust, "ne") => &[&["->", "bool", "{", "false", "}"]],
            (Language::Java, "equals") => &[&["{", "return", "true", "}"]],
            (Language::Go, "Equal") => &[&["bool", "{", "return", "true", "}"]],
            _ => return,
        };
        let declared = matches!(self.word(at.saturating_sub(1)), "def" | "fn" | "boolean" | ")");
        if declared && yes.iter().any(|words| self.is(close + 1, words)) {
            self.hold(Kind::RunnerPatched, at..close + 6, EQUAL);
        }
    }
}
