//! `task.handoff`: claim, workspace and context pass to a named agent in one append.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::{AgentName, TaskRef};
use crate::domain::refusal::Refusal;
use crate::domain::session::Session;
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ports::ledger::Query;
use crate::rules::contract;

use super::view::Claimed;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// The agent that goes on with it
    to: AgentName,
    /// What it should know
    #[serde(default)]
    note: Option<String>,
}

pub struct Handoff;

impl Op for Handoff {
    const NAME: &'static str = "task.handoff";
    const ABOUT: &'static str = "Pass a claim, with its workspace and a note, to a named agent";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Claim;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl task handoff t-7k2 --to bob --note 'tests are next'", "bob holds it, or takes it with `task claim`")];
    type In = In;
    type Out = Claimed;

    fn task(input: &In) -> Option<&TaskRef> {
        Some(&input.task)
    }

    fn run(call: &mut Call<'_>, input: In) -> Result<Claimed, Refusal> {
        if let Some(note) = &input.note {
            contract::text("note", note, 1)?;
        }
        let task = call.task(&input.task)?;
        let now = call.now();
        // Two sessions of one name: which of them is meant is for them to say, by claiming it.
        let query = Query {
            statuses: vec!["open"],
            live_at: Some(now),
            name: Some(input.to.to_string()),
            limit: 2,
            ..Query::all(Kind::Session)
        };
        let mut sessions = call.query::<Session>(&query)?;
        let session = if sessions.len() == 1 { sessions.pop().map(|held| held.value.id) } else { None };
        if session.is_none() {
            call.warn(
                "waits_for_agent",
                format!("the claim waits until `{}` claims it or the lease runs out", input.to),
            );
        }
        let handed = TaskEvent::HandedOff {
            agent: input.to,
            session,
            fence: task.value.fence + 1,
            until: now.plus(call.lease()?),
            note: input.note,
        };
        let task = call.record::<Task>(&task.value.id, task.ver, handed)?.value;
        let claim = task.claim.as_ref().expect("a task that was handed over has a claim");
        Ok(Claimed::of(&task, claim))
    }
}
