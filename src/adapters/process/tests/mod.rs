//! Real processes, each of which does what a run must survive.

mod ending;
mod kctl_killed;
mod leftovers;
mod output;
mod shells;

use std::ffi::OsString;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use super::Supervisor;
use crate::domain::secret::Redaction;
use crate::domain::stamp::Length;
use crate::ports::runner::{Invocation, Outcome, Program, Runner as _};

/// Runs of other tests, or none: an orphan that nothing ascribes to a run is ended only when no other run is on.
static RUNS: RwLock<()> = RwLock::new(());

fn beside_others() -> RwLockReadGuard<'static, ()> {
    RUNS.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn alone() -> RwLockWriteGuard<'static, ()> {
    RUNS.write().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Takes out known values within one piece. The rules' own redaction is tested where it is.
struct KnownOnly(Vec<String>, u32);

impl Redaction for KnownOnly {
    fn push(&mut self, piece: &str, out: &mut String) {
        let mut text = piece.to_owned();
        for value in &self.0 {
            self.1 += u32::try_from(text.matches(value.as_str()).count()).expect("few");
            text = text.replace(value, "[redacted:known]");
        }
        out.push_str(&text);
    }

    fn finish(&mut self, _: &mut String) {}

    fn count(&self) -> u32 {
        self.1
    }
}

fn known_only(known: &[String]) -> Box<dyn Redaction> {
    Box::new(KnownOnly(known.to_vec(), 0))
}

fn supervisor() -> Supervisor {
    Supervisor::new(known_only)
}

fn supervisor_with(pairs: &[(&str, &str)]) -> Supervisor {
    let planted = pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Supervisor::with_environment(std::env::vars_os().chain(planted).collect(), known_only)
}

fn shell(text: &str) -> Invocation {
    let limits = Length::seconds(20);
    Invocation {
        grace: Length::seconds(1),
        ..Invocation::new(Program::Shell(text.to_owned()), std::env::temp_dir(), limits)
    }
}

fn argv(words: &[&str]) -> Invocation {
    Invocation { program: Program::Argv(words.iter().map(|word| (*word).to_owned()).collect()), ..shell("") }
}

fn run(text: &str) -> Outcome {
    supervisor().run(&shell(text), &mut |_| ())
}

/// A number that a process can be told by: nobody else sleeps for so long.
fn unlikely_seconds() -> String {
    let mut random = [0; 4];
    getrandom::fill(&mut random).expect("randomness");
    format!("{}", 1_000_000 + u32::from_ne_bytes(random) % 100_000_000)
}

/// The processes that have `word` in their command line and are alive.
fn alive(word: &str) -> usize {
    let has_word = |pid: i32| super::kin::command_line(pid).split(' ').any(|found| found == word);
    super::kin::all().iter().filter(|process| !process.is_dead && has_word(process.pid)).count()
}

/// Waits for what will be so soon, and says whether it came to be.
fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}
