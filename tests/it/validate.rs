//! `validate`: runs what is due, skips what is fresh, and a verdict speaks for the inputs that it saw and no others.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::place::{PROFILE, Place, proposed, text, texts, write};

/// Two checks with inputs of their own, one that needs the other, and marks of how often each ran.
const TWO: &str = r#"version = 1

[limits]
parallel = 1

[sandbox]
writable = [".."]

[checks.build]
run = "echo b >> ../ran; test ! -e src/broken"
inputs = ["src/**"]

[checks.docs]
run = "echo d >> ../ran; test -e docs/index.md"
inputs = ["docs/**"]

[checks.test]
run = "echo t >> ../ran; test ! -e src/failing"
inputs = ["src/**"]
needs = ["build"]
"#;

fn result<'s>(shown: &'s Value, check: &str) -> &'s Value {
    let results = shown["results"].as_array().expect("a list");
    results.iter().find(|one| one["check"] == check).unwrap_or_else(|| panic!("no `{check}`: {shown:#}"))
}

fn told(shown: &Value, check: &str) -> (String, bool) {
    let one = result(shown, check);
    (text(&one["verdict"]), one["fresh"] == true)
}

fn pass(fresh: bool) -> (String, bool) {
    ("pass".to_owned(), fresh)
}

#[test]
fn what_is_fresh_is_not_run_again_and_one_check_never_stales_another() {
    let place = Place::with_profile(TWO);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let tree = ada.workspace(&task);
    write(&tree.join("docs/index.md"), "hello\n");
    let ran = || fs::read_to_string(tree.join("../ran")).unwrap_or_default().replace('\n', "");
    let validate = || ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    let first = validate();
    let order: Vec<String> =
        first["results"].as_array().expect("a list").iter().map(|one| text(&one["check"])).collect();
    assert_eq!(order, ["build", "docs", "test"], "each after what it needs");
    assert_eq!((&first["verified"], ran().as_str()), (&json!(true), "bdt"));
    assert_eq!(first["publication_ready"], false, "`docs/index.md` is not committed: {first:#}");
    let events = place.log().len();
    let second = validate();
    assert_eq!(
        (told(&second, "build"), told(&second, "docs"), told(&second, "test")),
        (pass(true), pass(true), pass(true))
    );
    assert_eq!((place.log().len(), ran().as_str()), (events, "bdt"), "nothing ran and nothing was recorded");
    write(&tree.join("docs/index.md"), "hello again\n");
    let third = validate();
    assert_eq!(
        (told(&third, "build"), told(&third, "docs"), told(&third, "test")),
        (pass(true), pass(false), pass(true))
    );
    write(&tree.join("docs/index.md"), "hello\n");
    assert_eq!(told(&validate(), "docs"), pass(true), "what was there before is known still");
    place.commit_in(&tree, "docs");
    let committed = validate();
    assert_eq!((&committed["publication_ready"], ran().as_str()), (&json!(true), "bdtd"));
    let again = ada.ok("validate", json!({ "task": task, "scope": "branch", "checks": ["docs"], "rerun": true }));
    assert_eq!((again["results"].as_array().map(Vec::len), ran().as_str()), (Some(1), "bdtdd"));
    let ci = ada.ok("validate", json!({ "task": task, "scope": "ci" }));
    assert_eq!(
        (&ci["verified"], &ci["publication_ready"]),
        (&json!(true), &json!(false)),
        "a runner proves no custody"
    );
}

