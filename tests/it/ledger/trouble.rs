//! Where a ledger lies, and what goes wrong around it: links, modes, read-only places, full disks, deaths half way.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::{fs, thread};

use anyhow::{Context, Result};
use kctl::domain::fold::{FOLD_VERSION, Kind};
use kctl::ports::ledger::{Access, LedgerFault, Ledgers};

use super::child::{answer, child};
use super::support::*;

/// Runs `act` as somebody who is not root: root may write where nothing can be written.
fn unprivileged<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let drop_privileges = || {
        if rustix::process::geteuid().is_root() {
            let nobody = rustix::process::Uid::from_raw(65_534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).expect("root may become nobody");
        }
        act()
    };
    thread::scope(|scope| scope.spawn(drop_privileges).join().expect("it does not panic"))
}

/// Lets everybody read `dir` and nobody write there, as on a read-only medium.
fn freeze(dir: &Path) -> Result<()> {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
    let custody = dir.join("decapod");
    for entry in fs::read_dir(&custody)? {
        fs::set_permissions(entry?.path(), fs::Permissions::from_mode(0o444))?;
    }
    fs::set_permissions(custody, fs::Permissions::from_mode(0o555))?;
    Ok(())
}

fn thaw(dir: &Path) -> Result<()> {
    Ok(fs::set_permissions(dir.join("decapod"), fs::Permissions::from_mode(0o755))?)
}

fn mode(path: &Path) -> Result<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o777)
}

#[test]
fn a_ledger_is_its_owners_and_nobody_elses() -> Result<()> {
    let (dir, fixture) = ledger_of(1)?;
    let custody = dir.path().join("decapod");
    assert_eq!(mode(&custody)?, 0o700);
    for name in ["ledger.db", "ledger.db-journal", "ledger.lock", "origin"] {
        assert_eq!(mode(&custody.join(name))?, 0o600, "{name}");
    }
    let to = dir.path().join("backup.db");
    fixture.ledgers().backup(dir.path(), &to)?;
    assert_eq!(mode(&to)?, 0o600);
    Ok(())
}

#[test]
fn a_planted_link_is_not_followed_and_a_linked_repository_is() -> Result<()> {
    let (dir, fixture) = ledger_of(1)?;
    let through = dir.path().join("through");
    symlink(dir.path(), &through)?;
    assert_eq!(sqlite().open(&through, Access::Write)?.counts(Kind::Task)?, [("open".to_owned(), 1)]);
    let elsewhere = dir.path().join("elsewhere.db");
    fs::rename(file(dir.path()), &elsewhere)?;
    symlink(&elsewhere, file(dir.path()))?;
    for access in [Access::Read, Access::Write, Access::Create] {
        let refused = fixture.open(access).err().context("it is refused")?;
        assert!(refused.to_string().contains("follows no link"), "{refused}");
    }
    let planted = tempfile::tempdir()?;
    symlink(dir.path(), planted.path().join("decapod"))?;
    assert!(sqlite().open(planted.path(), Access::Create).is_err());
    assert!(!dir.path().join("ledger.db").exists(), "nothing was made behind the link");
    Ok(())
}

#[test]
fn a_ledger_that_is_gone_is_missed_and_not_begun_anew() -> Result<()> {
    let emptied: fn(&Path) -> std::io::Result<()> = |path| fs::write(path, b"");
    for lose in [|path: &Path| fs::remove_file(path), emptied] {
        let (dir, fixture) = ledger_of(1)?;
        let mut open = fixture.open(Access::Write)?;
        lose(&file(dir.path()))?;
        for access in [Access::Read, Access::Write, Access::Create] {
            assert!(matches!(fixture.open(access), Err(LedgerFault::Missing(_))), "{access:?}");
        }
        assert!(matches!(fixture.ledgers().verify(dir.path()), Err(LedgerFault::Missing(_))));
        assert!(open.begin().and_then(|()| open.append(&[created(2, &[])]).map(drop)).is_err(), "nor is it written to");
    }
    Ok(())
}

