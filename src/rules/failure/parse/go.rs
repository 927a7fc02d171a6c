//! `go test`, `go build` and `go vet`, as text.

use super::found::{Draft, Found};
use crate::domain::failure::{Kind, Tests};
use crate::rules::failure::mask::{pattern, values, volatile};
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(RESULT, r"^(\s*)--- (FAIL|PASS|SKIP): (\S+) \([\d.]+s\)$");
pattern!(PACKAGE, r"^(ok|FAIL|\?|---)\s+(\S+)(?:\s+(.*))?$");
pattern!(LOG, r"^\s+(\S+\.go):(\d+): ?(.*)$");
pattern!(TESTIFY, r"^\s+(Error|Messages):\s+(.+)$");
pattern!(BUILD, r"^(?:vet: )?(\S+\.go):(\d+)(?::\d+)?: (.+)$");
pattern!(UNIT, r"^# (\S+)(?: \[(\S+)\])?$");
pattern!(RUNNING_TEST, r"^\s+(Test\w+|Fuzz\w+|Example\w+)(/\S*)? \(");

/// How far from its result a test's log is looked for.
const MAX_LOG_LINES: usize = 400;

/// Tests whose package the output has not told yet.
#[derive(Default)]
struct Block {
    failed: Vec<Failed>,
    counts: Tests,
}

struct Failed {
    name: String,
    cause: String,
    file: Option<(String, Option<u32>)>,
}

pub fn read(text: &Text<'_>, found: &mut Found) {
    let go = text.lines.iter().any(|line| is_go(line));
    if !go {
        return;
    }
    let mut block = Block::default();
    let mut empty = false;
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(result) = line.contains("--- ").then(|| RESULT.captures(line)).flatten() {
            add(&mut block, text, at, &result[2], &result[3]);
        } else if line.starts_with("panic: ") || line.starts_with("fatal error: ") {
            if !text.is_claimed(at) {
                panic(&mut block, found, text, at);
            }
        } else if let Some(package) = package(line) {
            empty |= line.contains("[no test files]") || line.contains("[no tests to run]");
            close(found, std::mem::take(&mut block), &package);
        } else if let Some(unit) = UNIT.captures(line) {
            build(found, text, at + 1, &unit[1]);
        }
    }
    close(found, block, "");
    found.drop_parents("/");
    if empty && found.counts.is_none() {
        found.count(Tests::default());
    }
}

fn is_go(line: &str) -> bool {
    line.starts_with("--- FAIL: ")
        || line.starts_with("FAIL\t")
        || line.starts_with("ok  \t")
        || line.starts_with("?   \t")
        || line.starts_with("panic: ")
        || line.starts_with("fatal error: ")
        || line.starts_with("# ") && UNIT.is_match(line)
        || line.trim_start().starts_with("--- FAIL: ")
}

fn package(line: &str) -> Option<String> {
    let found = PACKAGE.captures(line)?;
    let name = found.get(2)?.as_str();
    (line.contains('\t') && &found[1] != "---").then(|| name.to_owned())
}

fn add(block: &mut Block, text: &Text<'_>, at: usize, word: &str, name: &str) {
    match word {
        "PASS" => block.counts = block.counts.plus(Tests::of(1, 0, 0)),
        "SKIP" => block.counts = block.counts.plus(Tests::of(0, 0, 1)),
        _ => {
            block.counts = block.counts.plus(Tests::of(0, 1, 0));
            let (cause, file) = logged(text, at, name);
            block.failed.push(Failed { name: name.to_owned(), cause, file });
        }
    }
}

/// The last thing a failed test logged: below its result, or above it with `-v`.
fn logged(text: &Text<'_>, at: usize, name: &str) -> (String, Option<(String, Option<u32>)>) {
    let below = (at + 1..text.lines.len().min(at + MAX_LOG_LINES)).take_while(|next| {
        let line = text.line(*next);
        line.starts_with([' ', '\t']) && !line.contains("--- ")
    });
    let mut lines: Vec<usize> = below.collect();
    if !lines.iter().any(|at| LOG.is_match(text.line(*at))) {
        let start = (at.saturating_sub(MAX_LOG_LINES)..at).rev().find(|back| {
            let line = text.line(*back);
            line.trim_start().starts_with("=== RUN") && line.split_whitespace().last() == Some(name)
        });
        lines =
            (start.map_or(at, |start| start + 1)..at).take_while(|at| !text.line(*at).starts_with("=== RUN")).collect();
    }
    let mut told = (String::new(), None);
    for at in lines {
        let line = text.line(at);
        if let Some(log) = LOG.captures(line) {
            told = (values(&log[3]), Some((path::stable(&log[1]), log[2].parse().ok())));
        } else if let Some(testify) = line.contains(':').then(|| TESTIFY.captures(line)).flatten()
            && &testify[1] == "Error"
        {
            told.0 = values(&testify[2]);
        }
    }
    told
}

