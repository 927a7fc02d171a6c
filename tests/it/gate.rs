//! What the gate of completion lets count: row by row of the table of states, whose evidence, and after which resume.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;

use serde_json::{Value, json};

use crate::place::{Agent, PROFILE, Place, proposed, text, texts, wait_until, write};
use crate::rig::KCTL;

const CHECKS: &str = r#"
[checks.fails]
run = "false; test -e never"
required = false
[checks.dies]
run = "kill -9 $$"
required = false
[checks.tool]
run = ["no-such-tool-anywhere"]
required = false
[checks.flaky]
run = "test ! -e ../flip"
required = false
[checks.doubtful]
run = "echo 'test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'; test -e src/lib.txt"
kind = "test"
parser = "cargo-test"
required = false
[sandbox]
writable = [".."]
"#;

/// Where `task` stands, as the end of a turn says it.
fn state(agent: &Agent<'_>, task: &str) -> Value {
    agent.ok("turn.end", json!({ "task": task, "dry_run": true }))["state"].clone()
}

#[test]
fn the_table_of_states_holds_row_by_row() {
    let place = Place::with_profile(&format!("{PROFILE}{CHECKS}"));
    let ada = place.agent("ada");
    for (criterion, validated, standing, expected) in [
        ("file_exists:src/lib.txt", true, "met", "verified"),
        ("file_exists:src/more.txt", false, "never_checked", "implemented_not_verified"),
        ("file_exists:none.txt", true, "failed", "implemented_not_verified"),
        ("check:fails", true, "failed", "implemented_not_verified"),
        ("check:dies", true, "error", "implemented_not_verified"),
        ("check:tool", true, "unavailable", "blocked"),
        ("check:flaky", true, "flaky", "implemented_not_verified"),
        ("check:doubtful", true, "suspicious", "implemented_not_verified"),
        ("judgement:Is it good?", true, "insufficient_strength", "implemented_not_verified"),
        ("diff_scope:src/**", true, "stale", "implemented_not_verified"),
    ] {
        let task = ada.claimed(json!({ "title": "x", "criteria": [format!("c={criterion}")] }));
        let tree = ada.workspace(&task);
        write(&tree.join("src/more.txt"), "x\n");
        if validated {
            ada.ok("validate", json!({ "task": task }));
        }
        match standing {
            "flaky" => {
                write(&tree.join("../flip"), "");
                ada.ok("validate", json!({ "task": task, "rerun": true }));
                fs::remove_file(tree.join("../flip")).expect("removed");
            }
            "insufficient_strength" => {
                let judged =
                    json!({ "task": task, "criterion": "c", "confidence": 99, "holds": true, "reason": "it is" });
                drop(ada.ok("criterion.judge", judged));
            }
            "stale" => write(&tree.join("src/more.txt"), "y\n"),
            _ => {}
        }
        // Row 2: nobody said that it is done.
        assert_eq!(state(&ada, &task), "in_progress", "{criterion}");
        ada.ok("task.complete", json!({ "task": task, "summary": "done" }));
        assert_eq!(state(&ada, &task), expected, "{criterion} is {standing}");
        if expected != "verified" {
            let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
            let details = &refusal["details"];
            assert_eq!((&details["state"], &details["unmet"][0]["state"]), (&json!(expected), &json!(standing)));
            // What no run here can show costs no attempt.
            let (reason, attempt) = match standing {
                "unavailable" => (standing, 0),
                "insufficient_strength" => ("awaits_person", 0),
                _ => ("unmet", 1),
            };
            assert_eq!((&details["reason"], &details["attempt"]), (&json!(reason), &json!(attempt)), "{refusal:#}");
        }
        // Row 1 goes before all others.
        ada.ok("task.block", json!({ "task": task, "reason": "wait", "question": "Which?" }));
        let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
        assert_eq!(
            (&refusal["details"]["state"], &refusal["details"]["reason"]),
            (&json!("blocked"), &json!("blocked"))
        );
    }
}

