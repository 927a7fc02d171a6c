//! A session: an agent's period of custody.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::event::Meta;
use super::fold::{Entity, Index, Kind};
use super::id::{AgentName, SessionId};
use super::stamp::Stamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body")]
pub enum SessionEvent {
    #[serde(rename = "session.acquired")]
    Acquired {
        agent: AgentName,
        host: Option<String>,
        host_session: Option<String>,
        token_digest: Digest,
        until: Stamp,
    },
    #[serde(rename = "session.renewed")]
    Renewed { until: Stamp },
    #[serde(rename = "session.released")]
    Released {},
}

/// A session as the ledger knows it. The token itself is never stored, only its digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    pub id: SessionId,
    pub agent: Option<AgentName>,
    pub host: Option<String>,
    pub host_session: Option<String>,
    pub token_digest: Option<Digest>,
    pub acquired_at: Stamp,
    pub until: Stamp,
    pub released: bool,
}

impl Session {
    /// Whether the session still gives custody at `now`. Expiry is evaluated on read; nothing sweeps.
    pub fn is_live(&self, now: Stamp) -> bool {
        !self.released && self.until > now
    }
}

impl Entity for Session {
    type Event = SessionEvent;
    type Id = SessionId;
    const KIND: Kind = Kind::Session;

    fn blank(id: SessionId) -> Self {
        Self {
            id,
            agent: None,
            host: None,
            host_session: None,
            token_digest: None,
            acquired_at: Stamp(0),
            until: Stamp(0),
            released: false,
        }
    }

    fn apply(mut self, event: &SessionEvent, meta: &Meta) -> Self {
        match event {
            SessionEvent::Acquired { agent, host, host_session, token_digest, until } => {
                self.agent = Some(agent.clone());
                self.host.clone_from(host);
                self.host_session.clone_from(host_session);
                self.token_digest = Some(token_digest.clone());
                self.acquired_at = meta.at;
                self.until = *until;
            }
            SessionEvent::Renewed { until } => self.until = *until,
            SessionEvent::Released {} => self.released = true,
        }
        self
    }

    fn index(&self) -> Index {
        Index {
            status: if self.released { "released" } else { "open" },
            name: self.agent.as_ref().map(ToString::to_string),
            until: Some(self.until.ms()),
            rank: self.acquired_at.ms().saturating_neg(),
            ..Index::default()
        }
    }
}
