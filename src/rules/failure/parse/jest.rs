//! jest.

use super::found::{Draft, Found};
use super::modules::node_module;
use crate::domain::failure::{Kind, Tests};
use crate::rules::failure::mask::{pattern, values, volatile};
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(FILE, r"^\s*(?:FAIL|PASS|RUNS)\s+(?:\S+ )?(\S+\.[cm]?[jt]sx?)(?: \([\d.]+ m?s\))?$");
pattern!(BULLET, r"^  ● (.+)$");
pattern!(MATCHER, r"^\s*expect\(.*?\)((?:\.\w+)+)\(.*\)(?: //.*)?$");
pattern!(COUNTS, r"^Tests:\s+(.*)$");
pattern!(PART, r"(\d+) (failed|passed|skipped|todo|total)");
pattern!(PLACE, r"^\s+at .*?\(?([^\s()]+?):(\d+):\d+\)?$");

pub fn read(text: &Text<'_>, found: &mut Found) {
    if !text.has("Test Suites:") && !text.has("  ● ") {
        return;
    }
    let mut file = String::new();
    let mut at = 0;
    while at < text.lines.len() {
        let line = text.line(at);
        if let Some(header) = FILE.captures(line) {
            file = path::stable(&header[1]);
        } else if let Some(counts) = COUNTS.captures(line) {
            found.count(read_counts(&counts[1]));
        } else if let Some(bullet) = line.starts_with("  ● ").then(|| BULLET.captures(line)).flatten() {
            let end = block_end(text, at + 1);
            block(found, &file, bullet.get(1).map_or("", |name| name.as_str()), &text.lines[at + 1..end]);
            text.claim(at, end);
            at = end;
            continue;
        }
        at += 1;
    }
}

fn block_end(text: &Text<'_>, from: usize) -> usize {
    (from..text.lines.len())
        .find(|at| {
            let line = text.line(*at);
            line.starts_with("  ● ") || line.starts_with("Test Suites:") || FILE.is_match(line)
        })
        .unwrap_or(text.lines.len())
}

fn block(found: &mut Found, file: &str, name: &str, body: &[&str]) {
    if matches!(name, "Console" | "Validation Warning:" | "Deprecation Warning:")
        || name.starts_with("Cannot log after")
    {
        return;
    }
    let told = body.iter().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default();
    if name == "Test suite failed to run" {
        let missing = body.iter().find_map(|line| node_module(line));
        let draft = match missing {
            Some(module) => Draft::new(Kind::MissingModule, module),
            None => Draft::new(Kind::Compiler, format!("suite {file}")).cause(suite_cause(body)),
        };
        found.push(draft.at(file, None).message(told));
        return;
    }
    let line = body.iter().filter_map(|line| PLACE.captures(line)).find(|place| !path::is_library(&place[1]));
    let line = line.and_then(|place| place[2].parse().ok());
    let name = name.replace(" › ", " > ");
    found.push(Draft::test(format!("{file} > {name}")).cause(cause(told)).at(file, line).message(told));
}

/// A suite that does not load says so in its first lines; an empty reason is what babel's frame comes after.
fn suite_cause(body: &[&str]) -> String {
    let told: Vec<&str> = body.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).take(2).collect();
    volatile(&told.join(" "))
}

/// Names what a JavaScript assertion or error says: the matcher without its values, or the error.
pub fn cause(told: &str) -> String {
    let told = told.trim();
    match MATCHER.captures(told) {
        Some(matcher) => format!("expect{}", &matcher[1]),
        None => values(told),
    }
}

fn read_counts(line: &str) -> Tests {
    let n = |word: &str| -> u64 {
        PART.captures_iter(line).filter(|part| &part[2] == word).filter_map(|part| part[1].parse::<u64>().ok()).sum()
    };
    Tests::of(n("passed"), n("failed"), n("skipped") + n("todo"))
}
