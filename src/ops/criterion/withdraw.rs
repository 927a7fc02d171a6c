//! `criterion.withdraw`: a criterion no longer has to hold. What came from a person is withdrawn by a person.

use schemars::JsonSchema;
use serde::Deserialize;

use super::holder::{Holder, Standing};
use crate::domain::contract::CriterionId;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskRef};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::op::Op;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose criterion it is
    #[serde(default)]
    task: Option<TaskRef>,
    /// The commitment whose criterion it is
    #[serde(default, alias = "commit")]
    commitment: Option<CommitmentRef>,
    criterion: CriterionId,
    /// Why, for the record
    reason: String,
}

pub struct Withdraw;

impl Op for Withdraw {
    const NAME: &'static str = "criterion.withdraw";
    const ABOUT: &'static str = "Take a criterion out of a contract, as a new revision";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const POSITIONAL: &'static [&'static str] = &["criterion"];
    const HIDDEN: &'static [&'static str] = &["contract_digest"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl criterion withdraw AC-2 --task t-7k2 --reason 'it was split off into t-9m4'",
        "a criterion that a person wrote is withdrawn by a person",
    )];
    type In = In;
    type Out = Standing;

    fn run(call: &mut Call<'_>, input: In) -> Result<Standing, Refusal> {
        let holder = Holder::of(call, input.task.as_ref(), input.commitment.as_ref())?;
        holder.refuse_unless_open(call)?;
        holder.criterion(&input.criterion)?;
        holder.refuse_unless_own(call, &input.criterion)?;
        let mut contract = holder.contract().clone();
        contract.criteria.retain(|criterion| criterion.id != input.criterion);
        holder.warn_if_nothing_required(call, &contract);
        holder.amend(call, contract, &input.reason)
    }
}
