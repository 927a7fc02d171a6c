//! Who calls, and how well that is known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::id::{AgentName, SessionId};

/// How a caller is known. It comes from the door, never from text; a later grade outranks an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Somebody says so.
    Asserted,
    /// The host asked the person through its own permission prompt.
    Prompted,
    /// A terminal is attached to the call.
    Tty,
    /// A signature that the base's signers verify.
    Signed,
}

/// Where the call came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    Cli,
    Rpc,
    Mcp,
    Hook,
    GitHook,
}

/// Who made a call. Recorded with every event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Caller {
    pub door: Door,
    pub grade: Grade,
    /// The session whose token was verified for this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Caller {
    /// A caller of whom only the door is known.
    pub fn unknown(door: Door) -> Self {
        Self { door, grade: Grade::Asserted, session: None, agent: None, host: None }
    }

    /// Whether a person stands behind the call: at a terminal, or by signature. A session is an agent's.
    pub fn is_person(&self) -> bool {
        self.grade >= Grade::Tty && self.session.is_none()
    }
}
