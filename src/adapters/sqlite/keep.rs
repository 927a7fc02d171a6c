//! Rebuilding, copying and describing a ledger.

use std::path::Path;

use fs_err as fs;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::adapters::failpoint;
use crate::adapters::layout::Layout;
use crate::domain::answer::LedgerHead;
use crate::domain::digest::{Digest, Fields};
use crate::ports::ledger::{Description, Ledger, LedgerFault, Rebuilt, Views};

use super::place::presence;
use super::{Db, JOURNAL_MODE, fault, open, place, refold, schema, views};

/// Drops all folded state and replays the events, under the write lock.
pub fn rebuild(mut db: Db, dry_run: bool) -> Result<Rebuilt, LedgerFault> {
    db.begin()?;
    let mended = schema::mend(&db.conn)?;
    // States that do not even read have changed for sure.
    let before = fingerprint(&db.conn).ok();
    let (events, quarantined) = refold::refold(&db.conn)?;
    let after = fingerprint(&db.conn)?;
    let states = db.conn.query_row("SELECT count(*) FROM state", [], |row| row.get(0))?;
    if dry_run {
        db.rollback();
    } else {
        db.commit()?;
    }
    Ok(Rebuilt { events, states, quarantined, changed: mended || before.as_ref() != Some(&after) })
}

/// One digest of everything that is folded.
fn fingerprint(conn: &Connection) -> Result<Digest, LedgerFault> {
    let mut fields = Fields::new();
    for sql in [
        "SELECT kind, id, ver, seq, status, owner, parent, name, rank, until, body FROM state ORDER BY kind, id",
        "SELECT kind, id, rel, target, status, rank FROM links ORDER BY kind, id, rel, target",
        "SELECT kind, status, n FROM counts WHERE n <> 0 ORDER BY kind, status",
    ] {
        let mut statement = conn.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Null => fields.push(b"null").push(b""),
                    ValueRef::Integer(number) => fields.push(b"integer").push(&number.to_le_bytes()),
                    ValueRef::Real(number) => fields.push(b"real").push(&number.to_le_bytes()),
                    ValueRef::Text(bytes) => fields.push(b"text").push(bytes),
                    ValueRef::Blob(bytes) => fields.push(b"blob").push(bytes),
                };
            }
        }
    }
    Ok(fields.finish())
}

/// Copies a consistent ledger to the new file `to`, which only its owner may read.
pub fn backup(db: &Db, to: &Path) -> Result<LedgerHead, LedgerFault> {
    if db.head()?.is_none() {
        return Err(LedgerFault::Failed("the ledger holds no event yet".to_owned()));
    }
    let text = to.to_str().ok_or_else(|| LedgerFault::Failed(format!("`{}` is not UTF-8", to.display())))?;
    match place::make_file(to) {
        Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(LedgerFault::Failed(format!("`{}` exists: a backup never overwrites", to.display())));
        }
        made => made.map_err(|why| fault::of_io(to, &why))?,
    }
    let copied = copy(db, to, text);
    if copied.is_err() {
        // Half a backup is worse than none. The file is ours: it was made above.
        let _ = fs::remove_file(to);
    }
    copied
}

fn copy(db: &Db, to: &Path, text: &str) -> Result<LedgerHead, LedgerFault> {
    failpoint::reach("backup.copying");
    db.conn.execute("VACUUM INTO ?1", [text])?;
    failpoint::reach("backup.copied");
    fs::File::open(to).and_then(|file| file.sync_all()).map_err(|why| fault::of_io(to, &why))?;
    if let Some(dir) = to.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        place::sync_dir(dir)?;
    }
    // Read from the copy, which a write since then cannot have changed.
    let path = to.canonicalize().map_err(|why| fault::of_io(to, &why))?;
    let conn = open::connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let head = views::head(&conn, &db.origin)?;
    let seal = head.seal.parse().map_err(|_| LedgerFault::Corrupt("the last seal is not a digest".to_owned()))?;
    Ok(LedgerHead { origin: db.origin.clone(), oseq: head.oseq, seal })
}

pub fn describe(layout: &Layout) -> Description {
    let path = layout.ledger();
    let found = fs::symlink_metadata(&path).ok();
    let conn = presence(layout).and_then(|()| open::connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)).ok();
    let stored: Option<String> =
        conn.and_then(|conn| conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).ok());
    // Only WAL is stored in the file; every other mode is the writer's own.
    let journal_mode = stored.map(|mode| if mode == "wal" { mode } else { JOURNAL_MODE.to_owned() });
    let nearest = layout.dir().ancestors().find(|dir| dir.is_dir()).unwrap_or(layout.dir());
    Description {
        path: path.display().to_string(),
        exists: found.is_some(),
        bytes: found.map_or(0, |found| found.len()),
        sqlite_version: rusqlite::version().to_owned(),
        journal_mode,
        file_system: place::file_system(nearest),
        writable: tempfile::tempfile_in(nearest).is_ok(),
    }
}
