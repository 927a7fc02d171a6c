//! What is counted, and how it is shown.

use kctl::ops::metrics;
use serde_json::{Value, json};

use crate::place::{Place, text};

/// The refusals that the ledger has recorded for a session, as `(op, code)`.
fn refused(place: &Place) -> Vec<(String, String)> {
    let refused = place.log().into_iter().filter(|event| event["type"] == "session.refused");
    refused.map(|event| (text(&event["body"]["op"]), text(&event["body"]["code"]))).collect()
}

#[test]
fn a_refused_write_of_a_session_is_counted_once_and_what_says_nothing_about_it_is_not() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = text(&ada.ok("task.create", json!({ "title": "x", "criteria": ["check:test"] }))["id"]);
    let mut expected: Vec<(String, String)> = Vec::new();
    let mut one_more = |op: &str, code: &str| {
        expected.push((op.to_owned(), code.to_owned()));
        assert_eq!(refused(&place), expected);
    };
    ada.no("CLAIM_REQUIRED", "task.finish", json!({ "task": task }));
    one_more("task.finish", "CLAIM_REQUIRED");
    ada.no("PERSON_REQUIRED", "uninstall", json!({}));
    one_more("uninstall", "PERSON_REQUIRED");
    ada.ok("task.claim", json!({ "task": task }));
    let bob = place.agent("bob");
    // A dry run, a read, what cannot be read or found, who waits for others, and nobody in particular.
    assert!(ada.call("publish", json!({ "task": task, "dry_run": true })).is_err());
    assert!(ada.call("workspace.status", json!({ "task": "t-zzzz" })).is_err());
    ada.no("INVALID_PARAMS", "task.renew", json!({ "task": task, "colour": "red" }));
    bob.no("TASK_HELD", "task.claim", json!({ "task": task }));
    bob.no("NOTHING_READY", "task.next", json!({ "claim": true }));
    assert!(place.call("task.finish", json!({ "task": task })).is_err());
    assert_eq!(refused(&place).len(), 2);
    // What is recorded already is not recorded again.
    ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!(refused(&place).len(), 2);
    let listed = place.data(&["session", "list"]);
    let of = |session: &str| {
        listed["items"].as_array().and_then(|all| all.iter().find(|one| one["session"] == session).cloned())
    };
    assert_eq!(of(&ada.session).expect("it is listed")["refused"], 2);
    assert_eq!(of(&bob.session).expect("it is listed")["refused"], 0);
    let shown = place.data(&["metrics"]);
    let rows = shown["refusals"].as_array().expect("a list").len();
    assert_eq!((&shown["totals"]["actions_refused"], rows), (&json!(3), 3), "{shown:#}");
}

#[test]
fn a_refusal_asked_again_under_its_key_is_the_same_and_is_not_counted_again() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = text(&ada.ok("task.create", json!({ "title": "x" }))["id"]);
    let ask = |key: &str| ada.no("CLAIM_REQUIRED", "task.finish", json!({ "task": task, "idempotency_key": key }));
    assert_eq!(ask("1"), ask("1"));
    assert_eq!(refused(&place).len(), 1);
    ask("2");
    assert_eq!(refused(&place).len(), 2);
}

#[test]
fn a_refusal_is_the_same_where_the_ledger_does_not_take_the_count() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = text(&ada.ok("task.create", json!({ "title": "x" }))["id"]);
    let counted = ada.no("CLAIM_REQUIRED", "task.finish", json!({ "task": task }));
    let params = json!({ "task": task, "session": ada.session }).to_string();
    // No file may grow: not the ledger, and not its journal.
    let typed = format!("ulimit -f 0; exec '{}' rpc --op task.finish --params '{params}'", env!("CARGO_BIN_EXE_kctl"));
    let ran = place.run(&place.repo, "bash", &["-c", &typed], None);
    let uncounted = ran.json()["error"].clone();
    assert_eq!(
        (&uncounted["data"]["code"], &uncounted["data"]["details"]),
        (&counted["code"], &counted["details"]),
        "{ran:?}"
    );
    assert_eq!(refused(&place).len(), 1, "and a broken count leaves nothing");
}

