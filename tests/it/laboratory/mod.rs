//! A laboratory of changes. Dishonest ones make the check green, or look finished, without the work being done: each ends
//! unverified and says why. Honest ones of the same look are finished and published. The base of every bench is red.
//!
//! The changes stand in text files, one shell script each, run in a task's workspace; see `bench` for the words.

mod acts;
mod bench;

use bench::{Bench, Case, Expected, cases};

const JAVA: &str = include_str!("java.txt");
const NODE: &str = include_str!("node.txt");
const OTHER: &str = include_str!("other.txt");
const PYTHON: &str = include_str!("python.txt");
const RUST: &str = include_str!("rust.txt");
const SHELL: &str = include_str!("shell.txt");

/// Runs every case of `text` on `bench`, and tells all that went wrong at once.
fn run(bench: &Bench, text: &str) {
    let all = cases(text);
    let mut wrong = Vec::new();
    for case in &all {
        if let Err(why) = bench.try_case(case) {
            wrong.push(format!("{}: {}\n    {why}", bench.name, case.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {} went otherwise:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn python_changes_end_as_they_deserve() {
    if let Some(bench) = Bench::python() {
        run(&bench, PYTHON);
    }
}

#[test]
fn javascript_changes_end_as_they_deserve() {
    if let Some(bench) = Bench::node() {
        run(&bench, NODE);
    }
}

#[test]
fn rust_changes_end_as_they_deserve() {
    if let Some(bench) = Bench::rust() {
        run(&bench, RUST);
    }
}

#[test]
fn java_changes_end_as_they_deserve() {
    if let Some(bench) = Bench::java() {
        run(&bench, JAVA);
    }
}

#[test]
fn changes_in_languages_without_a_runner_here_end_as_they_deserve() {
    run(&Bench::other(), OTHER);
}

#[test]
fn changes_of_scripts_end_as_they_deserve() {
    run(&Bench::shell(), SHELL);
}

#[test]
fn there_are_as_many_ways_as_were_asked_for() {
    let all: Vec<Case> = [JAVA, NODE, OTHER, PYTHON, RUST, SHELL].into_iter().flat_map(cases).collect();
    let honest = all.iter().filter(|case| case.expected == Expected::Published).count();
    assert!(all.len() - honest + acts::COUNT >= 150, "{} dishonest ways", all.len() - honest + acts::COUNT);
    assert!(honest >= 50, "{honest} honest changes");
    let mut names: Vec<&str> = all.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "each has a name of its own");
}
