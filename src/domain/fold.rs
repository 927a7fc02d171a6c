//! How events become state (I2): one fold per kind of stream, total on every input.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::event::{Event, Meta};

/// The version of the folds. A changed fold gets a new one, and every ledger's state is dropped and replayed.
pub const FOLD_VERSION: i64 = 5;

/// A kind of aggregate. Its name is the first part of a stream's name and the `kind` of a state row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Root,
    Session,
    Task,
    Commitment,
    Workspace,
    Run,
    Publication,
    Failure,
    Finding,
    Action,
}

impl Kind {
    pub const ALL: [Kind; 10] = [
        Kind::Root,
        Kind::Session,
        Kind::Task,
        Kind::Commitment,
        Kind::Workspace,
        Kind::Run,
        Kind::Publication,
        Kind::Failure,
        Kind::Finding,
        Kind::Action,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Kind::Root => "root",
            Kind::Session => "session",
            Kind::Task => "task",
            Kind::Commitment => "commit",
            Kind::Workspace => "workspace",
            Kind::Run => "run",
            Kind::Publication => "publication",
            Kind::Failure => "failure",
            Kind::Finding => "finding",
            Kind::Action => "action",
        }
    }
}

/// The name of one aggregate's stream: `kind:id`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    pub kind: Kind,
    pub id: String,
}

impl Stream {
    pub fn new(kind: Kind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into() }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.id)
    }
}

impl FromStr for Stream {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, id) = text.split_once(':').ok_or_else(|| format!("`{text}` is not a stream: expected `kind:id`"))?;
        let kind = Kind::ALL
            .into_iter()
            .find(|known| known.name() == kind)
            .ok_or_else(|| format!("`{kind}` is not a kind of stream"))?;
        Ok(Self::new(kind, id))
    }
}

/// The few columns by which state rows are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    pub status: &'static str,
    pub owner: Option<String>,
    pub parent: Option<String>,
    pub name: Option<String>,
    /// Lower comes first.
    pub rank: i64,
    /// A lease's end, in milliseconds since the epoch.
    pub until: Option<i64>,
    pub links: Vec<Link>,
}

/// A named reference from one aggregate to another, or to a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub rel: Rel,
    pub target: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rel {
    Needs,
    Label,
    Commitment,
}

impl Rel {
    pub const fn name(self) -> &'static str {
        match self {
            Rel::Needs => "needs",
            Rel::Label => "label",
            Rel::Commitment => "commitment",
        }
    }
}

/// A thing that events fold into.
pub trait Entity: Serialize + DeserializeOwned {
    type Event: Serialize + DeserializeOwned + Into<Event>;
    type Id: AsId;
    const KIND: Kind;

    /// What is known before the first event. It exists so that a stream whose first event is lost still folds.
    fn blank(id: Self::Id) -> Self;

    /// Takes one recorded fact. Refuse before you append; never here.
    fn apply(self, event: &Self::Event, meta: &Meta) -> Self;

    fn index(&self) -> Index;
}

/// An id that can be spelled as a stream's.
pub trait AsId: Sized {
    fn from_stream(id: &str) -> Option<Self>;
    fn to_stream(&self) -> String;
}

macro_rules! as_id {
    ($($name:ty),*) => {$(
        impl AsId for $name {
            fn from_stream(id: &str) -> Option<Self> {
                id.parse().ok()
            }

            fn to_stream(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

as_id!(
    super::id::TaskId,
    super::id::CommitmentId,
    super::id::SessionId,
    super::id::EvidenceId,
    super::id::PublicationId,
    super::id::FindingId,
    super::id::OriginId
);

/// A folded state as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    pub body: Vec<u8>,
    pub index: Index,
}

/// Why an event cannot be folded. The row is quarantined and reported; it never takes the ledger down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FoldFault {
    #[error("the stream's id `{0}` is not one")]
    BadId(String),
    #[error("a `{event}` event stands in the stream `{stream}`")]
    WrongStream { event: String, stream: String },
    #[error("the stored state cannot be read: {0}")]
    BadState(String),
}

/// One aggregate between two events.
///
/// Each variant holds the state of the kind it is named for, so that an event meets only the fold it was made for.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    Root(Box<super::root::Root>),
    Session(Box<super::session::Session>),
    Task(Box<super::task::Task>),
    Commitment(Box<super::commitment::Commitment>),
    Workspace(Box<super::workspace::Workspace>),
    Run(Box<super::run::Run>),
    Publication(Box<super::publication::Publication>),
    Failure(Box<super::supervision::Supervision>),
    Finding(Box<super::finding::Finding>),
    Action(Box<super::stagnation::Stagnation>),
}

macro_rules! aggregates {
    ($($kind:ident),*) => {
        impl Aggregate {
            /// What is known of `stream` before its first event.
            ///
            /// # Errors
            /// When the stream's name does not hold an id of its kind.
            pub fn blank(stream: &Stream) -> Result<Self, FoldFault> {
                match stream.kind {
                    $(Kind::$kind => AsId::from_stream(&stream.id).map(|id| Self::$kind(Box::new(Entity::blank(id)))),)*
                }
                .ok_or_else(|| FoldFault::BadId(stream.id.clone()))
            }

            /// Reads the state of a `kind` as it was stored.
            ///
            /// # Errors
            /// When the bytes are not such a state.
            pub fn read(kind: Kind, body: &[u8]) -> Result<Self, FoldFault> {
                match kind {
                    $(Kind::$kind => serde_json::from_slice(body).map(Self::$kind),)*
                }
                .map_err(|fault| FoldFault::BadState(fault.to_string()))
            }

            /// Takes one event. One of another kind changes nothing; [`fold`] and `replay` refuse it before.
            #[must_use]
            pub fn apply(self, event: &Event, meta: &Meta) -> Self {
                match (self, event) {
                    $((Self::$kind(state), Event::$kind(event)) => Self::$kind(Box::new(state.apply(event, meta))),)*
                    (unmoved, _) => unmoved,
                }
            }

            /// The state as it is stored, and the columns it is found by.
            pub fn folded(&self) -> Folded {
                let (body, index) = match self {
                    $(Self::$kind(state) => (serde_json::to_vec(state), state.index()),)*
                };
                Folded { body: body.expect("a folded state always serialises"), index }
            }
        }

        impl Event {
            /// The kind of stream that this event belongs to.
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Event::$kind(_) => Kind::$kind,)*
                }
            }
        }
    };
}

aggregates!(Root, Session, Task, Commitment, Workspace, Run, Publication, Failure, Finding, Action);

/// Refuses an event that does not belong to `stream`.
///
/// # Errors
/// `WrongStream`.
pub fn refuse_stray(stream: &Stream, event: &Event) -> Result<(), FoldFault> {
    if event.kind() == stream.kind {
        return Ok(());
    }
    Err(FoldFault::WrongStream { event: event.type_name(), stream: stream.to_string() })
}

/// Folds one event into the stored state of its stream.
///
/// # Errors
/// When the stored state or the stream's name cannot be read, or the event belongs to another kind of stream.
pub fn fold(stream: &Stream, state: Option<&[u8]>, event: &Event, meta: &Meta) -> Result<Folded, FoldFault> {
    refuse_stray(stream, event)?;
    let before = match state {
        Some(body) => Aggregate::read(stream.kind, body)?,
        None => Aggregate::blank(stream)?,
    };
    Ok(before.apply(event, meta).folded())
}
