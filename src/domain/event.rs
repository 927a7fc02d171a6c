//! Events: whole facts in the past tense, and how they are spelled in the ledger.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::caller::Caller;
use super::commitment::CommitmentEvent;
use super::digest::{Digest, Fields};
use super::finding::FindingEvent;
use super::fold::Stream;
use super::id::EventId;
use super::publication::PublicationEvent;
use super::root::RootEvent;
use super::run::RunEvent;
use super::session::SessionEvent;
use super::stagnation::ActionEvent;
use super::stamp::Stamp;
use super::supervision::FailureEvent;
use super::task::TaskEvent;
use super::workspace::WorkspaceEvent;

/// Every fact that can be recorded. The family is told by the first part of the event's type.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Event {
    Root(RootEvent),
    Session(SessionEvent),
    Task(TaskEvent),
    Commitment(CommitmentEvent),
    Workspace(WorkspaceEvent),
    Run(RunEvent),
    Publication(PublicationEvent),
    Failure(FailureEvent),
    Finding(FindingEvent),
    Action(ActionEvent),
}

macro_rules! from_family {
    ($($family:ident($event:ty)),*) => {$(
        impl From<$event> for Event {
            fn from(event: $event) -> Self {
                Event::$family(event)
            }
        }
    )*};
}

from_family!(
    Root(RootEvent),
    Session(SessionEvent),
    Task(TaskEvent),
    Commitment(CommitmentEvent),
    Workspace(WorkspaceEvent),
    Run(RunEvent),
    Publication(PublicationEvent),
    Failure(FailureEvent),
    Finding(FindingEvent),
    Action(ActionEvent)
);

impl Event {
    /// Wraps an event of any family.
    pub fn from_family<T: Into<Event>>(event: T) -> Self {
        event.into()
    }
}

/// An event as it is written: its type, the version of that type, and its body as JSON bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelled {
    pub type_name: String,
    pub version: u32,
    pub body: Vec<u8>,
}

/// Why a stored event has no meaning to this kctl.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventFault {
    /// Written by a newer kctl. Kept and skipped.
    #[error("`{type_name}` version {version} is not known to this kctl")]
    Unknown { type_name: String, version: u32 },
    #[error("the body of a `{type_name}` event cannot be read: {why}")]
    Bad { type_name: String, why: String },
}

impl Event {
    pub fn type_name(&self) -> String {
        self.spell().type_name
    }

    pub fn spell(&self) -> Spelled {
        let value = match self {
            Event::Root(event) => serde_json::to_value(event),
            Event::Session(event) => serde_json::to_value(event),
            Event::Task(event) => serde_json::to_value(event),
            Event::Commitment(event) => serde_json::to_value(event),
            Event::Workspace(event) => serde_json::to_value(event),
            Event::Run(event) => serde_json::to_value(event),
            Event::Publication(event) => serde_json::to_value(event),
            Event::Failure(event) => serde_json::to_value(event),
            Event::Finding(event) => serde_json::to_value(event),
            Event::Action(event) => serde_json::to_value(event),
        }
        .expect("an event always serialises");
        let type_name = value["type"].as_str().expect("every family is tagged by `type`").to_owned();
        let body = serde_json::to_vec(&value["body"]).expect("a JSON value always serialises");
        Spelled { version: current_version(&type_name), type_name, body }
    }

    /// Reads a stored event, lifting known old versions to the current one.
    ///
    /// # Errors
    /// `Unknown` for a type or version that only a newer kctl knows, `Bad` for a body that does not fit its type.
    pub fn read(type_name: &str, version: u32, body: &[u8]) -> Result<Self, EventFault> {
        Self::read_with(LIFTS, type_name, version, body)
    }

    fn read_with(lifts: &[Lift], type_name: &str, version: u32, body: &[u8]) -> Result<Self, EventFault> {
        let bad = |why: String| EventFault::Bad { type_name: type_name.to_owned(), why };
        let unknown = || EventFault::Unknown { type_name: type_name.to_owned(), version };
        if version == 0 {
            return Err(bad("versions begin at 1".to_owned()));
        }
        if version > current_version_with(lifts, type_name) {
            return Err(unknown());
        }
        let body: Value = serde_json::from_slice(body).map_err(|fault| bad(fault.to_string()))?;
        let body = lift(lifts, type_name, version, body);
        let family = type_name.split('.').next().unwrap_or_default();
        let tagged = json!({ "type": type_name, "body": body });
        let read = match family {
            "root" => serde_json::from_value(tagged).map(Event::Root),
            "session" => serde_json::from_value(tagged).map(Event::Session),
            "task" => serde_json::from_value(tagged).map(Event::Task),
            "commit" => serde_json::from_value(tagged).map(Event::Commitment),
            "workspace" => serde_json::from_value(tagged).map(Event::Workspace),
            "run" => serde_json::from_value(tagged).map(Event::Run),
            "publish" => serde_json::from_value(tagged).map(Event::Publication),
            "failure" => serde_json::from_value(tagged).map(Event::Failure),
            "finding" => serde_json::from_value(tagged).map(Event::Finding),
            "action" => serde_json::from_value(tagged).map(Event::Action),
            _ => return Err(unknown()),
        };
        match read {
            Ok(event) => Ok(event),
            // Only the type itself may be unknown. An unknown value inside a known body is a bad body: a newer kctl
            // that adds one writes a newer version, and folding half of a fact would be a guess.
            Err(fault) if fault.to_string().starts_with(&format!("unknown variant `{type_name}`")) => Err(unknown()),
            Err(fault) => Err(bad(fault.to_string())),
        }
    }
}

