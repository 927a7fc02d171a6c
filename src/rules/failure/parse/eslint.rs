//! eslint's own formats, stylish and compact, and what groups by file as they do. Its unix format is read as any linter's.

use super::diagnostics::lint;
use super::found::Found;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;

pattern!(STYLISH, r"^\s+(\d+):\d+\s+(?:✖\s+|✘\s+)?(error|warning|✖|⚠)\s+(.+?)(?:\s{2,}(\S+))?$");
pattern!(GROUPED, r"^\s+(\d+):\d+:?\s+([A-Z]{1,5}\d{2,5})\s+(?:\[\*\] )?(.+)$");
pattern!(COMPACT, r"^(.+?): line (\d+), col \d+, (Error|Warning) - (.+?)(?: \((\S+)\))?$");

pub fn read(text: &Text<'_>, found: &mut Found) {
    let mut file = "";
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(row) = line.starts_with(' ').then(|| STYLISH.captures(line)).flatten() {
            let rule = row.get(4).map_or("", |rule| rule.as_str());
            let is_error = &row[2] == "error" || &row[2] == "✖";
            push(found, is_error, rule, &row[3], file, row[1].parse().ok());
            text.claim(at, at + 1);
        } else if let Some(row) = line.starts_with(' ').then(|| GROUPED.captures(line)).flatten() {
            push(found, true, &row[2], &row[3], file.trim_end_matches(':'), row[1].parse().ok());
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
