//! Supervision of a task's attempts: what keeps failing, how often, and what waits for somebody with other means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Meta;
use super::failure::{Attempt, Covered, Gate, Item, Lineages, Step};
use super::fold::{Entity, Index, Kind};
use super::id::{EvidenceId, TaskId, TicketId};
use super::stamp::Stamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body")]
pub enum FailureEvent {
    #[serde(rename = "failure.observed")]
    Observed { attempt: Box<Observed> },
    /// What is known was laid out before whoever tries.
    #[serde(rename = "failure.regrounded")]
    Regrounded { lineage: u64 },
    #[serde(rename = "failure.ticket_opened")]
    TicketOpened {
        ticket: TicketId,
        gate: Gate,
        lineage: Option<u64>,
        capability: String,
        evidence: Option<EvidenceId>,
    },
}

/// One attempt at a gate, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// The run of kctl's own. None where a host says that it saw the attempt, which is no evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<EvidenceId>,
    /// The host's id of the call that it saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    pub gate: Gate,
    pub passed: bool,
    pub items: Vec<Item>,
    pub signature: String,
    /// The check's place in the order in which checks are run.
    pub stage: Option<u32>,
    pub command: Option<String>,
    pub changed_paths: Vec<String>,
    /// Digest of the inputs.
    pub inputs: Option<String>,
}

/// A gate that the one who works cannot pass. It closes when that gate passes, and by nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ticket {
    pub ticket: TicketId,
    pub gate: Gate,
    pub lineage: Option<u64>,
    /// What it takes, in words.
    pub capability: String,
    pub evidence: Option<EvidenceId>,
    pub opened_at: Stamp,
    pub closed: Option<TicketClosed>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TicketClosed {
    /// The run that passed the gate.
    pub run: EvidenceId,
    pub at: Stamp,
}

/// How many tickets of one task are kept; the oldest closed one goes first.
const MAX_TICKETS: usize = 64;

/// The attempts at one task's gates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Supervision {
    pub task: TaskId,
    pub lineages: Lineages,
    /// What the last attempt meant.
    pub last: Option<Step>,
    pub tickets: Vec<Ticket>,
    pub regrounds: u32,
    pub updated_at: Stamp,
}

impl Supervision {
    /// The open ticket for `gate`.
    pub fn open_ticket(&self, gate: &Gate) -> Option<&Ticket> {
        self.tickets.iter().find(|ticket| ticket.closed.is_none() && ticket.gate == *gate)
    }

    fn observe(&mut self, observed: &Observed, meta: &Meta) {
        let step = self.lineages.observe(&Attempt {
            gate: &observed.gate,
            passed: observed.passed,
            items: &observed.items,
            signature: &observed.signature,
            covered: &Covered::Gate,
            stage: observed.stage,
            command: observed.command.as_deref(),
            changed_paths: &observed.changed_paths,
            inputs: observed.inputs.as_deref(),
        });
        self.last = Some(step);
        // Only what kctl saw pass closes a ticket.
        if let Some(run) = observed.run.as_ref().filter(|_| observed.passed) {
            let passed = |ticket: &&mut Ticket| ticket.closed.is_none() && ticket.gate == observed.gate;
            for ticket in self.tickets.iter_mut().filter(passed) {
                ticket.closed = Some(TicketClosed { run: run.clone(), at: meta.at });
            }
        }
    }

    fn open(&mut self, ticket: Ticket) {
        if self.tickets.len() >= MAX_TICKETS {
            let oldest = self.tickets.iter().position(|ticket| ticket.closed.is_some()).unwrap_or(0);
            self.tickets.remove(oldest);
        }
        self.tickets.push(ticket);
    }
}

impl Entity for Supervision {
    type Event = FailureEvent;
    type Id = TaskId;
    const KIND: Kind = Kind::Failure;

    fn blank(task: TaskId) -> Self {
        Self {
            task,
            lineages: Lineages::default(),
            last: None,
            tickets: Vec::new(),
            regrounds: 0,
            updated_at: Stamp(0),
        }
    }

    fn apply(mut self, event: &FailureEvent, meta: &Meta) -> Self {
        match event {
            FailureEvent::Observed { attempt } => self.observe(attempt, meta),
            FailureEvent::Regrounded { lineage: _ } => self.regrounds = self.regrounds.saturating_add(1),
            FailureEvent::TicketOpened { ticket, gate, lineage, capability, evidence } => self.open(Ticket {
                ticket: ticket.clone(),
                gate: gate.clone(),
                lineage: *lineage,
                capability: capability.clone(),
                evidence: evidence.clone(),
                opened_at: meta.at,
                closed: None,
            }),
        }
        self.updated_at = meta.at;
        self
    }

    fn index(&self) -> Index {
        let waits = self.tickets.iter().any(|ticket| ticket.closed.is_none());
        let fails = !self.lineages.open_ids().is_empty();
        Index {
            status: if waits {
                "ticket"
            } else if fails {
                "failing"
            } else {
                "clear"
            },
            parent: Some(self.task.to_string()),
            rank: self.updated_at.ms().saturating_neg(),
            ..Index::default()
        }
    }
}
