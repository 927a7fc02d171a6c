//! `ticket.open`: whoever works says that a gate takes means that they do not have. It is not retried, and not hidden.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::contract::CriterionId;
use crate::domain::effect::{Custody, Effect};
use crate::domain::failure::Gate;
use crate::domain::id::{EvidenceRef, TaskId, TaskRef, TicketId};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::supervision::{FailureEvent, Supervision, Ticket};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::rules::contract;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task that cannot get past it
    task: TaskRef,
    /// The criterion that cannot be met
    criterion: CriterionId,
    /// What it takes: a right, a tool, a decision
    capability: String,
    /// The run that shows it
    #[serde(default)]
    evidence: Option<EvidenceRef>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    task: TaskId,
    ticket: Ticket,
}

pub struct Open;

impl Op for Open {
    const NAME: &'static str = "ticket.open";
    const ABOUT: &'static str =
        "Say that a criterion takes means that the one who works does not have; it closes when it passes";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const POSITIONAL: &'static [&'static str] = &["task", "criterion"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl ticket open t-7k2 AC-3 --capability 'the staging credentials'",
        "stays open until the criterion passes",
    )];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        contract::text("capability", &input.capability, 1)?;
        let task = call.task(&input.task)?.value;
        if task.status.is_over() {
            let words = format!("task `{}` is {}", task.id, task.status.name());
            return Err(Refusal::new(Code::CONFLICT, words).with("task", &task.id).with("status", task.status));
        }
        let known = task.contract.criterion(&input.criterion).is_some() || task.contract.criteria.is_empty();
        if !known {
            return Err(Refusal::new(Code::NOT_FOUND, format!("no criterion is `{}`", input.criterion))
                .with("field", "criterion")
                .next("criterion.list", "shows the criteria there are", json!({ "task": task.id })));
        }
        let evidence = input.evidence.map(|evidence| call.evidence(&evidence)).transpose()?;
        let held = call.load_or_blank::<Supervision>(&task.id)?;
        let gate = Gate::Criterion(input.criterion.to_string());
        if let Some(open) = held.value.open_ticket(&gate) {
            return Err(Refusal::new(Code::CONFLICT, format!("ticket `{}` is open for it already", open.ticket))
                .with("ticket", &open.ticket)
                .next("ticket.list", "shows it", json!({ "task": task.id })));
        }
        let ticket = TicketId::new(call.world.ids.uuid());
        let opened = FailureEvent::TicketOpened {
            ticket: ticket.clone(),
            gate,
            lineage: None,
            capability: input.capability,
            evidence: evidence.map(|held| held.value.id),
        };
        let held = call.record::<Supervision>(&task.id, held.ver, opened)?;
        let opened = held.value.tickets.into_iter().find(|one| one.ticket == ticket);
        let ask = json!({ "task": task.id, "reason": "a criterion takes means that are not here" });
        call.propose("task.block", "waits for it, and says so on the board", ask);
        Ok(Out { task: task.id, ticket: opened.expect("it was just opened") })
    }
}
