//! `task.create`: a unit of work is written down.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::commitment::Phase;
use crate::domain::contract::{Contract, Limits};
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskId, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::criteria::{self, ConstraintInput, CriterionInput};
use crate::ops::criterion::files::refuse_directories;
use crate::ops::op::Op;
use crate::rules::{contract, scope};

use super::needs;
use super::onward::{self, Came};
use super::view::Whole;

/// Priorities run from 0, the most urgent, to this.
pub const LEAST_URGENT: u8 = 4;
pub const DEFAULT_PRIORITY: u8 = 2;
/// The most labels one task may have, and the longest of them in bytes.
const MAX_LABELS: usize = 32;
const MAX_LABEL_BYTES: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// What is to be done, in one line
    title: String,
    /// What it is for, at length
    #[serde(default)]
    goal: Option<String>,
    /// What must hold when it is done
    #[serde(default)]
    criteria: Vec<CriterionInput>,
    /// Globs of the paths the work may change (empty: the whole tree)
    #[serde(default)]
    scope: Vec<String>,
    /// Sentences that limit how it is done
    #[serde(default)]
    constraints: Vec<ConstraintInput>,
    /// What must not be done, with what holds it
    #[serde(default)]
    forbidden: Vec<ConstraintInput>,
    /// How far the work may go, such as `max_files`
    #[serde(default)]
    limits: Limits,
    /// 0 is the most urgent, 4 the least (default: 2)
    #[serde(default)]
    #[schemars(range(min = 0, max = 4))]
    priority: Option<u8>,
    /// Tasks that must be finished first
    #[serde(default)]
    needs: Vec<TaskRef>,
    /// Globs of the paths it expects to touch
    #[serde(default)]
    paths: Vec<String>,
    /// Words to find it by, such as `docs`
    #[serde(default)]
    labels: Vec<String>,
    /// The task it is a part of
    #[serde(default)]
    parent: Option<TaskRef>,
    /// The commitment it works for; without criteria of its own it is held to the commitment's
    #[serde(default)]
    commitment: Option<CommitmentRef>,
}

pub struct Create;

impl Op for Create {
    const NAME: &'static str = "task.create";
    const ABOUT: &'static str = "Write down a unit of work";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const ASKS_BASE: bool = true;
    const POSITIONAL: &'static [&'static str] = &["title"];
    const HIDDEN: &'static [&'static str] = &["contract_digest", "claim.since", "fence", "updated_at"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl task create 'Parse negative numbers' --criteria check:tests", "done when the check `tests` passes"),
        ("kctl task create 'Document it' --needs t-7k2 --labels docs --priority 3", "waits for another task"),
    ];
    const HELP: &'static str = criteria::HELP;
    type In = In;
    type Out = Whole;

    fn run(call: &mut Call<'_>, input: In) -> Result<Whole, Refusal> {
        let id = TaskId::new(call.world.ids.uuid());
        let event = created(call, input)?;
        let task = call.record::<Task>(&id, 0, event)?.value;
        onward::propose(call, &task, Came::Unverified)?;
        Whole::of(call, task)
    }
}

/// Checks the input and makes the event of it.
fn created(call: &Call<'_>, input: In) -> Result<TaskEvent, Refusal> {
    contract::line("title", &input.title)?;
    let terms = Contract {
        goal: input.goal.unwrap_or_default(),
        criteria: criteria::named(input.criteria)?,
        scope: input.scope,
        constraints: ConstraintInput::all(input.constraints),
        forbidden: ConstraintInput::all(input.forbidden),
        limits: input.limits,
    };
    contract::accept(&terms)?;
    call.knows_checks(&terms)?;
    refuse_directories(call, None, &terms, &[])?;
    Ok(TaskEvent::Created {
        title: input.title,
        contract: terms,
        priority: priority(input.priority)?,
        needs: needs::resolve(call, "needs", &input.needs)?,
        paths: paths(input.paths)?,
        labels: labels(input.labels)?,
        parent: input.parent.map(|parent| call.task(&parent)).transpose()?.map(|held| held.value.id),
        commitment: match input.commitment {
            None => None,
            Some(reference) => {
                let commitment = call.commitment(&reference)?.value;
                if commitment.phase == Phase::Closed {
                    let words = format!("commitment `{}` is closed", commitment.id);
                    return Err(Refusal::new(Code::CONFLICT, words).with("field", "commitment"));
                }
                Some(commitment.id)
            }
        },
    })
}

pub fn priority(priority: Option<u8>) -> Result<u8, Refusal> {
    match priority {
        None => Ok(DEFAULT_PRIORITY),
        Some(priority) if priority <= LEAST_URGENT => Ok(priority),
        Some(priority) => {
            Err(Refusal::invalid("priority", format!("a priority is from 0 to {LEAST_URGENT}, not {priority}")))
        }
    }
}

pub fn paths(paths: Vec<String>) -> Result<Vec<String>, Refusal> {
    scope::compile(&paths).map_err(|why| Refusal::invalid("paths", why))?;
    Ok(paths)
}

pub fn labels(labels: Vec<String>) -> Result<Vec<String>, Refusal> {
    if labels.len() > MAX_LABELS {
        return Err(Refusal::invalid("labels", format!("a task has at most {MAX_LABELS} labels")));
    }
    let wrong = labels
        .iter()
        .find(|label| label.trim().is_empty() || label.len() > MAX_LABEL_BYTES || label.chars().any(char::is_control));
    match wrong {
        None => Ok(labels),
        Some(label) => {
            let words = format!("{label:?} is not a label: 1 to {MAX_LABEL_BYTES} bytes without control characters");
            Err(Refusal::invalid("labels", words))
        }
    }
}
