//! `workspace.status`: what is in a workspace, and what stands between it and publication.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{Oid, TaskId, TaskRef};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::Op;
use crate::ports::git::{Ancestry, GitFault};

use super::look::{self, AtRisk, Changed, MAX_LISTED, Obstacle};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    task: TaskId,
    path: String,
    /// Whether its directory is there, and is its own.
    exists: bool,
    branch: String,
    head: Option<Oid>,
    /// The base it was made on.
    base: Option<Oid>,
    /// Where the accepted base is now, as far as this clone knows.
    accepted_base: Option<Oid>,
    clean: bool,
    /// Paths that are not committed.
    changes: Vec<Changed>,
    /// What would be lost with it.
    at_risk: AtRisk,
    blockers: Vec<Obstacle>,
    /// Commits that were published from it and read back.
    published: Vec<Oid>,
}

pub struct Status;

impl Op for Status {
    const NAME: &'static str = "workspace.status";
    const ABOUT: &'static str = "Show a workspace: changes, commits, blockers, what would be lost with it";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task"];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let task = call.task(&input.task)?.value;
        let workspace = look::open(call, &task.id)?;
        let path = Path::new(&workspace.path).to_owned();
        let published = look::published(call, &task.id)?.into_iter().filter_map(|done| done.observed).collect();
        let accepted = call.base()?;
        let replaced = look::replaced(call, &path)?;
        let exists = replaced.is_none() && call.world.trees.exists(&path);
        if !exists {
            call.propose("workspace.ensure", "makes its directory again", json!({ "task": task.id }));
        }
        let git = call.repository()?;
        let head = if exists { Some(git.head(&path).map_err(fault::of_git)?) } else { None };
        let changes = if exists { git.dirt(&path).map_err(fault::of_git)? } else { Vec::new() };
        let mut blockers = head.as_ref().map(|head| look::obstacles(head, &workspace.branch)).unwrap_or_default();
        blockers.extend(replaced);
        let commit = head.as_ref().and_then(|head| head.at.commit().cloned());
        if let (Some(commit), Some(accepted)) = (&commit, &accepted) {
            let builds_on = git.ancestry(&accepted.commit, commit).map_err(fault::of_git)?;
            blockers.extend(base_moved(builds_on, &accepted.reference));
        }
        let at_risk = match git.losses(&look::leaving(call, git, &workspace)?) {
            // Something else has its place: nothing there is the workspace's to lose.
            Err(GitFault::Taken { .. }) => AtRisk::default(),
            lost => AtRisk::of(&lost.map_err(fault::of_git)?),
        };
        let clean = changes.is_empty();
        let mut changes = look::by_path(&changes);
        call.cut(&mut changes, MAX_LISTED as u32, "changes", |change| change.path.clone());
        Ok(Out {
            exists,
            head: commit,
            accepted_base: accepted.map(|base| base.commit),
            clean,
            changes,
            at_risk,
            blockers,
            published,
            task: task.id,
            path: workspace.path,
            branch: workspace.branch,
            base: workspace.base,
        })
    }
}

fn base_moved(builds_on: Ancestry, reference: &str) -> Option<Obstacle> {
    let name = reference.trim_start_matches("refs/remotes/").trim_start_matches("refs/heads/");
    match builds_on {
        Ancestry::Yes => None,
        Ancestry::No => Some(Obstacle {
            code: "base_moved",
            what: format!("the work does not build on `{name}` as it is now"),
            remedy: format!("git rebase {name}, or git merge {name}; then validate again"),
        }),
        Ancestry::UnknownShallow => Some(Obstacle {
            code: "history_is_shallow",
            what: "this clone's history ends too early to tell what the work builds on".to_owned(),
            remedy: "git fetch --unshallow".to_owned(),
        }),
    }
}
