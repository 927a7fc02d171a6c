//! `turn.end`: what a host's Stop hook is told. Bounded, cheap, and never a trap.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Agent, PROFILE, Place, proposed, text, write};

/// Ends a turn: the answer's data.
fn end(agent: &Agent<'_>, params: Value) -> Value {
    agent.ok("turn.end", params)
}

fn told(answer: &Value) -> (String, String) {
    (text(&answer["decision"]), text(&answer["why"]))
}

fn is(answer: &Value, decision: &str, why: &str) {
    assert_eq!(told(answer), (decision.to_owned(), why.to_owned()), "{answer:#}");
    assert_eq!(text(&answer["message"]).is_empty(), decision == "let_go", "{answer:#}");
}

fn count(place: &Place, type_name: &str) -> usize {
    place.log().iter().filter(|event| event["type"] == type_name).count()
}

/// Four files that have to be there.
fn four() -> Value {
    json!(["AC-1=file_exists:p.txt", "AC-2=file_exists:q.txt", "AC-3=file_exists:r.txt", "AC-4=file_exists:s.txt"])
}

/// Scenario A03.
#[test]
fn saying_done_is_refused_three_times_and_then_let_go_with_the_gates_shut() {
    let place = Place::new();
    let ada = place.agent("ada");
    let commitment = text(
        &place
            .call("commit.open", json!({ "objective": "x", "criteria": ["file_exists:src/lib.txt"] }))
            .expect("opened")["data"]["id"],
    );
    let task = ada.claimed(json!({ "title": "four files", "criteria": four(), "commitment": commitment }));
    let tree = ada.workspace(&task);
    ada.ok("task.complete", json!({ "task": task, "summary": "Done." }));
    for attempt in 1..=3 {
        let answer = end(&ada, json!({ "turn": format!("turn-{attempt}") }));
        is(&answer, "continue", "unmet");
        let message = text(&answer["message"]);
        assert!(message.starts_with("FINALIZATION_REJECTED"), "{message}");
        assert!(message.contains(&format!("attempt {attempt} of 3")), "{message}");
        for id in ["AC-1", "AC-2", "AC-3", "AC-4"] {
            assert!(message.contains(id), "{message}");
        }
        let ids: Vec<String> = answer["unmet"].as_array().expect("a list").iter().map(|one| text(&one["id"])).collect();
        assert_eq!(ids, ["AC-1", "AC-2", "AC-3", "AC-4"]);
        assert_eq!(answer["unmet"][0]["repeat_count"], attempt - 1);
        assert_eq!((&answer["attempt"], &answer["attempts_left"]), (&json!(attempt), &json!(3 - attempt)));
    }
    is(&end(&ada, json!({ "turn": "turn-4" })), "let_go", "exhausted");
    assert_eq!((count(&place, "task.finalization_rejected"), count(&place, "task.finalization_exhausted")), (4, 1));
    // It stays so, and nothing more is recorded of it.
    is(&end(&ada, json!({ "turn": "turn-5" })), "let_go", "exhausted");
    assert_eq!((count(&place, "task.finalization_rejected"), count(&place, "task.finalization_exhausted")), (4, 1));
    // Every gate says so, and where a person comes in.
    let finish = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!((&finish["details"]["reason"], &finish["details"]["attempts_left"]), (&json!("exhausted"), &json!(0)));
    assert!(text(&finish["message"]).contains("without progress") && proposed(&finish) == ["task.block"], "{finish:#}");
    write(&tree.join("work.txt"), "x\n");
    place.commit_in(&tree, "work");
    let publish = ada.no("NOT_CLEARED", "publish", json!({ "task": task }));
    assert!(publish["details"]["blockers"].to_string().contains("FINALIZATION_EXHAUSTED"), "{publish:#}");
    place.call("validate", json!({ "commitment": commitment })).expect("judged");
    let close = json!({ "commitment": commitment, "verdict": "fulfilled" });
    let refusal = ada.no("FINALIZATION_EXHAUSTED", "commit.close", close.clone());
    assert_eq!((&refusal["details"]["task"], proposed(&refusal)[0].as_str()), (&json!(task), "task.block"));
    // Progress opens them again.
    for name in ["p.txt", "q.txt", "r.txt", "s.txt"] {
        write(&tree.join(name), "x\n");
    }
    place.commit_in(&tree, "all four");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    is(&end(&ada, json!({})), "let_go", "verified");
    ada.ok("task.finish", json!({ "task": task }));
    ada.ok("publish", json!({ "task": task }));
    ada.ok("commit.close", close);
}

