//! A mixed workload that is killed at random moments.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::rig::{Ran, Rig};

/// A call is killed after at most this long.
const MAX_DELAY_US: u64 = 30_000;
/// After so many cycles everything is brought in order and looked at.
const BETWEEN_REPAIRS: usize = 20;
/// Tasks that are worked on at one time.
const MAX_TASKS: usize = 8;
/// What no crash may lead to, however early or late it came.
const ILLEGAL: [&str; 7] = [
    "INTERNAL",
    "STORAGE_FAILED",
    "LEDGER_MISSING",
    "LEDGER_CORRUPT",
    "LEDGER_BUSY",
    "LEDGER_NOT_WRITABLE",
    "NOT_INITIALISED",
];

/// The same numbers for the same seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let sides = u64::try_from(from.len()).expect("small");
        &from[usize::try_from(self.roll(sides)).expect("small")]
    }
}

/// `KCTL_CRASH_SEED`, so that a run can be seen again, or the time.
pub fn seed() -> u64 {
    let named = std::env::var("KCTL_CRASH_SEED").ok().and_then(|text| text.parse().ok());
    named.unwrap_or_else(|| jiff::Timestamp::now().as_nanosecond().unsigned_abs() as u64)
}

/// `KCTL_CRASH_EVERY`: one in so many places is visited, where there is no time for all of them.
pub fn every() -> u64 {
    let named = std::env::var("KCTL_CRASH_EVERY").ok().and_then(|text| text.parse().ok());
    named.filter(|every| (1..=100).contains(every)).unwrap_or(1)
}

