//! Proving a ledger. Everything is read in short steps: one read that lasts would keep writers from committing.

use std::collections::BTreeMap;

use fs_err as fs;
use rusqlite::{Connection, OptionalExtension};

use crate::domain::chain::Audit;
use crate::domain::fold::{Folded, Index, Stream};
use crate::domain::replay::State;
use crate::ports::ledger::{LedgerFault, MAX_PAGE, Problems, Verification};

use super::{Db, refold, schema, select, state, views};

/// How many streams are folded and compared in one read.
const STREAMS_PER_READ: usize = 50;

/// Recomputes every seal, the chain of every origin, and every folded state.
pub fn verify(db: &Db) -> Result<Verification, LedgerFault> {
    let mut check = Check { db, conn: &db.conn, problems: Problems::default(), events: 0, origins: 0, unknown: 0 };
    let steps: [(&str, Step); 6] = [
        ("its pages", |check| check.pages()),
        ("its tables", |check| check.objects()),
        ("its chains", |check| check.chains()),
        ("its folds", |check| check.folds()),
        ("its states", |check| check.orphans()),
        ("its counts", |check| check.counts()),
    ];
    for (what, step) in steps {
        if let Err(why) = step(&mut check) {
            check.problems.add(None, format!("{what} could not be checked: {why}"));
        }
    }
    check.marker();
    let states = db.conn.query_row("SELECT count(*) FROM state", [], |row| row.get(0)).unwrap_or(0);
    let Check { problems, events, origins, unknown, .. } = check;
    Ok(Verification { events, states, origins, unknown, problems: problems.into_list() })
}

type Step = fn(&mut Check<'_>) -> Result<(), LedgerFault>;

struct Check<'a> {
    db: &'a Db,
    conn: &'a Connection,
    problems: Problems,
    events: u64,
    origins: u64,
    unknown: u64,
}

