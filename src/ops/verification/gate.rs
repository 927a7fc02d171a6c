//! What is asked before something counts as done.

use crate::domain::contract::{Criterion, CriterionId, LIMITS, Proof};
use crate::domain::digest::{Digest, Fields};
use crate::domain::fold::{Kind, Rel};
use crate::domain::profile::Profile;
use crate::domain::refusal::Refusal;
use crate::domain::run::Run;
use crate::domain::task::TaskEvent;
use crate::domain::tree::Snapshot;
use crate::ops::call::Call;
use crate::ports::ledger::Query;
use crate::rules::verification::due::What;
use crate::rules::verification::state::{self, CriterionState, Standing};

use super::assess::{self, Assessed};
use super::execute;
use super::integrity;
use super::subject::Subject;

/// Shows the findings of a change.
pub const FINDINGS: &str = "finding.list";

/// Where the subject stands, looked up now.
pub struct Judged {
    pub criteria: Vec<CriterionState>,
    /// What was judged: the unmet criteria with their states, and the tree. Two refusals on one basis are the same.
    pub basis: Digest,
    /// Of each unmet criterion: its state, and the inputs that it was judged on.
    pub bases: Vec<Digest>,
    /// Criteria that only others can show: a person's word, a signed receipt, another's judgement.
    pub by_others: Vec<CriterionId>,
    /// A check that is under way.
    pub running: Option<Run>,
    /// The tree that it was judged on.
    pub snapshot: Snapshot,
}

impl Judged {
    pub fn unmet(&self) -> Vec<&CriterionState> {
        unmet(&self.criteria).collect()
    }

    pub fn unmet_ids(&self) -> Vec<CriterionId> {
        unmet(&self.criteria).map(|state| state.id.clone()).collect()
    }

    /// Whether what is unmet is for others to show, all of it: no attempt of whoever works on it would change that.
    pub fn awaits_others(&self) -> bool {
        let unmet = self.unmet();
        !unmet.is_empty() && unmet.iter().all(|state| self.is_by_others(state))
    }

    pub fn is_by_others(&self, state: &CriterionState) -> bool {
        self.by_others.contains(&state.id)
    }

    /// The refusal as it is recorded.
    pub fn rejected(&self, fence: u64, turn: Option<String>) -> TaskEvent {
        let (basis, bases) = (self.basis.clone(), self.bases.clone());
        TaskEvent::FinalizationRejected { fence, unmet: self.unmet_ids(), basis, bases, turn }
    }

    /// Whether anything has to be shown. That limits are kept shows nothing of what was asked for.
    pub fn asks_something(&self) -> bool {
        self.criteria.iter().any(|state| state.required && state.id.as_str() != LIMITS)
    }
}

fn unmet(criteria: &[CriterionState]) -> impl Iterator<Item = &CriterionState> {
    criteria.iter().filter(|state| state.required && !state.state.is_settled())
}

/// Looks at a task and judges each criterion. A contract that requires nothing is held to what the profile requires.
/// Called under the lock that the record is made under.
pub fn judge(call: &Call<'_>, subject: &Subject) -> Result<Judged, Refusal> {
    judge_by(call, subject, !subject.contract.requires_something())
}

/// Looks at a commitment and judges each criterion. It is held to its own criteria and to nothing else, unless an agent
/// took one back.
pub fn judge_commitment(call: &Call<'_>, subject: &Subject) -> Result<Judged, Refusal> {
    judge_by(call, subject, subject.owes_required())
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
        push_held(&mut fields, state);
    }
    for one in &assessed {
        fields.push(one.input.as_str().as_bytes());
    }
    let bases = unmet(&criteria).map(|state| basis_of(state, &assessed)).collect();
    let by_others = subject.contract.criteria.iter().filter(|criterion| criterion.proof.is_by_others());
    let by_others = by_others.map(|criterion| criterion.id.clone()).collect();
    Ok(Judged { criteria, basis: fields.finish(), bases, by_others, running: running(call, subject)?, snapshot })
}

/// What one criterion was judged on. A check that only the profile requires is found by its name.
fn basis_of(state: &CriterionState, assessed: &[Assessed]) -> Digest {
    let is_of = |one: &&Assessed| one.due.criteria.contains(&state.id) || one.due.title() == state.id.as_str();
    let mut fields = Fields::new();
    fields.push(format!("{:?}", state.state).as_bytes());
    push_held(&mut fields, state);
    if let Some(one) = assessed.iter().find(is_of) {
        fields.push(one.due.definition.as_str().as_bytes()).push(one.input.as_str().as_bytes());
    }
    fields.finish()
}

/// What is held is judged by what was found: another finding is another reason.
fn push_held(fields: &mut Fields, state: &CriterionState) {
    for reason in state.last.iter().filter(|_| integrity::is_held(state)).flat_map(|last| &last.reasons) {
        fields.push(reason.as_bytes());
    }
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

/// Checks that the profile requires of what is published, which the accepted contract did not ask for and nothing shows.
///
/// # Errors
/// When the ledger cannot be read.
pub fn publication_needs(call: &Call<'_>, subject: &Subject, judged: &Judged) -> Result<Vec<CriterionId>, Refusal> {
    let Some(profile) = subject.judge() else { return Ok(Vec::new()) };
    let assessed = assess::look_up(call, subject, subject.due(true), &judged.snapshot)?;
    let mut criteria = judged.criteria.clone();
    hold_to_required(call, subject, &assessed, profile, &mut criteria);
    Ok(unmet(&criteria[judged.criteria.len()..]).map(|state| state.id.clone()).collect())
}

fn as_criterion(call: &Call<'_>, subject: &Subject, one: &Assessed) -> CriterionState {
    let name = one.due.title();
    let statement = format!("check `{name}`, which the profile requires, passes");
    let id = name.parse().expect("a check's name is a legal criterion id");
    let criterion = Criterion { id, statement, required: true, proof: Proof::Check { check: name } };
    state::judge(&criterion, &one.found, subject.bar(call.now()))
}

/// A check of the task, or of a commitment's tasks, that is under way.
fn running(call: &Call<'_>, subject: &Subject) -> Result<Option<Run>, Refusal> {
    let (parent, link) = match (&subject.task, &subject.commitment) {
        (Some(task), _) => (Some(task.to_string()), None),
        (None, Some(commitment)) => (None, Some((Rel::Commitment, commitment.to_string()))),
        (None, None) => return Ok(None),
    };
    execute::under_way(call, Query { parent, link, ..Query::all(Kind::Run) })
}
