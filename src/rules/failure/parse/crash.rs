//! Programs that died without a test around them: Python, node, Rust, Java, sanitizers, signals in words.

use super::found::{Draft, Found};
use super::{jvm, libtest};
use crate::domain::failure::Kind;
use crate::rules::failure::mask::{pattern, volatile};
use crate::rules::failure::text::Text;
use crate::rules::failure::{path, python};

pattern!(PY_FRAME, r#"^\s*File "(.+)", line (\d+)(?:, in (.+))?$"#);
pattern!(JS_FRAME, r"^\s+at (?:async )?(?:(.+?) \()?((?:file://)?[^()]+?):(\d+):\d+\)?(?: \{)?$");
pattern!(JS_ERROR, r"^(?:Uncaught )?(?:\[?\w*(?:Error|Exception)\b)");
pattern!(RUBY, r"^(\S+\.rb):(\d+):in [`'](.+?)': (.+) \(([A-Z][\w:]*)\)$");
pattern!(ASAN, r"ERROR: (\w+Sanitizer): ([\w-]+)");
pattern!(ASAN_FRAME, r"^\s+#\d+ 0x[0-9a-f]+ in (\S+) (\S+?):\d+");
pattern!(
    WORDS,
    r"(?:^|: |\s)(Segmentation fault|Aborted|Killed|Bus error|Illegal instruction|Floating point exception|Terminated)(?: \(core dumped\)|: \d+)?$"
);

pub fn read(text: &Text<'_>, found: &mut Found) {
    if found.has(Kind::MissingModule) {
        return;
    }
    python_tracebacks(text, found);
    node_stacks(text, found);
    jvm::crash(text, found);
    rust_panics(text, found);
    ruby(text, found);
    sanitizers(text, found);
    if found.is_empty() {
        signals(text, found);
    }
}

fn python_tracebacks(text: &Text<'_>, found: &mut Found) {
    let starts: Vec<usize> = text
        .open()
        .filter(|(_, line)| line.starts_with("Traceback (most recent call last)"))
        .map(|(at, _)| at)
        .collect();
    for (i, at) in starts.iter().enumerate() {
        let limit = starts.get(i + 1).copied().unwrap_or(text.lines.len());
        let Some(end) = (at + 1..limit).find(|next| !text.line(*next).is_empty() && !text.line(*next).starts_with(' '))
        else {
            continue;
        };
        // Of a chain only the last is what the program ended with.
        let chained = (end + 1..limit).map(|next| text.line(next)).any(|line| {
            line.starts_with("During handling of the above exception")
                || line.starts_with("The above exception was the direct cause")
        });
        if !chained {
            python_one(found, &text.lines[*at..end], text.line(end));
        }
        text.claim(*at, end + 1);
    }
}

fn python_one(found: &mut Found, lines: &[&str], told: &str) {
    let frames: Vec<(String, Option<u32>, String)> = lines
        .iter()
        .filter_map(|line| PY_FRAME.captures(line))
        .map(|frame| {
            (frame[1].to_owned(), frame[2].parse().ok(), frame.get(3).map_or("", |name| name.as_str()).to_owned())
        })
        .collect();
    let own = frames.iter().rfind(|frame| !path::is_library(&frame.0)).or(frames.last());
    let (file, line, function) = own.cloned().unwrap_or_default();
    let file = path::stable(&file);
    found.push(
        Draft::new(Kind::Panic, format!("{file}:{function}")).cause(python::cause(told)).at(file, line).message(told),
    );
}

fn node_stacks(text: &Text<'_>, found: &mut Found) {
    let mut at = 0;
    while at < text.lines.len() {
        if text.is_claimed(at) || !is_js_frame(text.line(at)) {
            at += 1;
            continue;
        }
        let end = (at..text.lines.len()).find(|next| !is_js_frame(text.line(*next))).unwrap_or(text.lines.len());
        if let Some(told) = js_error(text, at) {
            node_one(found, &text.lines[at..end], told);
        }
        at = end.max(at + 1);
    }
}

fn is_js_frame(line: &str) -> bool {
    line.trim_start().starts_with("at ") && JS_FRAME.is_match(line)
}

/// The error stands above its stack, over several lines where its message does.
fn js_error<'t>(text: &Text<'t>, stack: usize) -> Option<&'t str> {
    let above = || (stack.saturating_sub(12)..stack).rev().map(|at| text.line(at));
    above().find(|line| JS_ERROR.is_match(line.trim_start())).map(str::trim)
}

