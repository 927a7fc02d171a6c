//! The head and the tail of a text of any length, in bounded memory.

use crate::ports::runner::{MAX_OUTPUT_BYTES, MIN_OUTPUT_BYTES};

/// A cut moves this far, at most, to fall between two lines.
const MAX_SHIFT_BYTES: usize = 512;

/// Keeps the first and the last `half` bytes and counts what lies between.
#[derive(Debug)]
pub struct Kept {
    half: usize,
    head: String,
    is_head_full: bool,
    tail: String,
    omitted: u64,
}

impl Kept {
    pub fn new(max_bytes: usize) -> Self {
        let half = max_bytes.clamp(MIN_OUTPUT_BYTES, MAX_OUTPUT_BYTES) / 2;
        Self { half, head: String::new(), is_head_full: false, tail: String::new(), omitted: 0 }
    }

    pub fn push(&mut self, text: &str) {
        let mut rest = text;
        if !self.is_head_full {
            let room = boundary_before(rest, self.half - self.head.len());
            self.head.push_str(&rest[..room]);
            rest = &rest[room..];
            self.is_head_full = !rest.is_empty();
        }
        // A piece longer than the tail may be is never copied as a whole.
        if rest.len() > self.half {
            self.omitted += self.tail.len() as u64;
            self.tail.clear();
            let start = boundary_after(rest, rest.len() - self.half);
            self.omitted += start as u64;
            rest = &rest[start..];
        }
        self.tail.push_str(rest);
        if self.tail.len() > 2 * self.half {
            self.drop_front(self.tail.len() - self.half);
        }
    }

    /// The text, with a line in the middle that says how much is not there, and how much that is.
    pub fn finish(mut self) -> (String, u64) {
        if self.tail.len() > self.half {
            self.drop_front(self.tail.len() - self.half);
        }
        if self.omitted == 0 {
            self.head.push_str(&self.tail);
            return (self.head, 0);
        }
        let shift = self.tail.bytes().take(MAX_SHIFT_BYTES).position(|byte| byte == b'\n').map_or(0, |end| end + 1);
        self.drop_front(shift);
        let gap = if self.head.ends_with('\n') { "" } else { "\n" };
        let text = format!("{}{gap}[kctl: {} bytes are not kept here]\n{}", self.head, self.omitted, self.tail);
        (text, self.omitted)
    }

    fn drop_front(&mut self, bytes: usize) {
        let end = boundary_after(&self.tail, bytes);
        self.tail.drain(..end);
        self.omitted += end as u64;
    }
}

fn boundary_before(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn boundary_after(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, size: usize) -> (String, u64) {
        let mut kept = Kept::new(MIN_OUTPUT_BYTES);
        let characters: Vec<char> = text.chars().collect();
        characters.chunks(size).for_each(|piece| kept.push(&piece.iter().collect::<String>()));
        kept.finish()
    }

    #[test]
    fn a_text_within_the_bound_is_kept_whole() {
        let text = "é\n".repeat(MIN_OUTPUT_BYTES / 3);
        for size in [1, 10, 100_000] {
            assert_eq!(kept(&text, size), (text.clone(), 0));
        }
    }

    #[test]
    fn of_a_longer_one_the_head_and_the_tail_are_kept_and_the_rest_is_counted() {
        let text: String = (0..10_000).map(|line| format!("line é {line}\n")).collect();
        for size in [1, 10, 3000, 1_000_000] {
            let (short, omitted) = kept(&text, size);
            assert!(short.starts_with("line é 0\n") && short.ends_with("line é 9999\n"), "{size}");
            let marker = format!("[kctl: {omitted} bytes are not kept here]\n");
            let (head, tail) = short.split_once(&marker).expect("the gap is shown");
            assert!(text.starts_with(head.trim_end()) && text.ends_with(tail));
            let kept_bytes = (text.len() as u64) - omitted;
            assert!((head.len() + tail.len()) as u64 - kept_bytes <= 1, "only a line's end is added");
            assert!(short.len() <= MIN_OUTPUT_BYTES + marker.len() + 1);
        }
    }
}
