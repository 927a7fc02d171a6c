//! A workspace as it is: what the ledger says, and what is on disk.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::domain::fold::Kind;
use crate::domain::id::TaskId;
use crate::domain::publication::{Publication, PublicationStatus};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::Task;
use crate::domain::workspace::{Workspace, WorkspaceStatus};
use crate::ops::call::Call;
use crate::ops::custody::workspace_required;
use crate::ops::fault;
use crate::ports::git::{Change, ChangeKind, CommitLine, Git, Head, Leaving, Lost, Whose};
use crate::ports::ledger::Query;
use crate::rules::workspace as place;

/// How many paths or commits an answer lists.
pub const MAX_LISTED: usize = 50;

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

/// Changed paths for people, each once: what was staged and then changed again is one path.
pub fn by_path(changes: &[Change]) -> Vec<Changed> {
    let one = |changes: &[Change]| {
        let mut kinds: Vec<String> = changes.iter().map(|change| kind(&change.kind)).collect();
        kinds.dedup();
        Changed { path: changes[0].path.to_string(), kind: kinds.join(", then ") }
    };
    changes.chunk_by(|a, b| a.path == b.path).map(one).collect()
}

fn kind(kind: &ChangeKind) -> String {
    match kind {
        ChangeKind::Added => "added".to_owned(),
        ChangeKind::Modified => "modified".to_owned(),
        ChangeKind::Deleted => "deleted".to_owned(),
        ChangeKind::TypeChanged => "type_changed".to_owned(),
        ChangeKind::Untracked => "untracked".to_owned(),
        ChangeKind::Renamed { from } => format!("renamed from {from}"),
        ChangeKind::Conflicted => "conflicted".to_owned(),
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

/// The workspace of `task` that can be removed: an open one, or one that a crash left half made.
///
/// # Errors
/// `WORKSPACE_REQUIRED` when there is none.
pub fn removable(call: &Call<'_>, task: &TaskId) -> Result<Workspace, Refusal> {
    let held = call.load::<Workspace>(task)?.filter(|held| held.value.status != WorkspaceStatus::Removed);
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
    /// Paths that are not committed, in repositories inside as well.
    pub uncommitted: Vec<String>,
    /// Commits of the branch that no remote has.
    pub unpublished: Vec<String>,
    /// Commits that no branch has: of a detached head, or left behind by a reset or a switch.
    pub left: Vec<String>,
    /// Commits of submodules and other repositories inside that their remotes do not have, and repositories there that
    /// cannot be read.
    pub repositories: Vec<String>,
    /// Files that git ignores, unless the root's own work tree has the same. Not among them: directories with a
    /// `CACHEDIR.TAG`, and such as `node_modules`, `target` or `build` where an ignore rule names the directory.
    pub ignored: Vec<IgnoredHere>,
    /// Why somebody locked the worktree.
    pub locked: Option<String>,
    /// How much there is beyond what is listed here.
    pub not_listed: usize,
}

/// Ignored files that are nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IgnoredHere {
    /// A directory ends with `/`.
    pub path: String,
    pub files: u64,
    pub bytes: u64,
}

impl AtRisk {
    pub fn of(lost: &[Lost]) -> Self {
        let mut risk = Self::default();
        for one in lost {
            risk.add(one);
        }
        for list in [&mut risk.uncommitted, &mut risk.unpublished, &mut risk.left, &mut risk.repositories] {
            risk.not_listed += list.len().saturating_sub(MAX_LISTED);
            list.truncate(MAX_LISTED);
        }
        risk.not_listed += risk.ignored.len().saturating_sub(MAX_LISTED);
        risk.ignored.truncate(MAX_LISTED);
        risk
    }

    fn add(&mut self, lost: &Lost) {
        let line = |commit: &CommitLine| format!("{} {}", commit.oid.short(), commit.subject);
        match lost {
            Lost::File(path) => self.uncommitted.push(path.to_string()),
            Lost::Commits { whose: Whose::Branch, commits, .. } => self.unpublished.extend(commits.iter().map(line)),
            Lost::Commits { whose: Whose::Head, commits, .. } => self.left.extend(commits.iter().map(line)),
            Lost::Commits { whose: Whose::Repository(path), commits, .. } => {
                self.repositories.extend(commits.iter().map(|commit| format!("{path}: {}", line(commit))));
            }
            Lost::Unread { path, words } => self.repositories.push(format!("{path}: cannot be read: {words}")),
            Lost::Ignored { path, files, bytes } => {
                self.ignored.push(IgnoredHere { path: path.to_string(), files: *files, bytes: *bytes });
            }
            Lost::Locked { reason } => self.locked = Some(reason.clone()),
        }
    }
}

/// The worktree of `workspace` as what is to go.
pub fn leaving(call: &Call<'_>, git: &dyn Git, workspace: &Workspace) -> Result<Leaving, Refusal> {
    let published = published(call, &workspace.task)?.into_iter().filter_map(|publication| publication.observed);
    let place = git.place();
    let home = place::home(place.main_work_tree.as_deref().unwrap_or(&place.common_dir), None);
    let path = PathBuf::from(&workspace.path);
    Ok(Leaving {
        home: path.starts_with(&home).then_some(home),
        path,
        branch: Some(workspace.branch.clone()),
        base: workspace.base.clone(),
        kept: published.collect(),
    })
}

/// Whether the caller may change the workspace of `task`: its holder, or anybody once nobody works on it, or a person.
pub fn judge_holder(call: &Call<'_>, task: &Task) -> Result<(), Refusal> {
    let now = call.now();
    match task.live_claim(now) {
        // The claim on what is over only says who may publish it.
        _ if task.status.is_over() => Ok(()),
        Some(claim) if claim.session != call.caller.session && !call.caller.is_person() => {
            Err(fault::task_held(task, now))
        }
        _ => Ok(()),
    }
}