fn node_one(found: &mut Found, lines: &[&str], told: &str) {
    let frames: Vec<(String, Option<u32>, String)> = lines
        .iter()
        .filter_map(|line| JS_FRAME.captures(line))
        .map(|frame| {
            (frame[2].to_owned(), frame[3].parse().ok(), frame.get(1).map_or("", |name| name.as_str()).to_owned())
        })
        .collect();
    let own = frames.iter().find(|frame| !path::is_library(&frame.0)).or(frames.first());
    let (file, line, function) = own.cloned().unwrap_or_default();
    let file = path::stable(&file);
    let told = told.trim_end_matches([' ', '{']);
    found
        .push(Draft::new(Kind::Panic, format!("{file}:{function}")).cause(volatile(told)).at(file, line).message(told));
}

fn rust_panics(text: &Text<'_>, found: &mut Found) {
    for (at, _) in text
        .open()
        .filter(|(_, line)| line.contains("' panicked at ") || line.contains(") panicked at "))
        .collect::<Vec<_>>()
    {
        let to = (at + 3).min(text.lines.len());
        if let Some((cause, file)) = libtest::cause(&text.lines[at..to]) {
            found.push(Draft::new(Kind::Panic, format!("rust {file}")).cause(cause).at(file, None));
        }
    }
}

fn ruby(text: &Text<'_>, found: &mut Found) {
    for (_, line) in text.open().filter(|(_, line)| line.contains(".rb:")).collect::<Vec<_>>() {
        let Some(crash) = RUBY.captures(line) else { continue };
        let file = path::stable(&crash[1]);
        // Ruby 3.4 names the class before the method.
        let function = crash[3].rsplit(['#', '.']).next().unwrap_or_default();
        let told = format!("{}: {}", &crash[5], &crash[4]);
        let draft = Draft::new(Kind::Panic, format!("{file}:{function}")).cause(volatile(&told));
        found.push(draft.at(file, crash[2].parse().ok()).message(&told));
    }
}

fn sanitizers(text: &Text<'_>, found: &mut Found) {
    for (at, line) in text.open().filter(|(_, line)| line.contains("Sanitizer: ")).collect::<Vec<_>>() {
        let Some(head) = ASAN.captures(line) else { continue };
        let mut frames =
            (at + 1..text.lines.len().min(at + 20)).filter_map(|next| ASAN_FRAME.captures(text.line(next)));
        let own = frames.find(|frame| !path::is_library(&frame[2]) && !frame[2].contains("sanitizer"));
        let place = own.map_or_else(String::new, |frame| format!("{}:{}", path::stable(&frame[2]), &frame[1]));
        found.push(Draft::new(Kind::Panic, format!("{} {place}", &head[1])).cause(&head[2]).message(line));
    }
}

fn signals(text: &Text<'_>, found: &mut Found) {
    for (_, line) in text.open().collect::<Vec<_>>() {
        let Some(words) = WORDS.captures(line) else { continue };
        let signal = match &words[1] {
            "Segmentation fault" => 11,
            "Aborted" => 6,
            "Killed" => 9,
            "Bus error" => 7,
            "Illegal instruction" => 4,
            "Floating point exception" => 8,
            _ => 15,
        };
        found.push(Draft::new(Kind::Signal, format!("signal {signal}")).message(line));
    }
}
