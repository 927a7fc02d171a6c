//! The JSON formats of eslint, ruff, pylint, shellcheck and mypy: rows that name a file, a rule and a message.

use super::diagnostics::{add, lint, severity};
use super::found::Found;
use crate::rules::failure::text::Text;
use serde_json::{Deserializer, Value};

const FILES: &[&str] = &["filePath", "filename", "file", "path"];
const RULES: &[&str] = &["ruleId", "message-id", "code", "rule", "symbol"];

pub fn read(text: &Text<'_>, found: &mut Found) {
    let named = FILES.iter().any(|key| text.has(&format!("\"{key}\"")));
    if !named || !text.has("\"message\"") {
        return;
    }
    let mut at = 0;
    while at < text.lines.len() {
        let line = text.line(at);
        if text.is_claimed(at) || !(line.starts_with('[') || line.starts_with('{')) {
            at += 1;
            continue;
        }
        // What is printed behind the value, as by a wrapper, is no part of it.
        let rest = text.lines[at..].join("\n");
        let mut values = Deserializer::from_str(&rest).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else {
            at += 1;
            continue;
        };
        let end = at + rest[..values.byte_offset()].lines().count().max(1);
        let before = found.len() + found.warnings.len();
        match &value {
            Value::Array(rows) => rows.iter().for_each(|row| one(row, found)),
            row => one(row, found),
        }
        if found.len() + found.warnings.len() > before {
            text.claim(at, end);
        }
        at = end;
    }
}

fn one(row: &Value, found: &mut Found) {
    let Some(file) = FILES.iter().find_map(|key| row[*key].as_str()) else { return };
    match row["messages"].as_array() {
        Some(messages) => messages.iter().for_each(|message| message_of(message, file, found)),
        None => message_of(row, file, found),
    }
}

fn message_of(row: &Value, file: &str, found: &mut Found) {
    let Some(message) = row["message"].as_str() else { return };
    let line = row["line"].as_u64().or(row["location"]["row"].as_u64()).and_then(|line| u32::try_from(line).ok());
    // shellcheck counts its rules by number, and prints them with this mark in its other formats.
    let rule = RULES.iter().find_map(|key| match &row[*key] {
        Value::String(rule) => Some(rule.clone()),
        Value::Number(rule) => Some(format!("SC{rule}")),
        _ => None,
    });
    let rule = rule.unwrap_or_default();
    match (&row["severity"], row["level"].as_str().or(row["severity"].as_str())) {
        (Value::Number(level), _) if level.as_u64() != Some(2) => found.warnings.push(lint(&rule, message, file, line)),
        // Those whose rows say a word are compilers in their text forms too; ruff and pylint are not.
        (_, Some(word)) if row["location"].is_null() => add(found, word, severity(word, &rule, message, file, line)),
        _ => found.push(lint(&rule, message, file, line)),
    }
}
