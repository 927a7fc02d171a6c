//! `task.ready`: what can be started now.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::TaskRef;
use crate::domain::refusal::Refusal;
use crate::domain::task::Task;
use crate::ops::call::{Call, List, held, page};
use crate::ops::fault;
use crate::ops::op::Op;

use super::view::Line;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// How many at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
    /// The last task of the page before
    #[serde(default)]
    after: Option<TaskRef>,
}

pub struct Ready;

impl Op for Ready {
    const NAME: &'static str = "task.ready";
    const ABOUT: &'static str = "List tasks that are open, unclaimed and need nothing unfinished";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const COLUMNS: &'static [&'static str] = &["id", "title", "priority", "labels"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[("kctl task ready", "the most urgent first")];
    type In = In;
    type Out = List<Line>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Line>, Refusal> {
        let limit = page(input.limit)?;
        let after = input.after.map(|after| call.cursor(Kind::Task, after.as_str())).transpose()?;
        let rows = call.views()?.ready(after.as_ref(), limit + 1).map_err(fault::of_ledger)?;
        let mut tasks = rows.iter().map(held::<Task>).collect::<Result<Vec<_>, _>>()?;
        call.cut(&mut tasks, limit, "items", |held| held.value.id.to_string());
        if tasks.is_empty() && after.is_none() {
            let counts = call.views()?.counts(Kind::Task).map_err(fault::of_ledger)?;
            let open = counts.iter().filter(|(status, _)| !matches!(status.as_str(), "finished" | "cancelled"));
            match open.map(|(_, count)| count).sum() {
                0 => call.left_out(Kind::Task, "task.list", "finished or cancelled")?,
                waiting => {
                    let why = format!("none is ready; {waiting} claimed, blocked or waiting for others");
                    call.propose("task.list", why, json!({}));
                }
            }
        }
        let items = tasks.into_iter().map(|held| Line::of(call, held.value)).collect::<Result<_, _>>()?;
        Ok(List { items })
    }
}