/// Scenarios A04 and A10.
#[test]
fn what_is_missing_is_named_once_and_after_the_repair_the_turn_ends_and_the_work_is_published() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "four files", "criteria": four() }));
    let tree = ada.workspace(&task);
    for name in ["p.txt", "q.txt", "r.txt"] {
        write(&tree.join(name), "x\n");
    }
    ada.ok("validate", json!({ "task": task }));
    ada.ok("task.complete", json!({ "task": task, "summary": "Complete, tests pass." }));
    let refused = end(&ada, json!({}));
    is(&refused, "continue", "unmet");
    let message = text(&refused["message"]);
    assert!(message.contains("`AC-4`") && !message.contains("AC-1") && !message.contains("AC-3"), "{message}");
    assert!(message.contains("`kctl validate") && message.contains("`kctl task block"), "{message}");
    assert_eq!(
        (&refused["state"], &refused["unmet"][0]["state"]),
        (&json!("implemented_not_verified"), &json!("failed"))
    );
    write(&tree.join("s.txt"), "x\n");
    place.commit_in(&tree, "work");
    let stale = end(&ada, json!({}));
    is(&stale, "continue", "unmet");
    assert!(text(&stale["message"]).contains("`s.txt` changed since"), "{stale:#}");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    let done = ada.call("turn.end", json!({})).expect("answered");
    is(&done["data"], "let_go", "verified");
    assert_eq!((&done["data"]["state"], proposed(&done)), (&json!("verified"), vec!["task.finish".to_owned()]));
    ada.ok("task.finish", json!({ "task": task }));
    is(&end(&ada, json!({ "task": task })), "let_go", "over");
    ada.ok("publish", json!({ "task": task }));
}

#[test]
fn a_session_that_changed_nothing_is_let_go() {
    let place = Place::new();
    place.write("notes.txt", "a person's own\n");
    let ada = place.agent("ada");
    is(&end(&ada, json!({})), "let_go", "no_task");
    let task = ada.claimed(json!({ "title": "four files", "criteria": four() }));
    is(&end(&ada, json!({})), "let_go", "nothing_changed");
    let tree = ada.workspace(&task);
    ada.ok("validate", json!({ "task": task }));
    is(&end(&ada, json!({})), "let_go", "nothing_changed");
    // A base that moved on is nobody's work here.
    fs::remove_file(place.repo.join("notes.txt")).expect("removed");
    place.write("theirs.txt", "x\n");
    place.commit("theirs");
    place.git(&["push", "-q", "origin", "main"]);
    place.git_in(&tree, &["fetch", "-q"]);
    place.git_in(&tree, &["rebase", "-q", "origin/main"]);
    is(&end(&ada, json!({})), "let_go", "nothing_changed");
    assert_eq!(count(&place, "task.finalization_rejected"), 0);
    write(&tree.join("work.txt"), "x\n");
    is(&end(&ada, json!({})), "continue", "unmet");
}

#[test]
fn dirt_that_was_there_before_is_not_the_sessions_and_a_commit_is() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["file_exists:p.txt"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("q.txt"), "x\n");
    place.commit_in(&tree, "work");
    is(&end(&ada, json!({})), "continue", "unmet");
}

