//! Tasks and claims: one winner, losers told so, and a way on from every state.

use serde_json::{Value, json};

use crate::place::{Agent, Place, proposed, text, texts};

fn create(place: &Place, params: Value) -> String {
    text(&place.call("task.create", params).expect("created")["data"]["id"])
}

fn ids(answer: &Value) -> Vec<String> {
    answer["data"]["items"].as_array().expect("a list").iter().map(|item| text(&item["id"])).collect()
}

fn list(place: &Place, op: &str, params: Value) -> Vec<String> {
    ids(&place.call(op, params).expect("it is read"))
}

#[test]
fn what_cannot_be_written_down_is_refused_with_its_field() {
    let place = Place::new();
    let done = create(&place, json!({ "title": "done" }));
    let refused = |params: Value| place.call("task.create", params).expect_err("refused");
    let labels: Vec<String> = (0..33).map(|n| n.to_string()).collect();
    for (code, field, params) in [
        ("INVALID_VALUE", "title", json!({ "title": "  " })),
        ("INVALID_VALUE", "title", json!({ "title": "x".repeat(4001) })),
        ("INVALID_VALUE", "priority", json!({ "title": "x", "priority": 5 })),
        ("INVALID_VALUE", "labels", json!({ "title": "x", "labels": labels })),
        ("INVALID_VALUE", "labels", json!({ "title": "x", "labels": ["a\nb"] })),
        ("INVALID_VALUE", "paths", json!({ "title": "x", "paths": ["../up"] })),
        ("INVALID_VALUE", "scope", json!({ "title": "x", "scope": ["/etc/**"] })),
        ("NOT_FOUND", "needs", json!({ "title": "x", "needs": ["t-000000000000"] })),
        ("NOT_FOUND", "task", json!({ "title": "x", "parent": "t-000000000000" })),
        ("NOT_FOUND", "commitment", json!({ "title": "x", "commitment": "c-000000000000" })),
        ("CHECK_UNKNOWN", "criteria[0].check", json!({ "title": "x", "criteria": ["check:nope"] })),
        ("VACUOUS_CRITERION", "criteria[0].path", json!({ "title": "x", "criteria": ["file_exists:"] })),
    ] {
        let refusal = refused(params.clone());
        assert_eq!((&refusal["code"], &refusal["details"]["field"]), (&json!(code), &json!(field)), "{refusal:#}");
    }
    for (member, params) in [
        ("priority", json!({ "title": "x", "priority": -1 })),
        ("titel", json!({ "titel": "x" })),
        ("title", json!({})),
        ("needs[0]", json!({ "title": "x", "needs": ["c-000000000000"] })),
    ] {
        let refusal = refused(params);
        assert_eq!((&refusal["code"], &refusal["details"]["member"]), (&json!("INVALID_PARAMS"), &json!(member)));
        assert_eq!(proposed(&refusal), ["ops.describe"]);
    }
    assert_eq!(list(&place, "task.list", json!({})), [done], "nothing of what was refused is kept");
}

#[test]
fn a_task_is_found_by_any_unique_prefix_and_an_ambiguous_one_lists_its_candidates() {
    let place = Place::new();
    let all: Vec<String> = (0..40).map(|n| create(&place, json!({ "title": format!("task {n}") }))).collect();
    let first = &all[0];
    let shortest = (3..).find(|n| all.iter().filter(|id| id.starts_with(&first[..*n])).count() == 1);
    assert_eq!(place.data(&["task", "show", &first[..shortest.expect("ids differ")]])["id"], json!(first));
    // Forty ids over thirty-two first characters: two of them share one.
    let shared = all.iter().find(|id| all.iter().filter(|other| other[..3] == id[..3]).count() > 1).expect("they do");
    let refusal = place.refusal(&["task", "show", &shared[..3]]);
    assert_eq!(refusal["code"], "NOT_FOUND");
    assert!(texts(&refusal["details"]["candidates"]).len() > 1, "{refusal:#}");
}

