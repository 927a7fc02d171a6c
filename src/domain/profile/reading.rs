//! How a check's results are read, and what it may reach while it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a check is shut in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IsolationWish {
    /// By the strongest means that works here.
    #[default]
    Auto,
    /// Not at all.
    None,
}

/// What holds for every check that is shut in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxRules {
    /// Directories that checks may write to beside the work tree: from its top, absolute, or from `~/`.
    #[serde(default)]
    pub writable: Vec<String>,
}

/// Whether a value is the default, which is left out of what is digested.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
