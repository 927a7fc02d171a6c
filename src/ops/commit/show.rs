//! `commit.show`: one commitment, with where each criterion stands now.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::commitment::{Commitment, Phase};
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskId};
use crate::domain::refusal::Refusal;
use crate::domain::task::TaskStatus;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ops::verification::gate;
use crate::ops::verification::subject::{Subject, tasks_of};
use crate::rules::verification::state::{CriterionState, Standing};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    #[serde(alias = "commit")]
    commitment: CommitmentRef,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Work {
    task: TaskId,
    title: String,
    status: TaskStatus,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    /// Where it is open, `phase`, `met` and `unmet` are as judged now, not as they were when it was last evaluated.
    commitment: Commitment,
    /// Judged now; empty once it is closed.
    criteria: Vec<CriterionState>,
    tasks: Vec<Work>,
}

pub struct Show;

impl Op for Show {
    const NAME: &'static str = "commit.show";
    const ABOUT: &'static str = "Show a commitment, its work, and where each criterion stands";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["commitment"];
    const HIDDEN: &'static [&'static str] = &[
        "commitment.contract.goal",
        "commitment.contract_digest",
        "commitment.attestations.contract_digest",
        "commitment.updated_at",
        "criteria.strength",
        "criteria.last",
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let commitment = call.commitment(&input.commitment)?.value;
        let tasks = tasks_of(call, &commitment.id)?;
        let (commitment, criteria) = match &commitment.closed {
            Some(_) => (commitment, Vec::new()),
            None => {
                let judged = gate::judge_commitment(call, &Subject::of_commitment(call, &commitment)?)?;
                (as_judged(commitment, &judged.criteria), judged.criteria)
            }
        };
        let work = |task: crate::domain::task::Task| Work { task: task.id, title: task.title, status: task.status };
        Ok(Out { commitment, criteria, tasks: tasks.into_iter().map(work).collect() })
    }
}

/// The commitment as an evaluation would leave it now.
fn as_judged(mut commitment: Commitment, criteria: &[CriterionState]) -> Commitment {
    let (met, unmet): (Vec<_>, Vec<_>) = criteria.iter().partition(|one| one.state == Standing::Met);
    let ids = |states: Vec<&CriterionState>| states.into_iter().map(|one| one.id.clone()).collect();
    commitment.phase = if met.is_empty() { Phase::Active } else { Phase::Satisfying };
    (commitment.met, commitment.unmet) = (ids(met), ids(unmet));
    commitment
}
