//! Looking at a ledger.

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params_from_iter};

use crate::domain::answer::LedgerHead;
use crate::domain::chain::Chain;
use crate::domain::digest::Digest;
use crate::domain::event::Recorded;
use crate::domain::fold::Kind;
use crate::domain::id::OriginId;
use crate::domain::stamp::Stamp;
use crate::ports::ledger::{Cursor, LedgerFault, MAX_PAGE, Query, Row, StoredAnswer, Views};

use super::Db;
use super::select::{self, ROW};

/// The columns that [`recorded`] reads.
pub const EVENT: &str = "seq, id, stream, ver, type, v, at, caller, origin, oseq, prev, body, seal";

pub const WITH_PREFIX: &str =
    "SELECT id FROM state WHERE kind = ?1 AND id >= ?2 AND id < ?2 || '{' ORDER BY id LIMIT ?3";
pub const COUNTS: &str = "SELECT status, n FROM counts WHERE kind = ?1 AND n > 0 ORDER BY status";
pub const ANSWER: &str = "SELECT request, answer FROM answers WHERE key = ?1";
pub const HEAD: &str = "SELECT oseq, seal FROM heads WHERE origin = ?1";
pub const LAST: &str = "SELECT origin, oseq, seal FROM events ORDER BY seq DESC LIMIT 1";
pub const LAST_AT: &str = "SELECT at FROM events ORDER BY seq DESC LIMIT 1";
pub const LOAD: &str = "SELECT s.id, s.ver, s.seq, s.rank, s.body FROM state s WHERE kind = ?1 AND id = ?2";

impl Views for Db {
    fn load(&self, kind: Kind, id: &str) -> Result<Option<Row>, LedgerFault> {
        Ok(self.conn.prepare_cached(LOAD)?.query_row((kind.name(), id), row).optional()?)
    }

    fn with_prefix(&self, kind: Kind, prefix: &str, limit: u32) -> Result<Vec<String>, LedgerFault> {
        // Ids are ASCII and `{` follows `z`, so this is the range of everything that starts with the prefix.
        let mut statement = self.conn.prepare_cached(WITH_PREFIX)?;
        let ids = statement.query_map((kind.name(), prefix, limit.min(MAX_PAGE)), |row| row.get(0))?;
        ids.collect::<Result<_, _>>().map_err(Into::into)
    }

    fn query(&self, query: &Query) -> Result<Vec<Row>, LedgerFault> {
        let mut found = Vec::new();
        let parts = select::parts(query);
        let several = parts.len() > 1;
        for (sql, values) in parts {
            found.extend(rows(&self.conn, &sql, values)?);
        }
        if several {
            found.sort_by(|a, b| (a.rank, &a.id).cmp(&(b.rank, &b.id)));
            found.truncate(query.limit.min(MAX_PAGE) as usize);
        }
        Ok(found)
    }

    fn ready(&self, after: Option<&Cursor>, limit: u32) -> Result<Vec<Row>, LedgerFault> {
        let (sql, values) = select::ready(after, limit);
        rows(&self.conn, &sql, values)
    }

