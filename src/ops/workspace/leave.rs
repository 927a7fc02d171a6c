//! How a workspace goes: one look at what would be lost, by which a dry run, a refusal and the removal go.

use std::path::Path;

use serde_json::json;

use crate::domain::id::Oid;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::workspace::{Workspace, WorkspaceEvent};
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ports::git::{At, Git, Leaving, Lost, Whose};

use super::look::{self, AtRisk};

/// Where commits that no branch has are kept.
const KEPT: &str = "refs/decapod/kept";

/// What the caller said about things that are nowhere else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowed {
    /// Ignored files may go.
    pub ignored: bool,
    /// Commits are kept, under their branch or a ref.
    pub commits: bool,
}

/// A removal that loses nothing but what was allowed.
pub struct Plan {
    workspace: Workspace,
    leaving: Leaving,
    /// What it would lose and may.
    accepted: Vec<Lost>,
    /// Commits that get a ref first.
    keep: Vec<Oid>,
    /// The branch's tip, where all of the branch is elsewhere.
    spent: Option<Oid>,
}

/// What came of it, or would.
pub struct Gone {
    pub branch_deleted: bool,
    /// Full names of refs that were made.
    pub kept: Vec<String>,
}

/// Looks once. The same for a dry run.
///
/// # Errors
/// `WOULD_LOSE_WORK` with all that would be lost.
pub fn plan(call: &Call<'_>, workspace: &Workspace, allowed: Allowed) -> Result<Plan, Refusal> {
    let git = call.repository()?;
    let leaving = look::leaving(call, git, workspace)?;
    let lost = git.losses(&leaving).map_err(|why| refused(fault::of_git(why), workspace))?;
    let may_go = |lost: &Lost| match lost {
        Lost::Ignored { .. } => allowed.ignored,
        Lost::Commits { whose: Whose::Branch | Whose::Head, .. } => allowed.commits,
        Lost::Commits { whose: Whose::Repository(_), .. } => false,
        Lost::File(_) | Lost::Unread { .. } | Lost::Locked { .. } => false,
    };
    let (accepted, left): (Vec<Lost>, Vec<Lost>) = lost.into_iter().partition(may_go);
    if !left.is_empty() {
        return Err(would_lose(workspace, &left));
    }
    let tips = |wanted: &Whose| {
        let of = |lost: &Lost| match lost {
            Lost::Commits { whose, tips, .. } if whose == wanted => tips.clone(),
            _ => Vec::new(),
        };
        accepted.iter().flat_map(of).collect::<Vec<_>>()
    };
    let keep = tips(&Whose::Head);
    let spent = match tips(&Whose::Branch).is_empty() && !is_elsewhere(git, workspace)? {
        true => git.branch_tip(&workspace.branch).map_err(fault::of_git)?,
        false => None,
    };
    Ok(Plan { workspace: workspace.clone(), leaving, accepted, keep, spent })
}

/// Whether another worktree has the branch checked out, so that it cannot go.
fn is_elsewhere(git: &dyn Git, workspace: &Workspace) -> Result<bool, Refusal> {
    let trees = git.worktrees().map_err(fault::of_git)?;
    // A registration without a path is what a removal left of one: it checks nothing out.
    let is_other = |path: &Path| path != Path::new(&workspace.path);
    Ok(trees.iter().any(|tree| {
        tree.at.as_ref().and_then(At::branch) == Some(&workspace.branch) && tree.path.as_deref().is_some_and(is_other)
    }))
}

impl Plan {
    /// What carrying it out would come to.
    pub fn foreseen(&self) -> Gone {
        Gone { branch_deleted: self.spent.is_some(), kept: self.keep.iter().map(|oid| self.reference(oid)).collect() }
    }

    fn reference(&self, commit: &Oid) -> String {
        format!("{KEPT}/{}/{commit}", self.workspace.task)
    }
}

