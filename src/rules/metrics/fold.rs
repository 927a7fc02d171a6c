//! One event after the other.

use std::collections::BTreeSet;

use super::{Metric, Metrics, Past, Series};
use crate::domain::caller::Caller;
use crate::domain::commitment::{Closing, CommitmentEvent};
use crate::domain::event::{Event, EventFault, Recorded};
use crate::domain::publication::PublicationEvent;
use crate::domain::refusal::{Category, Code};
use crate::domain::run::{Record, RunEvent, Subject, Verdict};
use crate::domain::session::SessionEvent;
use crate::domain::stagnation::ActionEvent;
use crate::domain::supervision::FailureEvent;
use crate::domain::task::TaskEvent;

/// Who it was, where the ledger has no name. No agent can be called so.
const PERSON: &str = "(person)";
const NOBODY: &str = "(unknown)";

/// The gate of a task, of a commitment and of publication.
const FINISH: &str = "task.finish";
const CLOSE: &str = "commit.close";
const PUBLISH: &str = "publish";

/// What a host's Stop hook asks. A turn that is held is no task that was to be finished.
pub(super) const TURN: &str = "turn.end";

/// The event that is being counted.
struct Counted<'e> {
    recorded: &'e Recorded,
    host: String,
    agent: String,
}

impl Counted<'_> {
    /// The id of the thing that its stream is about.
    fn id(&self) -> &str {
        self.recorded.stream.split_once(':').map_or(self.recorded.stream.as_str(), |(_, id)| id)
    }
}

impl Metrics {
    /// Takes one more event. It is total: what cannot be read is counted as that.
    pub fn take(&mut self, recorded: &Recorded, past: &dyn Past) {
        self.events += 1;
        let Ok(caller) = serde_json::from_str::<Caller>(&recorded.caller) else {
            self.unreadable += 1;
            return;
        };
        let nobody = if caller.is_person() { PERSON } else { NOBODY };
        let agent = caller.agent.map_or_else(|| nobody.to_owned(), |agent| agent.as_str().to_owned());
        let on = Counted { recorded, host: caller.host.unwrap_or_else(|| NOBODY.to_owned()), agent };
        match Event::read(&recorded.type_name, recorded.version, &recorded.body) {
            Ok(event) => {
                self.add(&on, Metric::Events, &[&recorded.type_name]);
                self.event(&on, &event, past);
            }
            Err(EventFault::Unknown { .. }) => *self.unknown.entry(recorded.type_name.clone()).or_default() += 1,
            Err(EventFault::Bad { .. }) => self.unreadable += 1,
        }
    }

    fn add(&mut self, on: &Counted<'_>, metric: Metric, values: &[&str]) {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        let series = Series { metric, host: on.host.clone(), agent: on.agent.clone(), values };
        *self.series.entry(series).or_default() += 1;
    }

    fn event(&mut self, on: &Counted<'_>, event: &Event, past: &dyn Past) {
        match event {
            Event::Session(SessionEvent::Refused { op, code, .. }) => self.refused(on, op, code),
            Event::Task(event) => self.task(on, event, past),
            Event::Run(RunEvent::Started { subject, .. }) => {
                self.begun.insert(on.id().to_owned(), subject.clone());
            }
            Event::Run(RunEvent::Ended { record }) => {
                let subject = self.begun.remove(on.id()).or_else(|| past.subject(on.id()));
                self.ran(on, subject.as_ref(), record);
            }
            Event::Publication(event) => self.published(on, event),
            Event::Failure(FailureEvent::Regrounded { .. }) => self.add(on, Metric::Regrounds, &[]),
            Event::Failure(FailureEvent::TicketOpened { gate, .. }) => {
                self.add(on, Metric::Tickets, &[&gate.to_string()]);
            }
            Event::Commitment(CommitmentEvent::Closed { verdict: Closing::Fulfilled, .. }) => {
                self.add(on, Metric::Finalizations, &[CLOSE, "accepted"]);
            }
            // What attempts looked like is told by their runs.
            Event::Failure(FailureEvent::Observed { .. }) | Event::Run(RunEvent::Accepted { .. }) => {}
            Event::Action(ActionEvent::Observed { observation }) => {
                let outcome = match observation.exit {
                    None => "unknown",
                    Some(0) => "passed",
                    Some(_) => "failed",
                };
                self.add(on, Metric::Observed, &[observation.capability.name(), outcome]);
            }
            Event::Commitment(_) | Event::Root(_) | Event::Session(_) | Event::Workspace(_) | Event::Finding(_) => {}
        }
    }

