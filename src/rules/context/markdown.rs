//! Finds the headings of a Markdown document.

use super::fragments::{Line, MAX_NAME_BYTES, Section, boundary};

/// The sections that begin at a heading, `#` or underlined, outside code fences and front matter.
pub(super) fn sections(lines: &[Line<'_>]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut fence: Option<&str> = None;
    for index in front_matter(lines)..lines.len() {
        let text = lines[index].text.trim_end();
        let marker = fence_marker(text);
        match (fence, marker) {
            (Some(open), Some(close)) if close.starts_with(open) => fence = None,
            (Some(_), _) => {}
            (None, Some(_)) => fence = marker,
            (None, None) => {
                let below = lines.get(index + 1).map_or("", |next| next.text.trim_end());
                if let Some(name) = hashed(text).or_else(|| underlined(text, below)) {
                    sections.push(Section { first: index, name: shortened(name) });
                }
            }
        }
    }
    sections
}

/// The line after the front matter; 0 if there is none.
fn front_matter(lines: &[Line<'_>]) -> usize {
    let is_rule = |line: &Line<'_>| line.text.trim_end() == "---";
    if !lines.first().is_some_and(is_rule) {
        return 0;
    }
    lines.iter().skip(1).position(is_rule).map_or(0, |at| at + 2)
}

fn fence_marker(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let length =
        text.bytes().take_while(|byte| *byte == b'`').count().max(text.bytes().take_while(|b| *b == b'~').count());
    (length >= 3).then(|| &text[..length])
}

fn hashed(text: &str) -> Option<&str> {
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &text[level..];
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_heading.then(|| rest.trim().trim_end_matches('#').trim_end())
}

fn underlined<'a>(text: &'a str, below: &str) -> Option<&'a str> {
    let rule = |sign: u8| below.len() >= 3 && below.bytes().all(|byte| byte == sign);
    let is_text = text.chars().next().is_some_and(char::is_alphanumeric);
    (is_text && (rule(b'=') || rule(b'-'))).then_some(text)
}

fn shortened(name: &str) -> String {
    name[..boundary(name, MAX_NAME_BYTES)].to_owned()
}
