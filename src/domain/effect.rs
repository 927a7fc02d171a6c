//! What an operation does to the world, and what it needs to hold. Every door reads these two (DESIGN §5).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a call may change. It decides locks, receipts, MCP hints and whether `--dry-run` means anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Records events, or changes files that kctl made.
    Write,
    /// Reaches something outside the repository.
    External,
    /// Cannot be taken back.
    Irreversible,
}

impl Effect {
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::External => "external",
            Effect::Irreversible => "irreversible",
        }
    }

    /// Whether a call can leave anything different from before.
    pub const fn changes(self) -> bool {
        match self {
            Effect::Read => false,
            Effect::Write | Effect::External | Effect::Irreversible => true,
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the caller must hold. It is the same for every door; there is no list of exemptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Custody {
    /// Nothing.
    None,
    /// A live session and its token.
    Session,
    /// The live claim on the task.
    Claim,
    /// The claimed task's workspace.
    Workspace,
    /// To be a person, at a terminal or by signature.
    Person,
}

impl Custody {
    pub const fn as_str(self) -> &'static str {
        match self {
            Custody::None => "none",
            Custody::Session => "session",
            Custody::Claim => "claim",
            Custody::Workspace => "workspace",
            Custody::Person => "person",
        }
    }
}

impl fmt::Display for Custody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
