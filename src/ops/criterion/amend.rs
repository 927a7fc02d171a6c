//! `criterion.amend`: a criterion, or another part of the contract, becomes another. What came from a person is changed by
//! a person.

use schemars::JsonSchema;
use serde::Deserialize;

use super::holder::{Holder, Standing};
use crate::domain::contract::{Contract, CriterionId, Limits};
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::ops::call::Call;
use crate::ops::criteria::{self, ConstraintInput, CriterionInput};
use crate::ops::op::Op;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose contract it is
    #[serde(default)]
    task: Option<TaskRef>,
    /// The commitment whose contract it is
    #[serde(default, alias = "commit")]
    commitment: Option<CommitmentRef>,
    /// The criterion that is changed, together with `to`
    #[serde(default)]
    criterion: Option<CriterionId>,
    /// What it becomes; it keeps its id
    #[serde(default)]
    to: Option<CriterionInput>,
    /// Replaces the goal
    #[serde(default)]
    goal: Option<String>,
    /// Replaces the globs of the paths that the work may change
    #[serde(default)]
    scope: Option<Vec<String>>,
    /// Replaces the sentences that limit how it is done
    #[serde(default)]
    constraints: Option<Vec<ConstraintInput>>,
    /// Replaces what is forbidden
    #[serde(default)]
    forbidden: Option<Vec<ConstraintInput>>,
    /// Replaces the limits
    #[serde(default)]
    limits: Option<Limits>,
    /// Why, for the record
    reason: String,
}

pub struct Amend;

impl Op for Amend {
    const NAME: &'static str = "criterion.amend";
    const ABOUT: &'static str = "Change a criterion or another part of a contract, as a new revision";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const POSITIONAL: &'static [&'static str] = &["criterion"];
    const HIDDEN: &'static [&'static str] = &["contract_digest"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        (
            "kctl criterion amend AC-1 --to check:unit --task t-7k2 --reason 'the suite was split'",
            "evidence for the old criterion no longer counts for it",
        ),
        (
            "kctl criterion amend --scope 'src/**' --scope 'docs/**' --task t-7k2 --reason 'the docs are wrong too'",
            "changes the scope and leaves the criteria",
        ),
    ];
    const HELP: &'static str = criteria::HELP;
    type In = In;
    type Out = Standing;

    fn run(call: &mut Call<'_>, input: In) -> Result<Standing, Refusal> {
        let holder = Holder::of(call, input.task.as_ref(), input.commitment.as_ref())?;
        holder.refuse_unless_open(call)?;
        let mut contract = holder.contract().clone();
        match (&input.criterion, input.to) {
            (Some(id), Some(to)) => {
                holder.criterion(id)?;
                holder.refuse_unless_own(call, id)?;
                replace(&mut contract, id, to)?;
            }
            (None, None) => {}
            (Some(_), None) => {
                return Err(Refusal::invalid("to", "`criterion` is given together with what it becomes"));
            }
            (None, Some(_)) => return Err(Refusal::invalid("criterion", "`to` is given together with `criterion`")),
        }
        let rest = contract.clone();
        set(&mut contract.goal, input.goal);
        set(&mut contract.scope, input.scope);
        set(&mut contract.constraints, input.constraints.map(ConstraintInput::all));
        set(&mut contract.forbidden, input.forbidden.map(ConstraintInput::all));
        set(&mut contract.limits, input.limits);
        if contract != rest && holder.terms().by_person && !call.caller.is_person() {
            let words =
                "the contract came from a person, so that only a person changes its goal, scope and constraints";
            return Err(holder.ask_a_person(Refusal::new(Code::PERSON_REQUIRED, words)));
        }
        holder.warn_if_nothing_required(call, &contract);
        holder.amend(call, contract, &input.reason)
    }
}

fn replace(contract: &mut Contract, id: &CriterionId, to: CriterionInput) -> Result<(), Refusal> {
    let place = contract.criteria.iter_mut().find(|criterion| criterion.id == *id).expect("it was looked up");
    *place = to.called(id)?;
    Ok(())
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}
