//! A finding: something in a change that weakens what judges it, and what a person decided about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::Grade;
use super::digest::Digest;
use super::event::Meta;
use super::fold::{Entity, Index, Kind};
use super::id::{FindingId, TaskId};
use super::stamp::Stamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body")]
pub enum FindingEvent {
    #[serde(rename = "finding.accepted")]
    Accepted { about: Box<About>, reason: String, grade: Grade },
    /// It stays held, and says why.
    #[serde(rename = "finding.rejected")]
    Rejected { about: Box<About>, reason: String, grade: Grade },
}

/// What was decided about, as it was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct About {
    pub kind: String,
    pub path: String,
    pub line: Option<u32>,
    pub test: Option<String>,
    pub before: Option<String>,
    pub after: Option<String>,
    pub message: String,
    /// Digest of all of it and of the file's content on both sides: another edit is another finding.
    pub digest: Digest,
    pub task: Option<TaskId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    Accepted,
    Rejected,
}

impl Ruling {
    pub const fn name(self) -> &'static str {
        match self {
            Ruling::Accepted => "accepted",
            Ruling::Rejected => "rejected",
        }
    }
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    pub ruling: Ruling,
    pub reason: String,
    pub grade: Grade,
    pub at: Stamp,
}

/// A finding that somebody decided about. One that nobody did is not in the ledger: it is seen in the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub id: FindingId,
    pub about: Option<About>,
    /// The newest counts.
    pub decision: Option<Decision>,
}

impl Finding {
    /// What was decided about exactly what `digest` is of.
    pub fn decision_on(&self, digest: &Digest) -> Option<&Decision> {
        let same = self.about.as_ref().is_some_and(|about| about.digest == *digest);
        self.decision.as_ref().filter(|_| same)
    }
}

impl Entity for Finding {
    type Event = FindingEvent;
    type Id = FindingId;
    const KIND: Kind = Kind::Finding;

    fn blank(id: FindingId) -> Self {
        Self { id, about: None, decision: None }
    }

    fn apply(mut self, event: &FindingEvent, meta: &Meta) -> Self {
        let (ruling, about, reason, grade) = match event {
            FindingEvent::Accepted { about, reason, grade } => (Ruling::Accepted, about, reason, grade),
            FindingEvent::Rejected { about, reason, grade } => (Ruling::Rejected, about, reason, grade),
        };
        self.about = Some(about.as_ref().clone());
        self.decision = Some(Decision { ruling, reason: reason.clone(), grade: *grade, at: meta.at });
        self
    }

    fn index(&self) -> Index {
        Index {
            status: self.decision.as_ref().map_or("", |decision| decision.ruling.name()),
            parent: self.about.as_ref().and_then(|about| about.task.as_ref()).map(ToString::to_string),
            name: self.about.as_ref().map(|about| about.path.clone()),
            rank: self.decision.as_ref().map_or(0, |decision| decision.at.ms().saturating_neg()),
            ..Index::default()
        }
    }
}