    fn counts(&self, kind: Kind) -> Result<Vec<(String, u64)>, LedgerFault> {
        let mut statement = self.conn.prepare_cached(COUNTS)?;
        let counts = statement.query_map([kind.name()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        counts.collect::<Result<_, _>>().map_err(Into::into)
    }

    fn events(&self, stream: Option<&str>, after_seq: u64, limit: u32) -> Result<Vec<Recorded>, LedgerFault> {
        let (sql, values) = select::events(stream, after_seq, limit);
        let mut statement = self.conn.prepare_cached(&sql)?;
        let events = statement.query_map(params_from_iter(values), recorded)?;
        events.collect::<Result<_, _>>().map_err(Into::into)
    }

    fn events_before(&self, stream: Option<&str>, before_seq: u64, limit: u32) -> Result<Vec<Recorded>, LedgerFault> {
        let (sql, values) = select::events_before(stream, before_seq, limit);
        let mut statement = self.conn.prepare_cached(&sql)?;
        let events = statement.query_map(params_from_iter(values), recorded)?;
        let mut events: Vec<Recorded> = events.collect::<Result<_, _>>()?;
        events.reverse();
        Ok(events)
    }

    fn answer(&self, key: &str) -> Result<Option<StoredAnswer>, LedgerFault> {
        let found = self
            .conn
            .prepare_cached(ANSWER)?
            .query_row([key], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))
            .optional()?;
        let Some((request, answer)) = found else { return Ok(None) };
        let request: Digest =
            request.parse().map_err(|_| LedgerFault::Corrupt("a stored answer's digest".to_owned()))?;
        Ok(Some(StoredAnswer { request, answer }))
    }

    fn head(&self) -> Result<Option<LedgerHead>, LedgerFault> {
        newest(&self.conn, &self.origin)
    }

    fn last_at(&self) -> Result<Option<Stamp>, LedgerFault> {
        let mut statement = self.conn.prepare_cached(LAST_AT)?;
        Ok(statement.query_row([], |row| row.get(0)).optional()?.map(Stamp::from_ms))
    }

    fn origin(&self) -> &OriginId {
        &self.origin
    }
}

/// The end of the chain of `origin`, or of the origin that wrote last where `origin` wrote nothing yet.
pub fn newest(conn: &Connection, origin: &OriginId) -> Result<Option<LedgerHead>, LedgerFault> {
    let Chain { oseq, seal, .. } = head(conn, origin)?;
    let (origin, oseq, seal) = match oseq {
        0 => {
            let mut statement = conn.prepare_cached(LAST)?;
            let last = statement.query_row([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)));
            let Some(last) = last.optional()? else { return Ok(None) };
            let unknown = |_| LedgerFault::Corrupt("the last event's origin is not one".to_owned());
            (last.0.parse().map_err(unknown)?, last.1, last.2)
        }
        oseq => (origin.clone(), oseq, seal),
    };
    let seal = seal.parse().map_err(|_| LedgerFault::Corrupt("the last event's seal is not a digest".to_owned()))?;
    Ok(Some(LedgerHead { origin, oseq, seal }))
}

/// The end of the chain of `origin`.
pub fn head(conn: &Connection, origin: &OriginId) -> rusqlite::Result<Chain> {
    let found: Option<(u64, String)> =
        conn.prepare_cached(HEAD)?.query_row([origin.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (oseq, seal) = found.unwrap_or_default();
    Ok(Chain { origin: origin.to_string(), oseq, seal })
}

/// The ends of all chains, as the ledger remembers them.
pub fn heads(conn: &Connection) -> rusqlite::Result<Vec<Chain>> {
    let mut statement = conn.prepare_cached("SELECT origin, oseq, seal FROM heads ORDER BY origin")?;
    let heads =
        statement.query_map([], |row| Ok(Chain { origin: row.get(0)?, oseq: row.get(1)?, seal: row.get(2)? }))?;
    heads.collect()
}

/// Reads one event row, whatever was done to it: what is no text or no count any more is read as near as can be, and
/// the seal then says that the row was changed. One bad row must not take the ledger down.
pub fn recorded(row: &SqlRow<'_>) -> rusqlite::Result<Recorded> {
    let text =
        |at| -> rusqlite::Result<String> { Ok(String::from_utf8_lossy(row.get_ref(at)?.as_bytes()?).into_owned()) };
    let count = |at| row.get::<_, i64>(at).map(|found| u64::try_from(found).unwrap_or_default());
    Ok(Recorded {
        seq: count(0)?,
        id: text(1)?,
        stream: text(2)?,
        ver: count(3)?,
        type_name: text(4)?,
        version: u32::try_from(count(5)?).unwrap_or_default(),
        at: row.get(6)?,
        caller: text(7)?,
        origin: text(8)?,
        oseq: count(9)?,
        prev: text(10)?,
        body: row.get_ref(11)?.as_bytes()?.to_vec(),
        seal: text(12)?,
    })
}

fn row(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    Ok(Row { id: row.get(0)?, ver: row.get(1)?, seq: row.get(2)?, rank: row.get(3)?, body: row.get(4)? })
}

fn rows(conn: &Connection, sql: &str, values: Vec<Sql>) -> Result<Vec<Row>, LedgerFault> {
    debug_assert!(sql.contains(ROW), "a row is read by its columns' order");
    let mut statement = conn.prepare_cached(sql)?;
    let found = statement.query_map(params_from_iter(values), row)?;
    found.collect::<Result<_, _>>().map_err(Into::into)
}
