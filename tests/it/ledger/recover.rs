//! Ways back from a ledger that is gone or damaged.

use std::fs;

use anyhow::{Context, Result};
use kctl::domain::fold::Kind;
use kctl::ports::ledger::{Access, RecoverFrom, Recovered};

use super::support::*;

/// A ledger of five tasks with a backup of its first three.
fn with_backup() -> Result<(tempfile::TempDir, Fixture, RecoverFrom)> {
    let (dir, fixture) = ledger_of(3)?;
    let backup = dir.path().join("backup.db");
    fixture.ledgers().backup(dir.path(), &backup)?;
    fixture.record(&[created(4, &[]), created(5, &[])])?;
    Ok((dir, fixture, RecoverFrom::Backup(backup)))
}

fn lost(recovered: &Recovered) -> Vec<&str> {
    recovered.lost.iter().map(|problem| problem.what.as_str()).collect()
}

fn tasks(fixture: &Fixture) -> Result<u64> {
    Ok(fixture.open(Access::Read)?.counts(Kind::Task)?.iter().map(|(_, n)| n).sum())
}

#[test]
fn a_backup_is_brought_up_to_what_the_damaged_ledger_still_holds() -> Result<()> {
    let (dir, fixture, backup) = with_backup()?;
    let origin = fixture.open(Access::Read)?.origin().clone();
    by_hand(dir.path())?.execute_batch("DELETE FROM state")?;
    let recovered = fixture.ledgers().recover(dir.path(), &backup)?;
    assert_eq!((recovered.events, lost(&recovered)), (5, vec![]));
    assert_eq!(tasks(&fixture)?, 5);
    assert_eq!(*fixture.open(Access::Read)?.origin(), origin, "its chain is whole, and goes on under its name");
    assert_eq!(fixture.record(&[created(6, &[])])?[0].oseq, 6);
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

#[test]
fn nothing_that_was_tampered_with_comes_along_from_the_damaged_ledger() -> Result<()> {
    let (dir, fixture, backup) = with_backup()?;
    tamper(dir.path(), "UPDATE events SET at = at + 1 WHERE seq = 4")?;
    let recovered = fixture.ledgers().recover(dir.path(), &backup)?;
    assert_eq!(recovered.events, 3);
    assert!(lost(&recovered).iter().any(|what| what.contains("the events 4 to 5")), "{:?}", lost(&recovered));
    fixture.record(&[created(6, &[])])?;
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

#[test]
fn a_chain_that_lost_its_end_goes_on_under_a_new_name() -> Result<()> {
    let (dir, fixture, backup) = with_backup()?;
    let old = fixture.open(Access::Read)?.origin().clone();
    fs::remove_file(file(dir.path()))?;
    let recovered = fixture.ledgers().recover(dir.path(), &backup)?;
    assert_eq!((recovered.events, recovered.kept.as_deref()), (3, None));
    let new = fixture.open(Access::Read)?.origin().clone();
    assert_ne!(new, old, "the numbers 4 and 5 were given out, and must not be given again with other events");
    let next = fixture.record(&[claimed(1, 1, 1, 1, NOON)])?.remove(0);
    assert_eq!((next.origin, next.oseq, next.ver), (new.to_string(), 1, 2));
    let found = fixture.ledgers().verify(dir.path())?;
    assert_eq!((found.origins, found.problems), (2, vec![]));
    Ok(())
}

#[test]
fn the_damaged_file_and_its_journal_are_kept_and_the_journal_is_not_played_into_the_new_one() -> Result<()> {
    let (dir, fixture, backup) = with_backup()?;
    let conn = by_hand(dir.path())?;
    conn.execute_batch(
        "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE state SET status = 'torn', body = zeroblob(9000)",
    )?;
    let custody = dir.path().join("decapod");
    let (torn, hot) = (fs::read(file(dir.path()))?, fs::read(custody.join("ledger.db-journal"))?);
    conn.execute_batch("ROLLBACK")?;
    drop(conn);
    fs::write(file(dir.path()), &torn)?;
    fs::write(custody.join("ledger.db-journal"), &hot)?;
    let recovered = fixture.ledgers().recover(dir.path(), &backup)?;
    assert_eq!((recovered.events, lost(&recovered)), (5, vec![]));
    let kept = recovered.kept.context("it is kept")?;
    assert!(fs::read(&kept)? == torn && fs::read(format!("{kept}-journal"))? == hot);
    assert_eq!(tasks(&fixture)?, 5);
    assert_eq!(fixture.problems()?, [""; 0]);
    let again = fixture.ledgers().recover(dir.path(), &RecoverFrom::Damaged)?;
    assert_ne!(again.kept.context("it is kept")?, kept, "and never overwritten");
    Ok(())
}

#[test]
fn a_recovery_that_died_is_done_again() -> Result<()> {
    let (dir, fixture, backup) = with_backup()?;
    fs::write(dir.path().join("decapod/ledger.recovered"), b"half of it")?;
    fs::write(dir.path().join("decapod/ledger.recovered-journal"), b"half of that")?;
    assert_eq!(fixture.ledgers().recover(dir.path(), &backup)?.events, 5);
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

#[test]
fn a_backup_that_is_none_replaces_nothing() -> Result<()> {
    let (dir, fixture, _) = with_backup()?;
    let garbage = dir.path().join("garbage.db");
    fs::write(&garbage, b"no ledger".repeat(1_000))?;
    let before = fs::read(file(dir.path()))?;
    assert!(fixture.ledgers().recover(dir.path(), &RecoverFrom::Backup(garbage)).is_err());
    assert!(fs::read(file(dir.path()))? == before);
    Ok(())
}

#[test]
fn an_event_whose_seal_is_wrong_is_saved_and_said() -> Result<()> {
    let (dir, fixture, _) = with_backup()?;
    tamper(dir.path(), "UPDATE events SET at = at + 1 WHERE seq = 2")?;
    let recovered = fixture.ledgers().recover(dir.path(), &RecoverFrom::Damaged)?;
    assert_eq!(recovered.events, 5);
    assert_eq!(lost(&recovered).len(), 1, "{:?}", lost(&recovered));
    assert!(lost(&recovered)[0].contains("kept, but"));
    Ok(())
}
