//! Reading a ledger that must be mended first and cannot be mended where it lies: a dead writer's changes, or an older
//! kctl's folds, on a read-only medium. The mending is done in a private copy that lives as long as it is read.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fs_err as fs;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::adapters::layout::Layout;
use crate::domain::fold::FOLD_VERSION;
use crate::ports::ledger::{Access, LedgerFault};

use super::open::Looked;
use super::{Db, fault, open, place, refold};

/// The largest ledger that is copied for one call, in bytes.
const MAX_COPY_BYTES: u64 = 256 << 20;

/// How often a copy is begun anew because somebody wrote meanwhile.
const MAX_TRIES: u32 = 3;

/// Opens, to read, a mended copy of the ledger.
pub fn open(layout: Layout) -> Result<Db, LedgerFault> {
    let (dir, copy) = copy(&layout.ledger())?;
    let identity = place::identity(&copy).map_err(|why| fault::of_io(&copy, &why))?;
    let conn = open::connect(&copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let found = open::look(conn, identity).map_err(|why: Looked| why.into_fault(&layout))?;
    if found.fold_version < FOLD_VERSION {
        let folding = found.conn.unchecked_transaction()?;
        refold::refold(&folding)?;
        folding.commit()?;
    }
    let mut db = found.into_db(layout, Access::Read);
    db._private = Some(dir);
    Ok(db)
}

/// Copies the ledger `file` and its journal as they stand.
///
/// A copy that somebody wrote into meanwhile would pair a journal with another file's pages, so it is begun anew.
pub fn copy(file: &Path) -> Result<(TempDir, PathBuf), LedgerFault> {
    let said = |path: &Path| {
        let path = path.to_owned();
        move |why: io::Error| fault::of_io(&path, &why)
    };
    let journal = journal_of(file);
    let dir = tempfile::Builder::new()
        .prefix("kctl-ledger-")
        .tempdir()
        .map_err(said(Path::new("the temporary directory")))?;
    let copy = dir.path().canonicalize().map_err(said(dir.path()))?.join("ledger.db");
    for _ in 0..MAX_TRIES {
        let _ = fs::remove_file(journal_of(&copy));
        let before = (looks(file).map_err(said(file))?, looks(&journal).ok());
        let bytes = before.0.0 + before.1.map_or(0, |(bytes, _)| bytes);
        if bytes > MAX_COPY_BYTES {
            return Err(LedgerFault::NotWritable(format!(
                "the ledger must be mended before it can be read, and its {bytes} bytes are more than the \
                 {MAX_COPY_BYTES} that are copied for that: call any operation where it can be written"
            )));
        }
        copy_bytes(file, &copy).map_err(said(&copy))?;
        let beside = journal_of(&copy);
        if before.1.is_some() {
            copy_bytes(&journal, &beside).map_err(said(&beside))?;
        }
        if before == (looks(file).map_err(said(file))?, looks(&journal).ok()) {
            return Ok((dir, copy));
        }
    }
    Err(LedgerFault::Busy { waited_ms: 0 })
}

/// Copies what is in a file and not who may do what to it: the copy is ours to mend.
fn copy_bytes(from: &Path, to: &Path) -> io::Result<()> {
    let _ = fs::remove_file(to);
    place::make_file(to)?;
    io::copy(&mut fs::File::open(from)?, &mut fs::OpenOptions::new().write(true).open(to)?).map(drop)
}

fn looks(path: &Path) -> io::Result<(u64, SystemTime)> {
    let found = fs::metadata(path)?;
    Ok((found.len(), found.modified()?))
}

/// The name that SQLite gives to the journal of `file`.
pub fn journal_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-journal");
    PathBuf::from(name)
}

/// Reads a damaged `file` through a private copy, so that looking changes nothing of it.
pub fn connect_damaged(file: &Path) -> Result<(TempDir, Connection), LedgerFault> {
    let (dir, copy) = copy(file)?;
    let conn = open::connect(&copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // A truncated file is refused whole unless the schema may be written; then what is there is read.
    conn.pragma_update(None, "writable_schema", true)?;
    Ok((dir, conn))
}
