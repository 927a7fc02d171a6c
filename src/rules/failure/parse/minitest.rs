//! Ruby's minitest, as Rails prints it too.

use super::found::{Draft, Found};
use super::jest::cause;
use crate::domain::failure::Tests;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(HEAD, r"^\s*\d+\) (Failure|Error):$");
pattern!(NAME, r"^([\w:]+#\S.*?)(?: \[(.+):(\d+)\])?:$");
pattern!(TOTAL, r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (\d+) skips");

pub fn read(text: &Text<'_>, found: &mut Found) {
    let Some(total) =
        text.lines.iter().find_map(|line| line.contains(" assertions, ").then(|| TOTAL.captures(line)).flatten())
    else {
        return;
    };
    let n = |i: usize| -> u64 { total[i].parse().unwrap_or(0) };
    let failed = n(2).saturating_add(n(3));
    found.count(Tests::of(n(1).saturating_sub(failed.saturating_add(n(4))), failed, n(4)));
    for (at, line) in text.open().collect::<Vec<_>>() {
        let Some(head) = HEAD.captures(line) else { continue };
        let Some(name) = NAME.captures(text.line(at + 1)) else { continue };
        let told = text.line(at + 2);
        let file = name.get(2).map_or_else(String::new, |file| path::stable(file.as_str()));
        let line = name.get(3).and_then(|line| line.as_str().parse().ok());
        let said = format!("{} {}", &head[1], cause(told));
        found.push(Draft::test(&name[1]).cause(said.trim_end()).at(file, line).message(told));
        text.claim(at, at + 3);
    }
}
