//! `workspace.list`: every worktree that kctl made.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::{AgentName, TaskId, TaskRef};
use crate::domain::refusal::Refusal;
use crate::domain::stamp::Stamp;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::workspace::{Workspace, WorkspaceStatus};
use crate::ops::call::{Call, List, page};
use crate::ops::op::Op;
use crate::ports::ledger::Query;

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

#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    task: TaskId,
    title: String,
    task_status: TaskStatus,
    holder: Option<AgentName>,
    path: String,
    branch: String,
    /// `planned` means that a crash left it half made: `workspace.ensure` mends it.
    status: WorkspaceStatus,
    /// Whether its directory is there.
    exists: bool,
    since: Stamp,
}

pub struct ListWorkspaces;

impl Op for ListWorkspaces {
    const NAME: &'static str = "workspace.list";
    const ABOUT: &'static str = "List the worktrees that kctl made";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const COLUMNS: &'static [&'static str] = &["task", "task_status", "holder", "branch", "path"];
    type In = In;
    type Out = List<Item>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Item>, Refusal> {
        let limit = page(input.limit)?;
        let after = input.after.map(|after| call.cursor(Kind::Workspace, after.as_str())).transpose()?;
        let statuses = vec![WorkspaceStatus::Planned.name(), WorkspaceStatus::Open.name()];
        let query = Query { statuses, after, limit: limit + 1, ..Query::all(Kind::Workspace) };
        let mut rows = call.query::<Workspace>(&query)?;
        call.cut(&mut rows, limit, "items", |held| held.value.task.to_string());
        let items = rows.into_iter().map(|held| item(call, held.value)).collect::<Result<_, _>>()?;
        Ok(List { items })
    }
}

fn item(call: &Call<'_>, workspace: Workspace) -> Result<Item, Refusal> {
    let task = call.load_or_blank::<Task>(&workspace.task)?.value;
    Ok(Item {
        title: task.title,
        task_status: task.status,
        holder: task.claim.map(|claim| claim.agent),
        exists: call.world.trees.exists(Path::new(&workspace.path)),
        task: workspace.task,
        path: workspace.path,
        branch: workspace.branch,
        status: workspace.status,
        since: workspace.opened_at,
    })
}
