//! `commit.show`: one commitment, with where each criterion stands now.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::commitment::Commitment;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskId};
use crate::domain::refusal::Refusal;
use crate::domain::task::TaskStatus;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ops::verification::gate;
use crate::ops::verification::subject::{Subject, tasks_of};
use crate::rules::verification::state::CriterionState;

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
        let criteria = match &commitment.closed {
            Some(_) => Vec::new(),
            None => gate::judge_commitment(call, &Subject::of_commitment(call, &commitment)?)?.criteria,
        };
        let work = |task: crate::domain::task::Task| Work { task: task.id, title: task.title, status: task.status };
        Ok(Out { commitment, criteria, tasks: tasks.into_iter().map(work).collect() })
    }
}
