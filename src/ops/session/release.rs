//! `session.release`: custody ends, and claims are freed unless they are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{SessionId, TaskId};
use crate::domain::refusal::Refusal;
use crate::domain::session::{Session, SessionEvent};
use crate::domain::task::{ClaimEnd, Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::op::Op;

use super::renew::held_by;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Leave the claims in place until their leases run out; they can then be taken over
    #[serde(default)]
    keep: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    session: SessionId,
    /// Tasks whose claims ended.
    freed: Vec<TaskId>,
    /// Tasks whose claims stay until their leases run out.
    kept: Vec<TaskId>,
}

pub struct Release;

impl Op for Release {
    const NAME: &'static str = "session.release";
    const ABOUT: &'static str = "End the session and free its claims, unless they are kept";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl session release", "ends it and frees its claims")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let id = call.session()?;
        let held = held_by(call, &id)?;
        let mut out = Out { session: id.clone(), freed: Vec::new(), kept: Vec::new() };
        for task in held {
            let Some(claim) = &task.value.claim else { continue };
            if input.keep {
                out.kept.push(task.value.id);
                continue;
            }
            let ended = TaskEvent::ClaimEnded { fence: claim.fence, how: ClaimEnd::SessionReleased, note: None };
            call.record::<Task>(&task.value.id, task.ver, ended)?;
            out.freed.push(task.value.id);
        }
        let session = call.load_or_blank::<Session>(&id)?;
        call.record::<Session>(&id, session.ver, SessionEvent::Released {})?;
        if !call.dry_run {
            call.world.secrets.forget(&id);
        }
        Ok(out)
    }
}
