//! A publication: one attempt to put a cleared candidate on the remote, and what the remote then held.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::event::Meta;
use super::fold::{Entity, Index, Kind};
use super::id::{EvidenceId, Oid, PublicationId, TaskId};
use super::stamp::Stamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body")]
pub enum PublicationEvent {
    /// Written before the push, so that a crash between is healed by reading the remote, not by guessing.
    #[serde(rename = "publish.started")]
    Started { clearance: Box<Cleared> },
    #[serde(rename = "publish.done")]
    Done { observed: Oid, base_observed: Option<Oid> },
    #[serde(rename = "publish.failed")]
    Failed { code: String, words: String, stands: String },
}

/// What the gate cleared: this exact commit, for this exact ref, judged by this base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cleared {
    pub task: TaskId,
    pub remote: String,
    /// Without credentials.
    pub url: String,
    pub reference: String,
    pub commit: Oid,
    pub tree: Oid,
    pub base: Oid,
    pub base_ref: String,
    /// What the remote's ref held when the gate looked; `null` for a new branch. The push is leased on it.
    pub expected: Option<Oid>,
    pub profile_digest: Digest,
    pub evidence: Vec<EvidenceId>,
    pub fence: u64,
    /// Digest of every file of the work tree that was judged, so that a person's word on it keeps counting. None for
    /// what an earlier kctl cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PublicationStatus {
    Started,
    Done,
    Failed,
}

impl PublicationStatus {
    pub const fn name(self) -> &'static str {
        match self {
            PublicationStatus::Started => "started",
            PublicationStatus::Done => "done",
            PublicationStatus::Failed => "failed",
        }
    }
}

/// A publication as the ledger knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Publication {
    pub id: PublicationId,
    pub status: PublicationStatus,
    pub cleared: Option<Cleared>,
    pub observed: Option<Oid>,
    pub base_observed: Option<Oid>,
    /// What stands after a failure, in words.
    pub stands: Option<String>,
    pub started_at: Stamp,
    pub updated_at: Stamp,
}

impl Entity for Publication {
    type Event = PublicationEvent;
    type Id = PublicationId;
    const KIND: Kind = Kind::Publication;

    fn blank(id: PublicationId) -> Self {
        Self {
            id,
            status: PublicationStatus::Failed,
            cleared: None,
            observed: None,
            base_observed: None,
            stands: None,
            started_at: Stamp(0),
            updated_at: Stamp(0),
        }
    }

    fn apply(mut self, event: &PublicationEvent, meta: &Meta) -> Self {
        match event {
            PublicationEvent::Started { clearance } => {
                self.status = PublicationStatus::Started;
                self.cleared = Some(clearance.as_ref().clone());
                self.started_at = meta.at;
            }
            PublicationEvent::Done { observed, base_observed } => {
                self.status = PublicationStatus::Done;
                self.observed = Some(observed.clone());
                self.base_observed.clone_from(base_observed);
            }
            PublicationEvent::Failed { code: _, words: _, stands } => {
                self.status = PublicationStatus::Failed;
                self.stands = Some(stands.clone());
            }
        }
        self.updated_at = meta.at;
        self
    }

    fn index(&self) -> Index {
        Index {
            status: self.status.name(),
            parent: self.cleared.as_ref().map(|cleared| cleared.task.to_string()),
            name: self.cleared.as_ref().map(|cleared| cleared.commit.to_string()),
            rank: self.started_at.ms().saturating_neg(),
            ..Index::default()
        }
    }
}