#[test]
fn what_needs_a_check_that_did_not_pass_is_skipped_and_says_so() {
    let place = Place::with_profile(TWO);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["check:test"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("src/broken"), "");
    let shown = ada.call("validate", json!({ "task": task })).expect("it answers");
    let data = &shown["data"];
    assert_eq!((told(data, "build").0.as_str(), told(data, "test").0.as_str()), ("fail", "skipped"));
    assert!(text(&result(data, "test")["reasons"][0]).contains("build"), "{data:#}");
    assert_eq!(data["criteria"][0]["state"], "never_checked");
    assert_eq!(proposed(&shown), ["evidence.log", "validate"]);
    fs::remove_file(tree.join("src/broken")).expect("removed");
    assert_eq!(ada.ok("validate", json!({ "task": task }))["verified"], true);
    let ran = place.kctl(&["validate", &task, "--rerun"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    write(&tree.join("src/failing"), "");
    assert_eq!(place.kctl(&["validate", &task]).status, 8, "the news is bad");
    assert_eq!(place.kctl(&["rpc", "--op", "validate", "--params", &json!({ "task": task }).to_string()]).status, 8);
}

#[test]
fn after_an_edit_evidence_is_stale_with_the_file_named_and_taking_it_back_restores_it() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one", "criteria": ["check:test"] }));
    write(&tree.join("src/lib.txt"), "one\ntwo\nthree\n");
    write(&tree.join("new file.txt"), "x\n");
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    let unmet = &refusal["details"]["unmet"][0];
    assert_eq!(unmet["state"], "stale");
    assert_eq!(texts(&unmet["last"]["changed"]), ["new file.txt", "src/lib.txt"], "{refusal:#}");
    assert_eq!(unmet["last"]["verdict"], "pass");
    assert!(text(&refusal["next"][0]["why"]).contains("src/lib.txt"), "{refusal:#}");
    place.git_in(&tree, &["checkout", "-q", "--", "src/lib.txt"]);
    fs::remove_file(tree.join("new file.txt")).expect("removed");
    assert_eq!(ada.ok("task.finish", json!({ "task": task }))["state"], "verified");
}

#[test]
fn a_run_whose_inputs_moved_says_nothing_about_either() {
    let run = "echo more >> src/lib.txt; test -s src/lib.txt";
    let place = Place::with_profile(&PROFILE.replace("test ! -e broken", run));
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    ada.workspace(&task);
    let shown = ada.ok("validate", json!({ "task": task }));
    assert_eq!(told(&shown, "test"), ("error".to_owned(), false));
    assert!(text(&result(&shown, "test")["reasons"][0]).contains("inputs changed"), "{shown:#}");
    assert_eq!((&shown["verified"], &shown["candidate"]["clean"]), (&json!(false), &json!(false)));
    ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
}

#[test]
fn a_run_that_could_not_tell_is_no_answer_and_is_tried_again() {
    let place = Place::with_profile(&PROFILE.replace("test ! -e broken", "kctl-it-tool").replace("20s", "2s"));
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["check:test"] }));
    ada.workspace(&task);
    let validate = || ada.ok("validate", json!({ "task": task }));
    let missing = validate();
    assert_eq!(told(&missing, "test"), ("unavailable".to_owned(), false));
    assert!(text(&result(&missing, "test")["reasons"][0]).contains("kctl-it-tool"), "{missing:#}");
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!(refusal["details"]["unmet"][0]["state"], "unavailable");
    let tool = place.top().join("bin/kctl-it-tool");
    let install = |body: &str| {
        write(&tool, body);
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("set");
    };
    let path = std::env::var("PATH").expect("it is set");
    place.set("PATH", Some(&format!("{}:{path}", tool.parent().expect("it has one").display())));
    install("#!/bin/sh\nsleep 30\n");
    let late = validate();
    assert_eq!(told(&late, "test"), ("error".to_owned(), false), "{late:#}");
    install("#!/bin/sh\nexit 1\n");
    assert_eq!(told(&validate(), "test"), ("fail".to_owned(), false));
    assert_eq!(told(&validate(), "test"), ("fail".to_owned(), true), "a plain no is an answer");
    install("#!/bin/sh\nexit 0\n");
    let again = ada.ok("validate", json!({ "task": task, "rerun": true }));
    assert_eq!((told(&again, "test"), &again["verified"]), (pass(false), &json!(true)), "after three that agree");
}

#[test]
fn a_dry_run_says_what_is_due_and_runs_nothing() {
    let place = Place::with_profile(TWO);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["file_exists:src/lib.txt"] }));
    let tree = ada.workspace(&task);
    let events = place.log().len();
    let shown = ada.ok("validate", json!({ "task": task, "scope": "branch", "dry_run": true }));
    let results = shown["results"].as_array().expect("a list");
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|one| one["verdict"] == "skipped" && one["evidence"].is_null()), "{shown:#}");
    assert!(!tree.join("../ran").exists());
    assert_eq!(place.log().len(), events);
}

