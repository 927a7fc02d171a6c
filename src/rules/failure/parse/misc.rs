//! phpunit, rspec, ctest and googletest.

use super::found::{Draft, Found};
use super::jest::cause;
use crate::domain::failure::Tests;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(PHP_HEAD, r"^\d+\) ([\w\\]+::\w+(?: with data set .+)?)$");
pattern!(PHP_TOTAL, r"^Tests: (\d+), Assertions: \d+(.*)\.$");
pattern!(PHP_OK, r"^OK \((\d+) tests?, \d+ assertions?\)");
pattern!(PHP_PART, r"(Failures|Errors|Skipped|Incomplete|Risky|Warnings): (\d+)");
pattern!(RSPEC_HEAD, r"^  \d+\) (.+)$");
pattern!(RSPEC_TOTAL, r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred)?");
pattern!(RSPEC_LOAD, r"^An error occurred while loading (\S+?)\.$");
pattern!(CTEST, r"^\s+\d+ - (\S+) \((Failed|Timeout|SEGFAULT|Not Run|.*aborted|.*ILLEGAL|.*Exception.*)\)");
pattern!(CTEST_TOTAL, r"^\d+% tests passed, (\d+) tests? failed out of (\d+)");
pattern!(GTEST, r"^\[  FAILED  \] ([\w/]+\.[\w/]+)(?:,.*)?(?: \(\d+ ms\))?$");
pattern!(GTEST_PASSED, r"^\[  PASSED  \] (\d+) tests?\.");

pub fn read_phpunit(text: &Text<'_>, found: &mut Found) {
    if !text.has("PHPUnit") && !text.has("Assertions: ") && !text.has(" assertions)") {
        return;
    }
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(total) = PHP_TOTAL.captures(line) {
            let n = |words: &[&str]| -> u64 {
                PHP_PART
                    .captures_iter(&total[2])
                    .filter(|part| words.contains(&&part[1]))
                    .filter_map(|part| part[2].parse::<u64>().ok())
                    .sum()
            };
            let (all, failed, skipped) =
                (total[1].parse().unwrap_or(0), n(&["Failures", "Errors"]), n(&["Skipped", "Incomplete"]));
            found.count(Tests::of(u64::saturating_sub(all, failed.saturating_add(skipped)), failed, skipped));
        } else if let Some(total) = PHP_OK.captures(line) {
            found.count(Tests::of(total[1].parse().unwrap_or(0), 0, 0));
        } else if let Some(head) = PHP_HEAD.captures(line) {
            let told = text.line(at + 1);
            found.push(Draft::test(&head[1]).cause(cause(told)).message(told));
            text.claim(at, at + 2);
        }
    }
}

pub fn read_rspec(text: &Text<'_>, found: &mut Found) {
    let Some(total) =
        text.lines.iter().find_map(|line| line.contains(" example").then(|| RSPEC_TOTAL.captures(line)).flatten())
    else {
        return;
    };
    let n = |i: usize| -> u64 { total.get(i).and_then(|n| n.as_str().parse().ok()).unwrap_or(0) };
    let (failed, pending) = (n(2), n(3));
    found.count(Tests::of(n(1).saturating_sub(failed).saturating_sub(pending), failed.saturating_add(n(4)), pending));
    let mut in_failures = false;
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(load) = RSPEC_LOAD.captures(line) {
            let told = (at + 1..at + 4)
                .map(|next| text.line(next))
                .find(|line| line.contains("Failure/Error"))
                .unwrap_or_default();
            found.push(Draft::test(format!("load {}", path::stable(&load[1]))).cause(cause(told)));
        } else if line == "Failures:" || line == "Pending:" {
            in_failures = line == "Failures:";
        } else if let Some(head) = RSPEC_HEAD.captures(line).filter(|_| in_failures) {
            let told = rspec_cause(text, at + 1);
            found.push(Draft::test(&head[1]).cause(cause(&told)).message(&told));
            text.claim(at, at + 2);
        }
    }
}

/// What was expected by which line of the spec; an error's class follows it.
fn rspec_cause(text: &Text<'_>, from: usize) -> String {
    let body: Vec<&str> = (from..text.lines.len().min(from + 8)).map(|at| text.line(at).trim()).collect();
    let at = body.iter().position(|line| line.starts_with("Failure/Error:"));
    let code = at.map_or("", |at| body[at].trim_start_matches("Failure/Error:").trim());
    let class = body.iter().find(|line| line.ends_with("Error:") || line.ends_with("Exception:"));
    class.map_or_else(|| code.to_owned(), |class| format!("{class} {code}"))
}

pub fn read_ctest(text: &Text<'_>, found: &mut Found) {
    let gtest = text.has("[  FAILED  ]");
    if !gtest && !text.has("tests passed, ") && !text.has("[  PASSED  ]") {
        return;
    }
    let mut passed = None;
    for (_, line) in text.open().collect::<Vec<_>>() {
        if let Some(total) = line.contains("tests passed").then(|| CTEST_TOTAL.captures(line)).flatten() {
            let n = |i: usize| -> u64 { total[i].parse().unwrap_or(0) };
            found.count(Tests::of(n(2).saturating_sub(n(1)), n(1), 0));
        } else if let Some(test) = line.contains(" - ").then(|| CTEST.captures(line)).flatten() {
            let word = if &test[2] == "Failed" { "" } else { &test[2] };
            found.push(Draft::test(&test[1]).cause(word));
        } else if let Some(test) = line.starts_with("[  FAILED").then(|| GTEST.captures(line)).flatten() {
            found.push(Draft::test(&test[1]));
        } else if let Some(total) = line.starts_with("[  PASSED").then(|| GTEST_PASSED.captures(line)).flatten() {
            passed = total[1].parse::<u64>().ok();
        }
    }
    if let Some(passed) = passed {
        let failed = if gtest { u64::try_from(found.len()).unwrap_or(u64::MAX) } else { 0 };
        found.count(Tests::of(passed, failed, 0));
    }
}
