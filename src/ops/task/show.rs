//! `task.show`: one task, whole.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::op::Op;

use super::view::Whole;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
}

pub struct Show;

impl Op for Show {
    const NAME: &'static str = "task.show";
    const ABOUT: &'static str = "Show a task with its contract, claim and blockers";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["contract_digest", "claim.since", "fence", "updated_at"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[("kctl task show t-7k2", "any unique prefix will do")];
    type In = In;
    type Out = Whole;

    fn run(call: &mut Call<'_>, input: In) -> Result<Whole, Refusal> {
        let task = call.task(&input.task)?.value;
        Whole::of(call, task)
    }
}
