//! Mending a ledger that is gone or damaged. Nothing is thrown away: the damaged file is kept beside.

use std::path::{Path, PathBuf};

use fs_err as fs;
use rusqlite::OpenFlags;

use crate::adapters::failpoint;
use crate::adapters::layout::Layout;
use crate::adapters::lock::FileLock;
use crate::domain::chain::Audit;
use crate::domain::event::Recorded;
use crate::domain::fold::FOLD_VERSION;
use crate::domain::id::OriginId;
use crate::ports::ledger::{LedgerFault, MAX_LOCK_WAIT_MS, Problems, RecoverFrom, Recovered};

use super::private::journal_of;
use super::salvage::{self, Saved};
use super::{fault, open, place, refold, schema, write};

/// The most damaged ledgers that are kept beside each other.
const MAX_KEPT: u32 = 999;

/// Replaces the ledger by a backup, by the readable rows of the damaged file, or by an empty one.
pub fn recover(
    layout: &Layout,
    from: &RecoverFrom,
    new_origin: &dyn Fn() -> OriginId,
) -> Result<Recovered, LedgerFault> {
    let never_was = !layout.marker().exists() && !layout.ledger().exists();
    if never_was && matches!(from, RecoverFrom::Damaged) {
        return Err(LedgerFault::Absent);
    }
    place::make_dir(layout)?;
    place::refuse_network_file_system(layout.dir())?;
    let path = layout.lock();
    let _lock = FileLock::take(&path, MAX_LOCK_WAIT_MS).map_err(|why| fault::of_io(&path, &why))?;
    let damaged = layout.ledger();
    let (mut saved, source) = gather(&damaged, from)?;
    let origin = origin_of(&mut saved, new_origin);
    let fresh = layout.dir().join("ledger.recovered");
    failpoint::reach("recover.gathered");
    write_fresh(&fresh, &origin, &saved.events, &mut saved.lost)?;
    failpoint::reach("recover.written");
    let kept = set_aside(&damaged)?;
    failpoint::reach("recover.kept");
    fs::rename(&fresh, &damaged).map_err(|why| fault::of_io(&damaged, &why))?;
    failpoint::reach("recover.replaced");
    place::sync_dir(layout.dir())?;
    place::mark(layout, &origin)?;
    Ok(Recovered {
        events: saved.events.len() as u64,
        lost: saved.lost.into_list(),
        kept: kept.map(|path| path.display().to_string()),
        source,
    })
}

fn gather(damaged: &Path, from: &RecoverFrom) -> Result<(Saved, String), LedgerFault> {
    let some = |saved: Saved, source: String| match saved.events.is_empty() {
        true => Err(LedgerFault::Failed(format!("no event could be read from {source}"))),
        false => Ok((saved, source)),
    };
    let salvaged = || match damaged.exists() {
        true => salvage::read(damaged).and_then(|saved| some(saved, "the damaged file".to_owned())),
        false => Err(LedgerFault::Missing(damaged.to_owned())),
    };
    match from {
        RecoverFrom::Backup(file) => {
            let (mut saved, source) = some(salvage::read(file)?, format!("`{}`", file.display()))?;
            Ok((saved_since(&mut saved, damaged).map(|()| saved)?, source))
        }
        RecoverFrom::Damaged => salvaged(),
        RecoverFrom::DamagedOrNothing => salvaged().or_else(|why| {
            let mut saved = Saved::default();
            saved.lost.add(None, format!("everything: {why}"));
            Ok((saved, "nothing".to_owned()))
        }),
    }
}

/// Brings a backup up to what the ledger that it replaces still holds of later events.
fn saved_since(saved: &mut Saved, damaged: &Path) -> Result<(), LedgerFault> {
    let Ok(since) = salvage::read(damaged) else {
        saved.heads.clear();
        saved.lost.add(None, "events recorded since the backup, if there were any: there is no file to read them from");
        return Ok(());
    };
    let heads = since.heads.clone();
    saved.extend(since);
    let mut audit = Audit::default();
    for event in &saved.events {
        audit.walk(event);
    }
    audit.compare(&heads).into_iter().for_each(|what| saved.lost.add(None, what));
    Ok(())
}