#[test]
fn where_there_is_nothing_to_hold_it_to_a_turn_ends_silently() {
    let place = Place::untouched();
    for dir in [place.top().to_owned(), place.repo.clone()] {
        let answer = place.call_in(&dir, "turn.end", json!({})).expect("never refused");
        is(&answer["data"], "let_go", "no_ledger");
        assert_eq!(answer["warnings"], json!([]), "{answer:#}");
    }
    let place = Place::new();
    let answer = place.call("turn.end", json!({})).expect("never refused");
    is(&answer["data"], "let_go", "no_session");
    assert_eq!(answer["warnings"], json!([]));
}

#[test]
fn a_fault_of_kctl_never_holds_a_turn_up() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["file_exists:p.txt"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("work.txt"), "x\n");
    let warned = |params: Value| {
        let answer = ada.call("turn.end", params).expect("never refused");
        is(&answer["data"], "let_go", "not_judged");
        assert_eq!(answer["warnings"][0]["code"], "turn_not_judged", "{answer:#}");
    };
    warned(json!({ "task": "t-zzz" }));
    warned(json!({ "question": "x".repeat(5000) }));
    let aside = tree.with_extension("aside");
    fs::rename(&tree, &aside).expect("moved");
    warned(json!({}));
    fs::rename(&aside, &tree).expect("moved back");
    is(&end(&ada, json!({})), "continue", "unmet");
    let ledger = place.repo.join(".git/decapod/ledger.db");
    for damage in [&b"not a database, by far not"[..], b""] {
        fs::write(&ledger, damage).expect("written");
        let answer = ada.call("turn.end", json!({})).expect("never refused");
        is(&answer["data"], "let_go", "not_judged");
        assert!(!answer["warnings"].as_array().expect("a list").is_empty(), "{answer:#}");
    }
    fs::remove_file(&ledger).expect("removed");
    is(&ada.call("turn.end", json!({})).expect("never refused")["data"], "let_go", "not_judged");
}

#[test]
fn one_correction_where_only_the_profile_asks_and_nothing_was_shown() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "no criteria of its own" }));
    let tree = ada.workspace(&task);
    write(&tree.join("broken"), "");
    let first = end(&ada, json!({}));
    is(&first, "continue", "corrective");
    assert_eq!((&first["state"], &first["unmet"][0]["id"]), (&json!("in_progress"), &json!("test")));
    is(&end(&ada, json!({})), "let_go", "exhausted");
    // Progress starts anew, and somebody who says that it is done is held to it.
    fs::remove_file(tree.join("broken")).expect("removed");
    ada.ok("validate", json!({ "task": task }));
    is(&end(&ada, json!({})), "let_go", "verified");
}

#[test]
fn what_only_another_machine_can_show_is_said_once() {
    let place = Place::with_profile(&format!(
        "{PROFILE}\n[checks.tool]\nrun = [\"no-such-tool-anywhere\"]\nrequired = false\n"
    ));
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["lib=file_exists:src/lib.txt", "check:tool"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("work.txt"), "x\n");
    ada.ok("validate", json!({ "task": task }));
    let answer = ada.call("turn.end", json!({})).expect("answered");
    is(&answer["data"], "continue", "corrective");
    assert_eq!(proposed(&answer)[0], "validate", "{answer:#}");
    is(&end(&ada, json!({})), "let_go", "exhausted");
}

