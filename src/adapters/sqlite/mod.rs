//! The ledger in SQLite.

mod create;
mod fault;
mod keep;
mod open;
mod place;
#[cfg(test)]
mod plans;
mod private;
mod recover;
mod refold;
mod salvage;
mod schema;
mod select;
mod state;
mod verify;
mod views;
mod write;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::adapters::layout::Layout;
use crate::adapters::lock::FileLock;
use crate::domain::id::OriginId;
use crate::ports::ledger::Access;

use place::Identity;

pub use open::SqliteLedgers;

/// How long SQLite itself waits for a reader to leave, in milliseconds. Writers queue at the file lock instead.
pub const BUSY_TIMEOUT_MS: u64 = 30_000;

/// How a transaction ends: by zeroing the journal's header, synced. See docs/decisions/0002-journal-mode.md.
pub const JOURNAL_MODE: &str = "persist";

/// What the journal may keep between transactions, in bytes; one write after a large one gives the rest back.
const MAX_IDLE_JOURNAL_BYTES: u64 = 1 << 20;

/// One open ledger. Its drop gives up whatever was not committed.
pub struct Db {
    // Declared, and so dropped, in this order: the file is closed before the lock is given back.
    conn: Connection,
    lock: Option<FileLock>,
    layout: Layout,
    origin: OriginId,
    access: Access,
    /// Which file was opened, to notice one that was put in its place.
    identity: Identity,
    /// Holds the private copy that is read in place of a ledger that cannot be mended where it lies.
    _private: Option<TempDir>,
}

impl Drop for Db {
    fn drop(&mut self) {
        use crate::ports::ledger::Ledger as _;
        self.rollback();
    }
}
