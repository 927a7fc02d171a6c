//! How far a run was shut in.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// By what a run was shut in, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Namespaces: files, processes, network.
    Bwrap,
    /// The kernel's own rules: where is written, and TCP where the kernel knows it.
    Landlock,
    None,
}

/// How far a run was shut in, and why no further.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Isolation {
    pub tier: Tier,
    /// Whether the network could be reached.
    pub network: bool,
    pub why: String,
}

/// What no tier but `bwrap` holds, in one wording wherever it is told.
pub const MAY_LEAVE: &str = "a kctl that is killed may leave processes behind";

impl Isolation {
    /// Where the profile asks that a check is not shut in.
    pub fn unasked() -> Self {
        Self::none(format!("the profile asks for none: nothing is held, and {MAY_LEAVE}"))
    }

    pub fn none(why: impl Into<String>) -> Self {
        Self { tier: Tier::None, network: true, why: why.into() }
    }
}

/// What a run that is shut in may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    pub network: bool,
    /// The only place of the project that it may write to; git's own parts of it are left out.
    pub work_tree: PathBuf,
    pub common_dir: PathBuf,
    /// Further directories, from the top of the work tree, absolute, or from `~/`.
    pub writable: Vec<String>,
}
