//! Python's unittest, and Django's runner that prints the same.

use super::found::{Draft, Found};
use crate::domain::failure::{Kind, Tests};
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;
use crate::rules::failure::{path, python};

pattern!(HEAD, r"^(FAIL|ERROR|UNEXPECTED SUCCESS): (\S+)(?: \(([\w.<>]+)\))?(?: (?:\[(.*)\] ?)?\((.*)\))?$");
pattern!(FRAME, r#"^\s*File "(.+)", line \d+"#);
pattern!(RAN, r"^Ran (\d+) tests? in ");
pattern!(PART, r"(failures|errors|skipped|expected failures|unexpected successes)=(\d+)");

pub fn read(text: &Text<'_>, found: &mut Found) {
    if !text.lines.iter().any(|line| RAN.is_match(line)) {
        return read_blocks(text, found);
    }
    // One command may start it several times, one place after the other.
    let (mut passed, mut failed, mut skipped) = (0_u64, 0_u64, 0_u64);
    // How many ran of which the end was not told yet.
    let mut open: Option<u64> = None;
    let ends = |line: &str| line.starts_with("OK") || line.starts_with("FAILED (");
    for line in &text.lines {
        if let Some(ran) = RAN.captures(line) {
            passed = passed.saturating_add(open.unwrap_or(0));
            open = Some(ran[1].parse::<u64>().unwrap_or(0));
        } else if ends(line)
            && let Some(total) = open.take()
        {
            let n = |word: &str| -> u64 {
                let parts = PART.captures_iter(line).filter(|part| &part[1] == word);
                parts.filter_map(|part| part[2].parse::<u64>().ok()).fold(0, u64::saturating_add)
            };
            let no = n("failures").saturating_add(n("errors")).saturating_add(n("unexpected successes"));
            let left_out = n("skipped").saturating_add(n("expected failures"));
            passed = passed.saturating_add(total.saturating_sub(no.saturating_add(left_out)));
            failed = failed.saturating_add(no);
            skipped = skipped.saturating_add(left_out);
        }
    }
    found.count(Tests::of(passed.saturating_add(open.unwrap_or(0)), failed, skipped));
    read_blocks(text, found);
    if found.is_empty() && text.has("NO TESTS RAN") {
        found.push(Draft::new(Kind::Exit, "no tests collected"));
    }
}

fn read_blocks(text: &Text<'_>, found: &mut Found) {
    for at in 1..text.lines.len() {
        if !text.line(at - 1).starts_with("=====") || text.is_claimed(at) {
            continue;
        }
        let Some(head) = HEAD.captures(text.line(at)) else { continue };
        let end = (at + 1..text.lines.len())
            .find(|next| {
                let line = text.line(*next);
                line.starts_with("=====") || line.starts_with("-----") && RAN.is_match(text.line(next + 1))
            })
            .unwrap_or(text.lines.len());
        let part = |n: usize| head.get(n).map_or("", |part| part.as_str());
        let told = python::last_exception(&text.lines[at..end]).unwrap_or_default();
        let draft = match python::missing_module(told).filter(|_| part(3).contains("_FailedTest")) {
            Some(module) => Draft::new(Kind::MissingModule, module),
            None => Draft::test(id(part(2), &module(part(3), &text.lines[at..end]), part(5)))
                .cause(if told.is_empty() { String::new() } else { python::cause(told) }),
        };
        found.push(draft.message(told));
        text.claim(at - 1, end);
    }
}

/// A file that was run as a script is `__main__`: its traceback says which one.
fn module(place: &str, lines: &[&str]) -> String {
    let Some(rest) = place.strip_prefix("__main__.") else { return place.to_owned() };
    let files = lines.iter().filter_map(|line| FRAME.captures(line)).map(|frame| frame[1].to_owned());
    let own = files.into_iter().find(|file| !path::is_library(file));
    let stem =
        own.as_deref().and_then(|file| file.rsplit(['/', '\\']).next()).and_then(|name| name.strip_suffix(".py"));
    format!("{}.{rest}", stem.unwrap_or("__main__"))
}

/// Python 3.11 repeats the name behind the class.
fn id(name: &str, place: &str, subtest: &str) -> String {
    let place =
        place.strip_suffix(&format!(".{name}")).unwrap_or(place).trim_start_matches("unittest.loader._FailedTest");
    let id = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    if subtest.is_empty() { id } else { format!("{id}[{subtest}]") }
}
