//! `ledger.recover`: a way back from a ledger that is gone or damaged.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::custody;
use crate::ops::fault;
use crate::ops::op::{Needs, Op, Span};
use crate::ports::ledger::{RecoverFrom, Recovered};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// A backup to restore (default: salvage the readable rows of the damaged file)
    #[serde(default)]
    from: Option<PathBuf>,
    /// Start an empty ledger if nothing can be had; what was recorded is then lost, so only a person may
    #[serde(default)]
    accept_loss: bool,
}

pub struct Recover;

impl Op for Recover {
    const NAME: &'static str = "ledger.recover";
    const ABOUT: &'static str = "Restore a ledger from a backup, or salvage a damaged one; the damaged file is kept";
    const EFFECT: Effect = Effect::Irreversible;
    const CUSTODY: Custody = Custody::None;
    const NEEDS: Needs = Needs::Repository;
    const SPAN: Span = Span::Steps;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl ledger recover", "salvages every readable row and says what was lost"),
        ("kctl ledger recover --from ledger-monday.db", "restores a backup"),
    ];
    type In = In;
    type Out = Recovered;

    fn run(call: &mut Call<'_>, input: In) -> Result<Recovered, Refusal> {
        if input.accept_loss && !call.caller.is_person() {
            return Err(custody::person_required(&call.caller).with("field", "accept_loss"));
        }
        let common_dir = call.repository()?.place().common_dir.clone();
        if call.dry_run {
            return Err(Refusal::invalid(
                "dry_run",
                "a recovery cannot be tried without doing it; it keeps the old file",
            ));
        }
        let from = match (input.from, input.accept_loss) {
            (Some(file), _) => RecoverFrom::Backup(call.world.cwd.join(file)),
            (None, false) => RecoverFrom::Damaged,
            (None, true) => RecoverFrom::DamagedOrNothing,
        };
        // The ledger that the waist opened, if any, must not keep the file that is replaced.
        call.ledger = None;
        call.world.ledgers.recover(&common_dir, &from).map_err(|why| fault::of_ledger(why).with("field", "from"))
    }
}
