//! `ledger.rebuild`: proves that state is the fold of the events, by folding it anew.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::{Needs, Op, Span};
use crate::ports::ledger::Rebuilt;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {}

pub struct Rebuild;

impl Op for Rebuild {
    const NAME: &'static str = "ledger.rebuild";
    const ABOUT: &'static str = "Drop all folded state and replay the events";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const NEEDS: Needs = Needs::Repository;
    const SPAN: Span = Span::Steps;
    type In = In;
    type Out = Rebuilt;

    fn run(call: &mut Call<'_>, _: In) -> Result<Rebuilt, Refusal> {
        let common_dir = call.repository()?.place().common_dir.clone();
        call.world.ledgers.rebuild(&common_dir, call.dry_run).map_err(fault::of_ledger)
    }
}
