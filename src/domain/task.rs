//! A task: a unit of work, and the lease on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::{Attestation, Contract, CriterionId, Terms, Waiver};
use super::digest::Digest;
use super::event::Meta;
use super::fold::{Entity, Index, Kind, Link, Rel};
use super::id::{AgentName, CommitmentId, EvidenceId, SessionId, TaskId};
use super::stamp::Stamp;

mod rejections;

pub use rejections::{MAX_TOTAL, MAX_UNCHANGED, Refused, Rejections, Repeat};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body")]
pub enum TaskEvent {
    #[serde(rename = "task.created")]
    Created {
        title: String,
        contract: Contract,
        priority: u8,
        needs: Vec<TaskId>,
        paths: Vec<String>,
        labels: Vec<String>,
        parent: Option<TaskId>,
        commitment: Option<CommitmentId>,
    },
    /// Only what is given changes.
    #[serde(rename = "task.updated")]
    Updated {
        title: Option<String>,
        priority: Option<u8>,
        needs: Option<Vec<TaskId>>,
        paths: Option<Vec<String>>,
        labels: Option<Vec<String>>,
    },
    #[serde(rename = "task.decomposed")]
    Decomposed { children: Vec<TaskId> },
    #[serde(rename = "task.claimed")]
    Claimed { session: SessionId, agent: AgentName, fence: u64, until: Stamp },
    #[serde(rename = "task.claim_renewed")]
    ClaimRenewed { fence: u64, until: Stamp },
    #[serde(rename = "task.claim_ended")]
    ClaimEnded { fence: u64, how: ClaimEnd, note: Option<String> },
    /// The claim passes to `agent`; without a session it waits for that agent to claim it.
    #[serde(rename = "task.handed_off")]
    HandedOff { agent: AgentName, session: Option<SessionId>, fence: u64, until: Stamp, note: Option<String> },
    #[serde(rename = "task.taken_over")]
    TakenOver {
        session: SessionId,
        agent: AgentName,
        fence: u64,
        until: Stamp,
        from: Option<SessionId>,
        reason: String,
    },
    #[serde(rename = "task.blocked")]
    Blocked { reason: String, question: Option<String> },
    #[serde(rename = "task.unblocked")]
    Unblocked { note: String },
    /// The agent says that the implementation is done. A claim, not evidence.
    #[serde(rename = "task.completion_claimed")]
    CompletionClaimed { fence: u64, summary: String },
    #[serde(rename = "task.finalization_rejected")]
    FinalizationRejected {
        fence: u64,
        unmet: Vec<CriterionId>,
        basis: Digest,
        /// What each unmet criterion was judged on, in the same order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bases: Vec<Digest>,
        /// The turn whose end was refused, as the host calls it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<String>,
    },
    /// It was refused too often without progress: turns are let go, and the gates stay shut.
    #[serde(rename = "task.finalization_exhausted")]
    FinalizationExhausted { fence: u64, unmet: Vec<CriterionId>, attempts: u32 },
    #[serde(rename = "task.finished")]
    Finished { fence: u64, evidence: Vec<EvidenceId>, contract_digest: Digest },
    #[serde(rename = "task.cancelled")]
    Cancelled { reason: String },
    #[serde(rename = "task.attested")]
    Attested { attestation: Attestation },
    /// The whole contract as it is from now on, and why.
    #[serde(rename = "task.contract_amended")]
    ContractAmended { contract: Contract, reason: String },
    #[serde(rename = "task.criterion_waived")]
    CriterionWaived { waiver: Waiver },
}

/// How a claim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimEnd {
    Yielded,
    Released,
    SessionReleased,
}

/// A task as the ledger knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    pub status: TaskStatus,
    /// 0 is the most urgent, 4 the least.
    pub priority: u8,
    pub contract: Contract,
    pub contract_digest: Digest,
    pub terms: Terms,
    pub needs: Vec<TaskId>,
    /// Globs of the paths the work expects to touch.
    pub paths: Vec<String>,
    pub labels: Vec<String>,
    pub parent: Option<TaskId>,
    pub children: Vec<TaskId>,
    pub commitment: Option<CommitmentId>,
    pub claim: Option<Claim>,
    /// Rises with every claim, handoff and takeover; never falls.
    pub fence: u64,
    pub block: Option<Block>,
    pub completion: Option<Completion>,
    pub rejections: Rejections,
    pub attestations: Vec<Attestation>,
    /// What the last holder left for the next one.
    pub note: Option<String>,
    pub evidence: Vec<EvidenceId>,
    pub created_at: Stamp,
    pub updated_at: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Open,
    Claimed,
    Blocked,
    Finished,
    Cancelled,
}

