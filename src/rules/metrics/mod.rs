//! What the ledger says was done, and how it went: one fold over recorded events, oldest first. It counts; it judges
//! nothing again.

mod exposition;
mod fold;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain::run::{Subject, Verdict};

pub use exposition::exposition;
pub use tables::{AgentRow, CheckRow, GateRow, NOTES, NamedCount, RefusalRow, Totals};

/// What is counted, and by which labels beside host and agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    Events,
    Observed,
    Refused,
    Verifications,
    Criteria,
    Finalizations,
    FalseSuccess,
    Regrounds,
    Tickets,
    Tasks,
    Publications,
}

impl Metric {
    pub const ALL: [Metric; 11] = [
        Metric::Events,
        Metric::Observed,
        Metric::Refused,
        Metric::Verifications,
        Metric::Criteria,
        Metric::Finalizations,
        Metric::FalseSuccess,
        Metric::Regrounds,
        Metric::Tickets,
        Metric::Tasks,
        Metric::Publications,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Metric::Events => "events",
            Metric::Observed => "tools_observed",
            Metric::Refused => "actions_refused",
            Metric::Verifications => "verifications",
            Metric::Criteria => "criteria",
            Metric::Finalizations => "finalizations",
            Metric::FalseSuccess => "false_success",
            Metric::Regrounds => "regrounds",
            Metric::Tickets => "tickets",
            Metric::Tasks => "tasks",
            Metric::Publications => "publications",
        }
    }

    pub const fn about(self) -> &'static str {
        match self {
            Metric::Events => "Events that were recorded.",
            Metric::Observed => "Tools that a host reported; failed is an exit status other than 0.",
            Metric::Refused => "Calls of a session that were to change something and were refused.",
            Metric::Verifications => "Runs of checks and look-ups of proofs that ended.",
            Metric::Criteria => "Criteria that such a run spoke for.",
            Metric::Finalizations => "Answers of the gates.",
            Metric::FalseSuccess => {
                "Completions claimed or asked for, and turns ended, while a required criterion was failing."
            }
            Metric::Regrounds => "Times that an agent was told what is known already.",
            Metric::Tickets => "Recovery tickets that were opened.",
            Metric::Tasks => "What became of tasks.",
            Metric::Publications => "Publications.",
        }
    }

    /// The labels beside `host` and `agent`.
    pub const fn labels(self) -> &'static [&'static str] {
        match self {
            Metric::Events => &["type"],
            Metric::Observed => &["capability", "outcome"],
            Metric::Refused => &["op", "code"],
            Metric::Verifications => &["check", "verdict"],
            Metric::Criteria => &["check", "result"],
            Metric::Finalizations => &["gate", "answer"],
            Metric::Regrounds => &[],
            Metric::FalseSuccess | Metric::Tickets => &["gate"],
            Metric::Tasks => &["what"],
            Metric::Publications => &["what", "code"],
        }
    }
}

/// One counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    pub metric: Metric,
    pub host: String,
    pub agent: String,
    /// The values of [`Metric::labels`].
    pub values: Vec<String>,
}

/// What stood before the window began, where an event of the window builds on it.
pub trait Past {
    /// What the run with this id is about.
    fn subject(&self, run: &str) -> Option<Subject>;

    /// The required criteria of a task.
    fn required(&self, task: &str) -> BTreeSet<String>;
}

/// Everything that was counted so far.
#[derive(Debug, Default)]
pub struct Metrics {
    pub events: u64,
    /// Events of types or versions that only a newer kctl knows.
    pub unknown: BTreeMap<String, u64>,
    /// Events that cannot be read at all.
    pub unreadable: u64,
    pub series: BTreeMap<Series, u64>,
    /// How long the runs of each check took, in milliseconds.
    durations: BTreeMap<String, Vec<i64>>,
    /// What the runs that began in the window are about, until they end.
    begun: HashMap<String, Subject>,
    /// The last verdicts of a task's criteria and checks.
    verdicts: HashMap<String, BTreeMap<String, Verdict>>,
    /// The last false claim of each task: the rejection that belongs to the same call is no second one.
    claimed: HashMap<String, u64>,
}

/// The value at `percent` of `sorted`, by the nearest rank.
pub fn percentile(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}
