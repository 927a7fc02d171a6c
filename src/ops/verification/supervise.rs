//! Supervision: an attempt at a task's gate is counted, and what does not move is said.

use serde_json::json;

use crate::domain::failure::{Gate, Step, Verdict as Advice};
use crate::domain::id::{TaskId, TicketId};
use crate::domain::refusal::Refusal;
use crate::domain::run::{Run, Verdict};
use crate::domain::supervision::{FailureEvent, Observed, Supervision};
use crate::ops::call::Call;
use crate::rules::failure;
use crate::rules::stagnation;
use crate::rules::verification::due::{Due, What};

/// How many changed paths an attempt keeps.
const MAX_PATHS: usize = 20;

/// Counts `run` as an attempt at what it was due for. A run that says nothing, and one whose inputs moved, is none.
pub fn observe(
    call: &mut Call<'_>,
    task: &TaskId,
    due: &Due,
    stage: usize,
    (run, changed): (&Run, &[String]),
) -> Result<Option<Step>, Refusal> {
    let Some(observed) = observed(due, stage, run, changed) else { return Ok(None) };
    let step = call.step(|call| count(call, task, &observed))?;
    if let Some(step) = &step {
        advise(call, task, &observed.gate, step);
    }
    Ok(step)
}

/// Records an attempt, and opens a ticket where a gate cannot be passed. Must be called inside a step.
pub fn count(call: &mut Call<'_>, task: &TaskId, observed: &Observed) -> Result<Option<Step>, Refusal> {
    let held = call.load_or_blank::<Supervision>(task)?;
    // A pass where nothing had failed changes nothing that is counted.
    if observed.passed && held.ver == 0 {
        return Ok(None);
    }
    let event = FailureEvent::Observed { attempt: Box::new(observed.clone()) };
    let held = call.record::<Supervision>(task, held.ver, event)?;
    let step = held.value.last.clone();
    let stuck = step.as_ref().is_some_and(|step| step.verdict == Advice::Ticket);
    // A ticket closes when kctl sees its gate pass. A command that only the host runs has no such gate.
    let closes = observed.run.is_some() || matches!(observed.gate, Gate::Criterion(_));
    if stuck && closes && held.value.open_ticket(&observed.gate).is_none() {
        let opened = FailureEvent::TicketOpened {
            ticket: TicketId::new(call.world.ids.uuid()),
            gate: observed.gate.clone(),
            lineage: step.as_ref().and_then(|step| step.lineage),
            capability: "somebody with other means, or a decision of a person".to_owned(),
            evidence: observed.run.clone(),
        };
        call.record::<Supervision>(task, held.ver, opened)?;
    }
    Ok(step)
}

fn observed(due: &Due, stage: usize, run: &Run, changed: &[String]) -> Option<Observed> {
    let What::Check { check, .. } = &due.what else { return None };
    let record = run.record.as_ref()?;
    let told = matches!(record.verdict, Verdict::Pass | Verdict::Fail | Verdict::Error);
    if !told || record.input_before != record.input_after {
        return None;
    }
    let command = check.run.to_string();
    let gate = match due.criteria.first() {
        Some(criterion) => Gate::Criterion(criterion.to_string()),
        None => Gate::Command(failure::lineage(&stagnation::line(&check.run))),
    };
    let failing = record.failing.as_ref();
    Some(Observed {
        run: Some(run.id.clone()),
        call: None,
        gate,
        passed: record.verdict == Verdict::Pass,
        items: failing.map(|failing| failing.items.clone()).unwrap_or_default(),
        signature: failing.map(|failing| failing.signature.clone()).unwrap_or_default(),
        stage: u32::try_from(stage).ok(),
        command: Some(command),
        changed_paths: changed.iter().take(MAX_PATHS).cloned().collect(),
        inputs: Some(record.input_before.to_string()),
    })
}

/// Says what an attempt without progress asks for.
pub fn advise(call: &mut Call<'_>, task: &TaskId, gate: &Gate, step: &Step) {
    let Some(lineage) = step.lineage else { return };
    let params = json!({ "task": task, "lineage": lineage });
    match step.verdict {
        Advice::GoOn => {}
        Advice::Reground => {
            let words = format!("{gate} failed {} times without progress: look at what is known first", step.count);
            call.warn("no_progress", words);
            call.propose("reground", "lays out what is known and what never moved", params);
        }
        Advice::Ticket => {
            let words = format!(
                "{gate} failed {} times: it waits for other means, and a person should be asked",
                step.absolute
            );
            call.warn("stuck", words);
            call.propose("reground", "lays out what is known and what never moved", params);
            let question = format!("{gate} fails again and again. What should be done about it?");
            let ask = json!({ "task": task, "reason": "a gate does not pass", "question": question });
            call.propose("task.block", "asks a person", ask);
        }
    }
}
