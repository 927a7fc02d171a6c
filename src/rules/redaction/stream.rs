//! Redacting text that arrives in pieces: whole lines as they are complete, over-long lines in overlapping parts.

use super::Redactor;
use super::line::{Found, secrets};
use super::pem::{Block, Line};
use crate::domain::secret::Redaction;

/// A line longer than this is handled before its end is seen.
pub const MAX_LINE_BYTES: usize = 64 * 1024;
/// What is held back of such a line: more than it takes to tell that a secret has begun.
const OVERLAP_BYTES: usize = 4 * 1024;

/// A redactor that remembers where in the text it is.
#[derive(Debug)]
pub struct RedactionStream {
    redactor: Redactor,
    /// The part of the last line that is not handled yet.
    held: String,
    /// The byte in front of `held`, if it is on the same line.
    before: Option<u8>,
    /// How long `held` may grow before it is handled without the end of its line.
    limit: usize,
    /// Within a secret that was longer than can be held: it is dropped up to where no value goes on.
    dropping: bool,
    /// Within a private key.
    block: Option<Block>,
    /// Kept for its memory only.
    found: Vec<Found>,
    count: u32,
}

impl Redaction for RedactionStream {
    fn push(&mut self, piece: &str, out: &mut String) {
        let piece = if self.dropping { self.after_dropped(piece) } else { piece };
        let rest = match piece.rfind('\n') {
            Some(end) => {
                self.whole_lines(&piece[..=end], out);
                &piece[end + 1..]
            }
            None => piece,
        };
        self.held.push_str(rest);
        if self.held.len() >= self.limit {
            self.part_of_line(out);
        }
    }

    fn finish(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        self.lines(&held, out);
    }

    fn count(&self) -> u32 {
        self.count
    }
}

impl RedactionStream {
    pub(super) fn new(redactor: Redactor) -> Self {
        let limit = first_limit(&redactor);
        Self {
            redactor,
            held: String::new(),
            before: None,
            limit,
            dropping: false,
            block: None,
            found: Vec::new(),
            count: 0,
        }
    }

    /// Handles `text`, which ends a line, behind what is held.
    fn whole_lines(&mut self, text: &str, out: &mut String) {
        if self.held.is_empty() {
            return self.lines(text, out);
        }
        let mut held = std::mem::take(&mut self.held);
        held.push_str(text);
        self.lines(&held, out);
        held.clear();
        self.held = held;
        self.limit = first_limit(&self.redactor);
    }

    fn lines(&mut self, text: &str, out: &mut String) {
        for line in text.split_inclusive('\n') {
            let rest = self.outside_block(line);
            self.plain(rest, out);
            self.before = line.bytes().last().filter(|byte| *byte != b'\n');
        }
    }

    /// What of `line` does not belong to the private key that may be open.
    fn outside_block<'a>(&mut self, line: &'a str) -> &'a str {
        let Some(block) = &mut self.block else { return line };
        match block.take(line) {
            Line::Body => "",
            Line::Last(end) => {
                self.block = None;
                // The line on which the key began ends the line by itself.
                if line[end..].trim().is_empty() { "" } else { &line[end..] }
            }
            Line::Stray => {
                self.block = None;
                line
            }
        }
    }

    fn plain(&mut self, line: &str, out: &mut String) {
        let mut found = std::mem::take(&mut self.found);
        secrets(&self.redactor, line, self.before, &mut found);
        let mut copied = 0;
        for secret in &found {
            out.push_str(&line[copied..secret.start]);
            self.replace(secret, out);
            copied = secret.end;
        }
        out.push_str(&line[copied..]);
        found.clear();
        self.found = found;
    }

    fn replace(&mut self, secret: &Found, out: &mut String) {
        out.push_str("[redacted:");
        out.push_str(secret.family);
        out.push(']');
        self.count = self.count.saturating_add(1);
        if secret.opens_block {
            self.block = Some(Block::default());
        }
    }

    /// The rest of `piece` after the secret that is being dropped.
    fn after_dropped<'a>(&mut self, piece: &'a str) -> &'a str {
        let ends = |byte: u8| byte.is_ascii_whitespace() || b"\"'`<>".contains(&byte);
        let end = piece.bytes().position(ends);
        self.dropping = end.is_none();
        end.map_or("", |end| &piece[end..])
    }

    /// Handles the first part of a line that is too long to wait for. The cut is put where no secret, and nothing by
    /// which one would be known, stands on both sides of it.
    fn part_of_line(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        let text = self.outside_block(&held);
        let mut found = std::mem::take(&mut self.found);
        secrets(&self.redactor, text, self.before, &mut found);
        let overlap = OVERLAP_BYTES + self.redactor.longest_known();
        let mut cut = boundary_before(text, text.len().saturating_sub(overlap));
        for secret in found.iter().rev() {
            if secret.context < cut && secret.end > cut {
                cut = secret.context;
            }
        }
        let stuck = found.iter().rev().find(|secret| cut == 0 && secret.context == 0).map(|secret| secret.end);
        match stuck {
            Some(end) => {
                // It fills all that may be held. Where it goes on, the rest is dropped as it comes.
                self.lines(&text[..end], out);
                self.dropping = end == text.len() && self.block.is_none();
                self.held.push_str(&text[end..]);
            }
            None => {
                self.lines(&text[..cut], out);
                self.held.push_str(&text[cut..]);
            }
        }
        self.limit = self.held.len() + first_limit(&self.redactor);
        found.clear();
        self.found = found;
    }
}

fn boundary_before(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn first_limit(redactor: &Redactor) -> usize {
    MAX_LINE_BYTES + 2 * redactor.longest_known()
}
