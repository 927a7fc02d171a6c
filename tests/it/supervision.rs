//! What an output says beside the exit status, and what becomes of attempts that do not get further.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::place::{Agent, PROFILE, Place, proposed, text, texts, write};

/// A check that says what `out.txt` says, and ends with the status in `status`.
const SAYS: &str = r#"
[checks.says]
run = "cat out.txt; exit $(cat status)"
kind = "test"
required = false
"#;

const PYTEST: &str = "\
============================= test session starts ==============================
collected 3 items

tests/test_a.py .FF                                                      [100%]

=================================== FAILURES ===================================
___________________________________ test_two ___________________________________

    def test_two():
>       assert add(1, 1) == 3
E       assert 2 == 3

tests/test_a.py:7: AssertionError
__________________________________ test_three __________________________________

    def test_three():
>       assert add(1, 2) == 4
E       assert 3 == 4

tests/test_a.py:10: AssertionError
=========================== short test summary info ============================
FAILED tests/test_a.py::test_two - assert 2 == 3
FAILED tests/test_a.py::test_three - assert 3 == 4
========================= 2 failed, 1 passed in 0.12s ==========================
";

fn passed(count: u32) -> String {
    format!(
        "collected {count} items\n\n============================== {count} passed in 0.01s ===============================\n"
    )
}

fn begun(place: &Place, agent: &Agent<'_>) -> (String, PathBuf) {
    place.write("out.txt", &passed(3));
    place.write("status", "0\n");
    place.commit("a suite");
    place.git(&["push", "-q", "origin", "main"]);
    let task = agent.claimed(json!({ "title": "one", "criteria": ["s=check:says"] }));
    let tree = agent.workspace(&task);
    (task, tree)
}

fn place() -> Place {
    Place::with_profile(&format!("{PROFILE}{SAYS}"))
}

fn says(tree: &std::path::Path, output: &str, status: &str) {
    write(&tree.join("out.txt"), output);
    write(&tree.join("status"), status);
}

fn state(shown: &Value) -> String {
    text(&shown["criteria"][0]["state"])
}

#[test]
fn an_output_is_explained_without_a_repository_and_nothing_is_recorded() {
    let place = Place::new();
    let log = place.top().join("build.log");
    write(&log, PYTEST);
    let recorded = place.log().len();
    let away = place.top().join("away");
    std::fs::create_dir_all(&away).expect("made");
    let ran = place.kctl_in(&away, &["failure", "explain", log.to_str().expect("UTF-8"), "--json"]).ok().json();
    let data = &ran["data"];
    let ids: Vec<String> = data["items"].as_array().expect("a list").iter().map(|item| text(&item["id"])).collect();
    assert_eq!(ids, ["tests.test_a.test_two", "tests.test_a.test_three"]);
    assert_eq!((&data["parser"], &data["tests"]["passed"]), (&json!("pytest"), &json!(1)));
    let other = PYTEST.replace("0.12s", "9.87s").replace(":7: ", ":70: ");
    let rpc = place.call("failure.explain", json!({ "output": other, "tool": "pytest", "exit": 1 })).expect("read");
    assert_eq!(rpc["data"]["signature"], data["signature"], "noise is not the failure");
    assert_eq!(place.log().len(), recorded);
    let refusal = place.refusal(&["failure", "explain", "no-such-file"]);
    assert_eq!(refusal["code"], "USAGE", "{refusal:#}");
    let secret = "token=ghp_x7Qm2Kd9Tz4Wb8Lr1Vn6Yc3Hj5Pf0Sg2Ae9U failed";
    let told = place.call("failure.explain", json!({ "output": secret, "exit": 1 })).expect("read");
    assert!(!told.to_string().contains("ghp_x7Qm"), "{told:#}");
}

