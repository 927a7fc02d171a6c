//! A workspace as it is: what the ledger says, and what is on disk.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::domain::fold::Kind;
use crate::domain::id::{Oid, TaskId};
use crate::domain::path::TreePath;
use crate::domain::publication::{Publication, PublicationStatus};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::Task;
use crate::domain::workspace::{Workspace, WorkspaceStatus};
use crate::ops::call::Call;
use crate::ops::custody::workspace_required;
use crate::ops::fault;
use crate::ports::git::{Change, ChangeKind, Git, Head};
use crate::ports::ledger::Query;

/// How many paths or commits an answer lists.
pub const MAX_LISTED: usize = 50;
/// A larger ignored file is not compared with the root's, in bytes; it counts as being only here.
const MAX_COMPARED_BYTES: u64 = 16 * 1024 * 1024;

/// Something that stands in the way of work or publication, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Obstacle {
    /// A stable name.
    pub code: &'static str,
    pub what: String,
    pub remedy: String,
}

/// One changed path, for people.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Changed {
    pub path: String,
    pub kind: String,
}

impl Changed {
    pub fn of(change: &Change) -> Self {
        let kind = match &change.kind {
            ChangeKind::Added => "added".to_owned(),
            ChangeKind::Modified => "modified".to_owned(),
            ChangeKind::Deleted => "deleted".to_owned(),
            ChangeKind::TypeChanged => "type_changed".to_owned(),
            ChangeKind::Untracked => "untracked".to_owned(),
            ChangeKind::Renamed { from } => format!("renamed from {from}"),
            ChangeKind::Conflicted => "conflicted".to_owned(),
        };
        Self { path: change.path.to_string(), kind }
    }
}

/// The open workspace of `task`, whether or not its directory is still there.
///
/// # Errors
/// `WORKSPACE_REQUIRED` when there is none.
pub fn open(call: &Call<'_>, task: &TaskId) -> Result<Workspace, Refusal> {
    let held = call.load::<Workspace>(task)?.filter(|held| held.value.status == WorkspaceStatus::Open);
    match held {
        Some(held) if Path::new(&held.value.path).is_absolute() => Ok(held.value),
        _ => Err(workspace_required(task)),
    }
}

/// The open workspace of `task`, with its directory there.
///
/// # Errors
/// `WORKSPACE_REQUIRED`, with the directory that is missing; `WORKSPACE_FAILED` where something else took its place.
pub fn standing(call: &Call<'_>, task: &TaskId) -> Result<Workspace, Refusal> {
    let workspace = open(call, task)?;
    let path = Path::new(&workspace.path);
    // A link that leads nowhere is in the way, and not missing.
    if !call.world.trees.exists(path) && !call.world.trees.is_link(path) {
        return Err(workspace_required(task).with("missing", workspace.path));
    }
    match call.repository()?.estranged(path).map_err(fault::of_git)? {
        None => Ok(workspace),
        Some(why) => Err(taken(path, &why).next(
            "workspace.ensure",
            "makes it again, once what is there has been moved away",
            json!({ "task": task }),
        )),
    }
}

/// What took the place of the workspace at `path`, if anything did.
pub fn replaced(call: &Call<'_>, path: &Path) -> Result<Option<Obstacle>, Refusal> {
    if !call.world.trees.exists(path) && !call.world.trees.is_link(path) {
        return Ok(None);
    }
    let why = call.repository()?.estranged(path).map_err(fault::of_git)?;
    Ok(why.map(|why| Obstacle {
        code: "not_the_workspace",
        what: format!("`{}` cannot be the workspace: {why}", path.display()),
        remedy: "move what is there away, and call workspace.ensure".to_owned(),
    }))
}

/// What is at `path` is not the workspace that stands recorded there: nothing is judged in it, and nothing made over it.
pub fn taken(path: &Path, why: &str) -> Refusal {
    let shown = path.display().to_string();
    Refusal::new(Code::WORKSPACE_FAILED, format!("`{shown}` cannot be the workspace: {why}"))
        .with("path", shown)
        .with("remedy", "move what is there away, or name another `workspace.dir` in the profile")
}

/// The work tree that a call about `task` is judged in: its workspace, or else the one the call was made in.
pub fn work_tree_for(call: &Call<'_>, task: Option<&TaskId>) -> Result<(PathBuf, Option<Workspace>), Refusal> {
    if let Some(task) = task
        && open(call, task).is_ok()
    {
        let workspace = standing(call, task)?;
        return Ok((PathBuf::from(&workspace.path), Some(workspace)));
    }
    Ok((call.work_tree()?.to_owned(), None))
}

