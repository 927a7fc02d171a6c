//! `workspace.remove`: a workspace goes, and nothing goes with it that is nowhere else (I11).

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{TaskId, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::workspace::{Workspace, WorkspaceEvent};
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::{Op, Span};
use crate::ports::git::Spot;

use super::look;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// Also when it holds files that git ignores one by one, such as `.env`, and that are nowhere else
    #[serde(default)]
    with_ignored: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    task: TaskId,
    path: String,
    branch: String,
    /// The branch goes too once all its commits are elsewhere.
    branch_deleted: bool,
}

pub struct Remove;

impl Op for Remove {
    const NAME: &'static str = "workspace.remove";
    const ABOUT: &'static str = "Remove a workspace; refused while it holds anything that is nowhere else";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const SPAN: Span = Span::Steps;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl workspace remove t-7k2", "lists what would be lost, if anything would be")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let task = call.task(&input.task)?.value;
        look::judge_holder(call, &task)?;
        let common_dir = call.repository()?.place().common_dir.clone();
        let _lock = call.world.locks.worktrees(&common_dir).map_err(fault::of_lock)?;
        let workspace = look::open(call, &task.id)?;
        let git = call.repository()?;
        let mut risk = look::at_risk(call, git, &workspace)?;
        if input.with_ignored {
            risk.ignored.clear();
        }
        if !risk.is_empty() {
            return Err(would_lose(&workspace, &risk));
        }
        let mut out = Out {
            task: task.id.clone(),
            path: workspace.path.clone(),
            branch: workspace.branch.clone(),
            branch_deleted: false,
        };
        if call.dry_run {
            return Ok(out);
        }
        let path = Path::new(&workspace.path);
        // Somebody may have removed directory and registration by hand; then there is only the record to mend.
        if git.spot(path).map_err(fault::of_git)? != Spot::Free {
            git.remove_worktree(path).map_err(fault::of_git)?;
        }
        if let Some(tip) = git.branch_tip(&workspace.branch).map_err(fault::of_git)? {
            out.branch_deleted = git.delete_branch(&workspace.branch, &tip).map_err(fault::of_git)?;
        }
        let branch_deleted = out.branch_deleted;
        call.step(|call| {
            let held = call.load_or_blank::<Workspace>(&task.id)?;
            call.record::<Workspace>(&task.id, held.ver, WorkspaceEvent::Removed { branch_deleted }).map(drop)
        })?;
        Ok(out)
    }
}

fn would_lose(workspace: &Workspace, risk: &look::AtRisk) -> Refusal {
    let parts = [
        (risk.uncommitted.len(), "uncommitted paths"),
        (risk.unpublished.len(), "unpublished commits"),
        (risk.ignored.len(), "files that git ignores"),
    ];
    let named = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let words = format!("removing `{}` would lose {}", workspace.path, named.collect::<Vec<_>>().join(", "));
    let refusal = Refusal::new(Code::WOULD_LOSE_WORK, words)
        .with("path", &workspace.path)
        .with("would_lose", risk)
        .next("workspace.status", "shows all of it", json!({ "task": workspace.task }));
    if risk.uncommitted.is_empty() && risk.unpublished.is_empty() {
        let params = json!({ "task": workspace.task, "with_ignored": true });
        return refusal.next("workspace.remove", "removes it with the ignored files, if nobody needs them", params);
    }
    refusal.next("validate", "is on the way to publishing it", json!({ "task": workspace.task }))
}