/// What is held can be undone: it holds a turn up like anything that is unmet, and another edit is another reason.
#[test]
fn a_weakened_check_holds_the_turn_up_and_says_where() {
    let place = Place::new();
    place.write("ci/check.sh", "set -e\ntest -e src/lib.txt\ntest ! -e broken\n");
    place.rebase_profile("version = 1\n\n[checks.test]\nrun = [\"sh\", \"ci/check.sh\"]\nkind = \"test\"\n");
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["suite=check:test"] }));
    let tree = ada.workspace(&task);
    let weaken = |script: &str| {
        write(&tree.join("ci/check.sh"), script);
        ada.ok("validate", json!({ "task": task }));
        let answer = ada.call("turn.end", json!({})).expect("answered");
        is(&answer["data"], "continue", "unmet");
        let held = &answer["data"]["unmet"][0];
        assert_eq!((&held["id"], &held["state"]), (&json!("integrity"), &json!("suspicious")), "{answer:#}");
        let message = text(&answer["data"]["message"]);
        assert!(message.contains("held: ") && message.contains("ci/check.sh"), "{message}");
        assert_eq!(proposed(&answer)[0], "finding.list", "{answer:#}");
        held["repeat_count"].as_u64().expect("a number")
    };
    let first = "set -e\ntrue\ntest ! -e broken\n";
    assert_eq!([weaken(first), weaken(first), weaken("set -e\ntest -e src/lib.txt\ntrue\n")], [0, 1, 0]);
    write(&tree.join("ci/check.sh"), "set -e\ntest -e src/lib.txt\ntest ! -e broken\n");
    write(&tree.join("work.txt"), "x\n");
    ada.ok("validate", json!({ "task": task }));
    is(&end(&ada, json!({})), "let_go", "verified");
}

#[test]
fn a_question_blocks_the_task_on_a_person_and_costs_no_attempt() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "four files", "criteria": four() }));
    let tree = ada.workspace(&task);
    write(&tree.join("work.txt"), "x\n");
    for _ in 0..2 {
        let asked = end(&ada, json!({ "question": "Which four?" }));
        is(&asked, "let_go", "asked");
        assert_eq!(asked["state"], "blocked");
    }
    assert_eq!(count(&place, "task.blocked"), 1, "asked twice in the same words it is one question");
    is(&end(&ada, json!({})), "let_go", "blocked");
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    let details = &refusal["details"];
    assert_eq!((&details["reason"], &details["lifted_by"]), (&json!("blocked"), &json!("person")));
    assert_eq!(
        (&details["state"], &details["attempt"], &details["attempts_left"]),
        (&json!("blocked"), &json!(0), &json!(3))
    );
    assert_eq!(
        (&details["blocked"]["question"], details["unmet"].as_array().map(Vec::len)),
        (&json!("Which four?"), Some(4))
    );
    assert_eq!(proposed(&refusal), ["task.unblock"]);
    assert_eq!(count(&place, "task.finalization_rejected"), 0);
}

#[test]
fn a_turn_ends_while_the_host_has_work_of_its_own() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["file_exists:p.txt"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("work.txt"), "x\n");
    is(&end(&ada, json!({ "background": true })), "let_go", "background_work");
    assert_eq!(count(&place, "task.finalization_rejected"), 0);
    is(&end(&ada, json!({})), "continue", "unmet");
}

#[test]
fn the_same_turn_told_twice_counts_once_unless_the_host_goes_on_already() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["file_exists:p.txt"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("work.txt"), "x\n");
    place.later(0);
    let again = |params: Value, attempt: u64| {
        let answer = end(&ada, params);
        is(&answer, "continue", "unmet");
        assert_eq!(answer["attempt"], attempt, "{answer:#}");
    };
    again(json!({ "turn": "7" }), 1);
    again(json!({ "turn": "7" }), 1);
    again(json!({ "turn": "8" }), 2);
    // A host that continues within one turn calls with its id again.
    again(json!({ "turn": "8", "stop_active": true }), 3);
    is(&end(&ada, json!({ "turn": "8", "stop_active": true })), "let_go", "exhausted");
    // One that calls every turn the same is let go in the end.
    let task = ada.claimed(json!({ "title": "two", "criteria": ["file_exists:p.txt"] }));
    write(&ada.workspace(&task).join("work.txt"), "x\n");
    let ends: Vec<String> = (1..=6)
        .map(|n| {
            place.later(100 * n);
            text(&end(&ada, json!({ "task": task, "turn": "same" }))["decision"])
        })
        .collect();
    assert_eq!(ends, ["continue", "continue", "continue", "let_go", "let_go", "let_go"]);
}

