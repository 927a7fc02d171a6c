//! `finding.list`: what in a change weakens what judges it, where, and what a person decided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::finding::Decision;
use crate::domain::id::{CommitmentRef, FindingId, TaskRef};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ops::verification::integrity::{self, Item, State};
use crate::ops::verification::subject::Subject;
use crate::ops::verification::{assess, gate};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose work is looked at (default: inside a task's worktree, that task; elsewhere the tree here)
    #[serde(default)]
    task: Option<TaskRef>,
    /// The commitment whose work is looked at
    #[serde(default, alias = "commit")]
    commitment: Option<CommitmentRef>,
}

/// What a finding does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nothing is finished or published on it until it is undone or a person accepts it.
    Held,
    /// A person said no: it is undone, or stays held.
    Rejected,
    Accepted,
    /// It holds nothing up.
    Noted,
}

impl From<State> for Standing {
    fn from(state: State) -> Self {
        match state {
            State::Held => Standing::Held,
            State::Rejected => Standing::Rejected,
            State::Accepted => Standing::Accepted,
            State::Noted => Standing::Noted,
        }
    }
}

/// A finding, with where it is and what it was before.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    pub id: FindingId,
    pub state: Standing,
    pub kind: &'static str,
    /// The file and, where one is known, the line in it.
    pub at: String,
    pub test: Option<String>,
    pub before: Option<String>,
    pub after: Option<String>,
    pub message: String,
    /// What a person decided about exactly this edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

impl Line {
    pub fn of(item: Item) -> Self {
        let state = item.state().into();
        let finding = item.known.finding;
        Self {
            id: item.known.id,
            state,
            kind: finding.kind.name(),
            at: finding.line.map_or_else(|| finding.path.clone(), |line| format!("{}:{line}", finding.path)),
            test: finding.test,
            before: finding.before,
            after: finding.after,
            message: finding.message,
            decision: item.decision,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    work_tree: String,
    items: Vec<Line>,
    /// Files of the change that were not read whole, and why.
    unread: Vec<String>,
    /// How many more were found than are listed; none of them is held.
    omitted: usize,
    /// Tests that are new in the change: what they vouch for was written together with them.
    new_tests: usize,
}

pub struct ListFindings;

impl Op for ListFindings {
    const NAME: &'static str = gate::FINDINGS;
    const ABOUT: &'static str =
        "List what in a change weakens what judges it: tests, their configuration, snapshots, checks";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const COLUMNS: &'static [&'static str] = &["id", "state", "kind", "at", "test", "before", "after", "message"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl finding list t-7k2", "what its work does to the tests, against the base")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let subject = Subject::named(call, input.task.as_ref(), input.commitment.as_ref())?;
        let snapshot = assess::snapshot(call, &subject)?;
        let found = integrity::look(call, &subject, &snapshot)?;
        if let Some(first) = found.items.iter().find(|item| item.state() == State::Held) {
            let why = "a person accepts exactly this edit; undoing it needs nobody";
            let params = json!({ "finding": first.id(), "reason": "why it is right" });
            call.propose("finding.accept", why, params);
        }
        Ok(Out {
            work_tree: subject.work_tree.display().to_string(),
            items: found.items.into_iter().map(Line::of).collect(),
            unread: found.unread,
            omitted: found.omitted,
            new_tests: found.new_tests,
        })
    }
}
