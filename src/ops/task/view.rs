//! A task as answers show it.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::domain::commitment::Commitment;
use crate::domain::contract::Contract;
use crate::domain::digest::Digest;
use crate::domain::id::{AgentName, CommitmentId, SessionId, TaskId};
use crate::domain::refusal::Refusal;
use crate::domain::stamp::Stamp;
use crate::domain::task::{Block, Claim, Completion, Task, TaskStatus};
use crate::ops::call::Call;

use super::needs;

/// One line of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    pub id: TaskId,
    pub title: String,
    pub status: TaskStatus,
    pub priority: u8,
    /// Who holds the claim.
    pub holder: Option<AgentName>,
    pub until: Option<Stamp>,
    /// Needed tasks that are not finished.
    pub blocked_by: Vec<TaskId>,
    pub labels: Vec<String>,
    pub parent: Option<TaskId>,
    pub commitment: Option<CommitmentId>,
}

impl Line {
    pub fn of(call: &Call<'_>, task: Task) -> Result<Self, Refusal> {
        let blocked_by = if task.status.is_over() { Vec::new() } else { needs::unmet(call, &task)? };
        Ok(Self {
            blocked_by,
            holder: task.claim.as_ref().map(|claim| claim.agent.clone()),
            until: task.claim.as_ref().map(|claim| claim.until),
            id: task.id,
            title: task.title,
            status: task.status,
            priority: task.priority,
            labels: task.labels,
            parent: task.parent,
            commitment: task.commitment,
        })
    }
}

/// The whole task.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Whole {
    pub id: TaskId,
    pub title: String,
    pub status: TaskStatus,
    pub priority: u8,
    pub contract: Contract,
    pub contract_digest: Digest,
    /// Its commitment's contract, which it is held to where it has no criteria of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_to: Option<Contract>,
    pub needs: Vec<TaskId>,
    /// Needed tasks that are not finished, computed over the whole board.
    pub blocked_by: Vec<TaskId>,
    pub paths: Vec<String>,
    pub labels: Vec<String>,
    pub parent: Option<TaskId>,
    pub children: Vec<TaskId>,
    pub commitment: Option<CommitmentId>,
    pub claim: Option<Claim>,
    pub fence: u64,
    pub block: Option<Block>,
    /// Since when finishing is given up on: it was refused too often without progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Stamp>,
    pub completion: Option<Completion>,
    pub note: Option<String>,
    pub created_at: Stamp,
    pub updated_at: Stamp,
}

impl Whole {
    pub fn of(call: &Call<'_>, task: Task) -> Result<Self, Refusal> {
        Ok(Self {
            blocked_by: needs::unmet(call, &task)?,
            held_to: held_to(call, &task)?,
            exhausted: task.rejections.exhausted.filter(|_| !task.status.is_over()),
            claim: task.claim.filter(|_| !task.status.is_over()),
            id: task.id,
            title: task.title,
            status: task.status,
            priority: task.priority,
            contract: task.contract,
            contract_digest: task.contract_digest,
            needs: task.needs,
            paths: task.paths,
            labels: task.labels,
            parent: task.parent,
            children: task.children,
            commitment: task.commitment,
            fence: task.fence,
            block: task.block,
            completion: task.completion,
            note: task.note,
            created_at: task.created_at,
            updated_at: task.updated_at,
        })
    }
}

/// The commitment's contract, where that is what counts.
fn held_to(call: &Call<'_>, task: &Task) -> Result<Option<Contract>, Refusal> {
    let Some(id) = task.commitment.as_ref().filter(|_| task.contract.criteria.is_empty()) else { return Ok(None) };
    Ok(call.load::<Commitment>(id)?.map(|held| held.value.contract))
}

/// A claim as it stands after a call.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Claimed {
    pub task: TaskId,
    pub title: String,
    /// Always true in an answer: a loser gets a refusal.
    pub claimed: bool,
    pub agent: AgentName,
    pub session: Option<SessionId>,
    pub fence: u64,
    pub until: Stamp,
    /// What the last holder left.
    pub note: Option<String>,
}

impl Claimed {
    pub fn of(task: &Task, claim: &Claim) -> Self {
        Self {
            task: task.id.clone(),
            title: task.title.clone(),
            claimed: true,
            agent: claim.agent.clone(),
            session: claim.session.clone(),
            fence: claim.fence,
            until: claim.until,
            note: task.note.clone(),
        }
    }
}

/// Proposes to be told what the task needs, with the mandates of the gate that the work heads for.
pub fn propose_context(call: &mut Call<'_>, task: &TaskId) {
    let params = json!({ "task": task, "op": "task.finish" });
    call.propose("context.resolve", "says what the task needs to be known", params);
}

/// Proposes what a claim is for.
pub fn propose_work(call: &mut Call<'_>, task: &TaskId) {
    call.propose("workspace.ensure", "makes the task's own worktree and branch", json!({ "task": task }));
    propose_context(call, task);
}
