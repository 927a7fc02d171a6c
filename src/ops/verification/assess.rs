//! Where criteria stand: recorded verdicts, looked up by what they were about. Nothing is run here.

use crate::domain::contract::{Criterion, GivenOn, Proof};
use crate::domain::digest::{Digest, Fields};
use crate::domain::fold::Kind;
use crate::domain::id::{EvidenceId, Oid};
use crate::domain::refusal::Refusal;
use crate::domain::run::{Record, Run, Verdict};
use crate::domain::stamp::Stamp;
use crate::domain::tree::Snapshot;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ports::ledger::Query;
use crate::rules::inputs;
use crate::rules::verification::due::{Due, What};
use crate::rules::verification::proofs::File;
use crate::rules::verification::state::{CriterionState, Found, Ground, Standing, flaky, judge, judge_attested};

use super::beside;
use super::execute;
use super::integrity;
use super::subject::Subject;

/// How many runs on the same inputs are looked through for one of the same definition.
const MAX_LOOKED_AT: u32 = 20;
/// How many changed paths a stale criterion names.
const MAX_CHANGED: usize = 20;

/// One thing that is due, what its inputs are now, and what the ledger has on it.
pub struct Assessed {
    pub due: Due,
    pub input: Digest,
    pub found: Found,
}

impl Assessed {
    /// Whether there is an answer for exactly this, that a fence does not rule out. A run that could not tell is no
    /// answer: what it lacked may be there by now.
    pub fn is_answered(&self, fence: Option<u64>) -> bool {
        let record = self.found.fresh.as_ref().and_then(|run| run.record.as_ref());
        let settled = flaky(&self.found.verdicts).is_none();
        record.is_some_and(|record| told_by(record.verdict) && settled && (fence.is_none() || self.found.under_claim))
    }
}

/// The files of the subject's work tree as they are now.
pub fn snapshot(call: &Call<'_>, subject: &Subject) -> Result<Snapshot, Refusal> {
    subject.changed_from.borrow_mut().clear();
    call.world.trees.snapshot(&subject.work_tree).map_err(fault::of_tree)
}

/// The digest of the inputs of `due` within `snapshot`.
pub fn input_of(due: &Due, snapshot: &Snapshot) -> Result<Digest, Refusal> {
    inputs::digest(snapshot, &due.inputs()).map_err(|why| Refusal::invalid("inputs", why.to_string()))
}

/// The same of what is run or looked up in the subject's tree, with what it goes by that a snapshot does not hold: the
/// one file of a proof, and a check's program that is nobody's tool.
pub fn whole_input_of(call: &Call<'_>, subject: &Subject, due: &Due, snapshot: &Snapshot) -> Result<Digest, Refusal> {
    match &due.what {
        What::Proof(proof) if proof.path().is_some() => input_of_file(call, subject, due, proof, snapshot),
        What::Check { check, .. } => {
            let input = input_of(due, snapshot)?;
            Ok(match beside::own(call, &subject.work_tree, check, snapshot) {
                None => input,
                Some(own) => {
                    let mut fields = Fields::new();
                    fields.push(input.as_str().as_bytes()).push(own.name.as_bytes()).push(own.content.as_bytes());
                    fields.finish()
                }
            })
        }
        What::Proof(_) | What::HandedIn(_) | What::Undeclared { .. } => input_of(due, snapshot),
    }
}

/// The digest of the one file that a proof is about. A snapshot leaves out what git ignores, and a verdict on such a
/// file would stay fresh for ever: it is digested as it lies on disk.
fn input_of_file(
    call: &Call<'_>,
    subject: &Subject,
    due: &Due,
    proof: &Proof,
    snapshot: &Snapshot,
) -> Result<Digest, Refusal> {
    let path = proof.path().unwrap_or_default();
    let listed = snapshot.entries.binary_search_by(|entry| entry.path.as_bytes().cmp(path.as_bytes())).is_ok();
    if listed {
        return input_of(due, snapshot);
    }
    let (kind, content) = match execute::file(call, subject, path) {
        File::Absent => return input_of(due, snapshot),
        File::Regular(bytes) => ("regular", Digest::of(&bytes).as_str().to_owned()),
        File::Other(kind) => ("other", kind.to_owned()),
        File::Unreadable(why) => ("unreadable", why),
    };
    let mut fields = Fields::new();
    fields.push(input_of(due, snapshot)?.as_str().as_bytes()).push(kind.as_bytes()).push(content.as_bytes());
    Ok(fields.finish())
}

