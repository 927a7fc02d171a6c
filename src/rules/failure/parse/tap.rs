//! TAP 13 and 14, with node's way of nesting and describing.

use super::found::{Draft, Found};
use super::jest::cause;
use crate::domain::failure::Tests;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(POINT, r"^(\s*)(not ok|ok)\b\s*(\d+)?\s*-?\s*(.*)$");
pattern!(SUBTEST, r"^(\s*)# Subtest: (.+)$");
pattern!(DIRECTIVE, r"(?i)\s+#\s*(SKIP|TODO)\b.*$");
pattern!(TIMING, r"\s+# time=[\d.]+m?s\b|\s+in \d+ms$");
pattern!(PLAN, r"^\s*1\.\.\d+");
pattern!(FIELD, r#"^\s*(error|name|message|location|file|failureType|code|line|at): ?(.*)$"#);
pattern!(CRASH, r"^(?:Uncaught )?\w*Error(?: \[\w+\])?: ");
const MAX_YAML_LINES: usize = 200;
/// How far above its point the crash of a file is looked for.
const MAX_CRASH_LINES: usize = 80;

/// What one point's YAML block says.
#[derive(Default)]
struct Details {
    error: String,
    location: String,
    failure_type: String,
    code: String,
    name: String,
    /// The message stands below `error:`, and beside the name of its class.
    is_nested: bool,
}

pub fn read(text: &Text<'_>, found: &mut Found) {
    let headed = text.has("TAP version 1") || found.is_asked(&["tap", "tape", "prove", "bats"]);
    if !headed && !(text.lines.iter().any(|line| PLAN.is_match(line)) && (text.has("\nok ") || text.has("not ok "))) {
        return;
    }
    let mut names: Vec<String> = Vec::new();
    let mut tests = Tests::default();
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(open) = line.contains("# Subtest: ").then(|| SUBTEST.captures(line)).flatten() {
            names.truncate(open[1].len() / 4);
            names.push(open[2].to_owned());
        } else if line.starts_with("Bail out!") {
            found.push(Draft::test("bail out").cause(cause(line)));
        } else if line.trim_start().starts_with(['o', 'n'])
            && let Some(point) = POINT.captures(line)
        {
            let depth = point[1].len() / 4;
            let is_parent = names.len() > depth + 1;
            names.truncate(depth);
            let rest = TIMING.replace(&point[4], "");
            // vitest opens a block of the points within with the point of the whole.
            if let Some(name) = rest.strip_suffix(" {") {
                names.push(name.to_owned());
                continue;
            }
            let counted = this_point(text, found, &names, at, &point[2], &rest);
            tests = if is_parent { tests } else { tests.plus(counted) };
        }
    }
    found.drop_parents(" > ");
    if let Some(said) = node_counts(text, "# ").or(Some(tests).filter(|tests| tests.run + tests.skipped > 0)) {
        found.count(said);
    }
}

fn this_point(text: &Text<'_>, found: &mut Found, parents: &[String], at: usize, word: &str, rest: &str) -> Tests {
    let directive = DIRECTIVE.captures(rest).or_else(|| DIRECTIVE.captures(text.line(at)));
    let name = DIRECTIVE.replace(rest, "").into_owned();
    match (directive, word) {
        (Some(_), _) => return Tests::of(0, 0, 1),
        (None, "ok") => return Tests::of(1, 0, 0),
        _ => {}
    }
    let (details, end) = details(text, at + 1);
    text.claim(at, end);
    if details.failure_type == "subtestsFailed" {
        return Tests::default();
    }
    let (file, line) = split_place(&details.location);
    let mut names: Vec<&str> = parents.iter().map(String::as_str).filter(|name| !is_file(name)).collect();
    if !is_file(&name) {
        names.push(&name);
    }
    let file = if file.is_empty() {
        parents.iter().chain([&name]).find(|name| is_file(name)).map(|n| path::stable(n)).unwrap_or_default()
    } else {
        file
    };
    let id =
        std::iter::once(file.as_str()).chain(names).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ");
    let told = match details.failure_type.as_str() {
        "testTimeoutFailure" => "timeout".to_owned(),
        _ if details.error.is_empty() => details.code.clone(),
        _ if details.is_nested && !details.name.is_empty() => {
            format!("{}: {}", details.name, details.error)
        }
        _ => details.error.trim_end_matches(':').to_owned(),
    };
    let told = with_crash(text, at, &told);
    found.push(Draft::test(id).cause(cause(&told)).at(file, line).message(&told));
    Tests::of(0, 1, 0)
}

pub fn is_file(name: &str) -> bool {
    [".js", ".mjs", ".cjs", ".ts", ".mts", ".t", ".jsx", ".tsx"].iter().any(|end| name.ends_with(end))
        && !name.contains(' ')
        || name.starts_with('/') && name.ends_with("js")
}

fn details(text: &Text<'_>, from: usize) -> (Details, usize) {
    let mut all = Details::default();
    if text.line(from).trim() != "---" {
        return (all, from);
    }
    let to = text.lines.len().min(from + MAX_YAML_LINES);
    let end = (from + 1..to).find(|at| text.line(*at).trim() == "...").map_or(to, |at| at + 1);
    for at in from + 1..end {
        let Some(field) = FIELD.captures(text.line(at)) else { continue };
        let value = block_value(text, at, field.get(2).map_or("", |value| value.as_str()));
        let slot = match &field[1] {
            "error" | "message" => &mut all.error,
            "location" | "file" | "at" => &mut all.location,
            "failureType" => &mut all.failure_type,
            "code" => &mut all.code,
            "name" => &mut all.name,
            _ => continue,
        };
        if slot.is_empty() {
            *slot = value;
            all.is_nested |= &field[1] == "message";
        }
    }
    (all, end)
}

fn block_value(text: &Text<'_>, at: usize, value: &str) -> String {
    let value = if value.starts_with(['|', '>']) { text.line(at + 1) } else { value };
    value.trim().trim_matches(['\'', '"']).to_owned()
}

/// Splits `file:line:column`, where the file may hold spaces.
pub fn split_place(place: &str) -> (String, Option<u32>) {
    let mut parts = place.rsplitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(column), Some(line), Some(file)) if column.parse::<u32>().is_ok() => {
            (path::stable(file), line.parse().ok())
        }
        (Some(line), Some(file), None) if line.parse::<u32>().is_ok() => (path::stable(file), line.parse().ok()),
        _ => (path::stable(place), None),
    }
}

/// A file that died before its tests ran is only said to have failed; what it died of stands above.
pub fn with_crash(text: &Text<'_>, at: usize, told: &str) -> String {
    if told.trim_matches('\'') != "test failed" {
        return told.to_owned();
    }
    let above = (at.saturating_sub(MAX_CRASH_LINES)..at).rev().map(|at| text.line(at).trim_start_matches("# "));
    let died = above.take_while(|line| !POINT.is_match(line)).find(|line| CRASH.is_match(line));
    died.map_or_else(|| "test failed".to_owned(), |died| format!("test failed: {died}"))
}

/// The totals that node's runner prints at the end.
pub fn node_counts(text: &Text<'_>, mark: &str) -> Option<Tests> {
    let n = |word: &str| -> Option<u64> {
        let start = format!("{mark}{word} ");
        text.lines.iter().rev().find_map(|line| line.strip_prefix(&start)?.trim().parse().ok())
    };
    let failed = n("fail")? + n("cancelled").unwrap_or(0);
    Some(Tests::of(n("pass")?, failed, n("skipped").unwrap_or(0) + n("todo").unwrap_or(0)))
}
