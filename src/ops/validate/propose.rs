//! What leads on from a validation.

use serde_json::json;

use super::{Scope, Shown, reference};
use crate::domain::id::TaskId;
use crate::domain::refusal::Refusal;
use crate::domain::run::Verdict;
use crate::domain::task::{Task, TaskStatus};
use crate::ops::call::Call;
use crate::ops::task::onward;
use crate::ops::verification::subject::Subject;
use crate::ops::verification::{gate, integrity};
use crate::rules::verification::state::CriterionState;

/// What came of it all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) verified: bool,
    pub(super) publication_ready: bool,
    pub(super) scope: Scope,
}

pub(super) fn propose(
    call: &mut Call<'_>,
    subject: &Subject,
    results: &[Shown],
    criteria: &[CriterionState],
    Outcome { verified, publication_ready, scope }: Outcome,
) -> Result<(), Refusal> {
    if let Some(failed) = results.iter().find(|shown| shown.verdict != Verdict::Pass)
        && let Some(evidence) = &failed.evidence
    {
        call.propose("evidence.log", "pages through the whole output", json!({ "evidence": evidence }));
    }
    if results.is_empty() {
        call.warn("nothing_due", "no criterion and no required check asks for anything here");
    }
    if criteria.iter().any(integrity::is_held) {
        call.propose(gate::FINDINGS, "shows what is held and where: undo it, or a person decides", reference(subject));
    }
    let open: Vec<&CriterionState> = criteria.iter().filter(|one| one.required && !one.state.is_settled()).collect();
    propose_handing_in(call, subject, &open);
    let only_attested = !open.is_empty() && open.iter().all(|state| state.waits_for.is_some());
    let mends = !only_attested || results.iter().any(|shown| !shown.passed());
    if let Some(id) = &subject.task {
        let task = call.load_or_blank::<Task>(id)?.value;
        if !verified && mends && !task.status.is_over() {
            call.propose("validate", "again, when that is mended", json!({ "task": id }));
        }
        if task.status == TaskStatus::Finished && onward::is_mine(call, &task) {
            propose_publication(call, id, Outcome { verified, publication_ready, scope });
        } else if verified || task.status != TaskStatus::Claimed {
            onward::propose(call, &task, onward::Came::Verified)?;
        }
    }
    Ok(())
}

/// Proposes what hands in each criterion that is `open`: what a person says, ready to send; for the rest, the list.
fn propose_handing_in(call: &mut Call<'_>, subject: &Subject, open: &[&CriterionState]) {
    let by = |state: &CriterionState| subject.contract.criterion(&state.id).and_then(|one| one.proof.handed_in_by());
    for state in open.iter().filter(|state| state.waits_for.is_some()) {
        let mut params = reference(subject);
        params["criterion"] = json!(state.id);
        params["note"] = json!("what was looked at");
        call.propose("criterion.attest", "a person says at a terminal that it holds", params);
    }
    if open.iter().any(|state| state.waits_for.is_none() && by(state).is_some()) {
        call.propose("criterion.list", "shows what has to be handed in", reference(subject));
    }
}

/// What leads on from a finished task: to publish only what nothing stands against.
fn propose_publication(call: &mut Call<'_>, task: &TaskId, Outcome { verified, publication_ready, scope }: Outcome) {
    if publication_ready {
        call.propose("publish", "puts exactly what was verified on the remote", json!({ "task": task }));
    } else if verified && scope == Scope::Branch {
        call.propose("workspace.status", "shows what is not committed", json!({ "task": task }));
    } else if verified {
        let params = json!({ "task": task, "scope": "branch" });
        call.propose("validate", "shows what publication needs as well", params);
    } else {
        let params = json!({ "task": task, "scope": "branch" });
        call.propose("validate", "again, when that is mended", params);
    }
}