#[test]
fn what_failed_is_listed_with_the_verdict() {
    let place = place();
    let ada = place.agent("ada");
    let (task, tree) = begun(&place, &ada);
    says(&tree, PYTEST, "1");
    let shown = ada.ok("validate", json!({ "task": task }));
    let result = &shown["results"][0];
    assert_eq!(result["tests"], json!({ "run": 3, "passed": 1, "failed": 2, "skipped": 0 }), "{shown:#}");
    let failing = texts(&result["failing"]);
    assert!(failing[0].starts_with("tests/test_a.py:7: test:tests.test_a.test_two: "), "{shown:#}");
    let record = place.data(&["evidence", "show", &text(&result["evidence"])]);
    assert_eq!(record["record"]["failing"]["items"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_pass_that_the_output_contradicts_is_held_back_until_a_person_accepts_it() {
    let place = place();
    let ada = place.agent("ada");
    let (task, tree) = begun(&place, &ada);
    for (output, why) in [
        (PYTEST.to_owned(), "2 tests failed"),
        (
            "collected 0 items\n\n============================ no tests ran in 0.01s =============================\n"
                .to_owned(),
            "0 tests ran",
        ),
        (
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
                .to_owned(),
            "1 tests failed",
        ),
    ] {
        says(&tree, &output, "0");
        let shown = ada.ok("validate", json!({ "task": task }));
        let result = &shown["results"][0];
        assert_eq!((&result["verdict"], state(&shown)), (&json!("fail"), "suspicious".to_owned()), "{shown:#}");
        assert!(result["reasons"].to_string().contains(why), "{why}: {shown:#}");
        let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task, "summary": "done" }));
        assert_eq!(refusal["details"]["unmet"][0]["state"], "suspicious");
    }
    let shown = ada.ok("validate", json!({ "task": task }));
    let evidence = text(&shown["results"][0]["evidence"]);
    assert_eq!(shown["results"][0]["fresh"], true, "it is an answer, and is not run again");
    ada.no("PERSON_REQUIRED", "evidence.accept", json!({ "evidence": evidence, "reason": "trust me" }));
    let accept = ["evidence", "accept", &evidence, "--reason", "the suite prints that"];
    let Some(accepted) = place.person(&accept) else { return };
    assert_eq!(accepted.status, 0, "{accepted:?}");
    assert_eq!(state(&ada.ok("validate", json!({ "task": task }))), "met");
    assert_eq!(place.person(&accept).expect("as before").status, 3, "there is nothing left to accept");
    ada.ok("task.finish", json!({ "task": task, "summary": "done" }));
}

#[test]
fn fewer_tests_than_on_the_base_are_suspicious_and_more_are_not() {
    let place = place();
    let ada = place.agent("ada");
    let (task, tree) = begun(&place, &ada);
    assert_eq!(state(&ada.ok("validate", json!({ "task": task }))), "met", "the workspace is the base as yet");
    for (count, expected) in [(2, "suspicious"), (4, "met"), (3, "met")] {
        says(&tree, &passed(count), "0");
        let shown = ada.ok("validate", json!({ "task": task }));
        assert_eq!(state(&shown), expected, "{count}: {shown:#}");
    }
}