#[test]
fn a_ledger_that_was_put_in_the_place_of_an_open_one_is_not_written_past() -> Result<()> {
    let (dir, fixture) = ledger_of(2)?;
    let mut open = fixture.open(Access::Write)?;
    let copy = dir.path().join("copy.db");
    fs::copy(file(dir.path()), &copy)?;
    fs::rename(&copy, file(dir.path()))?;
    assert!(matches!(open.begin(), Err(LedgerFault::Busy { .. })), "it would be durable where nobody looks");
    assert_eq!(fixture.record(&[created(3, &[])])?.len(), 1, "and no lock was left behind");
    Ok(())
}

#[test]
fn a_marker_that_is_gone_or_torn_is_put_back_and_one_of_another_ledger_shuts_this_one() -> Result<()> {
    let (dir, fixture) = ledger_of(1)?;
    let origin = fs::read_to_string(marker(dir.path()))?;
    fs::remove_file(marker(dir.path()))?;
    fixture.open(Access::Write)?;
    assert_eq!(fs::read_to_string(marker(dir.path()))?, origin);
    fs::write(marker(dir.path()), "o-000000000000\n")?;
    let before = fs::read(file(dir.path()))?;
    for access in [Access::Read, Access::Write, Access::Create] {
        let words = fixture.open(access).err().map(|why| why.to_string()).unwrap_or_default();
        assert!(words.contains("not the ledger that belongs here"), "{access:?}: {words}");
    }
    assert_eq!(fs::read(file(dir.path()))?, before, "nothing was written to it");
    Ok(())
}

#[test]
fn a_read_only_place_is_read_and_refuses_writes_by_name() -> Result<()> {
    let (dir, fixture) = ledger_of(3)?;
    freeze(dir.path())?;
    unprivileged(|| -> Result<()> {
        assert_eq!(fixture.open(Access::Read)?.counts(Kind::Task)?, [("open".to_owned(), 3)]);
        assert_eq!(fixture.problems()?, [""; 0]);
        assert!(!fixture.ledgers().describe(dir.path()).writable);
        for access in [Access::Write, Access::Create] {
            assert!(matches!(fixture.open(access), Err(LedgerFault::NotWritable(_))), "{access:?}");
        }
        assert!(matches!(fixture.ledgers().rebuild(dir.path(), false), Err(LedgerFault::NotWritable(_))));
        Ok(())
    })?;
    thaw(dir.path())
}

#[test]
fn a_place_where_nothing_can_be_made_is_named() -> Result<()> {
    let dir = quick_dir()?;
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o555))?;
    unprivileged(|| {
        assert!(matches!(sqlite().open(dir.path(), Access::Create), Err(LedgerFault::NotWritable(_))));
        assert!(matches!(sqlite().open(dir.path(), Access::Read), Err(LedgerFault::Absent)));
    });
    assert!(matches!(sqlite().open(&dir.path().join("nowhere"), Access::Read), Err(LedgerFault::Absent)));
    assert!(sqlite().open(&dir.path().join("nowhere"), Access::Create).is_err(), "it makes no repository");
    Ok(())
}

#[test]
fn a_file_that_may_not_be_read_is_neither_absent_nor_missing() -> Result<()> {
    let (dir, fixture) = ledger_of(1)?;
    fs::set_permissions(dir.path().join("decapod"), fs::Permissions::from_mode(0o000))?;
    let refused = unprivileged(|| fixture.open(Access::Read).err());
    thaw(dir.path())?;
    assert!(matches!(refused, Some(LedgerFault::Failed(_))), "{refused:?}");
    Ok(())
}

