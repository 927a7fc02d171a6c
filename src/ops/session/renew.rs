//! `session.renew`: custody goes on, and so do its leases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::{SessionId, TaskId};
use crate::domain::refusal::Refusal;
use crate::domain::session::{Session, SessionEvent};
use crate::domain::stamp::{Length, Stamp};
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ports::ledger::Query;

use super::acquire::DEFAULT_TTL;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// How long the session lives from now: seconds, or `90s`, `10m`, `2h`, `30d` (default: 12h)
    #[serde(default)]
    ttl: Option<Length>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    session: SessionId,
    expires_at: Stamp,
    /// Claims whose leases were extended as well.
    claims: Vec<TaskId>,
}

pub struct Renew;

impl Op for Renew {
    const NAME: &'static str = "session.renew";
    const ABOUT: &'static str = "Extend the session and the leases of its claims";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl session renew --ttl 4h", "goes on for four hours from now")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let id = call.session()?;
        let session = call.load_or_blank::<Session>(&id)?;
        let now = call.now();
        let until = now.plus(input.ttl.unwrap_or(DEFAULT_TTL));
        call.record::<Session>(&id, session.ver, SessionEvent::Renewed { until })?;
        let lease_until = now.plus(call.lease()?);
        let mut claims = Vec::new();
        for task in held_by(call, &id)? {
            let Some(claim) = task.value.claim.as_ref().filter(|claim| claim.until < lease_until) else { continue };
            let renewed = TaskEvent::ClaimRenewed { fence: claim.fence, until: lease_until };
            call.record::<Task>(&task.value.id, task.ver, renewed)?;
            claims.push(task.value.id);
        }
        Ok(Out { session: id, expires_at: until, claims })
    }
}

/// The tasks that `session` holds a claim on.
pub fn held_by(call: &Call<'_>, session: &SessionId) -> Result<Vec<crate::ops::call::Held<Task>>, Refusal> {
    call.query(&Query { owner: Some(session.to_string()), ..Query::all(Kind::Task) })
}
