//! What the ledger's tests are told with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use kctl::adapters::memory::MemoryLedgers;
use kctl::adapters::sqlite::SqliteLedgers;
use kctl::domain::caller::{Caller, Door};
use kctl::domain::contract::Contract;
use kctl::domain::event::{Draft, Event, Recorded};
use kctl::domain::fold::{AsId, Entity, Stream};
use kctl::domain::id::{EventId, OriginId, SessionId, TaskId};
use kctl::domain::session::{Session, SessionEvent};
use kctl::domain::stamp::Stamp;
use kctl::domain::task::{Task, TaskEvent};
use kctl::ports::ledger::{Access, Ledger, LedgerFault, Ledgers, Query, Row};
use rusqlite::Connection;
use tempfile::TempDir;
use uuid::Uuid;

/// 2026-11-30T12:00:00Z.
pub const NOON: i64 = 1_796_040_000_000;

/// Ledgers of one kind, and the directory that the test's ledger is in.
#[derive(Clone)]
pub struct Fixture {
    make: Arc<dyn Fn() -> Box<dyn Ledgers> + Send + Sync>,
    pub dir: PathBuf,
}

impl Fixture {
    pub fn sqlite(dir: &Path) -> Self {
        Self { make: Arc::new(|| Box::new(sqlite())), dir: dir.to_owned() }
    }

    pub fn memory(dir: &Path) -> Self {
        let ledgers = MemoryLedgers::new(|| OriginId::new(Uuid::now_v7()));
        Self { make: Arc::new(move || Box::new(ledgers.clone())), dir: dir.to_owned() }
    }

    pub fn ledgers(&self) -> Box<dyn Ledgers> {
        (self.make)()
    }

    pub fn open(&self, access: Access) -> Result<Box<dyn Ledger>, LedgerFault> {
        self.ledgers().open(&self.dir, access)
    }

    pub fn create(&self) -> Result<Box<dyn Ledger>, LedgerFault> {
        self.open(Access::Create)
    }

    /// Appends in a transaction of its own.
    pub fn record(&self, drafts: &[Draft]) -> Result<Vec<Recorded>, LedgerFault> {
        let mut ledger = self.create()?;
        ledger.begin()?;
        let recorded = ledger.append(drafts)?;
        ledger.commit()?;
        Ok(recorded)
    }

    /// Everything that does not verify, in words.
    pub fn problems(&self) -> Result<Vec<String>> {
        Ok(self.ledgers().verify(&self.dir)?.problems.into_iter().map(|problem| problem.what).collect())
    }
}

pub fn sqlite() -> SqliteLedgers {
    SqliteLedgers::new(|| OriginId::new(Uuid::now_v7()))
}

/// A directory where syncing costs nothing, for tests whose subject is not the disk.
pub fn quick_dir() -> Result<TempDir> {
    let memory = Path::new("/dev/shm");
    Ok(if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }?)
}

/// A SQLite ledger with `events` events of one task each, and its directory.
pub fn ledger_of(events: u32) -> Result<(TempDir, Fixture)> {
    let dir = quick_dir()?;
    let fixture = Fixture::sqlite(dir.path());
    let drafts: Vec<_> = (1..=events).map(|n| created(n, &[])).collect();
    for drafts in drafts.chunks(500) {
        fixture.record(drafts)?;
    }
    Ok((dir, fixture))
}

pub fn file(dir: &Path) -> PathBuf {
    dir.join("decapod/ledger.db")
}

pub fn marker(dir: &Path) -> PathBuf {
    dir.join("decapod/origin")
}

/// The ledger's file as somebody with a SQLite shell has it.
pub fn by_hand(dir: &Path) -> Result<Connection> {
    Connection::open(file(dir)).context("the ledger opens by hand")
}

/// As [`by_hand`], with the triggers that keep events out of the way, and put back when `change` is done.
pub fn tamper(dir: &Path, change: &str) -> Result<()> {
    let conn = by_hand(dir)?;
    let mut triggers = conn.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")?;
    let triggers: Vec<(String, String)> =
        triggers.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    for (name, _) in &triggers {
        conn.execute_batch(&format!("DROP TRIGGER {name}"))?;
    }
    conn.execute_batch(change)?;
    for (_, sql) in &triggers {
        conn.execute_batch(sql)?;
    }
    Ok(())
}

pub fn id(n: u32) -> Uuid {
    // Spread, so that ids do not come in the order of their numbers.
    Uuid::from_u128(u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) | 1 << 64)
}

pub fn task(n: u32) -> TaskId {
    TaskId::new(id(n))
}

pub fn session(n: u32) -> SessionId {
    SessionId::new(id(n))
}

pub fn draft<T: Entity>(id: &T::Id, expected: u64, at: i64, event: T::Event) -> Draft {
    Draft {
        id: EventId(Uuid::now_v7()),
        stream: Stream::new(T::KIND, id.to_stream()),
        expected,
        at: Stamp(at),
        caller: Caller::unknown(Door::Rpc),
        event: Event::from_family(event),
    }
}

pub fn new_task(title: &str, priority: u8, needs: &[TaskId], labels: &[&str]) -> TaskEvent {
    TaskEvent::Created {
        title: title.to_owned(),
        contract: Contract::default(),
        priority,
        needs: needs.to_vec(),
        paths: Vec::new(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        parent: None,
        commitment: None,
    }
}

/// The creation of task `n`, which needs `needs`.
pub fn created(n: u32, needs: &[TaskId]) -> Draft {
    draft::<Task>(&task(n), 0, NOON + i64::from(n), new_task(&format!("task {n}"), 2, needs, &[]))
}

pub fn claimed(n: u32, expected: u64, by: u32, fence: u64, until: i64) -> Draft {
    let agent = format!("agent-{by}").parse().expect("a legal name");
    let event = TaskEvent::Claimed { session: session(by), agent, fence, until: Stamp(until) };
    draft::<Task>(&task(n), expected, NOON + 1_000, event)
}

pub fn finished(n: u32, expected: u64) -> Draft {
    let contract_digest = Contract::default().digest();
    draft::<Task>(&task(n), expected, NOON + 2_000, TaskEvent::Finished { fence: 1, evidence: vec![], contract_digest })
}

pub fn acquired(n: u32, name: &str, at: i64, until: i64) -> Draft {
    let event = SessionEvent::Acquired {
        agent: name.parse().expect("a legal name"),
        host: None,
        host_session: None,
        token_digest: Contract::default().digest(),
        until: Stamp(until),
    };
    draft::<Session>(&session(n), 0, at, event)
}

pub fn ids(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

/// Every row that `query` finds, page by page.
pub fn walk(ledger: &dyn Ledger, query: &Query, size: u32) -> Result<Vec<Row>, LedgerFault> {
    let mut rows: Vec<Row> = Vec::new();
    loop {
        let after = rows.last().map(Row::cursor);
        let page = ledger.query(&Query { after, limit: size, ..query.clone() })?;
        if page.is_empty() {
            return Ok(rows);
        }
        rows.extend(page);
    }
}
