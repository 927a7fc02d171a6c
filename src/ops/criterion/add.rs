//! `criterion.add`: more must hold than was agreed. Whoever works on it may ask more of the work.

use schemars::JsonSchema;
use serde::Deserialize;

use super::holder::{Holder, Standing};
use crate::domain::contract::Criterion;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskRef};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::criteria::{self, CriterionInput};
use crate::ops::op::Op;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task that it is added to
    #[serde(default)]
    task: Option<TaskRef>,
    /// The commitment that it is added to
    #[serde(default, alias = "commit")]
    commitment: Option<CommitmentRef>,
    /// What must hold as well
    criteria: Vec<CriterionInput>,
    /// Why, for the record
    reason: String,
}

pub struct Add;

impl Op for Add {
    const NAME: &'static str = "criterion.add";
    const ABOUT: &'static str = "Add criteria to a task's or a commitment's contract, as a new revision";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const POSITIONAL: &'static [&'static str] = &["criteria"];
    const HIDDEN: &'static [&'static str] = &["contract_digest"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl criterion add check:lint --task t-7k2 --reason 'the linter found the last bug'",
        "the task is finished only if `lint` passes as well",
    )];
    const HELP: &'static str = criteria::HELP;
    type In = In;
    type Out = Standing;

    fn run(call: &mut Call<'_>, input: In) -> Result<Standing, Refusal> {
        let holder = Holder::of(call, input.task.as_ref(), input.commitment.as_ref())?;
        holder.refuse_unless_open(call)?;
        let mut contract = holder.contract().clone();
        let added = criteria::named_beside(input.criteria, &contract.criteria)?;
        contract.criteria.extend::<Vec<Criterion>>(added);
        holder.amend(call, contract, &input.reason)
    }
}
