//! A second process: this binary, run again with what to do in its environment.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use kctl::domain::fold::Kind;
use kctl::ports::ledger::{Access, Ledgers, Query};

use super::support::*;

const WHAT: &str = "KCTL_IT_CHILD";
const WHERE: &str = "KCTL_IT_DIR";

/// A child that will do `what` in `dir`.
pub fn child(what: &str, dir: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["ledger::child::acts", "--exact", "--ignored", "--nocapture"]);
    command.env(WHAT, what).env(WHERE, dir);
    Ok(command)
}

/// What the child said on its line that begins with `answer:`.
pub fn answer(output: &Output) -> Result<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.split_once("answer:"));
    let (_, said) = line.with_context(|| format!("{text}\n{}", String::from_utf8_lossy(&output.stderr)))?;
    Ok(said.trim().to_owned())
}

/// Not a test: what a child does.
#[test]
#[ignore = "only run by other tests, as a process of its own"]
#[expect(clippy::print_stdout, reason = "its parent reads it")]
fn acts() -> Result<()> {
    let what = std::env::var(WHAT)?;
    let dir = std::path::PathBuf::from(std::env::var(WHERE)?);
    let mut words = what.split(' ');
    let said = match words.next() {
        Some("claim") => claim(&dir, words.next().context("who")?.parse()?),
        Some("append") => {
            append(&dir, words.next().context("who")?.parse()?, words.next().context("how many")?.parse()?)
        }
        Some("create") => {
            sqlite().open(&dir, Access::Create).map(|ledger| ledger.origin().to_string()).map_err(Into::into)
        }
        Some("read") => read(&dir),
        Some("fill") => fill(&dir),
        other => bail!("a child does not know how to {other:?}"),
    };
    println!("\nanswer: {}", said.unwrap_or_else(|why| format!("{why:#}")));
    Ok(())
}

/// One claim of task 1, decided under the lock.
fn claim(dir: &Path, by: u32) -> Result<String> {
    let mut ledger = sqlite().open(dir, Access::Write)?;
    ledger.begin()?;
    let row = ledger.load(Kind::Task, task(1).as_str())?.context("the task is there")?;
    let task: kctl::domain::task::Task = serde_json::from_slice(&row.body)?;
    if task.claim.is_some() {
        return Ok("held".to_owned());
    }
    ledger.append(&[claimed(1, row.ver, by, task.fence + 1, NOON + 60_000)])?;
    ledger.commit()?;
    Ok("won".to_owned())
}

fn append(dir: &Path, by: u32, many: u32) -> Result<String> {
    for n in 0..many {
        let mut ledger = sqlite().open(dir, Access::Create)?;
        ledger.begin()?;
        let n = by * 1_000 + n;
        ledger.append(&[created(n, &[])])?;
        ledger.commit()?;
    }
    Ok("done".to_owned())
}

fn read(dir: &Path) -> Result<String> {
    let ledger = sqlite().open(dir, Access::Read)?;
    let rows = ledger.query(&Query::all(Kind::Task))?.len();
    let events = ledger.events(None, 0, 500)?.len();
    Ok(format!("{rows} tasks, {events} events"))
}

/// Appends until it cannot, and says at which event of how many that it had recorded, and why.
fn fill(dir: &Path) -> Result<String> {
    let mut done = 0;
    for n in 1_000..10_000 {
        let mut ledger = sqlite().open(dir, Access::Write)?;
        let big = draft::<kctl::domain::task::Task>(&task(n), 0, NOON, new_task(&"x".repeat(20_000), 2, &[], &[]));
        let recorded = ledger.begin().and_then(|()| ledger.append(&[big])).and_then(|_| ledger.commit());
        match recorded {
            Ok(()) => done += 1,
            Err(why) => {
                let after =
                    ledger.begin().and_then(|()| ledger.append(&[created(9, &[])])).and_then(|_| ledger.commit());
                return Ok(format!("{done}|{why}|{}", after.is_ok()));
            }
        }
    }
    bail!("the disk never filled")
}
