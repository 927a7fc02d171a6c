//! What each host calls its tools: one table per host, from a name to a capability and to where its paths stand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::action::Capability;

/// Whose names of tools they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    /// Capabilities by their own names; paths stand in `path`
    #[default]
    Plain,
    ClaudeCode,
    Codex,
    GeminiCli,
}

impl Host {
    pub const ALL: [Host; 4] = [Host::Plain, Host::ClaudeCode, Host::Codex, Host::GeminiCli];
}

/// Where a tool's arguments name its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// In this member, which must be there.
    Member(&'static str),
    /// In this member, or else it is the directory of the call.
    MemberOrHere(&'static str),
    /// In the headers of the patch that this member holds.
    Patch(&'static str),
    Nowhere,
}

/// A tool that a table names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    pub name: &'static str,
    pub capability: Capability,
    pub at: At,
}

const fn tool(name: &'static str, capability: Capability, at: At) -> Tool {
    Tool { name, capability, at }
}

const PLAIN: &[Tool] = &[
    tool("file_read", Capability::FileRead, At::Member("path")),
    tool("file_write", Capability::FileWrite, At::Member("path")),
    tool("file_delete", Capability::FileDelete, At::Member("path")),
    tool("dir_list", Capability::DirList, At::MemberOrHere("path")),
    tool("search", Capability::Search, At::MemberOrHere("path")),
    tool("process", Capability::Process, At::Nowhere),
    tool("network", Capability::Network, At::Nowhere),
    tool("vcs", Capability::Vcs, At::Nowhere),
    tool("external", Capability::External, At::Nowhere),
];

const CLAUDE_CODE: &[Tool] = &[
    tool("Read", Capability::FileRead, At::Member("file_path")),
    tool("Write", Capability::FileWrite, At::Member("file_path")),
    tool("Edit", Capability::FileWrite, At::Member("file_path")),
    tool("MultiEdit", Capability::FileWrite, At::Member("file_path")),
    tool("NotebookEdit", Capability::FileWrite, At::Member("notebook_path")),
    tool("NotebookRead", Capability::FileRead, At::Member("notebook_path")),
    tool("LS", Capability::DirList, At::MemberOrHere("path")),
    tool("Glob", Capability::Search, At::MemberOrHere("path")),
    tool("Grep", Capability::Search, At::MemberOrHere("path")),
    tool("Bash", Capability::Process, At::Nowhere),
    tool("WebFetch", Capability::Network, At::Nowhere),
    tool("WebSearch", Capability::Network, At::Nowhere),
];

const CODEX: &[Tool] =
    &[tool("apply_patch", Capability::FileWrite, At::Patch("command")), tool("Bash", Capability::Process, At::Nowhere)];

const GEMINI_CLI: &[Tool] = &[
    tool("read_file", Capability::FileRead, At::Member("file_path")),
    tool("write_file", Capability::FileWrite, At::Member("file_path")),
    tool("replace", Capability::FileWrite, At::Member("file_path")),
    tool("list_directory", Capability::DirList, At::MemberOrHere("dir_path")),
    tool("glob", Capability::Search, At::MemberOrHere("dir_path")),
    tool("run_shell_command", Capability::Process, At::Nowhere),
    tool("web_fetch", Capability::Network, At::Nowhere),
    tool("google_web_search", Capability::Network, At::Nowhere),
];

/// The tool that `host` calls `name`; none for one that is unknown. Names are compared letter by letter: a host never
/// spells its own tools otherwise.
pub fn find(host: Host, name: &str) -> Option<Tool> {
    let (table, mcp) = match host {
        Host::Plain => (PLAIN, "mcp"),
        Host::ClaudeCode => (CLAUDE_CODE, "mcp__"),
        Host::Codex => (CODEX, "mcp__"),
        Host::GeminiCli => (GEMINI_CLI, "mcp_"),
    };
    let known = table.iter().find(|tool| tool.name == name).copied();
    known.or_else(|| name.starts_with(mcp).then_some(tool("mcp", Capability::Mcp, At::Nowhere)))
}
