//! From the bytes that a command wrote to plain text: UTF-8, no escape sequences, no control characters.

/// A control sequence longer than this is text that happens to follow an escape.
const MAX_SEQUENCE_CHARS: usize = 64;
/// The same for the strings that terminals take: titles, links, images.
const MAX_STRING_CHARS: usize = 4096;

/// Reads bytes in pieces. What looked like a sequence and was none comes out as text, so that no unfinished sequence
/// can hide what follows it.
#[derive(Debug, Default)]
pub struct Plain {
    /// The first bytes of a character whose rest is in the next piece.
    partial: Vec<u8>,
    state: State,
    /// The characters of the sequence so far, without the escape.
    pending: String,
    after_return: bool,
    in_line: bool,
    pub invalid_utf8: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// One more character belongs to it, whichever it is: `ESC ( B`.
    Charset,
    Control,
    /// Up to BEL or `ESC \`.
    Command,
    CommandEscape,
}

impl Plain {
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        let joined;
        let mut rest = bytes;
        if !self.partial.is_empty() {
            let mut whole = std::mem::take(&mut self.partial);
            whole.extend_from_slice(bytes);
            joined = whole;
            rest = &joined;
        }
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.text(text, out),
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    self.text(std::str::from_utf8(valid).expect("it was checked up to here"), out);
                    let Some(length) = error.error_len() else {
                        self.partial.extend_from_slice(after);
                        return;
                    };
                    self.replace_invalid(out);
                    rest = &after[length..];
                }
            }
        }
    }

    pub fn finish(&mut self, out: &mut String) {
        if !self.partial.is_empty() {
            self.partial.clear();
            self.replace_invalid(out);
        }
        self.give_up(out);
    }

    fn replace_invalid(&mut self, out: &mut String) {
        self.invalid_utf8 = true;
        self.text("\u{fffd}", out);
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.state == State::Text {
                let plain = rest.bytes().position(is_special).unwrap_or(rest.len());
                self.emit(&rest[..plain], out);
                rest = &rest[plain..];
            }
            let Some(character) = rest.chars().next() else { return };
            rest = &rest[character.len_utf8()..];
            self.special(character, out);
        }
    }

    fn emit(&mut self, plain: &str, out: &mut String) {
        if let Some(last) = plain.bytes().last() {
            // `\r\n` is one end of line, and the return has already ended it.
            let plain = if self.after_return { plain.strip_prefix('\n').unwrap_or(plain) } else { plain };
            out.push_str(plain);
            self.after_return = false;
            self.in_line = last != b'\n';
        }
    }

    fn special(&mut self, character: char, out: &mut String) {
        match self.state {
            State::Text => self.control(character, out),
            State::Escape => self.escape(character, out),
            State::Charset => self.end_sequence(),
            State::Control => match character {
                '\u{20}'..='\u{3f}' if self.pending.len() < MAX_SEQUENCE_CHARS => self.pending.push(character),
                '\u{40}'..='\u{7e}' => self.end_sequence(),
                _ => self.not_a_sequence(character, out),
            },
            State::Command => match character {
                '\u{7}' | '\u{9c}' => self.end_sequence(),
                '\u{1b}' => self.state = State::CommandEscape,
                '\n' => self.not_a_sequence(character, out),
                _ if self.pending.len() >= MAX_STRING_CHARS => self.not_a_sequence(character, out),
                _ => self.pending.push(character),
            },
            State::CommandEscape if character == '\\' => self.end_sequence(),
            State::CommandEscape => {
                self.give_up(out);
                self.escape(character, out);
            }
        }
    }

    fn control(&mut self, character: char, out: &mut String) {
        match character {
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Control,
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.state = State::Command,
            // A progress bar draws over itself: each drawing is a line.
            '\r' if self.in_line => {
                self.emit("\n", out);
                self.after_return = true;
            }
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => {}
            _ => {
                let mut buffer = [0; 4];
                self.emit(character.encode_utf8(&mut buffer), out);
            }
        }
    }

    fn escape(&mut self, character: char, out: &mut String) {
        self.state = match character {
            '[' => State::Control,
            ']' | 'P' | 'X' | '^' | '_' => State::Command,
            '\u{20}'..='\u{2f}' => State::Charset,
            '\u{30}'..='\u{7e}' => State::Text,
            '\u{1b}' => State::Escape,
            _ => return self.not_a_sequence(character, out),
        };
        if matches!(self.state, State::Control | State::Command) {
            self.pending.push(character);
        }
    }

    fn end_sequence(&mut self) {
        self.pending.clear();
        self.state = State::Text;
    }

    fn not_a_sequence(&mut self, character: char, out: &mut String) {
        self.give_up(out);
        let mut buffer = [0; 4];
        self.text(character.encode_utf8(&mut buffer), out);
    }

    /// Shows what was taken for a sequence.
    fn give_up(&mut self, out: &mut String) {
        self.state = State::Text;
        let pending = std::mem::take(&mut self.pending);
        let shown: String = pending.chars().filter(|character| !character.is_control()).collect();
        self.emit(&shown, out);
    }
}

/// A control character, or the first byte of one of U+0080 to U+00BF.
fn is_special(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(bytes: &[u8], size: usize) -> (String, bool) {
        let (mut plain, mut out) = (Plain::default(), String::new());
        bytes.chunks(size).for_each(|piece| plain.push(piece, &mut out));
        plain.finish(&mut out);
        (out, plain.invalid_utf8)
    }

    #[test]
    fn escape_sequences_go_and_text_stays_in_pieces_of_any_size() {
        let cases: [(&[u8], &str); 9] = [
            (b"\x1b[1;31merror\x1b[0m: no", "error: no"),
            (b"\x1b]8;;https://a.b\x1b\\link\x1b]8;;\x07!", "link!"),
            (b"\x1b(Ba\x1b7b\x1bMc", "abc"),
            (b"10%\r20%\r\r\n30%\r\nx\n", "10%\n20%\n30%\nx\n"),
            (b"a\x08b\0c\x07\td", "abc\td"),
            ("gr\u{fc}\u{df}e \u{a7} \u{1f600} \u{9b}31mred".as_bytes(), "gr\u{fc}\u{df}e \u{a7} \u{1f600} red"),
            (b"\x1b[2K\x1b[1A\x1b[?25hdone", "done"),
            (b"\x1bPq#0;2\x1b\\after", "after"),
            (b"\r\n\r\n", "\n\n"),
        ];
        for (bytes, expected) in cases {
            for size in [1, 2, 3, 100] {
                let (text, invalid) = plain(bytes, size);
                assert_eq!((text.as_str(), invalid), (expected, false), "{bytes:?} by {size}");
            }
        }
    }

    #[test]
    fn an_unfinished_sequence_hides_nothing() {
        assert_eq!(plain(b"\x1b]0;title\ntest a FAILED\n", 5).0, "]0;title\ntest a FAILED\n");
        assert_eq!(plain(b"\x1b[31", 5).0, "[31");
        let long = format!("\u{1b}]{}", "x".repeat(10_000));
        assert_eq!(plain(long.as_bytes(), 100).0.len(), 10_001);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_flagged() {
        assert_eq!(plain(b"a\xff\xfeb\xe2\x82", 1), ("a\u{fffd}\u{fffd}b\u{fffd}".to_owned(), true));
        assert_eq!(plain("€".as_bytes(), 1), ("€".to_owned(), false));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_come_out_the_same_in_any_pieces(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), size in 1_usize..20) {
            proptest::prop_assert_eq!(plain(&bytes, size), plain(&bytes, 1000));
        }
    }
}
