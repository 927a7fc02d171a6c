//! `gate.push`: what git's pre-push hook asks. Early advice: `--no-verify` skips it, and CI does not (I10).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::{Oid, TaskId};
use crate::domain::profile::Gate;
use crate::domain::publication::{Publication, PublicationStatus};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::workspace::Workspace;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ports::git::Ancestry;
use crate::ports::ledger::Query;

/// The most refs one push may move past the gate.
const MAX_UPDATES: usize = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// What the push would move
    updates: Vec<Update>,
}

/// One ref that would be moved, as git tells its pre-push hook.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// The local ref's full name, or what was written in its place
    local_ref: String,
    /// `null` when the remote's ref would be deleted
    local_oid: Option<Oid>,
    /// The remote's ref, in full
    remote_ref: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    /// Always true in an answer: a push that is not let through is a refusal.
    allowed: bool,
    /// Refs that are governed and cleared.
    cleared: Vec<String>,
    /// Refs that the gate does not govern.
    ungoverned: Vec<String>,
}

pub struct GatePush;

impl Op for GatePush {
    const NAME: &'static str = "gate.push";
    const ABOUT: &'static str =
        "Judge a push: refuses work without clearance, and a session's push to a protected branch";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        if input.updates.len() > MAX_UPDATES {
            return Err(Refusal::invalid("updates", format!("at most {MAX_UPDATES} refs are judged at once")));
        }
        let rules = call.profile()?.publish;
        let everything = rules.gate == Gate::All;
        let base = call.base()?.map(|base| base.branch).unwrap_or_default();
        let mut out = Out { allowed: true, cleared: Vec::new(), ungoverned: Vec::new() };
        for update in &input.updates {
            let branch = update.remote_ref.strip_prefix("refs/heads/").unwrap_or_default();
            if call.caller.session.is_some() && rules.protects(branch, &base) {
                return Err(protected(call, update, branch));
            }
            let Some(commit) = &update.local_oid else {
                out.ungoverned.push(update.remote_ref.clone());
                continue;
            };
            let owner = owner(call, update, commit)?;
            if owner.is_none() && !everything {
                out.ungoverned.push(update.remote_ref.clone());
            } else if is_cleared(call, &update.remote_ref, commit)? {
                out.cleared.push(update.remote_ref.clone());
            } else {
                return Err(refused(update, commit, owner));
            }
        }
        Ok(out)
    }
}

/// The task whose work this is: its branch by name, or commits of it under another name.
fn owner(call: &Call<'_>, update: &Update, commit: &Oid) -> Result<Option<TaskId>, Refusal> {
    let open = Query { statuses: vec!["planned", "open"], ..Query::all(Kind::Workspace) };
    let workspaces = call.query::<Workspace>(&open)?;
    let git = call.repository()?;
    let here = git.place().work_tree.as_ref().map(|path| path.display().to_string());
    for workspace in workspaces.into_iter().map(|held| held.value) {
        let full = format!("refs/heads/{}", workspace.branch);
        let by_name = update.local_ref == full || update.remote_ref == full || here.as_ref() == Some(&workspace.path);
        if by_name || holds_work_of(git, &workspace, commit) {
            return Ok(Some(workspace.task));
        }
    }
    Ok(None)
}

/// Whether `commit` carries commits that only the workspace has: its branch's tip, unless that is still the base.
fn holds_work_of(git: &dyn crate::ports::git::Git, workspace: &Workspace, commit: &Oid) -> bool {
    let Ok(Some(tip)) = git.branch_tip(&workspace.branch) else { return false };
    let is_new = workspace.base.as_ref().is_none_or(|base| matches!(git.ancestry(&tip, base), Ok(Ancestry::No)));
    is_new && matches!(git.ancestry(&tip, commit), Ok(Ancestry::Yes))
}

/// An agent's work reaches a protected branch through review, never by a push of its own. A person may have exported
/// the session for the agent, and pushes from the same shell.
fn protected(call: &Call<'_>, update: &Update, branch: &str) -> Refusal {
    let words =
        format!("`{branch}` is protected: this push is made in a session, and no session pushes to it directly");
    let refusal = Refusal::new(Code::PROTECTED_BRANCH, words).with("reference", &update.remote_ref).with(
        "remedy",
        "a person pushes without a session: `unset KCTL_SESSION KCTL_TOKEN`, then push again; \
         an agent publishes its task's branch instead",
    );
    match call.base() {
        Ok(Some(base)) if base.profile.is_some() => {
            refusal.next("workspace.list", "lists the branches that work is published from", json!({}))
        }
        // kctl is just coming into the repository: there is no work to publish yet, and a person brings the profile.
        _ => refusal.next("doctor", "shows what the base still lacks", json!({})),
    }
}

fn is_cleared(call: &Call<'_>, reference: &str, commit: &Oid) -> Result<bool, Refusal> {
    let query = Query {
        name: Some(commit.to_string()),
        statuses: vec![PublicationStatus::Started.name(), PublicationStatus::Done.name()],
        ..Query::all(Kind::Publication)
    };
    let found = call.query::<Publication>(&query)?;
    Ok(found.iter().any(|held| held.value.cleared.as_ref().is_some_and(|cleared| cleared.reference == reference)))
}

fn refused(update: &Update, commit: &Oid, owner: Option<TaskId>) -> Refusal {
    let reference = &update.remote_ref;
    let words = format!("{} has no clearance for `{reference}`", commit.short());
    let refusal = Refusal::new(Code::NOT_CLEARED, words).with("commit", commit).with("reference", reference);
    match owner {
        Some(task) => refusal
            .with("task", &task)
            .next("validate", "shows everything that publication needs", json!({ "task": task, "scope": "branch" }))
            .next("publish", "clears and pushes exactly what was verified", json!({ "task": task })),
        None => refusal.next("task.ready", "shows work that can be claimed and published", json!({})),
    }
}
