//! Taking secrets out of text (I12): by their known value, by the shape that their issuer gave them, and by where they
//! stand. One pass over the bytes, no backtracking, nothing to compile: the time is linear in any input.
//!
//! What is looked for is chosen so that ordinary build output passes untouched: commit ids, digests, uuids and base64
//! are not secrets by their shape alone.

mod families;
mod line;
mod pem;
mod place;
mod stream;

pub use stream::RedactionStream;

use crate::domain::secret::Redaction;

/// Known values shorter than this are words that would be found everywhere.
pub const MIN_KNOWN_BYTES: usize = 8;

/// What a supervisor of runs is made with: redaction of one stream, by these known values and by all rules.
pub fn of_stream(known_values: &[String]) -> Box<dyn Redaction> {
    Box::new(Redactor::new(known_values).stream())
}

/// Finds secrets. Made once per run from the values that are known to be secret.
#[derive(Clone, Debug)]
pub struct Redactor {
    /// Longest first, so that no value hides behind a shorter one that begins alike.
    known: Vec<String>,
    /// What each byte can mean: `line::KNOWN` and its kin.
    interest: [u8; 256],
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Redactor {
    /// `known_values` are taken out wherever they stand, in full. A value of several lines is known line by line;
    /// anything under `MIN_KNOWN_BYTES` is left out.
    pub fn new(known_values: &[String]) -> Self {
        let lines = known_values.iter().flat_map(|value| value.lines()).map(str::trim);
        let mut known: Vec<String> = lines
            .filter(|line| line.len() >= MIN_KNOWN_BYTES && !line.starts_with("-----"))
            .map(str::to_owned)
            .collect();
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        known.dedup();
        let mut interest = line::interest();
        for value in &known {
            interest[usize::from(value.as_bytes()[0])] |= line::KNOWN;
        }
        Self { known, interest }
    }

    /// Redacts a whole text; also says how many secrets were in it.
    pub fn redact(&self, text: &str) -> (String, u32) {
        let mut stream = self.clone().stream();
        let mut out = String::with_capacity(text.len());
        stream.push(text, &mut out);
        stream.finish(&mut out);
        (out, stream.count())
    }

    /// Redacts a text that arrives in pieces.
    pub fn stream(self) -> RedactionStream {
        RedactionStream::new(self)
    }

    /// The end of the known value that starts at `at`.
    fn known_at(&self, bytes: &[u8], at: usize) -> Option<usize> {
        if self.interest[usize::from(bytes[at])] & line::KNOWN == 0 {
            return None;
        }
        self.known.iter().find(|value| bytes[at..].starts_with(value.as_bytes())).map(|value| at + value.len())
    }

    fn longest_known(&self) -> usize {
        self.known.first().map_or(0, String::len)
    }
}

#[cfg(test)]
mod tests;
