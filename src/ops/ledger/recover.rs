//! `ledger.recover`: a way back from a ledger that is gone or damaged.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::custody;
use crate::ops::fault;
use crate::ops::op::{Needs, Op, Span};
use crate::ports::ledger::{LedgerFault, Problem, RecoverFrom, Recovered, Source};

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

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    /// How many events the ledger has now; with `dry_run`, how many it would have.
    events: u64,
    /// What could not be saved, or was saved and does not verify.
    lost: Vec<Problem>,
    /// Where the damaged file was kept.
    kept: Option<String>,
    /// What it was recovered from.
    source: String,
    /// With `dry_run`: the files that are known and could be read.
    sources: Vec<Source>,
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
        ("kctl ledger recover --dry-run", "names what it could be recovered from, and changes nothing"),
        ("kctl ledger recover", "salvages every readable row and says what was lost"),
        ("kctl ledger recover --from ledger-monday.db", "restores a backup"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        if input.accept_loss && !call.caller.is_person() {
            return Err(custody::person_required(&call.caller).with("field", "accept_loss").next(
                "ledger.recover",
                "names what it could be recovered from",
                json!({ "dry_run": true }),
            ));
        }
        let common_dir = call.repository()?.place().common_dir.clone();
        let from = input.from.map(|file| call.world.cwd.join(file));
        if call.dry_run {
            let sources = call.world.ledgers.sources(&common_dir);
            return Ok(foreseen(call, from.as_deref(), sources));
        }
        let from = match (from, input.accept_loss) {
            (Some(file), _) => RecoverFrom::Backup(file),
            (None, false) => RecoverFrom::Damaged,
            (None, true) => RecoverFrom::DamagedOrNothing,
        };
        // The ledger that the waist opened, if any, must not keep the file that is replaced.
        call.ledger = None;
        let done = call.world.ledgers.recover(&common_dir, &from).map_err(refused)?;
        call.propose("ledger.verify", "says whether what was recovered holds together", json!({}));
        let Recovered { events, lost, kept, source } = done;
        Ok(Out { events, lost, kept, source, sources: Vec::new() })
    }
}

/// Every refusal leads to what is known of ways back, and from there to one that can be sent.
fn refused(why: LedgerFault) -> Refusal {
    let known = matches!(why, LedgerFault::Missing(_) | LedgerFault::Absent);
    let refusal = fault::of_ledger(why).with("field", "from");
    if known {
        return refusal;
    }
    refusal.next("ledger.recover", "names what it could be recovered from", json!({ "dry_run": true }))
}

fn foreseen(call: &mut Call<'_>, from: Option<&Path>, sources: Vec<Source>) -> Out {
    let wanted = |source: &&Source| match from {
        Some(from) => Path::new(&source.path) == from,
        None => source.in_place,
    };
    let chosen = sources.iter().find(wanted).cloned();
    match (&chosen, sources.iter().find(|source| !source.in_place)) {
        (Some(chosen), _) if from.is_none() => {
            let why = format!("salvages the {} events that can be read", chosen.events);
            call.propose("ledger.recover", why, json!({}));
        }
        (Some(Source { path, .. }), _) | (None, Some(Source { path, .. })) => {
            call.propose("ledger.recover", "restores that file", json!({ "from": path }));
        }
        (None, None) => {
            let words = "no backup is known here: name one with `from`, or let a person start an empty ledger";
            call.warn("nothing_to_recover_from", words);
            let why = "starts an empty ledger; only a person may, at a terminal";
            call.propose("ledger.recover", why, json!({ "accept_loss": true }));
        }
    }
    Out {
        events: chosen.as_ref().map_or(0, |source| source.events),
        lost: Vec::new(),
        kept: None,
        source: chosen.map_or_else(|| "nothing".to_owned(), |source| format!("`{}`", source.path)),
        sources,
    }
}
