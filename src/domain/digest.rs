//! Content digests: one algorithm, one spelling (`sha256:<64 hex>`), one way to join fields.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written `sha256:<64 lowercase hex digits>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Digest(String);

impl Digest {
    /// Digests `bytes` as they are.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_raw(&Sha256::digest(bytes))
    }

    /// Digests the canonical JSON of `value`: members sorted by name, no white space.
    pub fn of_json<T: Serialize>(value: &T) -> Self {
        let value = serde_json::to_value(value).expect("a domain value always serialises");
        Self::of(canonical_json(&value).as_bytes())
    }

    /// Wraps the 32 bytes of a finished SHA-256.
    pub fn from_raw(raw: &[u8]) -> Self {
        let mut text = String::with_capacity(7 + 64);
        text.push_str("sha256:");
        push_hex(&mut text, raw);
        Self(text)
    }

    /// The 64 hex digits without the `sha256:` prefix.
    pub fn hex(&self) -> &str {
        &self.0["sha256:".len()..]
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Joins fields so that no two different lists give the same bytes: each field is preceded by its length.
#[derive(Clone, Default)]
pub struct Fields(Sha256);

impl Fields {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, field: &[u8]) -> &mut Self {
        self.0.update((field.len() as u64).to_le_bytes());
        self.0.update(field);
        self
    }

    pub fn finish(&self) -> Digest {
        Digest::from_raw(&self.finish_raw())
    }

    /// The 32 bytes of [`Fields::finish`].
    pub fn finish_raw(&self) -> [u8; 32] {
        self.0.clone().finalize().into()
    }
}

/// Renders `value` with members sorted by name and no white space, so that equal values have equal bytes.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            out.push('{');
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                write_canonical(&members[name], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            out.push(char::from_digit(u32::from(nibble), 16).expect("a nibble is one hex digit"));
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text is not `sha256:` and 64 lowercase hex digits.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a digest: expected `sha256:` and 64 lowercase hex digits")]
pub struct NotADigest(String);

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let hex = text.strip_prefix("sha256:").unwrap_or_default();
        let legal = hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if legal { Ok(Self(text.to_owned())) } else { Err(NotADigest(text.to_owned())) }
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_json_sorts_members_at_every_depth() {
        let a: Value = serde_json::from_str(r#"{"b":1,"a":{"d":[1,{"z":0,"y":1}],"c":null}}"#).expect("legal JSON");
        assert_eq!(canonical_json(&a), r#"{"a":{"c":null,"d":[1,{"y":1,"z":0}]},"b":1}"#);
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        let join = |parts: &[&[u8]]| {
            let mut fields = Fields::new();
            for part in parts {
                fields.push(part);
            }
            fields.finish()
        };
        assert_ne!(join(&[b"ab", b"c"]), join(&[b"a", b"bc"]));
        assert_ne!(join(&[b"a", b""]), join(&[b"a"]));
    }

    #[test]
    fn only_the_one_spelling_is_a_digest() {
        assert!(Digest::of(b"x").as_str().parse::<Digest>().is_ok());
        for wrong in ["", "sha256:", "sha1:00", &"a".repeat(71), &format!("sha256:{}", "A".repeat(64))] {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
    }
}