impl Check<'_> {
    fn pages(&mut self) -> Result<(), LedgerFault> {
        let mut names = self.conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
        let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for name in names {
            let mut statement = self.conn.prepare("SELECT integrity_check FROM pragma_integrity_check(?1)")?;
            for line in statement.query_map([name], |row| row.get::<_, String>(0))? {
                match line {
                    Ok(line) if line == "ok" => {}
                    Ok(line) => self.problems.add(None, line),
                    Err(why) => self.problems.add(None, why.to_string()),
                }
            }
        }
        Ok(())
    }

    fn objects(&mut self) -> Result<(), LedgerFault> {
        for (object, why) in schema::faults(self.conn)? {
            self.problems.add(None, format!("the {object} {why}"));
        }
        Ok(())
    }

    fn marker(&mut self) {
        let marker = fs::read_to_string(self.db.layout.marker()).unwrap_or_default();
        if marker.trim() != self.db.origin.as_str() {
            let words = format!("the marker beside the ledger does not name its origin {}", self.db.origin);
            self.problems.add(None, words);
        }
    }

    fn chains(&mut self) -> Result<(), LedgerFault> {
        let mut audit = Audit::default();
        let mut after = 0;
        loop {
            // The heads are read with the page that turns out to be the last, so that they are of the same moment.
            let reading = self.conn.unchecked_transaction()?;
            let (sql, values) = select::events(None, after, MAX_PAGE);
            let mut statement = reading.prepare_cached(&sql)?;
            let page: Vec<_> =
                statement.query_map(rusqlite::params_from_iter(values), views::recorded)?.collect::<Result<_, _>>()?;
            let heads = views::heads(&reading)?;
            drop(statement);
            reading.finish()?;
            let Some(last) = page.last() else {
                audit.compare(&heads).into_iter().for_each(|what| self.problems.add(None, what));
                self.origins = audit.origins();
                return Ok(());
            };
            after = last.seq;
            self.events += page.len() as u64;
            for event in &page {
                audit.walk(event).into_iter().for_each(|what| self.problems.add(Some(event.seq), what));
            }
        }
    }

    fn folds(&mut self) -> Result<(), LedgerFault> {
        let mut name = String::new();
        loop {
            let reading = self.conn.unchecked_transaction()?;
            for _ in 0..STREAMS_PER_READ {
                let Some(next) = refold::next_stream(&reading, &name)? else { return Ok(()) };
                name = next;
                self.fold(&name)?;
            }
            reading.finish()?;
        }
    }

    fn fold(&mut self, name: &str) -> Result<(), LedgerFault> {
        let done = refold::replay_stream(self.conn, name)?;
        self.unknown += done.unknown;
        for (seq, what) in done.quarantined {
            self.problems.add(Some(seq), what);
        }
        let Ok(stream) = name.parse::<Stream>() else { return Ok(()) };
        let stored = stored(self.conn, &stream)?;
        match (stored, done.state.map(Stored::of)) {
            (None, None) => {}
            (None, Some(_)) => self.problems.add(None, format!("the state of {name} is missing")),
            (Some(_), None) => self.problems.add(None, format!("the state of {name} has no events")),
            (Some(stored), Some(folded)) if stored == folded => {}
            (Some(_), Some(_)) => self.problems.add(None, format!("the state of {name} is not the fold of its events")),
        }
        Ok(())
    }

    fn orphans(&mut self) -> Result<(), LedgerFault> {
        let mut statement = self.conn.prepare(
            "SELECT kind || ':' || id FROM state s
             WHERE NOT EXISTS (SELECT 1 FROM events WHERE stream = s.kind || ':' || s.id) LIMIT 1000",
        )?;
        for name in statement.query_map([], |row| row.get::<_, String>(0))? {
            self.problems.add(None, format!("the state of {} has no events", name?));
        }
        let mut statement = self.conn.prepare(
            "SELECT DISTINCT kind || ':' || id FROM links l
             WHERE NOT EXISTS (SELECT 1 FROM state WHERE kind = l.kind AND id = l.id) LIMIT 1000",
        )?;
        for name in statement.query_map([], |row| row.get::<_, String>(0))? {
            self.problems.add(None, format!("links of {} have no state", name?));
        }
        Ok(())
    }

    fn counts(&mut self) -> Result<(), LedgerFault> {
        let reading = self.conn.unchecked_transaction()?;
        let read = |sql| -> Result<BTreeMap<(String, String), i64>, LedgerFault> {
            let mut statement = reading.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
            rows.collect::<Result<_, _>>().map_err(Into::into)
        };
        let stored = read("SELECT kind, status, n FROM counts WHERE n <> 0")?;
        let counted = read("SELECT kind, status, count(*) FROM state GROUP BY kind, status")?;
        if stored != counted {
            self.problems.add(None, "the counts of states by status are not those of the states");
        }
        Ok(())
    }
}

/// A state as it stands in the tables: every column, and the links.
#[derive(PartialEq)]
struct Stored {
    ver: u64,
    seq: u64,
    status: String,
    owner: Option<String>,
    parent: Option<String>,
    name: Option<String>,
    rank: i64,
    until: Option<i64>,
    body: Vec<u8>,
    links: Vec<state::LinkRow>,
}

impl Stored {
    fn of(State { ver, seq, folded: Folded { body, index } }: State) -> Self {
        let links = state::links_of(&index);
        let Index { status, owner, parent, name, rank, until, links: _ } = index;
        Self { ver, seq, status: status.to_owned(), owner, parent, name, rank, until, body, links }
    }
}

fn stored(conn: &Connection, stream: &Stream) -> Result<Option<Stored>, LedgerFault> {
    let links = state::links(conn, stream.kind.name(), &stream.id)?;
    let found = conn
        .prepare_cached(
            "SELECT ver, seq, status, owner, parent, name, rank, until, body FROM state WHERE kind = ?1 AND id = ?2",
        )?
        .query_row((stream.kind.name(), &stream.id), |row| {
            Ok(Stored {
                ver: row.get(0)?,
                seq: row.get(1)?,
                status: row.get(2)?,
                owner: row.get(3)?,
                parent: row.get(4)?,
                name: row.get(5)?,
                rank: row.get(6)?,
                until: row.get(7)?,
                body: row.get(8)?,
                links,
            })
        })
        .optional()?;
    Ok(found)
}
