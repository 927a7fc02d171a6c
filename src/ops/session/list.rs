//! `session.list`: who has custody here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::{AgentName, SessionId, TaskId};
use crate::domain::refusal::Refusal;
use crate::domain::session::Session;
use crate::domain::stagnation::Stagnation;
use crate::domain::stamp::Stamp;
use crate::ops::call::{Call, List, page};
use crate::ops::op::Op;
use crate::ports::ledger::Query;

use super::renew::held_by;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Also sessions that ended or expired
    #[serde(default)]
    all: bool,
    /// How many at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    session: SessionId,
    agent: Option<AgentName>,
    host: Option<String>,
    state: &'static str,
    acquired_at: Stamp,
    expires_at: Stamp,
    /// How many of its calls were refused, of those that count.
    refused: u64,
    /// Actions that its host reported since a file, evidence, a task or a person's turn last brought something new: a
    /// session whose lease is renewed while this rises is busy and gets nowhere
    unmoved: u64,
    /// Tasks it holds.
    claims: Vec<TaskId>,
}

pub struct ListSessions;

impl Op for ListSessions {
    const NAME: &'static str = "session.list";
    const ABOUT: &'static str = "List sessions and what they hold";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const COLUMNS: &'static [&'static str] =
        &["session", "agent", "host", "state", "expires_at", "refused", "unmoved", "claims"];
    type In = In;
    type Out = List<Item>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Item>, Refusal> {
        let limit = page(input.limit)?;
        let now = call.now();
        let mut query = Query { limit: limit + 1, ..Query::all(Kind::Session) };
        if !input.all {
            query.statuses = vec!["open"];
            query.live_at = Some(now);
        }
        let mut sessions = call.query::<Session>(&query)?;
        call.cut(&mut sessions, limit, "items", |held| held.value.id.to_string());
        if sessions.is_empty() && !input.all {
            call.left_out(Kind::Session, Self::NAME, "ended or expired")?;
        }
        let items = sessions.into_iter().map(|held| item(call, held.value, now)).collect::<Result<_, _>>()?;
        Ok(List { items })
    }
}

fn item(call: &Call<'_>, session: Session, now: Stamp) -> Result<Item, Refusal> {
    let claims = held_by(call, &session.id)?.into_iter().map(|task| task.value.id).collect();
    let state = match (session.released, session.is_live(now)) {
        (true, _) => "released",
        (false, true) => "live",
        (false, false) => "expired",
    };
    let seen = call.load::<Stagnation>(&session.id)?;
    Ok(Item {
        state,
        unmoved: seen.map_or(0, |seen| seen.value.unmoved()),
        session: session.id,
        agent: session.agent,
        host: session.host,
        acquired_at: session.acquired_at,
        expires_at: session.until,
        refused: session.refused,
        claims,
    })
}
