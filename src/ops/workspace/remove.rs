//! `workspace.remove`: a workspace goes, and nothing goes with it that is nowhere else (I11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{TaskId, TaskRef};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::{Op, Span};

use super::leave::{self, Allowed};
use super::look;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// Also when it holds files that git ignores, such as `.env`, and that are nowhere else; they go with it
    #[serde(default)]
    with_ignored: bool,
    /// Keep its commits that are nowhere else: the branch stays, and commits without a branch get a ref
    #[serde(default)]
    keep_commits: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    task: TaskId,
    path: String,
    branch: String,
    /// The branch goes too once all its commits are elsewhere.
    branch_deleted: bool,
    /// Refs that hold commits which no branch has.
    kept: Vec<String>,
}

pub struct Remove;

impl Op for Remove {
    const NAME: &'static str = "workspace.remove";
    const ABOUT: &'static str = "Remove a workspace; refused while it holds anything that is nowhere else";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const SPAN: Span = Span::Steps;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl workspace remove t-7k2", "lists what would be lost, if anything would be"),
        ("kctl workspace remove t-7k2 --keep-commits", "the directory goes; commits stay under their branch or a ref"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let task = call.task(&input.task)?.value;
        look::judge_holder(call, &task)?;
        let common_dir = call.repository()?.place().common_dir.clone();
        let _lock = call.world.locks.worktrees(&common_dir).map_err(fault::of_lock)?;
        let workspace = look::removable(call, &task.id)?;
        let allowed = Allowed { ignored: input.with_ignored, commits: input.keep_commits };
        let plan = leave::plan(call, &workspace, allowed)?;
        let gone = if call.dry_run { plan.foreseen() } else { leave::carry_out(call, &plan)? };
        Ok(Out {
            task: task.id,
            path: workspace.path,
            branch: workspace.branch,
            branch_deleted: gone.branch_deleted,
            kept: gone.kept,
        })
    }
}
