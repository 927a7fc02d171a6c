//! `init` and `uninstall` through the binary: shown first, done once, taken back whole.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::place::{Place, text, write};

/// The work tree, the hooks and the configuration, as text.
fn picture(place: &Place) -> String {
    let config = fs::read_to_string(place.repo.join(".git/config")).expect("read").replace("[decapod]\n", "");
    let mut hooks: Vec<String> = fs::read_dir(place.repo.join(".git/hooks"))
        .expect("listed")
        .map(|entry| entry.expect("listed").path())
        .filter(|path| path.extension().is_none_or(|extension| extension != "sample"))
        .map(|path| format!("{} {}", path.display(), fs::read_to_string(&path).unwrap_or_default()))
        .collect();
    hooks.sort();
    format!("{}\n{config}\n{hooks:#?}", place.git(&["status", "--porcelain", "--untracked-files=all"]))
}

fn cargo_project(place: &Place) {
    place.write("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    place.write("AGENTS.md", "# Ours\n\nKeep this.\n");
    place.write(".decapod/theirs.md", "Decapod's own\n");
    place.commit("a project");
}

/// What a person who uninstalls is answered; none where there is no terminal to be had.
fn uninstalled(place: &Place) -> Option<serde_json::Value> {
    let ran = place.person(&["uninstall", "--json"])?;
    assert_eq!(ran.status, 0, "{ran:#?}");
    Some(ran.json()["data"].clone())
}

#[test]
fn an_agent_may_see_what_uninstall_would_do_and_not_do_it() {
    let place = Place::new();
    let ada = place.agent("ada");
    let before = picture(&place);
    let shown = ada.ok("uninstall", json!({ "dry_run": true }));
    assert!(shown["steps"].as_array().is_some_and(|steps| !steps.is_empty()), "{shown:#}");
    ada.no("PERSON_REQUIRED", "uninstall", json!({}));
    assert_eq!(place.call("uninstall", json!({})).expect_err("nobody")["code"], "PERSON_REQUIRED");
    assert_eq!(picture(&place), before, "the gate stays");
}

#[test]
fn it_is_shown_before_it_is_done_and_done_once_and_taken_back() {
    let place = Place::untouched();
    cargo_project(&place);
    let before = picture(&place);
    let shown = place.data(&["init", "--dry-run"]);
    assert_eq!((&shown["changed"], picture(&place)), (&json!(false), before.clone()));
    assert!(!place.repo.join(".git/decapod").exists());
    let proposed: Vec<String> =
        shown["checks"].as_array().expect("a list").iter().map(|check| text(&check["run"])).collect();
    assert!(proposed.iter().any(|run| run.starts_with("cargo test")), "{shown:#}");
    assert!(shown["checks"][0]["because"].is_string(), "nothing is guessed silently");
    let done = place.data(&["init"]);
    assert_eq!((&done["changed"], &done["steps"]), (&json!(true), &shown["steps"]), "what was shown is what was done");
    let agents = fs::read_to_string(place.repo.join("AGENTS.md")).expect("read");
    assert!(agents.starts_with("# Ours\n\nKeep this.\n") && agents.contains("kctl"), "{agents}");
    let profile = fs::read_to_string(place.repo.join(".decapod/kctl.toml")).expect("read");
    assert!(profile.contains("cargo test"), "{profile}");
    assert_eq!(fs::read_to_string(place.repo.join(".decapod/theirs.md")).expect("read"), "Decapod's own\n");
    let events = place.log().len();
    let after = picture(&place);
    let again = place.data(&["init"]);
    assert_eq!((&again["changed"], &again["steps"]), (&json!(false), &json!([])), "{again:#}");
    assert_eq!((place.log().len(), picture(&place)), (events, after));
    let Some(gone) = uninstalled(&place) else { return };
    assert_eq!(gone["changed"], true);
    assert_eq!(picture(&place), before, "as if it had never been there");
    assert!(place.repo.join(".git/decapod/ledger.db").exists(), "what was recorded stays");
    assert_eq!(uninstalled(&place).expect("as before")["changed"], false);
    assert_eq!(place.data(&["init"])["changed"], true, "and the way back in is open");
}

#[test]
fn after_a_push_the_doctor_says_that_nobody_asked_the_remote_yet() {
    let place = Place::untouched();
    let base = || {
        let told = place.kctl(&["doctor", "--json"]).ok().json()["data"].clone();
        assert_eq!(told["healthy"], true, "{told:#}");
        told["findings"].as_array().expect("a list").iter().find(|one| one["part"] == "base").expect("a base").clone()
    };
    place.write("Makefile", "test:\n\ttest -e Makefile\n");
    place.data(&["init"]);
    place.commit("kctl");
    assert!(text(&base()["what"]).ends_with("has no profile"), "{:#}", base());
    place.git(&["push", "-q", "origin", "main"]);
    let pushed = base();
    let head = &place.git(&["rev-parse", "HEAD"])[..12];
    assert!(text(&pushed["what"]).starts_with(&format!("refs/remotes/origin/main is at {head} here")), "{pushed:#}");
    assert!(text(&pushed["what"]).contains("was not asked yet") && !text(&pushed["what"]).contains("no profile"));
    assert!(text(&pushed["remedy"]).starts_with("kctl validate asks the remote"), "{pushed:#}");
    place.kctl(&["validate"]).ok();
    assert_eq!((&base()["health"], &base()["remedy"]), (&json!("ok"), &json!(null)));
}

/// Each of the layouts that Python projects without pytest have: what is proposed finds the one test that is there.
#[test]
fn the_proposed_unittest_runs_the_tests_and_its_words_are_read() {
    let test = |said: &str| {
        format!(
            "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, {said})\n"
        )
    };
    let layouts: [&[&str]; 4] = [
        &["tests/__init__.py", "tests/test_a.py"],
        &["tests/test_a.py"],
        &["test_a.py"],
        &["tests/unit/__init__.py", "tests/unit/test_a.py"],
    ];
    for layout in layouts {
        let place = Place::untouched();
        let (file, packages) = layout.split_last().expect("a file of tests");
        packages.iter().for_each(|package| place.write(package, ""));
        place.write(file, &test("1"));
        place.commit("tests");
        let proposed = text(&place.data(&["init"])["checks"][0]["run"]);
        assert!(proposed.starts_with("python3 -m unittest"), "{layout:?}: {proposed}");
        place.commit("kctl");
        let ran = |status: i32| {
            let ran = place.kctl(&["check", "run", "test", "--json"]);
            assert_eq!(ran.status, status, "{layout:?}: {proposed}: {ran:#?}");
            let evidence = text(&ran.json()["data"]["results"][0]["evidence"]);
            place.data(&["evidence", "show", &evidence])
        };
        let passed = ran(0);
        assert_eq!(passed["record"]["tests"]["passed"], 1, "{layout:?}: {proposed}: {passed:#}");
        place.write(file, &test("2"));
        let failed = ran(8);
        assert_eq!(failed["record"]["tests"]["failed"], 1, "{layout:?}: {proposed}: {failed:#}");
    }
}

#[test]
fn a_profile_that_was_edited_since_is_not_taken_back() {
    let place = Place::untouched();
    cargo_project(&place);
    place.data(&["init"]);
    let path = place.repo.join(".decapod/kctl.toml");
    let edited = format!("{}\n# ours now\n", fs::read_to_string(&path).expect("read"));
    write(&path, &edited);
    let Some(gone) = uninstalled(&place) else { return };
    assert_eq!(fs::read_to_string(&path).expect("it stays"), edited);
    assert!(gone["notices"].to_string().contains("kctl.toml"), "and says so: {gone:#}");
}

#[test]
fn from_below_and_from_a_linked_work_tree_it_is_the_same_root() {
    let place = Place::untouched();
    let below = place.repo.join("src");
    place.kctl_in(&below, &["init"]).ok();
    assert!(place.repo.join(".decapod/kctl.toml").exists());
    let linked = place.top().join("linked");
    place.git(&["worktree", "add", "-q", "--detach", linked.to_str().expect("UTF-8")]);
    let task = text(&place.data(&["task", "create", "one"])["id"]);
    let seen = place.kctl_in(&linked, &["task", "show", &task, "--json"]);
    assert_eq!(seen.ok().json()["data"]["title"], "one");
    assert_eq!(place.kctl_in(Path::new("/"), &["-C", below.to_str().expect("UTF-8"), "task", "show", &task]).status, 0);
}

#[test]
fn the_gate_stands_beside_the_hooks_that_were_there() {
    let place = Place::untouched();
    let hooks = place.repo.join("tracked hooks");
    let hook = "#!/bin/sh\ncat > /dev/null\necho ran >> ../hook-ran\n";
    write(&hooks.join("pre-push"), hook);
    fs::set_permissions(hooks.join("pre-push"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    place.git(&["config", "core.hooksPath", "tracked hooks"]);
    place.kctl(&["init"]).ok();
    place.write(".decapod/kctl.toml", crate::place::PROFILE);
    place.commit("set up");
    place.git(&["push", "-q", "origin", "main"]);
    assert!(place.top().join("hook-ran").exists(), "the former hook still runs");
    let ada = place.agent("ada");
    let (_, tree) = ada.worked(json!({ "title": "one" }));
    let stopped = place.run(&tree, "git", &["push", "origin", "HEAD"], None);
    assert!(stopped.status != 0 && stopped.stderr.contains("NOT_CLEARED"), "{stopped:?}");
    let doctor = place.data(&["doctor"]);
    let finding = doctor["findings"].as_array().expect("a list").iter().find(|one| one["part"] == "hooks").cloned();
    assert_eq!(finding.map(|finding| finding["health"].clone()), Some(json!("ok")), "{doctor:#}");
    if uninstalled(&place).is_none() {
        return;
    }
    assert_eq!(place.git(&["config", "core.hooksPath"]), "tracked hooks");
    assert_eq!(fs::read_to_string(hooks.join("pre-push")).expect("read"), hook);
}

#[test]
fn the_ledger_is_purged_by_a_person_only_and_never_under_work() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    ada.workspace(&task);
    for params in [json!({ "purge": true }), json!({ "purge": true, "dry_run": true })] {
        assert_eq!(ada.call("uninstall", params.clone()).expect_err("an agent")["code"], "PERSON_REQUIRED");
        assert_eq!(place.call("uninstall", params).expect_err("nobody")["code"], "PERSON_REQUIRED");
    }
    let Some(early) = place.person(&["uninstall", "--purge"]) else { return };
    assert_eq!(early.status, 7, "there is work: {early:?}");
    ada.ok("workspace.remove", json!({ "task": task }));
    let purged = place.person(&["uninstall", "--purge"]).expect("as before");
    assert_eq!(purged.status, 0, "{purged:?}");
    assert!(!place.repo.join(".git/decapod/ledger.db").exists());
    let after = place.call("task.list", json!({})).expect_err("there is none any more");
    assert_eq!(after["code"], "NOT_INITIALISED", "it was purged, not lost");
}

#[test]
fn a_profile_that_cannot_be_read_is_left_as_it_is_and_said() {
    let place = Place::untouched();
    place.write(".decapod/kctl.toml", "version = 1\nchecks = 7\n");
    let done = place.data(&["init"]);
    assert!(done["notices"].to_string().contains("line 2"), "{done:#}");
    assert_eq!(fs::read_to_string(place.repo.join(".decapod/kctl.toml")).expect("read"), "version = 1\nchecks = 7\n");
    assert_eq!(
        place.refusal(&["task", "create", "x", "--criteria", "check:x"])["code"],
        "PROFILE_INVALID",
        "what cannot be read denies"
    );
    assert_eq!(place.kctl(&["doctor"]).status, 8);
}

/// An agent types what AGENTS.md says.
#[test]
fn every_call_that_agents_md_names_is_one() {
    let place = Place::new();
    let ada = place.agent("ada");
    let opened = place.call("commit.open", json!({ "objective": "x" })).expect("opened");
    let (task, commitment) = (ada.claimed(json!({ "title": "one" })), text(&opened["data"]["id"]));
    let agents = fs::read_to_string(place.repo.join("AGENTS.md")).expect("read");
    let calls: Vec<&str> =
        agents.split('`').filter(|span| span.starts_with("kctl ") && !span.contains("init")).collect();
    assert!(calls.len() > 10, "{calls:?}");
    for call in calls.into_iter().filter(|call| !call.contains("uninstall")) {
        let words: Vec<&str> = call.split(' ').skip(1).collect();
        let value = |word: &&str| match *word {
            "ID" if call.contains("commit") => commitment.clone(),
            "ID" => task.clone(),
            "NOUN" => "task".to_owned(),
            "VERB" => "show".to_owned(),
            other => other.to_lowercase(),
        };
        let words: Vec<String> = words.iter().map(value).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = place.kctl(&words);
        assert_ne!(ran.status, 2, "`{call}` is no command: {ran:?}");
    }
}
