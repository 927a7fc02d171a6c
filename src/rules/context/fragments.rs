//! Cuts a file into fragments that can be found and served one by one: Markdown by heading, code by the symbols it
//! defines, everything else by blank lines. Line by line and without a parser, so no input is wrong.

use crate::domain::fragment::{Lines, Span};
use crate::domain::path::TreePath;

use super::markdown;
use super::symbols::{Language, Symbol};

/// The most lines of one fragment.
pub const MAX_LINES: usize = 80;
/// The most bytes of one fragment.
pub const MAX_BYTES: usize = 4096;
/// The most fragments of one file; text beyond them is not cut, and not found.
pub const MAX_FRAGMENTS: usize = 1024;
/// The most bytes of a fragment's name.
pub const MAX_NAME_BYTES: usize = 160;
/// A section of fewer lines is joined with its neighbour.
const FEW_LINES: usize = 8;
/// Sections are not joined beyond this many lines.
const JOINED_LINES: usize = 40;

/// Cuts `text` into spans that cover it in order, without gaps, each within `MAX_LINES` and `MAX_BYTES`.
pub fn cut(path: &TreePath, text: &str) -> Vec<Span> {
    let lines = lines_of(text);
    let sections = match Language::of(path) {
        Language::Markdown => markdown::sections(&lines),
        Language::Plain => vec![Section { first: 0, name: String::new() }],
        language => code_sections(language, &lines),
    };
    let mut spans = Vec::new();
    for (section, end) in joined(whole(sections), lines.len()) {
        windows(&lines, &section, end, &mut spans);
        if spans.len() >= MAX_FRAGMENTS {
            spans.truncate(MAX_FRAGMENTS);
            break;
        }
    }
    spans
}

/// A line with its ending, and where it begins in the text.
pub(super) struct Line<'a> {
    pub start: usize,
    pub text: &'a str,
}

/// A part of a file that begins at the line `first`, counted from 0, and has one name.
pub(super) struct Section {
    pub first: usize,
    pub name: String,
}

fn lines_of(text: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    let place = |line: &'_ str| {
        start += line.len();
        start - line.len()
    };
    let starts: Vec<usize> = text.split_inclusive('\n').map(place).collect();
    text.split_inclusive('\n').zip(starts).map(|(text, start)| Line { start, text }).collect()
}

fn code_sections(language: Language, lines: &[Line<'_>]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(Symbol { name }) = language.symbol(line.text) else { continue };
        // The comments and attributes above a symbol belong to it.
        let floor = sections.last().map_or(0, |section| section.first + 1);
        let mut first = index;
        while first > floor && language.leads(lines[first - 1].text) {
            first -= 1;
        }
        sections.push(Section { first, name });
    }
    sections
}

/// Adds the nameless beginning, so that the sections cover the file.
fn whole(mut sections: Vec<Section>) -> Vec<Section> {
    if sections.first().is_none_or(|section| section.first > 0) {
        sections.insert(0, Section { first: 0, name: String::new() });
    }
    sections
}

/// Joins small neighbours, so that a list of one-line definitions is not a list of fragments. Gives each section
/// with the line after its last.
fn joined(sections: Vec<Section>, lines: usize) -> Vec<(Section, usize)> {
    let ends: Vec<usize> = sections.iter().skip(1).map(|next| next.first).chain([lines]).collect();
    let mut joined: Vec<(Section, usize)> = Vec::new();
    for (section, end) in sections.into_iter().zip(ends) {
        if let Some((last, last_end)) = joined.last_mut() {
            let small = (*last_end - last.first).min(end - section.first) < FEW_LINES;
            if small && end - last.first <= JOINED_LINES {
                add_name(&mut last.name, &section.name);
                *last_end = end;
                continue;
            }
        }
        joined.push((section, end));
    }
    joined
}

fn add_name(names: &mut String, name: &str) {
    if !names.is_empty() && !name.is_empty() && names.len() + 2 + name.len() <= MAX_NAME_BYTES {
        names.push_str(", ");
        names.push_str(name);
    } else if names.is_empty() {
        names.push_str(name);
    }
}

