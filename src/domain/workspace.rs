//! A workspace: a git worktree and branch made for one claimed task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Meta;
use super::fold::{Entity, Index, Kind};
use super::id::{Oid, TaskId};
use super::path::TreePath;
use super::stamp::Stamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body")]
pub enum WorkspaceEvent {
    /// Written before git is called, so that a crash between is repaired and not guessed at.
    #[serde(rename = "workspace.planned")]
    Planned { path: String, branch: String, base: Oid, base_ref: String },
    #[serde(rename = "workspace.opened")]
    Opened { head: Oid, baseline: Vec<Dirt> },
    /// The plan was given up and nothing of it is left.
    #[serde(rename = "workspace.abandoned")]
    Abandoned { reason: String },
    #[serde(rename = "workspace.removed")]
    Removed {
        branch_deleted: bool,
        /// Commits that no branch had; a ref below `refs/decapod/kept` holds each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<Oid>,
    },
}

/// A path that differed from its base before the work began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dirt {
    pub path: TreePath,
    /// Hex of the content's SHA-256; empty when the path was deleted.
    pub content: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceStatus {
    Planned,
    Open,
    Removed,
}

impl WorkspaceStatus {
    pub const fn name(self) -> &'static str {
        match self {
            WorkspaceStatus::Planned => "planned",
            WorkspaceStatus::Open => "open",
            WorkspaceStatus::Removed => "removed",
        }
    }
}

/// A workspace as the ledger knows it. There is at most one per task, and its stream has the task's id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workspace {
    pub task: TaskId,
    pub status: WorkspaceStatus,
    pub path: String,
    pub branch: String,
    /// The accepted base it was made on.
    pub base: Option<Oid>,
    /// The base's full ref name, such as `refs/remotes/origin/main`.
    pub base_ref: String,
    pub baseline: Vec<Dirt>,
    pub opened_at: Stamp,
    pub updated_at: Stamp,
}

impl Entity for Workspace {
    type Event = WorkspaceEvent;
    type Id = TaskId;
    const KIND: Kind = Kind::Workspace;

    fn blank(task: TaskId) -> Self {
        Self {
            task,
            status: WorkspaceStatus::Removed,
            path: String::new(),
            branch: String::new(),
            base: None,
            base_ref: String::new(),
            baseline: Vec::new(),
            opened_at: Stamp(0),
            updated_at: Stamp(0),
        }
    }

    fn apply(mut self, event: &WorkspaceEvent, meta: &Meta) -> Self {
        match event {
            WorkspaceEvent::Planned { path, branch, base, base_ref } => {
                self.status = WorkspaceStatus::Planned;
                self.path.clone_from(path);
                self.branch.clone_from(branch);
                self.base = Some(base.clone());
                self.base_ref.clone_from(base_ref);
                self.baseline.clear();
            }
            WorkspaceEvent::Opened { head: _, baseline } => {
                self.status = WorkspaceStatus::Open;
                self.baseline.clone_from(baseline);
                self.opened_at = meta.at;
            }
            WorkspaceEvent::Abandoned { reason: _ } | WorkspaceEvent::Removed { .. } => {
                self.status = WorkspaceStatus::Removed;
            }
        }
        self.updated_at = meta.at;
        self
    }

    fn index(&self) -> Index {
        Index {
            status: self.status.name(),
            name: Some(self.branch.clone()),
            rank: self.opened_at.ms(),
            ..Index::default()
        }
    }
}
