//! Paths inside a tree, as git has them: bytes with `/` between the parts, not always UTF-8.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A path relative to the top of a work tree, as raw bytes. It is shown as git shows it: a path with control
/// characters, quotes, backslashes or bytes that are not UTF-8 is put in quotes with C escapes, so two different
/// paths are never shown alike.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TreePath(Vec<u8>);

impl TreePath {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text where it is UTF-8, which nearly every path is.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    fn is_plain(&self) -> bool {
        !self.0.iter().any(|b| *b < 0x20 || matches!(b, b'"' | b'\\' | 0x7f)) && self.as_str().is_some()
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (true, Some(text)) = (self.is_plain(), self.as_str()) {
            return f.write_str(text);
        }
        f.write_str("\"")?;
        for byte in &self.0 {
            match byte {
                b'\n' => f.write_str("\\n")?,
                b'\t' => f.write_str("\\t")?,
                b'\r' => f.write_str("\\r")?,
                b'"' => f.write_str("\\\"")?,
                b'\\' => f.write_str("\\\\")?,
                0x20..=0x7e => write!(f, "{}", *byte as char)?,
                _ => write!(f, "\\{byte:03o}")?,
            }
        }
        f.write_str("\"")
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<TreePath> for String {
    fn from(path: TreePath) -> Self {
        path.to_string()
    }
}

impl From<String> for TreePath {
    /// Reads what `Display` wrote. A text that is not a well-formed quotation is the path itself.
    fn from(text: String) -> Self {
        unquote(&text).map_or_else(|| Self(text.into_bytes()), Self)
    }
}

fn unquote(text: &str) -> Option<Vec<u8>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next()? {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'"' => bytes.push(b'"'),
            b'\\' => bytes.push(b'\\'),
            first @ b'0'..=b'3' => {
                let (second, third) = (rest.next()?, rest.next()?);
                if !matches!((second, third), (b'0'..=b'7', b'0'..=b'7')) {
                    return None;
                }
                bytes.push((first - b'0') * 64 + (second - b'0') * 8 + (third - b'0'));
            }
            _ => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_path_reads_back_as_it_was(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            let path = TreePath::new(bytes);
            prop_assert_eq!(TreePath::from(String::from(path.clone())), path);
        }
    }

    #[test]
    fn plain_paths_are_shown_plainly() {
        assert_eq!(TreePath::new("src/größe file.rs").to_string(), "src/größe file.rs");
        assert_eq!(TreePath::new(b"a\xff\n".to_vec()).to_string(), r#""a\377\n""#);
    }
}
