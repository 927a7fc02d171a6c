//! The JSON reporter of jest and vitest.

use super::found::{Draft, Found};
use super::jest::cause;
use super::modules::node_module;
use crate::domain::failure::{Kind, Tests};
use crate::rules::failure::mask::volatile;
use crate::rules::failure::path;
use crate::rules::failure::text::Text;
use serde_json::Value;

pub fn read(text: &Text<'_>, found: &mut Found) {
    if !text.has("\"numTotalTests\"") {
        return;
    }
    for (at, line) in text.open().filter(|(_, line)| line.starts_with('{')).collect::<Vec<_>>() {
        let Some((row, end)) = object(text, at, line) else { continue };
        if row.get("numTotalTests").is_none() {
            continue;
        }
        let n = |name: &str| row[name].as_u64().unwrap_or(0);
        found.count(Tests::of(n("numPassedTests"), n("numFailedTests"), n("numPendingTests") + n("numTodoTests")));
        for suite in row["testResults"].as_array().into_iter().flatten() {
            one_suite(suite, found);
        }
        text.claim(at, end);
    }
}

/// Reads an object on one line, or printed over the lines up to the last brace.
fn object(text: &Text<'_>, at: usize, line: &str) -> Option<(Value, usize)> {
    if let Ok(row) = serde_json::from_str(line) {
        return Some((row, at + 1));
    }
    // Printed over several lines it opens with a brace alone; tried once, since each try reads all the rest.
    let end = text.lines.iter().rposition(|line| *line == "}")? + 1;
    let first =
        text.lines.iter().position(|line| line.starts_with('{') && serde_json::from_str::<Value>(line).is_err());
    if at >= end || first != Some(at) {
        return None;
    }
    serde_json::from_str(&text.lines[at..end].join("\n")).ok().map(|row| (row, end))
}

fn one_suite(suite: &Value, found: &mut Found) {
    let file = path::stable(suite["name"].as_str().unwrap_or_default());
    let mut any = false;
    for test in suite["assertionResults"].as_array().into_iter().flatten() {
        any = true;
        if test["status"].as_str() != Some("failed") {
            continue;
        }
        let mut names: Vec<&str> =
            test["ancestorTitles"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        names.retain(|name| !name.is_empty());
        names.push(test["title"].as_str().unwrap_or_default());
        let told = test["failureMessages"][0].as_str().unwrap_or_default();
        let told = told.lines().next().unwrap_or_default();
        let told = told.strip_prefix("Error: ").filter(|rest| rest.starts_with("expect(")).unwrap_or(told);
        found.push(
            Draft::test(format!("{file} > {}", names.join(" > "))).cause(cause(told)).at(&file, None).message(told),
        );
    }
    let message = suite["message"].as_str().unwrap_or_default();
    if !any && suite["status"].as_str() == Some("failed") {
        let draft = match message.lines().find_map(node_module) {
            Some(module) => Draft::new(Kind::MissingModule, module),
            None => Draft::new(Kind::Compiler, format!("suite {file}"))
                .cause(volatile(message.lines().next().unwrap_or_default())),
        };
        found.push(draft.at(&file, None).message(message));
    }
}
