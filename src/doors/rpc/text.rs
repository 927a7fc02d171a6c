//! The bytes of a request before they mean anything: size, encoding, grammar, depth. Each fault has its own name.

use serde::Deserialize as _;
use serde_json::value::RawValue;

use crate::domain::refusal::{Code, Refusal};

/// The most bytes one request, or one batch, may have.
pub const MAX_REQUEST_BYTES: usize = 8 * 1024 * 1024;

/// How deep arrays and objects may lie in each other, the batch and the request object included.
pub const MAX_DEPTH: usize = 64;

/// Checks that `input` is one JSON text that this door reads, and gives it without the space around it.
///
/// # Errors
/// `PARSE_ERROR` or `REQUEST_TOO_LARGE`; `details.fault` names what is wrong and `details.byte` says where.
pub(super) fn checked(input: &[u8]) -> Result<&RawValue, Refusal> {
    if input.len() > MAX_REQUEST_BYTES {
        return Err(too_large("too_many_bytes", format!("the request is larger than {MAX_REQUEST_BYTES} bytes"))
            .with("limit", MAX_REQUEST_BYTES));
    }
    let text = decoded(input)?;
    let raw = parsed(text)?;
    Survey::of(raw.get().as_bytes(), text.len() - text.trim_start().len())?;
    Ok(raw)
}

fn decoded(input: &[u8]) -> Result<&str, Refusal> {
    if input.starts_with(b"\xEF\xBB\xBF") {
        return Err(fault("byte_order_mark", "the request starts with a byte order mark: send it without one"));
    }
    if input.starts_with(b"\xFE\xFF") || input.starts_with(b"\xFF\xFE") {
        return Err(fault("not_utf8", "the request is UTF-16 or UTF-32: send it in UTF-8").with("byte", 0));
    }
    // A NUL is legal UTF-8 and never legal JSON; beside ASCII it mostly means UTF-16 without a mark.
    if let Some(byte) = memchr::memchr(0, input) {
        let message = format!("byte {byte} of the request is NUL: send UTF-8 without NUL bytes");
        return Err(fault("nul_byte", message).with("byte", byte));
    }
    let text = std::str::from_utf8(input).map_err(|error| {
        let byte = error.valid_up_to();
        fault("not_utf8", format!("the request is not UTF-8 from byte {byte} on")).with("byte", byte)
    })?;
    if text.bytes().all(|byte| byte.is_ascii_whitespace()) {
        return Err(fault("empty", "the request is empty: send one request object, or an array of them"));
    }
    Ok(text)
}

fn parsed(text: &str) -> Result<&RawValue, Refusal> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let raw = <&RawValue>::deserialize(&mut deserializer).map_err(|error| {
        let name = if error.is_eof() { "incomplete" } else { "syntax" };
        at_line(fault(name, format!("the request is not JSON: {error}")), &error)
    })?;
    deserializer.end().map_err(|error| {
        let message = "something follows the request: send one JSON text, and several requests as an array";
        at_line(fault("trailing_data", message), &error)
    })?;
    Ok(raw)
}

fn at_line(refusal: Refusal, error: &serde_json::Error) -> Refusal {
    refusal.with("line", error.line()).with("column", error.column())
}

fn fault(name: &str, message: impl Into<String>) -> Refusal {
    Refusal::new(Code::PARSE_ERROR, message).with("fault", name)
}

fn too_large(name: &str, message: String) -> Refusal {
    Refusal::new(Code::REQUEST_TOO_LARGE, message).with("fault", name)
}

/// One walk over text that is known to be JSON, for what the grammar does not say.
struct Survey<'t> {
    text: &'t [u8],
    at: usize,
    /// Where `text` starts in the request.
    offset: usize,
}

impl<'t> Survey<'t> {
    fn of(text: &'t [u8], offset: usize) -> Result<(), Refusal> {
        let mut survey = Survey { text, at: 0, offset };
        let mut depth = 0_usize;
        while let Some(&byte) = text.get(survey.at) {
            survey.at += 1;
            match byte {
                b'"' => survey.string()?,
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            if depth > MAX_DEPTH {
                return Err(too_large("too_deep", format!("the request is nested deeper than {MAX_DEPTH}"))
                    .with("limit", MAX_DEPTH)
                    .with("byte", offset + survey.at - 1));
            }
        }
        Ok(())
    }

    /// Passes a string whose opening quote has been read.
    fn string(&mut self) -> Result<(), Refusal> {
        while let Some(step) = memchr::memchr2(b'"', b'\\', &self.text[self.at..]) {
            self.at += step + 1;
            if self.text[self.at - 1] == b'"' {
                return Ok(());
            }
            self.escape()?;
        }
        Ok(())
    }

    /// Passes an escape whose backslash has been read: a surrogate must be one half of a pair.
    fn escape(&mut self) -> Result<(), Refusal> {
        let start = self.at - 1;
        let Some(unit) = unit(&self.text[start..]) else {
            self.at += 1;
            return Ok(());
        };
        self.at = start + 6;
        match unit {
            0xD800..=0xDBFF if matches!(self.text.get(self.at..).and_then(self::unit), Some(0xDC00..=0xDFFF)) => {
                self.at += 6;
            }
            0xD800..=0xDFFF => {
                let byte = self.offset + start;
                let message = format!("byte {byte} of the request escapes half of a surrogate pair, which is no text");
                return Err(fault("lone_surrogate", message).with("byte", byte));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The code unit of the `\uXXXX` that `text` starts with.
fn unit(text: &[u8]) -> Option<u16> {
    let hex = text.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(input: &[u8]) -> Option<String> {
        let refusal = checked(input).err()?;
        refusal.details()["fault"].as_str().map(str::to_owned)
    }

    #[test]
    fn a_request_of_exactly_the_limit_is_read_and_one_byte_more_is_not() {
        let mut input = vec![b' '; MAX_REQUEST_BYTES];
        input[0] = b'1';
        assert_eq!(fault_of(&input), None);
        input.push(b' ');
        assert_eq!(fault_of(&input).as_deref(), Some("too_many_bytes"));
    }

    #[test]
    fn depth_is_bounded_and_brackets_in_strings_do_not_count() {
        let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
        assert_eq!(fault_of(&nested(MAX_DEPTH)), None);
        assert_eq!(fault_of(&nested(MAX_DEPTH + 1)).as_deref(), Some("too_deep"));
        assert_eq!(fault_of(&nested(2_000_000)).as_deref(), Some("too_deep"));
        assert_eq!(fault_of(&b"[".repeat(2_000_000)).as_deref(), Some("incomplete"));
        assert_eq!(fault_of(format!(r#""\"{}""#, "[".repeat(100)).as_bytes()), None);
    }

    #[test]
    fn surrogates_come_in_pairs_or_not_at_all() {
        for legal in [r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\u00e9\n\"""#, r#"{"\uD83D\uDE00":1}"#] {
            assert_eq!(fault_of(legal.as_bytes()), None, "{legal}");
        }
        for lone in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\ud800""#, r#""\ud800x""#, r#"{"\udead":1}"#] {
            assert_eq!(fault_of(lone.as_bytes()).as_deref(), Some("lone_surrogate"), "{lone}");
        }
    }

    #[test]
    fn the_byte_that_is_named_counts_the_space_before_the_text() {
        let refusal = checked(b"  \"\\ud800\"").expect_err("half of a pair");
        assert_eq!(refusal.details()["byte"], 3);
    }
}
