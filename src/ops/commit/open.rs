//! `commit.open`: an obligation is taken on.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::domain::commitment::{Commitment, CommitmentEvent};
use crate::domain::contract::{Contract, EvidenceClass, Limits};
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::CommitmentId;
use crate::domain::refusal::Refusal;
use crate::domain::stamp::Length;
use crate::ops::call::Call;
use crate::ops::criteria::{self, ConstraintInput, CriterionInput};
use crate::ops::criterion::files::refuse_directories;
use crate::ops::op::Op;
use crate::rules::contract;

/// A commitment runs this long unless it says otherwise.
const DEFAULT_TTL: Length = Length::hours(30 * 24);
/// The longest first line of an objective, in characters.
const MAX_FIRST_LINE_CHARS: usize = 120;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// What is promised; its first line has at most 120 characters
    objective: String,
    /// What must hold before it counts as fulfilled
    #[serde(default)]
    criteria: Vec<CriterionInput>,
    /// Globs of the paths the work may change
    #[serde(default)]
    scope: Vec<String>,
    /// Sentences that limit how it is done
    #[serde(default)]
    constraints: Vec<ConstraintInput>,
    /// What must not be done, with what holds it
    #[serde(default)]
    forbidden: Vec<ConstraintInput>,
    /// How far the work may go, such as `max_files`
    #[serde(default)]
    limits: Limits,
    /// How strong the evidence must be: `verified` asks for what kctl observed, `audited` for a person's attestation
    #[serde(default)]
    class: EvidenceClass,
    /// How long it runs: seconds, or `90s`, `10m`, `2h`, `30d` (default: 30d)
    #[serde(default)]
    ttl: Option<Length>,
}

pub struct Open;

impl Op for Open {
    const NAME: &'static str = "commit.open";
    const ABOUT: &'static str = "Take on a commitment: an objective and what must hold before it is fulfilled";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const ASKS_BASE: bool = true;
    const POSITIONAL: &'static [&'static str] = &["objective"];
    const HIDDEN: &'static [&'static str] = &["contract.goal", "contract_digest", "updated_at"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl commit open 'Negative numbers parse' --criteria check:tests --criteria 'diff_scope:src/**,tests/**'",
        "fulfilled when the tests pass and nothing else was touched",
    )];
    const HELP: &'static str = criteria::HELP;
    type In = In;
    type Out = Commitment;

    fn run(call: &mut Call<'_>, input: In) -> Result<Commitment, Refusal> {
        contract::text("objective", &input.objective, 1)?;
        let first_line = input.objective.lines().next().unwrap_or_default();
        contract::line("objective", first_line)?;
        if first_line.chars().count() > MAX_FIRST_LINE_CHARS {
            let words = format!("the first line of an objective has at most {MAX_FIRST_LINE_CHARS} characters");
            return Err(Refusal::invalid("objective", words));
        }
        let terms = Contract {
            goal: input.objective.clone(),
            criteria: criteria::named(input.criteria)?,
            scope: input.scope,
            constraints: ConstraintInput::all(input.constraints),
            forbidden: ConstraintInput::all(input.forbidden),
            limits: input.limits,
        };
        contract::accept(&terms)?;
        call.knows_checks(&terms)?;
        refuse_directories(call, None, &terms, &[])?;
        if terms.criteria.iter().all(|criterion| !criterion.required) {
            call.warn("nothing_to_close_on", "without a required criterion it can never be closed as fulfilled");
        }
        let id = CommitmentId::new(call.world.ids.uuid());
        let opened = CommitmentEvent::Opened {
            objective: input.objective.clone(),
            contract: terms,
            class: input.class,
            until: call.now().plus(input.ttl.unwrap_or(DEFAULT_TTL)),
        };
        let commitment = call.record::<Commitment>(&id, 0, opened)?.value;
        let params = json!({ "title": first_line, "commitment": id });
        call.propose("task.create", "writes down work that fulfils it", params);
        Ok(commitment)
    }
}
