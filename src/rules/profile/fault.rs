//! What can be wrong with a profile. Each fault names the key, the line and what is legal (I14).

use std::fmt;

use serde::Serialize;

use crate::domain::refusal::{Code, Refusal};

/// How many faults are kept; one broken list must not fill an answer.
pub const MAX_FAULTS: usize = 20;

/// One thing that is wrong. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum ProfileFault {
    #[error("the profile has {bytes} bytes; at most {max_bytes} are read")]
    TooLarge { bytes: usize, max_bytes: usize },
    #[error("line {line}: the profile is not UTF-8")]
    NotText { line: usize },
    #[error("line {line}: the profile is not TOML: {problem}")]
    Syntax { line: usize, problem: String },
    /// A key that does not exist, is missing, or holds another kind of value.
    #[error("line {line}: `{key}`: {problem}")]
    Shape { key: String, line: usize, problem: String },
    /// A value of the right kind that cannot be accepted.
    #[error("line {line}: `{key}` {problem}; {legal}")]
    Value { key: String, line: usize, problem: String, legal: String },
}

impl ProfileFault {
    /// The key it is about, with dots between its parts. None where the text could not be read as TOML.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Shape { key, .. } | Self::Value { key, .. } => Some(key),
            Self::TooLarge { .. } | Self::NotText { .. } | Self::Syntax { .. } => None,
        }
    }

    pub fn line(&self) -> Option<usize> {
        match self {
            Self::NotText { line }
            | Self::Syntax { line, .. }
            | Self::Shape { line, .. }
            | Self::Value { line, .. } => Some(*line),
            Self::TooLarge { .. } => None,
        }
    }
}

/// Why a profile cannot be read: at least one fault, at most `MAX_FAULTS`, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileFaults {
    first: ProfileFault,
    rest: Vec<ProfileFault>,
}

impl ProfileFaults {
    pub fn one(fault: ProfileFault) -> Self {
        Self { first: fault, rest: Vec::new() }
    }

    /// None if `faults` is empty.
    pub fn of(mut faults: Vec<ProfileFault>) -> Option<Self> {
        faults.sort_by_key(ProfileFault::line);
        faults.truncate(MAX_FAULTS);
        let mut faults = faults.into_iter();
        let first = faults.next()?;
        Some(Self { first, rest: faults.collect() })
    }

    pub fn first(&self) -> &ProfileFault {
        &self.first
    }

    pub fn iter(&self) -> impl Iterator<Item = &ProfileFault> {
        std::iter::once(&self.first).chain(&self.rest)
    }
}

impl fmt::Display for ProfileFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        match self.rest.len() {
            0 => Ok(()),
            more => write!(f, " (and {more} more)"),
        }
    }
}

impl std::error::Error for ProfileFaults {}

impl From<ProfileFaults> for Refusal {
    fn from(faults: ProfileFaults) -> Self {
        let all: Vec<&ProfileFault> = faults.iter().collect();
        Refusal::new(Code::PROFILE_INVALID, faults.to_string())
            .with("path", crate::domain::profile::PROFILE_PATH)
            .with("key", faults.first().key())
            .with("line", faults.first().line())
            .with("faults", all)
    }
}
