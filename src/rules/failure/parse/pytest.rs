//! pytest: sections, short summary, verbose and xdist lines.

use super::found::{Draft, Found};
use crate::domain::failure::{Kind, Tests};
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;
use crate::rules::failure::{path, python};
use std::collections::HashMap;

pattern!(HEADER, r"^_{3,} (ERROR at (?:setup|teardown) of )?(.+?) _{3,}$");
pattern!(RULE, r"^=+ (.+?) =+$");
pattern!(E_LINE, r"^E\s+(\S.*)$");
pattern!(LOCATION, r"^(\S.*?\.py):(\d+): ?(.*)$");
pattern!(
    VERBOSE,
    r"^(?:\[gw\d+\] \[\s*\d+%\] )?(?:(\S+?\.py::.+?) (FAILED|ERROR)(?:\s+\[\s*\d+%\])?|(FAILED|ERROR) (\S+?\.py::.+?))$"
);
pattern!(SUMMARY, r"^(FAILED|ERROR) (.+)$");
pattern!(COUNTS, r"(\d+) (failed|passed|skipped|xfailed|xpassed|errors?|deselected|warnings?)\b");
pattern!(
    LAST,
    r"^=*\s?(?:\d+ (?:failed|passed|skipped|xfailed|xpassed|errors?|deselected|warnings?|rerun)(?:, )?)+ in [\d.]+ ?s"
);

struct Section {
    /// A fixture failed, before or after the test.
    around: bool,
    file: Option<(String, Option<u32>)>,
    told: String,
}

pub fn read(text: &Text<'_>, found: &mut Found) {
    let marks = ["short test summary info", "= FAILURES =", "= ERRORS =", "test session starts", "no tests ran in"];
    if !marks.iter().any(|mark| text.has(mark)) && !text.lines.iter().any(|line| LAST.is_match(line)) {
        return;
    }
    let mut sections = sections(text);
    for (at, line) in text.open().collect::<Vec<_>>() {
        if LAST.is_match(line) {
            found.count(counts(line));
        } else if line.contains("no tests ran in") {
            found.count(Tests::default());
        } else if let Some((is_error, id, said)) = mention(line) {
            text.claim(at, at + 1);
            push(found, &mut sections, is_error, id, said);
        }
    }
    let mut rest: Vec<(String, Vec<Section>)> = sections.into_iter().collect();
    rest.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, section) in
        rest.into_iter().flat_map(|(name, list)| list.into_iter().map(move |one| (name.clone(), one)))
    {
        leftover(found, &name, section);
    }
    if found.is_empty() && text.has("no tests ran in") {
        found.push(Draft::new(Kind::Exit, "no tests collected"));
    }
}

/// Reads the sections below FAILURES and ERRORS, by the name in their headers.
fn sections(text: &Text<'_>) -> HashMap<String, Vec<Section>> {
    let mut all: HashMap<String, Vec<Section>> = HashMap::new();
    let mut at = 0;
    while at < text.lines.len() {
        let line = text.line(at);
        let Some(header) = line.starts_with("___").then(|| HEADER.captures(line)).flatten() else {
            at += 1;
            continue;
        };
        let end = (at + 1..text.lines.len())
            .find(|next| {
                let line = text.line(*next);
                line.starts_with("===") && RULE.is_match(line) || line.starts_with("___") && HEADER.is_match(line)
            })
            .unwrap_or(text.lines.len());
        let around = header.get(1).is_some();
        all.entry(header[2].to_owned()).or_default().push(section(&text.lines[at + 1..end], around));
        text.claim(at, end);
        at = end;
    }
    all
}

fn section(lines: &[&str], around: bool) -> Section {
    let captured =
        lines.iter().position(|line| line.starts_with("---") && line.contains("Captured")).unwrap_or(lines.len());
    let lines = &lines[..captured];
    let e_lines: Vec<&str> =
        lines.iter().filter_map(|line| E_LINE.captures(line)).map(|e| e.get(1).map_or("", |e| e.as_str())).collect();
    let places: Vec<(&str, Option<u32>, &str)> = lines
        .iter()
        .filter_map(|line| {
            let place = LOCATION.captures(line)?;
            Some((place.get(1)?.as_str(), place[2].parse().ok(), place.get(3)?.as_str()))
        })
        .collect();
    // The raised class stands after the last place; the first E line may only hold the rewritten `assert`.
    let exception = e_lines.iter().find(|line| python::is_exception(line)).or(e_lines.first());
    let told = exception
        .map(|line| (*line).to_owned())
        .or_else(|| python::last_exception(lines).map(str::to_owned))
        .or_else(|| places.last().map(|(_, _, said)| (*said).to_owned()))
        .unwrap_or_default();
    let file =
        places.iter().find(|(file, _, _)| !path::is_library(file)).map(|(file, line, _)| (path::stable(file), *line));
    Section { around, file, told }
}

