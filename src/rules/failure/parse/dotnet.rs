//! `dotnet test`; the compiler speaks as `diagnostics` reads.

use super::found::{Draft, Found};
use super::jest::cause;
use crate::domain::failure::Tests;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;

pattern!(FAILED, r"^\s+(?:Failed|X) ([\w.+`]+(?:\(.*\))?) \[[^\]]*\]$");
pattern!(XUNIT, r"^\[xUnit\.net [\d:.]+\]\s+(\S+(?:\(.*\))?) \[FAIL\]$");
pattern!(TOTAL, r"^(?:Failed|Passed)!\s+- Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+)");

pub fn read(text: &Text<'_>, found: &mut Found) {
    for (at, line) in text
        .open()
        .filter(|(_, line)| {
            line.contains("ail") || line.contains("FAIL") || line.contains("Passed!") || line.contains(" X ")
        })
        .collect::<Vec<_>>()
    {
        if let Some(total) = TOTAL.captures(line) {
            let n = |i: usize| total[i].parse().unwrap_or(0);
            found.count(Tests::of(n(2), n(1), n(3)));
        } else if let Some(test) = FAILED.captures(line) {
            let told = message(text, at + 1);
            found.push(Draft::test(&test[1]).cause(cause(told)).message(told));
            text.claim(at, at + 3);
        } else if let Some(test) = XUNIT.captures(line) {
            found.push(Draft::test(&test[1]));
        }
    }
}

fn message<'t>(text: &Text<'t>, from: usize) -> &'t str {
    if text.line(from).trim() == "Error Message:" { text.line(from + 1).trim() } else { "" }
}