/// Looks up what the ledger has on each thing that is due.
pub fn look_up(
    call: &Call<'_>,
    subject: &Subject,
    due: Vec<Due>,
    snapshot: &Snapshot,
) -> Result<Vec<Assessed>, Refusal> {
    due.into_iter()
        .map(|due| {
            let input = whole_input_of(call, subject, &due, snapshot)?;
            let found = find(call, subject, &due, &input)?;
            Ok(Assessed { due, input, found })
        })
        .collect()
}

fn find(call: &Call<'_>, subject: &Subject, due: &Due, input: &Digest) -> Result<Found, Refusal> {
    if let What::Undeclared { check } = &due.what {
        let unavailable = Some(format!("the profile declares no check `{check}`"));
        return Ok(Found { unavailable, ..Found::default() });
    }
    if due.is_ad_hoc() {
        return Ok(Found { under_claim: true, ..Found::default() });
    }
    let by_name = Query { name: Some(due.key.clone()), limit: MAX_LOOKED_AT, ..Query::all(Kind::Run) };
    let on_input = Query { owner: Some(input.to_string()), ..by_name.clone() };
    let on_input = call.query::<Run>(&on_input)?.into_iter().map(|held| held.value);
    let counts = |run: &Run| due.is_run() || is_handed_in_for(run, subject);
    let on_input: Vec<Run> = on_input.filter(|run| is_of(run, due) && counts(run)).collect();
    let verdicts = told(&on_input);
    let own = on_input.iter().position(|run| is_under_claim(run, subject));
    let under_claim = own.is_some() || subject.fence.is_none();
    let fresh = on_input.into_iter().nth(own.unwrap_or(0));
    let of_task = Query { parent: subject.task.as_ref().map(ToString::to_string), ..by_name };
    let earlier = call.query::<Run>(&of_task)?.into_iter().map(|held| held.value);
    let earlier: Vec<Run> = earlier.filter(|run| run.record.is_some() && counts(run)).collect();
    let regressed_at = regressed_at(&earlier);
    let last = earlier.into_iter().next();
    let fresh = fresh.or_else(|| subject.published.iter().find(|run| is_published(run, due)).cloned());
    let changed = match (&fresh, &last) {
        (None, Some(run)) => changed_since(call, subject, due, run),
        _ => Vec::new(),
    };
    Ok(Found { fresh, under_claim, last, changed, unavailable: None, verdicts, regressed_at })
}

/// Whether `run` counts for the task of `subject` as it is held now. Fences are a task's own: another task's claim with
/// the same number is another claim.
fn is_under_claim(run: &Run, subject: &Subject) -> bool {
    let fence = run.record.as_ref().and_then(|record| record.fence);
    let task = run.subject.as_ref().and_then(|about| about.task.as_ref());
    subject.fence.is_none() || (fence == subject.fence && task == subject.task.as_ref())
}

/// Whether `run` was handed in for this very task or commitment: what somebody said for one contract is not offered for
/// another that asks the same.
fn is_handed_in_for(run: &Run, subject: &Subject) -> bool {
    let Some(about) = &run.subject else { return false };
    match (&subject.task, &subject.commitment) {
        (Some(task), Some(commitment)) => {
            about.task.as_ref() == Some(task) || (about.task.is_none() && about.commitment.as_ref() == Some(commitment))
        }
        (Some(task), None) => about.task.as_ref() == Some(task),
        (None, commitment) => about.commitment == *commitment,
    }
}

/// The verdicts of runs that told something, newest first, as far as they used the newest one's tools and environment.
fn told(runs: &[Run]) -> Vec<Verdict> {
    let counts = |record: &&Record| told_by(record.verdict) && !record.is_held_back();
    let told: Vec<_> = runs.iter().filter_map(|run| run.record.as_ref()).filter(counts).collect();
    let Some(newest) = told.first() else { return Vec::new() };
    let alike = |record: &&&Record| record.tools == newest.tools && record.env_digest == newest.env_digest;
    told.iter().filter(alike).map(|record| record.verdict).collect()
}

