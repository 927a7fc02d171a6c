//! One simple command without wrappers and without what only changes how its result looks.

use super::shell::is_assignment;
use super::words::{
    NAMING, RUNNERS, SHOWN, SHOWN_VALUES, WITH_SUBCOMMAND, WRAPPER_VALUES, WRAPPERS, WRAPPERS_WITH_ARGUMENT, among,
};
use std::collections::BTreeSet;

#[derive(Default)]
pub struct Step {
    pub dir: Option<String>,
    pub program: String,
    pub subcommand: Option<String>,
    pub targets: BTreeSet<String>,
}

pub fn step(words: Vec<String>) -> Step {
    let words = unwrap(words);
    let Some((program, rest)) = words.split_first() else { return Step::default() };
    let program = program_name(program);
    if program == "cd" || program == "pushd" {
        return Step { dir: rest.first().map(|dir| dir.trim_end_matches('/').to_owned()), ..Step::default() };
    }
    let mut step = Step { program, ..Step::default() };
    let rest = split_subcommand(&mut step, rest.to_vec());
    targets(&mut step, &rest);
    step
}

/// Takes off assignments, wrappers and runners until the program itself stands first.
fn unwrap(mut words: Vec<String>) -> Vec<String> {
    loop {
        let assigned = words.iter().take_while(|word| is_assignment(word)).count();
        words.drain(..assigned);
        let Some(first) = words.first().map(|word| program_name(word)) else { return words };
        let second = words.get(1).map(String::as_str).unwrap_or_default();
        let taken = if among(WRAPPERS, &first) {
            after_flags(&words, 1, usize::from(among(WRAPPERS_WITH_ARGUMENT, &first)))
        } else if first == "uvx" {
            after_flags(&words, 1, 0)
        } else if among(RUNNERS, &format!("{first}:{second}")) {
            after_flags(&words, 2, 0)
        } else if first == "python"
            && words.iter().skip(1).take_while(|word| word.starts_with('-')).any(|word| word == "-m")
        {
            words.iter().position(|word| word == "-m").map_or(0, |at| at + 1)
        } else {
            0
        };
        if taken == 0 || taken >= words.len() {
            return words;
        }
        words.drain(..taken);
    }
}

fn after_flags(words: &[String], from: usize, arguments: usize) -> usize {
    let mut at = from;
    let mut left = arguments;
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        } else if word.starts_with('-') {
            at += if among(WRAPPER_VALUES, word) { 2 } else { 1 };
        } else if is_assignment(word) {
            at += 1;
        } else if left > 0 {
            left -= 1;
            at += 1;
        } else {
            break;
        }
    }
    at
}

fn program_name(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).trim_end_matches(".exe").trim_end_matches(".cmd");
    match name {
        "gradlew" => "gradle".to_owned(),
        "mvnw" => "mvn".to_owned(),
        "py.test" => "pytest".to_owned(),
        "gmake" => "make".to_owned(),
        _ if name.starts_with("python") && name[6..].chars().all(|c| c.is_ascii_digit() || c == '.') => {
            "python".to_owned()
        }
        _ => name.to_owned(),
    }
}

/// Takes the subcommand off, in its long spelling.
fn split_subcommand(step: &mut Step, mut rest: Vec<String>) -> Vec<String> {
    rest.retain(|word| !(word.starts_with('+') && step.program == "cargo"));
    take_directory(step, &mut rest);
    if !among(WITH_SUBCOMMAND, &step.program) {
        return rest;
    }
    let Some(at) = rest.iter().position(|word| !word.starts_with('-')) else { return rest };
    let word = rest.remove(at);
    let script_runner = ["npm", "yarn", "pnpm", "bun"].contains(&step.program.as_str());
    let word = match (step.program.as_str(), word.as_str()) {
        ("cargo", "t") => "test".to_owned(),
        ("cargo", "b") => "build".to_owned(),
        ("cargo", "c") => "check".to_owned(),
        ("cargo", "r") => "run".to_owned(),
        ("cargo", "nextest") | ("docker", "compose") => {
            let more = rest.iter().position(|word| !word.starts_with('-')).map(|at| rest.remove(at));
            format!("{word} {}", more.unwrap_or_default())
        }
        ("npm", "t" | "tst") => "test".to_owned(),
        ("vitest", "run") => return rest,
        (_, "run" | "run-script") if script_runner => {
            rest.iter().position(|word| !word.starts_with('-')).map_or(word, |at| rest.remove(at))
        }
        _ => word,
    };
    step.subcommand = Some(word);
    rest
}

/// `make -C dir`, `git -C dir` and `npm --prefix dir` say where, as `cd` does.
fn take_directory(step: &mut Step, rest: &mut Vec<String>) {
    let flag = match step.program.as_str() {
        "make" | "git" | "pnpm" | "ninja" => "-C",
        "npm" => "--prefix",
        "yarn" | "uv" => "--cwd",
        _ => return,
    };
    if let Some(at) = rest.iter().position(|word| word == flag).filter(|at| at + 1 < rest.len()) {
        step.dir = Some(rest[at + 1].trim_end_matches('/').to_owned());
        rest.drain(at..at + 2);
    }
}

fn targets(step: &mut Step, rest: &[String]) {
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        let value = rest.get(at + 1).filter(|value| !value.starts_with('-')).map(String::as_str);
        let (target, taken) = target(&step.program, word, value);
        step.targets.extend(target);
        at += taken;
    }
}

/// What one word adds to the targets, and how many words it takes.
fn target(program: &str, word: &str, value: Option<&str>) -> (Option<String>, usize) {
    let name = word.split('=').next().unwrap_or(word);
    let with_value = || match value {
        Some(value) => (Some(format!("{word} {value}")), 2),
        None => (Some(word.to_owned()), 1),
    };
    match (program, word) {
        (_, "--" | "." | "./") | ("pytest", "-s") => (None, 1),
        ("pytest", "-n" | "-p") => (None, 1 + usize::from(value.is_some())),
        ("pytest", word) if word.starts_with("-n") && !word.starts_with("--") => (None, 1),
        ("make" | "ninja", "-k") => (None, 1),
        (_, "-s") if value.is_none() => (None, 1),
        (_, "-k" | "-n" | "-m" | "-s" | "-p" | "-t") => with_value(),
        (_, word) if among(SHOWN, word) || is_jobs(word) => (None, 1),
        (_, word) if among(SHOWN_VALUES, name) => {
            let next = value.is_some_and(|value| !value.contains(['/', '.', ':']));
            (None, 1 + usize::from(!word.contains('=') && next))
        }
        (_, word) if among(NAMING, word) => with_value(),
        (_, word) => (Some(word.trim_start_matches("./").trim_end_matches('/').to_owned()), 1),
    }
}

fn is_jobs(word: &str) -> bool {
    word.strip_prefix("-j").is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
}
