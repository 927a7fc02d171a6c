//! Where long values come from: `@FILE`, or `-` for standard input.

use std::io::{self, Read};
use std::path::Path;

use crate::domain::refusal::{Code, Refusal};

/// The most bytes a value from a file or from standard input may have: as much as a request.
pub const MAX_VALUE_BYTES: usize = crate::doors::rpc::MAX_REQUEST_BYTES;

/// A place that holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'s> {
    /// A file; a relative path starts at the caller's directory, where the shell completed it, not at `-C`.
    File(&'s Path),
    Stdin,
}

/// Opens a source for reading.
pub type Open<'c> = dyn FnMut(Source<'_>) -> io::Result<Box<dyn Read>> + 'c;

/// The surroundings that parsing may look at.
pub struct Console<'c> {
    /// The width that help is wrapped to, in columns; 0 wraps nothing.
    pub columns: usize,
    pub open: &'c mut Open<'c>,
}

/// Opens files and standard input of this process.
///
/// # Errors
/// What the system says.
pub fn open(source: Source<'_>) -> io::Result<Box<dyn Read>> {
    match source {
        Source::File(path) => Ok(Box::new(fs_err::File::open(path)?)),
        Source::Stdin => Ok(Box::new(io::stdin())),
    }
}

impl Console<'_> {
    /// Reads all of `source`; `shown` is the flag that named it.
    ///
    /// # Errors
    /// `USAGE` when it cannot be read or is larger than `MAX_VALUE_BYTES`.
    pub(super) fn read(&mut self, source: Source<'_>, shown: &str) -> Result<Vec<u8>, Refusal> {
        let limit = MAX_VALUE_BYTES as u64 + 1;
        let mut bytes = Vec::new();
        let read = (self.open)(source).and_then(|reader| reader.take(limit).read_to_end(&mut bytes));
        if let Err(error) = read {
            return Err(Refusal::new(Code::USAGE, format!("the value of `{shown}` cannot be read: {error}"))
                .with("flag", shown));
        }
        if bytes.len() > MAX_VALUE_BYTES {
            let message = format!("the value of `{shown}` is larger than {MAX_VALUE_BYTES} bytes");
            return Err(Refusal::new(Code::USAGE, message).with("flag", shown).with("limit", MAX_VALUE_BYTES));
        }
        Ok(bytes)
    }
}
