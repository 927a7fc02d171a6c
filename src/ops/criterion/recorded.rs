//! Recording what is handed in for a criterion: evidence as any other, bound to the contract, the claim and the tree.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::holder::Holder;
use crate::domain::contract::{Criterion, CriterionId, Strength};
use crate::domain::id::EvidenceId;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::{HandedIn, Run, RunEvent, Subject as About, Verdict};
use crate::domain::tree::Snapshot;
use crate::ops::call::Call;
use crate::ops::verification::subject::Subject;
use crate::ops::verification::{assess, execute};
use crate::rules::verification::due::of_proof;
use crate::rules::verification::proofs::Finding;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    pub criterion: CriterionId,
    pub evidence: EvidenceId,
    pub verdict: Verdict,
    /// What it earns; nothing but what the kind can earn, whoever says it.
    pub strength: Strength,
    pub reasons: Vec<String>,
    pub handed_in: HandedIn,
}

/// Refuses a criterion that is established in another way than `op`.
///
/// # Errors
/// `CONFLICT` with the operation that is meant.
pub fn refuse_unless_by(op: &'static str, criterion: &Criterion) -> Result<(), Refusal> {
    match criterion.proof.handed_in_by() {
        Some(by) if by == op => Ok(()),
        by => {
            let words = format!("`{}` is shown by a `{}`, not by `{op}`", criterion.id, criterion.proof.kind());
            let refusal = Refusal::new(Code::CONFLICT, words).with("field", "criterion");
            Err(refusal.next("ops.describe", "shows what it takes", json!({ "name": by.unwrap_or("validate") })))
        }
    }
}

/// Records `handed_in` as evidence for `criterion` of `holder`.
///
/// # Errors
/// When the ledger cannot be written.
pub fn record(
    call: &mut Call<'_>,
    holder: &Holder,
    (subject, snapshot): (&Subject, &Snapshot),
    criterion: &Criterion,
    (finding, handed_in): (Finding, HandedIn),
) -> Result<Out, Refusal> {
    let due = of_proof(&criterion.proof, subject.judges(), subject.ground()).expect("what is handed in is due");
    let input = assess::input_of(&due, snapshot)?;
    let about = About {
        key: due.key,
        definition: due.definition,
        task: subject.task.clone(),
        commitment: subject.commitment.clone(),
        criteria: vec![criterion.id.clone()],
    };
    let id = EvidenceId::new(call.world.ids.uuid());
    let started = call.record::<Run>(&id, 0, RunEvent::Started { subject: about, deadline: call.now() })?;
    let mut record = execute::record(call, subject, finding, (input.clone(), input), snapshot)?;
    record.level = handed_in.level();
    record.strength = if record.verdict == Verdict::Pass { handed_in.earns() } else { Strength::Asserted };
    record.handed_in = Some(handed_in.clone());
    let out = Out {
        criterion: criterion.id.clone(),
        evidence: id.clone(),
        verdict: record.verdict,
        strength: record.strength,
        reasons: record.reasons.clone(),
        handed_in,
    };
    call.record::<Run>(&id, started.ver, RunEvent::Ended { record: Box::new(record) })?;
    call.propose("criterion.list", "shows where each criterion stands", holder.reference());
    Ok(out)
}