#[test]
fn older_folds_in_a_read_only_place_are_read_from_a_private_copy() -> Result<()> {
    let (dir, fixture) = ledger_of(3)?;
    by_hand(dir.path())?.execute_batch("UPDATE meta SET value = 0 WHERE key = 'fold_version'; DELETE FROM state")?;
    freeze(dir.path())?;
    unprivileged(|| -> Result<()> {
        let mut ledger = fixture.open(Access::Read)?;
        assert_eq!(ledger.counts(Kind::Task)?, [("open".to_owned(), 3)]);
        assert!(matches!(ledger.begin(), Err(LedgerFault::NotWritable(_))));
        Ok(())
    })?;
    thaw(dir.path())?;
    let stored: i64 =
        by_hand(dir.path())?
            .query_row("SELECT value + 0 FROM meta WHERE key = 'fold_version'", [], |row| row.get(0))?;
    assert!(stored < FOLD_VERSION, "the place itself was not written");
    Ok(())
}

/// A ledger of `events` events, as it lies when its writer dies in the middle of writing pages: some are new, and the
/// journal holds the old ones.
fn died_while_writing(events: u32) -> Result<tempfile::TempDir> {
    let (dir, _fixture) = ledger_of(events)?;
    let image = quick_dir()?;
    fs::create_dir(image.path().join("decapod"))?;
    let conn = by_hand(dir.path())?;
    conn.execute_batch(
        "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE state SET status = 'torn', body = zeroblob(3000)",
    )?;
    for entry in fs::read_dir(dir.path().join("decapod"))? {
        let entry = entry?;
        fs::copy(entry.path(), image.path().join("decapod").join(entry.file_name()))?;
    }
    conn.execute_batch("ROLLBACK")?;
    let torn = fs::read(file(image.path()))? != fs::read(file(dir.path()))?;
    let hot = fs::read(image.path().join("decapod/ledger.db-journal"))?;
    anyhow::ensure!(torn && hot.iter().take(8).any(|byte| *byte != 0), "the image is one of a death half way");
    Ok(image)
}

#[test]
fn what_a_dead_writer_left_is_rolled_back_by_the_next_call_even_if_it_only_reads() -> Result<()> {
    for access in [Access::Read, Access::Write, Access::Create] {
        let image = died_while_writing(40)?;
        let fixture = Fixture::sqlite(image.path());
        assert_eq!(fixture.open(access)?.counts(Kind::Task)?, [("open".to_owned(), 40)], "{access:?}");
        assert_eq!(fixture.problems()?, [""; 0]);
    }
    Ok(())
}

#[test]
fn what_a_dead_writer_left_in_a_read_only_place_is_rolled_back_in_a_private_copy() -> Result<()> {
    let image = died_while_writing(40)?;
    let fixture = Fixture::sqlite(image.path());
    let before = fs::read(file(image.path()))?;
    freeze(image.path())?;
    unprivileged(|| -> Result<()> {
        assert_eq!(fixture.open(Access::Read)?.counts(Kind::Task)?, [("open".to_owned(), 40)]);
        assert_eq!(fixture.problems()?, [""; 0]);
        assert!(matches!(fixture.open(Access::Write), Err(LedgerFault::NotWritable(_) | LedgerFault::Busy { .. })));
        Ok(())
    })?;
    thaw(image.path())?;
    assert!(fs::read(file(image.path()))? == before);
    Ok(())
}

#[test]
fn a_call_that_is_killed_anywhere_leaves_all_of_it_or_nothing() -> Result<()> {
    for (place, kept) in [
        ("ledger.creating", None),
        ("ledger.created", None),
        ("ledger.appended", Some(false)),
        ("ledger.committing", Some(false)),
        ("ledger.committed", Some(true)),
    ] {
        let dir = quick_dir()?;
        let fixture = Fixture::sqlite(dir.path());
        if kept.is_some() {
            fixture.record(&[created(1, &[])])?;
        }
        let died = child("append 2 1", dir.path())?.env("KCTL_FAILPOINT", place).output()?;
        assert!(died.status.signal().is_some(), "{place}: {died:?}");
        let before = fixture.create()?.counts(Kind::Task)?.first().map_or(0, |(_, n)| *n);
        assert_eq!(before, u64::from(kept.is_some()) + u64::from(kept == Some(true)), "{place}");
        assert!(marker(dir.path()).exists(), "{place}: its loss would be noticed");
        fixture.record(&[created(3, &[])])?;
        assert_eq!(fixture.problems()?, [""; 0], "{place}");
    }
    Ok(())
}

