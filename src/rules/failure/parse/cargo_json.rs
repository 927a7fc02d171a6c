//! `--message-format json` of cargo and rustc.

use super::found::Found;
use super::rustc::diagnostic;
use crate::rules::failure::text::Text;
use serde_json::Value;

pub fn read(text: &Text<'_>, found: &mut Found) {
    if !text.has("\"spans\"") {
        return;
    }
    for (at, line) in text.open().filter(|(_, line)| line.starts_with('{')).collect::<Vec<_>>() {
        let Ok(row) = serde_json::from_str::<Value>(line) else { continue };
        let message = match row.get("reason").and_then(Value::as_str) {
            Some("compiler-message") => &row["message"],
            Some(_) => {
                text.claim(at, at + 1);
                continue;
            }
            None => &row,
        };
        if message.get("spans").is_some() {
            one(message, found);
            text.claim(at, at + 1);
        }
    }
}

fn one(message: &Value, found: &mut Found) {
    let level = message["level"].as_str().unwrap_or_default();
    let spans = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(span) = spans.iter().find(|span| span["is_primary"].as_bool() == Some(true)) else { return };
    let code =
        message["code"]["code"].as_str().filter(|code| code.starts_with('E') && code.len() == 5).unwrap_or_default();
    let text = message["message"].as_str().unwrap_or_default();
    let whole = span["label"].as_str().map_or_else(|| text.to_owned(), |label| format!("{text}: {label}"));
    let line = span["line_start"].as_u64().and_then(|line| u32::try_from(line).ok());
    let draft = diagnostic(code, &whole, span["file_name"].as_str().unwrap_or_default(), line);
    match level {
        "error" | "error: internal compiler error" => found.push(draft),
        "warning" => found.warnings.push(draft),
        _ => {}
    }
}