#[test]
fn eight_refusals_without_progress_are_all_whatever_changes_meanwhile() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "four files", "criteria": four() }));
    let tree = ada.workspace(&task);
    let mut ends = Vec::new();
    for n in 0..10 {
        write(&tree.join(format!("p{}.txt", n % 2)), &n.to_string());
        write(&tree.join("p.txt"), &n.to_string());
        // Asked in both ways: they have one count.
        if n == 0 {
            ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
        } else {
            ends.push(text(&end(&ada, json!({}))["decision"]));
        }
        ada.ok("validate", json!({ "task": task, "criteria": ["AC-2"] }));
    }
    assert_eq!(ends.iter().filter(|decision| *decision == "continue").count(), 7, "{ends:?}");
    assert_eq!(ends[7..], ["let_go", "let_go"], "{ends:?}");
}

#[test]
fn the_task_of_the_worktree_is_meant_where_a_session_holds_several() {
    let place = Place::new();
    let ada = place.agent("ada");
    let tasks: Vec<String> =
        (0..2).map(|n| ada.claimed(json!({ "title": n.to_string(), "criteria": ["file_exists:p.txt"] }))).collect();
    let trees: Vec<_> = tasks.iter().map(|task| ada.workspace(task)).collect();
    is(&end(&ada, json!({})), "let_go", "no_task");
    let at = |dir: &Path| ada.call_in(dir, "turn.end", json!({})).expect("answered")["data"]["task"].clone();
    assert_eq!(at(&trees[0]), json!(tasks[0]));
    fs::create_dir(trees[1].join("deep")).expect("made");
    assert_eq!(at(&trees[1].join("deep")), json!(tasks[1]));
    let bob = place.agent("bob");
    is(&bob.call_in(&trees[0], "turn.end", json!({})).expect("answered")["data"], "let_go", "no_task");
    is(&end(&bob, json!({ "task": tasks[0] })), "let_go", "not_held");
    place.later(3 * 3600);
    let cyd = place.agent("cyd");
    is(&end(&cyd, json!({ "task": tasks[0] })), "let_go", "not_held");
}

#[test]
fn a_dry_run_records_nothing() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["file_exists:p.txt"] }));
    write(&ada.workspace(&task).join("work.txt"), "x\n");
    let before = place.log().len();
    is(&end(&ada, json!({ "dry_run": true })), "continue", "unmet");
    is(&end(&ada, json!({ "dry_run": true, "question": "Which?" })), "let_go", "asked");
    assert_eq!(place.log().len(), before);
}

#[test]
fn a_persons_answer_lets_the_work_begin_anew() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["file_exists:p.txt"] }));
    write(&ada.workspace(&task).join("work.txt"), "x\n");
    for decision in ["continue", "continue", "continue", "let_go"] {
        assert_eq!(text(&end(&ada, json!({}))["decision"]), decision);
    }
    ada.ok("task.block", json!({ "task": task, "reason": "stuck", "question": "Is p.txt needed?" }));
    let Some(answered) = place.person(&["task", "unblock", &task, "--note", "yes, it is"]) else { return };
    answered.ok();
    let answer = end(&ada, json!({}));
    is(&answer, "continue", "unmet");
    assert_eq!((&answer["attempt"], &answer["attempts_left"]), (&json!(1), &json!(2)));
}

#[test]
fn the_message_quotes_the_last_lines_of_what_failed() {
    let profile =
        PROFILE.replace("test ! -e broken", "seq 1 100; echo 'assertion failed: left == right'; test ! -e broken");
    let place = Place::with_profile(&profile);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["suite=check:test"] }));
    write(&ada.workspace(&task).join("broken"), "");
    ada.ok("validate", json!({ "task": task }));
    let message = text(&end(&ada, json!({}))["message"]);
    assert!(message.contains("- `suite` (check `test` passes): failed, exit 1"), "{message}");
    assert!(message.contains("\n    | assertion failed: left == right"), "{message}");
    assert!(message.len() < 3000 && !message.contains("| 50\n"), "{message}");
}
