//! A run: one execution of a check or one evaluation of a criterion. A finished run is evidence.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::Grade;
use super::contract::{CriterionId, Strength};
use super::digest::Digest;
use super::event::Meta;
use super::failure::{Doubt, Item, Tests};
use super::fold::{Entity, Index, Kind, Link, Rel};
use super::id::{CommitmentId, EvidenceId, Oid, SessionId, TaskId};
use super::isolation::Isolation;
use super::stamp::Stamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body")]
pub enum RunEvent {
    #[serde(rename = "run.started")]
    Started { subject: Subject, deadline: Stamp },
    #[serde(rename = "run.ended")]
    Ended { record: Box<Record> },
    /// A person looked at a run that was held back as suspicious, and lets it count.
    #[serde(rename = "run.accepted")]
    Accepted { reason: String },
}

/// What a run is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// `check:<name>` or `proof:<digest>`: what two runs have in common when the newer one replaces the older.
    pub key: String,
    /// Digest of the check's or proof's definition that was judged by.
    pub definition: Digest,
    pub task: Option<TaskId>,
    pub commitment: Option<CommitmentId>,
    pub criteria: Vec<CriterionId>,
}

/// What a run says. Only `pass` satisfies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    /// The command's own no.
    Fail,
    /// Nothing can be said: a signal, a timeout, inputs that moved, an instrument that failed.
    Error,
    /// A tool or a permission is missing.
    Unavailable,
    Skipped,
}

impl Verdict {
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Error => "error",
            Verdict::Unavailable => "unavailable",
            Verdict::Skipped => "skipped",
        }
    }
}

/// The exact tree that was judged, and the accepted base it builds on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    pub head: Option<Oid>,
    pub tree: Option<Oid>,
    pub base: Option<Oid>,
    /// Whether the work tree was exactly `tree` when the run ended.
    pub clean: bool,
}

/// How far evidence can be trusted. kctl records L1 by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Level {
    /// Somebody claims it.
    L0,
    /// kctl ran it; a process of the same user could forge the record.
    L1,
    /// Signed by a key outside of that user's reach, which the accepted base names.
    L2,
}

/// What was handed in for a criterion that nothing is run for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HandedIn {
    Citation {
        sources: Vec<Source>,
    },
    Receipt {
        /// The name that the base's list of signers gives the key.
        signer: String,
        /// Digest of the statement as it was signed.
        statement: Digest,
    },
    Judgement {
        /// In percent.
        confidence: u8,
        reason: String,
    },
}

/// A source that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// A path of the tree, or an address.
    pub source: String,
    /// Of the content as it was read.
    pub digest: Digest,
    pub bytes: u64,
    pub retrieved_at: Stamp,
}

impl HandedIn {
    pub const fn level(&self) -> Level {
        match self {
            HandedIn::Judgement { .. } => Level::L0,
            HandedIn::Citation { .. } => Level::L1,
            HandedIn::Receipt { .. } => Level::L2,
        }
    }

    /// The most that it can earn (I5).
    pub const fn earns(&self) -> Strength {
        match self {
            HandedIn::Judgement { .. } => Strength::Asserted,
            HandedIn::Citation { .. } => Strength::Cited,
            HandedIn::Receipt { .. } => Strength::Attested,
        }
    }
}

/// Everything a finished run established.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    pub verdict: Verdict,
    /// Why it is not a plain pass; empty for one.
    pub reasons: Vec<String>,
    pub level: Level,
    pub strength: Strength,
    pub argv: Vec<String>,
    /// Relative to the top of the work tree.
    pub cwd: String,
    pub work_tree: String,
    pub env_digest: Option<Digest>,
    /// The program that ran and its version, by the name it was called.
    pub tools: BTreeMap<String, String>,
    pub input_before: Digest,
    pub input_after: Digest,
    pub candidate: Candidate,
    pub contract_digest: Option<Digest>,
    pub started: Stamp,
    pub ended: Stamp,
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    pub pipe_statuses: Vec<i32>,
    /// The full output as an artifact, redacted; bytes over the bound are counted in `output_omitted`.
    pub output: Option<Digest>,
    pub output_bytes: u64,
    pub output_omitted: u64,
    pub redactions: u32,
    /// The last lines of the output, redacted.
    pub tail: String,
    pub session: Option<SessionId>,
    pub fence: Option<u64>,
    pub kctl_version: String,
    /// Tests as the output, or the check's report file, counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// What failed, as it was read out of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// Why a pass is held back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// For what is handed in and not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_in: Option<HandedIn>,
    /// How far the run was shut in. None where nothing was run, and in records of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

impl Record {
    /// Whether the command itself ended well, and only a doubt stands against it.
    pub fn is_held_back(&self) -> bool {
        self.verdict == Verdict::Fail && !self.doubts.is_empty()
    }
}

/// What failed in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failing {
    /// The first of them; `omitted` says how many more there are.
    pub items: Vec<Item>,
    pub omitted: usize,
    /// Digest of the whole failing set: two runs that have it in common failed alike.
    pub signature: String,
    /// What read it: the tools, or `lines` where no tool was known.
    pub parser: String,
}

/// A person's decision that a suspicious run counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acceptance {
    pub reason: String,
    pub grade: Grade,
    pub at: Stamp,
}

/// A run as the ledger knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    pub id: EvidenceId,
    pub subject: Option<Subject>,
    pub started: Stamp,
    /// After this point a run without a record is one whose supervisor died.
    pub deadline: Stamp,
    pub record: Option<Record>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Acceptance>,
}

impl Run {
    /// What it says, a person's acceptance of a suspicious pass included.
    pub fn verdict(&self) -> Option<Verdict> {
        let record = self.record.as_ref()?;
        Some(if self.accepted.is_some() && record.is_held_back() { Verdict::Pass } else { record.verdict })
    }

    pub fn is_running(&self, now: Stamp) -> bool {
        self.record.is_none() && self.deadline > now
    }
}

impl Entity for Run {
    type Event = RunEvent;
    type Id = EvidenceId;
    const KIND: Kind = Kind::Run;

    fn blank(id: EvidenceId) -> Self {
        Self { id, subject: None, started: Stamp(0), deadline: Stamp(0), record: None, accepted: None }
    }

    fn apply(mut self, event: &RunEvent, meta: &Meta) -> Self {
        match event {
            RunEvent::Started { subject, deadline } => {
                self.subject = Some(subject.clone());
                self.started = meta.at;
                self.deadline = *deadline;
            }
            RunEvent::Ended { record } => self.record = Some(record.as_ref().clone()),
            RunEvent::Accepted { reason } => {
                self.accepted = Some(Acceptance { reason: reason.clone(), grade: meta.caller.grade, at: meta.at });
            }
        }
        self
    }

    fn index(&self) -> Index {
        let task = self.subject.as_ref().and_then(|subject| subject.task.as_ref()).map(ToString::to_string);
        let commitment = self.subject.as_ref().and_then(|subject| subject.commitment.as_ref());
        Index {
            status: self.record.as_ref().map_or("running", |record| record.verdict.name()),
            // Evidence is found by the inputs it speaks for.
            owner: self.record.as_ref().map(|record| record.input_before.to_string()),
            parent: task,
            name: self.subject.as_ref().map(|subject| subject.key.clone()),
            rank: self.started.ms().saturating_neg(),
            until: Some(self.deadline.ms()),
            links: commitment.map(|id| Link { rel: Rel::Commitment, target: id.to_string() }).into_iter().collect(),
        }
    }
}