#[test]
fn the_board_pages_filters_and_computes_blockers_over_all_of_it() {
    let place = Place::new();
    let base = create(&place, json!({ "title": "base", "priority": 4 }));
    let urgent = create(&place, json!({ "title": "urgent", "priority": 0, "labels": ["ui", "bug"] }));
    let waits = create(&place, json!({ "title": "waits", "labels": ["ui"], "needs": [base] }));
    let usual = create(&place, json!({ "title": "usual" }));
    assert_eq!(list(&place, "task.list", json!({})), [&urgent, &waits, &usual, &base].map(String::clone));
    assert_eq!(list(&place, "task.ready", json!({})), [&urgent, &usual, &base].map(String::clone));
    let filtered = place.call("task.list", json!({ "label": "ui" })).expect("it is read");
    assert_eq!(ids(&filtered), [&urgent, &waits].map(String::clone));
    assert_eq!(filtered["data"]["items"][1]["blocked_by"], json!([base]), "a filter hides no blocker");
    for op in ["task.list", "task.ready"] {
        let whole = list(&place, op, json!({}));
        let (mut paged, mut after) = (Vec::new(), None::<String>);
        loop {
            let mut params = json!({ "limit": 1 });
            if let Some(after) = &after {
                params["after"] = json!(after);
            }
            let page = place.call(op, params).expect("it is read");
            paged.extend(ids(&page));
            if page["truncated"] == json!([]) {
                break;
            }
            assert_eq!(page["truncated"][0]["limit"], 1, "{page:#}");
            after = paged.last().cloned();
        }
        assert_eq!(paged, whole, "{op}");
    }
    for (limit, fits) in [(0, false), (1, true), (10_000_000, false)] {
        assert_eq!(place.call("task.list", json!({ "limit": limit })).is_ok(), fits, "{limit}");
    }
    let after = place.call("task.list", json!({ "after": "t-000000000000" })).expect_err("it names nothing");
    assert_eq!((&after["code"], &after["details"]["field"]), (&json!("NOT_FOUND"), &json!("after")));
    let ada = place.agent("ada");
    ada.ok("task.claim", json!({ "task": usual }));
    assert_eq!(list(&place, "task.list", json!({ "agent": "ada" })), std::slice::from_ref(&usual));
    assert_eq!(list(&place, "task.list", json!({ "status": ["claimed"] })), [usual]);
    place.call("task.update", json!({ "task": urgent, "labels": ["api"], "priority": 3 })).expect("changed");
    assert_eq!(list(&place, "task.list", json!({ "label": "ui" })), [waits]);
}

#[test]
fn one_agent_wins_and_the_other_is_told_who_until_when_and_what_else_there_is() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let task = ada.claimed(json!({ "title": "one" }));
    let refusal = bob.no("TASK_HELD", "task.claim", json!({ "task": task }));
    let details = &refusal["details"];
    assert_eq!((&details["holder"], &details["session"]), (&json!("ada"), &json!(ada.session)));
    assert!(details["expires_in_s"].as_i64().is_some_and(|left| (3000..=3600).contains(&left)), "{refusal:#}");
    assert_eq!(proposed(&refusal), ["task.next", "task.show"]);
    assert_eq!(ada.ok("task.claim", json!({ "task": task }))["fence"], 1, "the holder holds it, under the same fence");
    for (op, params) in [
        ("task.renew", json!({})),
        ("task.yield", json!({ "note": "x" })),
        ("task.block", json!({ "reason": "x" })),
        ("task.complete", json!({ "summary": "x" })),
        ("task.finish", json!({})),
        ("task.handoff", json!({ "to": "bob" })),
        ("task.release", json!({})),
        ("task.cancel", json!({ "reason": "x" })),
        ("task.takeover", json!({ "reason": "x" })),
        ("workspace.ensure", json!({})),
        ("publish", json!({})),
    ] {
        let mut params = params;
        params["task"] = json!(task);
        bob.no("TASK_HELD", op, params);
    }
    let other = create(&place, json!({ "title": "free" }));
    bob.no("CLAIM_REQUIRED", "task.renew", json!({ "task": other }));
    assert_eq!(bob.ok("task.next", json!({}))["task"]["id"], json!(other));
    assert_eq!(place.data(&["task", "show", &other])["status"], "open", "to look is not to claim");
    assert_eq!(bob.ok("task.next", json!({ "claim": true }))["claim"]["agent"], "bob");
    let nothing = bob.no("NOTHING_READY", "task.next", json!({}));
    assert_eq!(nothing["retry_helps"], true);
}