#[test]
fn only_what_is_due_can_be_asked_for() {
    let place = Place::with_profile(TWO);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["docs=check:docs", "lib=file_exists:src/lib.txt"] }));
    ada.workspace(&task);
    let unknown = ada.no("CHECK_UNKNOWN", "validate", json!({ "task": task, "checks": ["build"] }));
    assert_eq!(texts(&unknown["details"]["known"]), ["docs", "file_exists"]);
    let criterion = ada.no("INVALID_VALUE", "validate", json!({ "task": task, "criteria": ["nope"] }));
    assert_eq!(criterion["details"]["field"], "criteria");
    let one = ada.ok("validate", json!({ "task": task, "criteria": ["lib"] }));
    assert_eq!(one["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["verified"], false, "the other criterion stands open still");
    let both = ada.no("INVALID_VALUE", "validate", json!({ "task": task, "commitment": "c-000000000000" }));
    assert_eq!(both["details"]["field"], "commitment");
}

#[test]
fn evidence_is_listed_shown_with_its_output_and_holds_no_secret() {
    let secret = format!("ghp_{}", "x7Qm2Kd9Tz4Wb8Lr1Vn6Yc3Hj5Pf0Sg2Ae9U");
    let run = format!("echo first line; echo token {secret}; test -e nothing");
    let place = Place::with_profile(&PROFILE.replace("test ! -e broken", &run));
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let tree = ada.workspace(&task);
    let shown = ada.ok("validate", json!({ "task": task }));
    let evidence = text(&result(&shown, "test")["evidence"]);
    let record = place.call("evidence.show", json!({ "evidence": evidence, "output": true })).expect("it is read");
    let (data, record) = (&record["data"], &record["data"]["record"]);
    assert!(text(&data["output"]).starts_with("first line\n"), "{data:#}");
    assert_eq!((&record["exit"], &record["redactions"], &record["level"]), (&json!(1), &json!(1), &json!("L1")));
    assert_eq!((&record["fence"], &record["session"]), (&json!(1), &json!(ada.session)));
    assert_eq!(record["input_before"], record["input_after"]);
    assert_eq!(record["candidate"]["head"], json!(place.git_in(&tree, &["rev-parse", "HEAD"])));
    assert!(record["tools"].is_object() && record["kctl_version"].is_string());
    let listed = place.call("evidence.list", json!({ "task": task, "check": "test" })).expect("it is read");
    assert_eq!(listed["data"]["items"][0]["id"], json!(evidence));
    let none = place.call("evidence.list", json!({ "check": "other" })).expect("it is read");
    assert_eq!(none["data"]["items"], json!([]));
    let mut open = vec![place.repo.join(".git/decapod")];
    while let Some(dir) = open.pop() {
        for path in fs::read_dir(dir).expect("listed").map(|entry| entry.expect("listed").path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                let kept = fs::read(&path).expect("read");
                assert!(!String::from_utf8_lossy(&kept).contains(&secret), "{path:?}");
            }
        }
    }
}

#[test]
fn without_a_task_the_tree_that_the_call_was_made_in_is_judged() {
    let place = Place::new();
    let shown = place.data(&["validate"]);
    assert_eq!((&shown["scope"], &shown["publication_ready"]), (&json!("branch"), &json!(true)));
    assert_eq!(shown["work_tree"], json!(place.repo));
    place.write("broken", "");
    assert_eq!(place.kctl(&["validate"]).status, 8);
    place.write(".decapod/kctl.toml", "version = 1\n[checks.test]\nrun = \"true\"\n");
    let refusal = place.call("validate", json!({})).expect_err("its profile cannot be read");
    assert_eq!(refusal["code"], "PROFILE_INVALID", "{refusal:#}");
}

#[test]
fn inputs_that_are_links_to_what_no_digest_covers_are_named() {
    let place = Place::with_profile(TWO);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let tree = ada.workspace(&task);
    write(&place.top().join("outside.txt"), "x\n");
    write(&tree.join(".gitignore"), "ignored\n");
    write(&tree.join("ignored"), "x\n");
    let links = [
        ("src/absolute", place.top().join("outside.txt").to_str().expect("UTF-8").to_owned()),
        ("src/inside", "lib.txt".to_owned()),
        ("src/nowhere", "../none".to_owned()),
        ("src/to-ignored", "../ignored".to_owned()),
        ("docs/no-input-of-a-check-that-is-due", "../ignored".to_owned()),
    ];
    for (name, target) in links {
        fs::create_dir_all(tree.join(name).parent().expect("it has one")).expect("made");
        std::os::unix::fs::symlink(target, tree.join(name)).expect("linked");
    }
    let warned = |params: Value| {
        let answer = ada.call("validate", params).expect("judged");
        let all = answer["warnings"].as_array().expect("a list").clone();
        all.iter().map(|one| (text(&one["code"]), text(&one["message"]))).collect::<Vec<_>>()
    };
    let found = warned(json!({ "task": task, "checks": ["test"] }));
    assert_eq!((found.len(), found[0].0.as_str()), (1, "inputs_outside"), "{found:?}");
    assert!(found[0].1.ends_with(": `src/absolute`, `src/to-ignored`"), "{found:?}");
    for name in ["src/absolute", "src/to-ignored"] {
        fs::remove_file(tree.join(name)).expect("removed");
    }
    assert_eq!(warned(json!({ "task": task, "checks": ["test"] })), []);
}

