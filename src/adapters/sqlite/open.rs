//! Opening a ledger.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::adapters::layout::Layout;
use crate::domain::answer::LedgerHead;
use crate::domain::fold::FOLD_VERSION;
use crate::domain::id::OriginId;
use crate::ports::ledger::{
    Access, Description, Ledger, LedgerFault, Ledgers, Rebuilt, RecoverFrom, Recovered, Source, Verification,
};

use super::place::{self, presence};
use super::{BUSY_TIMEOUT_MS, Db, JOURNAL_MODE, MAX_IDLE_JOURNAL_BYTES};
use super::{create, fault, keep, private, recover, schema, verify};

/// Ledgers in SQLite files. New origins are named by `new_origin`.
pub struct SqliteLedgers {
    new_origin: Box<dyn Fn() -> OriginId>,
}

impl SqliteLedgers {
    pub fn new(new_origin: impl Fn() -> OriginId + 'static) -> Self {
        Self { new_origin: Box::new(new_origin) }
    }
}

impl Ledgers for SqliteLedgers {
    fn open(&self, common_dir: &Path, access: Access) -> Result<Box<dyn Ledger>, LedgerFault> {
        let layout = place::layout(common_dir);
        let opened = match open(layout.clone(), access) {
            Err(LedgerFault::Absent) if access == Access::Create => {
                create::create(&layout, &self.new_origin)?;
                open(layout, access)
            }
            opened => opened,
        };
        opened.map(|db| Box::new(db) as Box<dyn Ledger>)
    }

    fn verify(&self, common_dir: &Path) -> Result<Verification, LedgerFault> {
        verify::verify(&open(place::layout(common_dir), Access::Read)?)
    }

    fn rebuild(&self, common_dir: &Path, dry_run: bool) -> Result<Rebuilt, LedgerFault> {
        keep::rebuild(open(place::layout(common_dir), Access::Write)?, dry_run)
    }

    fn backup(&self, common_dir: &Path, to: &Path) -> Result<LedgerHead, LedgerFault> {
        keep::backup(&open(place::layout(common_dir), Access::Read)?, to)
    }

    fn recover(&self, common_dir: &Path, from: &RecoverFrom) -> Result<Recovered, LedgerFault> {
        recover::recover(&place::layout(common_dir), from, &self.new_origin)
    }

    fn sources(&self, common_dir: &Path) -> Vec<Source> {
        keep::sources(&place::layout(common_dir))
    }

    fn purge(&self, common_dir: &Path) -> Result<(), LedgerFault> {
        recover::purge(&place::layout(common_dir))
    }

    fn describe(&self, common_dir: &Path) -> Description {
        keep::describe(&place::layout(common_dir))
    }
}

pub fn open(layout: Layout, access: Access) -> Result<Db, LedgerFault> {
    presence(&layout)?;
    let db = match access {
        Access::Read => open_to_read(layout),
        Access::Write | Access::Create => open_to_write(layout, access),
    }?;
    refuse_foreign(&db)?;
    Ok(db)
}

/// A ledger that was put in the place of another repository's says nothing about this one, and is not written to.
fn refuse_foreign(db: &Db) -> Result<(), LedgerFault> {
    // A marker that is missing or was torn is made anew; only one that names somebody else speaks against the ledger.
    let marker = fs_err::read_to_string(db.layout.marker()).ok();
    match marker.and_then(|text| text.trim().parse::<OriginId>().ok()) {
        Some(named) if named != db.origin => {
            let words = "this is not the ledger that belongs here: it is of origin";
            Err(LedgerFault::Corrupt(format!("{words} {}, and the marker beside it names {named}", db.origin)))
        }
        Some(_) | None => Ok(()),
    }
}

