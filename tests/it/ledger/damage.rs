//! What hands and disks do to a ledger: it is noticed, said, and takes nothing else down.

use std::path::Path;

use anyhow::{Context, Result};
use kctl::domain::event::Recorded;
use kctl::domain::fold::{FOLD_VERSION, Kind};
use kctl::ports::ledger::{Access, LedgerFault, Ledgers, Query, RecoverFrom};

use super::support::*;

/// The problems that `change`, made by hand to a ledger of ten tasks, gives rise to; and the ledger.
fn after(change: &str) -> Result<(tempfile::TempDir, Fixture, Vec<String>)> {
    let (dir, fixture) = ledger_of(10)?;
    tamper(dir.path(), change)?;
    let problems = fixture.problems()?;
    Ok((dir, fixture, problems))
}

fn assert_says(problems: &[String], words: &str) {
    assert!(problems.iter().any(|problem| problem.contains(words)), "none says `{words}`: {problems:?}");
}

#[test]
fn an_event_refuses_to_be_changed_or_deleted() -> Result<()> {
    let (dir, _fixture) = ledger_of(2)?;
    for change in ["UPDATE events SET at = 0", "DELETE FROM events", "UPDATE events SET body = x'00' WHERE seq = 1"] {
        let refused = by_hand(dir.path())?.execute_batch(change);
        assert!(refused.is_err_and(|why| why.to_string().contains("append-only")), "{change}");
    }
    Ok(())
}

#[test]
fn every_change_of_an_event_by_hand_is_seen() -> Result<()> {
    let seal = "does not have the seal of its bytes";
    for (change, words) in [
        ("UPDATE events SET body = replace(body, 'task 3', 'task 9') WHERE seq = 3", seal),
        ("UPDATE events SET body = cast(replace(body, 'task 3', 'task 9') AS BLOB) WHERE seq = 3", seal),
        ("UPDATE events SET at = at + 1 WHERE seq = 3", seal),
        ("UPDATE events SET caller = '{\"door\":\"cli\",\"grade\":\"signed\"}' WHERE seq = 3", seal),
        ("UPDATE events SET type = 'task.cancelled' WHERE seq = 3", seal),
        ("UPDATE events SET ver = 7 WHERE seq = 3", seal),
        ("UPDATE events SET stream = 'task:t-000000000000' WHERE seq = 3", seal),
        ("UPDATE events SET seal = (SELECT seal FROM events WHERE seq = 2) WHERE seq = 3", seal),
        ("UPDATE events SET prev = '' WHERE seq = 3", "does not name the seal before it"),
        ("UPDATE events SET origin = 'o-000000000000' WHERE seq = 3", "has no head on record"),
        (
            "UPDATE events SET seq = 99 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = 4;
             UPDATE events SET seq = 4 WHERE seq = 99",
            "event 4 of",
        ),
        ("DELETE FROM events WHERE seq = 5", "follows event 4"),
        ("DELETE FROM events WHERE seq > 7", "the events 8 to 10 of"),
        ("DELETE FROM events", "all 10 events of"),
        ("DELETE FROM heads", "has no head on record"),
    ] {
        // A text in a place for bytes is not even taken.
        let Ok((_dir, fixture, problems)) = after(change) else { continue };
        assert_says(&problems, words);
        let ledger = fixture.open(Access::Read)?;
        ledger.events(None, 0, 100).with_context(|| change.to_owned())?;
        ledger.query(&Query::all(Kind::Task))?;
    }
    Ok(())
}

#[test]
fn a_tail_that_was_cut_together_with_its_states_is_seen() -> Result<()> {
    let (_dir, fixture, problems) = after(
        "DELETE FROM state WHERE seq > 8; DELETE FROM events WHERE seq > 8;
         UPDATE counts SET n = 8 WHERE kind = 'task' AND status = 'open'",
    )?;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_says(&problems, "the events 9 to 10 of");
    fixture.record(&[created(50, &[])])?;
    assert_says(&fixture.problems()?, "event 11 of");
    assert!(fixture.ledgers().rebuild(&fixture.dir, false)?.quarantined.is_empty());
    assert_says(&fixture.problems()?, "event 11 of");
    Ok(())
}

