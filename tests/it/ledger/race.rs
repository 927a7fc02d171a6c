//! Many at once.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use kctl::domain::fold::Kind;
use kctl::ports::ledger::{Access, LedgerFault};

use super::child::{answer, child};
use super::support::*;

/// Threads that read, decide and append to one stream: nobody is lost and nobody decides on what has moved.
fn threads_meet(fixture: &Fixture) -> Result<()> {
    const THREADS: u32 = 6;
    const EACH: u32 = 8;
    fixture.record(&[created(1, &[])])?;
    thread::scope(|scope| {
        for by in 1..=THREADS {
            let fixture = fixture.clone();
            scope.spawn(move || {
                for _ in 0..EACH {
                    let mut ledger = fixture.open(Access::Write).expect("it opens");
                    ledger.begin().expect("the lock is had in time");
                    let row = ledger.load(Kind::Task, task(1).as_str()).expect("it loads").expect("it is there");
                    ledger.append(&[claimed(1, row.ver, by, row.ver, NOON)]).expect("nothing moves under the lock");
                    ledger.commit().expect("it commits");
                }
            });
        }
    });
    let row = fixture.open(Access::Read)?.load(Kind::Task, task(1).as_str())?.expect("it is there");
    assert_eq!(row.ver, u64::from(1 + THREADS * EACH));
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

#[test]
fn threads_on_one_stream_lose_nothing_in_sqlite() -> Result<()> {
    let dir = quick_dir()?;
    threads_meet(&Fixture::sqlite(dir.path()))
}

#[test]
fn threads_on_one_stream_lose_nothing_in_memory() -> Result<()> {
    let dir = quick_dir()?;
    threads_meet(&Fixture::memory(dir.path()))
}

#[test]
fn of_many_processes_that_claim_one_task_one_wins_and_the_others_are_told() -> Result<()> {
    let dir = quick_dir()?;
    Fixture::sqlite(dir.path()).record(&[created(1, &[])])?;
    let children: Vec<_> = (1..=16)
        .map(|by| {
            Ok(child(&format!("claim {by}"), dir.path())?.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
        })
        .collect::<Result<_>>()?;
    let mut said = Vec::new();
    for child in children {
        said.push(answer(&child.wait_with_output()?)?);
    }
    said.sort();
    assert_eq!(said.pop().as_deref(), Some("won"));
    assert!(said.iter().all(|word| word == "held"), "{said:?}");
    Ok(())
}

#[test]
fn processes_that_make_and_fill_one_ledger_make_one_and_lose_nothing() -> Result<()> {
    let dir = quick_dir()?;
    let children: Vec<_> = (1..=8)
        .map(|by| {
            Ok(child(&format!("append {by} 6"), dir.path())?.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
        })
        .collect::<Result<_>>()?;
    for child in children {
        assert_eq!(answer(&child.wait_with_output()?)?, "done");
    }
    let fixture = Fixture::sqlite(dir.path());
    assert_eq!(fixture.open(Access::Read)?.counts(Kind::Task)?, [("open".to_owned(), 48)]);
    let found = fixture.ledgers().verify(dir.path())?;
    assert_eq!((found.events, found.origins, found.problems), (48, 1, vec![]));
    Ok(())
}

#[test]
fn a_writer_that_holds_the_lock_keeps_no_reader_waiting() -> Result<()> {
    let (dir, fixture) = ledger_of(10)?;
    let mut writer = fixture.open(Access::Write)?;
    writer.begin()?;
    writer.append(&[created(11, &[])])?;
    let began = Instant::now();
    let reader = Fixture::sqlite(dir.path()).open(Access::Read)?;
    assert_eq!(reader.counts(Kind::Task)?, [("open".to_owned(), 10)]);
    assert!(began.elapsed() < Duration::from_secs(5));
    writer.commit()?;
    assert_eq!(reader.counts(Kind::Task)?, [("open".to_owned(), 11)]);
    Ok(())
}

#[test]
fn readers_and_a_proof_at_work_keep_no_writer_out() -> Result<()> {
    let (_dir, fixture) = ledger_of(400)?;
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| -> Result<()> {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let problems = fixture.problems().expect("a sound ledger reads");
                    assert_eq!(problems, [""; 0], "a proof beside a writer finds no fault");
                }
            });
        }
        let began = Instant::now();
        let recorded: Result<Vec<_>, LedgerFault> =
            (1_001..1_021).map(|n| fixture.record(&[created(n, &[])])).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(recorded?.len(), 20);
        assert!(began.elapsed() < Duration::from_secs(15));
        Ok(())
    })
}
