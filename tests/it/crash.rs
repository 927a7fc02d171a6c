//! Kctl is killed at each of its steps and at random moments, over every operation that writes. Whatever was
//! acknowledged is still there, the ledger verifies, and the same call again goes on from what was left.
//!
//! `cargo test` kills at the steps of the operations that touch more than the ledger. The whole of it, over a thousand
//! kills, is `cargo test --test it crash::a_thousand_kills -- --ignored --nocapture`; with `KCTL_CRASH_EVERY=3` a third.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

mod acts;
mod cut;
mod storm;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::rig::{Ran, Rig, Saved, skipped};
use acts::{Act, Stage};

/// A place where kctl is killed: its name, and which time it is reached.
type Point = (String, u32);

/// Every place that `act` reaches, in order, found by letting it run.
fn points(rig: &Rig, saved: &Saved, act: &Act) -> Vec<Point> {
    rig.restore(saved);
    let trace = rig.top.join("trace");
    let ran = act.run(rig, &[("KCTL_FAILPOINT_TRACE", trace.to_str().expect("UTF-8 here"))]);
    assert!(ran.status == Some(0) && ran.code().is_none(), "`{}` must succeed when nobody kills it: {ran:?}", act.name);
    let text = fs::read_to_string(trace).expect("something was reached");
    let mut seen = std::collections::HashMap::new();
    let point = |name: &str| {
        let nth: &mut u32 = seen.entry(name.to_owned()).or_default();
        *nth += 1;
        (name.to_owned(), *nth)
    };
    text.lines().map(point).collect()
}

/// Kills `act` at `point`, and sees what the next calls make of it.
fn cycle(rig: &Rig, saved: &Saved, act: &Act, (name, nth): &Point) {
    rig.restore(saved);
    let when = format!("`{}` killed at {name}:{nth}", act.name);
    let killed = act.run(rig, &[("KCTL_FAILPOINT", &format!("{name}:{nth}"))]);
    assert!(killed.was_killed(), "{when}: {killed:?}");
    if act.has_ledger {
        rig.assert_sound(&when);
    }
    // A git that was started may still be at work: the call that follows must cope with that too.
    let again = act.run(rig, &[]);
    let code = again.code();
    let legal = code.as_deref().is_none_or(|code| act.legal.contains(&code));
    assert!(legal, "{when}: and then refused: {again:?}");
    if act.leaves_ledger {
        rig.assert_sound(&when);
        rig.assert_tidy(&when);
        rig.assert_published(&when);
    }
    if code.is_none() && act.is_keyed {
        replays(rig, act, &again, &when);
    }
    (act.after)(rig, &when);
}

/// The same key again gives the same answer and records nothing.
fn replays(rig: &Rig, act: &Act, answered: &Ran, when: &str) {
    let before = rig.logged().len();
    let third = act.run(rig, &[]);
    assert_eq!(third.json()["result"]["receipt"]["replayed"], true, "{when}: {third:?}");
    assert_eq!(third.events(), answered.events(), "{when}");
    assert_eq!(rig.logged().len(), before, "{when}");
}

/// Runs every cycle of `acts` whose point is wanted, and says how many there were.
fn walk(stage: &Stage, wanted: impl Fn(&Act, &Point) -> bool) -> usize {
    let (mut count, mut failed) = (0, Vec::new());
    for act in &stage.acts {
        if act.needs_terminal && !acts::has_terminal() {
            skipped(act.name, "`script` is not installed, and only a person at a terminal may do this");
            continue;
        }
        for point in points(&stage.rig, &stage.saved, act).iter().filter(|point| wanted(act, point)) {
            let done = catch_unwind(AssertUnwindSafe(|| cycle(&stage.rig, &stage.saved, act, point)));
            failed.extend(done.is_err().then(|| format!("`{}` at {point:?}", act.name)));
            count += 1;
        }
    }
    assert!(failed.is_empty(), "{} of {count} cycles failed, each told above:\n{}", failed.len(), failed.join("\n"));
    count
}

#[test]
fn given_a_crash_at_a_step_of_an_operation_the_next_call_goes_on() {
    let mut working = acts::working();
    working.acts.retain(|act| ["workspace.ensure", "publish", "task.claim"].contains(&act.name));
    let quick = |act: &Act, (name, nth): &Point| *nth == 1 && (act.name != "task.claim" || name == "ledger.torn");
    let count = walk(&acts::fresh(), quick) + walk(&working, quick);
    assert!(count >= 30, "only {count} places");
}

#[test]
fn given_a_git_that_outlives_its_kctl_the_next_call_waits_for_it() {
    let rig = Rig::new();
    rig.put(".gitattributes", "*.txt filter=slow\n");
    rig.push_all("slow");
    rig.git(&["config", "filter.slow.smudge", "sleep 1.5; cat"]);
    let task = rig.task(json!({ "title": "x" }));
    rig.ok("task.claim", json!({ "task": task }));
    let params = json!({ "task": task });
    let killed = rig.finish(rig.prepared("workspace.ensure", &params).env("KCTL_FAILPOINT", "git.started:1"));
    assert!(killed.was_killed(), "{killed:?}");
    let began = Instant::now();
    let path = rig.ok("workspace.ensure", params)["path"].as_str().map(PathBuf::from).expect("it has one");
    assert!(began.elapsed() > Duration::from_millis(700), "git was still at work: {:?}", began.elapsed());
    assert_eq!(rig.git_in(&path, &["status", "--porcelain"]), "");
    assert_eq!(fs::read_to_string(path.join("a.txt")).expect("there"), "good\n");
    rig.assert_tidy("afterwards");
    rig.assert_sound("afterwards");
}

#[test]
fn given_a_git_killed_at_a_step_of_making_or_removing_a_worktree_the_next_call_goes_on() {
    let count = cut::walk(5);
    assert!(count >= 50, "only {count} places");
}

#[test]
#[ignore = "takes minutes: more than a thousand kills"]
fn a_thousand_kills() {
    let (seed, every) = (storm::seed(), storm::every());
    let at = std::cell::Cell::new(seed % every);
    // Which places a share visits turns with the seed.
    let wanted = |_: &Act, _: &Point| {
        at.set((at.get() + 1) % every);
        at.get() == 0
    };
    // One stage at a time, each to its end.
    let steps = walk(&acts::fresh(), wanted) + walk(&acts::working(), wanted) + walk(&acts::personal(), wanted);
    let steps = steps + cut::walk(usize::try_from(every).expect("small"));
    let told = storm::rage(storm::kills(600 / usize::try_from(every).expect("small")), seed);
    storm::tell(&format!("{steps} kills at named places, one in {every} of them; {told}"));
}

#[test]
fn given_kills_at_random_moments_nothing_acknowledged_is_lost() {
    let told = storm::rage(storm::kills(12), storm::seed());
    storm::tell(&told);
}