/// A line that names a failed test: summary, verbose or xdist.
fn mention(line: &str) -> Option<(bool, &str, &str)> {
    if !line.contains("FAILED") && !line.contains("ERROR") {
        return None;
    }
    if let Some(found) = VERBOSE.captures(line).filter(|_| !line.starts_with("FAILED ") && !line.starts_with("ERROR "))
    {
        let word = found.get(2).or(found.get(3))?.as_str();
        return Some((word == "ERROR", found.get(1).or(found.get(4))?.as_str(), ""));
    }
    let found = SUMMARY.captures(line)?;
    let rest = found.get(2)?.as_str();
    let (id, said) = split_summary(rest);
    id.split("::").next().filter(|file| file.ends_with(".py") || id.contains("::"))?;
    Some((&found[1] == "ERROR", id, said))
}

/// Splits `id - message`, where an id's parameters may hold ` - ` themselves.
fn split_summary(rest: &str) -> (&str, &str) {
    let from = match (rest.find('['), rest.find(" - ")) {
        (Some(open), Some(dash)) if open < dash => rest.find("] - ").map_or(dash, |close| close + 1),
        (_, Some(dash)) => dash,
        _ => return (rest, ""),
    };
    (&rest[..from], &rest[from + 3..])
}

fn push(found: &mut Found, sections: &mut HashMap<String, Vec<Section>>, is_error: bool, id: &str, said: &str) {
    let (file, name) = id.split_once("::").unwrap_or((id, ""));
    let section_name = if name.is_empty() { format!("ERROR collecting {file}") } else { name.replace("::", ".") };
    let section = take(sections, &section_name, &path::stable(file), is_error && !name.is_empty());
    let told = section.as_ref().map(|one| one.told.clone()).filter(|told| !told.is_empty());
    let line = section.and_then(|one| one.file).and_then(|(_, line)| line);
    let told = told.unwrap_or_else(|| said.to_owned());
    let phase = match (is_error, name.is_empty()) {
        (true, true) => Phase::Collect,
        (true, false) => Phase::Around,
        (false, _) => Phase::Call,
    };
    add(found, &dotted(file, name), &path::stable(file), line, &told, phase);
}

/// Takes the section of this name and phase, of the same file where several have it.
fn take(sections: &mut HashMap<String, Vec<Section>>, name: &str, file: &str, around: bool) -> Option<Section> {
    let list = sections.get_mut(name)?;
    let of_phase = |one: &Section| one.around == around;
    let of_file = |one: &Section| of_phase(one) && one.file.as_ref().is_some_and(|(place, _)| place == file);
    let at = list.iter().position(of_file).or_else(|| list.iter().position(of_phase)).unwrap_or(0);
    let one = (at < list.len()).then(|| list.remove(at));
    if list.is_empty() {
        sections.remove(name);
    }
    one
}

/// A section that no summary line names, as with `-rN` or a cut output.
fn leftover(found: &mut Found, name: &str, section: Section) {
    // With `-rA` a passed test that printed something has a section too.
    if section.told.is_empty() {
        return;
    }
    let (file, line) = section.file.unwrap_or_default();
    if let Some(collected) = name.strip_prefix("ERROR collecting ") {
        add(found, &dotted(collected, ""), &path::stable(collected), line, &section.told, Phase::Collect);
    } else {
        let phase = if section.around { Phase::Around } else { Phase::Call };
        add(found, &dotted(&file, name), &file, line, &section.told, phase);
    }
}

/// When a test failed: while its file was imported, while it ran, or in a fixture before or after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Collect,
    Call,
    Around,
}

fn add(found: &mut Found, id: &str, file: &str, line: Option<u32>, told: &str, phase: Phase) {
    let cause = if told.is_empty() { String::new() } else { python::cause(told) };
    let draft = match (phase, python::missing_module(told)) {
        (Phase::Collect, Some(module)) => Draft::new(Kind::MissingModule, module),
        (Phase::Collect, None) => Draft::test(id).cause(format!("collect {cause}").trim_end()),
        (Phase::Around, _) => Draft::test(id).cause(format!("setup or teardown: {cause}").trim_end()),
        (Phase::Call, _) => Draft::test(id).cause(cause),
    };
    found.push(draft.at(file, line).message(told));
}

/// `tests/test_a.py` and `TestX::test_b` become `tests.test_a.TestX.test_b`, as in unittest and JUnit files.
fn dotted(file: &str, name: &str) -> String {
    let file = path::stable(file);
    let module = file.strip_suffix(".py").unwrap_or(&file).replace('/', ".");
    let (name, parameters) = name.find('[').map_or((name, ""), |at| name.split_at(at));
    let name = name.replace("::", ".");
    if name.is_empty() { module } else { format!("{module}.{name}{parameters}") }
}

fn counts(line: &str) -> Tests {
    let n = |words: &[&str]| -> u64 {
        COUNTS
            .captures_iter(line)
            .filter(|part| words.contains(&&part[2]))
            .filter_map(|part| part[1].parse::<u64>().ok())
            .sum()
    };
    Tests::of(n(&["passed", "xpassed"]), n(&["failed", "error", "errors"]), n(&["skipped", "xfailed"]))
}
