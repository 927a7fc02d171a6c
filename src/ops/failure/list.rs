//! `failure.list`: what keeps failing, by task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::failure::{MAX_ABSOLUTE, MAX_UNCHANGED};
use crate::domain::fold::Kind;
use crate::domain::id::{TaskId, TaskRef};
use crate::domain::refusal::Refusal;
use crate::domain::stamp::Stamp;
use crate::domain::supervision::Supervision;
use crate::ops::call::{Call, List, page};
use crate::ops::op::Op;
use crate::ports::ledger::Query;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Only this task's
    #[serde(default)]
    task: Option<TaskRef>,
    /// How many tasks at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    task: TaskId,
    lineage: u64,
    /// The criteria or commands that it was seen at.
    gates: Vec<String>,
    /// What fails now.
    failing: Vec<String>,
    /// Attempts without progress.
    unchanged: u32,
    /// Failed attempts in all.
    attempts: u32,
    /// What the next attempt without progress leads to.
    then: &'static str,
    updated_at: Stamp,
}

pub struct ListFailures;

impl Op for ListFailures {
    const NAME: &'static str = "failure.list";
    const ABOUT: &'static str = "List what keeps failing: by task, with how often and whether it moves";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const COLUMNS: &'static [&'static str] = &["task", "lineage", "unchanged", "attempts", "then", "failing"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl failure list t-7k2", "what the task's checks keep failing on")];
    type In = In;
    type Out = List<Line>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Line>, Refusal> {
        let limit = page(input.limit)?;
        let parent = input.task.map(|task| call.task(&task)).transpose()?.map(|held| held.value.id.to_string());
        let statuses = vec!["failing", "ticket"];
        let query = Query { parent, statuses, limit: limit + 1, ..Query::all(Kind::Failure) };
        let mut found = call.query::<Supervision>(&query)?;
        call.cut(&mut found, limit, "items", |held| held.value.task.to_string());
        let items: Vec<Line> = found.iter().flat_map(|held| lines(&held.value)).collect();
        if let Some(first) = items.first() {
            let params = json!({ "task": first.task, "lineage": first.lineage });
            call.propose("failure.show", "shows everything that is known of it", params);
        }
        Ok(List { items })
    }
}

fn lines(supervision: &Supervision) -> impl Iterator<Item = Line> + '_ {
    let packets = supervision.lineages.open_ids().into_iter().filter_map(|id| supervision.lineages.packet(id));
    packets.map(|packet| Line {
        task: supervision.task.clone(),
        lineage: packet.lineage,
        then: match (packet.count + 1 >= MAX_UNCHANGED, packet.absolute + 1 >= MAX_ABSOLUTE) {
            (_, true) => "ticket",
            (true, false) => "reground",
            (false, false) => "go_on",
        },
        gates: packet.gates,
        failing: packet.failing.into_iter().map(|counted| counted.item).collect(),
        unchanged: packet.count,
        attempts: packet.absolute,
        updated_at: supervision.updated_at,
    })
}