/// `KCTL_CRASH_KILLS`, for a longer run or a narrower look, or `usual`.
pub fn kills(usual: usize) -> usize {
    std::env::var("KCTL_CRASH_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

pub fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// What came of the cycles.
#[derive(Default)]
struct Told {
    killed: usize,
    with_git: usize,
    answered: usize,
    refused: usize,
    locks: usize,
}

/// Calls, kills and looks until `kills` calls were killed before they answered; says what happened.
pub fn rage(kills: usize, seed: u64) -> String {
    tell(&format!("seed {seed}"));
    let rig = Rig::new();
    let (mut dice, mut told, mut tasks) = (Dice(seed), Told::default(), Vec::new());
    let mut cycle = 0;
    while told.killed < kills {
        cycle += 1;
        let when = format!("seed {seed}, cycle {cycle}");
        let (op, params) = choose(&rig, &mut dice, &mut tasks);
        one(&rig, &mut dice, &mut told, (op, &params), &when);
        let verified = rig.run("ledger.verify", &json!({})).json();
        assert_eq!(verified["result"]["data"]["sound"], true, "{when}, `{op}`: {verified}");
        if cycle % BETWEEN_REPAIRS == 0 || told.killed == kills {
            let refused = repair(&rig, &mut told, &when);
            let when = format!("{when}, mended but for {refused:?}");
            rig.assert_sound(&when);
            rig.assert_tidy(&when);
            rig.assert_published(&when);
        }
    }
    let events = rig.acknowledged.borrow().len();
    format!(
        "{cycle} calls at random, {} killed ({} with the git they ran), {} answered first and {} of them refused; \
         {} lock files left by a killed git; {events} events acknowledged, none lost; seed {seed}",
        told.killed, told.with_git, told.answered, told.refused, told.locks
    )
}

/// One call, and its end at a random moment.
fn one(rig: &Rig, dice: &mut Dice, told: &mut Told, (op, params): (&str, &Value), when: &str) {
    let mut command = rig.prepared(op, params);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    thread::sleep(Duration::from_micros(dice.roll(MAX_DELAY_US)));
    let with_git = dice.roll(2) == 0;
    let ended = child.try_wait().expect("it can be asked").is_some();
    if !ended {
        kill(&child, with_git);
    }
    let status = child.wait().expect("it ended");
    let mut stdout = Vec::new();
    child.stdout.take().expect("it is piped").read_to_end(&mut stdout).expect("read");
    let output = std::process::Output { status, stdout, stderr: Vec::new() };
    let ran = Ran::of(&output);
    rig.remember(&ran);
    match serde_json::from_str::<Value>(&ran.stdout) {
        Ok(answer) => {
            told.answered += 1;
            told.refused += usize::from(legal(&answer, told_lock(rig, told, &answer), &format!("{when}, `{op}`")));
        }
        // Half an answer is none: nothing was acknowledged.
        Err(_) => {
            assert_eq!(ran.signal, Some(9), "{when}, `{op}`: {ran:?}");
            told.killed += 1;
            told.with_git += usize::from(with_git);
        }
    }
}

/// Whether `answer` is a refusal, which must be one that a crash can account for.
fn legal(answer: &Value, by_lock: bool, when: &str) -> bool {
    let Some(code) = answer["error"]["data"]["code"].as_str() else { return false };
    assert!(by_lock || !ILLEGAL.contains(&code), "{when}: {answer}");
    true
}

/// Removes the locks that a killed git left, as the person would whom the answer tells of them.
fn told_lock(rig: &Rig, told: &mut Told, answer: &Value) -> bool {
    let locks = rig.stale_locks();
    if answer.get("error").is_none() || locks.is_empty() {
        return false;
    }
    told.locks += locks.len();
    locks.iter().for_each(|lock| std::fs::remove_file(lock).unwrap_or_default());
    true
}

/// Kills kctl, and every process below it if `all`.
fn kill(child: &Child, all: bool) {
    let main = Pid::from_child(child);
    if all {
        // Stopped, it can start nothing more while we look.
        let _ = kill_process(main, Signal::STOP);
        for pid in below(main) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    let _ = kill_process(main, Signal::KILL);
}

fn below(main: Pid) -> Vec<Pid> {
    let processes: Vec<(i32, i32)> = std::fs::read_dir("/proc").into_iter().flatten().filter_map(parent).collect();
    let mut found = vec![main.as_raw_pid()];
    let mut at = 0;
    while let Some(pid) = found.get(at).copied() {
        found.extend(processes.iter().filter(|(_, parent)| *parent == pid).map(|(child, _)| *child));
        at += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

/// A process and its parent.
fn parent(entry: std::io::Result<std::fs::DirEntry>) -> Option<(i32, i32)> {
    let path = entry.ok()?.path();
    let pid = path.file_name()?.to_str()?.parse().ok()?;
    let stat = std::fs::read_to_string(path.join("stat")).ok()?;
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    Some((pid, parent))
}

/// What is done next: to some task whose state nobody knows after a crash, or something new.
fn choose(rig: &Rig, dice: &mut Dice, tasks: &mut Vec<String>) -> (&'static str, Value) {
    if tasks.len() < MAX_TASKS || dice.roll(12) == 0 {
        if tasks.len() >= MAX_TASKS {
            tasks.remove(0);
        }
        // Made without a kill, so that there is something to work on.
        let task = rig.task(json!({ "title": "work", "criteria": ["check:test"] }));
        rig.run("task.claim", &json!({ "task": task }));
        tasks.push(task);
    }
    let task = dice.pick(tasks).clone();
    let on = |op| (op, json!({ "task": task }));
    match dice.roll(24) {
        0..=4 => on("workspace.ensure"),
        5..=7 => {
            work_in(rig, &task, dice);
            (("validate"), json!({ "task": task, "scope": "branch" }))
        }
        8 => on("task.finish"),
        9..=11 => {
            // As far as it goes: what is published is finished and verified.
            for op in ["task.claim", "workspace.ensure", "validate", "task.finish"] {
                rig.run(op, &json!({ "task": task }));
            }
            on("publish")
        }
        12 | 13 => on("workspace.remove"),
        14 => on("task.claim"),
        15 => on("task.renew"),
        16 => ("task.yield", json!({ "task": task, "note": "half done" })),
        17 => ("task.update", json!({ "task": task, "priority": dice.roll(5) })),
        18 => ("commit.open", json!({ "objective": "it works", "criteria": ["check:test"] })),
        19 => ("task.decompose", json!({ "task": task, "parts": [{ "title": "a part" }] })),
        20 => ("ledger.rebuild", json!({})),
        21 => ("ledger.backup", json!({ "to": rig.top.join(format!("backup-{}.db", dice.roll(1 << 40))) })),
        22 => ("session.acquire", json!({ "agent": "bob" })),
        _ => ("init", json!({})),
    }
}

/// The directory of the task's workspace, if it has one that is whole.
fn workspace_of(rig: &Rig, task: &str) -> Option<PathBuf> {
    let status = rig.run("workspace.status", &json!({ "task": task })).json();
    let data = &status["result"]["data"];
    let whole = data["exists"] == true && data["head"].is_string();
    whole.then(|| data["path"].as_str().map(PathBuf::from)).flatten()
}

fn work_in(rig: &Rig, task: &str, dice: &mut Dice) {
    let Some(path) = workspace_of(rig, task) else { return };
    let _ = std::fs::write(path.join("b.txt"), format!("{}\n", dice.roll(1 << 40)));
    for args in [&["add", "-A"][..], &["commit", "-q", "-m", "work"]] {
        let _ = rig.program("git").args(args).current_dir(&path).output();
    }
}

/// Asks again for whatever was left half made: each call mends what is its own. Says what was refused.
fn repair(rig: &Rig, told: &mut Told, when: &str) -> Vec<String> {
    let mut refused = Vec::new();
    let items = rig.ok("workspace.list", json!({ "limit": 499 }))["items"].clone();
    for item in items.as_array().into_iter().flatten() {
        let params = json!({ "task": item["task"] });
        let ops: &[&str] = match item["task_status"].as_str() {
            Some("finished" | "cancelled") => &["workspace.remove"],
            _ => &["task.claim", "workspace.ensure"],
        };
        for op in ops {
            refused.extend(mend(rig, told, op, &params, when));
        }
    }
    let publications = rig.ok("publication.list", json!({ "limit": 499 }))["items"].clone();
    let begun = publications.as_array().into_iter().flatten().filter(|item| item["status"] == "started");
    for item in begun {
        refused.extend(mend(rig, told, "publish", &json!({ "task": item["task"] }), when));
    }
    refused
}

fn mend(rig: &Rig, told: &mut Told, op: &str, params: &Value, when: &str) -> Option<String> {
    let mut answer = rig.run(op, params).json();
    if told_lock(rig, told, &answer) {
        answer = rig.run(op, params).json();
    }
    legal(&answer, false, &format!("{when}, mending by `{op}`"));
    answer["error"]["message"].as_str().map(|why| format!("{op}: {why}"))
}
