//! How a refused finish says what is missing, how often it was said, and what leads on.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::contract::CriterionId;
use crate::domain::id::{EvidenceId, TaskId};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::{Call, Held};
use crate::ops::task::onward;
use crate::rules::verification::state::{CompletionFacts, CriterionState, Last, Standing, completion};

use super::gate::{self, Judged};
use super::integrity;

/// Why a task is not finished. Stable words; the first that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Blocked,
    WaitsForTask,
    CheckRunning,
    /// Neither the contract nor the profile asks for anything.
    NothingRequired,
    /// Only others can show what is unmet: a person, or who signs a receipt.
    AwaitsPerson,
    /// It was refused too often without progress.
    Exhausted,
    /// A check cannot be run here.
    Unavailable,
    Unmet,
}

impl Reason {
    /// Whether it costs an attempt: not where somebody or something else has to act first.
    pub const fn is_charged(self) -> bool {
        match self {
            Reason::Unmet | Reason::NothingRequired => true,
            Reason::Blocked
            | Reason::WaitsForTask
            | Reason::CheckRunning
            | Reason::AwaitsPerson
            | Reason::Exhausted
            | Reason::Unavailable => false,
        }
    }
}

/// What stands against a task's end.
pub struct Rejection<'a> {
    pub task: &'a Task,
    pub judged: &'a Judged,
    /// Needed tasks that are not finished.
    pub waits_for: &'a [TaskId],
}

/// A required criterion that is not met.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Unmet {
    pub id: CriterionId,
    pub statement: String,
    pub state: Standing,
    pub last: Option<Last>,
    pub evidence: Option<EvidenceId>,
    /// How often before it was unmet for the same reason.
    pub repeat_count: u32,
}

impl Unmet {
    pub fn of(state: &CriterionState, repeat_count: u32) -> Self {
        Self {
            id: state.id.clone(),
            statement: state.statement.clone(),
            state: state.state,
            last: state.last.clone(),
            evidence: state.evidence.clone(),
            repeat_count,
        }
    }
}

/// Records one refusal more.
///
/// # Errors
/// `LEDGER_BUSY` if the task moved meanwhile.
pub fn count(
    call: &mut Call<'_>,
    held: &Held<Task>,
    judged: &Judged,
    turn: Option<String>,
) -> Result<Held<Task>, Refusal> {
    call.record::<Task>(&held.value.id, held.ver, judged.rejected(held.value.fence, turn))
}

/// Records that it was refused too often: no turn is held up any more, and the gates stay shut until there is progress.
///
/// # Errors
/// `LEDGER_BUSY` if the task moved meanwhile.
pub fn give_up(call: &mut Call<'_>, held: &Held<Task>, judged: &Judged) -> Result<Held<Task>, Refusal> {
    let (fence, attempts) = (held.value.fence, held.value.rejections.total);
    let exhausted = TaskEvent::FinalizationExhausted { fence, unmet: judged.unmet_ids(), attempts };
    call.record::<Task>(&held.value.id, held.ver, exhausted)
}

/// Adds what is unmet, met and waived.
pub fn with_criteria(refusal: Refusal, judged: &Judged, unmet: Vec<Unmet>) -> Refusal {
    let met = judged.criteria.iter().filter(|state| state.state == Standing::Met).map(|state| &state.id);
    refusal.with("unmet", unmet).with("met", met.collect::<Vec<_>>()).with("waived", waived(judged))
}

impl Rejection<'_> {
    pub fn reason(&self) -> Reason {
        let unmet = self.judged.unmet().len();
        if self.task.block.is_some() {
            Reason::Blocked
        } else if !self.waits_for.is_empty() {
            Reason::WaitsForTask
        } else if self.judged.running.is_some() {
            Reason::CheckRunning
        } else if self.judged.awaits_others() {
            Reason::AwaitsPerson
        } else if self.task.rejections.is_shut(unmet) {
            Reason::Exhausted
        } else if self.judged.unmet().iter().any(|state| state.state == Standing::Unavailable) {
            Reason::Unavailable
        } else if unmet == 0 {
            Reason::NothingRequired
        } else {
            Reason::Unmet
        }
    }

    /// The refusal, with everything that is missing and how to get it.
    pub fn refusal(&self) -> Refusal {
        let Rejection { task, judged, waits_for } = self;
        let (reason, left) = (self.reason(), task.rejections.left());
        let facts = CompletionFacts { blocked: task.block.is_some(), claimed_done: true, criteria: &judged.criteria };
        let refusal = Refusal::new(Code::FINALIZATION_REJECTED, self.sentence())
            .with("reason", reason)
            .with("state", completion(facts))
            .with("attempt", task.rejections.total)
            .with("attempts_left", left)
            .with("blocked", &task.block)
            .with("blocked_by", waits_for)
            .with("running", judged.running.as_ref().map(|run| &run.id));
        let refusal = with_criteria(refusal, judged, self.unmet());
        match (reason, waits_for.first()) {
            (Reason::Blocked, _) => onward::unblock(refusal.with("lifted_by", lifted_by(task)), task),
            (Reason::WaitsForTask, Some(first)) => {
                refusal.next("task.show", "shows what it waits for", json!({ "task": first }))
            }
            _ => propose(refusal, task, judged, left),
        }
    }

    pub fn unmet(&self) -> Vec<Unmet> {
        let unmet = |state: &CriterionState| Unmet::of(state, self.task.rejections.repeats_of(&state.id));
        self.judged.unmet().into_iter().map(unmet).collect()
    }

    /// Where the task stands, in one sentence.
    pub fn sentence(&self) -> String {
        let Rejection { task, judged, waits_for } = self;
        let words = sentence(task, judged, waits_for);
        match self.reason() {
            Reason::Exhausted => {
                let refused = task.rejections.total;
                format!("{words}; it was refused {refused} times without progress, and a person decides how it goes on")
            }
            _ => words,
        }
    }
}

