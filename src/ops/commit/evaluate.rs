//! `commit.evaluate`: where a commitment stands goes on record. Nothing is run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::commitment::{Commitment, CommitmentEvent, Phase};
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentId, CommitmentRef};
use crate::domain::refusal::{Code, Refusal};
use crate::ops::call::{Call, Held};
use crate::ops::op::Op;
use crate::ops::verification::assess::evidence_of;
use crate::ops::verification::gate::{self, Judged};
use crate::ops::verification::subject::Subject;
use crate::rules::verification::state::{CriterionState, Standing, fulfil};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    #[serde(alias = "commit")]
    commitment: CommitmentRef,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    commitment: CommitmentId,
    phase: Phase,
    criteria: Vec<CriterionState>,
    /// Whether it could be closed as fulfilled now.
    closable: bool,
}

pub struct Evaluate;

impl Op for Evaluate {
    const NAME: &'static str = "commit.evaluate";
    const ABOUT: &'static str = "Judge a commitment's criteria by recorded evidence, and record where it stands";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["commitment"];
    const HIDDEN: &'static [&'static str] = &["criteria.required", "criteria.strength", "criteria.last"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl commit evaluate c-9qd", "reads verdicts; `kctl validate` makes them")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let held = call.commitment(&input.commitment)?;
        let id = held.value.id.clone();
        refuse_closed(&held.value)?;
        let judged = gate::judge_commitment(call, &Subject::of_commitment(call, &held.value)?)?;
        record_standing(call, &held, &judged)?;
        let commitment = call.load_or_blank::<Commitment>(&id)?.value;
        let closable = fulfil(&judged.criteria, commitment.class).is_ok();
        if closable {
            call.propose("commit.close", "closes it", json!({ "commitment": id, "verdict": "fulfilled" }));
        } else {
            call.propose("validate", "makes evidence for what is unmet", json!({ "commitment": id }));
        }
        Ok(Out { commitment: id, phase: commitment.phase, criteria: judged.criteria, closable })
    }
}

/// Records which criteria are met, unless that is known already. Gives the commitment's version after that.
pub fn record_standing(call: &mut Call<'_>, held: &Held<Commitment>, judged: &Judged) -> Result<u64, Refusal> {
    let ids = |met: bool| {
        judged.criteria.iter().filter(|one| (one.state == Standing::Met) == met).map(|one| one.id.clone()).collect()
    };
    let (met, unmet) = (ids(true), ids(false));
    if held.value.met == met && held.value.unmet == unmet {
        return Ok(held.ver);
    }
    let evaluated = CommitmentEvent::Evaluated { met, unmet, evidence: evidence_of(&judged.criteria) };
    Ok(call.record::<Commitment>(&held.value.id, held.ver, evaluated)?.ver)
}

/// Refuses a commitment that is closed: it accepts nothing any more.
pub fn refuse_closed(commitment: &Commitment) -> Result<(), Refusal> {
    match &commitment.closed {
        None => Ok(()),
        Some(closed) => Err(Refusal::new(Code::CONFLICT, format!("commitment `{}` is closed", commitment.id))
            .with("commitment", &commitment.id)
            .with("closed", closed)
            .next("commit.show", "shows how it ended", json!({ "commitment": commitment.id }))),
    }
}
