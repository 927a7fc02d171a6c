//! `ledger.backup`: a consistent copy, taken while others write.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::answer::LedgerHead;
use crate::domain::effect::{Custody, Effect};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::{Op, Span};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The new file; an existing one is never overwritten
    to: PathBuf,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    to: String,
    head: LedgerHead,
}

pub struct Backup;

impl Op for Backup {
    const NAME: &'static str = "ledger.backup";
    const ABOUT: &'static str = "Copy the ledger to a new file";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const SPAN: Span = Span::Steps;
    const POSITIONAL: &'static [&'static str] = &["to"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl ledger backup ledger-monday.db", "`kctl ledger recover --from` reads it back")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let common_dir = call.repository()?.place().common_dir.clone();
        let to = call.world.cwd.join(&input.to);
        let head = if call.dry_run {
            call.views()?.head().map_err(fault::of_ledger)?
        } else {
            Some(call.world.ledgers.backup(&common_dir, &to).map_err(|why| fault::of_ledger(why).with("field", "to"))?)
        };
        let head = head.ok_or_else(|| Refusal::invalid("to", "the ledger holds no event yet"))?;
        Ok(Out { to: to.display().to_string(), head })
    }
}