#[test]
fn without_a_criterion_nothing_is_verified() {
    let place = Place::with_profile("version = 1\n");
    let ada = place.agent("ada");
    for limits in [json!({}), json!({ "max_files": 5 })] {
        let task = ada.claimed(json!({ "title": "x", "limits": limits }));
        write(&ada.workspace(&task).join("work.txt"), "x\n");
        ada.ok("task.complete", json!({ "task": task, "summary": "done" }));
        assert_eq!(ada.ok("validate", json!({ "task": task }))["verified"], false);
        assert_eq!(state(&ada, &task), "implemented_not_verified");
        let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
        assert_eq!(refusal["details"]["reason"], "nothing_required", "{refusal:#}");
    }
}

#[test]
fn whoever_only_asks_the_gate_is_given_up_on_as_well_until_less_is_unmet() {
    let place = Place::new();
    let ada = place.agent("ada");
    let params = json!({ "objective": "x", "criteria": ["lib=file_exists:src/lib.txt"] });
    let commitment = text(&place.call("commit.open", params).expect("opened")["data"]["id"]);
    let criteria = json!(["a=file_exists:a.txt", "b=file_exists:b.txt"]);
    let task = ada.claimed(json!({ "title": "x", "criteria": criteria, "commitment": commitment }));
    let tree = ada.workspace(&task);
    ada.ok("validate", json!({ "commitment": commitment }));
    let events = || {
        let count = |name: &str| place.log().iter().filter(|event| event["type"] == name).count();
        (count("task.finalization_rejected"), count("task.finalization_exhausted"))
    };
    let finish = || {
        let details = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }))["details"].clone();
        (text(&details["reason"]), details["attempt"].clone(), details["attempts_left"].clone())
    };
    for attempt in 1..=3 {
        assert_eq!(finish(), ("unmet".to_owned(), json!(attempt), json!(3 - attempt)));
    }
    assert_eq!(events(), (3, 0));
    // What is refused from here on is not counted any more.
    for _ in 0..2 {
        assert_eq!(finish(), ("exhausted".to_owned(), json!(4), json!(0)));
        assert_eq!(events(), (4, 1));
    }
    let close = json!({ "commitment": commitment, "verdict": "fulfilled" });
    ada.no("FINALIZATION_EXHAUSTED", "commit.close", close.clone());
    // An edit that meets nothing is no progress; one that meets something is.
    write(&tree.join("c.txt"), "x\n");
    ada.ok("validate", json!({ "task": task }));
    assert_eq!(finish().0, "exhausted");
    write(&tree.join("a.txt"), "x\n");
    ada.ok("validate", json!({ "task": task }));
    assert_eq!(finish(), ("unmet".to_owned(), json!(1), json!(2)));
    ada.ok("commit.close", close);
}

#[test]
fn a_task_that_waits_for_another_costs_no_attempt() {
    let place = Place::new();
    let ada = place.agent("ada");
    let first =
        text(&ada.ok("task.create", json!({ "title": "first", "criteria": ["file_exists:src/lib.txt"] }))["id"]);
    let task = ada.claimed(json!({ "title": "second", "criteria": ["file_exists:src/lib.txt"] }));
    ada.workspace(&task);
    ada.ok("validate", json!({ "task": task }));
    ada.ok("task.update", json!({ "task": task, "needs": [first] }));
    for _ in 0..5 {
        let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
        let details = &refusal["details"];
        assert_eq!((&details["reason"], &details["attempt"]), (&json!("waits_for_task"), &json!(0)), "{refusal:#}");
    }
    ada.ok("task.update", json!({ "task": task, "needs": [] }));
    ada.ok("task.finish", json!({ "task": task }));
}