#[test]
fn a_check_says_how_many_tests_it_takes_and_which_report_counts() {
    let junit = r#"
[checks.reports]
run = "test -e skip || cp source.xml report.xml"
kind = "test"
report = "report.xml"
min_tests = 2
required = false
"#;
    let place = Place::with_profile(&format!("{PROFILE}{junit}"));
    place.write(".gitignore", "report.xml\nskip\n");
    let suite = |cases: &str| format!("<testsuite name=\"s\">{cases}</testsuite>\n");
    let case = |name: &str| format!("<testcase classname=\"a.B\" name=\"{name}\"/>");
    place.write("source.xml", &suite(&[case("one"), case("two")].concat()));
    place.commit("a suite");
    place.git(&["push", "-q", "origin", "main"]);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["r=check:reports"] }));
    let tree = ada.workspace(&task);
    let validate = || ada.ok("validate", json!({ "task": task, "rerun": true }));
    let shown = validate();
    assert_eq!((state(&shown), &shown["results"][0]["tests"]["run"]), ("met".to_owned(), &json!(2)), "{shown:#}");
    write(&tree.join("source.xml"), &suite(&case("one")));
    let shown = validate();
    assert_eq!(state(&shown), "suspicious", "{shown:#}");
    write(&tree.join("source.xml"), &suite(&[case("one"), case("two"), case("three")].concat()));
    write(&tree.join("skip"), "x\n");
    std::fs::File::open(tree.join("report.xml"))
        .and_then(|file| file.set_modified(std::time::UNIX_EPOCH))
        .expect("set");
    let stale = validate();
    assert_eq!(state(&stale), "error", "yesterday's report speaks for yesterday: {stale:#}");
    assert!(stale["results"][0]["reasons"].to_string().contains("older than the run"), "{stale:#}");
    std::fs::remove_file(tree.join("report.xml")).expect("removed");
    assert_eq!(state(&validate()), "error", "no report is no answer");
}

#[test]
fn attempts_without_progress_are_counted_regrounded_and_end_in_a_ticket_that_only_a_pass_closes() {
    let place = place();
    let ada = place.agent("ada");
    let (task, tree) = begun(&place, &ada);
    let mut tries = 0;
    let mut attempt = |output: &str, status: &str| {
        tries += 1;
        says(&tree, &format!("# try {tries}\n{output}"), status);
        ada.call("validate", json!({ "task": task })).expect("judged")
    };
    let warned = |answer: &Value, code: &str| answer["warnings"].to_string().contains(code);
    let first = attempt(PYTEST, "1");
    assert!(!warned(&first, "no_progress"), "{first:#}");
    attempt(PYTEST, "1");
    let third = attempt(PYTEST, "1");
    assert!(warned(&third, "no_progress") && proposed(&third).contains(&"reground".to_owned()), "{third:#}");
    let listed = place.data(&["failure", "list", &task]);
    let line = &listed["items"][0];
    assert_eq!((&line["attempts"], &line["gates"]), (&json!(3), &json!(["criterion s"])), "{listed:#}");
    let laid_out = ada.ok("reground", json!({ "task": task }));
    let packet = &laid_out["packet"];
    assert_eq!(packet["never_moved"].as_array().map(Vec::len), Some(2), "{laid_out:#}");
    assert_eq!(place.data(&["failure", "show", &task])["absolute"], 3);
    let fewer = PYTEST
        .replace("FAILED tests/test_a.py::test_three - assert 3 == 4\n", "")
        .replace("2 failed, 1", "1 failed, 2");
    let fewer = fewer.replace("__________________________________ test_three __________________________________\n\n    def test_three():\n>       assert add(1, 2) == 4\nE       assert 3 == 4\n\ntests/test_a.py:10: AssertionError\n", "");
    let shrunk = attempt(&fewer, "1");
    assert!(!warned(&shrunk, "no_progress"), "one fewer is progress: {shrunk:#}");
    let mut last = shrunk;
    for _ in 0..4 {
        last = attempt(&fewer, "1");
    }
    assert!(warned(&last, "stuck") && proposed(&last).contains(&"task.block".to_owned()), "{last:#}");
    let tickets = place.data(&["ticket", "list"]);
    assert_eq!(
        (&tickets["items"][0]["task"], &tickets["items"][0]["closed"]),
        (&json!(task), &Value::Null),
        "{tickets:#}"
    );
    let again = ada.no("CONFLICT", "ticket.open", json!({ "task": task, "criterion": "s", "capability": "time" }));
    assert_eq!(again["details"]["ticket"], tickets["items"][0]["ticket"]);
    ada.no("NOT_FOUND", "ticket.open", json!({ "task": task, "criterion": "x", "capability": "time" }));
    let green = attempt(&passed(3), "0");
    assert_eq!(green["data"]["verified"], true, "{green:#}");
    assert_eq!(place.data(&["ticket", "list"])["items"], json!([]), "it passed");
    let all = place.data(&["ticket", "list", "--all"]);
    assert!(all["items"][0]["closed"]["run"].is_string(), "{all:#}");
    assert_eq!(place.data(&["failure", "list"])["items"], json!([]));
    assert_eq!(place.refusal(&["reground", &task])["code"], "NOT_FOUND");
}