/// `command`, which may write no file beyond `kib` KiB; told so by an error if `told`, else by a signal.
fn in_little_room(command: &Command, kib: u32, told: bool) -> Command {
    let trap = if told { "trap '' XFSZ; " } else { "" };
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("{trap}ulimit -f {}; exec \"$0\" \"$@\"", kib * 2)]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
    shell
}

#[test]
fn a_disk_that_fills_up_keeps_what_was_answered_and_nothing_else() -> Result<()> {
    for kib in [300, 333, 347, 402] {
        let (dir, fixture) = ledger_of(5)?;
        let output = in_little_room(&child("fill", dir.path())?, kib, true).output()?;
        let said = answer(&output)?;
        let (done, why) = said.split_once('|').context("how many, and why")?;
        let (why, after) = why.rsplit_once('|').context("why, and what came after")?;
        assert!(why.contains("custody is not writable"), "{kib}: {why}");
        let expected = 5 + done.parse::<u64>()? + u64::from(after == "true");
        let found = fixture.ledgers().verify(dir.path())?;
        assert_eq!((found.events, found.problems), (expected, vec![]), "{kib}");
        fixture.record(&[created(8, &[])])?;
    }
    Ok(())
}

#[test]
fn a_signal_at_the_limit_of_a_file_leaves_a_sound_ledger() -> Result<()> {
    let (dir, fixture) = ledger_of(5)?;
    let died = in_little_room(&child("fill", dir.path())?, 310, false).output()?;
    assert_eq!(died.status.signal(), Some(25), "SIGXFSZ: {died:?}");
    assert_eq!(fixture.problems()?, [""; 0]);
    fixture.record(&[created(8, &[])])?;
    Ok(())
}

#[test]
fn a_ledger_that_was_made_wal_by_hand_is_made_readable_everywhere_again() -> Result<()> {
    let (dir, fixture) = ledger_of(2)?;
    by_hand(dir.path())?.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    assert_eq!(fixture.ledgers().describe(dir.path()).journal_mode.as_deref(), Some("wal"));
    fixture.record(&[created(3, &[])])?;
    assert_eq!(fixture.ledgers().describe(dir.path()).journal_mode.as_deref(), Some("persist"));
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

#[test]
fn a_reader_that_lingers_delays_a_commit_and_does_not_break_it() -> Result<()> {
    let (dir, fixture) = ledger_of(2)?;
    let reader = by_hand(dir.path())?;
    reader.execute_batch("BEGIN; SELECT count(*) FROM events")?;
    thread::scope(|scope| -> Result<()> {
        let writer = scope.spawn(|| fixture.record(&[created(3, &[])]).map(drop));
        thread::sleep(std::time::Duration::from_millis(200));
        reader.execute_batch("COMMIT")?;
        writer.join().expect("it does not panic")?;
        Ok(())
    })?;
    assert_eq!(fixture.open(Access::Read)?.counts(Kind::Task)?, [("open".to_owned(), 3)]);
    Ok(())
}

#[test]
fn describing_a_place_needs_no_ledger_and_makes_none() -> Result<()> {
    let dir = quick_dir()?;
    let told = sqlite().describe(dir.path());
    assert_eq!((told.exists, told.bytes, told.journal_mode, told.writable), (false, 0, None, true));
    assert!(!dir.path().join("decapod").exists());
    Ok(())
}