#[test]
fn a_commitment_that_is_not_met_says_what_is_missing_as_a_task_does() {
    let place = Place::new();
    let params = json!({ "objective": "x", "criteria": ["a=file_exists:a.txt", "lib=file_exists:src/lib.txt"] });
    let commitment = text(&place.call("commit.open", params).expect("opened")["data"]["id"]);
    place.call("validate", json!({ "commitment": commitment })).expect("judged");
    let close = json!({ "commitment": commitment, "verdict": "fulfilled" });
    let refusal = place.agent("ada").no("CRITERIA_OUTSTANDING", "commit.close", close);
    let details = &refusal["details"];
    assert_eq!((&details["met"], &details["waived"]), (&json!(["lib"]), &json!([])));
    let unmet = &details["unmet"][0];
    assert_eq!((&unmet["id"], &unmet["state"]), (&json!("a"), &json!("failed")), "{refusal:#}");
    assert_eq!(unmet["last"]["verdict"], "fail", "{refusal:#}");
    assert_eq!(details["unmet"][1], json!(null));
}

#[test]
fn each_unmet_criterion_is_counted_by_itself() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "x", "criteria": ["a=file_exists:a.txt", "b=file_exists:b.txt"] }));
    let tree = ada.workspace(&task);
    let repeats = || {
        let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
        let unmet = refusal["details"]["unmet"].as_array().cloned().expect("a list");
        unmet.iter().map(|one| (text(&one["id"]), one["repeat_count"].as_u64().expect("a number"))).collect::<Vec<_>>()
    };
    let both = |a, b| vec![("a".to_owned(), a), ("b".to_owned(), b)];
    assert_eq!(repeats(), both(0, 0));
    assert_eq!(repeats(), both(1, 1));
    ada.ok("validate", json!({ "task": task, "criteria": ["a"] }));
    assert_eq!(repeats(), both(0, 2), "`a` was looked at and failed, `b` is as it was");
    write(&tree.join("a.txt"), "x\n");
    ada.ok("validate", json!({ "task": task, "criteria": ["a"] }));
    assert_eq!(repeats(), [("b".to_owned(), 3)]);
}

#[test]
fn evidence_of_another_tasks_claim_does_not_count_though_the_fences_are_alike() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let criteria = json!(["t=check:test", "said=citation:https://example.org/a"]);
    let of = |agent: &Agent<'_>| {
        let task = agent.claimed(json!({ "title": "x", "criteria": criteria }));
        agent.workspace(&task);
        task
    };
    let (first, second) = (of(&ada), of(&bob));
    ada.ok("validate", json!({ "task": first }));
    let cite = |agent: &Agent<'_>, task: &str| {
        agent.ok(
            "criterion.cite",
            json!({ "task": task, "criterion": "said", "contents": { "https://example.org/a": "text" } }),
        )
    };
    cite(&ada, &first);
    ada.ok("task.finish", json!({ "task": first }));
    let refusal = bob.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": second }));
    let states: Vec<Value> =
        refusal["details"]["unmet"].as_array().expect("a list").iter().map(|one| one["state"].clone()).collect();
    assert_eq!(states, ["stale", "never_checked"], "{refusal:#}");
    let shown = bob.ok("validate", json!({ "task": second }));
    assert_eq!(shown["results"][0]["fresh"], false, "it is run for this claim: {shown:#}");
    cite(&bob, &second);
    bob.ok("task.finish", json!({ "task": second }));
}

#[test]
fn what_was_said_for_one_commitment_is_not_offered_for_another() {
    let place = Place::new();
    let ada = place.agent("ada");
    let open = |objective: &str| {
        let params =
            json!({ "objective": objective, "class": "cited", "criteria": ["said=citation:https://example.org/a"] });
        text(&place.call("commit.open", params).expect("opened")["data"]["id"])
    };
    let (first, second) = (open("one"), open("two"));
    let cited = json!({ "commitment": first, "criterion": "said", "contents": { "https://example.org/a": "text" } });
    ada.ok("criterion.cite", cited);
    let close = |id: &str| json!({ "commitment": id, "verdict": "fulfilled" });
    ada.no("CRITERIA_OUTSTANDING", "commit.close", close(&second));
    ada.ok("commit.close", close(&first));
}