/// Who can lift the block: a question is a person's to answer.
pub fn lifted_by(task: &Task) -> &'static str {
    match task.block.as_ref().is_some_and(|block| block.question.is_some()) {
        true => "person",
        false => "holder",
    }
}

/// What a person waived, with the reason and the end of it.
fn waived(judged: &Judged) -> Vec<Value> {
    judged
        .criteria
        .iter()
        .filter_map(|state| state.waiver.as_ref())
        .map(|waiver| json!({ "id": waiver.criterion, "reason": waiver.reason, "until": waiver.until }))
        .collect()
}

fn sentence(task: &Task, judged: &Judged, waits_for: &[TaskId]) -> String {
    let id = &task.id;
    if let Some(block) = &task.block {
        return format!("task `{id}` is blocked: {}", block.reason);
    }
    if let Some(first) = waits_for.first() {
        return format!("task `{id}` needs `{first}` first, which is not finished");
    }
    if let Some(run) = &judged.running {
        return format!("task `{id}` has a check under way: `{}`", run.id);
    }
    let unmet = judged.unmet();
    match unmet.as_slice() {
        [] => format!(
            "task `{id}` has no criterion, and the profile requires no check: nothing could show that it is done"
        ),
        [one] => format!("task `{id}` is not done: `{}` is {}", one.id, standing(one)),
        [one, rest @ ..] => {
            let are = if rest.len() == 1 { "is" } else { "are" };
            format!("task `{id}` is not done: `{}` is {}, and {} more {are} unmet", one.id, standing(one), rest.len())
        }
    }
}

/// Where it stands, with the files that made it stale.
fn standing(state: &CriterionState) -> String {
    let changed = state.last.as_ref().map_or(&[][..], |last| last.changed.as_slice());
    match (state.state, changed) {
        (Standing::Stale, [_, ..]) => format!("stale ({} changed since)", few(changed)),
        (Standing::Suspicious, _) if integrity::is_held(state) => {
            let first = state.last.as_ref().and_then(|last| last.reasons.first());
            format!("held: {}", first.map_or("", String::as_str))
        }
        (Standing::NeverChecked, _) if state.by_person => "not attested yet: it waits for a person".to_owned(),
        (Standing::Failed, _) => "not met: its check failed".to_owned(),
        (other, _) => other.words().to_owned(),
    }
}

/// A sentence names so many files; the details name the others.
const MAX_NAMED: usize = 3;

fn few(files: &[String]) -> String {
    let shown = files.iter().take(MAX_NAMED).map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ");
    if files.len() > MAX_NAMED { format!("{shown} and {} more", files.len() - MAX_NAMED) } else { shown }
}

fn propose(refusal: Refusal, task: &Task, judged: &Judged, left: u32) -> Refusal {
    let id = &task.id;
    let ask = json!({
        "task": id,
        "reason": "finishing was refused",
        "question": "What should be done about the criteria that are not met?",
    });
    let refusal = match judged.unmet().iter().any(|state| integrity::is_held(state)) {
        true => {
            let why = "shows what is held and where: undo it, or a person decides";
            refusal.next(gate::FINDINGS, why, json!({ "task": id }))
        }
        false => refusal,
    };
    if judged.unmet().is_empty() || left == 0 {
        return refusal.next("task.block", "asks a person", ask);
    }
    let beyond = |state: &CriterionState| state.by_person || judged.is_by_others(state);
    let ids: Vec<_> = judged.unmet().iter().filter(|state| !beyond(state)).map(|state| &state.id).collect();
    if ids.is_empty() && judged.unmet().iter().all(|state| integrity::is_held(state)) {
        return refusal.next("task.block", "asks a person, who alone can accept it", ask);
    }
    if ids.is_empty() {
        let why = match judged.unmet().iter().all(|state| state.by_person) {
            true => "asks a person, who alone can attest it",
            false => "asks a person, since others have to hand it in",
        };
        return refusal.next("task.block", why, ask);
    }
    let why = match judged.unmet().first().map(|state| (state.state, &state.last)) {
        Some((Standing::Stale, Some(last))) if !last.changed.is_empty() => {
            format!("the evidence is older than {}", last.changed.join(", "))
        }
        _ => "makes evidence for what is unmet".to_owned(),
    };
    let explicit = judged.unmet().iter().all(|state| task.contract.criterion(&state.id).is_some());
    let params = if explicit { json!({ "task": id, "criteria": ids }) } else { json!({ "task": id }) };
    refusal.next("validate", why, params).next("task.block", "asks a person, if it cannot be met", ask)
}
