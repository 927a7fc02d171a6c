//! The spec reporter of `node --test`.

use super::found::{Draft, Found};
use super::jest::cause;
use super::tap::{is_file, node_counts, split_place, with_crash};
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;
use std::collections::HashMap;

pattern!(OPEN, r"^(\s*)▶ (.+)$");
pattern!(LEAF, r"^(\s*)✖ (.+?) \([\d.]+m?s\)(?: #.*)?$");
// TAP tells the message without the class.
pattern!(CLASS, r"^\w*Error(?: \[\w+\])?: ");
pattern!(TIMED, r" \([\d.]+m?s\)$");

pub fn read(text: &Text<'_>, found: &mut Found) {
    let Some(counts) = node_counts(text, "ℹ ") else { return };
    found.count(counts);
    let last =
        text.lines.iter().position(|line| line.trim_end_matches(':') == "✖ failing tests").unwrap_or(text.lines.len());
    let places = places(text, last);
    let mut names: Vec<(usize, String)> = Vec::new();
    for at in 0..last {
        let line = text.line(at);
        if let Some(open) = OPEN.captures(line) {
            let depth = open[1].len();
            names.retain(|(indent, _)| *indent < depth);
            if !TIMED.is_match(line) {
                names.push((depth, open[2].to_owned()));
            }
        } else if let Some(leaf) = LEAF.captures(line) {
            let depth = leaf[1].len();
            let closes = names.iter().any(|(indent, name)| *indent == depth && name == &leaf[2]);
            names.retain(|(indent, _)| *indent < depth);
            if !closes {
                push(text, at, found, &names, &leaf[2], &places);
            }
        }
    }
    text.claim(last, text.lines.len());
}

type Places = HashMap<String, (String, Option<u32>, String)>;

fn push(text: &Text<'_>, at: usize, found: &mut Found, parents: &[(usize, String)], name: &str, places: &Places) {
    let (file, line, told) = places.get(name).cloned().unwrap_or_default();
    let told = with_crash(text, at, &told);
    let path =
        parents.iter().map(|(_, name)| name.as_str()).chain([name]).filter(|name| file.is_empty() || !is_file(name));
    let id = std::iter::once(file.as_str()).chain(path).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ");
    found.push(Draft::test(id).cause(cause(&told)).at(file, line).message(&told));
}

/// The closing section tells place and error of each failed test.
fn places(text: &Text<'_>, from: usize) -> Places {
    let mut all = Places::new();
    for at in from..text.lines.len() {
        let (Some(place), Some(leaf)) = (text.line(at).strip_prefix("test at "), LEAF.captures(text.line(at + 1)))
        else {
            continue;
        };
        let (file, line) = split_place(place);
        let told = text.line(at + 2).trim().trim_end_matches(':');
        let told = CLASS.replace(told, "").into_owned();
        all.entry(leaf[2].to_owned()).or_insert((file, line, told));
    }
    all
}