#[test]
fn a_lease_is_renewed_within_bounds_and_given_back_with_a_note_that_the_next_holder_sees() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let task = ada.claimed(json!({ "title": "one" }));
    let renewed = ada.ok("task.renew", json!({ "task": task, "lease": "3h" }));
    assert_eq!(renewed["fence"], 1);
    let long = ada.no("INVALID_VALUE", "task.renew", json!({ "task": task, "lease": "31d" }));
    assert_eq!(long["details"]["field"], "lease", "nobody holds a task for ever: {long:#}");
    ada.no("INVALID_VALUE", "task.yield", json!({ "task": task, "note": " " }));
    assert_eq!(ada.ok("task.yield", json!({ "task": task, "note": "lexer done" }))["status"], "open");
    let claimed = bob.ok("task.claim", json!({ "task": task }));
    assert_eq!((&claimed["note"], &claimed["fence"]), (&json!("lexer done"), &json!(2)));
    ada.no("TASK_HELD", "task.renew", json!({ "task": task }));
}

#[test]
fn a_handoff_passes_the_claim_to_a_live_session_or_waits_for_its_agent() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let task = ada.claimed(json!({ "title": "one" }));
    let handed = ada.ok("task.handoff", json!({ "task": task, "to": "bob", "note": "tests are next" }));
    assert_eq!((&handed["session"], &handed["fence"]), (&json!(bob.session), &json!(2)));
    ada.no("TASK_HELD", "task.complete", json!({ "task": task, "summary": "x" }));
    assert_eq!(bob.ok("task.claim", json!({ "task": task }))["note"], "tests are next");
    let answer = bob.call("task.handoff", json!({ "task": task, "to": "carol" })).expect("passed on");
    assert_eq!(answer["warnings"][0]["code"], "waits_for_agent");
    let eve = place.agent("eve");
    eve.no("TASK_HELD", "task.claim", json!({ "task": task }));
    eve.no("TASK_HELD", "task.cancel", json!({ "task": task, "reason": "mine now" }));
    eve.no("TASK_HELD", "task.release", json!({ "task": task }));
    let carol = place.agent("carol");
    carol.no("TASK_HELD", "task.complete", json!({ "task": task, "summary": "not before it is claimed" }));
    assert_eq!(carol.ok("task.claim", json!({ "task": task }))["fence"], 4);
}

#[test]
fn a_claim_is_taken_over_only_once_it_ran_out_and_the_former_holder_is_shut_out() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let task = ada.claimed(json!({ "title": "one" }));
    ada.workspace(&task);
    let early = bob.no("TASK_HELD", "task.takeover", json!({ "task": task, "reason": "impatience" }));
    assert_eq!(early["details"].get("takeable"), None);
    place.later(2 * 3600);
    let late = bob.no("TASK_HELD", "task.claim", json!({ "task": task }));
    assert!(proposed(&late).contains(&"task.takeover".to_owned()), "{late:#}");
    let own = ada.no("CLAIM_REQUIRED", "task.complete", json!({ "task": task, "summary": "x" }));
    assert_eq!(proposed(&own), ["task.claim"], "whoever let it run out may go on: {own:#}");
    let taken = bob.ok("task.takeover", json!({ "task": task, "reason": "the lease ran out" }));
    assert_eq!(taken["fence"], 2);
    for (op, params) in [
        ("task.claim", json!({})),
        ("task.renew", json!({})),
        ("task.finish", json!({})),
        ("workspace.ensure", json!({})),
        ("workspace.remove", json!({})),
        ("publish", json!({})),
    ] {
        let mut params = params;
        params["task"] = json!(task);
        let refusal = ada.no("TASK_HELD", op, params);
        assert_eq!((&refusal["details"]["holder"], &refusal["details"]["fence"]), (&json!("bob"), &json!(2)));
    }
    let reused = bob.ok("workspace.ensure", json!({ "task": task }));
    assert_eq!(reused["state"], "reused", "work that was begun is gone on with");
}

