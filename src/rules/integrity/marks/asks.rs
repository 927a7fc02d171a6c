//! Code of the project that asks whether it is being tested.

use super::Reader;
use crate::rules::integrity::model::{Kind, Language, Severity};

const ASKS: &str = "the code asks whether it is being tested";
/// How far the answer may stand from the question.
const NEAR: usize = 16;
const VARIABLES: &[&str] = &[
    "PYTEST_CURRENT_TEST",
    "PYTEST_VERSION",
    "PYTEST_XDIST_WORKER",
    "JEST_WORKER_ID",
    "VITEST",
    "VITEST_WORKER_ID",
    "VITEST_POOL_ID",
    "NODE_TEST_CONTEXT",
    "RUST_TEST_THREADS",
    "NEXTEST",
    "NEXTEST_RUN_ID",
    "GO_TEST",
];
/// Variables by which honest code too knows where it runs: it is held only for an answer of its own.
const PLACES: &[&str] = &["CI", "NODE_ENV", "GITHUB_ACTIONS", "APP_ENV"];

impl Reader<'_> {
    pub(super) fn asks(&mut self, at: usize) {
        let word = self.word(at);
        let by_variable = (VARIABLES.contains(&word) || word.starts_with("KCTL_")) && self.of_environment(at);
        if by_variable || self.asks_the_runner(at) {
            return self.hold(Kind::TestDetected, at..at + NEAR, ASKS);
        }
        if PLACES.contains(&word) && self.of_environment(at) {
            let test = word != "NODE_ENV" && word != "APP_ENV" || self.any(at..at + 4, &["test", "testing"]);
            let returns = (at..at + NEAR).find(|next| self.word(*next) == "return");
            // `return` with a value right after the question.
            let answers = returns.is_some_and(|next| !matches!(self.word(next + 1), "}" | "" | "def" | "if"));
            if test {
                let severity = if answers { Severity::Hold } else { Severity::Note };
                self.mark(Kind::TestDetected, severity, at..at + NEAR, ASKS);
            }
        }
    }

    /// The name is read from the environment.
    fn of_environment(&self, at: usize) -> bool {
        let reads = ["env", "environ", "getenv", "var", "Getenv", "LookupEnv", "var_os"];
        (at.saturating_sub(5)..at).any(|before| reads.contains(&self.word(before)))
            || self.is(at + 1, &["in", "os", ".", "environ"])
    }

    fn asks_the_runner(&self, at: usize) -> bool {
        let word = self.word(at);
        let literal = self.is_literal(at);
        match self.source.language {
            Language::Python => {
                let of_runner = literal && ["pytest", "unittest", "nose"].iter().any(|name| word.contains(name));
                of_runner
                    && (self.is(at + 1, &["in", "sys", "."])
                        || self.is(at.saturating_sub(4), &["sys", ".", "modules", "["]))
                    || of_runner
                        && self.is(at.saturating_sub(2), &["get", "("])
                        && self.word(at.saturating_sub(4)) == "modules"
                    || literal && word == "_called_from_test"
                    || self.looks_up(at, &["stack", "_getframe", "extract_stack", "currentframe", "format_stack"])
            }
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                word == "typeof" && matches!(self.word(at + 1), "jest" | "describe" | "it" | "vi" | "expect" | "mocha")
                    || matches!(word, "globalThis" | "global")
                        && self.word(at + 1) == "."
                        && matches!(self.word(at + 2), "it" | "describe" | "jest" | "expect" | "mocha")
                        && self.word(at + 3) != "="
                    || literal && word == "--test" && self.any(at.saturating_sub(6)..at, &["execArgv", "argv"])
                    || self.looks_up(at, &["stack"])
            }
            Language::Rust => {
                self.is(at, &["cfg", "!", "(", "test", ")"])
                    || self.is(at, &["#", "[", "cfg", "(", "not", "(", "test", ")", ")", "]"])
                        && self.any(at + 10..at + 15, &["fn"])
            }
            Language::Go => {
                self.is(at, &["testing", ".", "Testing", "("])
                    || self.is(at, &["flag", ".", "Lookup", "(", "test.v"])
                    || literal && word == ".test" && self.any(at.saturating_sub(8)..at, &["Args"])
            }
            Language::Java => literal && (word.contains("org.junit") || word.contains("surefire")),
        }
    }

    /// It looks who called, and has a word for tests near by.
    fn looks_up(&self, at: usize, names: &[&str]) -> bool {
        !self.is_literal(at)
            && names.contains(&self.word(at))
            && (at.saturating_sub(2 * NEAR)..at + 3 * NEAR).any(|next| {
                let said = self.word(next).to_lowercase();
                self.is_literal(next) && (said.contains("test") || said.contains("spec"))
            })
    }
}