/// Cuts one section where it passes the bounds: after the last blank line in the second half of what fits, else where
/// it must.
fn windows(lines: &[Line<'_>], section: &Section, end: usize, spans: &mut Vec<Span>) {
    let mut first = section.first;
    while first < end && spans.len() < MAX_FRAGMENTS {
        let fits = fitting(&lines[first..end]);
        if fits == 0 {
            long_line(&lines[first], first, &section.name, spans);
            first += 1;
            continue;
        }
        let mut next = first + fits;
        if next < end {
            let half = first + fits / 2 + 1;
            next = (half..=next).rev().find(|at| lines[*at - 1].text.trim().is_empty()).unwrap_or(next);
        }
        let last = &lines[next - 1];
        spans.push(Span {
            name: section.name.clone(),
            lines: Lines { first: number(first), last: number(next - 1) },
            start: lines[first].start,
            end: last.start + last.text.len(),
        });
        first = next;
    }
}

/// How many lines fit into one fragment; 0 if the first alone does not.
fn fitting(lines: &[Line<'_>]) -> usize {
    let mut bytes = 0;
    let fits = |line: &&Line<'_>| {
        bytes += line.text.len();
        bytes <= MAX_BYTES
    };
    lines.iter().take(MAX_LINES).take_while(fits).count()
}

fn long_line(line: &Line<'_>, index: usize, name: &str, spans: &mut Vec<Span>) {
    let mut from = 0;
    while from < line.text.len() && spans.len() < MAX_FRAGMENTS {
        let to = boundary(line.text, from + MAX_BYTES);
        spans.push(Span {
            name: name.to_owned(),
            lines: Lines { first: number(index), last: number(index) },
            start: line.start + from,
            end: line.start + to,
        });
        from = to;
    }
}

/// The last place at or before `at` where `text` may be parted.
pub(super) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(path: &str, text: &str) -> Vec<(u32, u32, String)> {
        let spans = cut(&TreePath::new(path), text);
        spans.into_iter().map(|span| (span.lines.first, span.lines.last, span.name)).collect()
    }

    fn all_names(path: &str, text: &str) -> String {
        names(path, text).into_iter().map(|(_, _, name)| name).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn markdown_is_cut_at_headings_and_not_inside_code() {
        let filler = "text\n".repeat(9);
        let text = format!(
            "---\ntitle: x\n---\n# One\n{filler}```sh\n# no heading\n```\n## Two ##\n{filler}Three\n===\n{filler}"
        );
        let found = [(1, 16, "One"), (17, 26, "Two"), (27, 37, "Three")];
        assert_eq!(names("a.md", &text), found.map(|(first, last, name)| (first, last, name.to_owned())));
    }

    const TAUGHT: [&str; 2] = [
        "    /// Wraps the 32 bytes of a finished SHA-256.",
        "from_raw, hex, as_str, Fields, impl Fields, new, push, finish",
    ];

    #[test]
    fn code_is_cut_at_symbols_with_their_comments() {
        let text = include_str!("fixtures/sample.rs.txt");
        let found = names("a.rs", text);
        let (first, last, name) = &found[1];
        let begins = text.lines().nth(*first as usize - 1).expect("the line is there");
        assert_eq!((begins, name.as_str()), (TAUGHT[0], TAUGHT[1]), "to line {last} of {found:#?}");
    }

    #[test]
    fn every_language_names_its_symbols() {
        let cases = [
            ("a.py", include_str!("fixtures/sample.py.txt")),
            ("a.ts", include_str!("fixtures/sample.ts.txt")),
            ("a.go", include_str!("fixtures/sample.go.txt")),
            ("a.java", include_str!("fixtures/sample.java.txt")),
            ("a.c", include_str!("fixtures/sample.c.txt")),
            ("a.txt", include_str!("fixtures/prose.txt")),
        ];
        let found: Vec<String> =
            cases.iter().map(|(path, text)| format!("{path}: {}", all_names(path, text))).collect();
        assert_eq!(
            found,
            [
                "a.py:  | Measurement, MeasurementError | read_measurements | summarise",
                "a.ts: SessionOptions, SessionStore | load | find, withLimit",
                "a.go: item | Queue, New | Push",
                "a.java: Invoice, Line, Invoice | add, total, toString",
                "a.c: ring | next_power_of_two | ring_init | ring_write",
                "a.txt: ",
            ]
        );
    }

    #[test]
    fn a_line_longer_than_a_fragment_is_cut_between_characters() {
        let text = "é".repeat(MAX_BYTES);
        let spans = cut(&TreePath::new("a.json"), &text);
        assert!(spans.len() >= 2 && spans.iter().all(|span| span.end - span.start <= MAX_BYTES));
        assert!(spans.iter().all(|span| text.is_char_boundary(span.start) && span.lines.first == 1));
    }

    #[test]
    fn a_file_has_a_bounded_number_of_fragments() {
        assert_eq!(cut(&TreePath::new("a.txt"), &"x\n".repeat(MAX_LINES * (MAX_FRAGMENTS + 9))).len(), MAX_FRAGMENTS);
        assert_eq!(cut(&TreePath::new("a.rs"), ""), []);
    }

    proptest! {
        #[test]
        fn the_spans_are_the_text(
            text in "(pub fn a\\(\\)|class B|# h|\\PC{0,9}|```|---|/\\*\\*|@x|\r|\n|\n|\n|    ){0,200}",
            path in "[a-z]\\.(md|rs|py|ts|go|java|c|txt)",
        ) {
            let spans = cut(&TreePath::new(path), &text);
            let mut end = 0;
            for span in &spans {
                prop_assert_eq!(span.start, end);
                prop_assert!(span.end > span.start && span.end - span.start <= MAX_BYTES);
                prop_assert!(span.lines.first <= span.lines.last && span.name.len() <= MAX_NAME_BYTES);
                let before = text[..span.start].matches('\n').count() as u32;
                prop_assert_eq!(span.lines.first, before + 1);
                end = span.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
