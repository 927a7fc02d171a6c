//! Making every folded state anew from the events.

use rusqlite::{Connection, OptionalExtension};

use crate::domain::event::Recorded;
use crate::domain::fold::{FOLD_VERSION, Stream};
use crate::domain::replay::{Replay, replay};
use crate::ports::ledger::{LedgerFault, Problem, Problems};

use super::{schema, state, views};

pub const NEXT_STREAM: &str = "SELECT stream FROM events WHERE stream > ?1 ORDER BY stream LIMIT 1";

/// Drops the folded state and replays every event, in the transaction that is open.
pub fn refold(conn: &Connection) -> Result<(u64, Vec<Problem>), LedgerFault> {
    conn.execute_batch("DELETE FROM state; DELETE FROM links; DELETE FROM counts; DELETE FROM quarantine;")?;
    let mut events = 0;
    let mut problems = Problems::default();
    let mut stream = String::new();
    while let Some(next) = next_stream(conn, &stream)? {
        stream = next;
        let done = replay_stream(conn, &stream)?;
        events += done.events;
        // A name that does not read has no state, and every event under it is quarantined.
        if let (Some(state), Ok(stream)) = (&done.state, stream.parse::<Stream>()) {
            state::store(conn, &stream, state)?;
        }
        for (seq, what) in done.quarantined {
            conn.prepare_cached("INSERT INTO quarantine (seq, what) VALUES (?1, ?2)")?.execute((seq, &what))?;
            problems.add(Some(seq), what);
        }
    }
    schema::set_meta(conn, "fold_version", &FOLD_VERSION.to_string())?;
    Ok((events, problems.into_list()))
}

/// The first stream behind `after` in the order of names.
pub fn next_stream(conn: &Connection, after: &str) -> Result<Option<String>, LedgerFault> {
    Ok(conn.prepare_cached(NEXT_STREAM)?.query_row([after], |row| row.get(0)).optional()?)
}

/// Folds the events of one stream as they are recorded now. Nothing is stored by this.
pub fn replay_stream(conn: &Connection, stream: &str) -> Result<Replay, LedgerFault> {
    let sql = format!("SELECT {} FROM events WHERE stream = ?1 ORDER BY at, origin, oseq", views::EVENT);
    let mut statement = conn.prepare_cached(&sql)?;
    let events = statement.query_map([stream], views::recorded)?;
    replay(stream, events.map(|event: rusqlite::Result<Recorded>| event.map_err(LedgerFault::from)))
}
