//! `task.history`: what happened to a task, event by event.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::{Entity, Kind};
use crate::domain::id::TaskRef;
use crate::domain::refusal::Refusal;
use crate::domain::task::Task;
use crate::ops::call::{Call, List, page, stream_of};
use crate::ops::ledger::log::{Logged, onward};
use crate::ops::op::Op;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// How many at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
    /// The `seq` of the last event of the page before
    #[serde(default)]
    after: Option<u64>,
}

pub struct History;

impl Op for History {
    const NAME: &'static str = "task.history";
    const ABOUT: &'static str = "Show the events of a task, oldest first";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const COLUMNS: &'static [&'static str] = &["seq", "at", "type", "agent", "body"];
    const HIDDEN: &'static [&'static str] = &["items.body"];
    type In = In;
    type Out = List<Logged>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Logged>, Refusal> {
        let id = call.task(&input.task)?.value.id;
        debug_assert_eq!(Task::KIND, Kind::Task);
        let events = onward(call, Some(&stream_of(Kind::Task, &id)), input.after.unwrap_or(0), page(input.limit)?)?;
        Ok(List { items: events.into_iter().map(Logged::of).collect() })
    }
}