#[test]
fn an_amended_criterion_is_not_met_by_what_showed_the_old_one() {
    let place =
        Place::with_profile(&format!("{PROFILE}\n[checks.other]\nrun = \"test -e src/lib.txt\"\nrequired = false\n"));
    let ada = place.agent("ada");
    let (task, _) = ada.worked(json!({ "title": "x", "criteria": ["c=check:test"] }));
    assert_eq!(state(&ada, &task), "in_progress");
    ada.ok(
        "criterion.amend",
        json!({ "task": task, "criterion": "c", "to": "check:other", "reason": "it was the wrong one" }),
    );
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!(refusal["details"]["unmet"][0]["state"], "never_checked", "{refusal:#}");
}

#[test]
fn a_session_whose_claim_is_gone_makes_no_evidence_for_the_task() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let criteria = json!(["t=check:test", "said=citation:https://example.org/a"]);
    let task = ada.claimed(json!({ "title": "x", "criteria": criteria }));
    ada.ok("task.claim", json!({ "task": task }));
    ada.workspace(&task);
    place.later(2 * 3600 + 60);
    let cite = json!({ "task": task, "criterion": "said", "contents": { "https://example.org/a": "text" } });
    // A refusal may be counted; the task has nothing of it.
    let recorded = || place.log().iter().filter(|event| event["type"] != "session.refused").count();
    let before = recorded();
    let refusal = ada.no("CLAIM_REQUIRED", "validate", json!({ "task": task }));
    assert_eq!((&refusal["details"]["task"], proposed(&refusal)), (&json!(task), vec!["task.claim".to_owned()]));
    for code in ["CLAIM_REQUIRED", "TASK_HELD"] {
        if code == "TASK_HELD" {
            bob.ok("task.takeover", json!({ "task": task, "reason": "it ran out" }));
        }
        let before = recorded();
        ada.no(code, "criterion.cite", cite.clone());
        ada.no(code, "task.finish", json!({ "task": task }));
        assert_eq!(recorded(), before, "nothing of it is recorded");
    }
    assert!(recorded() > before);
    // Whoever only looks may run the checks; they count for nothing, and the holder's run is one of its own.
    let looked = ada.call("validate", json!({ "task": task })).expect("judged");
    assert_eq!((&looked["data"]["verified"], &looked["warnings"][0]["code"]), (&json!(false), &json!("not_counted")));
    assert_eq!(looked["data"]["criteria"][0]["state"], "stale", "{looked:#}");
    assert_eq!(bob.ok("validate", json!({ "task": task }))["results"][0]["fresh"], false);
    bob.ok("criterion.cite", cite);
    bob.ok("task.finish", json!({ "task": task }));
}

#[test]
fn a_limit_on_files_is_a_criterion_that_every_gate_holds() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "x", "criteria": ["t=check:test"], "limits": { "max_files": 2 } }));
    let tree = ada.workspace(&task);
    let listed = |standing: &str| {
        let criteria = ada.ok("criterion.list", json!({ "task": task }))["criteria"].clone();
        let limits =
            criteria.as_array().expect("a list").iter().find(|one| one["id"] == "limits").cloned().expect("listed");
        assert_eq!((&limits["state"], &limits["required"]), (&json!(standing), &json!(true)));
        assert_eq!(limits["statement"], "at most 2 files differ from the base");
    };
    listed("never_checked");
    // Committed, staged, untracked: each is one, and a rename is two.
    write(&tree.join("a.txt"), "x\n");
    place.commit_in(&tree, "a");
    write(&tree.join("b.txt"), "x\n");
    place.git_in(&tree, &["add", "-A"]);
    write(&tree.join("c.txt"), "x\n");
    let shown = ada.ok("validate", json!({ "task": task, "criteria": ["limits"] }));
    assert_eq!((&shown["verified"], &shown["results"][0]["verdict"]), (&json!(false), &json!("fail")), "{shown:#}");
    assert!(text(&shown["results"][0]["reasons"][0]).starts_with("3 files differ from the base, and at most 2 may"));
    ada.ok("validate", json!({ "task": task }));
    listed("failed");
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!((&refusal["details"]["unmet"][0]["id"], &refusal["details"]["met"]), (&json!("limits"), &json!(["t"])));
    place.commit_in(&tree, "b and c");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    let blocked = ada.no("NOT_CLEARED", "publish", json!({ "task": task }));
    assert!(blocked["details"]["blockers"].to_string().contains("at most 2 files"), "{blocked:#}");
    place.git_in(&tree, &["rm", "-q", "c.txt"]);
    place.commit_in(&tree, "two are enough");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    listed("met");
    ada.ok("task.finish", json!({ "task": task }));
    ada.ok("publish", json!({ "task": task }));
    let taken = json!({ "title": "x", "criteria": ["limits=check:test"] });
    let refusal = ada.no("INVALID_VALUE", "task.create", taken);
    assert_eq!(refusal["details"]["field"], "criteria[0].id");
}