#[test]
fn a_state_that_was_changed_by_hand_is_seen_and_a_rebuild_mends_it() -> Result<()> {
    for change in [
        "UPDATE state SET status = 'finished' WHERE rowid = 3",
        "UPDATE state SET body = x'7b7d' WHERE rowid = 3",
        "UPDATE state SET ver = 4 WHERE rowid = 3",
        "UPDATE state SET seq = 1 WHERE rowid = 3",
        "UPDATE state SET rank = 0, owner = 's-1', until = 9 WHERE rowid = 3",
        "DELETE FROM state WHERE rowid = 3",
        "INSERT INTO state (kind, id, ver, seq, status, rank, body) VALUES ('task', 't-x', 1, 1, 'open', 0, x'7b7d')",
        "INSERT INTO links (kind, id, rel, target, status, rank) SELECT kind, id, 'label', 'red', status, rank FROM state LIMIT 1",
        "INSERT INTO links (kind, id, rel, target, status, rank) VALUES ('task', 't-x', 'label', 'red', 'open', 0)",
        "UPDATE counts SET n = 11",
        "DELETE FROM counts",
    ] {
        let (dir, fixture, problems) = after(change)?;
        assert!(!problems.is_empty(), "{change}");
        assert!(fixture.ledgers().rebuild(dir.path(), true)?.changed, "{change}");
        assert_eq!(fixture.problems()?, problems, "a dry run changes nothing");
        assert!(fixture.ledgers().rebuild(dir.path(), false)?.changed, "{change}");
        assert_eq!(fixture.problems()?, [""; 0], "{change}");
    }
    Ok(())
}

#[test]
fn a_guard_that_was_taken_away_or_hollowed_out_is_seen_and_a_rebuild_puts_it_back() -> Result<()> {
    for change in [
        "DROP TRIGGER events_keep",
        "DROP TRIGGER events_stay; CREATE TRIGGER events_stay BEFORE DELETE ON events BEGIN SELECT 1; END",
        "CREATE TRIGGER spy AFTER INSERT ON events BEGIN DELETE FROM answers; END",
        "DROP INDEX state_by_owner",
        "DROP INDEX events_by_stream; CREATE INDEX events_by_stream ON events (type)",
    ] {
        let (dir, fixture) = ledger_of(3)?;
        by_hand(dir.path())?.execute_batch(change)?;
        assert_eq!(fixture.problems()?.len(), 1, "{change}: {:?}", fixture.problems()?);
        assert!(fixture.ledgers().rebuild(dir.path(), false)?.changed);
        assert_eq!(fixture.problems()?, [""; 0], "{change}");
    }
    Ok(())
}

/// Records, behind the end of the chain and well sealed, an event as another kctl might have.
fn record_foreign(fixture: &Fixture, stream: &str, change: impl FnOnce(&mut Recorded)) -> Result<()> {
    let mut event = fixture.open(Access::Read)?.events(None, 0, 500)?.pop().context("there is a last event")?;
    event.id = uuid::Uuid::now_v7().to_string();
    event.stream = stream.to_owned();
    event.oseq += 1;
    event.prev = std::mem::take(&mut event.seal);
    change(&mut event);
    event.seal = event.computed_seal().to_string();
    let conn = by_hand(&fixture.dir)?;
    conn.execute(
        "INSERT INTO events (id, stream, ver, type, v, at, caller, origin, oseq, prev, body, seal)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        (
            &event.id,
            &event.stream,
            event.ver,
            &event.type_name,
            event.version,
            event.at,
            &event.caller,
            &event.origin,
            event.oseq,
            &event.prev,
            &event.body,
            &event.seal,
        ),
    )?;
    conn.execute("UPDATE heads SET oseq = ?1, seal = ?2", (event.oseq, &event.seal))?;
    Ok(())
}