#[test]
fn a_question_is_answered_by_a_person_and_by_nobody_else() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    ada.ok("task.block", json!({ "task": task, "reason": "the tool is missing" }));
    assert_eq!(ada.ok("task.unblock", json!({ "task": task, "note": "it is there" }))["status"], "claimed");
    ada.no("CONFLICT", "task.unblock", json!({ "task": task, "note": "again" }));
    let asked = ada.call("task.block", json!({ "task": task, "reason": "two formats", "question": "Which one?" }));
    assert_eq!(asked.expect("asked")["data"]["status"], "blocked");
    let refusal = ada.no("PERSON_REQUIRED", "task.unblock", json!({ "task": task, "note": "the first" }));
    assert_eq!(refusal["details"]["question"], "Which one?");
    assert_eq!(place.refusal(&["task", "unblock", &task, "--note", "x"])["code"], "SESSION_REQUIRED");
    ada.ok("task.release", json!({ "task": task }));
    place.agent("bob").no("CONFLICT", "task.claim", json!({ "task": task }));
    assert!(!list(&place, "task.ready", json!({})).contains(&task));
    let status = place.data(&["status"]);
    assert_eq!(status["work"][0]["question"], "Which one?", "{status:#}");
    let Some(answered) = place.person(&["task", "unblock", &task, "--note", "the second"]) else { return };
    assert_eq!(answered.status, 0, "{answered:?}");
    let shown = place.data(&["task", "show", &task]);
    assert_eq!((&shown["status"], &shown["note"]), (&json!("open"), &json!("the second")));
    let history = place.call("task.history", json!({ "task": task })).expect("it is read");
    let last = history["data"]["items"].as_array().expect("a list").last().expect("not empty");
    assert_eq!((&last["type"], &last["caller"]["grade"]), (&json!("task.unblocked"), &json!("tty")));
}

#[test]
fn a_task_is_split_in_one_append_and_no_part_may_need_itself() {
    let place = Place::new();
    let parent = create(&place, json!({ "title": "whole", "priority": 1, "labels": ["big"] }));
    let split = |parts: Value| place.call("task.decompose", json!({ "task": parent, "parts": parts }));
    for (code, parts) in [
        ("CYCLE", json!([{ "title": "a", "needs": [0] }])),
        (
            "CYCLE",
            json!([{ "title": "a", "needs": [1] }, { "title": "b", "needs": [2] }, { "title": "c", "needs": [0] }]),
        ),
        ("INVALID_VALUE", json!([{ "title": "a", "needs": [7] }])),
        ("INVALID_VALUE", json!([])),
        ("INVALID_VALUE", json!([{ "title": "a" }, { "title": "" }])),
        ("CHECK_UNKNOWN", json!([{ "title": "a", "criteria": ["check:nope"] }])),
    ] {
        assert_eq!(split(parts.clone()).expect_err("refused")["code"], code, "{parts}");
    }
    assert_eq!(
        list(&place, "task.list", json!({})),
        std::slice::from_ref(&parent),
        "nothing of what was refused is kept"
    );
    let answer = split(json!([{ "title": "lexer" }, { "title": "parser", "needs": [0] }])).expect("split");
    let children = texts(&answer["data"]["children"]);
    assert_eq!(answer["receipt"]["events"].as_array().map(Vec::len), Some(4), "{answer:#}");
    assert_eq!(list(&place, "task.ready", json!({})), [children[0].clone()]);
    let whole = place.data(&["task", "show", &parent]);
    assert_eq!(texts(&whole["blocked_by"]), children);
    let part = place.data(&["task", "show", &children[1]]);
    assert_eq!((&part["parent"], &part["priority"], &part["labels"]), (&json!(parent), &json!(1), &json!(["big"])));
    assert_eq!(list(&place, "task.list", json!({ "parent": parent })), children);
    let cycle = place.call("task.update", json!({ "task": children[0], "needs": [parent] })).expect_err("refused");
    assert_eq!((&cycle["code"], &cycle["details"]["field"]), (&json!("CYCLE"), &json!("needs")));
    let itself = place.call("task.update", json!({ "task": parent, "needs": [parent] })).expect_err("refused");
    assert_eq!(itself["code"], "CYCLE");
    let unmet = place.agent("ada").no("CONFLICT", "task.claim", json!({ "task": parent }));
    assert_eq!(texts(&unmet["details"]["blocked_by"]), children);
}

