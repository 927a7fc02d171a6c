//! What an exit status means, program by program: a no, or that the program could not look.
//!
//! A table says it for programs that use more than one status above 0. For every other program each status above 0 is
//! its no.

use crate::domain::profile::Run;
use crate::rules::words::{Token, Word, tokens};

/// What a status other than 0 says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// The program's own no, in words.
    No(String),
    /// The program failed to find out.
    CouldNotTell(String),
    /// Only an early stage of a pipeline was ended by SIGPIPE, because the next had seen enough.
    Nothing,
}

/// 128 + SIGPIPE, as a shell reports a stage that wrote to nobody.
pub const SIGPIPE: i32 = 141;
/// The statuses with which a shell says that it could not start a command.
const NOT_STARTED: [i32; 2] = [126, 127];

/// What `code` says that `run` ended with, given the statuses of its last pipeline where they are known.
pub fn of(run: &Run, code: i32, statuses: &[i32]) -> Says {
    let stages = match run {
        Run::Argv(words) => vec![words.iter().map(|word| Word::plain(word)).collect()],
        Run::Shell(text) => last_pipeline(text),
    };
    let named = |at: usize| stages.get(at).map_or_else(Program::default, |words| Program::of(words));
    if statuses.len() != stages.len() || statuses.len() < 2 {
        // One command, or a shell that did not say which of its commands spoke.
        let spoke = if stages.len() == 1 { named(0) } else { Program::default() };
        return spoke.says(code);
    }
    let early = statuses.len() - 1;
    let told = |(at, status): &(usize, &i32)| **status != 0 && !(*at < early && **status == SIGPIPE);
    match statuses.iter().enumerate().rev().find(told) {
        Some((_, status @ 129..=192)) => Says::CouldNotTell(format!("signal {} ended a stage of it", status - 128)),
        Some((at, status)) => named(at).says(*status),
        None => cut_off(&named, statuses),
    }
}

/// Only SIGPIPE in early stages. For what only writes that is nothing; a suite that was cut off said nothing yet.
fn cut_off(named: &impl Fn(usize) -> Program, statuses: &[i32]) -> Says {
    let cut = statuses.iter().enumerate().filter(|(_, status)| **status == SIGPIPE);
    let suite = cut.map(|(at, _)| named(at)).find(|program| SUITES.contains(&program.name.as_str()));
    suite.map_or(Says::Nothing, |program| {
        Says::CouldNotTell(format!("the next stage closed the pipe before `{}` had ended", program.name))
    })
}

/// Programs whose answer is their exit status after all their work, so that one cut off has not answered.
const SUITES: [&str; 24] = [
    "cargo", "pytest", "py.test", "jest", "vitest", "mocha", "go", "tsc", "eslint", "make", "just", "mvn", "mvnw",
    "gradle", "gradlew", "npm", "pnpm", "yarn", "bun", "tox", "nox", "ruff", "mypy", "ctest",
];

/// A program as it was called, with what is put before it taken off.
#[derive(Debug, Default)]
struct Program {
    name: String,
    arguments: Vec<String>,
    /// Whether it ran under `timeout`.
    is_timed: bool,
}

impl Program {
    fn of(words: &[Word]) -> Self {
        let called: Vec<&str> =
            words.iter().skip_while(|word| word.is_assignment()).map(|word| word.text.as_str()).collect();
        let (mut rest, mut is_timed) = (called.as_slice(), false);
        while let Some(wrapped) = unwrapped(rest) {
            is_timed |= base(rest[0]) == "timeout";
            rest = wrapped;
        }
        let Some((name, arguments)) = rest.split_first() else { return Self::default() };
        Self { name: base(name).to_owned(), arguments: arguments.iter().map(ToString::to_string).collect(), is_timed }
    }

    fn has(&self, flags: &[&str]) -> bool {
        self.arguments.iter().any(|argument| flags.contains(&argument.as_str()))
    }

    /// The first argument that is no option: a subcommand, for programs that have them.
    fn verb(&self) -> &str {
        self.arguments.iter().find(|argument| !argument.starts_with(['-', '+'])).map_or("", String::as_str)
    }

