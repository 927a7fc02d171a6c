//! Getting events out of a file, whole or damaged.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use crate::domain::chain::{Audit, Chain};
use crate::domain::event::Recorded;
use crate::ports::ledger::{LedgerFault, Problems};

use super::{private, schema, views};

/// No event takes less of a file, in bytes; it bounds how many places of a damaged one are tried.
const MIN_EVENT_BYTES: u64 = 128;

/// What could be had of one file.
#[derive(Default)]
pub struct Saved {
    pub events: Vec<Recorded>,
    pub lost: Problems,
    pub origin: Option<String>,
    /// The ends of its chains as it remembers them.
    pub heads: Vec<Chain>,
}

impl Saved {
    /// Whether the chain of its own origin ends where the file says that it should.
    pub fn is_complete(&self) -> bool {
        let Some(origin) = &self.origin else { return false };
        let end = self.events.iter().rev().find(|event| event.origin == *origin);
        let head = self.heads.iter().find(|head| head.origin == *origin);
        match (end, head) {
            (Some(end), Some(head)) => end.oseq == head.oseq && end.seal == head.seal,
            (None, _) => head.is_none(),
            (Some(_), None) => false,
        }
    }

    /// Takes those of `other`'s events that go on where these chains end, link by link. A backup is thus brought up to
    /// what is still sound of the ledger that it replaces, and nothing that was tampered with comes along.
    pub fn extend(&mut self, other: Saved) -> u64 {
        let mut audit = Audit::default();
        for event in &self.events {
            audit.walk(event);
        }
        let taken = self.events.len();
        for event in other.events {
            let mut next = audit.clone();
            if next.walk(&event).is_empty() {
                audit = next;
                self.events.push(event);
            }
        }
        self.heads = other.heads;
        (self.events.len() - taken) as u64
    }
}

/// Reads every event that `file` still holds. The file itself is not touched.
pub fn read(file: &Path) -> Result<Saved, LedgerFault> {
    if !file.is_file() {
        return Err(LedgerFault::Failed(format!("`{}` is not there", file.display())));
    }
    let (_dir, conn) = private::connect_damaged(file)?;
    let mut saved = Saved {
        origin: schema::meta(&conn, "origin").ok().flatten(),
        heads: views::heads(&conn).unwrap_or_default(),
        ..Saved::default()
    };
    let last = last_place(&conn, file);
    match whole(&conn) {
        Ok(events) => saved.events = events,
        Err(why) => {
            saved.lost.add(None, format!("the file does not read through: {why}"));
            piecemeal(&conn, last, &mut saved);
        }
    }
    Ok(saved)
}

fn whole(conn: &Connection) -> Result<Vec<Recorded>, LedgerFault> {
    let mut statement = conn.prepare(&format!("SELECT {} FROM events ORDER BY seq", views::EVENT))?;
    let events = statement.query_map([], views::recorded)?;
    events.collect::<Result<_, _>>().map_err(Into::into)
}

/// The last place that can hold an event: the table's own end if that reads, and no more than the file has room for.
fn last_place(conn: &Connection, file: &Path) -> u64 {
    let room = fs_err::metadata(file).map_or(0, |found| found.len()) / MIN_EVENT_BYTES;
    let last = conn.query_row("SELECT max(seq) FROM events", [], |row| row.get::<_, Option<u64>>(0));
    last.ok().flatten().map_or(room, |last| last.min(room))
}

/// Asks for one place after the other: a page that does not read takes only its own events with it.
fn piecemeal(conn: &Connection, last: u64, saved: &mut Saved) {
    let sql = format!("SELECT {} FROM events WHERE seq = ?1", views::EVENT);
    let mut unread: Option<(u64, u64, String)> = None;
    for seq in 1..=last {
        let found =
            conn.prepare_cached(&sql).and_then(|mut statement| statement.query_row([seq], views::recorded).optional());
        match (found, &mut unread) {
            (Ok(Some(event)), _) => saved.events.push(event),
            (Ok(None), _) => {}
            (Err(_), Some((_, to, _))) if *to + 1 == seq => *to = seq,
            (Err(why), _) => {
                report(&mut saved.lost, unread.take());
                unread = Some((seq, seq, why.to_string()));
            }
        }
    }
    report(&mut saved.lost, unread);
}

fn report(lost: &mut Problems, unread: Option<(u64, u64, String)>) {
    match unread {
        Some((from, to, why)) if from == to => lost.add(Some(from), format!("does not read: {why}")),
        Some((from, to, why)) => lost.add(Some(from), format!("the events to {to} do not read: {why}")),
        None => {}
    }
}
