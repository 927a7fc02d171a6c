//! Making a ledger.

use std::io;

use rusqlite::OpenFlags;

use crate::adapters::failpoint;
use crate::adapters::layout::Layout;
use crate::adapters::lock::FileLock;
use crate::domain::fold::FOLD_VERSION;
use crate::domain::id::OriginId;
use crate::ports::ledger::{Access, LedgerFault, MAX_LOCK_WAIT_MS};

use super::{fault, open, place, schema};

/// Makes a new ledger under the lock, so that two first calls make one ledger.
pub fn create(layout: &Layout, new_origin: &dyn Fn() -> OriginId) -> Result<(), LedgerFault> {
    place::make_dir(layout)?;
    place::refuse_network_file_system(layout.dir())?;
    let path = layout.lock();
    let _lock = FileLock::take(&path, MAX_LOCK_WAIT_MS).map_err(|why| fault::of_io(&path, &why))?;
    match open::open(layout.clone(), Access::Write) {
        Err(LedgerFault::Absent) => make(layout, &new_origin()),
        made_meanwhile => made_meanwhile.map(drop),
    }
}

fn make(layout: &Layout, origin: &OriginId) -> Result<(), LedgerFault> {
    let path = layout.ledger();
    match place::make_file(&path) {
        // Left by a call that died here.
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.map_err(|why| fault::of_io(&path, &why))?,
    }
    let conn = open::connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    open::prepare_to_write(&conn)?;
    let making = conn.unchecked_transaction()?;
    schema::create(&making, origin.as_str(), FOLD_VERSION)?;
    failpoint::reach("ledger.creating");
    making.commit()?;
    failpoint::reach("ledger.created");
    place::mark(layout, origin.as_str())?;
    failpoint::reach("ledger.marked");
    Ok(())
}
