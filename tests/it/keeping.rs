//! Keeping the ledger: its log, its proof, its copies, and the way back from a lost one.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;

use serde_json::json;

use crate::place::{Place, proposed, text};

#[test]
fn the_log_pages_narrows_and_is_what_an_export_gives_out() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let log = place.log();
    let stream = format!("task:{task}");
    let narrowed = place.call("ledger.log", json!({ "stream": stream })).expect("read");
    let own: Vec<_> = log.iter().filter(|event| event["stream"] == json!(stream)).cloned().collect();
    assert_eq!(narrowed["data"]["items"], json!(own));
    assert_eq!(own[0]["agent"], "ada");
    let exported = place.data(&["ledger", "export"])["events"].as_array().expect("a list").clone();
    let ids = |events: &[serde_json::Value]| events.iter().map(|event| text(&event["id"])).collect::<Vec<_>>();
    assert_eq!(ids(&exported), ids(&log));
    for pair in exported.windows(2) {
        assert_eq!(pair[1]["prev"], pair[0]["seal"], "each names the seal before it");
    }
    let page = place.call("ledger.log", json!({ "after": 0, "limit": 1 })).expect("read");
    assert!(text(&page["truncated"][0]["how"]).contains("after"), "{page:#}");
}

#[test]
fn the_log_shows_the_newest_events_and_pages_back_to_the_first() {
    let place = Place::new();
    let ada = place.agent("ada");
    ada.claimed(json!({ "title": "one" }));
    let log = place.log();
    assert!(log.len() > 4, "{log:#?}");
    let mut found: Vec<serde_json::Value> = Vec::new();
    let mut params = json!({ "limit": 2 });
    loop {
        let page = place.call("ledger.log", params).expect("read");
        let items = page["data"]["items"].as_array().expect("a list").clone();
        found.splice(0..0, items);
        let first = found[0]["seq"].clone();
        let Some(cut) = page["truncated"].get(0) else { break };
        assert!(text(&cut["how"]).contains(&format!("`before`: `{first}`")), "{cut:#}");
        params = json!({ "limit": 2, "before": first });
    }
    assert_eq!(found, log);
    let newest = place.data(&["ledger", "log", "--limit", "1"]);
    assert_eq!(newest["items"], json!([log.last().expect("some")]));
    let both = place.call("ledger.log", json!({ "after": 1, "before": 9 })).expect_err("one of them");
    assert_eq!((&both["code"], &both["details"]["field"]), (&json!("INVALID_VALUE"), &json!("before")), "{both:#}");
}

#[test]
fn a_lost_ledger_is_missed_and_comes_back_from_a_backup() {
    let place = Place::new();
    let task = text(&place.data(&["task", "create", "kept"])["id"]);
    let backup = place.data(&["ledger", "backup", "../monday.db"]);
    assert_eq!(backup["to"], json!(place.repo.join("../monday.db")));
    let again = place.refusal(&["ledger", "backup", "../monday.db"]);
    assert_eq!(again["details"]["field"], "to", "a backup never overwrites: {again:#}");
    place.data(&["task", "create", "after the backup"]);
    fs::remove_file(place.repo.join(".git/decapod/ledger.db")).expect("removed");
    let missing = place.call("task.list", json!({})).expect_err("missing is never empty");
    assert_eq!((&missing["code"], proposed(&missing)), (&json!("LEDGER_MISSING"), vec!["ledger.recover".to_owned()]));
    assert_eq!(missing["next"][0]["params"], json!({ "dry_run": true }));
    for op in ["task.create", "init"] {
        let params = if op == "init" { json!({}) } else { json!({ "title": "x" }) };
        let refusal = place.call(op, params).expect_err("nothing is begun beside a lost ledger");
        assert_eq!(refusal["code"], "LEDGER_MISSING", "{op}: {refusal:#}");
    }
    assert_eq!(place.kctl(&["doctor"]).status, 8);
    let nothing = place.call("ledger.recover", json!({})).expect_err("there is nothing to salvage");
    assert_eq!((&nothing["category"], &nothing["next"]), (&json!("storage"), &missing["next"]));
    let known = place.call("ledger.recover", missing["next"][0]["params"].clone()).expect("anybody may look");
    assert_eq!(known["data"]["sources"].as_array().map(Vec::len), Some(1), "{known:#}");
    let next = known["next"][0].clone();
    assert_eq!(next["op"], "ledger.recover", "what is proposed can be sent, and restores it: {known:#}");
    place.call("ledger.recover", next["params"].clone()).expect("restored");
    // What was recorded last is not known, so that it goes on under a new name that has recorded nothing yet.
    let copy = place.data(&["ledger", "backup", "../tuesday.db"]);
    assert!(copy["head"]["oseq"].as_u64().is_some_and(|oseq| oseq > 0), "{copy:#}");
    assert_eq!(place.data(&["ledger", "backup", "../never.db", "--dry-run"])["head"], copy["head"]);
    let board = place.data(&["task", "list"]);
    assert_eq!((board["items"].as_array().map(Vec::len), &board["items"][0]["id"]), (Some(1), &json!(task)));
    assert_eq!(place.data(&["ledger", "verify"])["sound"], true);
}

