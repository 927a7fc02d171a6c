//! mocha's spec-like reporters.

use super::found::{Draft, Found};
use super::jest::cause;
use crate::domain::failure::Tests;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(COUNT, r"^\s*(\d+) (passing|failing|pending)(?: \(.*\))?$");
pattern!(HEAD, r"^\s{1,3}\d+\) (.+?):?$");
pattern!(PLACE, r"^\s+at .*?\(?([^\s()]+?):(\d+):\d+\)?$");

pub fn read(text: &Text<'_>, found: &mut Found) {
    let counted: Vec<(usize, u64, &str)> = text
        .open()
        .filter(|(_, line)| line.contains("ing"))
        .filter_map(|(at, line)| {
            COUNT.captures(line).map(|n| (at, n[1].parse().unwrap_or(0), n.get(2).map_or("", |w| w.as_str())))
        })
        .collect();
    let n = |word: &str| -> u64 { counted.iter().filter(|one| one.2 == word).map(|one| one.1).sum() };
    if counted.is_empty() || !counted.iter().any(|one| one.2 == "passing" || one.2 == "failing") {
        return;
    }
    found.count(Tests::of(n("passing"), n("failing"), n("pending")));
    let Some((from, _, _)) = counted.iter().find(|one| one.2 == "failing") else { return };
    let heads: Vec<usize> = (*from + 1..text.lines.len()).filter(|at| HEAD.is_match(text.line(*at))).collect();
    for (i, at) in heads.iter().enumerate() {
        let end = heads.get(i + 1).copied().unwrap_or(text.lines.len());
        block(found, &text.lines[*at..end]);
        text.claim(*at, end);
    }
}

/// The title goes on over indented lines until one ends with a colon; the error follows.
fn block(found: &mut Found, lines: &[&str]) {
    let Some(head) = lines.first().and_then(|line| HEAD.captures(line)) else { return };
    let mut names = vec![head[1].to_owned()];
    let mut at = 1;
    if !lines[0].ends_with(':') {
        while let Some(line) = lines.get(at) {
            names.push(line.trim().trim_end_matches(':').to_owned());
            at += 1;
            if line.ends_with(':') || at > 12 {
                break;
            }
        }
    }
    let told = lines.iter().skip(at).map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default();
    let place = lines.iter().filter_map(|line| PLACE.captures(line)).find(|place| !path::is_library(&place[1]));
    let (file, line) = place.map(|place| (path::stable(&place[1]), place[2].parse().ok())).unwrap_or_default();
    found.push(Draft::test(names.join(" > ")).cause(cause(told)).at(file, line).message(told));
}
