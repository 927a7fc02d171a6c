//! eslint's own formats: stylish, compact, JSON. Its unix format is read as any linter's.

use super::diagnostics::lint;
use super::found::Found;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;
use serde_json::Value;

pattern!(STYLISH, r"^\s+(\d+):\d+\s+(?:✖\s+|✘\s+)?(error|warning|✖|⚠)\s+(.+?)(?:\s{2,}(\S+))?$");
pattern!(COMPACT, r"^(.+?): line (\d+), col \d+, (Error|Warning) - (.+?)(?: \((\S+)\))?$");

pub fn read(text: &Text<'_>, found: &mut Found) {
    let mut file = "";
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(row) = line.starts_with(' ').then(|| STYLISH.captures(line)).flatten() {
            let rule = row.get(4).map_or("", |rule| rule.as_str());
            let is_error = &row[2] == "error" || &row[2] == "✖";
            push(found, is_error, rule, &row[3], file, row[1].parse().ok());
            text.claim(at, at + 1);
        } else if let Some(row) = line.contains(": line ").then(|| COMPACT.captures(line)).flatten() {
            let rule = row.get(5).map_or("", |rule| rule.as_str());
            push(found, &row[3] == "Error", rule, &row[4], &row[1], row[2].parse().ok());
            text.claim(at, at + 1);
        } else if !line.is_empty() && !line.starts_with(' ') {
            file = line;
        }
    }
}

fn push(found: &mut Found, is_error: bool, rule: &str, message: &str, file: &str, line: Option<u32>) {
    let draft = lint(rule, message, file, line);
    if is_error { found.push(draft) } else { found.warnings.push(draft) }
}

/// The JSON formats of eslint and of ruff.
pub fn read_json(text: &Text<'_>, found: &mut Found) {
    let ruff = text.has("\"filename\"") && text.has("\"location\"");
    if !ruff && !text.has("\"ruleId\"") {
        return;
    }
    let Some(start) = text.lines.iter().position(|line| line.starts_with('[')) else { return };
    let end = text.lines.iter().rposition(|line| line.ends_with(']')).map_or(start + 1, |at| at + 1);
    let Some(rows) = text.lines.get(start..end.max(start + 1)) else { return };
    let Ok(Value::Array(files)) = serde_json::from_str::<Value>(&rows.join("\n")) else { return };
    for file in &files {
        let name = file["filePath"].as_str().or(file["filename"].as_str()).unwrap_or_default();
        for message in file["messages"].as_array().into_iter().flatten() {
            let line = message["line"].as_u64().and_then(|line| u32::try_from(line).ok());
            let is_error = message["severity"].as_u64() == Some(2);
            push(
                found,
                is_error,
                text_of(&message["ruleId"]),
                text_of(&message["message"]).trim_end_matches('.'),
                name,
                line,
            );
        }
        if file.get("messages").is_none() && file.get("code").is_some() {
            let line = file["location"]["row"].as_u64().and_then(|line| u32::try_from(line).ok());
            push(found, true, text_of(&file["code"]), text_of(&file["message"]), name, line);
        }
    }
    text.claim(start, end);
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
