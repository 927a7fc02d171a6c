//! Folded states as they are stored, with their links and counts.

use rusqlite::{Connection, OptionalExtension};

use crate::domain::chain::Before;
use crate::domain::fold::{Folded, Index, Link, Stream};
use crate::domain::replay::State;
use crate::ports::ledger::LedgerFault;

/// What is known of `stream` before an append.
pub fn before(conn: &Connection, stream: &Stream) -> Result<Before, LedgerFault> {
    let found = conn
        .prepare_cached(
            "SELECT s.ver, s.body, e.at, e.origin FROM state s LEFT JOIN events e ON e.seq = s.seq
             WHERE s.kind = ?1 AND s.id = ?2",
        )?
        .query_row((stream.kind.name(), &stream.id), |row| {
            let last = row.get::<_, Option<i64>>(2)?.zip(row.get::<_, Option<String>>(3)?);
            Ok(Before { body: Some(row.get(1)?), events: row.get(0)?, last })
        })
        .optional()?;
    found.map_or_else(|| before_any_state(conn, &stream.to_string()), Ok)
}

/// A stream without a state may yet have events: those that no fold here understands.
fn before_any_state(conn: &Connection, stream: &str) -> Result<Before, LedgerFault> {
    let events: u64 =
        conn.prepare_cached("SELECT count(*) FROM events WHERE stream = ?1")?.query_row([stream], |row| row.get(0))?;
    if events == 0 {
        return Ok(Before::default());
    }
    let last = conn
        .prepare_cached(
            "SELECT at, origin FROM events WHERE stream = ?1 ORDER BY at DESC, origin DESC, oseq DESC LIMIT 1",
        )?
        .query_row([stream], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(Before { body: None, events, last })
}

/// Stores a folded state in place of the one before.
pub fn store(conn: &Connection, stream: &Stream, state: &State) -> Result<(), LedgerFault> {
    let (kind, id, Folded { body, index }) = (stream.kind.name(), &stream.id, &state.folded);
    let was: Option<String> = conn
        .prepare_cached("SELECT status FROM state WHERE kind = ?1 AND id = ?2")?
        .query_row((kind, id), |row| row.get(0))
        .optional()?;
    conn.prepare_cached(
        "INSERT INTO state (kind, id, ver, seq, status, owner, parent, name, rank, until, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (kind, id) DO UPDATE SET ver = ?3, seq = ?4, status = ?5, owner = ?6, parent = ?7, name = ?8,
           rank = ?9, until = ?10, body = ?11",
    )?
    .execute((
        kind,
        id,
        state.ver,
        state.seq,
        index.status,
        &index.owner,
        &index.parent,
        &index.name,
        index.rank,
        index.until,
        body,
    ))?;
    if was.as_deref() != Some(index.status) {
        count(conn, kind, was.as_deref(), -1)?;
        count(conn, kind, Some(index.status), 1)?;
    }
    link(conn, kind, id, index)
}

fn count(conn: &Connection, kind: &str, status: Option<&str>, by: i64) -> Result<(), LedgerFault> {
    let Some(status) = status else { return Ok(()) };
    conn.prepare_cached(
        "INSERT INTO counts (kind, status, n) VALUES (?1, ?2, ?3) ON CONFLICT (kind, status) DO UPDATE SET n = n + ?3",
    )?
    .execute((kind, status, by))?;
    Ok(())
}

/// Writes the links only if they changed: most events change none, and every page written is a page synced.
fn link(conn: &Connection, kind: &str, id: &str, index: &Index) -> Result<(), LedgerFault> {
    let wanted = links_of(index);
    if links(conn, kind, id)? == wanted {
        return Ok(());
    }
    conn.prepare_cached("DELETE FROM links WHERE kind = ?1 AND id = ?2")?.execute((kind, id))?;
    for (rel, target, status, rank) in &wanted {
        conn.prepare_cached("INSERT INTO links (kind, id, rel, target, status, rank) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute((kind, id, rel, target, status, rank))?;
    }
    Ok(())
}

/// Relation, target, and the status and rank of the state that links.
pub type LinkRow = (String, String, String, i64);

/// The links that `index` asks for, as they are stored: sorted, each once.
pub fn links_of(index: &Index) -> Vec<LinkRow> {
    let row = |link: &Link| (link.rel.name().to_owned(), link.target.clone(), index.status.to_owned(), index.rank);
    let mut rows: Vec<LinkRow> = index.links.iter().map(row).collect();
    rows.sort();
    rows.dedup();
    rows
}

pub fn links(conn: &Connection, kind: &str, id: &str) -> Result<Vec<LinkRow>, LedgerFault> {
    let mut statement = conn.prepare_cached(
        "SELECT rel, target, status, rank FROM links WHERE kind = ?1 AND id = ?2 ORDER BY rel, target",
    )?;
    let rows = statement.query_map((kind, id), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    rows.collect::<Result<_, _>>().map_err(Into::into)
}