/// The spec lets a command be run that nobody declared: it is recorded, and earns nothing.
#[test]
fn a_command_of_ones_own_is_recorded_and_shows_no_criterion() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["t=check:test"] }));
    ada.workspace(&task);
    let run = |command: &str| ada.call("validate", json!({ "task": task, "run": command })).expect("it answers");
    let declared = "test ! -e broken";
    for (command, verdict) in [("test -d src", "pass"), ("test -e nowhere", "fail"), (declared, "pass")] {
        let answer = run(command);
        let data = &answer["data"];
        assert_eq!(
            (data["results"].as_array().map(Vec::len), told(data, "command")),
            (Some(1), (verdict.into(), false))
        );
        assert_eq!(
            data["criteria"][0]["state"], "never_checked",
            "not even the declared command's own words: {data:#}"
        );
        assert_eq!((&data["verified"], &data["publication_ready"]), (&json!(false), &json!(false)));
        let warned = answer["warnings"].as_array().expect("a list").iter().any(|one| one["code"] == "not_evidence");
        assert!(warned, "{answer:#}");
        assert_eq!(proposed(&answer).contains(&"check.run".to_owned()), command == declared, "{command}: {answer:#}");
        let evidence = json!({ "evidence": data["results"][0]["evidence"] });
        let shown = ada.ok("evidence.show", evidence).to_string();
        assert!(
            shown.contains(command) && shown.contains("\"asserted\"") && !shown.contains("\"observed\""),
            "{shown}"
        );
    }
    assert_eq!(told(&run("test -d src")["data"], "command"), pass(false), "it is run each time");
    ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task, "summary": "done" }));
    for (wrong, field) in [
        (json!({ "task": task, "run": " " }), "run"),
        (json!({ "task": task, "run": "true x", "checks": ["test"] }), "run"),
        (json!({ "task": task, "run": "true x", "criteria": ["t"] }), "run"),
    ] {
        assert_eq!(ada.no("INVALID_VALUE", "validate", wrong)["details"]["field"], field);
    }
    let ci = place.call("validate", json!({ "scope": "branch", "run": "test -d src" })).expect("it answers");
    assert_eq!(ci["data"]["verified"], false, "where nothing else was asked it verifies nothing either: {ci:#}");
    // What is shown stays shown beside it.
    assert_eq!(ada.ok("validate", json!({ "task": task }))["verified"], true);
    assert_eq!(run("test -d src")["data"]["verified"], true);
    assert_eq!(run("test -e nowhere")["data"]["verified"], false, "all that was asked for has to pass");
}

/// `false_done-08`: what vouches for the work came with it. That is no reason to hold, and whoever reviews it knows.
#[test]
fn a_finish_that_rests_on_new_tests_alone_says_so_to_the_reviewer() {
    const COUNTS: &str = r#"
[checks.units]
run = "n=$(cat tests/*.py 2>/dev/null | grep -c 'def test_'); echo \"Ran $n tests in 0.010s\"; echo; echo OK; test \"$n\" -gt 0"
kind = "test"
parser = "unittest"
required = false
"#;
    let tests = |names: &[&str]| {
        let each = names
            .iter()
            .map(|name| format!("    def test_{name}(self):\n        self.assertEqual(f('{name}'), 1)\n\n"));
        format!("import unittest\n\n\nclass Some(unittest.TestCase):\n{}", each.collect::<String>())
    };
    for stood in [false, true] {
        let place = Place::with_profile(&format!("{PROFILE}{COUNTS}"));
        if stood {
            place.write("tests/test_old.py", &tests(&["old"]));
            place.commit("a test");
            place.git(&["push", "-q", "origin", "main"]);
        }
        let ada = place.agent("ada");
        let task = ada.claimed(json!({ "title": "one", "criteria": ["u=check:units"] }));
        let tree = ada.workspace(&task);
        write(&tree.join("tests/test_new.py"), &tests(&["one", "two"]));
        write(&tree.join("src/f.py"), "def f(x):\n    return 1\n");
        place.commit_in(&tree, "work");
        ada.ok("validate", json!({ "task": task }));
        assert_eq!(ada.ok("finding.list", json!({ "task": task }))["new_tests"], 2);
        let finished =
            ada.call("task.finish", json!({ "task": task, "summary": "done" })).expect("it holds nothing up");
        let warnings = finished["warnings"].as_array().expect("a list").iter();
        let said: Vec<String> =
            warnings.filter(|one| one["code"] == "only_new_tests").map(|one| text(&one["message"])).collect();
        match stood {
            true => assert_eq!(said, Vec::<String>::new(), "one that stood at the base ran as well"),
            false => {
                assert!(said.len() == 1 && said[0].starts_with("2 tests are new in this change and 2 ran"), "{said:?}")
            }
        }
    }
}
