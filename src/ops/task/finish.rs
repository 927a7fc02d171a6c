//! `task.finish`: the gate. Accepts only what fresh evidence shows, under the current claim.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::needs;
use crate::domain::digest::Digest;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{EvidenceId, TaskId, TaskRef};
use crate::domain::refusal::Refusal;
use crate::domain::run::Run;
use crate::domain::task::{Task, TaskEvent, TaskStatus};
use crate::ops::call::{Call, Held};
use crate::ops::op::Op;
use crate::ops::verification::assess::evidence_of;
use crate::ops::verification::execute;
use crate::ops::verification::gate::{self, Judged};
use crate::ops::verification::rejection::{self, Rejection};
use crate::ops::verification::subject::Subject;
use crate::ops::verification::{integrity, meant, sealed};
use crate::rules::contract;
use crate::rules::verification::state::{Completion, CompletionFacts, CriterionState, completion};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// What was done; recorded as the claim that it is, unless `task.complete` recorded one
    #[serde(default)]
    summary: Option<String>,
    /// The digest of the contract that is meant (`criterion.list`); refused if the contract is another by now
    #[serde(default)]
    contract_digest: Option<Digest>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    task: TaskId,
    status: TaskStatus,
    state: Completion,
    criteria: Vec<CriterionState>,
    evidence: Vec<EvidenceId>,
}

pub struct Finish;

impl Op for Finish {
    const NAME: &'static str = "task.finish";
    const ABOUT: &'static str = "Ask the gate: finished only if fresh evidence shows every required criterion";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Claim;
    const ASKS_BASE: bool = true;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["criteria.required", "criteria.strength", "criteria.last"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl task finish t-7k2", "exits with 10 and lists what is unmet, if anything is")];
    type In = In;
    type Out = Out;

    fn task(input: &In) -> Option<&TaskRef> {
        Some(&input.task)
    }

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let mut task = call.task(&input.task)?;
        let fence = call.claim()?.fence;
        let this = json!({ "task": task.value.id });
        meant::refuse_other_contract(input.contract_digest.as_ref(), &task.value.contract_digest, this)?;
        if let Some(summary) = input.summary {
            contract::text("summary", &summary, 1)?;
            let claimed = TaskEvent::CompletionClaimed { fence, summary };
            task = call.record::<Task>(&task.value.id, task.ver, claimed)?;
        }
        let subject = Subject::of_task(call, &task.value)?;
        let judged = gate::judge(call, &subject)?;
        let waits_for = needs::unmet(call, &task.value)?;
        if !waits_for.is_empty() || !accepts(&task.value, &judged) {
            return Err(reject(call, task, &judged, &waits_for)?);
        }
        let evidence = evidence_of(&judged.criteria);
        sealed::refuse_edited::<Task>(call, &task.value.id, &evidence)?;
        let contract_digest = subject.contract_digest.clone();
        let finished = TaskEvent::Finished { fence, evidence: evidence.clone(), contract_digest };
        let task = call.record::<Task>(&task.value.id, task.ver, finished)?.value;
        note_authors(call, &subject, &judged)?;
        propose(call, &subject, &judged, &task.id)?;
        let facts = CompletionFacts { blocked: false, claimed_done: true, criteria: &judged.criteria };
        Ok(Out { state: completion(facts), task: task.id, status: task.status, criteria: judged.criteria, evidence })
    }
}

/// Says so where nothing but tests that came with the work vouches for it. It is no reason to hold: so does most new code.
fn note_authors(call: &mut Call<'_>, subject: &Subject, judged: &Judged) -> Result<(), Refusal> {
    let mut ran = None;
    for id in evidence_of(&judged.criteria) {
        let run = call.load::<Run>(&id)?.and_then(|held| held.value.record).and_then(|record| record.tests);
        ran = ran.max(run.map(|tests| tests.run));
    }
    let Some(ran) = ran.filter(|ran| *ran > 0) else { return Ok(()) };
    let new = integrity::look(call, subject, &judged.snapshot)?.new_tests;
    if u64::try_from(new).is_ok_and(|new| new >= ran) {
        let words = format!(
            "{new} tests are new in this change and {ran} ran: none that stood at the base vouches for it, so whoever \
             reviews it reads them as part of the claim"
        );
        call.warn("only_new_tests", words);
    }
    Ok(())
}

/// Proposes to publish where nothing that can be seen stands against it, and else what shows what does.
fn propose(call: &mut Call<'_>, subject: &Subject, judged: &Judged, task: &TaskId) -> Result<(), Refusal> {
    let needs = gate::publication_needs(call, subject, judged)?;
    if !needs.is_empty() {
        let names: Vec<String> = needs.iter().map(|id| format!("`{id}`")).collect();
        let words = format!("publication asks for more, which is not shown: {}", names.join(", "));
        call.warn("publication_needs", words);
        let params = json!({ "task": task, "scope": "branch" });
        call.propose("validate", "shows what publication needs as well", params);
    } else if execute::candidate(call, subject, &judged.snapshot)?.clean {
        call.propose("publish", "puts exactly what was verified on the remote", json!({ "task": task }));
    } else {
        call.propose("workspace.status", "shows what is not committed", json!({ "task": task }));
    }
    Ok(())
}

fn accepts(task: &Task, judged: &Judged) -> bool {
    task.block.is_none() && judged.running.is_none() && judged.unmet().is_empty() && judged.asks_something()
}

/// Counts the refusal: the ledger keeps how often, so that it outlives processes and conversations. Where somebody or
/// something else has to act first it costs no attempt.
fn reject(
    call: &mut Call<'_>,
    mut task: Held<Task>,
    judged: &Judged,
    waits_for: &[TaskId],
) -> Result<Refusal, Refusal> {
    if (Rejection { task: &task.value, judged, waits_for }).reason().is_charged() {
        task = rejection::count(call, &task, judged, None)?;
        if task.value.rejections.is_over() {
            task = rejection::give_up(call, &task, judged)?;
        }
    }
    Ok(Rejection { task: &task.value, judged, waits_for }.refusal())
}
