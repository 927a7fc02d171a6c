//! Checks side by side: what can run at once does, within the profile's bound, and a verdict still speaks only for the
//! inputs that it saw.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, text, write};

/// A check that passes only while the other one runs as well: each leaves a mark and waits for the other's.
fn meeting(own: &str, other: &str) -> String {
    format!(
        "[checks.{own}]\nrun = \"touch ../{own}.on; for n in {{1..60}}; do test -e ../{other}.on && exit 0; sleep 0.05; \
         done; exit 1\"\n"
    )
}

fn profile(parallel: u32, checks: &str) -> String {
    format!("version = 1\n[limits]\nparallel = {parallel}\n[sandbox]\nwritable = [\"..\"]\n{checks}")
}

fn verdicts(shown: &Value) -> Vec<(String, String)> {
    let results = shown["results"].as_array().expect("a list");
    results.iter().map(|one| (text(&one["check"]), text(&one["verdict"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(check, verdict)| ((*check).to_owned(), (*verdict).to_owned())).collect()
}

#[test]
fn checks_that_need_nothing_of_each_other_run_at_once_within_the_bound() {
    let checks = meeting("a", "b") + &meeting("b", "a");
    let place = Place::with_profile(&profile(2, &checks));
    let shown = place.data(&["validate"]);
    assert_eq!(verdicts(&shown), pairs(&[("a", "pass"), ("b", "pass")]), "{shown:#}");
    assert!(shown["parallel_bound"].is_null(), "nothing had to wait: {shown:#}");
    let place = Place::with_profile(&profile(1, &checks));
    let shown = place.call("validate", json!({})).expect("it answers")["data"].clone();
    assert_eq!(verdicts(&shown), pairs(&[("a", "fail"), ("b", "pass")]), "one after the other: {shown:#}");
    assert_eq!(shown["parallel_bound"], 1, "a bound that bites is named");
}

#[test]
fn a_check_starts_when_all_it_needs_passed_and_not_before() {
    let checks = "[checks.left]\nrun = \"sleep 0.3; echo left | tee -a ../ran\"\n\
                  [checks.right]\nrun = \"echo right | tee -a ../ran\"\n\
                  [checks.top]\nrun = \"echo top | tee -a ../ran\"\nneeds = [\"left\", \"right\"]\n\
                  [checks.broken]\nrun = \"exit 3\"\n\
                  [checks.after]\nrun = \"echo after | tee -a ../ran\"\nneeds = [\"broken\", \"left\"]\n\
                  [checks.last]\nrun = \"echo last | tee -a ../ran\"\nneeds = [\"after\"]\n";
    let place = Place::with_profile(&profile(3, checks));
    let shown = place.call("validate", json!({})).expect("it answers")["data"].clone();
    let expected = [
        ("broken", "fail"),
        ("left", "pass"),
        ("after", "skipped"),
        ("last", "skipped"),
        ("right", "pass"),
        ("top", "pass"),
    ];
    assert_eq!(verdicts(&shown), pairs(&expected), "{shown:#}");
    let ran = fs::read_to_string(place.top().join("ran")).expect("they ran");
    assert_eq!(ran, "right\nleft\ntop\n");
}

#[test]
fn a_check_that_moves_the_inputs_of_one_beside_it_leaves_neither_with_a_verdict() {
    let checks = "[checks.reader]\nrun = \"touch ../reading; while ! test -e ../moved; do sleep 0.05; done\"\n\
                  inputs = [\"src/**\"]\ntimeout = \"20s\"\n\
                  [checks.writer]\nrun = \"while ! test -e ../reading; do sleep 0.05; done; echo x > src/new; touch ../moved; test -e src/new\"\n\
                  inputs = [\"docs/**\"]\ntimeout = \"20s\"\n";
    let place = Place::with_profile(&profile(2, checks));
    write(&place.repo.join("src/lib.txt"), "one\n");
    write(&place.repo.join("docs/index.md"), "one\n");
    let shown = place.call("validate", json!({})).expect("it answers")["data"].clone();
    assert_eq!(verdicts(&shown), pairs(&[("reader", "error"), ("writer", "error")]), "{shown:#}");
    for one in shown["results"].as_array().expect("a list") {
        let reasons = one["reasons"].to_string();
        assert!(reasons.contains("inputs of `reader` changed"), "{reasons}");
    }
}

#[test]
fn told_to_stop_kctl_takes_all_runs_down_and_records_each() {
    let checks = "[checks.a]\nrun = \"touch ../a.on; sleep 60\"\n[checks.b]\nrun = \"touch ../b.on; sleep 60\"\n\
                  [checks.c]\nrun = \"touch ../c.on\"\n";
    let place = Place::with_profile(&profile(2, checks));
    let mut kctl = place.command(&place.repo, env!("CARGO_BIN_EXE_kctl"), &["validate"]).spawn().expect("it starts");
    let is_on = |name: &str| place.top().join(name).exists();
    while !is_on("a.on") || !is_on("b.on") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_child(&kctl);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is ours");
    assert_eq!(kctl.wait().expect("it is ours").code(), Some(143));
    assert!(!is_on("c.on"), "nothing new is begun");
    let listed = place.call("evidence.list", json!({})).expect("it is read")["data"]["items"].clone();
    let verdicts: Vec<_> = listed.as_array().expect("a list").iter().map(|item| text(&item["verdict"])).collect();
    assert_eq!(verdicts, ["error"; 3], "{listed:#}");
}
