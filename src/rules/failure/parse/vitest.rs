//! vitest.

use super::found::{Draft, Found};
use super::jest::cause;
use super::modules::node_module;
use crate::domain::failure::{Kind, Tests};
use crate::rules::failure::mask::{pattern, volatile};
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(FAIL, r"^\s*FAIL\s+(?:\|.*?\|\s+)?(\S+\.[cm]?[jt]sx?)(?: > (.+?)| \[ .* \])?$");
pattern!(COUNTS, r"^\s*Tests\s+(.*\(\d+\))$");
pattern!(PART, r"(\d+) (failed|passed|skipped|todo)");
pattern!(PLACE, r"^\s*❯ (?:.* )?(\S+?):(\d+):\d+$");
/// How far below its head a test's error may stand: heads of one error stand together.
const MAX_HEADS: usize = 20;
const MAX_BLOCK_LINES: usize = 60;

pub fn read(text: &Text<'_>, found: &mut Found) {
    if !text.has("RUN  v") && !text.has("Test Files  ") && !text.has("Failed Tests ") && !text.has("Failed Suites ") {
        return;
    }
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(counts) = line.contains("Tests").then(|| COUNTS.captures(line)).flatten() {
            found.count(read_counts(&counts[1]));
        } else if let Some(head) = line.contains("FAIL").then(|| FAIL.captures(line)).flatten() {
            let told = (at + 1..text.lines.len().min(at + MAX_HEADS))
                .map(|next| text.line(next))
                .find(|line| !line.trim().is_empty() && !FAIL.is_match(line))
                .unwrap_or_default();
            let body = &text.lines[at + 1..text.lines.len().min(at + MAX_BLOCK_LINES)];
            let place = body.iter().find_map(|line| PLACE.captures(line)).and_then(|place| place[2].parse().ok());
            push(found, &path::stable(&head[1]), head.get(2).map(|name| name.as_str()), told, place, body);
            text.claim(at, at + 2);
        }
    }
}

fn push(found: &mut Found, file: &str, name: Option<&str>, told: &str, line: Option<u32>, body: &[&str]) {
    let draft = match (name, body.iter().take(4).find_map(|line| node_module(line))) {
        (Some(name), _) => Draft::test(format!("{file} > {name}")).cause(cause(told)),
        (None, Some(module)) => Draft::new(Kind::MissingModule, module),
        (None, None) => Draft::new(Kind::Compiler, format!("suite {file}")).cause(volatile(told)),
    };
    found.push(draft.at(file, line).message(told));
}

fn read_counts(line: &str) -> Tests {
    let n = |word: &str| -> u64 {
        PART.captures_iter(line).filter(|part| &part[2] == word).filter_map(|part| part[1].parse::<u64>().ok()).sum()
    };
    Tests::of(n("passed"), n("failed"), n("skipped") + n("todo"))
}