#[test]
fn an_event_of_a_newer_kctl_is_kept_counted_and_skipped() -> Result<()> {
    let (dir, fixture) = ledger_of(2)?;
    let one = format!("task:{}", task(1));
    let newcomer = format!("task:{}", task(7));
    record_foreign(&fixture, &one, |event| event.type_name = "task.teleported".into())?;
    record_foreign(&fixture, &one, |event| event.version = 8)?;
    record_foreign(&fixture, &newcomer, |event| event.type_name = "moon.landed".into())?;
    assert!(fixture.ledgers().rebuild(dir.path(), false)?.quarantined.is_empty());
    let found = fixture.ledgers().verify(dir.path())?;
    assert_eq!((found.events, found.unknown, found.problems), (5, 3, vec![]));
    let row = fixture.open(Access::Read)?.load(Kind::Task, task(1).as_str())?.context("it is there")?;
    assert_eq!((row.ver, row.seq), (3, 4));
    let next = fixture.record(&[claimed(1, 3, 1, 1, NOON), created(7, &[])])?;
    assert_eq!(next.iter().map(|event| event.ver).collect::<Vec<_>>(), [4, 2], "no version is given twice");
    assert_eq!(fixture.problems()?, [""; 0]);
    fixture.ledgers().rebuild(dir.path(), false)?;
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

#[test]
fn one_bad_event_is_set_aside_and_the_rest_goes_on() -> Result<()> {
    let one = format!("task:{}", task(1));
    type Spoil = fn(&mut Recorded);
    let spoils: [(&str, Spoil); 7] = [
        ("cannot be read", |event| event.body = b"{\"title\":".to_vec()),
        ("cannot be read", |event| event.body = b"\xff\xfe".to_vec()),
        ("unknown variant `abducted`", |event| {
            (event.type_name, event.version) = ("task.claim_ended".into(), 1);
            event.body = br#"{"fence":1,"how":"abducted","note":null}"#.to_vec();
        }),
        ("its caller cannot be read", |event| event.caller = "nobody".into()),
        ("stands in the stream", |event| {
            (event.type_name, event.version) = ("session.released".into(), 1);
            event.body = b"{}".to_vec();
        }),
        ("is not a kind of stream", |event| event.stream = "moon:1".into()),
        ("is not one", |event| event.stream = "task:../up".into()),
    ];
    for (words, spoil) in spoils {
        let (dir, fixture) = ledger_of(2)?;
        record_foreign(&fixture, &one, spoil)?;
        let rebuilt = fixture.ledgers().rebuild(dir.path(), false)?;
        assert_eq!((rebuilt.events, rebuilt.states, rebuilt.quarantined.len()), (3, 2, 1), "{words}");
        let problems = fixture.problems()?;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_says(&problems, words);
        let ver = fixture.open(Access::Read)?.load(Kind::Task, task(1).as_str())?.context("it is there")?.ver;
        fixture.record(&[claimed(1, ver, 1, 1, NOON)])?;
        fixture.ledgers().rebuild(dir.path(), false)?;
        assert_eq!(fixture.problems()?.len(), 1, "{words}");
        assert_eq!(fixture.open(Access::Read)?.counts(Kind::Task)?.len(), 2);
    }
    Ok(())
}

#[test]
fn a_row_that_is_no_text_any_more_is_read_around() -> Result<()> {
    let (_dir, fixture, problems) =
        after("UPDATE events SET caller = cast(x'ff00fe' AS TEXT), oseq = -3 WHERE seq = 3")?;
    assert_says(&problems, "does not have the seal of its bytes");
    assert_eq!(fixture.open(Access::Read)?.events(None, 0, 500)?.len(), 10);
    fixture.record(&[created(50, &[])])?;
    Ok(())
}

/// Does everything that reads and mends, and lets none of it panic or take a damaged ledger for one that never was.
fn poke(dir: &Path) -> Result<()> {
    let ledgers = sqlite();
    for access in [Access::Read, Access::Write, Access::Create] {
        match ledgers.open(dir, access) {
            Ok(mut ledger) => {
                let _ = ledger.query(&Query::all(Kind::Task));
                let _ = ledger.ready(None, 500);
                let _ = ledger.counts(Kind::Task);
                let _ = ledger.events(None, 0, 500);
                let _ = ledger.head();
                if ledger.begin().is_ok() {
                    let _ = ledger.append(&[created(60, &[])]);
                    ledger.rollback();
                }
            }
            Err(LedgerFault::Absent) => anyhow::bail!("a damaged ledger is not one that never was"),
            Err(_) => {}
        }
    }
    let _ = ledgers.rebuild(dir, true);
    Ok(())
}

#[test]
fn whatever_page_is_lost_it_is_said_and_what_is_left_is_saved() -> Result<()> {
    const PAGE: usize = 4096;
    let (dir, fixture) = ledger_of(60)?;
    let whole = std::fs::read(file(dir.path()))?;
    let mut saved_least = u64::MAX;
    for page in 0..whole.len() / PAGE {
        let mut damaged = whole.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(0xa5);
        std::fs::write(file(dir.path()), &damaged)?;
        poke(dir.path()).with_context(|| format!("page {page}"))?;
        // Some pages are spare; a rollback journal or a free page is no loss.
        let noticed = fixture.ledgers().verify(dir.path()).map_or(true, |found| !found.problems.is_empty());
        match fixture.ledgers().recover(dir.path(), &RecoverFrom::Damaged) {
            Ok(recovered) => {
                assert!(noticed || recovered.events == 60, "page {page}");
                assert!(recovered.events == 60 || !recovered.lost.is_empty(), "page {page}: a loss is said");
                saved_least = saved_least.min(recovered.events);
                let kept = recovered.kept.context("the damaged file is kept")?;
                assert!(std::fs::read(kept)? == damaged, "page {page}: it is kept as it was");
                fixture.record(&[created(61, &[])]).with_context(|| format!("page {page}"))?;
            }
            Err(why) => assert!(page == 0 || why.to_string().contains("no event"), "page {page}: {why}"),
        }
        for entry in std::fs::read_dir(dir.path().join("decapod"))? {
            let path = entry?.path();
            if !path.ends_with("origin") && !path.ends_with("ledger.lock") {
                std::fs::remove_file(path)?;
            }
        }
    }
    assert!(saved_least < 60, "some page held events");
    Ok(())
}

#[test]
fn a_file_that_was_cut_short_is_said_and_what_is_left_is_saved() -> Result<()> {
    let (dir, fixture) = ledger_of(60)?;
    let whole = std::fs::read(file(dir.path()))?;
    for bytes in [1, 15, 100, 4_095, 4_096, 8_192, 12_000, whole.len() / 2, whole.len() - 4_096, whole.len() - 1] {
        std::fs::write(file(dir.path()), &whole[..bytes])?;
        poke(dir.path()).with_context(|| format!("{bytes} bytes"))?;
        let sound = fixture.problems().is_ok_and(|problems| problems.is_empty());
        assert!(!sound, "{bytes} bytes");
        let recovered = fixture.ledgers().recover(dir.path(), &RecoverFrom::DamagedOrNothing)?;
        assert!(recovered.events == 60 || !recovered.lost.is_empty(), "{bytes} bytes");
        fixture.record(&[created(61, &[])])?;
    }
    Ok(())
}

#[test]
fn what_is_no_ledger_is_not_taken_for_one_and_not_touched() -> Result<()> {
    let (dir, fixture) = ledger_of(1)?;
    let path = file(dir.path());
    let garbage =
        b"not a database, and longer than a hundred bytes so that there is a whole header to misread: ".repeat(9);
    std::fs::write(&path, &garbage)?;
    for access in [Access::Read, Access::Write, Access::Create] {
        assert!(matches!(fixture.open(access), Err(LedgerFault::Corrupt(_))), "{access:?}");
    }
    assert_eq!(std::fs::read(&path)?, garbage);
    std::fs::remove_file(&path)?;
    std::fs::remove_file(marker(dir.path()))?;
    by_hand(dir.path())?.execute_batch("CREATE TABLE theirs (x); PRAGMA user_version = 1")?;
    let theirs = std::fs::read(&path)?;
    for access in [Access::Read, Access::Write, Access::Create] {
        assert!(matches!(fixture.open(access), Err(LedgerFault::Corrupt(_))), "{access:?}");
    }
    assert_eq!(std::fs::read(&path)?, theirs);
    Ok(())
}

#[test]
fn a_newer_ledger_is_left_to_a_newer_kctl() -> Result<()> {
    for newer in [
        "PRAGMA user_version = 99".to_owned(),
        format!("UPDATE meta SET value = {} WHERE key = 'fold_version'", FOLD_VERSION + 1),
    ] {
        let (dir, fixture) = ledger_of(2)?;
        let mut open = fixture.open(Access::Write)?;
        by_hand(dir.path())?.execute_batch(&newer)?;
        for access in [Access::Read, Access::Write, Access::Create] {
            assert!(matches!(fixture.open(access), Err(LedgerFault::Version(_))), "{newer} {access:?}");
        }
        assert!(matches!(open.begin(), Err(LedgerFault::Version(_))), "{newer}: one that was open already");
        assert!(matches!(open.begin(), Err(LedgerFault::Version(_))), "{newer}: and the lock was given back");
    }
    Ok(())
}

#[test]
fn an_older_fold_is_brought_up_to_date_by_whoever_comes_first() -> Result<()> {
    let age = "UPDATE meta SET value = 0 WHERE key = 'fold_version'; UPDATE state SET status = 'old', body = x'7b7d'; DELETE FROM counts";
    for access in [Access::Read, Access::Write] {
        let (dir, fixture) = ledger_of(3)?;
        let mut open = fixture.open(Access::Write)?;
        by_hand(dir.path())?.execute_batch(age)?;
        if access == Access::Read {
            assert_eq!(fixture.open(access)?.counts(Kind::Task)?, [("open".to_owned(), 3)]);
        } else {
            // A dry run upgrades, and undoes its upgrade with the rest; the next transaction must not forget that.
            for _ in 0..2 {
                open.begin()?;
                open.append(&[claimed(1, 1, 1, 1, NOON)])?;
                open.rollback();
            }
            fixture.record(&[claimed(1, 1, 1, 1, NOON)])?;
        }
        assert_eq!(fixture.problems()?, [""; 0], "{access:?}");
    }
    Ok(())
}
