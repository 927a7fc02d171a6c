//! Figures for docs/decisions/0002-journal-mode.md and for the claim that a ledger's age costs nothing. Run by hand.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "it measures the real world, and says so")]

mod ledger_support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kctl::domain::fold::Kind;
use kctl::ports::ledger::{Access, Query};
use rusqlite::Connection;

use ledger_support::{created, filled, open, task};

const INSERT: &str = "INSERT INTO t (b) VALUES (zeroblob(600))";

/// How often each thing is measured.
const TIMES: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("child") => child(&arguments[2], arguments[3].parse().expect("a number")),
        Some("million") => million(),
        Some("contend") => contend(),
        _ => modes(),
    }
}

/// The median, in milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

fn timed(mut act: impl FnMut()) -> Duration {
    let began = Instant::now();
    act();
    began.elapsed()
}

/// One synced append through the adapter, beside one synced insert of a bare table in every mode, in turns, so that
/// what else the machine does meets all of them alike.
fn modes() {
    let dir = filled(1_000, 1).expect("it fills");
    let mut ledger = open(&dir, Access::Write);
    let modes = [("delete", "full"), ("delete", "extra"), ("truncate", "full"), ("persist", "full"), ("wal", "full")];
    let bare: Vec<_> = modes.iter().map(|(mode, sync)| bare(&dir, mode, sync)).collect();
    let mut times = vec![Vec::new(); modes.len() + 1];
    for n in 0..TIMES as u32 {
        for (index, conn) in bare.iter().enumerate() {
            let insert = || assert_eq!(conn.execute(INSERT, []).expect("it inserts"), 1);
            times[index].push(timed(insert));
        }
        let append = || {
            ledger.begin().expect("the lock is free");
            ledger.append(&[created(100_000 + n)]).expect("it appends");
            ledger.commit().expect("it commits");
        };
        times[modes.len()].push(timed(append));
    }
    for ((mode, sync), times) in modes.iter().zip(&times) {
        println!("bare insert, {mode}/{sync}: {:.2} ms", median(times.clone()));
    }
    println!("append through the adapter: {:.2} ms", median(times[modes.len()].clone()));
    let many = |act: &dyn Fn()| median((0..TIMES).map(|_| timed(act)).collect());
    let floor = many(&|| drop(read_bare(&dir.path().join("delete-full.db"), "SELECT b FROM t WHERE id = 7")));
    let same =
        many(&|| drop(read_bare(&dir.path().join("decapod/ledger.db"), "SELECT body FROM state WHERE rowid = 7")));
    let read = || drop(open(&dir, Access::Read).load(Kind::Task, task(7).as_str()).expect("it loads"));
    let ours = many(&read);
    println!("open SQLite and read a row of one table: {floor:.3} ms; of the ledger's file: {same:.3} ms");
    println!("open the ledger and load a task: {ours:.3} ms");
}

fn bare(dir: &tempfile::TempDir, mode: &str, sync: &str) -> Connection {
    let conn = Connection::open(dir.path().join(format!("{mode}-{sync}.db"))).expect("it opens");
    conn.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(())).expect("a mode");
    conn.pragma_update(None, "synchronous", sync).expect("a level");
    conn.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB)").expect("a table");
    conn
}

fn read_bare(file: &std::path::Path, sql: &str) -> Option<Vec<u8>> {
    let conn = Connection::open(file).expect("it opens");
    conn.query_row(sql, [], |row| row.get(0)).ok()
}

/// 64 processes, each with one write to one ledger.
fn contend() {
    const PROCESSES: u32 = 64;
    for round in 0..5 {
        let dir = filled(100, 1).expect("it fills");
        let began = Instant::now();
        let children: Vec<_> = (0..PROCESSES)
            .map(|n| {
                let mut command = Command::new(std::env::current_exe().expect("this binary"));
                command.arg("child").arg(dir.path()).arg((200_000 + n).to_string()).stdout(Stdio::piped());
                command.spawn().expect("it starts")
            })
            .collect();
        let said = children.into_iter().map(|child| child.wait_with_output().expect("it ends").stdout);
        let mut waits: Vec<Duration> = Vec::new();
        let mut faults = 0;
        for said in said {
            match String::from_utf8_lossy(&said).trim().parse() {
                Ok(us) => waits.push(Duration::from_micros(us)),
                Err(_) => faults += 1,
            }
        }
        let whole = began.elapsed();
        let last = waits.iter().max().copied().unwrap_or_default();
        let rows = open(&dir, Access::Read).counts(Kind::Task).expect("it counts");
        println!(
            "round {round}: {PROCESSES} processes in {:.0} ms, {faults} faults, median {:.0} ms, slowest {:.0} ms, {rows:?}",
            whole.as_secs_f64() * 1e3,
            median(waits),
            last.as_secs_f64() * 1e3,
        );
    }
}

fn child(dir: &str, n: u32) {
    let began = Instant::now();
    let done = kctl::ports::ledger::Ledgers::open(&ledger_support::sqlite(), dir.as_ref(), Access::Write).and_then(
        |mut ledger| {
            ledger.begin()?;
            ledger.append(&[created(n)])?;
            ledger.commit()
        },
    );
    match done {
        Ok(()) => println!("{}", began.elapsed().as_micros()),
        Err(why) => println!("fault: {why}"),
    }
}

/// The same operations on a ledger of 1,000 events and on one of 1,000,000.
fn million() {
    for (tasks, each) in [(200, 5), (200_000, 5)] {
        let began = Instant::now();
        let dir = filled(tasks, each).expect("it fills");
        println!("{} events, filled in {:.0} s", tasks * each, began.elapsed().as_secs_f64());
        let mut ledger = open(&dir, Access::Write);
        let many = |act: &mut dyn FnMut(u32)| median((0..TIMES as u32).map(|n| timed(|| act(n))).collect());
        let open_it = many(&mut |_| drop(open(&dir, Access::Read)));
        let load = many(&mut |n| drop(ledger.load(Kind::Task, task(n * 997 % tasks).as_str()).expect("it loads")));
        let ready = many(&mut |_| drop(ledger.ready(None, 50).expect("it reads")));
        let list = Query { statuses: vec!["open", "claimed"], limit: 50, ..Query::all(Kind::Task) };
        let list = many(&mut |_| drop(ledger.query(&list).expect("it reads")));
        let counts = many(&mut |_| drop(ledger.counts(Kind::Task).expect("it reads")));
        let history = many(&mut |n| {
            let stream = format!("task:{}", task(n * 997 % tasks));
            drop(ledger.events(Some(&stream), 0, 50).expect("it reads"));
        });
        let append = many(&mut |n| {
            ledger.begin().expect("the lock is free");
            ledger.append(&[created(1_000_000 + n)]).expect("it appends");
            ledger.commit().expect("it commits");
        });
        println!(
            "  open {open_it:.3} load {load:.3} ready {ready:.3} list {list:.3} counts {counts:.3} history {history:.3} append {append:.2} ms"
        );
        let began = Instant::now();
        let problems =
            kctl::ports::ledger::Ledgers::verify(&ledger_support::sqlite(), dir.path()).expect("it reads").problems;
        println!("  verify {:.1} s, {} problems", began.elapsed().as_secs_f64(), problems.len());
    }
}