#[test]
fn metrics_count_a_story_by_agent_gate_and_check() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "x", "criteria": ["check:test"] }));
    std::fs::write(tree.join("broken"), "x").expect("written");
    ada.ok("validate", json!({ "task": task }));
    ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task, "summary": "it is done" }));
    std::fs::remove_file(tree.join("broken")).expect("removed");
    ada.ok("validate", json!({ "task": task }));
    for (call, exit) in [("1", json!(0)), ("2", json!(7)), ("3", json!(null))] {
        let report = json!({ "call": call, "tool": "process", "arguments": { "command": format!("./it {call}") }, "exit": exit });
        ada.call_in(&tree, "action.observe", report).expect("it is recorded");
    }
    ada.ok("task.finish", json!({ "task": task }));
    ada.ok("publish", json!({ "task": task }));
    let shown = place.data(&["metrics"]);
    let totals = &shown["totals"];
    for (name, count) in [
        ("tools_observed", 3),
        ("tools_failed", 1),
        ("verifications_failed", 1),
        ("criteria_failed", 1),
        ("finalizations_rejected", 1),
        ("false_successes", 1),
        ("tasks_completed", 1),
        ("publications_done", 1),
        ("publications_failed", 0),
    ] {
        assert_eq!(totals[name], count, "{name}: {shown:#}");
    }
    let check = shown["checks"].as_array().and_then(|all| all.iter().find(|one| one["check"] == "test")).cloned();
    let check = check.expect("the check ran");
    assert_eq!(check["fail"], 1, "{check:#}");
    assert!(check["median_s"].as_f64().is_some_and(|s| s >= 0.0) && check["p90_s"].is_f64(), "{check:#}");
    let agents = shown["agents"].as_array().expect("a list").clone();
    assert!(
        agents.iter().any(|row| row["agent"] == "ada" && row["completed"] == 1 && row["tools"] == 3),
        "{agents:#?}"
    );
    let gates = shown["gates"].as_array().expect("a list").clone();
    let finish = gates.iter().find(|row| row["gate"] == "task.finish").expect("it was asked");
    assert_eq!((&finish["accepted"], &finish["rejected"]), (&json!(1), &json!(1)));
    let human = place.kctl(&["metrics"]).ok().stdout.clone();
    assert!(human.contains("false_successes") && human.contains("task.finish"), "{human}");
    let scraped = place.kctl(&["metrics", "--prometheus"]).ok().stdout.clone();
    assert!(scraped.starts_with("# HELP kctl_events_total "), "{scraped}");
    assert!(
        scraped.contains(
            "kctl_finalizations_total{host=\"(unknown)\",agent=\"ada\",gate=\"task.finish\",answer=\"rejected\"} 1\n"
        ),
        "{scraped}"
    );
}

#[test]
fn a_window_that_cannot_be_meant_is_refused_and_an_empty_one_is_an_answer() {
    let place = Place::new();
    for since in ["yesterday", "", "-3d", "2026-13-01T00:00:00Z", "9999-01-01T00:00:00Z"] {
        let refusal = place.refusal(&["metrics", &format!("--since={since}")]);
        assert_eq!(
            (&refusal["code"], &refusal["details"]["field"]),
            (&json!("INVALID_VALUE"), &json!("since")),
            "{since}"
        );
    }
    place.later(86_400);
    let shown = place.data(&["metrics", "--since", "1h"]);
    assert_eq!(
        (&shown["events"], &shown["agents"], &shown["totals"]["verifications"]),
        (&json!(0), &json!([]), &json!(0))
    );
    assert!(
        place.data(&["metrics", "--since", "2h"])["events"] == 0
            && place.data(&["metrics"])["events"].as_u64() > Some(0)
    );
    assert!(place.kctl(&["metrics", "--help"]).ok().stdout.contains("--prometheus"));
    let odd = place.kctl(&["metrics", "of", "last", "week"]);
    assert_eq!(odd.status, 2, "{odd:?}");
}

#[test]
fn events_that_a_clock_set_back_has_dated_before_the_window_do_not_hide_those_before_them() {
    let place = Place::new();
    let made = |count: usize| (0..count).for_each(|n| drop(place.data(&["task", "create", &format!("{n}")])));
    place.later(0);
    made(3);
    place.later(-30 * 86_400);
    made(4);
    place.later(1);
    made(2);
    let shown = place.data(&["metrics", "--since", "1d"]);
    let created = |shown: &Value| {
        shown["agents"].as_array().expect("a list").iter().filter_map(|row| row["events"].as_u64()).sum::<u64>()
    };
    let before = place.log().iter().filter(|event| event["type"] == "task.created").count();
    assert_eq!(before, 9);
    let all = place.log().len() as u64;
    assert_eq!(created(&shown), all - 4, "{shown:#}");
}

#[test]
fn the_start_of_a_window_is_found_and_no_more_than_is_allowed_is_read() {
    use kctl::domain::stamp::Stamp;
    use kctl::ports::ledger::{Access, Ledgers as _};
    let place = Place::new();
    place.later(-1000);
    (0..5).for_each(|n| drop(place.data(&["task", "create", &format!("{n}")])));
    let ledgers = kctl::adapters::sqlite::SqliteLedgers::new(|| panic!("it is there"));
    let ledger = ledgers.open(&place.repo.join(".git"), Access::Read).expect("it opens");
    let last = place.log().len() as u64;
    let window =
        |since: i64, most: u64| metrics::window(ledger.as_ref(), Stamp::from_ms(since), most).expect("it reads");
    let whole = window(0, 100);
    assert_eq!((whole.after, whole.last, whole.cut), (0, last, false));
    let cut = window(0, 3);
    assert_eq!((cut.after, cut.last, cut.cut), (last - 3, last, true));
    let none = window(i64::MAX, 100);
    assert_eq!((none.after, none.last, none.cut), (last, last, false));
}