#[test]
fn what_is_given_up_accepts_nothing_more_and_its_history_is_whole() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    ada.ok("task.cancel", json!({ "task": task, "reason": "not needed" }));
    for (op, params) in [
        ("task.claim", json!({})),
        ("task.takeover", json!({ "reason": "x" })),
        ("task.renew", json!({})),
        ("task.yield", json!({ "note": "x" })),
        ("task.cancel", json!({ "reason": "x" })),
        ("task.update", json!({ "title": "x" })),
        ("task.block", json!({ "reason": "x" })),
        ("task.finish", json!({})),
        ("task.decompose", json!({ "parts": [{ "title": "x" }] })),
        ("publish", json!({})),
    ] {
        let mut params = params;
        params["task"] = json!(task);
        let refusal = ada.no("CONFLICT", op, params);
        assert!(refusal["message"].as_str().is_some_and(|words| words.contains("cancelled")), "{op}: {refusal:#}");
    }
    let history = place.call("task.history", json!({ "task": task })).expect("it is read");
    let events = history["data"]["items"].as_array().expect("a list").clone();
    let types: Vec<_> = events.iter().map(|event| text(&event["type"])).collect();
    assert_eq!(types, ["task.created", "task.claimed", "task.cancelled"]);
    assert_eq!(events.iter().map(|event| event["ver"].clone()).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn live_claims_whose_paths_meet_are_warned_of_or_refused_as_the_base_says() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    ada.claimed(json!({ "title": "one", "paths": ["src/**"] }));
    let meets = create(&place, json!({ "title": "two", "paths": ["src/lib.txt"] }));
    let apart = create(&place, json!({ "title": "three", "paths": ["docs/**"] }));
    create(&place, json!({ "title": "last", "priority": 4, "paths": ["lib/**"] }));
    let unscoped = create(&place, json!({ "title": "four" }));
    let claim = |agent: &Agent<'_>, task: &str| agent.call("task.claim", json!({ "task": task })).expect("claimed");
    assert_eq!(claim(&bob, &apart)["warnings"], json!([]));
    assert_eq!(claim(&bob, &unscoped)["warnings"], json!([]), "what names no path runs beside everything");
    assert_eq!(claim(&bob, &meets)["warnings"][0]["code"], "scope_overlap");
    bob.ok("task.release", json!({ "task": meets }));
    place.rebase_profile(&format!("{}\n[tasks]\noverlap = \"refuse\"\n", crate::place::PROFILE));
    let refusal = bob.no("SCOPE_OVERLAP", "task.claim", json!({ "task": meets }));
    assert_eq!(refusal["details"]["paths"], json!(["src/lib.txt", "src/**"]), "{refusal:#}");
    assert_eq!(refusal["retry_helps"], true);
    let next = bob.ok("task.next", json!({ "claim": true }));
    assert_ne!(next["task"]["id"], json!(meets), "the next one that is free is picked: {next:#}");
}

#[test]
fn a_task_whose_parts_are_not_finished_is_not_finished_either() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, _) = ada.worked(json!({ "title": "whole" }));
    let split = ada.ok("task.decompose", json!({ "task": task, "parts": [{ "title": "part" }] }));
    let part = text(&split["children"][0]);
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!((&refusal["details"]["blocked_by"], &refusal["details"]["unmet"]), (&json!([part]), &json!([])));
    assert_eq!(proposed(&refusal), ["task.show"]);
    ada.ok("task.claim", json!({ "task": part }));
    ada.ok("validate", json!({ "task": part }));
    ada.ok("task.finish", json!({ "task": part }));
    ada.ok("task.finish", json!({ "task": task }));
}

#[test]
fn a_finished_task_that_nobody_holds_can_still_be_taken_over_to_be_published() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, _) = ada.worked(json!({ "title": "one" }));
    ada.ok("task.finish", json!({ "task": task }));
    ada.ok("session.release", json!({}));
    let bob = place.agent("bob");
    bob.no("CONFLICT", "task.claim", json!({ "task": task }));
    let refusal = bob.no("CLAIM_REQUIRED", "publish", json!({ "task": task }));
    assert_eq!(proposed(&refusal), ["task.takeover"], "{refusal:#}");
    let next = refusal["next"][0]["params"].clone();
    assert_eq!(bob.ok("task.takeover", next)["fence"], 2);
    bob.no("NOT_CLEARED", "publish", json!({ "task": task }));
    bob.ok("validate", json!({ "task": task, "scope": "branch" }));
    assert_eq!(bob.ok("publish", json!({ "task": task }))["remote_verified"], true);
    assert_eq!(place.data(&["task", "show", &task])["status"], "finished");
}
