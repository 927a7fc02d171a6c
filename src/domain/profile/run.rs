//! How a command is written in the profile.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How a check's command is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// A text, run by `bash -o pipefail --noprofile --norc -c`.
    Shell(String),
    /// A program and its arguments, run directly.
    Argv(Vec<String>),
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Run::Shell(text) => f.write_str(text),
            Run::Argv(words) => write!(f, "{words:?}"),
        }
    }
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Run::Shell(text) => serializer.serialize_str(text),
            Run::Argv(words) => words.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RunVisitor)
    }
}

struct RunVisitor;

impl<'de> de::Visitor<'de> for RunVisitor {
    type Value = Run;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string (run by the shell) or a list of strings (run directly)")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Run, E> {
        Ok(Run::Shell(text.to_owned()))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Run, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = items.next_element()? {
            words.push(word);
        }
        Ok(Run::Argv(words))
    }
}