    fn says(&self, code: i32) -> Says {
        let no = |why: &str| Says::No(format!("it exited with {code}{why}"));
        let failed = |why: &str| Says::CouldNotTell(format!("it exited with {code}, {why}"));
        let not_a_no = || failed("which is that program's failure and not its no");
        if self.is_timed && code == 124 {
            return failed("because `timeout` ended it");
        }
        if NOT_STARTED.contains(&code) || (self.is_timed && code == 125) {
            return not_a_no();
        }
        match (self.name.as_str(), code) {
            ("pytest" | "py.test", 1) => no(""),
            ("pytest" | "py.test", 2) => failed("because pytest was interrupted, or could not collect the tests"),
            ("pytest" | "py.test", 3) => failed("because pytest itself failed"),
            ("pytest" | "py.test", 4) => failed("because pytest was called wrongly"),
            ("pytest" | "py.test", 5) => no(": no tests were collected"),
            ("cargo", 4) if self.verb() == "nextest" => no(": there were no tests to run"),
            ("go", 2) => no(": the build failed"),
            ("tsc", 1 | 2) | ("go", 1) => no(""),
            _ if self.answers_by_one() && code != 1 => not_a_no(),
            ("git", 128 | 129) => not_a_no(),
            _ => no(""),
        }
    }

    /// Whether 1 is its no and every higher status says that it could not look.
    fn answers_by_one(&self) -> bool {
        match self.name.as_str() {
            "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "diff" | "cmp" | "test" | "[" => true,
            "eslint" | "prettier" | "ruff" | "mypy" | "shellcheck" | "black" => true,
            "git" => match self.verb() {
                "diff" => self.has(&["--quiet", "--exit-code", "--no-index"]),
                "merge-base" => self.has(&["--is-ancestor"]),
                "grep" => true,
                _ => false,
            },
            _ => false,
        }
    }
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

/// The command that `words` only wrap, if they do: its status is then theirs.
fn unwrapped<'w>(words: &'w [&'w str]) -> Option<&'w [&'w str]> {
    let (first, rest) = words.split_first()?;
    let after_options = |rest: &'w [&'w str]| {
        let start = rest.iter().position(|word| !word.starts_with('-') && !word.contains('='))?;
        Some(&rest[start..])
    };
    match (base(first), rest.first().copied()) {
        ("!", _) => None,
        ("command" | "builtin" | "exec" | "nohup" | "time" | "env" | "{" | "nice" | "npx" | "bunx", Some(_)) => {
            after_options(rest)
        }
        ("timeout", Some(_)) => timed(rest),
        ("uv" | "poetry" | "pdm" | "hatch" | "pipenv" | "rye", Some("run"))
        | ("npm" | "pnpm" | "yarn" | "bundle", Some("exec")) => after_options(&rest[1..]),
        ("pnpm" | "yarn", Some("eslint" | "tsc" | "jest" | "vitest" | "prettier")) => Some(rest),
        (python, Some("-m")) if python.starts_with("python") => Some(&rest[1..]),
        _ => None,
    }
}

/// What `timeout` runs: what stands behind its options and its duration.
fn timed<'w>(rest: &'w [&'w str]) -> Option<&'w [&'w str]> {
    let mut at = 0;
    while let Some(option) = rest.get(at).filter(|word| word.starts_with('-')) {
        at += if matches!(*option, "-k" | "-s" | "--kill-after" | "--signal") { 2 } else { 1 };
    }
    rest.get(at + 1..)
}

/// The stages of the pipeline that decides how `text` ends. Empty where a `&&`, `||` or `&` leaves that open.
fn last_pipeline(text: &str) -> Vec<Vec<Word>> {
    let mut stages: Vec<Vec<Word>> = vec![Vec::new()];
    let (mut is_open, mut ended, mut redirected) = (false, false, false);
    for token in tokens(text) {
        if std::mem::take(&mut ended) && !matches!(token, Token::Join(";")) {
            stages = vec![Vec::new()];
            is_open = false;
        }
        match token {
            Token::Redirect => redirected = true,
            Token::Word(_) if std::mem::take(&mut redirected) => {}
            Token::Word(word) => stages.last_mut().expect("there is one").push(word),
            Token::Join("|") => stages.push(Vec::new()),
            Token::Join(";") => ended = true,
            Token::Join(_) => is_open = true,
        }
    }
    // A shell that stops at the first failure ends with any of its commands' statuses.
    let stops_early = text.contains("set -") || text.contains("errexit");
    if is_open || stops_early { Vec::new() } else { stages }
}

#[cfg(test)]
#[path = "exits_tests.rs"]
mod tests;
