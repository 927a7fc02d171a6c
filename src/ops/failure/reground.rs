//! `reground`: what is known is laid out before whoever tries again, as data, with the steps that are legal now.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::show::look_up;
use crate::domain::effect::{Custody, Effect};
use crate::domain::failure::Packet;
use crate::domain::id::{TaskId, TaskRef};
use crate::domain::refusal::Refusal;
use crate::domain::supervision::{FailureEvent, Supervision, Ticket};
use crate::domain::task::Task;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ops::task::onward::{self, Came};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose checks fail
    task: TaskRef,
    /// The number that `failure.list` gives it; the one that was tried last unless given
    #[serde(default)]
    lineage: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    task: TaskId,
    packet: Packet,
    /// Gates that wait for somebody with other means.
    tickets: Vec<Ticket>,
}

pub struct Reground;

impl Op for Reground {
    const NAME: &'static str = "reground";
    const ABOUT: &'static str =
        "Lay out what is known of a failure that does not move: what was tried, and what never changed";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task", "lineage"];
    const HIDDEN: &'static [&'static str] = &["packet.signature"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl reground t-7k2", "before the fourth try at the same thing")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let (held, packet) = look_up(call, &input.task, input.lineage)?;
        let task = held.value.task.clone();
        let shown = FailureEvent::Regrounded { lineage: packet.lineage };
        let held = call.record::<Supervision>(&task, held.ver, shown)?;
        let state = call.load_or_blank::<Task>(&task)?.value;
        onward::propose(call, &state, Came::Unverified)?;
        if !state.status.is_over() && state.block.is_none() {
            let question = format!("{} fails again and again. What should be done about it?", packet.gates.join(", "));
            let ask = json!({ "task": task, "reason": "a gate does not pass", "question": question });
            call.propose("task.block", "asks a person", ask);
        }
        let tickets = held.value.tickets.into_iter().filter(|ticket| ticket.closed.is_none()).collect();
        Ok(Out { task, packet, tickets })
    }
}