#[test]
fn the_base_tells_a_regression_from_what_failed_before() {
    let checks = r#"
[checks.a]
run = "test ! -e a-broken"
required = false
[checks.b]
run = "test ! -e b-broken"
required = false
"#;
    let place = Place::with_profile(&format!("{PROFILE}{checks}"));
    place.write("b-broken", "x\n");
    place.commit("b is broken on the base");
    place.git(&["push", "-q", "origin", "main"]);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["check:a", "check:b"] }));
    let tree = ada.workspace(&task);
    let validate = || ada.ok("validate", json!({ "task": task, "baseline": true }));
    let stands = |shown: &Value| -> Vec<String> {
        shown["results"].as_array().expect("a list").iter().map(|one| text(&one["against_base"])).collect()
    };
    assert_eq!(stands(&validate()), ["holding", "already_failing"]);
    write(&tree.join("a-broken"), "x\n");
    std::fs::remove_file(tree.join("b-broken")).expect("removed");
    let runs = || place.log().iter().filter(|event| event["type"] == "run.ended").count();
    let before = runs();
    assert_eq!(stands(&validate()), ["regression", "fixed"]);
    assert_eq!(runs() - before, 2, "the base did not move, and is not run again");
    let left = place.git(&["worktree", "list", "--porcelain"]);
    assert!(
        !left.contains("baseline-") && place.git(&["branch", "--list", "kctl/baseline-*"]).trim().is_empty(),
        "{left}"
    );
    assert!(
        ada.ok("validate", json!({ "task": task }))
            .get("results")
            .is_some_and(|all| !all.to_string().contains("against_base"))
    );
}

#[test]
fn a_check_that_failed_before_and_fails_more_is_a_regression_unless_all_of_that_is_new() {
    let place = place();
    let ada = place.agent("ada");
    let old = "def test_one(): pass\ndef test_two(): pass\n";
    let failing = |names: &[&str]| {
        let lines: Vec<String> =
            names.iter().map(|name| format!("FAILED tests/test_a.py::{name} - assert 1 == 2")).collect();
        let (lines, count) = (lines.join("\n"), names.len());
        format!(
            "collected 3 items\n\n=== short test summary info ===\n{lines}\n=== {count} failed, 1 passed in 0.12s ===\n"
        )
    };
    place.write("out.txt", &failing(&["test_one"]));
    place.write("status", "1\n");
    place.write("tests/test_a.py", old);
    place.commit("a suite");
    place.git(&["push", "-q", "origin", "main"]);
    let task = ada.claimed(json!({ "title": "one", "criteria": ["s=check:says"] }));
    let tree = ada.workspace(&task);
    let stands = |names: &[&str], source: &str| {
        says(&tree, &failing(names), "1");
        write(&tree.join("tests/test_a.py"), source);
        let shown = ada.ok("validate", json!({ "task": task, "baseline": true }));
        let result = &shown["results"][0];
        (text(&result["against_base"]), result["newly_failing"].as_array().map_or(0, Vec::len))
    };
    let grown = format!("{old}def test_three(): pass\n");
    for (names, source, expected) in [
        (&["test_one"][..], old, ("already_failing", 0)),
        (&["test_one", "test_two"], old, ("regression", 1)),
        (&["test_two"], &grown, ("regression", 1)),
        (&["test_one", "test_three"], &grown, ("new", 1)),
        (&["test_one", "test_two", "test_three"], &grown, ("regression", 2)),
    ] {
        assert_eq!(stands(names, source), (expected.0.to_owned(), expected.1), "{names:?}");
    }
    let ran = place.kctl(&["validate", &task, "--baseline"]);
    assert!(ran.stdout.contains("regression"), "{}", ran.stdout);
    assert!(ran.stderr.contains("newly failing: test:tests.test_a.test_two"), "{}", ran.stderr);
    place.git_in(&tree, &["mv", "tests/test_a.py", "tests/test_b.py"]);
    let moved = failing(&["test_one", "test_two"]).replace("test_a", "test_b");
    says(&tree, &moved, "1");
    let shown = ada.ok("validate", json!({ "task": task, "baseline": true }));
    assert_eq!(shown["results"][0]["against_base"], "regression", "a test that was moved is not new: {shown:#}");
}