#[test]
fn a_rebuild_proves_that_state_is_the_fold_of_the_events() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, _) = ada.worked(json!({ "title": "one" }));
    ada.ok("publish", json!({ "task": task }));
    let before = place.data(&["task", "show", &task]);
    let rebuilt = place.data(&["ledger", "rebuild"]);
    assert_eq!((&rebuilt["changed"], &rebuilt["quarantined"]), (&json!(false), &json!([])), "{rebuilt:#}");
    assert_eq!(place.data(&["task", "show", &task]), before);
    place.kctl(&["ledger", "verify"]).ok();
}

#[test]
fn where_no_backup_is_known_the_way_on_is_named_and_is_a_persons() {
    let place = Place::new();
    fs::remove_file(place.repo.join(".git/decapod/ledger.db")).expect("removed");
    let ask = json!({ "dry_run": true });
    for op in ["status", "task.list", "ledger.backup", "ledger.recover"] {
        let params = if op == "ledger.backup" { json!({ "to": "x.db" }) } else { json!({}) };
        let missing = place.call(op, params).expect_err("it is gone");
        assert_eq!((&missing["code"], &missing["next"][0]["params"]), (&json!("LEDGER_MISSING"), &ask), "{op}");
    }
    let known = place.call("ledger.recover", ask.clone()).expect("anybody may look");
    assert_eq!((&known["data"]["sources"], &known["data"]["source"]), (&json!([]), &json!("nothing")));
    assert_eq!(known["next"][0]["params"], json!({ "accept_loss": true }));
    let refused = place.call("ledger.recover", known["next"][0]["params"].clone()).expect_err("not an agent");
    assert_eq!((&refused["code"], &refused["next"][0]["params"]), (&json!("PERSON_REQUIRED"), &ask));
    let Some(person) = place.person(&["ledger", "recover", "--accept-loss"]) else { return };
    assert_eq!(person.status, 0, "{person:#?}");
    place.call("task.create", json!({ "title": "from nothing" })).expect("it goes on");
    place.data(&["ledger", "backup", "../new.db"]);
}

#[test]
fn a_damaged_ledger_that_was_set_aside_is_known_as_a_source() {
    let place = Place::new();
    let task = text(&place.data(&["task", "create", "kept"])["id"]);
    place.call("ledger.recover", json!({})).expect("what reads is kept, and the old file is set aside");
    let file = place.repo.join(".git/decapod/ledger.db");
    fs::write(&file, "garbage").expect("written");
    let known = place.call("ledger.recover", json!({ "dry_run": true })).expect("anybody may look");
    let next = known["next"][0]["params"].clone();
    assert!(text(&next["from"]).contains("ledger.damaged-"), "{known:#}");
    place.call("ledger.recover", next).expect("restored");
    assert_eq!(place.data(&["task", "list"])["items"][0]["id"], json!(task));
}

#[test]
fn a_backup_goes_to_a_name_that_can_be_typed_and_never_into_the_work_tree() {
    let place = Place::new();
    place.write(".gitignore", "ignored/\n");
    place.commit("what is ignored");
    for to in ["", "  ", "../a\nb.db", "../a\u{1b}[2J.db", "monday.db", "src/monday.db", "./src/../monday.db"] {
        let refusal = place.call("ledger.backup", json!({ "to": to })).expect_err("refused");
        assert_eq!((&refusal["code"], &refusal["details"]["field"]), (&json!("INVALID_VALUE"), &json!("to")), "{to:?}");
    }
    assert_eq!(place.git(&["status", "--porcelain"]).trim(), "", "nothing was left behind");
    place.write("ignored/keep", "x\n");
    for to in ["ignored/monday.db", "../monday.db", ".git/monday.db"] {
        place.call("ledger.backup", json!({ "to": to })).unwrap_or_else(|refusal| panic!("{to}: {refusal:#}"));
    }
}
