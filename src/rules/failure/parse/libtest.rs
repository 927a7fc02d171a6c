//! `cargo test`: libtest's own output, for several binaries and doctests.

use super::found::{Draft, Found};
use crate::domain::failure::{Kind, Tests};
use crate::rules::failure::mask::{pattern, values};
use crate::rules::failure::path;
use crate::rules::failure::text::Text;
use std::collections::HashMap;

pattern!(RUNNING, r"^\s*Running (unittests )?(\S+) \((?:.*[/\\])?deps[/\\]([\w-]+?)-[0-9a-f]{16}(?:\.exe)?\)");
pattern!(DOC, r"^\s*Doc-tests (\S+)");
pattern!(RESULT_LINE, r"^test (.+?)(?: - should panic)? \.\.\. (?:FAILED|.*\bFAILED)(?: .*)?$");
pattern!(SUMMARY, r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored");
pattern!(SECTION, r"^---- (.+) std(?:out|err) ----$");
pattern!(DOC_LINE, r" \(line \d+\)");
pattern!(HINT, r"`((?:-p \S+ )?--(?:lib|doc|(?:test|bin|example|bench) \S+))`");
pattern!(PANIC, r"^\s*thread '(.*?)'(?: \(\d+\))? panicked at (.*)$");
pattern!(SIGNAL, r"\(signal: (\d+)");

pattern!(OLD_ASSERT, r"(?s)^assertion failed: `\(left (\S+) right\)`\n\s*left: `.*?`,\n\s*right: `.*?`(?:: (.*))?$");

/// How many lines the message of an older panic may take.
const MAX_OLD_LINES: usize = 40;

/// One test binary's part of the output.
#[derive(Default)]
struct Target {
    label: Option<String>,
    krate: String,
}

pub fn read(text: &Text<'_>, found: &mut Found) {
    if !text.has("test result: ") && !text.has("\nfailures:") && !text.has("to rerun pass") {
        return;
    }
    let context = Context { hints: hints(text), panics: panics(text) };
    let mut target = Target::default();
    let mut in_names = false;
    let mut at = 0;
    while at < text.lines.len() {
        let line = text.line(at);
        if let Some(next) = target_of(line) {
            target = next;
        } else if let Some(name) = SECTION.captures(line) {
            let to = section_end(text, at + 1);
            push(text, found, &target, &context, &name[1], cause(&text.lines[at + 1..to]));
            text.claim(at, to);
            at = to;
            continue;
        } else if line == "failures:" {
            in_names = true;
        } else if let Some(name) = line.strip_prefix("    ").filter(|_| in_names) {
            push(text, found, &target, &context, name, None);
        } else if !line.is_empty() {
            in_names = false;
            one_line(text, found, &target, &context, line);
        }
        at += 1;
    }
}

fn one_line(text: &Text<'_>, found: &mut Found, target: &Target, context: &Context<'_>, line: &str) {
    if let Some(sum) = SUMMARY.captures(line) {
        let n = |i: usize| sum[i].parse().unwrap_or(0);
        found.count(Tests::of(n(1), n(2), n(3)));
    } else if line.starts_with("test ")
        && line.contains("FAILED")
        && let Some(name) = RESULT_LINE.captures(line)
    {
        push(text, found, target, context, &name[1], None);
    } else if line.contains("process didn't exit successfully")
        && let Some(signal) = SIGNAL.captures(line)
    {
        found.push(Draft::new(Kind::Signal, format!("signal {}", &signal[1])).message(line));
    }
}

fn push(
    text: &Text<'_>,
    found: &mut Found,
    target: &Target,
    context: &Context<'_>,
    name: &str,
    cause: Option<(String, String)>,
) {
    let name = DOC_LINE.replace(name.trim_end_matches(" - should panic").trim(), "").into_owned();
    let cause = cause.or_else(|| without_section(text, context, &name));
    let id = match label(target, &context.hints, name.contains(" - ")) {
        Some(label) => format!("{label} {name}"),
        None => name,
    };
    let draft = Draft::test(id);
    found.push(match cause {
        Some((cause, file)) => draft.cause(cause).at(file, None),
        None => draft,
    });
}

/// What the whole output tells about every test.
struct Context<'t> {
    hints: Vec<String>,
    /// The first panic of each thread.
    panics: HashMap<&'t str, usize>,
}

fn panics<'t>(text: &Text<'t>) -> HashMap<&'t str, usize> {
    let mut all = HashMap::new();
    for (at, line) in text.lines.iter().enumerate().filter(|(_, line)| line.contains(" panicked at ")) {
        if let Some(thread) = PANIC.captures(line).and_then(|panic| panic.get(1)) {
            all.entry(thread.as_str()).or_insert(at);
        }
    }
    all
}

/// With `--nocapture` the panic stands outside of a section; its thread has the test's name.
fn without_section(text: &Text<'_>, context: &Context<'_>, name: &str) -> Option<(String, String)> {
    let at = *context.panics.get(name)?;
    let to = (at + 12).min(text.lines.len());
    cause(&text.lines[at..to])
}