/// When the oldest of the failures since the last pass was, if there was a pass before them.
fn regressed_at(runs: &[Run]) -> Option<Stamp> {
    let told: Vec<_> =
        runs.iter().filter_map(|run| run.record.as_ref()).filter(|record| told_by(record.verdict)).collect();
    let fails = told.iter().take_while(|record| record.verdict == Verdict::Fail).count();
    (fails > 0 && fails < told.len()).then(|| told[fails - 1].ended)
}

const fn told_by(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Pass | Verdict::Fail)
}

fn is_of(run: &Run, due: &Due) -> bool {
    run.record.is_some() && run.subject.as_ref().is_some_and(|subject| subject.definition == due.definition)
}

/// Whether `run` was published as evidence for what is due. A scope is judged against a task's own base and baseline,
/// and those are gone with its workspace: what was asked is the same all the same.
fn is_published(run: &Run, due: &Due) -> bool {
    let asks_the_same = |run: &Run| {
        let scope = matches!(&due.what, What::Proof(Proof::DiffScope { .. }));
        let asked = |key: &str| key.rsplit_once(':').map(|(asked, _)| asked.to_owned());
        scope && run.subject.as_ref().is_some_and(|subject| asked(&subject.key) == asked(&due.key))
    };
    is_of(run, due) || (run.record.is_some() && asks_the_same(run))
}

/// Inputs that differ from the commit that `run` was made on. Best effort: it only explains.
fn changed_since(call: &Call<'_>, subject: &Subject, due: &Due, run: &Run) -> Vec<String> {
    let head = run.record.as_ref().and_then(|record| record.candidate.head.clone());
    head.map_or_else(Vec::new, |head| differing(call, subject, &head, &due.inputs()))
}

/// Paths among `globs` that differ from `head`; no globs name the whole tree.
fn differing(call: &Call<'_>, subject: &Subject, head: &Oid, globs: &[String]) -> Vec<String> {
    let mut paths = match crate::rules::scope::compile(globs) {
        Ok(_) if globs.is_empty() => changed_from(call, subject, head),
        Ok(globs) => changed_from(call, subject, head).into_iter().filter(|path| globs.is_match(path)).collect(),
        Err(_) => Vec::new(),
    };
    paths.dedup();
    paths.truncate(MAX_CHANGED);
    paths
}

/// Paths that differ from `head`. Every stale criterion asks, most of them about the same commit: the tree is compared
/// with each but once.
fn changed_from(call: &Call<'_>, subject: &Subject, head: &Oid) -> Vec<String> {
    let mut known = subject.changed_from.borrow_mut();
    known
        .entry(head.as_str().to_owned())
        .or_insert_with(|| {
            let changes = call.repository().ok().and_then(|git| git.changed_since(&subject.work_tree, head).ok());
            changes.unwrap_or_default().iter().map(|change| change.path.to_string()).collect()
        })
        .clone()
}

/// Judges every criterion of the subject's contract by what was looked up, and whether the work weakens what judges it.
pub fn criteria(
    call: &Call<'_>,
    subject: &Subject,
    assessed: &[Assessed],
    snapshot: &Snapshot,
) -> Result<Vec<CriterionState>, Refusal> {
    let integrity = integrity::look(call, subject, snapshot)?.criterion(&subject.contract);
    let now = call.now();
    let none = Found::default();
    let input = inputs::whole(snapshot);
    let ground = Ground { contract: &subject.contract_digest, input: &input, published: &subject.published_inputs };
    let changed =
        |given: &GivenOn| given.head.as_ref().map_or_else(Vec::new, |head| differing(call, subject, head, &[]));
    let of = |criterion: &Criterion| match &criterion.proof {
        Proof::Attested { .. } => judge_attested(criterion, &subject.attestations, ground, changed, now),
        _ => {
            let found = assessed.iter().find(|one| one.due.criteria.contains(&criterion.id)).map(|one| &one.found);
            judge(criterion, found.unwrap_or(&none), subject.bar(now))
        }
    };
    let own = subject.contract.criteria.iter().map(|one| of(one).under(&subject.terms, one, now));
    Ok(own.chain(integrity).collect())
}

/// The evidence that met criteria rest on.
pub fn evidence_of(states: &[CriterionState]) -> Vec<EvidenceId> {
    let met = states.iter().filter(|state| state.state == Standing::Met);
    let mut ids: Vec<EvidenceId> = met.filter_map(|state| state.evidence.clone()).collect();
    ids.dedup();
    ids
}
