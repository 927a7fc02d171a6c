//! `failure.show`: everything that is known of one thing that keeps failing.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::failure::Packet;
use crate::domain::id::{TaskId, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::supervision::Supervision;
use crate::ops::call::{Call, Held};
use crate::ops::op::Op;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose checks fail
    task: TaskRef,
    /// The number that `failure.list` gives it; the one that was tried last unless given
    #[serde(default)]
    lineage: Option<u64>,
}

pub struct Show;

impl Op for Show {
    const NAME: &'static str = "failure.show";
    const ABOUT: &'static str =
        "Show what is known of something that keeps failing: now, at first, tried and never moved";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task", "lineage"];
    const HIDDEN: &'static [&'static str] = &["signature"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[("kctl failure show t-7k2 0", "one of its failures")];
    type In = In;
    type Out = Packet;

    fn run(call: &mut Call<'_>, input: In) -> Result<Packet, Refusal> {
        let (_, packet) = look_up(call, &input.task, input.lineage)?;
        Ok(packet)
    }
}

/// The supervision of `task`, and the packet of one of its lineages.
///
/// # Errors
/// `NOT_FOUND` when nothing fails, or not under this number.
pub fn look_up(call: &Call<'_>, task: &TaskRef, lineage: Option<u64>) -> Result<(Held<Supervision>, Packet), Refusal> {
    let task = call.task(task)?.value.id;
    let held = call.load_or_blank::<Supervision>(&task)?;
    let lineages = &held.value.lineages;
    let last = || held.value.last.as_ref().and_then(|step| step.lineage);
    let id = lineage.or_else(last).or_else(|| lineages.open_ids().last().copied());
    match id.and_then(|id| lineages.packet(id)) {
        Some(packet) => Ok((held, packet)),
        None => Err(nothing(&task, lineage, &lineages.open_ids())),
    }
}

fn nothing(task: &TaskId, lineage: Option<u64>, known: &[u64]) -> Refusal {
    let words = match lineage {
        Some(lineage) => format!("nothing that fails in `{task}` has the number {lineage}"),
        None => format!("nothing fails in `{task}` as far as kctl has seen"),
    };
    Refusal::new(Code::NOT_FOUND, words).with("field", "lineage").with("known", known).next(
        "failure.list",
        "lists what fails",
        json!({ "task": task }),
    )
}
