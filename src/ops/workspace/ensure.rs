//! `workspace.ensure`: the task's own worktree and branch, made, found again, or mended after a crash.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{Oid, TaskId, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::Task;
use crate::domain::workspace::{Workspace, WorkspaceEvent, WorkspaceStatus};
use crate::ops::base::Base;
use crate::ops::call::{Call, Held};
use crate::ops::custody;
use crate::ops::fault;
use crate::ops::op::{Op, Span};
use crate::ops::task::onward::{self, Came};
use crate::ops::task::view::propose_context;
use crate::ports::git::{Checkout, Git, Repair, Spot, Standing};
use crate::rules::workspace as place;

use super::look::{Obstacle, obstacles, taken};
use super::prepare;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    task: TaskId,
    path: String,
    branch: String,
    /// The accepted base it was made on.
    base: Oid,
    base_ref: String,
    /// What it took.
    state: Made,
    /// What stands in the way of work, if anything does.
    blockers: Vec<Obstacle>,
    /// How many paths differed from the base when it was opened.
    baseline: usize,
    /// How to go there.
    cd: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    Created,
    /// It was there and sound.
    Reused,
    /// A crash had left it half made.
    Repaired,
    /// What would be made; nothing was.
    Planned,
}

pub struct Ensure;

impl Op for Ensure {
    const NAME: &'static str = "workspace.ensure";
    const ABOUT: &'static str = "Make the task's own worktree and branch, find it again, or mend it";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Claim;
    const SPAN: Span = Span::Steps;
    const ASKS_BASE: bool = true;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["base_ref", "baseline"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("cd \"$(kctl workspace ensure t-7k2 --json | jq -r .data.path)\"", "makes it and goes there")];
    type In = In;
    type Out = Out;

    fn task(input: &In) -> Option<&TaskRef> {
        Some(&input.task)
    }

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let task = call.task(&input.task)?.value;
        let common_dir = call.repository()?.place().common_dir.clone();
        // One worktree of a root is made at a time: git's own bookkeeping of them is not safe against itself.
        let lock = call.world.locks.worktrees(&common_dir).map_err(fault::of_lock)?;
        let plan = plan(call, &task)?;
        if call.dry_run {
            return answer(call, &task, &plan, Made::Planned);
        }
        let made = make(call, &task, &plan)?;
        drop(lock);
        answer(call, &task, &plan, made)
    }
}

/// What is to stand at the end.
struct Plan {
    path: PathBuf,
    branch: String,
    base: Oid,
    base_ref: String,
    held: Held<Workspace>,
}

impl Plan {
    fn path_text(&self) -> String {
        self.path.display().to_string()
    }

    fn checkout(&self, git: &dyn Git) -> Result<Checkout, Refusal> {
        let tip = git.branch_tip(&self.branch).map_err(fault::of_git)?;
        Ok(match tip {
            Some(_) => Checkout::Existing { branch: self.branch.clone() },
            None => Checkout::New { branch: self.branch.clone(), base: self.base.clone() },
        })
    }
}

fn plan(call: &Call<'_>, task: &Task) -> Result<Plan, Refusal> {
    let held = call.load_or_blank::<Workspace>(&task.id)?;
    let known = &held.value;
    if known.status != WorkspaceStatus::Removed
        && let Some(base) = known.base.clone()
    {
        let (path, branch, base_ref) = (PathBuf::from(&known.path), known.branch.clone(), known.base_ref.clone());
        return Ok(Plan { path, branch, base, base_ref, held });
    }
    let base = call.base()?.ok_or_else(base_unknown)?;
    let profile = call.profile()?;
    let branch = place::branch(&task.id, &task.title);
    if profile.publish.protects(&branch, &base.branch) {
        let words = format!("the profile protects `{branch}`: nothing is worked on there");
        return Err(Refusal::new(Code::PROTECTED_BRANCH, words).with("branch", branch));
    }
    let repository = call.repository()?.place();
    let root = repository.main_work_tree.as_deref().unwrap_or(&repository.common_dir);
    let path = place::path(root, profile.workspace.dir.as_deref(), &task.id);
    if path.to_str().is_none() {
        let words = format!("`{}` is not UTF-8: name another `workspace.dir` in the profile", path.display());
        return Err(Refusal::new(Code::WORKSPACE_FAILED, words));
    }
    let Base { commit, reference, .. } = base;
    Ok(Plan { path, branch, base: commit, base_ref: reference, held })
}

