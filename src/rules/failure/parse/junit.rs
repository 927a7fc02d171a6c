//! JUnit XML, on standard output or in a result file.

use super::found::{Draft, Found};
use super::jest;
use crate::domain::failure::Tests;
use crate::rules::failure::path;
use crate::rules::failure::python;
use crate::rules::failure::text::Text;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

#[derive(Default)]
struct Case {
    id: String,
    file: String,
    failed: Option<(String, String)>,
    skipped: bool,
}

pub fn read(text: &Text<'_>, found: &mut Found) {
    let (mut at, mut line) = (0, 0);
    while let Some(from) = text.whole[at..].find("<testsuite").map(|found| at + found) {
        let end = if text.whole[from..].starts_with("<testsuites") { "</testsuites>" } else { "</testsuite>" };
        // A result that was cut still tells the cases before the cut.
        let to = text.whole[from..].find(end).map_or(text.whole.len(), |found| from + found + end.len());
        line += text.whole[at..from].matches('\n').count();
        let last = line + text.whole[from..to].matches('\n').count();
        if document(&text.whole[from..to], found) {
            text.claim(line, last + 1);
        }
        (at, line) = (to, last);
    }
}

/// Reads one document; says whether it had any case.
fn document(xml: &str, found: &mut Found) -> bool {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    let (mut case, mut counts, mut any) = (Case::default(), Tests::default(), false);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => open(&tag, &mut case),
            Ok(Event::Empty(tag)) => {
                open(&tag, &mut case);
                if tag.name().as_ref() == b"testcase" {
                    any = true;
                    counts = counts.plus(close(std::mem::take(&mut case), found));
                }
            }
            Ok(Event::Text(words)) => body(&mut case, words.decode().unwrap_or_default().as_ref()),
            Ok(Event::CData(words)) => body(&mut case, words.decode().unwrap_or_default().as_ref()),
            Ok(Event::End(tag)) if tag.name().as_ref() == b"testcase" => {
                any = true;
                counts = counts.plus(close(std::mem::take(&mut case), found));
            }
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    if any {
        found.count(counts);
    }
    any
}

fn open(tag: &BytesStart<'_>, case: &mut Case) {
    match tag.name().as_ref() {
        b"testcase" => {
            let (class, name, file) = (attribute(tag, "classname"), attribute(tag, "name"), attribute(tag, "file"));
            *case = Case { id: id(&class, &name), file: path::stable(&file), ..Case::default() };
        }
        b"failure" | b"error" => case.failed = Some((attribute(tag, "type"), attribute(tag, "message"))),
        b"skipped" => case.skipped = true,
        _ => {}
    }
}

/// The element's own text stands in for a message that the attribute does not hold.
fn body(case: &mut Case, words: &str) {
    if let Some((_, message)) = &mut case.failed
        && message.is_empty()
    {
        words.trim().lines().next().unwrap_or_default().clone_into(message);
    }
}

fn id(class: &str, name: &str) -> String {
    let name = name.trim_end_matches("()");
    if class.is_empty() || name.starts_with(class) { name.to_owned() } else { format!("{class}.{name}") }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> String {
    let value = tag.try_get_attribute(name).ok().flatten();
    value.and_then(|value| value.unescape_value().ok().map(std::borrow::Cow::into_owned)).unwrap_or_default()
}

fn close(case: Case, found: &mut Found) -> Tests {
    match case {
        Case { failed: Some((class, message)), id, file, .. } => {
            let first = message.lines().next().unwrap_or_default();
            let told = told(&class, first);
            found.push(Draft::test(id).cause(told).at(file, None).message(first));
            Tests::of(0, 1, 0)
        }
        Case { skipped: true, .. } => Tests::of(0, 0, 1),
        Case { .. } => Tests::of(1, 0, 0),
    }
}

/// Java says `type` and message apart, pytest says both in the message.
fn told(class: &str, message: &str) -> String {
    let short = class.rsplit('.').next().unwrap_or(class);
    if class.contains('.') && !message.contains(short) {
        return jest::cause(format!("{short}: {message}").trim_end_matches([':', ' ']));
    }
    if python::is_exception(message) || message.starts_with("assert ") {
        python::cause(message)
    } else {
        jest::cause(message)
    }
}