/// Lifts the body of `type_name` from version `from` to `from + 1`.
pub struct Lift {
    pub type_name: &'static str,
    pub from: u32,
    pub lift: fn(Value) -> Value,
}

/// Every lift there is. A changed event adds one here and keeps the old golden file.
pub const LIFTS: &[Lift] = &[
    // Later versions only hold what earlier ones could not say: kinds of criteria, limits, what was handed in.
    same("task.created", 1),
    same("commit.opened", 1),
    same("run.ended", 1),
    same("task.finalization_rejected", 1),
    // A host may have seen the attempt, and not kctl.
    same("failure.observed", 1),
];

/// A version that only adds: every body of the one before it is one of it.
const fn same(type_name: &'static str, from: u32) -> Lift {
    Lift { type_name, from, lift: std::convert::identity }
}

fn lift(lifts: &[Lift], type_name: &str, from: u32, body: Value) -> Value {
    let next = lifts.iter().find(|lift| lift.type_name == type_name && lift.from == from);
    match next {
        Some(step) => lift(lifts, type_name, from + 1, (step.lift)(body)),
        None => body,
    }
}

/// The version in which `type_name` is written today: 1, and one more for each lift.
pub fn current_version(type_name: &str) -> u32 {
    current_version_with(LIFTS, type_name)
}

fn current_version_with(lifts: &[Lift], type_name: &str) -> u32 {
    lifts.iter().filter(|lift| lift.type_name == type_name).map(|lift| lift.from + 1).max().unwrap_or(1)
}

/// What a fold may know of an event beside its body.
#[derive(Clone, Debug)]
pub struct Meta {
    pub at: Stamp,
    pub caller: Caller,
}

/// An event to be appended: to which stream, and how many events that stream was seen to have.
#[derive(Clone, Debug)]
pub struct Draft {
    pub id: EventId,
    pub stream: Stream,
    pub expected: u64,
    pub at: Stamp,
    pub caller: Caller,
    pub event: Event,
}

/// An event as it stands in the ledger, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its place in this file; another clone's copy of it stands elsewhere.
    pub seq: u64,
    pub id: String,
    pub stream: String,
    /// How many events its stream had, this one included, where it was first recorded.
    pub ver: u64,
    pub type_name: String,
    pub version: u32,
    pub at: i64,
    pub caller: String,
    pub origin: String,
    pub oseq: u64,
    pub prev: String,
    pub body: Vec<u8>,
    pub seal: String,
}

impl Recorded {
    /// The order in which the events of one stream fold, wherever and whenever they arrived (DESIGN §4).
    pub fn order(&self) -> (i64, &str, u64) {
        (self.at, &self.origin, self.oseq)
    }

    /// The seal that these stored bytes should have: over the previous seal of the same origin, every header
    /// field, and the body as stored, never a re-encoding.
    pub fn computed_seal(&self) -> Digest {
        let mut fields = Fields::new();
        for field in [&self.prev, &self.id, &self.stream, &self.type_name, &self.caller, &self.origin] {
            fields.push(field.as_bytes());
        }
        fields.push(&self.ver.to_le_bytes()).push(&self.version.to_le_bytes()).push(&self.at.to_le_bytes());
        fields.push(&self.oseq.to_le_bytes()).push(&self.body).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENAMED: &[Lift] = &[Lift {
        type_name: "session.renewed",
        from: 1,
        lift: |mut body| {
            if let Some(until) = body.get("expires").cloned() {
                body = json!({ "until": until });
            }
            body
        },
    }];

    #[test]
    fn an_old_version_is_lifted_and_a_newer_one_is_kept_aside() {
        let old = Event::read_with(RENAMED, "session.renewed", 1, br#"{"expires":"2026-01-01T00:00:00Z"}"#);
        let until = Stamp::from_ms(1_767_225_600_000);
        assert_eq!(old, Ok(Event::Session(SessionEvent::Renewed { until })));
        let newer = Event::read("session.renewed", 7, br#"{"until":"2026-01-01T00:00:00Z"}"#);
        assert!(matches!(newer, Err(EventFault::Unknown { version: 7, .. })));
    }

    #[test]
    fn an_unknown_type_is_not_a_bad_one() {
        for type_name in ["task.teleported", "moon.landed", ""] {
            assert!(matches!(Event::read(type_name, 1, b"{}"), Err(EventFault::Unknown { .. })), "{type_name}");
        }
        assert!(matches!(Event::read("session.renewed", 1, b"{}"), Err(EventFault::Bad { .. })));
        assert!(matches!(Event::read("session.renewed", 1, b"\xff"), Err(EventFault::Bad { .. })));
        assert!(matches!(Event::read("session.renewed", 0, b"{}"), Err(EventFault::Bad { .. })));
    }

    #[test]
    fn a_newer_version_is_unknown_whatever_its_body_became() {
        for body in [&b"{}"[..], b"\xff", b"[1,2]", br#"{"until":7}"#] {
            assert!(matches!(Event::read("session.renewed", 2, body), Err(EventFault::Unknown { .. })), "{body:?}");
        }
    }

    #[test]
    fn an_added_field_is_passed_over_and_an_unknown_value_makes_the_body_bad() {
        let added = br#"{"until":"2026-01-01T00:00:00Z","colour":"red"}"#;
        assert!(Event::read("session.renewed", 1, added).is_ok());
        let value = br#"{"fence":1,"how":"abducted","note":null}"#;
        assert!(matches!(Event::read("task.claim_ended", 1, value), Err(EventFault::Bad { .. })));
    }
}
