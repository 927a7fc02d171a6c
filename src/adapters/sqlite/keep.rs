//! Rebuilding, copying and describing a ledger.

use std::path::Path;

use fs_err as fs;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::adapters::failpoint;
use crate::adapters::layout::Layout;
use crate::domain::answer::LedgerHead;
use crate::domain::digest::{Digest, Fields};
use crate::ports::ledger::{Description, Ledger, LedgerFault, Rebuilt, Source, Views};

use super::place::presence;
use super::{Db, JOURNAL_MODE, fault, open, place, refold, salvage, schema, views};

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
    let head = views::newest(&conn, &db.origin)?;
    note(&db.layout, &path);
    head.ok_or_else(|| LedgerFault::Corrupt("the copy holds no event".to_owned()))
}

/// How many backups are remembered.
const MAX_NOTED: usize = 100;

/// Remembers where a backup is. It is a help to find it and no more: a backup stands without it.
fn note(layout: &Layout, to: &Path) {
    let Some(to) = to.to_str().filter(|to| !to.contains('\n')) else { return };
    let mut lines = noted(layout);
    lines.retain(|line| line != to);
    lines.push(to.to_owned());
    let from = lines.len().saturating_sub(MAX_NOTED);
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(layout.dir())?;
        std::io::Write::write_all(&mut file, (lines[from..].join("\n") + "\n").as_bytes())?;
        file.persist(layout.backups()).map_err(|fault| fault.error).map(drop)
    };
    let _ = write();
}

fn noted(layout: &Layout) -> Vec<String> {
    let text = fs::read_to_string(layout.backups()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The files that a recovery could read, those with most events first.
pub fn sources(layout: &Layout) -> Vec<Source> {
    let ledger = layout.ledger();
    let beside = fs::read_dir(layout.dir()).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let set_aside = beside.filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("ledger.damaged-") && !name.ends_with("-journal")
    });
    let backups = noted(layout).into_iter().map(std::path::PathBuf::from);
    let all = std::iter::once(ledger.clone()).chain(set_aside).chain(backups);
    let read = |path: std::path::PathBuf| {
        let events = salvage::read(&path).ok()?.events.len() as u64;
        (events > 0).then(|| Source { in_place: path == ledger, path: path.display().to_string(), events })
    };
    let mut found: Vec<Source> = all.filter_map(read).take(MAX_NOTED).collect();
    found.sort_by_key(|source| std::cmp::Reverse((source.events, source.in_place)));
    found
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
