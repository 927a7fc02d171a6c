//! The database behind the index: opening it, its schema, and what to do when it cannot be used.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::ports::passages::Storage;

/// How long one statement waits for another process, in milliseconds.
const BUSY_WAIT_MS: u64 = 1000;
/// Goes up with the schema and with every change of how files are admitted, cut or split into words.
const VERSION: i64 = 1;

const SCHEMA: &str = "
CREATE TABLE views (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, tree BLOB NOT NULL, recent_of BLOB, used INTEGER NOT NULL,
    truncated INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path BLOB NOT NULL, blob BLOB NOT NULL, state INTEGER NOT NULL,
    fragments INTEGER NOT NULL DEFAULT 0, UNIQUE (path, blob)
) STRICT;
CREATE INDEX files_pending ON files (id) WHERE state = 0;
CREATE INDEX files_state ON files (state, fragments);
-- A file belongs to every view but these: views have most files in common.
CREATE TABLE absent (file INTEGER NOT NULL, view INTEGER NOT NULL, PRIMARY KEY (file, view)) WITHOUT ROWID, STRICT;
CREATE INDEX absent_view ON absent (view);
CREATE TABLE tops (view INTEGER NOT NULL, name BLOB NOT NULL, files INTEGER NOT NULL, PRIMARY KEY (view, name))
    WITHOUT ROWID, STRICT;
CREATE TABLE counts (view INTEGER NOT NULL, state INTEGER NOT NULL, files INTEGER NOT NULL, fragments INTEGER NOT NULL,
    PRIMARY KEY (view, state)) WITHOUT ROWID, STRICT;
CREATE TABLE recent (view INTEGER NOT NULL, path BLOB NOT NULL, age_s INTEGER NOT NULL, PRIMARY KEY (view, path))
    WITHOUT ROWID, STRICT;
CREATE TABLE fragments (
    id INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL,
    name TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE bodies USING fts5(once, twice, often, content='', contentless_delete=1, tokenize='ascii', detail=column);
CREATE VIRTUAL TABLE titles USING fts5(name, content='', contentless_delete=1, tokenize='ascii', detail=column);
CREATE VIRTUAL TABLE places USING fts5(path, imports, content='', contentless_delete=1, tokenize='ascii', detail=column);
CREATE VIRTUAL TABLE grams USING fts5(name, content='', contentless_delete=1, tokenize='trigram');
CREATE VIRTUAL TABLE body_words USING fts5vocab(bodies, instance);
CREATE VIRTUAL TABLE title_words USING fts5vocab(titles, instance);
CREATE VIRTUAL TABLE place_words USING fts5vocab(places, instance);
INSERT INTO bodies (bodies, rank) VALUES ('hashsize', 16777216);
";

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It holds what no version of this schema holds.
    #[error("the context index is damaged: {0}")]
    Damaged(rusqlite::Error),
    #[error("the context index is being written by another process")]
    Busy,
    #[error("the context index cannot be written: {0}")]
    NotWritable(String),
    #[error("git: {}", .0.message())]
    Git(#[from] git2::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Trouble::Busy,
            Some(
                ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport,
            ) => Trouble::NotWritable(error.to_string()),
            // A table or column that is not there, a value of another type, a broken page: it is not ours.
            _ => Trouble::Damaged(error),
        }
    }
}

/// An open database.
pub struct Store {
    pub db: Connection,
    pub storage: Storage,
    /// Why it is not the writable one on disk.
    pub reason: Option<String>,
    inode: Option<u64>,
}

impl Store {
    /// Opens the index at `path` as well as it can be: for writing, else for reading, else one in memory.
    pub fn open(path: &Path) -> Result<Self, Trouble> {
        let why = match Self::writable(path) {
            Ok(store) => return Ok(store),
            Err(Trouble::Damaged(_)) => match Self::replace(path, None) {
                Ok(store) => return Ok(store),
                Err(why) => why,
            },
            Err(why) => why,
        };
        match Self::readable(path) {
            Ok(mut store) => {
                store.reason = Some(why.to_string());
                Ok(store)
            }
            Err(_) => Self::in_memory(why.to_string()),
        }
    }

    fn writable(path: &Path) -> Result<Self, Trouble> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut db = connect(path, flags)?;
        if version(&db)? != VERSION {
            make(&mut db)?;
        }
        if db.is_readonly("main")? {
            return Err(Trouble::NotWritable("the file is read-only".to_owned()));
        }
        Ok(Self { db, storage: Storage::Disk, reason: None, inode: inode(path) })
    }

    fn readable(path: &Path) -> Result<Self, Trouble> {
        let db = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        match version(&db)? {
            VERSION => Ok(Self { db, storage: Storage::ReadOnly, reason: None, inode: inode(path) }),
            _ => Err(Trouble::NotWritable("the file has another version".to_owned())),
        }
    }

    /// An index that ends with this process.
    pub fn in_memory(reason: String) -> Result<Self, Trouble> {
        let mut db = Connection::open_in_memory()?;
        make(&mut db)?;
        Ok(Self { db, storage: Storage::Memory, reason: Some(reason), inode: None })
    }

    /// Whether the file that was opened is no longer the one at `path`.
    pub fn is_gone(&self, path: &Path) -> bool {
        self.inode.is_some() && self.inode != inode(path)
    }

    /// Takes the place of a damaged index. If another process has done so already, its index is opened.
    pub fn rebuilt(self, path: &Path) -> Result<Self, Trouble> {
        let opened = self.inode;
        drop(self.db);
        Self::replace(path, opened).or_else(|why| Self::in_memory(why.to_string()))
    }

    fn replace(path: &Path, damaged: Option<u64>) -> Result<Self, Trouble> {
        if damaged.is_none() || damaged == inode(path) {
            // SQLite notices a database that was unlinked under it, and writes no more to it.
            for file in [path.to_path_buf(), beside(path, "-journal"), beside(path, "-wal"), beside(path, "-shm")] {
                match fs_err::remove_file(file) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Trouble::NotWritable(error.kind().to_string()));
                    }
                    Ok(()) | Err(_) => {}
                }
            }
        }
        Self::writable(path)
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn inode(path: &Path) -> Option<u64> {
    fs_err::symlink_metadata(path).ok().map(|meta| meta.ino())
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Trouble> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = Connection::open_with_flags(path, flags)?;
    // Before any other pragma: those that follow may wait for another process.
    db.busy_timeout(Duration::from_millis(BUSY_WAIT_MS))?;
    db.pragma_update(None, "trusted_schema", false)?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "cache_size", -32_768)?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

fn version(db: &Connection) -> Result<i64, Trouble> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Makes the schema in an empty database. One that is not empty is not ours.
fn make(db: &mut Connection) -> Result<(), Trouble> {
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been first.
    if version(&change)? != VERSION {
        let entries: i64 = change.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if entries > 0 {
            return Err(Trouble::Damaged(rusqlite::Error::InvalidQuery));
        }
        change.execute_batch(SCHEMA)?;
        change.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(change.commit()?)
}
