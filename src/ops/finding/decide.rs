//! What accepting and rejecting have in common: the finding as it is now, and a person's word on exactly that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::finding::{About, Decision, Finding, FindingEvent, Ruling};
use crate::domain::id::{FindingId, FindingRef, TaskId, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::Task;
use crate::ops::call::Call;
use crate::ops::verification::assess;
use crate::ops::verification::gate;
use crate::ops::verification::integrity::{self, Item, State};
use crate::ops::verification::subject::{Subject, open_workspaces};
use crate::rules::contract;

/// How many findings an ambiguous prefix is answered with.
const MAX_CANDIDATES: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    finding: FindingRef,
    /// Why, for whoever reads the record
    reason: String,
    /// The task in whose work it is (default: every open workspace and the tree here are looked through)
    #[serde(default)]
    task: Option<TaskRef>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    finding: FindingId,
    about: About,
    decision: Decision,
}

/// Records `ruling` on the finding as it is now.
///
/// # Errors
/// `NOT_FOUND` where no change has it, `CONFLICT` for what is only noted.
pub fn decide(call: &mut Call<'_>, input: &In, ruling: Ruling) -> Result<Out, Refusal> {
    contract::text("reason", &input.reason, 1)?;
    let (task, item) = find(call, input)?;
    if item.state() == State::Noted {
        let words = format!("`{}` is a note: it holds nothing up", item.id());
        return Err(Refusal::new(Code::CONFLICT, words).with("field", "finding").with("finding", item.id()));
    }
    let id = item.known.id.clone();
    let about = about(item, task.clone());
    let held = call.load_or_blank::<Finding>(&id)?;
    let (boxed, reason, grade) = (Box::new(about.clone()), input.reason.clone(), call.caller.grade);
    let event = match ruling {
        Ruling::Accepted => FindingEvent::Accepted { about: boxed, reason, grade },
        Ruling::Rejected => FindingEvent::Rejected { about: boxed, reason, grade },
    };
    let decision = call.record::<Finding>(&id, held.ver, event)?.value.decision;
    if let Some(task) = task {
        call.propose(gate::FINDINGS, "shows what is still held", json!({ "task": task }));
    }
    Ok(Out { finding: id, about, decision: decision.expect("it was just decided") })
}

fn about(item: Item, task: Option<TaskId>) -> About {
    let finding = item.known.finding;
    About {
        kind: finding.kind.name().to_owned(),
        path: finding.path,
        line: finding.line,
        test: finding.test,
        before: finding.before,
        after: finding.after,
        message: finding.message,
        digest: item.known.digest,
        task,
    }
}

/// The one finding whose id is, or begins with, what was given; and whose work it is in.
fn find(call: &Call<'_>, input: &In) -> Result<(Option<TaskId>, Item), Refusal> {
    let wanted = input.finding.as_str();
    let mut found: Vec<(Option<TaskId>, Item)> = Vec::new();
    for subject in subjects(call, input)? {
        let snapshot = assess::snapshot(call, &subject)?;
        for item in integrity::look(call, &subject, &snapshot)?.items {
            let known = found.iter().any(|(_, other)| other.id() == item.id());
            if item.id().as_str().starts_with(wanted) && !known {
                found.push((subject.task.clone(), item));
            }
        }
    }
    if found.len() > 1 {
        let ids: Vec<_> = found.iter().take(MAX_CANDIDATES).map(|(_, item)| item.id()).collect();
        return Err(Refusal::new(Code::NOT_FOUND, format!("more than one finding starts with `{wanted}`"))
            .with("field", "finding")
            .with("candidates", ids));
    }
    found.pop().ok_or_else(|| {
        let params = input.task.as_ref().map_or_else(|| json!({}), |task| json!({ "task": task }));
        Refusal::new(Code::NOT_FOUND, format!("no change has the finding `{wanted}` now"))
            .with("field", "finding")
            .next(gate::FINDINGS, "lists the findings there are", params)
    })
}

/// Whose work is looked through: that of the task, or of every open workspace and the tree here.
fn subjects(call: &Call<'_>, input: &In) -> Result<Vec<Subject>, Refusal> {
    if input.task.is_some() {
        return Ok(vec![Subject::named(call, input.task.as_ref(), None)?]);
    }
    let mut subjects = Vec::new();
    for workspace in open_workspaces(call)? {
        let Some(task) = call.load::<Task>(&workspace.task)? else { continue };
        // One whose directory is gone has nothing to decide about.
        match Subject::of_task(call, &task.value) {
            Ok(subject) => subjects.push(subject),
            Err(why) if matches!(why.code(), Code::WORKSPACE_REQUIRED | Code::WORKSPACE_FAILED) => {}
            Err(why) => return Err(why),
        }
    }
    match Subject::named(call, None, None) {
        Ok(here) => subjects.push(here),
        Err(why) if why.code() == Code::NO_WORK_TREE => {}
        Err(why) => return Err(why),
    }
    Ok(subjects)
}
