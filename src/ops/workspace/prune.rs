//! `workspace.prune`: the workspaces of tasks that are over go, as far as nothing is lost with them.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::TaskId;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::workspace::{Workspace, WorkspaceStatus};
use crate::ops::call::{Call, page};
use crate::ops::fault;
use crate::ops::op::{Op, Span};
use crate::ports::ledger::Query;

use super::leave::{self, Allowed};
use super::look;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// How many workspaces are looked at, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
    /// The last task of the page before
    #[serde(default)]
    after: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    /// What went; with `dry_run`, what would.
    removed: Vec<Removed>,
    kept: Vec<Kept>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Removed {
    task: TaskId,
    task_status: TaskStatus,
    path: String,
    branch: String,
    /// The branch goes too once all its commits are elsewhere.
    branch_deleted: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Kept {
    task: TaskId,
    task_status: TaskStatus,
    path: String,
    /// Why it stays: the code of the refusal, or none where the task is not over.
    code: Option<String>,
    why: String,
}

pub struct Prune;

impl Op for Prune {
    const NAME: &'static str = "workspace.prune";
    const ABOUT: &'static str = "Remove the workspaces of finished and cancelled tasks that would lose nothing";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const SPAN: Span = Span::Steps;
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl workspace prune --dry-run", "names what would go, and of the rest why not")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let limit = page(input.limit)?;
        let after = input.after.map(|after| call.cursor(Kind::Workspace, &after)).transpose()?;
        let statuses = vec![WorkspaceStatus::Planned.name(), WorkspaceStatus::Open.name()];
        let query = Query { statuses, after, limit: limit + 1, ..Query::all(Kind::Workspace) };
        let mut rows = call.query::<Workspace>(&query)?;
        call.cut(&mut rows, limit, "workspaces", |held| held.value.task.to_string());
        let common_dir = call.repository()?.place().common_dir.clone();
        let _lock = call.world.locks.worktrees(&common_dir).map_err(fault::of_lock)?;
        let mut out = Out { removed: Vec::new(), kept: Vec::new() };
        for row in rows {
            one(call, &row.value.task, &mut out)?;
        }
        if let Some(kept) = out.kept.iter().find(|kept| kept.code.as_deref() == Some(Code::WOULD_LOSE_WORK.name())) {
            let params = json!({ "task": kept.task });
            call.propose("workspace.remove", "says what would be lost with the first that stays", params);
        }
        Ok(out)
    }
}

fn one(call: &mut Call<'_>, task: &TaskId, out: &mut Out) -> Result<(), Refusal> {
    // Read under the lock of the worktrees: it may have gone meanwhile.
    let Ok(workspace) = look::removable(call, task) else { return Ok(()) };
    let task = call.load_or_blank::<Task>(task)?.value;
    let kept = |code: Option<Code>, why: String| Kept {
        task: task.id.clone(),
        task_status: task.status,
        path: workspace.path.clone(),
        code: code.map(|code| code.name().to_owned()),
        why,
    };
    if !task.status.is_over() {
        out.kept.push(kept(None, format!("its task is {}", task.status.name())));
        return Ok(());
    }
    if call.repository()?.place().work_tree.as_deref() == Some(Path::new(&workspace.path)) {
        out.kept.push(kept(None, "the call was made in it".to_owned()));
        return Ok(());
    }
    let gone = leave::plan(call, &workspace, Allowed::default()).and_then(|plan| match call.dry_run {
        true => Ok(plan.foreseen()),
        false => leave::carry_out(call, &plan),
    });
    match gone {
        Ok(gone) => out.removed.push(Removed {
            task: task.id.clone(),
            task_status: task.status,
            branch_deleted: gone.branch_deleted,
            path: workspace.path,
            branch: workspace.branch,
        }),
        // One that cannot go keeps no other from going.
        Err(why) => out.kept.push(kept(Some(why.code()), why.message().to_owned())),
    }
    Ok(())
}