/// What stands in the way in a work tree, whatever the work is.
pub fn obstacles(head: &Head, branch: &str) -> Vec<Obstacle> {
    let mut found = Vec::new();
    if head.at.branch() != Some(branch) {
        let at = head.at.branch().map_or_else(|| "no branch".to_owned(), |other| format!("`{other}`"));
        found.push(Obstacle {
            code: "other_branch",
            what: format!("the workspace is on {at}, not on `{branch}`"),
            remedy: format!("git switch {branch}"),
        });
    }
    if let Some(operation) = head.in_progress {
        found.push(Obstacle {
            code: "operation_in_progress",
            what: format!("git has begun and not ended: {operation:?}"),
            remedy: "continue it or abort it, with the git command that began it".to_owned(),
        });
    }
    if let Some(lock) = &head.index_lock {
        let path = lock.path.display();
        found.push(Obstacle {
            code: "index_locked",
            what: format!("`{path}` is {} s old: a git process holds it, or a dead one left it", lock.age_ms / 1000),
            remedy: "wait for the git process; if none is running here, remove that one file by hand".to_owned(),
        });
    }
    found
}

/// Commits that verified publications of `task` put on the remote.
pub fn published(call: &Call<'_>, task: &TaskId) -> Result<Vec<Publication>, Refusal> {
    let query = Query {
        parent: Some(task.to_string()),
        statuses: vec![PublicationStatus::Done.name()],
        ..Query::all(Kind::Publication)
    };
    Ok(call.query::<Publication>(&query)?.into_iter().map(|held| held.value).collect())
}

/// What removing the workspace, or leaving it behind, would lose.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct AtRisk {
    /// Paths that are not committed.
    pub uncommitted: Vec<String>,
    /// Commits that no remote has.
    pub unpublished: Vec<String>,
    /// Files that git ignores one by one, such as `.env`, unless the root's own work tree has the same. A directory that
    /// is ignored as a whole holds what a build makes again, and is not listed.
    pub ignored: Vec<String>,
}

impl AtRisk {
    pub fn is_empty(&self) -> bool {
        self.uncommitted.is_empty() && self.unpublished.is_empty() && self.ignored.is_empty()
    }
}

/// Looks for what would be lost with `workspace`.
pub fn at_risk(call: &Call<'_>, git: &dyn Git, workspace: &Workspace) -> Result<AtRisk, Refusal> {
    let mut risk = AtRisk::default();
    let path = Path::new(&workspace.path);
    // What else lies there is not the workspace's to lose, and its removal is refused.
    if call.world.trees.exists(path) && git.estranged(path).map_err(fault::of_git)?.is_none() {
        let dirt = git.dirt(path).map_err(fault::of_git)?;
        risk.uncommitted = dirt.iter().take(MAX_LISTED).map(|change| change.path.to_string()).collect();
        risk.ignored = ignored_only_here(call, git, path)?;
    }
    if let Some(tip) = git.branch_tip(&workspace.branch).map_err(fault::of_git)? {
        let mut kept: Vec<Oid> =
            published(call, &workspace.task)?.into_iter().filter_map(|publication| publication.observed).collect();
        kept.extend(workspace.base.clone());
        let unpublished = git.unpublished(&tip, &kept).map_err(fault::of_git)?;
        let line = |commit: &crate::ports::git::CommitLine| format!("{} {}", commit.oid.short(), commit.subject);
        risk.unpublished = unpublished.commits.iter().take(MAX_LISTED).map(line).collect();
    }
    Ok(risk)
}

/// Files that git ignores one by one and that the root's own work tree does not have with the same content.
fn ignored_only_here(call: &Call<'_>, git: &dyn Git, path: &Path) -> Result<Vec<String>, Refusal> {
    let root = git.place().main_work_tree.clone();
    let trees = call.world.trees;
    let read = |top: &Path, file: &TreePath| trees.read(top, file, MAX_COMPARED_BYTES).ok().flatten();
    let is_copy = |file: &TreePath| {
        let here = read(path, file);
        here.is_some() && root.as_deref().is_some_and(|root| read(root, file) == here)
    };
    let ignored = git.ignored(path).map_err(fault::of_git)?;
    let files = ignored.iter().filter(|file| !file.as_bytes().ends_with(b"/") && !is_copy(file));
    Ok(files.take(MAX_LISTED).map(ToString::to_string).collect())
}

/// Whether the caller may change the workspace of `task`: its holder, or anybody once nobody holds it, or a person.
pub fn judge_holder(call: &Call<'_>, task: &Task) -> Result<(), Refusal> {
    let now = call.now();
    match task.live_claim(now) {
        Some(claim) if claim.session != call.caller.session && !call.caller.is_person() => {
            Err(fault::task_held(task, now))
        }
        _ => Ok(()),
    }
}
