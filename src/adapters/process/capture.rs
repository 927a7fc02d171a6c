//! One stream of a command's output, from bytes to what is kept of it.

use super::kept::Kept;
use super::plain::Plain;
use crate::domain::digest::Digest;
use crate::domain::secret::Redaction;
use crate::ports::runner::Output;

/// Cleans, redacts and keeps. Nothing that came in is held anywhere else (I12).
pub struct Capture {
    plain: Plain,
    redaction: Box<dyn Redaction>,
    kept: Kept,
    bytes_total: u64,
    /// Kept for their memory only.
    cleaned: String,
    redacted: String,
}

impl Capture {
    pub fn new(redaction: Box<dyn Redaction>, max_bytes: usize) -> Self {
        Self {
            plain: Plain::default(),
            redaction,
            kept: Kept::new(max_bytes),
            bytes_total: 0,
            cleaned: String::new(),
            redacted: String::new(),
        }
    }

    pub fn push(&mut self, bytes: &[u8], on_output: &mut dyn FnMut(&str)) {
        self.bytes_total += bytes.len() as u64;
        self.plain.push(bytes, &mut self.cleaned);
        self.redaction.push(&self.cleaned, &mut self.redacted);
        self.cleaned.clear();
        self.keep(on_output);
    }

    pub fn finish(mut self, on_output: &mut dyn FnMut(&str)) -> Output {
        self.plain.finish(&mut self.cleaned);
        self.redaction.push(&self.cleaned, &mut self.redacted);
        self.redaction.finish(&mut self.redacted);
        self.keep(on_output);
        let (text, bytes_omitted) = self.kept.finish();
        Output {
            digest: Digest::of(text.as_bytes()),
            text,
            bytes_total: self.bytes_total,
            bytes_omitted,
            invalid_utf8: self.plain.invalid_utf8,
            redactions: self.redaction.count(),
        }
    }

    fn keep(&mut self, on_output: &mut dyn FnMut(&str)) {
        if !self.redacted.is_empty() {
            on_output(&self.redacted);
            self.kept.push(&self.redacted);
            self.redacted.clear();
        }
    }
}
