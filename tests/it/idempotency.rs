//! Idempotency keys: the same request again gives the stored answer, and never the work twice.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::collections::HashSet;
use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, text};

fn keyed(mut params: Value, key: &str) -> Value {
    params["idempotency_key"] = json!(key);
    params
}

#[test]
fn the_same_key_and_parameters_give_the_stored_answer_and_others_are_refused() {
    let place = Place::new();
    let create = |params: Value| place.call("task.create", keyed(params, "k1"));
    let first = create(json!({ "title": "one", "labels": ["a"] })).expect("created");
    assert_eq!(first["receipt"]["replayed"], false);
    let events = place.log().len();
    let again = create(json!({ "labels": ["a"], "title": "one" })).expect("replayed, whatever the order of members");
    let mut expected = first.clone();
    expected["receipt"]["replayed"] = json!(true);
    assert_eq!(again, expected, "the receipt names the first call's events");
    assert_eq!(place.log().len(), events);
    for params in [json!({ "title": "two", "labels": ["a"] }), json!({ "title": "one" })] {
        let refusal = create(params).expect_err("another request");
        assert_eq!(
            (&refusal["code"], &refusal["details"]["field"]),
            (&json!("IDEMPOTENCY_MISMATCH"), &json!("idempotency_key"))
        );
    }
    let other = place.call("commit.open", keyed(json!({ "objective": "one" }), "k1")).expect_err("another operation");
    assert_eq!(other["code"], "IDEMPOTENCY_MISMATCH");
    let words = ["task", "create", "one", "--labels", "a", "--idempotency-key", "k1"];
    assert_eq!(place.data(&words)["id"], first["data"]["id"], "the command line's key is the same");
    let human = place.kctl(&words);
    assert!(human.stderr.contains("replayed"), "{human:?}");
    for key in [String::new(), "x".repeat(201)] {
        let refusal = place.call("task.create", keyed(json!({ "title": "x" }), &key)).expect_err("refused");
        assert_eq!(refusal["code"], "INVALID_VALUE");
    }
}

#[test]
fn what_was_refused_or_only_tried_is_not_stored() {
    let place = Place::new();
    let refused = place.call("task.create", keyed(json!({ "title": "" }), "k")).expect_err("refused");
    assert_eq!(refused["code"], "INVALID_VALUE");
    let tried = place.call("task.create", keyed(json!({ "title": "x", "dry_run": true }), "k")).expect("tried");
    let made = place.call("task.create", keyed(json!({ "title": "x" }), "k")).expect("created");
    assert_eq!(made["receipt"]["replayed"], false);
    assert_ne!(tried["data"]["id"], made["data"]["id"]);
}

#[test]
fn a_key_belongs_to_the_session_that_uses_it() {
    let place = Place::new();
    let task = text(&place.data(&["task", "create", "one"])["id"]);
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let claim = keyed(json!({ "task": task }), "1");
    ada.ok("task.claim", claim.clone());
    bob.no("TASK_HELD", "task.claim", claim.clone());
    assert_eq!(ada.call("task.claim", claim).expect("replayed")["receipt"]["replayed"], true);
}

#[test]
fn of_many_at_once_with_one_key_one_does_the_work_and_all_get_its_answer() {
    let place = Place::new();
    let ada = place.agent("ada");
    let held = ada.claimed(json!({ "title": "held" }));
    ada.workspace(&held);
    // One operation that is one transaction, and one that records in steps of its own.
    for (op, params, key) in
        [("task.create", json!({ "title": "x" }), "a"), ("validate", json!({ "task": held, "rerun": true }), "b")]
    {
        let answers: Vec<Value> = std::thread::scope(|scope| {
            let call = || ada.call(op, keyed(params.clone(), key)).expect("every one is answered");
            let running: Vec<_> = (0..8).map(|_| scope.spawn(call)).collect();
            running.into_iter().map(|one| one.join().expect("it ends")).collect()
        });
        let distinct: HashSet<String> = answers.iter().map(|answer| answer["data"].to_string()).collect();
        assert_eq!(distinct.len(), 1, "{op}: {distinct:#?}");
        let own = answers.iter().filter(|answer| answer["receipt"]["replayed"] == false).count();
        assert_eq!(own, 1, "{op}");
    }
    let board = place.data(&["task", "list"]);
    assert_eq!(board["items"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_token_is_not_kept_with_the_stored_answer() {
    let place = Place::new();
    let acquire = || place.call("session.acquire", keyed(json!({ "agent": "ada" }), "k")).expect("anybody may");
    let (first, again) = (acquire(), acquire());
    let secret = text(&first["data"]["token"]).rsplit('.').next().expect("it has parts").to_owned();
    assert_eq!((&again["data"]["session"], &again["data"]["token"]), (&first["data"]["session"], &Value::Null));
    let ledger = fs::read(place.repo.join(".git/decapod/ledger.db")).expect("read");
    assert!(!String::from_utf8_lossy(&ledger).contains(&secret));
    let session = text(&again["data"]["session"]);
    place.call("session.renew", json!({ "session": session })).expect("this machine keeps the token");
}

#[test]
fn a_secret_in_a_note_does_not_enter_the_ledger() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let secret = "ghp_x7Qm2Kd9Tz4Wb8Lr1Vn6Yc3Hj5Pf0Sg2Ae9U";
    let own = ada.token.rsplit('.').next().expect("it has parts");
    let params = keyed(json!({ "task": task, "reason": format!("tried {secret} and {own}") }), "k");
    let answer = ada.call("task.block", params).expect("blocked");
    assert_eq!(answer["warnings"][0]["code"], "secret_redacted");
    assert_eq!(answer["data"]["block"]["reason"], "tried [redacted:github] and [redacted:known]");
    let ledger = fs::read(place.repo.join(".git/decapod/ledger.db")).expect("read");
    let kept = String::from_utf8_lossy(&ledger).into_owned();
    assert!(!kept.contains(secret) && !kept.contains(own));
}

#[test]
fn a_stored_judgement_says_that_it_is_one_first_and_proposes_to_look_again() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one", "criteria": ["check:test"] }));
    let ask = || ada.call("validate", keyed(json!({ "task": task }), "k")).expect("judged");
    let ops = |answer: &Value| crate::place::proposed(answer);
    assert_eq!(ops(&ask()), ["task.finish"]);
    crate::place::write(&tree.join("broken"), "x\n");
    let again = ask();
    assert_eq!((ops(&again), &again["next"][0]["params"]), (vec!["validate".to_owned()], &json!({ "task": task })));
    let words = ["validate", &task, "--session", &ada.session, "--idempotency-key", "k"];
    let human = place.kctl(&words);
    assert!(human.stdout.starts_with("replayed: "), "{human:?}");
    assert!(!human.stderr.contains("task finish"), "{human:?}");
}