#[test]
fn a_commitments_limits_hold_its_close_and_alone_show_nothing() {
    let place = Place::new();
    let ada = place.agent("ada");
    let open = |criteria: Value| {
        let params = json!({ "objective": "x", "criteria": criteria, "limits": { "max_files": 1 } });
        text(&place.call("commit.open", params).expect("opened")["data"]["id"])
    };
    let close = |id: &str| json!({ "commitment": id, "verdict": "fulfilled" });
    let alone = open(json!([]));
    place.call("validate", json!({ "commitment": alone })).expect("judged");
    ada.no("NOTHING_TO_CLOSE_ON", "commit.close", close(&alone));
    let commitment = open(json!(["lib=file_exists:src/lib.txt"]));
    place.write("a.txt", "x\n");
    place.write("b.txt", "x\n");
    place.call("validate", json!({ "commitment": commitment })).expect("judged");
    assert_eq!(
        texts(&ada.no("CRITERIA_OUTSTANDING", "commit.close", close(&commitment))["details"]["ids"]),
        ["limits"]
    );
    fs::remove_file(place.repo.join("b.txt")).expect("removed");
    place.call("validate", json!({ "commitment": commitment })).expect("judged");
    ada.ok("commit.close", close(&commitment));
}

#[test]
fn a_commitment_is_not_closed_over_an_open_question_of_its_work() {
    let place = Place::new();
    let ada = place.agent("ada");
    let params = json!({ "objective": "x", "criteria": ["lib=file_exists:src/lib.txt"] });
    let commitment = text(&place.call("commit.open", params).expect("opened")["data"]["id"]);
    let task = ada.claimed(json!({ "title": "x", "commitment": commitment }));
    ada.ok("validate", json!({ "commitment": commitment }));
    ada.ok("task.block", json!({ "task": task, "reason": "unclear", "question": "Which?" }));
    let close = json!({ "commitment": commitment, "verdict": "fulfilled" });
    let refusal = ada.no("FINALIZATION_REJECTED", "commit.close", close.clone());
    assert_eq!((&refusal["details"]["reason"], &refusal["details"]["task"]), (&json!("blocked"), &json!(task)));
    ada.ok("task.cancel", json!({ "task": task, "reason": "not needed" }));
    ada.ok("commit.close", close);
}

/// Everything of a task that has to be the same for whoever comes next.
fn seen(agent: &Agent<'_>, task: &str) -> Value {
    let listed = agent.ok("criterion.list", json!({ "task": task }));
    let criteria = listed["criteria"].as_array().expect("a list").iter();
    let criteria: Vec<Value> = criteria.map(|one| json!([one["id"], one["state"], one["evidence"]])).collect();
    json!({ "criteria": criteria, "contract_digest": listed["contract_digest"], "revision": listed["revision"] })
}

