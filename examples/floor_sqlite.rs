//! The floor of a call that touches the ledger: a bare process that opens SQLite, and reads or writes one synced row.
//!
//! `floor_sqlite read FILE` or `floor_sqlite write FILE`.

use anyhow::{Context as _, Result};
use rusqlite::Connection;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let what = words.next().context("`read FILE` or `write FILE`")?;
    let file = words.next().context("`read FILE` or `write FILE`")?;
    let conn = Connection::open(file)?;
    conn.busy_timeout(std::time::Duration::from_secs(10))?;
    conn.execute_batch("PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=FULL;")?;
    if what == "write" {
        conn.execute_batch("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, body TEXT) STRICT")?;
        conn.execute("INSERT INTO rows (body) VALUES (?1)", ["x".repeat(400)])?;
    }
    let _: i64 = conn.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    Ok(())
}
