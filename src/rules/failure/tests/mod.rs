//! Outputs of real tools, and outputs written after them.

mod go;
mod java;
mod javascript;
mod laws;
mod layouts;
mod lineage;
mod lint;
mod native;
mod other;
mod pairs;
mod pairs_more;
mod python;
mod rust;

use super::{Report, parse, signature};

/// Reads an output whose exit code stands on its last line, or is not known.
fn read(output: &str) -> Report {
    parse(None, None, output, None, None)
}

/// Keys and causes, sorted, as one readable list.
fn items(output: &str) -> Vec<String> {
    let mut all: Vec<String> = read(output)
        .items
        .iter()
        .map(|item| if item.cause.is_empty() { item.key() } else { format!("{} = {}", item.key(), item.cause) })
        .collect();
    all.sort();
    all
}

fn counts(output: &str) -> (u64, u64, u64) {
    let counts = read(output).counts.expect("the output has counts");
    (counts.passed, counts.failed, counts.skipped)
}

#[track_caller]
fn same(a: &str, b: &str) {
    assert_eq!(signature(&read(a).items), signature(&read(b).items), "\n{:#?}\n{:#?}", items(a), items(b));
}

#[track_caller]
fn different(a: &str, b: &str) {
    assert_ne!(signature(&read(a).items), signature(&read(b).items), "{:#?}", items(a));
}
