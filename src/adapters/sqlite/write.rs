//! Appending to a ledger.

use rusqlite::Connection;

use crate::adapters::failpoint;
use crate::adapters::lock::FileLock;
use crate::domain::chain::{Chain, Linked, link_all};
use crate::domain::event::{Draft, Recorded};
use crate::domain::fold::FOLD_VERSION;
use crate::domain::replay::State;
use crate::domain::stamp::Stamp;
use crate::ports::ledger::{ANSWER_LIFETIME_MS, Access, Ledger, LedgerFault, MAX_LOCK_WAIT_MS, StoredAnswer};

use super::{Db, fault, open, place, refold, schema, state, views};

/// How many answers past their lifetime one call deletes.
const MAX_PRUNED_PER_CALL: i64 = 100;

pub const PRUNE: &str = "DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE at < ?1 ORDER BY at LIMIT ?2)";

impl Ledger for Db {
    fn begin(&mut self) -> Result<(), LedgerFault> {
        if self.access == Access::Read {
            return Err(LedgerFault::NotWritable("the ledger was opened to read".to_owned()));
        }
        if self.lock.is_some() {
            return Err(LedgerFault::Failed("a transaction is open already".to_owned()));
        }
        let path = self.layout.lock();
        // The write lock comes before the read that it guards: two calls must not find the same end of the ledger.
        let lock = FileLock::take(&path, MAX_LOCK_WAIT_MS).map_err(|why| fault::of_io(&path, &why))?;
        self.refuse_another_file()?;
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        self.lock = Some(lock);
        let current = self.upgrade();
        if current.is_err() {
            self.rollback();
        }
        current
    }

    fn append(&mut self, drafts: &[Draft]) -> Result<Vec<Recorded>, LedgerFault> {
        self.refuse_outside()?;
        let mut chain = views::head(&self.conn, &self.origin)?;
        let linked = link_all(&mut chain, drafts, |stream| state::before(&self.conn, stream));
        let written = linked.and_then(|linked| write_all(&self.conn, drafts, linked, &chain));
        match &written {
            // Nothing was written: whoever moved the stream is seen, and the caller may decide anew.
            Ok(_) | Err(LedgerFault::Moved { .. }) => {}
            // SQLite may have ended the transaction by itself, and what follows must not be written outside of one.
            Err(_) => self.rollback(),
        }
        failpoint::reach("ledger.appended");
        written
    }

    fn remember(&mut self, key: &str, answer: &StoredAnswer, at: Stamp) -> Result<(), LedgerFault> {
        self.refuse_outside()?;
        let kept = keep_answer(&self.conn, key, answer, at);
        if kept.is_err() {
            self.rollback();
        }
        kept
    }

    fn commit(&mut self) -> Result<(), LedgerFault> {
        self.refuse_outside()?;
        failpoint::reach("ledger.committing");
        if failpoint::is_armed("ledger.torn") {
            // Half of a commit: the journal and the changed pages are on the disk, and nothing says that it was one.
            let _ = self.conn.cache_flush();
        }
        failpoint::reach("ledger.torn");
        let done = self.conn.execute_batch("COMMIT");
        // After a COMMIT that failed the transaction may still be open.
        self.rollback();
        failpoint::reach("ledger.committed");
        done.map_err(Into::into)
    }

    fn rollback(&mut self) {
        if self.lock.is_some() && !self.conn.is_autocommit() {
            // A failed rollback leaves a hot journal, which the next opener rolls back.
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        self.lock = None;
    }
}

impl Db {
    fn refuse_outside(&mut self) -> Result<(), LedgerFault> {
        if self.lock.is_some() && !self.conn.is_autocommit() {
            return Ok(());
        }
        self.lock = None;
        Err(LedgerFault::Failed("no transaction is open".to_owned()))
    }

    /// A ledger that was replaced since it was opened takes no events: they would be durable where nobody looks.
    fn refuse_another_file(&self) -> Result<(), LedgerFault> {
        match place::identity(&self.layout.ledger()) {
            Ok(found) if found == self.identity => Ok(()),
            Ok(_) => Err(LedgerFault::Busy { waited_ms: 0 }),
            Err(_) => Err(LedgerFault::Missing(self.layout.ledger())),
        }
    }

    /// Brings the folds up to date in the transaction that is open. Another kctl may have been here since the opening.
    fn upgrade(&self) -> Result<(), LedgerFault> {
        let found = open::fold_version(&self.conn)?;
        let schema: i64 = self.conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found > FOLD_VERSION || schema > schema::SCHEMA_VERSION {
            return Err(LedgerFault::Version("a newer kctl has upgraded the ledger: use that one".to_owned()));
        }
        if found < FOLD_VERSION {
            refold::refold(&self.conn)?;
        }
        Ok(())
    }
}

fn write_all(
    conn: &Connection,
    drafts: &[Draft],
    linked: Vec<Linked>,
    chain: &Chain,
) -> Result<Vec<Recorded>, LedgerFault> {
    let mut written = Vec::with_capacity(drafts.len());
    for (draft, Linked { mut recorded, folded }) in drafts.iter().zip(linked) {
        recorded.seq = insert(conn, &recorded)?;
        state::store(conn, &draft.stream, &State { ver: recorded.ver, seq: recorded.seq, folded })?;
        written.push(recorded);
    }
    if !written.is_empty() {
        set_head(conn, chain)?;
    }
    Ok(written)
}

/// Writes one event row and gives its place.
pub fn insert(conn: &Connection, event: &Recorded) -> Result<u64, LedgerFault> {
    conn.prepare_cached(
        "INSERT INTO events (id, stream, ver, type, v, at, caller, origin, oseq, prev, body, seal)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute((
        &event.id,
        &event.stream,
        event.ver,
        &event.type_name,
        event.version,
        event.at,
        &event.caller,
        &event.origin,
        event.oseq,
        &event.prev,
        &event.body,
        &event.seal,
    ))?;
    u64::try_from(conn.last_insert_rowid())
        .map_err(|_| LedgerFault::Corrupt("an event's place is below zero".to_owned()))
}

/// Remembers where a chain ends, so that one that is cut short is noticed.
pub fn set_head(conn: &Connection, chain: &Chain) -> Result<(), LedgerFault> {
    conn.prepare_cached(
        "INSERT INTO heads (origin, oseq, seal) VALUES (?1, ?2, ?3)
         ON CONFLICT (origin) DO UPDATE SET oseq = ?2, seal = ?3",
    )?
    .execute((&chain.origin, chain.oseq, &chain.seal))?;
    Ok(())
}

fn keep_answer(conn: &Connection, key: &str, answer: &StoredAnswer, at: Stamp) -> Result<(), LedgerFault> {
    conn.prepare_cached(PRUNE)?.execute((at.ms().saturating_sub(ANSWER_LIFETIME_MS), MAX_PRUNED_PER_CALL))?;
    let kept = conn
        .prepare_cached("INSERT OR IGNORE INTO answers (key, request, answer, at) VALUES (?1, ?2, ?3, ?4)")?
        .execute((key, answer.request.as_str(), &answer.answer, at.ms()))?;
    if kept == 0 {
        return Err(LedgerFault::Failed(format!("the idempotency key `{key}` was answered meanwhile: call again")));
    }
    Ok(())
}
