//! `task.finish`: the gate that accepts what fresh evidence shows and counts what it refuses.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;

use serde_json::{Value, json};

use crate::place::{PROFILE, Place, proposed, text, texts, wait_until, write};

#[test]
fn a_rejection_says_what_is_unmet_how_often_it_was_said_and_what_to_do() {
    let place = Place::new();
    let ada = place.agent("ada");
    let criteria = json!(["tests=check:test", "lib=file_exists:src/lib.txt", { "id": "nice", "kind": "file_exists", "path": "extra", "required": false }]);
    let task = ada.claimed(json!({ "title": "one", "criteria": criteria }));
    let tree = ada.workspace(&task);
    write(&tree.join("broken"), "");
    let finish = || ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    let first = finish();
    assert_eq!(
        (&first["category"], &first["recoverable"], &first["retry_helps"]),
        (&json!("completion"), &json!(true), &json!(false))
    );
    let details = &first["details"];
    assert_eq!(
        (&details["attempt"], &details["attempts_left"], &details["waived"]),
        (&json!(1), &json!(2), &json!([]))
    );
    let states: Vec<(String, String)> = details["unmet"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (text(&one["id"]), text(&one["state"])))
        .collect();
    assert_eq!(
        states,
        [("tests".to_owned(), "never_checked".to_owned()), ("lib".to_owned(), "never_checked".to_owned())]
    );
    assert_eq!(
        first["next"][0],
        json!({ "op": "validate", "params": { "task": task, "criteria": ["tests", "lib"] }, "why": "makes evidence for what is unmet" })
    );
    ada.ok("validate", json!({ "task": task }));
    let second = finish();
    let unmet = &second["details"]["unmet"][0];
    assert_eq!((&unmet["id"], &unmet["state"], &unmet["repeat_count"]), (&json!("tests"), &json!("failed"), &json!(0)));
    assert_eq!((&unmet["last"]["verdict"], &unmet["last"]["exit"]), (&json!("fail"), &json!(1)));
    assert!(unmet["last"]["age_s"].is_number() && unmet["last"]["tail"].is_string());
    assert_eq!(
        (&second["details"]["met"], &second["details"]["attempt"]),
        (&json!(["lib"]), &json!(1)),
        "less is unmet: {second:#}"
    );
    for (attempt, repeats, left) in [(2, 1, 1), (3, 2, 0)] {
        let again = finish();
        assert_eq!(again["details"]["attempt"], attempt);
        assert_eq!(again["details"]["unmet"][0]["repeat_count"], repeats);
        assert_eq!(again["details"]["attempts_left"], left);
    }
    assert_eq!(proposed(&finish()), ["task.block"], "after three times the same a person is asked");
    let events = place.log().len();
    ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task, "dry_run": true }));
    assert_eq!(place.log().len(), events, "a dry run is not counted");
    fs::remove_file(tree.join("broken")).expect("removed");
    ada.ok("validate", json!({ "task": task }));
    let done =
        ada.call("task.finish", json!({ "task": task, "summary": "it works" })).expect("nothing stands against it");
    assert_eq!((&done["data"]["status"], &done["data"]["state"]), (&json!("finished"), &json!("verified")));
    assert_eq!(
        (done["data"]["evidence"].as_array().map(Vec::len), proposed(&done)),
        (Some(2), vec!["publish".to_owned()])
    );
    ada.no("CONFLICT", "task.finish", json!({ "task": task }));
    assert_eq!(place.data(&["task", "show", &task])["completion"]["summary"], "it works");
}

/// Whoever finishes and follows what is proposed gets to publication, and never to its refusal.
#[test]
fn a_finished_task_is_proposed_for_publication_only_when_that_needs_nothing_else() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    write(&tree.join("more.txt"), "not committed\n");
    ada.ok("validate", json!({ "task": task }));
    let done = ada.call("task.finish", json!({ "task": task })).expect("the contract is met");
    assert_eq!(proposed(&done), ["workspace.status"], "{done:#}");
    let mut refused = ada.no("NOT_CLEARED", "publish", json!({ "task": task }));
    assert!(text(&refused["message"].take()).contains("more.txt"));
    let context = ada.call("context.resolve", json!({ "task": task })).expect("shown");
    assert_eq!(proposed(&context), ["validate"], "{context:#}");
    assert_eq!(context["next"][0]["params"], json!({ "task": task, "scope": "branch" }));
    let dirty = ada.call("validate", context["next"][0]["params"].clone()).expect("judged");
    assert_eq!(proposed(&dirty), ["workspace.status"], "{dirty:#}");
    place.commit_in(&tree, "more");
    let clean = ada.call("validate", json!({ "task": task, "scope": "branch" })).expect("judged");
    assert_eq!(proposed(&clean), ["publish"], "{clean:#}");
    assert_eq!(ada.ok("publish", clean["next"][0]["params"].clone())["remote_verified"], true);
}

