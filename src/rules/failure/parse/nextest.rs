//! `cargo nextest run`.

use super::found::{Draft, Found};
use super::libtest;
use crate::domain::failure::Tests;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;
use std::collections::HashMap;

pattern!(
    STATUS,
    r"^\s*(?:TRY \d+ )?(FAIL|TIMEOUT|ABORT|SIG[A-Z]+|LEAK-FAIL|FL\+LK)\s+\[[^\]]*\]\s+(?:\(\s*[\d─-]+/\d+\)\s+)?(\S+) (\S+)$"
);
pattern!(SECTION, r"^\s*(?:---|────).*(?:STDOUT|STDERR):\s+(\S+) (\S+?)(?:\s+─*-*)?$");
pattern!(OTHER, r"^\s*(?:PASS|SLOW|SKIP|LEAK|FLAKY|TERMINATING|Summary|Cancell?ing|Starting) \[?|^─{4,}");
pattern!(SUMMARY, r"^\s*Summary \[[^\]]*\]\s+(\d+)(?:/\d+)? tests? run: (.*)$");
pattern!(PART, r"(\d+) (passed|failed|timed out|skipped|exec failed)");

pub fn read(text: &Text<'_>, found: &mut Found) {
    if !text.has("Nextest run ID") && !text.has("Summary [") && !text.has(" FAIL [") {
        return;
    }
    let mut outputs: HashMap<String, Vec<&str>> = HashMap::new();
    let mut failing: Vec<(String, &'static str)> = Vec::new();
    let mut current: Option<String> = None;
    // Behind the summary every failed test is named again, in some profiles with its output.
    let mut summed = false;
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(status) = line.contains('[').then(|| STATUS.captures(line)).flatten() {
            let id = id(&status[2], &status[3]);
            failing.push((id.clone(), word(&status[1])));
            current = Some(id);
        } else if let Some(section) = line.contains("STD").then(|| SECTION.captures(line)).flatten() {
            current = Some(id(&section[1], &section[2]));
        } else if OTHER.is_match(line) || summed && !line.is_empty() && !line.starts_with(' ') {
            current = None;
            if let Some(summary) = SUMMARY.captures(line) {
                found.count(counts(&summary[2]));
                summed = true;
            }
        } else if let Some(id) = &current {
            outputs.entry(id.clone()).or_default().push(line.strip_prefix("    ").unwrap_or(line));
            text.claim(at, at + 1);
        }
    }
    for (id, word) in failing {
        let (cause, file) = outputs.get(&id).and_then(|lines| libtest::cause(lines)).unwrap_or_default();
        let cause = if word.is_empty() { cause } else { word.to_owned() };
        found.push(Draft::test(id).cause(cause).at(file, None));
    }
}

fn word(word: &str) -> &'static str {
    match word {
        "TIMEOUT" => "timeout",
        "ABORT" | "SIGABRT" => "abort",
        "SIGSEGV" => "SIGSEGV",
        "LEAK-FAIL" => "leak",
        "FAIL" => "",
        _ => "signal",
    }
}

/// `calc`, `calc::it` and `calc::bin/x` become the labels that `cargo test` uses in a workspace.
fn id(binary: &str, test: &str) -> String {
    let target = match binary.split_once("::") {
        None => format!("{binary} lib"),
        Some((package, target)) => match target.split_once('/') {
            Some((kind, name)) => format!("{package} {kind} {name}"),
            None => format!("{package} test {target}"),
        },
    };
    format!("{target} {test}")
}

fn counts(text: &str) -> Tests {
    let n = |word: &str| {
        PART.captures_iter(text).filter(|part| &part[2] == word).filter_map(|part| part[1].parse::<u64>().ok()).sum()
    };
    let failed: u64 = ["failed", "timed out", "exec failed"].iter().map(|word| -> u64 { n(word) }).sum();
    Tests::of(n("passed"), failed, n("skipped"))
}
