//! The names of checks.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A check's name: a small letter, then up to 63 of small letters, digits, `_`, `-`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = r"^[a-z][a-z0-9_-]{0,63}$"))]
pub struct CheckName(String);

impl CheckName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CheckName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let legal = text.len() <= 64
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'));
        if legal {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("{text:?} is not a check's name: a small letter, then up to 63 of a-z 0-9 _ -"))
        }
    }
}

impl TryFrom<String> for CheckName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<CheckName> for String {
    fn from(name: CheckName) -> Self {
        name.0
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