/// Which origin the mended ledger goes on as.
///
/// Unless its chain is whole to the end, it gets a new name: what the lost events told others, under their numbers,
/// must not be told again with other events. What is saved keeps the name that it was recorded under.
fn origin_of(saved: &mut Saved, new_origin: &dyn Fn() -> OriginId) -> String {
    let whole = saved.is_complete();
    match saved.origin.clone().filter(|text| whole && text.parse::<OriginId>().is_ok()) {
        Some(origin) => origin,
        None => {
            let origin = new_origin().to_string();
            saved.lost.add(None, format!("whatever was recorded last; new events are recorded as {origin}"));
            origin
        }
    }
}

fn write_fresh(file: &Path, origin: &str, events: &[Recorded], lost: &mut Problems) -> Result<(), LedgerFault> {
    // Left by a recovery that died.
    let _ = fs::remove_file(file);
    let _ = fs::remove_file(journal_of(file));
    place::make_file(file).map_err(|why| fault::of_io(file, &why))?;
    let conn = open::connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    open::prepare_to_write(&conn)?;
    let writing = conn.unchecked_transaction()?;
    schema::create(&writing, origin, FOLD_VERSION)?;
    let mut audit = Audit::default();
    for event in events {
        let problems = audit.walk(event);
        problems.into_iter().for_each(|what| lost.add(Some(event.seq), format!("kept, but {what}")));
        if let Err(why) = write::insert(&writing, event) {
            lost.add(Some(event.seq), format!("not kept: {why}"));
        }
    }
    for end in audit.ends() {
        write::set_head(&writing, &end)?;
    }
    let (_, quarantined) = refold::refold(&writing)?;
    quarantined.into_iter().for_each(|problem| lost.add(problem.seq, problem.what));
    writing.commit()?;
    drop(conn);
    let _ = fs::remove_file(journal_of(file));
    Ok(())
}

/// Gives the damaged file a second name, and its journal to that name, so that there is a ledger at every moment.
fn set_aside(damaged: &Path) -> Result<Option<PathBuf>, LedgerFault> {
    if fs::symlink_metadata(damaged).is_err() {
        return Ok(None);
    }
    let free = (1..=MAX_KEPT)
        .map(|n| damaged.with_extension(format!("damaged-{n}")))
        .find(|path| fs::symlink_metadata(path).is_err())
        .ok_or_else(|| LedgerFault::Failed(format!("there are {MAX_KEPT} damaged ledgers here already")))?;
    if fs::hard_link(damaged, &free).is_err() {
        // Not every file system has second names.
        fs::rename(damaged, &free).map_err(|why| fault::of_io(damaged, &why))?;
    }
    let journal = journal_of(damaged);
    if fs::symlink_metadata(&journal).is_ok() {
        // Left where it is, it would be rolled back into the ledger that takes the place.
        fs::rename(&journal, journal_of(&free)).map_err(|why| fault::of_io(&journal, &why))?;
    }
    Ok(Some(free))
}

/// Deletes everything that is kept under the common directory, under the lock, but for the lock file itself.
pub fn purge(layout: &Layout) -> Result<(), LedgerFault> {
    let path = layout.lock();
    let _lock = FileLock::take(&path, MAX_LOCK_WAIT_MS).map_err(|why| fault::of_io(&path, &why))?;
    for dir in [layout.artifacts(), layout.cache()] {
        gone(&dir, fs::remove_dir_all(&dir))?;
        failpoint::reach("purge.removed");
    }
    let ledger = layout.ledger();
    // The ledger goes last: as long as it is there, a purge that was cut off is gone on with. Its marker goes before, so
    // that it is then no ledger that is missed; and no journal stays that a later ledger could take for its own.
    for file in [layout.index(), layout.backups(), layout.marker(), journal_of(&ledger), ledger] {
        gone(&file, fs::remove_file(&file))?;
        failpoint::reach("purge.removed");
    }
    Ok(())
}

fn gone(path: &Path, removed: std::io::Result<()>) -> Result<(), LedgerFault> {
    match removed {
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => Err(fault::of_io(path, &why)),
        _ => Ok(()),
    }
}