#[test]
fn the_guard_has_its_reference_after_the_branch_was_squashed_onto_the_base() {
    let place = place();
    let ada = place.agent("ada");
    let (task, tree) = begun(&place, &ada);
    says(&tree, &passed(7), "0");
    place.commit_in(&tree, "more tests");
    ada.ok("validate", json!({ "task": task }));
    let branch = place.git_in(&tree, &["rev-parse", "HEAD"]).trim().to_owned();
    place.git(&["merge", "-q", "--squash", &branch]);
    place.git(&["commit", "-q", "--no-verify", "-m", "squashed"]);
    place.git(&["push", "-q", "--no-verify", "origin", "main"]);
    place.git(&["fetch", "-q"]);
    let next = ada.claimed(json!({ "title": "two", "criteria": ["s=check:says"] }));
    let tree = ada.workspace(&next);
    assert_eq!(ada.ok("validate", json!({ "task": next }))["results"][0]["verdict"], "pass");
    says(&tree, &passed(5), "0");
    let fewer = ada.ok("validate", json!({ "task": next }));
    assert_eq!(state(&fewer), "suspicious", "{fewer:#}");
    assert!(fewer["results"][0]["reasons"].to_string().contains("accepted run had 7"), "{fewer:#}");
}

#[test]
fn a_pass_whose_tests_cannot_be_counted_is_told_and_is_none_where_a_count_was_asked_for() {
    let kinds = [("", true), ("parser = \"none\"\n", false), ("kind = \"command\"\n", false)];
    let check = |extra: &str| {
        let kind = if extra.contains("kind") { "" } else { "kind = \"test\"\n" };
        format!("{PROFILE}\n[checks.says]\nrun = \"test -e src/lib.txt\"\nrequired = false\n{kind}{extra}")
    };
    for (extra, warned) in kinds {
        let place = Place::with_profile(&check(extra));
        let ada = place.agent("ada");
        let task = ada.claimed(json!({ "title": "one", "criteria": ["s=check:says"] }));
        ada.workspace(&task);
        let shown = ada.call("validate", json!({ "task": task })).expect("shown");
        assert_eq!(state(&shown["data"]), "met", "{shown:#}");
        let warnings = shown["warnings"].as_array().expect("a list");
        let told: Vec<&Value> = warnings.iter().filter(|one| one["code"] == "tests_not_counted").collect();
        assert_eq!(told.len(), usize::from(warned), "{extra}: {shown:#}");
        for word in ["`says`", "parser", "report", "min_tests"] {
            assert!(told.iter().all(|one| text(&one["message"]).contains(word)), "{shown:#}");
        }
    }
    for extra in ["min_tests = 1\n", "min_tests = 1\nparser = \"none\"\n"] {
        let place = Place::with_profile(&check(extra));
        let ada = place.agent("ada");
        let task = ada.claimed(json!({ "title": "one", "criteria": ["s=check:says"] }));
        ada.workspace(&task);
        assert_eq!(state(&ada.ok("validate", json!({ "task": task }))), "suspicious", "{extra}");
    }
}