fn open_to_read(layout: Layout) -> Result<Db, LedgerFault> {
    let looked = look_at(&layout, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let found = match looked {
        Err(Looked::Hot) => {
            // A writer died half way. Whoever may write here rolls back what it left; reading does it as it opens.
            match look_at(&layout, OpenFlags::SQLITE_OPEN_READ_WRITE) {
                Ok(_) => look_at(&layout, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|why| why.into_fault(&layout))?,
                Err(_) => return private::open(layout),
            }
        }
        looked => looked.map_err(|why| why.into_fault(&layout))?,
    };
    if found.fold_version < FOLD_VERSION {
        return open_upgraded(layout);
    }
    Ok(found.into_db(layout, Access::Read))
}

/// Folds an older kctl's ledger anew: for everybody if it can be written, else in a private copy.
fn open_upgraded(layout: Layout) -> Result<Db, LedgerFault> {
    let upgraded = open_to_write(layout.clone(), Access::Write).and_then(|mut db| {
        db.begin()?;
        db.commit()
    });
    match upgraded {
        Ok(()) => open_to_read(layout),
        Err(LedgerFault::NotWritable(_) | LedgerFault::Unsuitable(_)) => private::open(layout),
        Err(why) => Err(why),
    }
}

fn open_to_write(layout: Layout, access: Access) -> Result<Db, LedgerFault> {
    place::refuse_network_file_system(layout.dir())?;
    let found = look_at(&layout, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(|why| why.into_fault(&layout))?;
    // SQLite opens a file that it may not write for reading, and says so only here.
    if found.conn.is_readonly("main")? {
        return Err(LedgerFault::NotWritable(format!("`{}` is read-only here", layout.ledger().display())));
    }
    prepare_to_write(&found.conn)?;
    if presence_of_marker(&layout).is_none() {
        // Its maker died between the two, or somebody deleted it: without it, losing the ledger would go unnoticed.
        place::mark(&layout, found.origin.as_str())?;
    }
    Ok(found.into_db(layout, access))
}

fn presence_of_marker(layout: &Layout) -> Option<()> {
    fs_err::symlink_metadata(layout.marker()).ok().map(drop)
}

/// A ledger that was opened and looked at.
pub struct Found {
    pub conn: Connection,
    pub origin: OriginId,
    pub fold_version: i64,
    identity: place::Identity,
}

impl Found {
    pub fn into_db(self, layout: Layout, access: Access) -> Db {
        let Self { conn, origin, fold_version: _, identity } = self;
        Db { conn, lock: None, layout, origin, access, identity, _private: None }
    }
}

/// Why a file was not taken for a ledger.
pub enum Looked {
    /// A dead writer's changes must be rolled back first, and this connection may not.
    Hot,
    /// It has no tables: its maker died, or somebody emptied it.
    Empty,
    Fault(LedgerFault),
}

impl Looked {
    pub fn into_fault(self, layout: &Layout) -> LedgerFault {
        match self {
            Looked::Hot => LedgerFault::Busy { waited_ms: 0 },
            Looked::Empty if presence_of_marker(layout).is_some() => LedgerFault::Missing(layout.ledger()),
            Looked::Empty => LedgerFault::Absent,
            Looked::Fault(why) => why,
        }
    }
}

impl From<rusqlite::Error> for Looked {
    fn from(why: rusqlite::Error) -> Self {
        if fault::is_hot(&why) { Looked::Hot } else { Looked::Fault(why.into()) }
    }
}

fn look_at(layout: &Layout, mode: OpenFlags) -> Result<Found, Looked> {
    let path = layout.ledger();
    let which = || place::identity(&path).map_err(|why| Looked::Fault(fault::of_io(&path, &why)));
    let before = which()?;
    let conn = connect(&path, mode).map_err(Looked::Fault)?;
    let found = look(conn, before)?;
    if which()? != before {
        return Err(Looked::Fault(LedgerFault::Busy { waited_ms: 0 }));
    }
    Ok(found)
}

/// Checks, in one read, that `conn` is a ledger that this kctl understands.
pub fn look(conn: Connection, identity: place::Identity) -> Result<Found, Looked> {
    let reading = conn.unchecked_transaction()?;
    let number = |name| reading.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (version, application) = (number("user_version")?, number("application_id")?);
    if application != schema::APPLICATION_ID {
        let tables: u64 = reading.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let foreign = || LedgerFault::Corrupt("the file is another program's database".to_owned());
        return Err(if tables == 0 { Looked::Empty } else { Looked::Fault(foreign()) });
    }
    let newer = |what: &str, found: i64, known: i64| {
        let words = format!("the ledger's {what} has version {found} and this kctl knows {known}: use a newer kctl");
        Looked::Fault(LedgerFault::Version(words))
    };
    if version > schema::SCHEMA_VERSION {
        return Err(newer("schema", version, schema::SCHEMA_VERSION));
    }
    let fold_version = fold_version(&reading)?;
    if fold_version > FOLD_VERSION {
        return Err(newer("fold", fold_version, FOLD_VERSION));
    }
    let origin = schema::meta(&reading, "origin")?
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Looked::Fault(LedgerFault::Corrupt("its origin is not an id".to_owned())))?;
    reading.finish()?;
    Ok(Found { conn, origin, fold_version, identity })
}

/// The version of the folds that made the states; 0, which is older than any, if it cannot be read.
pub fn fold_version(conn: &Connection) -> rusqlite::Result<i64> {
    Ok(schema::meta(conn, "fold_version")?.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// Opens one SQLite file. `busy_timeout` comes before any other statement, or that statement may fail busy.
pub fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, LedgerFault> {
    if rusqlite::version_number() < schema::MIN_SQLITE {
        return Err(LedgerFault::Version(format!("SQLite {} is too old", rusqlite::version())));
    }
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(path, flags)
        .map_err(|why| LedgerFault::Failed(format!("`{}` cannot be opened: {why}", path.display())))?;
    conn.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

/// A rollback journal, so that a read-only sandbox can still read. Its end of a transaction is itself synced, as that
/// of DELETE is not; why this one: docs/decisions/0002-journal-mode.md.
pub fn prepare_to_write(conn: &Connection) -> Result<(), LedgerFault> {
    let mode: String = conn.pragma_update_and_check(None, "journal_mode", JOURNAL_MODE, |row| row.get(0))?;
    if mode != JOURNAL_MODE {
        // Somebody made it a WAL database and has it open.
        return Err(LedgerFault::Busy { waited_ms: BUSY_TIMEOUT_MS });
    }
    conn.pragma_update(None, "synchronous", "FULL")?;
    // Where an ordinary sync leaves data in the drive's own cache (macOS), ask for the real one. Elsewhere it is nothing.
    conn.pragma_update(None, "fullfsync", true)?;
    conn.pragma_update_and_check(None, "journal_size_limit", MAX_IDLE_JOURNAL_BYTES, |_| Ok(()))?;
    Ok(())
}