    fn refused(&mut self, on: &Counted<'_>, op: &str, code: &str) {
        self.add(on, Metric::Refused, &[op, code]);
        let category = Code::ALL.iter().find(|known| known.name() == code).map(|known| known.category());
        let by_gate = matches!(
            category,
            Some(Category::Completion | Category::Verification | Category::Publication | Category::Boundary)
        );
        if by_gate && [CLOSE, PUBLISH].contains(&op) {
            self.add(on, Metric::Finalizations, &[op, "rejected"]);
        }
    }

    fn task(&mut self, on: &Counted<'_>, event: &TaskEvent, past: &dyn Past) {
        let what = match event {
            TaskEvent::Created { .. } => "created",
            TaskEvent::Claimed { .. } => "claimed",
            TaskEvent::HandedOff { .. } => "handed_off",
            TaskEvent::TakenOver { .. } => "taken_over",
            TaskEvent::Blocked { .. } => "blocked",
            TaskEvent::Cancelled { .. } => "cancelled",
            TaskEvent::CompletionClaimed { .. } => {
                self.claim(on, past);
                "completion_claimed"
            }
            TaskEvent::FinalizationRejected { unmet, turn, .. } => {
                // Nobody called to finish it: the host said that a turn ends, and was answered.
                let gate = if turn.is_some() { TURN } else { FINISH };
                if gate == FINISH {
                    self.add(on, Metric::Refused, &[FINISH, Code::FINALIZATION_REJECTED.name()]);
                }
                self.add(on, Metric::Finalizations, &[gate, "rejected"]);
                let unmet: BTreeSet<String> = unmet.iter().map(|id| id.as_str().to_owned()).collect();
                let in_one_call = self.claimed.get(on.id()).is_some_and(|ver| ver + 1 == on.recorded.ver);
                if !in_one_call && self.failing(on.id(), |name| unmet.contains(name)) {
                    self.add(on, Metric::FalseSuccess, &[gate]);
                }
                return;
            }
            TaskEvent::Finished { .. } => {
                self.add(on, Metric::Finalizations, &[FINISH, "accepted"]);
                "completed"
            }
            _ => return,
        };
        self.add(on, Metric::Tasks, &[what]);
    }

    /// The agent says that a task is done. What fails then, and is required, makes that a false success.
    fn claim(&mut self, on: &Counted<'_>, past: &dyn Past) {
        if !self.verdicts.contains_key(on.id()) {
            return;
        }
        // A task without criteria of its own is held to checks.
        let required = past.required(on.id());
        if self.failing(on.id(), |name| required.is_empty() || required.contains(name)) {
            self.add(on, Metric::FalseSuccess, &["task.complete"]);
            self.claimed.insert(on.id().to_owned(), on.recorded.ver);
        }
    }

    fn failing(&self, task: &str, counts: impl Fn(&str) -> bool) -> bool {
        let verdicts = self.verdicts.get(task).into_iter().flatten();
        verdicts.filter(|(_, verdict)| **verdict == Verdict::Fail).any(|(name, _)| counts(name))
    }

    fn ran(&mut self, on: &Counted<'_>, subject: Option<&Subject>, record: &Record) {
        let named = subject.and_then(|subject| subject.key.strip_prefix("check:"));
        let check = match (named, subject, &record.handed_in) {
            (Some(name), ..) => name,
            (None, _, Some(_)) => "(handed in)",
            (None, Some(_), None) => "(proof)",
            (None, None, None) => NOBODY,
        };
        self.add(on, Metric::Verifications, &[check, record.verdict.name()]);
        let Some(subject) = subject else { return };
        let result = match record.verdict {
            Verdict::Pass => "passed",
            Verdict::Fail => "failed",
            Verdict::Error | Verdict::Unavailable | Verdict::Skipped => "undecided",
        };
        for _ in &subject.criteria {
            self.add(on, Metric::Criteria, &[check, result]);
        }
        if let Some(task) = &subject.task {
            let of_task = self.verdicts.entry(task.to_string()).or_default();
            let criteria = subject.criteria.iter().map(|id| id.as_str().to_owned());
            for name in criteria.chain(named.map(str::to_owned)) {
                of_task.insert(name, record.verdict);
            }
        }
        if named.is_some() {
            let took_ms = record.ended.ms().saturating_sub(record.started.ms()).max(0);
            self.durations.entry(check.to_owned()).or_default().push(took_ms);
        }
    }

    fn published(&mut self, on: &Counted<'_>, event: &PublicationEvent) {
        match event {
            PublicationEvent::Started { .. } => {
                self.add(on, Metric::Finalizations, &[PUBLISH, "accepted"]);
                self.add(on, Metric::Publications, &["started", ""]);
            }
            PublicationEvent::Done { .. } => self.add(on, Metric::Publications, &["done", ""]),
            PublicationEvent::Failed { code, .. } => {
                self.add(on, Metric::Refused, &[PUBLISH, code]);
                self.add(on, Metric::Publications, &["failed", code]);
            }
        }
    }
}