/// Keeps what is to be kept, removes worktree and branch, and records that they are gone. Cut short anywhere, the same
/// call goes on from there.
pub fn carry_out(call: &mut Call<'_>, plan: &Plan) -> Result<Gone, Refusal> {
    let workspace = &plan.workspace;
    let git = call.repository()?;
    for commit in &plan.keep {
        git.keep(commit, &plan.reference(commit)).map_err(fault::of_git)?;
    }
    // Looks again: what came since the plan was made stops it.
    git.remove_worktree(&plan.leaving, &plan.accepted).map_err(|why| refused(fault::of_git(why), workspace))?;
    let branch_deleted = match &plan.spent {
        Some(tip) => git.delete_branch(&workspace.branch, tip).map_err(fault::of_git)?,
        None => false,
    };
    call.step(|call| {
        let held = call.load_or_blank::<Workspace>(&workspace.task)?;
        let removed = WorkspaceEvent::Removed { branch_deleted, kept: plan.keep.clone() };
        call.record::<Workspace>(&workspace.task, held.ver, removed).map(drop)
    })?;
    Ok(Gone { branch_deleted, ..plan.foreseen() })
}

fn would_lose(workspace: &Workspace, lost: &[Lost]) -> Refusal {
    let risk = AtRisk::of(lost);
    let total = |pick: fn(&Lost) -> usize| lost.iter().map(pick).sum::<usize>();
    let files = total(|lost| usize::from(matches!(lost, Lost::File(_))));
    let commits = |lost: &Lost, wanted: fn(&Whose) -> bool| match lost {
        Lost::Commits { whose, commits, .. } if wanted(whose) => commits.len(),
        _ => 0,
    };
    let parts = [
        (files, "uncommitted paths"),
        (lost.iter().map(|lost| commits(lost, |whose| *whose == Whose::Branch)).sum(), "unpublished commits"),
        (lost.iter().map(|lost| commits(lost, |whose| *whose == Whose::Head)).sum(), "commits that no branch has"),
        (risk.repositories.len(), "things in repositories inside"),
        (
            total(|lost| match lost {
                Lost::Ignored { files, .. } => usize::try_from(*files).unwrap_or(usize::MAX),
                _ => 0,
            }),
            "files that git ignores",
        ),
        (usize::from(risk.locked.is_some()), "lock that somebody set on it"),
    ];
    let named = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let words = format!("removing `{}` would lose {}", workspace.path, named.collect::<Vec<_>>().join(", "));
    let refusal = Refusal::new(Code::WOULD_LOSE_WORK, words).with("path", &workspace.path).with("would_lose", &risk);
    refused(with_ways_out(refusal, workspace, lost), workspace)
}

/// Adds the call that would remove it all the same, where one may.
fn with_ways_out(refusal: Refusal, workspace: &Workspace, lost: &[Lost]) -> Refusal {
    let ignored = lost.iter().any(|lost| matches!(lost, Lost::Ignored { .. }));
    let commits = lost.iter().any(|lost| matches!(lost, Lost::Commits { whose: Whose::Branch | Whose::Head, .. }));
    let unpublished = lost.iter().any(|lost| matches!(lost, Lost::Commits { whose: Whose::Branch, .. }));
    let rest = lost.iter().any(|lost| {
        matches!(lost, Lost::File(_) | Lost::Unread { .. } | Lost::Locked { .. })
            || matches!(lost, Lost::Commits { whose: Whose::Repository(_), .. })
    });
    let task = &workspace.task;
    let refusal = match unpublished {
        true => {
            refusal.next("publish", "puts its commits on the remote, once they are validated", json!({ "task": task }))
        }
        false => refusal,
    };
    let mut params = json!({ "task": task });
    if commits {
        params["keep_commits"] = json!(true);
    }
    if ignored {
        params["with_ignored"] = json!(true);
    }
    match (rest, commits, ignored) {
        (true, _, _) | (_, false, false) => refusal,
        (_, true, false) => {
            refusal.next("workspace.remove", "removes it; its commits stay under the branch or a ref", params)
        }
        (_, false, true) => {
            refusal.next("workspace.remove", "removes it with the ignored files, if nobody needs them", params)
        }
        (_, true, true) => {
            refusal.next("workspace.remove", "removes it with the ignored files; its commits stay", params)
        }
    }
}

fn refused(refusal: Refusal, workspace: &Workspace) -> Refusal {
    if refusal.code() != Code::WOULD_LOSE_WORK {
        return refusal;
    }
    refusal.next("workspace.status", "shows what is there", json!({ "task": workspace.task }))
}