fn target_of(line: &str) -> Option<Target> {
    if let Some(doc) = line.contains("Doc-tests ").then(|| DOC.captures(line)).flatten() {
        return Some(Target { label: Some("doc".to_owned()), krate: doc[1].replace('-', "_") });
    }
    let run = line.contains("Running ").then(|| RUNNING.captures(line)).flatten()?;
    let (source, krate) = (run[2].replace('\\', "/"), run[3].replace('-', "_"));
    let name = &run[3];
    let label = if run.get(1).is_none() {
        let kind =
            ["examples/", "benches/"].iter().find(|dir| source.contains(*dir)).map_or("test", |dir| match *dir {
                "examples/" => "example",
                _ => "bench",
            });
        format!("{kind} {name}")
    } else if source.ends_with("main.rs") || source.contains("/bin/") {
        format!("bin {name}")
    } else {
        "lib".to_owned()
    };
    Some(Target { label: Some(label), krate })
}

/// What cargo says to rerun: `-p calc --test it` becomes `calc test it`. It survives `-q` and `| tail`.
fn hints(text: &Text<'_>) -> Vec<String> {
    let mut hints: Vec<String> = text
        .lines
        .iter()
        .filter(|line| line.contains("`--") || line.contains("`-p "))
        .filter(|line| line.contains("to rerun pass") || line.starts_with("    `"))
        .filter_map(|line| HINT.captures(line))
        .map(|hint| hint[1].replace("-p ", "").replace("--", ""))
        .collect();
    // With `--no-fail-fast` each is said twice.
    hints.sort();
    hints.dedup();
    hints
}

/// Names the test's target: by cargo's hint where there is one, since that is there in every form of the output.
fn label(target: &Target, hints: &[String], is_doc: bool) -> Option<String> {
    let packaged = hints.iter().any(|hint| !is_plain(hint));
    let Some(label) = target.label.as_deref() else {
        return match hints {
            [only] => Some(only.clone()),
            _ => is_doc.then(|| "doc".to_owned()),
        };
    };
    let mut same = hints.iter().filter(|hint| *hint == label || hint.ends_with(&format!(" {label}")));
    let by_crate = same.clone().find(|hint| hint.replace('-', "_").starts_with(&format!("{} ", target.krate)));
    let hint = by_crate.or_else(|| same.next().filter(|_| label.starts_with("test ")));
    match hint {
        Some(hint) => Some(hint.clone()),
        None if packaged && (label == "lib" || label == "doc") => Some(format!("{} {label}", target.krate)),
        None => Some(label.to_owned()),
    }
}

fn is_plain(hint: &str) -> bool {
    ["lib", "doc", "test ", "bin ", "example ", "bench "].iter().any(|kind| hint.starts_with(kind))
}

fn section_end(text: &Text<'_>, from: usize) -> usize {
    (from..text.lines.len())
        .find(|at| {
            let line = text.line(*at);
            line == "failures:" || line.starts_with("test result: ") || SECTION.is_match(line)
        })
        .unwrap_or(text.lines.len())
}

/// The last panic of a test's own output: what it said, and in which file.
pub fn cause(lines: &[&str]) -> Option<(String, String)> {
    let panic = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains(" panicked at "))
        .find_map(|(at, line)| PANIC.captures(line).map(|found| (at, found[2].to_owned())));
    if let Some((at, rest)) = panic {
        let (message, place) = panic_parts(&rest, &lines[at + 1..]);
        let file = path::stable(place.split(':').next().unwrap_or_default());
        let own = if path::is_library(place.as_str()) { String::new() } else { file };
        return Some((format!("panic: {} @{own}", panic_cause(&message)), own));
    }
    let telling = |line: &&&str| {
        let line = line.trim_start();
        line.starts_with("Error: ")
            || line.starts_with("note: test did not panic")
            || line.starts_with("error[E")
            || line.starts_with("note: panic did not contain")
            || line.starts_with("error: ")
    };
    lines.iter().find(telling).map(|line| (values(line.trim()), String::new()))
}

/// The macro's own words stay; what the author wrote behind them may hold compared values.
fn panic_cause(message: &str) -> String {
    match message.split_once(" failed: ").filter(|(head, _)| head.starts_with("assertion `left ")) {
        Some((head, told)) => format!("{head} failed: {}", values(told)),
        None if message.starts_with("assertion `left ") => message.to_owned(),
        None => values(message),
    }
}

/// Splits `src/a.rs:1:2:` + next line, or what Rust printed before 1.73: `'message', src/a.rs:1:2`, on one or more lines.
fn panic_parts(rest: &str, below: &[&str]) -> (String, String) {
    let Some(quoted) = rest.strip_prefix('\'') else {
        return (below.first().map_or("", |line| line.trim()).to_owned(), rest.trim_end_matches(':').to_owned());
    };
    let mut message = quoted.to_owned();
    for line in below.iter().take(MAX_OLD_LINES) {
        if message.contains("', ") {
            break;
        }
        message = format!("{message}\n{}", line.trim());
    }
    let (message, place) = message.rsplit_once("', ").unwrap_or((message.as_str(), ""));
    (today(message), place.to_owned())
}

/// `assertion failed: `(left == right)`` with its values and its text is what Rust says in other words since 1.73.
fn today(message: &str) -> String {
    let Some(compared) = OLD_ASSERT.captures(message) else {
        return message.lines().next().unwrap_or_default().to_owned();
    };
    let told = compared.get(2).map_or("", |told| told.as_str()).lines().next().unwrap_or_default();
    let head = format!("assertion `left {} right` failed", &compared[1]);
    if told.is_empty() { head } else { format!("{head}: {told}") }
}
