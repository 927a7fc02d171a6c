//! Ends of the process as if all were well, outside of the calls that a test makes by itself.

use super::Reader;
use crate::rules::integrity::model::{Kind, Language};

const ENDS: &str = "the run ends here as if all were well";

impl Reader<'_> {
    pub(super) fn ends(&mut self, at: usize) {
        let end = match self.source.language {
            Language::Python => self.python_ends(at),
            Language::JavaScript | Language::TypeScript | Language::Tsx => self.script_ends(at),
            Language::Java => self
                .is(at, &["addShutdownHook", "("])
                .then_some(at + 1)
                .filter(|open| self.any(self.inside(*open), &["halt", "exit"])),
            Language::Rust => self
                .is(at, &["set_hook", "("])
                .then_some(at + 1)
                .filter(|open| self.any(self.inside(*open), &["exit", "_exit"])),
            Language::Go => None,
        };
        if let Some(open) = end {
            let end = self.inside(open).end + 1;
            self.hold(Kind::ExitAdded, at..end.min(at + 60), ENDS);
        }
    }

    /// The bracket at `open` holds nothing, or success.
    fn success(&self, open: usize) -> bool {
        let inside = self.inside(open);
        inside.is_empty()
            || inside.len() == 1 && matches!(self.word(inside.start), "0" | "None" | "False" | "EX_OK")
            || inside.len() == 3 && self.word(inside.start + 2) == "EX_OK"
    }

    fn python_ends(&self, at: usize) -> Option<usize> {
        if self.is(at, &["atexit", ".", "register", "("]) {
            return Some(at + 3).filter(|open| self.any(self.inside(*open), &["_exit", "kill", "killpg", "exit"]));
        }
        if self.is(at, &["raise", "SystemExit"]) {
            let silent = self.word(at + 2) != "(" || self.success(at + 2);
            return Some(at + 2).filter(|_| silent && (self.tests || self.at_margin(at)));
        }
        if self.tests && self.is(at, &["os", "."]) && self.word(at + 2).starts_with("exec") && self.word(at + 3) == "("
        {
            return Some(at + 3);
        }
        // What tests call by themselves is read with their bodies.
        let hard = self.is(at, &["os", ".", "_exit", "("]) && self.success(at + 3);
        let soft = self.is(at, &["sys", ".", "exit", "("]) && self.success(at + 3) && self.at_margin(at);
        (!self.tests && (hard || soft)).then_some(at + 3)
    }

    fn script_ends(&self, at: usize) -> Option<usize> {
        if self.word(at) != "process" || self.word(at + 1) != "." {
            return None;
        }
        let name = self.word(at + 2);
        if matches!(name, "on" | "once" | "addListener" | "prependListener") && self.word(at + 3) == "(" {
            let inside = self.inside(at + 3);
            let of_exit = matches!(self.word(inside.start), "exit" | "beforeExit");
            let caught = matches!(self.word(inside.start), "uncaughtException" | "unhandledRejection");
            let zero = inside.clone().any(|at| {
                self.is(at, &["exitCode", "=", "0"])
                    || matches!(self.word(at), "exit" | "reallyExit")
                        && self.word(at + 1) == "("
                        && self.success(at + 1)
            });
            let sets = self.any(inside, &["exitCode", "reallyExit"]);
            return (zero && (of_exit || caught) || of_exit && sets).then_some(at + 3);
        }
        if self.is(at + 2, &["exitCode", "=", "0"]) {
            return Some(at + 4);
        }
        if self.tests || self.word(at + 3) != "(" || !self.success(at + 3) {
            return None;
        }
        let library = ["module.exports", "exports.", "export "].iter().any(|word| self.source.text.contains(word));
        (name == "reallyExit" || name == "exit" && library && self.at_margin(at)).then_some(at + 3)
    }
}
