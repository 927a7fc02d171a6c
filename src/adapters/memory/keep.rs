//! Proving and rebuilding a ledger in memory.

use crate::domain::chain::Audit;
use crate::ports::ledger::{Ledger, LedgerFault, Problems, Rebuilt, Verification};

use super::tables::Tables;
use super::write::Handle;

/// Recomputes every seal, the chain of every origin, and every folded state.
pub fn verify(tables: &Tables) -> Verification {
    let mut problems = Problems::default();
    let mut audit = Audit::default();
    for event in &tables.events {
        audit.walk(event).into_iter().for_each(|what| problems.add(Some(event.seq), what));
    }
    let heads: Vec<_> = tables.heads.values().cloned().collect();
    audit.compare(&heads).into_iter().for_each(|what| problems.add(None, what));
    let (folded, quarantined) = tables.folded();
    quarantined.into_iter().for_each(|problem| problems.add(problem.seq, problem.what));
    if folded != tables.states {
        problems.add(None, "the states are not the fold of their events");
    }
    Verification {
        events: tables.events.len() as u64,
        states: tables.states.len() as u64,
        origins: audit.origins(),
        unknown: tables.replays().values().map(|done| done.unknown).sum(),
        problems: problems.into_list(),
    }
}

/// Replays every event, under the write lock.
pub fn rebuild(mut handle: Handle, dry_run: bool) -> Result<Rebuilt, LedgerFault> {
    handle.begin()?;
    let tables = handle.working()?;
    let (states, quarantined) = tables.folded();
    let changed = states != tables.states;
    tables.states = states;
    let (events, states) = (tables.events.len() as u64, tables.states.len() as u64);
    if dry_run {
        handle.rollback();
    } else {
        handle.commit()?;
    }
    Ok(Rebuilt { events, states, quarantined, changed })
}
