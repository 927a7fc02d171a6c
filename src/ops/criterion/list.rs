//! `criterion.list`: what must hold, where it stands now, who asked for it, and what of it is waived.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::holder::Holder;
use super::named::Named;
use crate::domain::contract::{Constraint, CriterionId, LIMITS, Limits, Strength, Waiver};
use crate::domain::digest::Digest;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, EvidenceId, TaskRef};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ops::verification::{gate, integrity};
use crate::rules::verification::state::{CriterionState, Standing};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose criteria are shown (default: inside a task's worktree, that task)
    #[serde(default)]
    task: Option<TaskRef>,
    /// The commitment whose criteria are shown
    #[serde(default, alias = "commit")]
    commitment: Option<CommitmentRef>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    id: CriterionId,
    state: Standing,
    kind: String,
    statement: String,
    required: bool,
    /// `person` while it waits for one's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<&'static str>,
    /// Who it came from: what came from a person is changed by a person.
    from: From,
    strength: Strength,
    waiver: Option<Waiver>,
    evidence: Option<EvidenceId>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum From {
    Person,
    Agent,
    /// The accepted base's profile requires it.
    Profile,
    /// It stands while findings are held; no contract names it.
    Kctl,
}

/// A limit on how the work is done, and what holds it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Held {
    text: String,
    /// `unenforced` where nothing does.
    enforced_by: String,
    forbidden: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    revision: u32,
    contract_digest: Digest,
    criteria: Vec<Line>,
    constraints: Vec<Held>,
    scope: Vec<String>,
    limits: Limits,
}

pub struct ListCriteria;

impl Op for ListCriteria {
    const NAME: &'static str = "criterion.list";
    const ABOUT: &'static str = "List what must hold, where it stands now, who asked for it and what is waived";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["contract_digest", "criteria.strength", "criteria.evidence"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl criterion list t-7k2", "the whole contract, and what enforces each part of it")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let holder = Named::asked(call, input.task.as_ref(), input.commitment.as_ref())?;
        let subject = holder.subject(call)?;
        let judged = match &holder {
            Holder::Task(_) => gate::judge(call, &subject)?,
            Holder::Commitment(_) => gate::judge_commitment(call, &subject)?,
        };
        let contract = &subject.contract;
        let line = |state: CriterionState| {
            let criterion = contract.criterion(&state.id);
            Line {
                kind: match criterion {
                    None if integrity::is_held(&state) => "integrity",
                    None => "check",
                    Some(criterion) => criterion.proof.kind(),
                }
                .to_owned(),
                from: match criterion {
                    None if integrity::is_held(&state) => From::Kctl,
                    None => From::Profile,
                    Some(one) if subject.terms.criteria_by_person.contains(&one.id) => From::Person,
                    Some(one) if one.id.as_str() == LIMITS && subject.terms.by_person => From::Person,
                    Some(_) => From::Agent,
                },
                id: state.id,
                state: state.state,
                statement: state.statement,
                required: state.required,
                waits_for: state.waits_for,
                strength: state.strength,
                waiver: state.waiver,
                evidence: state.evidence,
            }
        };
        Ok(Out {
            revision: subject.terms.revision,
            contract_digest: subject.contract_digest.clone(),
            criteria: judged.criteria.into_iter().map(line).collect(),
            constraints: held(&contract.constraints, false).chain(held(&contract.forbidden, true)).collect(),
            scope: contract.scope.clone(),
            limits: contract.limits.clone(),
        })
    }
}

fn held(constraints: &[Constraint], forbidden: bool) -> impl Iterator<Item = Held> + '_ {
    constraints.iter().map(move |constraint| Held {
        text: constraint.text.clone(),
        enforced_by: constraint.enforced_by.clone().unwrap_or_else(|| "unenforced".to_owned()),
        forbidden,
    })
}
