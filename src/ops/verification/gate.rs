//! What is asked before something counts as done, and how a refusal says what is missing.

use serde_json::{Value, json};

use crate::domain::contract::{Criterion, Proof};
use crate::domain::digest::{Digest, Fields};
use crate::domain::fold::Kind;
use crate::domain::id::TaskId;
use crate::domain::profile::Profile;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::Run;
use crate::domain::task::{Rejections, Task};
use crate::ops::call::Call;
use crate::ops::task::onward;
use crate::ports::ledger::Query;
use crate::rules::verification::due::What;
use crate::rules::verification::state::{self, CriterionState, Standing};

use super::assess::{self, Assessed};
use super::integrity;
use super::subject::Subject;

/// How often in a row finishing is refused on the same basis before a person should be asked.
pub const MAX_UNCHANGED: u32 = 3;
/// How often it is refused at all before that, unless there is progress.
pub const MAX_TOTAL: u32 = 8;

/// Shows the findings of a change.
pub const FINDINGS: &str = "finding.list";

/// Where the subject stands, looked up now.
pub struct Judged {
    pub criteria: Vec<CriterionState>,
    /// What was judged: the unmet criteria with their states, and the tree. Two refusals on one basis are the same.
    pub basis: Digest,
    /// A check that is under way.
    pub running: Option<Run>,
}

impl Judged {
    pub fn unmet(&self) -> Vec<&CriterionState> {
        self.criteria.iter().filter(|state| state.required && !state.state.is_settled()).collect()
    }
}

/// Looks at a task and judges each criterion. A contract that requires nothing is held to what the profile requires.
/// Called under the lock that the record is made under.
pub fn judge(call: &Call<'_>, subject: &Subject) -> Result<Judged, Refusal> {
    judge_by(call, subject, !subject.contract.requires_something())
}

/// Looks at a commitment and judges each criterion. It is held to its own criteria and to nothing else.
pub fn judge_commitment(call: &Call<'_>, subject: &Subject) -> Result<Judged, Refusal> {
    judge_by(call, subject, false)
}

fn judge_by(call: &Call<'_>, subject: &Subject, implicit: bool) -> Result<Judged, Refusal> {
    let snapshot = assess::snapshot(call, subject)?;
    let due = subject.due(implicit);
    let assessed = assess::look_up(call, subject, due, &snapshot)?;
    let mut criteria = assess::criteria(call, subject, &assessed, &snapshot)?;
    if let Some(profile) = subject.judge().filter(|_| implicit) {
        hold_to_required(call, subject, &assessed, profile, &mut criteria);
    }
    let mut fields = Fields::new();
    for state in criteria.iter().filter(|state| state.state != Standing::Met) {
        fields.push(state.id.as_str().as_bytes()).push(format!("{:?}", state.state).as_bytes());
        let held = state.last.iter().filter(|_| integrity::is_held(state)).flat_map(|last| &last.reasons);
        for reason in held {
            fields.push(reason.as_bytes());
        }
    }
    for one in &assessed {
        fields.push(one.input.as_str().as_bytes());
    }
    Ok(Judged { criteria, basis: fields.finish(), running: running(call, subject)? })
}

/// Adds what `profile` requires to `criteria`, each check as a criterion of its own. A check that a required criterion
/// rests on stands there already; one that is optional in the contract takes nothing from what the profile requires.
pub fn hold_to_required(
    call: &Call<'_>,
    subject: &Subject,
    assessed: &[Assessed],
    profile: &Profile,
    criteria: &mut Vec<CriterionState>,
) {
    for (name, _) in profile.required() {
        let is_it = |one: &&Assessed| matches!(&one.due.what, What::Check { name: known, .. } if known == name);
        let Some(one) = assessed.iter().find(is_it) else { continue };
        // A waiver is for a criterion of the contract: what the base requires is not waived by it (I7).
        let stands = |state: &CriterionState| state.required && state.state != Standing::Waived;
        let rests_on_it = |state: &CriterionState| stands(state) && one.due.criteria.contains(&state.id);
        if !criteria.iter().any(rests_on_it) {
            criteria.push(as_criterion(call, subject, one));
        }
    }
}

