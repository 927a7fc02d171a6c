//! Output as lines that a reader can trust: no escapes, no overwritten progress, bounded width.

use std::cell::Cell;

/// What a line keeps at most; a longer one is cut, unless it is JSON.
pub const MAX_LINE_BYTES: usize = 2_000;
/// What one output may hold; a caller keeps head and tail of more than that.
pub const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;

/// Strips escapes, keeps what a terminal would show after carriage returns, and takes `roots` off absolute paths.
pub fn clean(output: &str, roots: &[&str]) -> String {
    let output = tail(output, MAX_TEXT_BYTES);
    let shown = overwrite(&escapes(output));
    roots.iter().filter(|root| root.trim_end_matches('/').len() > 1).fold(shown, |text, root| unroot(&text, root))
}

fn tail(text: &str, bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// Drops CSI, OSC and two-byte escapes, backspaced characters and other controls.
fn escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c) && c != '\n') {},
                Some(']') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' || c == '\n' {
                            break;
                        }
                        if c == '\u{1b}' {
                            chars.next_if_eq(&'\\');
                            break;
                        }
                    }
                }
                Some('(' | ')' | '#' | '%') => drop(chars.next()),
                _ => {}
            },
            '\u{8}' => drop(out.pop_if_not_newline()),
            '\n' | '\r' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

trait PopIfNotNewline {
    fn pop_if_not_newline(&mut self) -> Option<char>;
}

impl PopIfNotNewline for String {
    fn pop_if_not_newline(&mut self) -> Option<char> {
        if self.ends_with('\n') { None } else { self.pop() }
    }
}

/// Keeps of every line what was written last.
fn overwrite(text: &str) -> String {
    if !text.contains('\r') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        let body = body.trim_end_matches('\r');
        out.push_str(body.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default());
        out.push_str(end);
    }
    out
}

/// Makes paths under `root` relative, where `root` stands as a whole path.
fn unroot(text: &str, root: &str) -> String {
    let root = format!("{}/", root.trim_end_matches('/'));
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(&root) {
        let before = text[..at].chars().next_back();
        if at < from || before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_')) {
            continue;
        }
        out.push_str(&text[from..at]);
        from = at + root.len();
    }
    out.push_str(&text[from..]);
    out
}

/// The cleaned text, its lines, and which of them a reader has already used.
pub struct Text<'t> {
    pub whole: &'t str,
    pub lines: Vec<&'t str>,
    claimed: Vec<Cell<bool>>,
}

impl<'t> Text<'t> {
    pub fn new(whole: &'t str) -> Self {
        let lines: Vec<&str> = whole.lines().map(|line| bounded(line.trim_end())).collect();
        let claimed = vec![Cell::new(false); lines.len()];
        Self { whole, lines, claimed }
    }

    /// Marks lines that belong to one item, so that no other reader makes a second one of them.
    pub fn claim(&self, from: usize, to: usize) {
        for line in self.claimed.iter().take(to).skip(from) {
            line.set(true);
        }
    }

    pub fn is_claimed(&self, at: usize) -> bool {
        self.claimed.get(at).is_some_and(Cell::get)
    }

    /// Lines with their numbers that no reader has claimed.
    pub fn open(&self) -> impl Iterator<Item = (usize, &'t str)> + '_ {
        self.lines.iter().enumerate().filter(|(at, _)| !self.is_claimed(*at)).map(|(at, line)| (at, *line))
    }

    pub fn line(&self, at: usize) -> &'t str {
        self.lines.get(at).copied().unwrap_or_default()
    }

    pub fn has(&self, words: &str) -> bool {
        self.whole.contains(words)
    }
}

fn bounded(line: &str) -> &str {
    if line.len() <= MAX_LINE_BYTES || line.trim_start().starts_with(['{', '[']) {
        return line;
    }
    let mut to = MAX_LINE_BYTES;
    while !line.is_char_boundary(to) {
        to -= 1;
    }
    &line[..to]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_overwritten_progress_are_gone() {
        let raw = "\u{1b}[1m\u{1b}[92m  ok\u{1b}[0m \u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ a\u{1b}(B\u{1b}[m\r\n 10%\r 90%\rdone\nabc\u{8}\u{8}X";
        assert_eq!(clean(raw, &[]), "  ok link a\ndone\naX");
    }

    #[test]
    fn a_root_with_a_space_is_taken_off_whole_paths_only() {
        let raw = "at f (/tmp/ws two/src/a.js:1:2) /x/tmp/ws two/src/a.js";
        assert_eq!(clean(raw, &["/tmp/ws two/"]), "at f (src/a.js:1:2) /x/tmp/ws two/src/a.js");
    }

    #[test]
    fn only_json_lines_may_be_long() {
        let long = "é".repeat(3_000);
        let json = format!("{{\"a\":\"{long}\"}}");
        let whole = format!("{long}\n{json}\n");
        let text = Text::new(&whole);
        assert!(text.line(0).len() <= MAX_LINE_BYTES);
        assert_eq!(text.line(1), json);
    }
}
