//! The tables of a ledger.

use rusqlite::{Connection, OptionalExtension};

/// Stored in `user_version`. A ledger with a higher one was written by a newer kctl.
pub const SCHEMA_VERSION: i64 = 1;

/// Stored in `application_id`, so that no other program's database is taken for a ledger: "kctl" in ASCII.
pub const APPLICATION_ID: i64 = 0x6b63_746c;

/// The least SQLite whose durability fixes we rely on (DESIGN §4).
pub const MIN_SQLITE: i32 = 3_051_003;

/// Indexes follow the queries of `ports::ledger`, each of which has one whose order is the page's own.
pub const CREATE: &str = r"
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    stream TEXT NOT NULL,
    ver INTEGER NOT NULL,
    type TEXT NOT NULL,
    v INTEGER NOT NULL,
    at INTEGER NOT NULL,
    caller TEXT NOT NULL,
    origin TEXT NOT NULL,
    oseq INTEGER NOT NULL,
    prev TEXT NOT NULL,
    body BLOB NOT NULL,
    seal TEXT NOT NULL,
    UNIQUE (origin, oseq)
) STRICT;
CREATE INDEX events_by_stream ON events (stream);
CREATE TRIGGER events_keep BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_stay BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TABLE heads (origin TEXT PRIMARY KEY, oseq INTEGER NOT NULL, seal TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE state (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    ver INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    status TEXT NOT NULL,
    owner TEXT,
    parent TEXT,
    name TEXT,
    rank INTEGER NOT NULL,
    until INTEGER,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;
CREATE INDEX state_by_rank ON state (kind, rank, id);
CREATE INDEX state_by_status ON state (kind, status, rank, id);
CREATE INDEX state_by_owner ON state (kind, owner, rank, id) WHERE owner IS NOT NULL;
CREATE INDEX state_by_parent ON state (kind, parent, rank, id) WHERE parent IS NOT NULL;
CREATE INDEX state_by_name ON state (kind, name, rank, id) WHERE name IS NOT NULL;
CREATE INDEX state_by_until ON state (kind, until) WHERE until IS NOT NULL;
CREATE TABLE links (
    kind TEXT NOT NULL, id TEXT NOT NULL, rel TEXT NOT NULL, target TEXT NOT NULL,
    status TEXT NOT NULL, rank INTEGER NOT NULL,
    PRIMARY KEY (kind, id, rel, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_rank ON links (kind, rel, target, rank, id);
CREATE INDEX links_by_status ON links (kind, rel, target, status, rank, id);
CREATE TABLE counts (
    kind TEXT NOT NULL, status TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (kind, status)
) STRICT, WITHOUT ROWID;
CREATE TABLE quarantine (seq INTEGER PRIMARY KEY, what TEXT NOT NULL) STRICT;
CREATE TABLE answers (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, answer TEXT NOT NULL, at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_by_age ON answers (at);
";

/// Makes the tables in the transaction that is open.
///
/// # Errors
/// What SQLite says.
pub fn create(conn: &Connection, origin: &str, fold_version: i64) -> rusqlite::Result<()> {
    conn.execute_batch(CREATE)?;
    set_meta(conn, "origin", origin)?;
    set_meta(conn, "fold_version", &fold_version.to_string())?;
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    conn.pragma_update(None, "user_version", SCHEMA_VERSION)
}

pub fn set_meta(conn: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2")?
        .execute((key, value))
        .map(drop)
}

pub fn meta(conn: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT value FROM meta WHERE key = ?1")?.query_row([key], |row| row.get(0)).optional()
}

/// Every table, index and trigger as it was written, to compare one file's with another's.
///
/// # Errors
/// What SQLite says.
pub fn objects(conn: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement =
        conn.prepare("SELECT type || ' `' || name || '`', coalesce(sql, '') FROM sqlite_schema ORDER BY 1")?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    found.collect()
}

/// What of the tables, indexes and triggers is not as a new ledger has it, and how.
///
/// # Errors
/// What SQLite says.
pub fn faults(conn: &Connection) -> rusqlite::Result<Vec<(String, &'static str)>> {
    let (mut found, wanted) = (objects(conn)?, wanted()?);
    found.retain(|(object, _)| !object.contains("sqlite_stat"));
    let is_there = |list: &[(String, String)], object: &str| list.iter().any(|(name, _)| name == object);
    let lost = wanted.iter().filter(|(object, _)| !is_there(&found, object)).map(|(object, _)| (object, "is gone"));
    let added =
        found.iter().filter(|(object, _)| !is_there(&wanted, object)).map(|(object, _)| (object, "is not ours"));
    let changed = found
        .iter()
        .filter(|(object, sql)| {
            is_there(&wanted, object) && !wanted.iter().any(|(name, text)| name == object && text == sql)
        })
        .map(|(object, _)| (object, "was changed"));
    Ok(lost.chain(added).chain(changed).map(|(object, why)| (object.clone(), why)).collect())
}

/// Makes triggers and indexes that are gone or were changed as they should be. Tables are left alone.
///
/// # Errors
/// What SQLite says.
pub fn mend(conn: &Connection) -> rusqlite::Result<bool> {
    let mut mended = false;
    for (object, why) in faults(conn)? {
        let Some(kind) = ["index", "trigger"].into_iter().find(|kind| object.starts_with(kind)) else { continue };
        if why != "is gone" {
            conn.execute_batch(&format!("DROP {kind} IF EXISTS {}", object.trim_start_matches(kind)))?;
            mended = true;
        }
        if let Some((_, sql)) = wanted()?.iter().find(|(name, sql)| *name == object && !sql.is_empty()) {
            conn.execute_batch(sql)?;
            mended = true;
        }
    }
    Ok(mended)
}

fn wanted() -> rusqlite::Result<Vec<(String, String)>> {
    let scratch = Connection::open_in_memory()?;
    scratch.execute_batch(CREATE)?;
    objects(&scratch)
}
