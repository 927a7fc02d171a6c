//! Reasons to doubt a pass.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a pass is held back. Every number that was compared is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Doubt {
    /// Nothing was executed.
    ZeroTests { skipped: u64, accepted: Option<u64> },
    /// Fewer than the check itself asks for.
    BelowMinimum { run: u64, minimum: u64 },
    /// Fewer than the last accepted run of this check executed.
    FewerTests { run: u64, accepted: u64 },
    /// The output tells no counts, where the last accepted run of this check did.
    NoCounts { accepted: u64 },
    /// More skipped or ignored than in the last accepted run.
    MoreSkipped { skipped: u64, accepted: u64 },
    /// The exit code was 0, the counts say that tests failed.
    FailedWithExitZero { failed: u64 },
    /// The exit code was 0, the output says that something failed.
    SaidFailed { items: u64 },
    /// The result came from a cache: nothing was executed now.
    Cached,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroTests { skipped, accepted: Some(accepted) } => {
                write!(f, "0 tests ran, {skipped} were skipped; the last accepted run had {accepted}")
            }
            Self::ZeroTests { skipped, accepted: None } => write!(f, "0 tests ran, {skipped} were skipped"),
            Self::BelowMinimum { run, minimum } => write!(f, "{run} tests ran; the check asks for {minimum}"),
            Self::FewerTests { run, accepted } => write!(f, "{run} tests ran; the last accepted run had {accepted}"),
            Self::NoCounts { accepted } => write!(f, "no test counts; the last accepted run had {accepted} tests"),
            Self::MoreSkipped { skipped, accepted } => {
                write!(f, "{skipped} tests were skipped; the last accepted run skipped {accepted}")
            }
            Self::FailedWithExitZero { failed } => write!(f, "{failed} tests failed, but the command ended with 0"),
            Self::SaidFailed { items } => write!(f, "the output names {items} failures, but the command ended with 0"),
            Self::Cached => write!(f, "the result came from a cache: nothing ran"),
        }
    }
}