#[test]
fn a_claim_of_being_done_is_recorded_as_no_more_than_that() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    ada.workspace(&task);
    let claimed =
        ada.call("task.complete", json!({ "task": task, "summary": "all done, believe me" })).expect("recorded");
    assert_eq!(
        (&claimed["data"]["status"], proposed(&claimed)),
        (&json!("claimed"), vec!["validate".to_owned(), "task.finish".to_owned()])
    );
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!(
        texts(
            &refusal["details"]["unmet"]
                .as_array()
                .map(|all| all.iter().map(|one| one["id"].clone()).collect())
                .expect("a list")
        ),
        ["test"],
        "the profile's required check stands in for criteria"
    );
}

#[test]
fn evidence_of_a_former_claim_does_not_count_under_the_next() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let (task, _) = ada.worked(json!({ "title": "one", "criteria": ["check:test"] }));
    place.later(2 * 3600);
    bob.ok("task.takeover", json!({ "task": task, "reason": "the lease ran out" }));
    let refusal = bob.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!(refusal["details"]["unmet"][0]["state"], "stale", "{refusal:#}");
    ada.no("TASK_HELD", "task.finish", json!({ "task": task }));
    let shown = bob.ok("validate", json!({ "task": task }));
    assert_eq!(shown["results"][0]["fresh"], false, "it is run again for the new holder");
    bob.ok("task.finish", json!({ "task": task }));
}

#[test]
fn what_is_blocked_or_has_nothing_to_show_is_not_finished() {
    let place = Place::with_profile("version = 1\n");
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    ada.workspace(&task);
    let nothing = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert!(text(&nothing["message"]).contains("no criterion"), "{nothing:#}");
    assert_eq!(proposed(&nothing), ["task.block"]);
    ada.ok("task.block", json!({ "task": task, "reason": "unclear", "question": "What is wanted?" }));
    let blocked = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!(blocked["details"]["blocked"]["question"], "What is wanted?");
}

#[test]
fn a_check_that_is_under_way_is_waited_for() {
    let holding = PROFILE.replace("test ! -e broken", "while test -e ../hold; do sleep 0.05; done");
    let place = Place::with_profile(&format!("{holding}\n[sandbox]\nwritable = [\"..\"]\n"));
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["file_exists:src/lib.txt"] }));
    let tree = ada.workspace(&task);
    ada.ok("validate", json!({ "task": task, "criteria": ["AC-1"] }));
    write(&tree.join("../hold"), "");
    let running = || {
        place.call("evidence.list", json!({ "task": task })).expect("read")["data"]["items"][0]["verdict"] == "running"
    };
    std::thread::scope(|scope| {
        let validate = scope.spawn(|| ada.ok("validate", json!({ "task": task, "scope": "branch" })));
        wait_until("the check runs", running);
        let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
        assert!(refusal["details"]["running"].is_string(), "{refusal:#}");
        fs::remove_file(tree.join("../hold")).expect("removed");
        assert_eq!(validate.join().expect("it ends")["verified"], true);
    });
    ada.ok("task.finish", json!({ "task": task }));
}

#[test]
fn a_task_without_criteria_is_held_to_its_commitments() {
    let place = Place::new();
    let opened = place.call("commit.open", json!({ "objective": "x", "criteria": ["notes=file_exists:NOTES.md"] }));
    let commitment = text(&opened.expect("opened")["data"]["id"]);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "commitment": commitment }));
    let tree = ada.workspace(&task);
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!(refusal["details"]["unmet"][0]["id"], "notes");
    // What is proposed names the criterion, and must work as it stands.
    let next: Value = refusal["next"][0].clone();
    write(&tree.join("NOTES.md"), "x\n");
    assert_eq!(ada.ok(&text(&next["op"]), next["params"].clone())["verified"], true);
    ada.ok("task.finish", json!({ "task": task }));
}

#[test]
fn an_optional_criterion_does_not_switch_off_the_required_check_it_rests_on() {
    let place = Place::new();
    let ada = place.agent("ada");
    let optional = json!({ "id": "nice", "kind": "check", "check": "test", "required": false });
    for (criteria, unmet) in [
        (json!([optional]), Some("test")),
        // With a required criterion of its own a task is finished on that; publication asks for the check all the same.
        (json!([optional, { "id": "lib", "kind": "file_exists", "path": "src/lib.txt" }]), None),
    ] {
        let task = ada.claimed(json!({ "title": "one", "criteria": criteria }));
        let tree = ada.workspace(&task);
        write(&tree.join("broken"), "");
        place.commit_in(&tree, "break");
        ada.ok("validate", json!({ "task": task, "scope": "branch" }));
        match unmet {
            Some(id) => {
                let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
                let unmet = &refusal["details"]["unmet"][0];
                assert_eq!((&unmet["id"], &unmet["state"]), (&json!(id), &json!("failed")), "{refusal:#}");
            }
            None => drop(ada.ok("task.finish", json!({ "task": task }))),
        }
        let refusal = ada.no("NOT_CLEARED", "publish", json!({ "task": task }));
        let named = refusal["details"]["blockers"].to_string();
        assert!(named.contains("check `test`") && named.contains("failed"), "{refusal:#}");
    }
}
