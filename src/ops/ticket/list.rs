//! `ticket.list`: which gates wait for somebody with other means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::{TaskId, TaskRef};
use crate::domain::refusal::Refusal;
use crate::domain::supervision::{Supervision, Ticket};
use crate::ops::call::{Call, List, page};
use crate::ops::op::Op;
use crate::ports::ledger::Query;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Only this task's
    #[serde(default)]
    task: Option<TaskRef>,
    /// Also those that are closed
    #[serde(default)]
    all: bool,
    /// How many tasks at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    task: TaskId,
    /// The gate in words.
    waits_for: String,
    #[serde(flatten)]
    ticket: Ticket,
}

pub struct ListTickets;

impl Op for ListTickets {
    const NAME: &'static str = "ticket.list";
    const ABOUT: &'static str = "List gates that wait for somebody with other means";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const COLUMNS: &'static [&'static str] = &["ticket", "task", "waits_for", "capability", "opened_at", "closed"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl ticket list", "what agents could not get past"), ("kctl ticket list --all", "also those that passed")];
    type In = In;
    type Out = List<Line>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Line>, Refusal> {
        let limit = page(input.limit)?;
        let parent = input.task.map(|task| call.task(&task)).transpose()?.map(|held| held.value.id.to_string());
        let statuses = if input.all { Vec::new() } else { vec!["ticket"] };
        let query = Query { parent, statuses, limit: limit + 1, ..Query::all(Kind::Failure) };
        let mut found = call.query::<Supervision>(&query)?;
        call.cut(&mut found, limit, "items", |held| held.value.task.to_string());
        let lines = |supervision: Supervision| {
            let task = supervision.task;
            let shown = supervision.tickets.into_iter().filter(move |ticket| input.all || ticket.closed.is_none());
            shown.map(move |ticket| Line { task: task.clone(), waits_for: ticket.gate.to_string(), ticket })
        };
        Ok(List { items: found.into_iter().flat_map(|held| lines(held.value)).collect() })
    }
}
