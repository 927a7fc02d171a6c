//! What a host is about to do, and what is said to it: capabilities, decisions and their codes.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a host's tool can do to the world. Gates judge this, never a tool's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    FileRead,
    FileWrite,
    FileDelete,
    DirList,
    Search,
    Process,
    Network,
    Vcs,
    External,
    Mcp,
    /// A tool that no table names. It is asked about, and never taken for a read.
    Unknown,
}

impl Capability {
    pub const ALL: [Capability; 11] = [
        Capability::FileRead,
        Capability::FileWrite,
        Capability::FileDelete,
        Capability::DirList,
        Capability::Search,
        Capability::Process,
        Capability::Network,
        Capability::Vcs,
        Capability::External,
        Capability::Mcp,
        Capability::Unknown,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Capability::FileRead => "file_read",
            Capability::FileWrite => "file_write",
            Capability::FileDelete => "file_delete",
            Capability::DirList => "dir_list",
            Capability::Search => "search",
            Capability::Process => "process",
            Capability::Network => "network",
            Capability::Vcs => "vcs",
            Capability::External => "external",
            Capability::Mcp => "mcp",
            Capability::Unknown => "unknown",
        }
    }

    /// Whether it changes the files that it names.
    pub const fn changes_files(self) -> bool {
        matches!(self, Capability::FileWrite | Capability::FileDelete)
    }

    /// Whether it names the paths that it touches.
    pub const fn names_paths(self) -> bool {
        self.changes_files() || matches!(self, Capability::FileRead | Capability::DirList | Capability::Search)
    }
}

/// What is said to a host that is about to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allow,
    /// A person decides.
    Ask,
    Deny,
}

/// Why an action is not simply allowed. Names are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GateCode {
    /// No table names the tool.
    UnknownTool,
    /// The path is kctl's or git's own, or decides what is judged.
    ProtectedPath,
    /// The path cannot be resolved, so nobody knows what it names.
    PathUnresolved,
    /// The path lies outside of the workspace.
    BoundaryViolation,
    /// Work goes on in a workspace, and this is another place.
    WrongWorkspace,
    /// What is to be read is not there.
    ReferenceMissing,
}

impl GateCode {
    pub const ALL: [GateCode; 6] = [
        GateCode::UnknownTool,
        GateCode::ProtectedPath,
        GateCode::PathUnresolved,
        GateCode::BoundaryViolation,
        GateCode::WrongWorkspace,
        GateCode::ReferenceMissing,
    ];

    /// Whether the same call can succeed later, once somebody did what the answer says.
    pub const fn repeat_helps(self) -> bool {
        match self {
            GateCode::UnknownTool | GateCode::ReferenceMissing => true,
            GateCode::ProtectedPath
            | GateCode::PathUnresolved
            | GateCode::BoundaryViolation
            | GateCode::WrongWorkspace => false,
        }
    }
}

/// What is at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum There {
    Nothing,
    File,
    Dir,
    Other,
}

/// Where a path leads once every link on the way was followed, as far as there is anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Absolute, and free of links and of `..`.
    pub real: PathBuf,
    pub there: There,
}
