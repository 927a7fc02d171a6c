//! What SQLite and the file system say, in the ledger's terms.

use std::io;
use std::path::Path;

use rusqlite::ffi;

use crate::ports::ledger::{LedgerFault, MAX_LOCK_WAIT_MS};

impl From<rusqlite::Error> for LedgerFault {
    fn from(fault: rusqlite::Error) -> Self {
        let words = fault.to_string();
        let extended = fault.sqlite_extended_error_code().unwrap_or(ffi::SQLITE_ERROR);
        match (extended & 0xff, extended) {
            // A writer died since this ledger was opened: the next call heals what it left.
            (_, ffi::SQLITE_READONLY_ROLLBACK | ffi::SQLITE_READONLY_RECOVERY) => LedgerFault::Busy { waited_ms: 0 },
            (ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED, _) => LedgerFault::Busy { waited_ms: super::BUSY_TIMEOUT_MS },
            (ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB, _)
            | (_, ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS) => LedgerFault::Corrupt(words),
            (_, ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_FSTAT | ffi::SQLITE_IOERR_NOMEM) => {
                LedgerFault::Failed(format!("the ledger cannot be read: {words}"))
            }
            (
                ffi::SQLITE_READONLY
                | ffi::SQLITE_FULL
                | ffi::SQLITE_IOERR
                | ffi::SQLITE_CANTOPEN
                | ffi::SQLITE_PERM
                | ffi::SQLITE_AUTH,
                _,
            ) => LedgerFault::NotWritable(words),
            _ => LedgerFault::Failed(words),
        }
    }
}

/// Whether SQLite wants to roll back what a dead writer left and may not.
pub fn is_hot(fault: &rusqlite::Error) -> bool {
    matches!(
        fault.sqlite_extended_error_code(),
        Some(ffi::SQLITE_READONLY_ROLLBACK | ffi::SQLITE_READONLY_RECOVERY | ffi::SQLITE_READONLY_CANTLOCK)
    )
}

/// What an `io::Error` on `path` means for custody.
pub fn of_io(path: &Path, fault: &io::Error) -> LedgerFault {
    match fault.kind() {
        io::ErrorKind::WouldBlock => LedgerFault::Busy { waited_ms: MAX_LOCK_WAIT_MS },
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::NotADirectory => LedgerFault::NotWritable(words(path, fault)),
        _ => LedgerFault::Failed(words(path, fault)),
    }
}

/// `fs_err` names the path already; bare errors do not.
fn words(path: &Path, fault: &io::Error) -> String {
    let (said, path) = (fault.to_string(), path.display().to_string());
    if said.contains(&path) { said } else { format!("`{path}`: {said}") }
}