fn base_unknown() -> Refusal {
    Refusal::new(Code::BASE_UNKNOWN, "this clone knows no base: no commit on a branch that work could build on")
        .with("remedy", "commit something, or fetch the remote, so that its main branch is known here")
}

/// Journals, acts, and records that it stands. A crash between any two of these is mended by the next call.
fn make(call: &mut Call<'_>, task: &Task, plan: &Plan) -> Result<Made, Refusal> {
    let open_before = plan.held.value.status == WorkspaceStatus::Open;
    let planned_before = plan.held.value.status == WorkspaceStatus::Planned;
    if !open_before && !planned_before {
        call.step(|call| {
            custody::still_holds(call, &task.id)?;
            let planned = WorkspaceEvent::Planned {
                path: plan.path_text(),
                branch: plan.branch.clone(),
                base: plan.base.clone(),
                base_ref: plan.base_ref.clone(),
            };
            call.record::<Workspace>(&task.id, plan.held.ver, planned).map(drop)
        })?;
    }
    let repair = act(call.repository()?, plan)?;
    if open_before && repair == Repair::Nothing {
        return Ok(Made::Reused);
    }
    if !open_before {
        prepare::prepare(call, &plan.path)?;
    }
    let (head, baseline) = prepare::baseline(call, &plan.path)?;
    call.step(|call| {
        custody::still_holds(call, &task.id)?;
        let held = call.load_or_blank::<Workspace>(&task.id)?;
        let opened = WorkspaceEvent::Opened { head: head.clone(), baseline: baseline.clone() };
        call.record::<Workspace>(&task.id, held.ver, opened).map(drop)
    })?;
    Ok(if planned_before || open_before { Made::Repaired } else { Made::Created })
}

/// Brings the worktree about. What stands is left as it is.
fn act(git: &dyn Git, plan: &Plan) -> Result<Repair, Refusal> {
    let checkout = plan.checkout(git)?;
    let taken = |why: &str| taken(&plan.path, why);
    match git.spot(&plan.path).map_err(fault::of_git)? {
        Spot::Taken { why } => Err(taken(&why)),
        Spot::Worktree(worktree) if worktree.standing == Standing::Estranged => {
            Err(taken("its directory belongs to something else"))
        }
        // Which branch it is on is for whoever works there: the answer names it as a blocker.
        Spot::Worktree(worktree) if worktree.standing == Standing::Sound => Ok(Repair::Nothing),
        Spot::Free => {
            git.add_worktree(&plan.path, &checkout).map_err(|why| failed(why, plan))?;
            Ok(Repair::Made)
        }
        Spot::Worktree(_) | Spot::Leftover => {
            git.repair_worktree(&plan.path, &checkout).map_err(|why| failed(why, plan))
        }
    }
}

fn failed(why: crate::ports::git::GitFault, plan: &Plan) -> Refusal {
    let refusal = fault::of_git(why);
    let task = json!({ "task": plan.held.value.task });
    if refusal.code() == Code::WOULD_LOSE_WORK {
        return refusal.next("workspace.ensure", "again, once what is listed lies elsewhere", task);
    }
    if refusal.code() != Code::GIT_FAILED {
        return refusal;
    }
    Refusal::new(Code::WORKSPACE_FAILED, refusal.message())
        .with("path", plan.path_text())
        .with("branch", &plan.branch)
        .next("workspace.ensure", "tries again and mends what was left", task)
}

fn answer(call: &mut Call<'_>, task: &Task, plan: &Plan, state: Made) -> Result<Out, Refusal> {
    let blockers = match state {
        Made::Planned => Vec::new(),
        Made::Created | Made::Reused | Made::Repaired => {
            obstacles(&call.repository()?.head(&plan.path).map_err(fault::of_git)?, &plan.branch)
        }
    };
    let baseline = call.load_or_blank::<Workspace>(&task.id)?.value.baseline.len();
    propose_context(call, &task.id);
    onward::propose(call, task, Came::Unverified)?;
    Ok(Out {
        task: task.id.clone(),
        path: plan.path_text(),
        branch: plan.branch.clone(),
        base: plan.base.clone(),
        base_ref: plan.base_ref.clone(),
        state,
        blockers,
        baseline,
        cd: format!("cd {}", quoted(&plan.path)),
    })
}

/// The path as one word of a POSIX shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
