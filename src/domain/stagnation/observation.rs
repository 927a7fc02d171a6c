//! A finished action of a host, as it is recorded: what it was about, and what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::Lines;
use crate::domain::action::Capability;
use crate::domain::digest::Digest;
use crate::domain::id::EvidenceId;
use crate::domain::path::TreePath;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body")]
pub enum ActionEvent {
    #[serde(rename = "action.observed")]
    Observed { observation: Box<Observation> },
}

/// One finished action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// The host's own id of the call.
    pub call: String,
    /// As the host spells it.
    pub tool: String,
    pub capability: Capability,
    pub subject: Subject,
    pub saw: Saw,
    /// The files it names, as they were on disk afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Touched>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The host's id of the turn; a call without one is a turn of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    pub turn_kind: TurnKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// A run of kctl's own that was under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<EvidenceId>,
    pub ground: Ground,
}

/// What an action was about, spelled one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// Lines of a file.
    Read {
        path: TreePath,
        lines: Lines,
    },
    /// Files that were written or deleted.
    Files {},
    Listing {
        path: TreePath,
    },
    /// A search; its words are sorted.
    Query {
        words: String,
        path: TreePath,
        narrowed: Option<String>,
    },
    /// A command, as it is known whatever it was spelled like.
    Command {
        command: String,
        digest: Digest,
    },
    /// Anything else, by its arguments.
    Other {
        arguments: Digest,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "digest", rename_all = "snake_case")]
pub enum Saw {
    Content(Digest),
    /// What it is about is not there.
    Nothing,
    /// Nobody said, so two of them are never known to be alike.
    Unsaid,
}

/// A file as it is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Touched {
    pub path: TreePath,
    pub content: Saw,
}

/// What began the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnKind {
    /// The agent goes on by itself
    #[default]
    Agent,
    /// A person said something new
    User,
    /// The conversation was resumed or compacted: what was seen may be forgotten
    Resumed,
}

/// The shape of the work, where the host has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Ask,
    Plan,
    Work,
}

/// A process of the host's that the action started or looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    pub id: String,
    pub running: bool,
}

/// What stood when the action was observed: the facts by which progress is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ground {
    /// Of the tasks that the session holds: state, contract and claim.
    pub tasks: Digest,
    /// Of the newest runs for them.
    pub evidence: Digest,
    /// Of every file. Looked at only where the action may be a repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Digest>,
}

impl Observation {
    /// What makes two observations one: the same thing was done to the same subject with the same result, lines apart.
    pub fn key(&self) -> Digest {
        let subject = match &self.subject {
            Subject::Read { path, lines: _ } => Subject::Read { path: path.clone(), lines: Lines::ONE },
            other => other.clone(),
        };
        let tool = matches!(subject, Subject::Other { .. }).then_some(&self.tool);
        // A command that is presented in another way ends alike, and what it is known by leaves that out.
        let subject = match subject {
            Subject::Command { command: _, digest } => Subject::Other { arguments: digest },
            other => other,
        };
        Digest::of_json(&(self.capability, tool, subject, &self.saw, self.exit))
    }

    /// The lines it is about.
    pub fn lines(&self) -> Lines {
        match &self.subject {
            Subject::Read { lines, .. } => *lines,
            Subject::Files {}
            | Subject::Listing { .. }
            | Subject::Query { .. }
            | Subject::Command { .. }
            | Subject::Other { .. } => Lines::ONE,
        }
    }

    /// Whether a second one could be known to show the same. A file's content is told by the disk, and a search or a
    /// listing of an unchanged tree by the tree; of anything else only the host can say.
    pub fn is_comparable(&self) -> bool {
        match &self.subject {
            Subject::Listing { .. } | Subject::Query { .. } => self.capability != Capability::Network,
            Subject::Files {} => false,
            Subject::Read { .. } | Subject::Command { .. } | Subject::Other { .. } => self.saw != Saw::Unsaid,
        }
    }

    /// Whether it may have changed the tree.
    pub fn may_act(&self) -> bool {
        !matches!(self.capability, Capability::FileRead | Capability::DirList | Capability::Search)
    }
}
