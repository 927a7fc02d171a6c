//! Ledgers to measure on.

use kctl::adapters::sqlite::SqliteLedgers;
use kctl::domain::caller::{Caller, Door};
use kctl::domain::contract::Contract;
use kctl::domain::event::{Draft, Event};
use kctl::domain::fold::{Entity, Stream};
use kctl::domain::id::{EventId, OriginId, TaskId};
use kctl::domain::stamp::Stamp;
use kctl::domain::task::{Task, TaskEvent};
use kctl::ports::ledger::{Access, Ledger, LedgerFault, Ledgers};
use tempfile::TempDir;
use uuid::Uuid;

/// 2026-11-30T12:00:00Z.
pub const NOON: i64 = 1_796_040_000_000;

/// As many drafts as are committed together while a ledger is filled.
const BATCH: u32 = 5_000;

pub fn sqlite() -> SqliteLedgers {
    SqliteLedgers::new(|| OriginId::new(Uuid::now_v7()))
}

pub fn task(n: u32) -> TaskId {
    TaskId::new(Uuid::from_u128(u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) | 1 << 64))
}

pub fn draft(n: u32, expected: u64, event: TaskEvent) -> Draft {
    Draft {
        id: EventId(Uuid::now_v7()),
        stream: Stream::new(Task::KIND, task(n).to_string()),
        expected,
        at: Stamp(NOON + i64::from(n)),
        caller: Caller::unknown(Door::Rpc),
        event: Event::from_family(event),
    }
}

/// The creation of task `n`; nine of ten need the one before, as a plan's steps do.
pub fn created(n: u32) -> Draft {
    let needs = if n.is_multiple_of(10) { vec![] } else { vec![task(n - 1)] };
    let event = TaskEvent::Created {
        title: format!("Mend the part that is number {n} in the plan"),
        contract: Contract { goal: "the part holds".to_owned(), ..Contract::default() },
        priority: (n % 5) as u8,
        needs,
        paths: vec!["src/parts/**".to_owned()],
        labels: vec!["plan".to_owned()],
        parent: None,
        commitment: None,
    };
    draft(n, 0, event)
}

/// A ledger of `tasks` tasks with `each` events each, filled as operations fill it.
pub fn filled(tasks: u32, each: u32) -> Result<TempDir, LedgerFault> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut ledger = sqlite().open(dir.path(), Access::Create)?;
    let mut n = 0;
    while n < tasks {
        ledger.begin()?;
        let to = tasks.min(n + (BATCH / each).max(1));
        ledger.append(&(n..to).map(created).collect::<Vec<_>>())?;
        for more in 1..each {
            let note = |_| TaskEvent::Unblocked { note: format!("note {more}") };
            ledger.append(&(n..to).map(|n| draft(n, u64::from(more), note(n))).collect::<Vec<_>>())?;
        }
        ledger.commit()?;
        n = to;
    }
    Ok(dir)
}

pub fn open(dir: &TempDir, access: Access) -> Box<dyn Ledger> {
    sqlite().open(dir.path(), access).expect("a ledger that was just made opens")
}