fn panic(block: &mut Block, found: &mut Found, text: &Text<'_>, at: usize) {
    let end = (at + 1..text.lines.len())
        .find(|next| package(text.line(*next)).is_some() || text.line(*next).starts_with("exit status"))
        .unwrap_or(text.lines.len());
    let body = &text.lines[at..end];
    let said = text.line(at).trim_start_matches("panic: ").trim_end_matches(" [recovered]");
    let (frame, file) = frame(body);
    if said.starts_with("test timed out") {
        for name in body.iter().filter_map(|line| RUNNING_TEST.captures(line)) {
            let name = format!("{}{}", &name[1], name.get(2).map_or("", |sub| sub.as_str()));
            block.failed.push(Failed { name, cause: "timeout".to_owned(), file: None });
        }
    } else if let Some(test) = block.failed.last_mut() {
        test.cause = format!("panic: {} @{frame}", volatile(said));
        test.file = file.map(|file| (file, None));
    } else if let Some(test) = body.iter().find_map(|line| test_frame(line)) {
        let cause = format!("panic: {} @{frame}", volatile(said));
        block.failed.push(Failed { name: test, cause, file: file.map(|file| (file, None)) });
    } else {
        found.push(
            Draft::new(Kind::Panic, frame).cause(volatile(said)).at(file.unwrap_or_default(), None).message(said),
        );
    }
    text.claim(at, end);
}

/// A panic below a test names it in the stack: `example.com/m.TestNil(0xc000106000?)`.
fn test_frame(line: &str) -> Option<String> {
    let function = line.split('(').next()?;
    let name = function.rsplit('.').find(|part| part.starts_with("Test"))?;
    (!function.starts_with([' ', '\t']) && function.contains('.')).then(|| name.to_owned())
}

/// The first frame of a Go stack that is neither the runtime's nor the testing package's.
pub fn frame(lines: &[&str]) -> (String, Option<String>) {
    for pair in lines.windows(2) {
        let (function, place) = (pair[0], pair[1].trim_start());
        if pair[1].starts_with('\t') && place.contains(".go:") && !function.starts_with([' ', '\t']) {
            let file = place.split(".go:").next().map(|file| format!("{file}.go")).unwrap_or_default();
            let library = ["runtime.", "testing.", "panic(", "sync.", "created by testing", "reflect.", "internal/"];
            if library.iter().any(|start| function.starts_with(start))
                || path::is_library(&file)
                || file.contains("/src/testing/")
            {
                continue;
            }
            let name = function.split("(0x").next().unwrap_or(function).split("({").next().unwrap_or(function);
            let name = name.trim_end_matches("(...)").trim_end_matches("()");
            let name = name.rsplit('/').next().unwrap_or(name);
            let file = placed(&file);
            return (format!("{file}:{name}"), Some(file));
        }
    }
    ("go".to_owned(), None)
}

/// With `-trimpath` a file stands below its module's path instead of a directory.
fn placed(file: &str) -> String {
    let by_module = file.split_once('/').is_some_and(|(host, _)| host.contains('.') && !host.starts_with('.'));
    if by_module { path::stable(&format!("/tmp/{file}")) } else { path::stable(file) }
}

fn close(found: &mut Found, block: Block, package: &str) {
    if block.counts != Tests::default() {
        let only_failed = block.counts.passed == 0 && block.counts.skipped == 0;
        if !only_failed {
            found.count(block.counts);
        }
    }
    for test in block.failed {
        let id = if package.is_empty() { test.name } else { format!("{package}.{}", test.name) };
        let (file, line) = test.file.unwrap_or_default();
        found.push(Draft::test(id).cause(test.cause).at(file, line));
    }
}

/// What the compiler or vet says below `# package`.
fn build(found: &mut Found, text: &Text<'_>, from: usize, package: &str) {
    for at in from..text.lines.len() {
        let line = text.line(at);
        if line.starts_with('\t') || line.starts_with("too many errors") {
            text.claim(at, at + 1);
            continue;
        }
        let Some(message) = BUILD.captures(line) else { break };
        let file = path::stable(&message[1]);
        let said = message.get(3).map_or("", |said| said.as_str());
        // Unless the file is told from the module's root, the package says which of two it is.
        let id = if file.contains('/') { file.clone() } else { format!("{package} {file}") };
        found
            .push(Draft::new(Kind::Compiler, id).cause(volatile(said)).at(file, message[2].parse().ok()).message(said));
        text.claim(at, at + 1);
    }
}
