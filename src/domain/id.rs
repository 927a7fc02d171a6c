//! Names of things. An id is a prefix that says what it names, and random characters; it is checked where it
//! comes in and trusted from there.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// How many characters follow the prefix of a whole id: 60 random bits.
pub const ID_CHARS: usize = 12;

/// Crockford's base 32, lower case: no `i`, `l`, `o` or `u`, so that an id survives being read aloud.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A text that is not the id, or the prefix of an id, that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {noun} id: expected `{prefix}` and 1 to 12 of 0-9a-z without i, l, o, u")]
pub struct NotAnId {
    text: String,
    noun: &'static str,
    prefix: &'static str,
}

fn short_form(uuid: Uuid) -> String {
    // The low 62 bits of a UUIDv7 are random; its first 48 are a clock and would make all prefixes alike.
    let random = uuid.as_u128() as u64;
    (0..ID_CHARS).map(|index| ALPHABET[((random >> (5 * index)) & 31) as usize] as char).collect()
}

fn is_short_form(text: &str) -> bool {
    (1..=ID_CHARS).contains(&text.len()) && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $reference:ident, $noun:literal, $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String")]
        pub struct $name(String);

        impl $name {
            pub const NOUN: &'static str = $noun;
            pub const PREFIX: &'static str = $prefix;

            /// Makes the id whose random part is that of `uuid`.
            pub fn new(uuid: Uuid) -> Self {
                Self(format!("{}{}", $prefix, short_form(uuid)))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                match text.strip_prefix($prefix) {
                    Some(rest) if rest.len() == ID_CHARS && is_short_form(rest) => Ok(Self(text.to_owned())),
                    _ => Err(NotAnId { text: text.to_owned(), noun: $noun, prefix: $prefix }),
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;

            fn try_from(text: String) -> Result<Self, NotAnId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        #[doc = concat!("A whole ", $noun, " id, or any unique prefix of one.")]
        #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String", extend("pattern" = concat!("^", $prefix, "[0-9a-hjkmnp-tv-z]{1,12}$")))]
        pub struct $reference(String);

        impl $reference {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $reference {
            type Error = NotAnId;

            fn try_from(text: String) -> Result<Self, NotAnId> {
                match text.strip_prefix($prefix) {
                    Some(rest) if is_short_form(rest) => Ok(Self(text)),
                    _ => Err(NotAnId { text, noun: $noun, prefix: $prefix }),
                }
            }
        }

        impl From<$reference> for String {
            fn from(reference: $reference) -> Self {
                reference.0
            }
        }

        impl From<$name> for $reference {
            fn from(id: $name) -> Self {
                Self(id.0)
            }
        }

        impl fmt::Display for $reference {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// A unit of work.
    TaskId, TaskRef, "task", "t-";
    /// A durable obligation.
    CommitmentId, CommitmentRef, "commitment", "c-";
    /// An agent's period of custody.
    SessionId, SessionRef, "session", "s-";
    /// One execution of a check or one evaluation of a criterion: evidence.
    EvidenceId, EvidenceRef, "evidence", "e-";
    /// One attempt to publish a candidate.
    PublicationId, PublicationRef, "publication", "p-";
    /// A gate that cannot be passed with the means at hand, written down for whoever has them.
    TicketId, TicketRef, "ticket", "k-";
    /// One weakening of what judges a change.
    FindingId, FindingRef, "finding", "f-";
    /// One clone's ledger.
    OriginId, OriginRef, "origin", "o-";
}

/// One event of the ledger: a UUIDv7 in its usual spelling.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct EventId(pub Uuid);

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for EventId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "uuid" })
    }
}

/// The name an agent goes by: 1 to 64 of letters, digits, `.`, `_`, `-`, `@`, `/`, `:`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = r"^[A-Za-z0-9._@/:-]{1,64}$"))]
pub struct AgentName(String);

impl AgentName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let legal =
            (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._@/:-".contains(&b));
        if legal {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("{text:?} is not an agent's name: 1 to 64 of letters, digits and . _ - @ / :"))
        }
    }
}

impl TryFrom<String> for AgentName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> Self {
        name.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A git object id: 40 (SHA-1) or 64 (SHA-256) lowercase hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = r"^([0-9a-f]{40}|[0-9a-f]{64})$"))]
pub struct Oid(String);

impl Oid {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 12 digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl FromStr for Oid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let legal = matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if legal { Ok(Self(text.to_owned())) } else { Err(format!("{text:?} is not a git object id")) }
    }
}

impl TryFrom<String> for Oid {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.0
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_prefix_and_twelve_characters() {
        let id = TaskId::new(Uuid::from_u128(0x0123_4567_89ab_7def_8123_4567_89ab_cdef));
        assert_eq!(id.as_str().len(), 2 + ID_CHARS);
        assert_eq!(id.as_str().parse::<TaskId>(), Ok(id));
    }

    #[test]
    fn a_reference_takes_a_prefix_and_an_id_does_not() {
        assert!(TaskRef::try_from("t-0a".to_owned()).is_ok());
        assert!("t-0a".parse::<TaskId>().is_err());
        for wrong in ["", "t-", "c-0a", "t-0A", "t-l", "t-0a1b2c3d4e5f6", "t-../up", "t-\u{e9}"] {
            assert!(TaskRef::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
