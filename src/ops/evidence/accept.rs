//! `evidence.accept`: a person looked at a run that was held back as suspicious, and lets it count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{EvidenceId, EvidenceRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::{Acceptance, Run, RunEvent, Verdict};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::rules::contract;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    evidence: EvidenceRef,
    /// Why it counts all the same, for whoever reads the record
    reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    evidence: EvidenceId,
    /// What stood against it.
    doubts: Vec<String>,
    acceptance: Acceptance,
}

pub struct Accept;

impl Op for Accept {
    const NAME: &'static str = "evidence.accept";
    const ABOUT: &'static str = "Let a suspicious pass count, as a person who looked at it";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Person;
    const POSITIONAL: &'static [&'static str] = &["evidence"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl evidence accept e-3fz --reason 'two tests moved to the integration suite'",
        "only at a terminal, and without a session",
    )];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        contract::text("reason", &input.reason, 1)?;
        let held = call.evidence(&input.evidence)?;
        let id = held.value.id.clone();
        let record = held.value.record.as_ref().filter(|record| record.is_held_back());
        let Some(record) = record.filter(|_| held.value.accepted.is_none()) else {
            let verdict = held.value.verdict().map_or("unfinished", Verdict::name);
            let words = format!("`{id}` is {verdict}, and nothing holds it back that could be accepted");
            return Err(Refusal::new(Code::CONFLICT, words).with("field", "evidence").next(
                "evidence.show",
                "shows what it says",
                json!({ "evidence": id }),
            ));
        };
        let doubts = record.doubts.iter().map(ToString::to_string).collect();
        let accepted = call.record::<Run>(&id, held.ver, RunEvent::Accepted { reason: input.reason })?.value.accepted;
        Ok(Out { evidence: id, doubts, acceptance: accepted.expect("it was just accepted") })
    }
}
