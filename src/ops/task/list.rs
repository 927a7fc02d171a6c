//! `task.list`: the board.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::{Kind, Rel};
use crate::domain::id::{AgentName, CommitmentRef, TaskRef};
use crate::domain::refusal::Refusal;
use crate::domain::task::{Task, TaskStatus};
use crate::ops::call::{Call, List, page};
use crate::ops::op::Op;
use crate::ports::ledger::Query;

use super::view::Line;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Only tasks with one of these statuses (default: those that are not over)
    #[serde(default)]
    status: Vec<TaskStatus>,
    /// Also tasks that are finished or cancelled
    #[serde(default)]
    all: bool,
    /// Only tasks with this label
    #[serde(default)]
    label: Option<String>,
    /// Only parts of this task
    #[serde(default)]
    parent: Option<TaskRef>,
    /// Only tasks that work for this commitment
    #[serde(default)]
    commitment: Option<CommitmentRef>,
    /// Only tasks that this agent holds; looked for among the rows of the page
    #[serde(default)]
    agent: Option<AgentName>,
    /// How many at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
    /// The last task of the page before
    #[serde(default)]
    after: Option<TaskRef>,
}

pub struct ListTasks;

impl Op for ListTasks {
    const NAME: &'static str = "task.list";
    const ABOUT: &'static str = "List tasks, most urgent first, oldest first";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const COLUMNS: &'static [&'static str] = &["id", "title", "status", "priority", "holder", "blocked_by"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl task list", "everything that is not over"),
        ("kctl task list --status claimed --label parser", "who works on what in the parser"),
    ];
    type In = In;
    type Out = List<Line>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Line>, Refusal> {
        let limit = page(input.limit)?;
        let narrowed = input.label.is_some() || input.parent.is_some() || input.commitment.is_some();
        let is_whole_board = !narrowed && input.status.is_empty() && input.after.is_none() && !input.all;
        let mut query = Query { limit: limit + 1, ..Query::all(Kind::Task) };
        query.statuses = statuses(&input);
        query.parent = input.parent.map(|parent| call.task(&parent)).transpose()?.map(|held| held.value.id.to_string());
        query.link = match (input.label, input.commitment) {
            (Some(_), Some(_)) => {
                return Err(Refusal::invalid("label", "`label` and `commitment` cannot be given together"));
            }
            (Some(label), None) => Some((Rel::Label, label)),
            (None, Some(commitment)) => Some((Rel::Commitment, call.commitment(&commitment)?.value.id.to_string())),
            (None, None) => None,
        };
        query.after = input.after.map(|after| call.cursor(Kind::Task, after.as_str())).transpose()?;
        let mut tasks = call.query::<Task>(&query)?;
        call.cut(&mut tasks, limit, "items", |held| held.value.id.to_string());
        if tasks.is_empty() && is_whole_board {
            call.left_out(Kind::Task, Self::NAME, "finished or cancelled")?;
        }
        let held_by = |task: &Task| task.claim.as_ref().map(|claim| claim.agent.clone());
        let items = tasks
            .into_iter()
            .map(|held| held.value)
            .filter(|task| input.agent.is_none() || held_by(task) == input.agent)
            .map(|task| Line::of(call, task))
            .collect::<Result<_, _>>()?;
        Ok(List { items })
    }
}

fn statuses(input: &In) -> Vec<&'static str> {
    match (input.status.as_slice(), input.all) {
        ([], true) => Vec::new(),
        ([], false) => vec!["open", "claimed", "blocked"],
        (given, _) => given.iter().map(|status| status.name()).collect(),
    }
}