/// Scenarios R10, R11 and A06.
#[test]
fn whoever_resumes_sees_the_same_and_nobody_else_finishes_it() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let criteria = json!(["AC-1=file_exists:p.txt", "AC-2=file_exists:q.txt"]);
    let task = ada.claimed(json!({ "title": "two files", "criteria": criteria }));
    let tree = ada.workspace(&task);
    write(&tree.join("p.txt"), "p\n");
    ada.ok("validate", json!({ "task": task }));
    assert_eq!(ada.ok("turn.end", json!({}))["decision"], "continue");
    let before = seen(&ada, &task);
    assert_eq!((&before["criteria"][0][1], &before["criteria"][1][1]), (&json!("met"), &json!("failed")));
    // Another process, in another directory; and a conversation that was compacted.
    let capsule = |agent: &Agent<'_>| {
        let resolved = agent.call_in(&tree, "context.resolve", json!({ "task": task })).expect("resolved");
        resolved["data"].to_string()
    };
    let shown = capsule(&ada);
    for part in ["AC-1: `p.txt` exists\\nstate: met", "AC-2: `q.txt` exists\\nstate: failed"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains(&text(&before["contract_digest"])), "{shown}");
    for id in [&before["criteria"][0][2], &before["criteria"][1][2]] {
        assert!(shown.contains(&text(id)), "the evidence {id} is named: {shown}");
    }
    // Another session cannot finish it, nor end its turns.
    bob.no("TASK_HELD", "task.finish", json!({ "task": task }));
    bob.no("TASK_HELD", "task.complete", json!({ "task": task, "summary": "done" }));
    assert_eq!(bob.ok("turn.end", json!({ "task": task }))["why"], "not_held");
    // A new session in the same worktree goes on: what was shown is still there, and has to be shown under its claim.
    ada.ok("session.release", json!({}));
    let again = place.agent("ada");
    again.ok("task.claim", json!({ "task": task }));
    let after = seen(&again, &task);
    assert_eq!(after["contract_digest"], before["contract_digest"]);
    assert_eq!(
        (&after["criteria"][0][2], &after["criteria"][1][2]),
        (&before["criteria"][0][2], &before["criteria"][1][2])
    );
    assert_eq!(again.workspace(&task), tree);
    write(&tree.join("q.txt"), "q\n");
    let left = again.ok("turn.end", json!({}));
    assert_eq!((&left["decision"], &left["attempt"]), (&json!("continue"), &json!(2)), "counted on: {left:#}");
    again.ok("validate", json!({ "task": task }));
    again.ok("task.finish", json!({ "task": task }));
}

/// A check that is under way is waited for, and one whose kctl was killed is not.
#[test]
fn a_check_stands_in_the_way_for_as_long_as_its_kctl_lives() {
    let place = Place::with_profile("version = 1\n[checks.test]\nrun = \"test -e done || sleep 60\"\n");
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "x", "criteria": ["check:test"] }));
    let tree = ada.workspace(&task);
    let mut kctl = place.command(&tree, KCTL, &["validate", &task]).spawn().expect("it starts");
    let runs = || place.data(&["run", "list"])["items"].clone();
    wait_until("the check is under way", || runs()[0]["verdict"] == "running");
    let refused = |reason: &str| {
        let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
        assert_eq!((&refusal["details"]["reason"], &refusal["details"]["attempt"]), (&json!(reason), &json!(0)));
    };
    refused("check_running");
    kctl.kill().expect("it is ours");
    kctl.wait().expect("it is ours");
    assert_eq!(runs()[0]["verdict"], "abandoned");
    write(&tree.join("done"), "");
    ada.ok("validate", json!({ "task": task }));
    ada.ok("task.finish", json!({ "task": task }));
    let left = fs::read_dir(place.repo.join(".git/decapod")).expect("it is there").filter_map(Result::ok);
    let locks: Vec<_> =
        left.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().starts_with("run-")).collect();
    assert_eq!(locks, [""; 0]);
}
