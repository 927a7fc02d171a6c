//! `commit.close`: the end of a commitment. `fulfilled` has to be earned (I5); every other verdict can be recorded.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::commitment::{Closing, Commitment, CommitmentEvent};
use crate::domain::contract::{CriterionId, Strength, Weakening};
use crate::domain::digest::Digest;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentId, CommitmentRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::Task;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ops::task::onward;
use crate::ops::verification::assess::evidence_of;
use crate::ops::verification::gate::{self, Judged};
use crate::ops::verification::integrity;
use crate::ops::verification::rejection::{self, Reason, Unmet};
use crate::ops::verification::subject::{self, Subject};
use crate::ops::verification::{meant, sealed};
use crate::rules::contract;
use crate::rules::verification::state::{CannotClose, fulfil};

use super::evaluate::{record_standing, refuse_closed};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    #[serde(alias = "commit")]
    commitment: CommitmentRef,
    verdict: Closing,
    /// Why, for the record; required unless it is fulfilled
    #[serde(default)]
    note: Option<String>,
    /// The digest of the contract that is meant (`criterion.list`); refused if the contract is another by now
    #[serde(default)]
    contract_digest: Option<Digest>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    #[serde(flatten)]
    commitment: Commitment,
    /// Required criteria that were withdrawn, made optional or given another proof after it was opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    weakened: Vec<Weakening>,
}

pub struct Close;

impl Op for Close {
    const NAME: &'static str = "commit.close";
    const ABOUT: &'static str = "Close a commitment; as fulfilled only on fresh evidence of sufficient strength";
    const EFFECT: Effect = Effect::Irreversible;
    const CUSTODY: Custody = Custody::Session;
    const ASKS_BASE: bool = true;
    const POSITIONAL: &'static [&'static str] = &["commitment"];
    const HIDDEN: &'static [&'static str] = &["contract.goal", "contract_digest", "terms.weakened", "updated_at"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl commit close c-9qd --verdict fulfilled", "exits with 10 and says what is missing, if anything is"),
        ("kctl commit close c-9qd --verdict unknown --note 'nobody could tell'", "is always possible"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let held = call.commitment(&input.commitment)?;
        let id = held.value.id.clone();
        refuse_closed(&held.value)?;
        let this = json!({ "commitment": id });
        meant::refuse_other_contract(input.contract_digest.as_ref(), &held.value.contract_digest, this)?;
        if let Some(note) = &input.note {
            contract::text("note", note, 1)?;
        }
        let mut ver = held.ver;
        let (strength, evidence) = match input.verdict {
            Closing::Fulfilled => {
                let judged = gate::judge_commitment(call, &Subject::of_commitment(call, &held.value)?)?;
                refuse_open_ends(call, &held.value, &judged)?;
                let strength =
                    fulfil(&judged.criteria, held.value.class).map_err(|why| refusal(&held.value, why, &judged))?;
                refuse_exhausted(call, &held.value)?;
                let evidence = evidence_of(&judged.criteria);
                sealed::refuse_edited::<Commitment>(call, &id, &evidence)?;
                // What it is closed on is recorded with it, so that a closed commitment does not show as unmet.
                ver = record_standing(call, &held, &judged)?;
                (strength, evidence)
            }
            Closing::Partial
            | Closing::Failed
            | Closing::Abandoned
            | Closing::Superseded
            | Closing::Expired
            | Closing::Unknown => {
                if input.note.is_none() {
                    return Err(Refusal::invalid("note", "a commitment that is not fulfilled is closed with a `note`"));
                }
                (Strength::Asserted, Vec::new())
            }
        };
        let closed = CommitmentEvent::Closed {
            verdict: input.verdict,
            strength,
            evidence,
            contract_digest: held.value.contract_digest.clone(),
            note: input.note,
        };
        let commitment = call.record::<Commitment>(&id, ver, closed)?.value;
        let weakened = commitment.terms.weakened.clone();
        if input.verdict == Closing::Fulfilled && !weakened.is_empty() {
            let ids: Vec<CriterionId> = weakened.iter().map(|one| one.criterion.clone()).collect();
            call.warn("weakened", format!("less was required than when it was opened: {}", list(&ids)));
        }
        Ok(Out { commitment, weakened })
    }
}

/// Refuses while work for the commitment is blocked or still being checked.
fn refuse_open_ends(call: &Call<'_>, commitment: &Commitment, judged: &Judged) -> Result<(), Refusal> {
    let id = &commitment.id;
    if let Some(run) = &judged.running {
        let words = format!("commitment `{id}` has a check under way: `{}`", run.id);
        let refusal = Refusal::new(Code::FINALIZATION_REJECTED, words).with("commitment", id);
        let refusal = refusal.with("reason", Reason::CheckRunning).with("running", &run.id);
        return Err(refusal.next("evidence.show", "shows the run", json!({ "evidence": run.id })));
    }
    for task in subject::tasks_of(call, id)?.into_iter().filter(|task| !task.status.is_over()) {
        if let Some(block) = &task.block {
            let words = format!("commitment `{id}` waits for task `{}`, which is blocked: {}", task.id, block.reason);
            let refusal = Refusal::new(Code::FINALIZATION_REJECTED, words).with("commitment", id);
            let refusal = refusal.with("reason", Reason::Blocked).with("task", &task.id).with("blocked", block);
            return Err(onward::unblock(refusal.with("lifted_by", rejection::lifted_by(&task)), &task));
        }
    }
    Ok(())
}