fn as_criterion(call: &Call<'_>, subject: &Subject, one: &Assessed) -> CriterionState {
    let name = one.due.title();
    let statement = format!("check `{name}`, which the profile requires, passes");
    let id = name.parse().expect("a check's name is a legal criterion id");
    let criterion = Criterion { id, statement, required: true, proof: Proof::Check { check: name } };
    state::judge(&criterion, &one.found, subject.bar(call.now()))
}

fn running(call: &Call<'_>, subject: &Subject) -> Result<Option<Run>, Refusal> {
    let Some(task) = &subject.task else { return Ok(None) };
    let query = Query {
        parent: Some(task.to_string()),
        statuses: vec!["running"],
        live_at: Some(call.now()),
        limit: 1,
        ..Query::all(Kind::Run)
    };
    Ok(call.query::<Run>(&query)?.pop().map(|held| held.value))
}

/// The refusal of `task.finish`, with everything that is missing and how to get it.
pub fn rejected(task: &Task, judged: &Judged, waits_for: &[TaskId], rejections: &Rejections) -> Refusal {
    let unmet: Vec<Value> = judged.unmet().iter().map(|state| unmet(state, rejections.unchanged)).collect();
    let met: Vec<_> =
        judged.criteria.iter().filter(|state| state.state == Standing::Met).map(|state| &state.id).collect();
    let left = MAX_UNCHANGED.saturating_sub(rejections.unchanged).min(MAX_TOTAL.saturating_sub(rejections.total));
    let refusal = Refusal::new(Code::FINALIZATION_REJECTED, sentence(task, judged, waits_for))
        .with("attempt", rejections.total)
        .with("attempts_left", left)
        .with("unmet", &unmet)
        .with("met", met)
        .with("waived", waived(judged))
        .with("blocked", &task.block)
        .with("blocked_by", waits_for)
        .with("running", judged.running.as_ref().map(|run| &run.id));
    match waits_for.first() {
        Some(first) if task.block.is_none() => {
            refusal.next("task.show", "shows what it waits for", json!({ "task": first }))
        }
        _ => propose(refusal, task, judged, left),
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

fn unmet(state: &CriterionState, repeats: u32) -> Value {
    json!({
        "id": state.id,
        "statement": state.statement,
        "state": state.state,
        "last": state.last,
        "evidence": state.evidence,
        "repeat_count": repeats.saturating_sub(1),
    })
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
        (Standing::Failed, _) => "not met: its check failed".to_owned(),
        (other, _) => words(other).to_owned(),
    }
}

/// A sentence names so many files; the details name the others.
const MAX_NAMED: usize = 3;

fn few(files: &[String]) -> String {
    let shown = files.iter().take(MAX_NAMED).map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ");
    if files.len() > MAX_NAMED { format!("{shown} and {} more", files.len() - MAX_NAMED) } else { shown }
}

pub fn words(standing: Standing) -> &'static str {
    match standing {
        Standing::Met => "met",
        Standing::NeverChecked => "never checked",
        Standing::Failed => "failed",
        Standing::Error => "undecided, its check ended in an error",
        Standing::Unavailable => "unavailable",
        Standing::Stale => "stale",
        Standing::Flaky => "flaky: it passed and failed on the same inputs",
        Standing::Suspicious => "held back, its pass is suspicious",
        Standing::InsufficientStrength => "no more than asserted",
        Standing::Waived => "waived",
    }
}

fn propose(refusal: Refusal, task: &Task, judged: &Judged, left: u32) -> Refusal {
    let id = &task.id;
    let ask = json!({
        "task": id,
        "reason": "finishing was refused",
        "question": "What should be done about the criteria that are not met?",
    });
    if task.block.is_some() {
        return onward::unblock(refusal, task);
    }
    let refusal = match judged.unmet().iter().any(|state| integrity::is_held(state)) {
        true => {
            refusal.next(FINDINGS, "shows what is held and where: undo it, or a person decides", json!({ "task": id }))
        }
        false => refusal,
    };
    if judged.unmet().is_empty() || left == 0 {
        return refusal.next("task.block", "asks a person", ask);
    }
    let ids: Vec<_> = judged.unmet().iter().filter(|state| !state.by_person).map(|state| &state.id).collect();
    if ids.is_empty() && judged.unmet().iter().all(|state| integrity::is_held(state)) {
        return refusal.next("task.block", "asks a person, who alone can accept it", ask);
    }
    if ids.is_empty() {
        return refusal.next("task.block", "asks a person, who alone can attest it", ask);
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
