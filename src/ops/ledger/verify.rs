//! `ledger.verify`: every seal, every chain, every fold, computed anew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::refusal::{Code, Refusal};
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::{Needs, Op};
use crate::ports::ledger::Verification;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    /// Always true in an answer: a ledger that does not verify is a refusal.
    sound: bool,
    ledger: Verification,
}

pub struct Verify;

impl Op for Verify {
    const NAME: &'static str = "ledger.verify";
    const ABOUT: &'static str = "Recompute every seal, chain and folded state";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const NEEDS: Needs = Needs::Repository;
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl ledger verify", "exits with 12 and lists what does not hold, if anything does not")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, _: In) -> Result<Out, Refusal> {
        let common_dir = call.repository()?.place().common_dir.clone();
        let ledger = call.world.ledgers.verify(&common_dir).map_err(fault::of_ledger)?;
        let Some(first) = ledger.problems.first() else { return Ok(Out { sound: true, ledger }) };
        Err(Refusal::new(Code::LEDGER_CORRUPT, format!("the ledger does not verify: {}", first.what))
            .with("problems", &ledger.problems)
            .with("events", ledger.events)
            .next("ledger.rebuild", "mends states that are not the fold of their events", json!({}))
            .next("ledger.recover", "salvages what can be read and keeps the damaged file", json!({})))
    }
}