impl TaskStatus {
    pub const fn name(self) -> &'static str {
        match self {
            TaskStatus::Open => "open",
            TaskStatus::Claimed => "claimed",
            TaskStatus::Blocked => "blocked",
            TaskStatus::Finished => "finished",
            TaskStatus::Cancelled => "cancelled",
        }
    }

    pub const fn is_over(self) -> bool {
        matches!(self, TaskStatus::Finished | TaskStatus::Cancelled)
    }
}

/// An exclusive lease on a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub agent: AgentName,
    /// `null` while the claim waits for the agent it was handed to.
    pub session: Option<SessionId>,
    pub fence: u64,
    pub since: Stamp,
    pub until: Stamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    pub reason: String,
    /// What a person is asked; open until `task.unblock` answers it.
    pub question: Option<String>,
    pub since: Stamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Completion {
    pub summary: String,
    pub fence: u64,
    pub at: Stamp,
}

impl Task {
    /// The claim's session, if the lease has not run out at `now`.
    pub fn live_claim(&self, now: Stamp) -> Option<&Claim> {
        self.claim.as_ref().filter(|claim| claim.until > now)
    }

    fn derived_status(&self) -> TaskStatus {
        match (self.status.is_over(), &self.block, &self.claim) {
            (true, _, _) => self.status,
            (false, Some(_), _) => TaskStatus::Blocked,
            (false, None, Some(_)) => TaskStatus::Claimed,
            (false, None, None) => TaskStatus::Open,
        }
    }

    /// A fence is given once. Whoever comes second with one, from another clone's ledger, lost the race.
    fn take(&mut self, agent: &AgentName, session: Option<&SessionId>, fence: u64, until: Stamp, meta: &Meta) {
        if fence <= self.fence {
            return;
        }
        self.fence = fence;
        self.claim = Some(Claim { agent: agent.clone(), session: session.cloned(), fence, since: meta.at, until });
        self.completion = None;
    }

    /// Whether an event under `fence` speaks for the claim that stands: two clones may have given the same fence, and
    /// then the session tells them apart. A person, who has no session, speaks for any.
    fn is_holders(&self, fence: u64, meta: &Meta) -> bool {
        self.claim.as_ref().is_some_and(|claim| {
            let same = |session: &SessionId| claim.session.as_ref() == Some(session);
            claim.fence == fence && (claim.session.is_none() || meta.caller.session.as_ref().is_none_or(same))
        })
    }
}

impl Entity for Task {
    type Event = TaskEvent;
    type Id = TaskId;
    const KIND: Kind = Kind::Task;

    fn blank(id: TaskId) -> Self {
        Self {
            id,
            title: String::new(),
            status: TaskStatus::Open,
            priority: 2,
            contract: Contract::default(),
            contract_digest: Contract::default().digest(),
            terms: Terms::default(),
            needs: Vec::new(),
            paths: Vec::new(),
            labels: Vec::new(),
            parent: None,
            children: Vec::new(),
            commitment: None,
            claim: None,
            fence: 0,
            block: None,
            completion: None,
            rejections: Rejections::default(),
            attestations: Vec::new(),
            note: None,
            evidence: Vec::new(),
            created_at: Stamp(0),
            updated_at: Stamp(0),
        }
    }