/// Refuses while work for the commitment is given up on and there is no progress since. What the commitment itself owes
/// is said before this.
fn refuse_exhausted(call: &Call<'_>, commitment: &Commitment) -> Result<(), Refusal> {
    let is_given_up = |task: &Task| !task.status.is_over() && task.rejections.exhausted.is_some();
    subject::tasks_of(call, &commitment.id)?
        .iter()
        .filter(|task| is_given_up(task))
        .try_for_each(|task| refuse_shut(call, commitment, task))
}

fn refuse_shut(call: &Call<'_>, commitment: &Commitment, task: &Task) -> Result<(), Refusal> {
    let unmet = gate::judge(call, &Subject::of_task(call, task)?)?.unmet_ids();
    if !task.rejections.is_shut(unmet.len()) {
        return Ok(());
    }
    let (refused, id) = (task.rejections.total, &task.id);
    let words = format!(
        "commitment `{}` waits for task `{id}`, whose finish was refused {refused} times without progress",
        commitment.id
    );
    let question = "What should be done about the criteria that are not met?";
    let ask = json!({ "task": id, "reason": "finishing was refused too often", "question": question });
    Err(Refusal::new(Code::FINALIZATION_EXHAUSTED, words)
        .with("commitment", &commitment.id)
        .with("task", id)
        .with("unmet", unmet)
        .next("task.block", "asks a person", ask)
        .next("task.show", "shows who holds it", json!({ "task": id })))
}

/// Names what changed since; what only a person's word shows asks for the word again.
fn stale(id: &CommitmentId, ids: &[CriterionId], judged: &Judged) -> Refusal {
    let stale = || judged.criteria.iter().filter(|state| ids.contains(&state.id));
    let last = stale().filter_map(|state| state.last.as_ref());
    let changed: BTreeSet<&String> = last.flat_map(|last| &last.changed).collect();
    let words = format!("commitment `{id}` rests on stale evidence for {}", list(ids));
    let refusal = Refusal::new(Code::EVIDENCE_STALE, words).with("ids", ids).with("changed", changed);
    let attested: Vec<_> = stale().filter(|state| state.by_person).map(|state| &state.id).collect();
    if attested.is_empty() {
        return refusal;
    }
    let remedy = "a person looks at the tree as it is now and attests it again, or the edit is taken back";
    refusal.with("attested", attested).with("remedy", remedy)
}

fn list(ids: &[CriterionId]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

fn refusal(commitment: &Commitment, why: CannotClose, judged: &Judged) -> Refusal {
    let id = &commitment.id;
    let validate = |refusal: Refusal| {
        let unmet = judged.unmet().into_iter().map(|state| Unmet::of(state, 0)).collect();
        let refusal = refusal.with("commitment", id).with("criteria", &judged.criteria);
        let refusal = rejection::with_criteria(refusal, judged, unmet);
        let refusal = match judged.criteria.iter().any(integrity::is_held) {
            true => {
                let why = "shows what is held and where: undo it, or a person decides";
                refusal.next(gate::FINDINGS, why, json!({ "commitment": id }))
            }
            false => refusal,
        };
        match judged.unmet().iter().all(|state| state.by_person) {
            // No run can show what only a person's word shows.
            true => refusal,
            false => refusal.next("validate", "makes evidence for what is unmet", json!({ "commitment": id })),
        }
    };
    let show = json!({ "commitment": id });
    match why {
        CannotClose::NothingToCloseOn => {
            let words = format!("commitment `{id}` has no required criterion to close on");
            Refusal::new(Code::NOTHING_TO_CLOSE_ON, words).with("commitment", id)
        }
        CannotClose::Outstanding(ids) => validate(
            Refusal::new(Code::CRITERIA_OUTSTANDING, format!("commitment `{id}` still owes {}", list(&ids)))
                .with("ids", ids),
        ),
        CannotClose::Stale(ids) => validate(stale(id, &ids, judged)),
        CannotClose::TooWeak { required, achieved } => {
            let by_criterion: Vec<_> = judged
                .criteria
                .iter()
                .map(|state| json!({ "id": state.id, "strength": state.strength, "state": state.state }))
                .collect();
            let words = format!("commitment `{id}` asks for {required:?} evidence and has {achieved:?}").to_lowercase();
            Refusal::new(Code::INSUFFICIENT_STRENGTH, words)
                .with("commitment", id)
                .with("required", required)
                .with("achieved", achieved)
                .with("by_criterion", by_criterion)
        }
    }
    .next("commit.show", "shows where each criterion stands; any other verdict can always be recorded", show)
}
