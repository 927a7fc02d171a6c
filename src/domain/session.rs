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
    /// A call of the session that would have changed something, and was told no.
    #[serde(rename = "session.refused")]
    Refused {
        op: String,
        code: String,
        /// Of the idempotency key and the request, where the call had a key: asked again, it is counted once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Digest>,
    },
}

/// How many requests with a key a session remembers as refused.
pub const MAX_KEYED_REFUSALS: usize = 16;

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
    /// How many of its calls were refused, of those that count.
    pub refused: u64,
    /// The last requests with an idempotency key that were.
    pub refused_requests: Vec<Digest>,
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
            refused: 0,
            refused_requests: Vec::new(),
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
            SessionEvent::Refused { request, .. } => {
                self.refused = self.refused.saturating_add(1);
                self.refused_requests.extend(request.clone());
                let over = self.refused_requests.len().saturating_sub(MAX_KEYED_REFUSALS);
                self.refused_requests.drain(..over);
            }
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