    fn apply(mut self, event: &TaskEvent, meta: &Meta) -> Self {
        match event {
            TaskEvent::Created { title, contract, priority, needs, paths, labels, parent, commitment } => {
                self.title.clone_from(title);
                self.terms.written(contract, meta);
                self.contract_digest = contract.digest();
                self.contract = contract.clone();
                self.priority = *priority;
                self.needs.clone_from(needs);
                self.paths.clone_from(paths);
                self.labels.clone_from(labels);
                self.parent.clone_from(parent);
                self.commitment.clone_from(commitment);
                self.created_at = meta.at;
            }
            TaskEvent::Updated { title, priority, needs, paths, labels } => {
                set(&mut self.title, title);
                set(&mut self.priority, priority);
                set(&mut self.needs, needs);
                set(&mut self.paths, paths);
                set(&mut self.labels, labels);
            }
            TaskEvent::Decomposed { children } => self.children.extend(children.iter().cloned()),
            TaskEvent::Claimed { session, agent, fence, until } => {
                self.take(agent, Some(session), *fence, *until, meta)
            }
            TaskEvent::TakenOver { session, agent, fence, until, from: _, reason: _ } => {
                self.take(agent, Some(session), *fence, *until, meta);
            }
            TaskEvent::HandedOff { agent, session, fence, until, note } => {
                if *fence > self.fence {
                    self.note.clone_from(note);
                }
                self.take(agent, session.as_ref(), *fence, *until, meta);
            }
            TaskEvent::ClaimRenewed { fence, until } => {
                if self.is_holders(*fence, meta)
                    && let Some(claim) = self.claim.as_mut()
                {
                    claim.until = *until;
                }
            }
            TaskEvent::ClaimEnded { fence, how: _, note } => {
                if self.is_holders(*fence, meta) {
                    self.claim = None;
                    if note.is_some() {
                        self.note.clone_from(note);
                    }
                }
            }
            TaskEvent::Blocked { reason, question } => {
                self.block = Some(Block { reason: reason.clone(), question: question.clone(), since: meta.at });
            }
            TaskEvent::Unblocked { note } => {
                self.block = None;
                self.note = Some(note.clone());
                // A person who answers lets the work begin anew.
                if meta.caller.is_person() {
                    self.rejections = Rejections::default();
                }
            }
            TaskEvent::CompletionClaimed { fence, summary } => {
                if self.is_holders(*fence, meta) {
                    self.completion = Some(Completion { summary: summary.clone(), fence: *fence, at: meta.at });
                }
            }
            TaskEvent::FinalizationRejected { fence, unmet, basis, bases, turn } => {
                let turn = turn.as_deref();
                self.rejections.count(&Refused { fence: *fence, unmet, basis, bases, turn, at: meta.at });
            }
            TaskEvent::FinalizationExhausted { fence: _, unmet: _, attempts: _ } => {
                self.rejections.exhausted = Some(meta.at);
            }
            // The first end stands: a second one can only come from another clone's ledger.
            TaskEvent::Finished { fence: _, evidence, contract_digest: _ } if !self.status.is_over() => {
                self.status = TaskStatus::Finished;
                self.evidence.clone_from(evidence);
            }
            TaskEvent::Cancelled { reason } if !self.status.is_over() => {
                self.status = TaskStatus::Cancelled;
                self.note = Some(reason.clone());
            }
            TaskEvent::Finished { .. } | TaskEvent::Cancelled { .. } => {}
            TaskEvent::Attested { attestation } => self.attestations.push(attestation.clone()),
            TaskEvent::ContractAmended { contract, reason } => {
                self.terms.amended(&self.contract, contract, reason, meta);
                self.contract_digest = contract.digest();
                self.contract = contract.clone();
            }
            TaskEvent::CriterionWaived { waiver } => self.terms.waivers.push(waiver.clone()),
        }
        self.updated_at = meta.at;
        self.status = self.derived_status();
        self
    }

    fn index(&self) -> Index {
        let needs = self.needs.iter().map(|id| Link { rel: Rel::Needs, target: id.to_string() });
        let labels = self.labels.iter().map(|label| Link { rel: Rel::Label, target: label.clone() });
        let commitment = self.commitment.iter().map(|id| Link { rel: Rel::Commitment, target: id.to_string() });
        Index {
            status: self.status.name(),
            owner: self.claim.as_ref().and_then(|claim| claim.session.as_ref()).map(ToString::to_string),
            parent: self.parent.as_ref().map(ToString::to_string),
            name: None,
            // Most urgent first, then oldest first: 44 bits of milliseconds last until the year 2527.
            rank: (i64::from(self.priority) << 44) + self.created_at.ms().clamp(0, (1 << 44) - 1),
            until: self.claim.as_ref().map(|claim| claim.until.ms()),
            links: needs.chain(labels).chain(commitment).collect(),
        }
    }
}

fn set<T: Clone>(place: &mut T, value: &Option<T>) {
    if let Some(value) = value {
        place.clone_from(value);
    }
}
