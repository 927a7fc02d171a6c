//! Which commit judges: the base as the remote said it is, whatever the references of this clone say.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Agent, PROFILE, Place, text, write};

const MAIN: &str = "refs/remotes/origin/main";

/// A commit on top of `parent` whose profile lets everything pass, on no branch.
fn lenient(place: &Place, parent: &str) -> String {
    let clone = place.top().join("elsewhere");
    place.git_in(place.top(), &["clone", "-q", "remote.git", "elsewhere"]);
    place.git_in(&clone, &["checkout", "-q", "--detach", parent]);
    write(&clone.join(".decapod/kctl.toml"), &PROFILE.replace("test ! -e broken", "test -d ."));
    let evil = place.commit_in(&clone, "another judge");
    place.git(&["fetch", "-q", clone.to_str().expect("UTF-8"), &evil]);
    fs::remove_dir_all(&clone).expect("removed");
    evil
}

/// A claimed task whose work fails the base's check, and a commitment that rests on the check.
fn failing(ada: &Agent<'_>) -> (String, String) {
    let opened = ada.ok("commit.open", json!({ "objective": "x", "criteria": ["check:test"] }));
    let commitment = text(&opened["id"]);
    let task = ada.claimed(json!({ "title": "one", "commitment": commitment }));
    let tree = ada.workspace(&task);
    write(&tree.join("broken"), "");
    ada.place.commit_in(&tree, "break");
    (task, commitment)
}

/// What an answer warns of, but for that `test ! -e broken` counts no tests.
fn warned(answer: &Value) -> Vec<String> {
    let codes = answer["warnings"].as_array().expect("a list").iter().map(|warning| text(&warning["code"]));
    codes.filter(|code| code != "tests_not_counted").collect()
}

fn seen(place: &Place) -> Vec<String> {
    let all = place.log().into_iter().filter(|event| event["type"] == "root.base_seen");
    all.map(|event| text(&event["body"]["commit"])).collect()
}

/// Makes the remote answer or not.
fn answers(place: &Place, answers: bool) {
    let away = place.remote.with_extension("away");
    let (from, to) = if answers { (&away, &place.remote) } else { (&place.remote, &away) };
    fs::rename(from, to).expect("renamed");
}

fn assert_fails(ada: &Agent<'_>, task: &str, commitment: &str, when: &str) -> Value {
    let shown = ada.call("validate", json!({ "task": task, "rerun": true })).expect("judged");
    assert_eq!(shown["data"]["results"][0]["verdict"], "fail", "{when}: {shown:#}");
    ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    let close = json!({ "commitment": commitment, "verdict": "fulfilled" });
    ada.no("CRITERIA_OUTSTANDING", "commit.close", close);
    shown
}

#[test]
fn a_reference_that_was_moved_brings_no_other_judge() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, commitment) = failing(&ada);
    let real = place.git(&["rev-parse", MAIN]);
    let first = place.git(&["rev-list", "--max-parents=0", MAIN]);
    let (ahead, beside) = (lenient(&place, &real), lenient(&place, &first));
    for (way, moved) in [("ahead", Some(&ahead)), ("beside", Some(&beside)), ("back", Some(&first)), ("gone", None)] {
        for remote_answers in [true, false] {
            match moved {
                Some(commit) => place.git(&["update-ref", MAIN, commit]),
                None => place.git(&["update-ref", "-d", MAIN]),
            };
            let status = place.call("status", json!({})).expect("it only reads");
            assert_eq!(warned(&status), ["base_strayed"], "{way}");
            assert!(text(&status["data"]["base"]).ends_with(&real[..12]), "{way}: {status:#}");
            let when = format!("{way}, the remote answers: {remote_answers}");
            if !remote_answers {
                answers(&place, false);
            }
            let mut shown = assert_fails(&ada, &task, &commitment, &when);
            // It fails again and again, which is another matter.
            let warnings = shown["warnings"].as_array_mut().expect("a list");
            warnings.retain(|warning| !["no_progress", "stuck"].contains(&text(&warning["code"]).as_str()));
            if remote_answers {
                assert_eq!(warned(&shown), [] as [&str; 0], "{when}");
                assert_eq!(place.git(&["rev-parse", MAIN]), real, "{when}: asking put it right");
            } else {
                assert_eq!(warned(&shown), ["base_not_asked", "base_strayed"], "{when}: {shown:#}");
                answers(&place, true);
            }
        }
        assert_eq!(seen(&place).last(), Some(&real), "{way}");
    }
}

#[test]
fn a_base_that_moved_judges_once_the_remote_said_so_and_is_not_asked_for_again() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    ada.workspace(&task);
    ada.ok("validate", json!({ "task": task }));
    let before = seen(&place);
    let clone = place.top().join("colleague");
    place.git_in(place.top(), &["clone", "-q", "remote.git", "colleague"]);
    write(&clone.join(".decapod/kctl.toml"), &PROFILE.replace("[checks.test]", "[checks.other]"));
    let moved = place.commit_in(&clone, "another check");
    place.git_in(&clone, &["push", "-q", "origin", "main"]);
    answers(&place, false);
    let offline = ada.call("validate", json!({ "task": task })).expect("judged");
    assert_eq!(warned(&offline), [] as [&str; 0], "nothing here says that it moved: nobody is asked");
    answers(&place, true);
    place.git(&["fetch", "-q", "origin"]);
    let names = |shown: &Value| -> Vec<String> {
        shown["data"]["results"].as_array().expect("a list").iter().map(|one| text(&one["check"])).collect()
    };
    let tried = ada.call("validate", json!({ "task": task, "dry_run": true })).expect("looked at");
    assert_eq!((names(&tried), seen(&place)), (vec!["other".to_owned()], before.clone()), "a dry run keeps nothing");
    let shown = ada.call("validate", json!({ "task": task })).expect("judged");
    assert_eq!((names(&shown), warned(&shown)), (vec!["other".to_owned()], Vec::new()));
    assert_eq!(seen(&place), [before, vec![moved]].concat());
    answers(&place, false);
    let again = ada.call("validate", json!({ "task": task })).expect("judged");
    assert_eq!((names(&again), warned(&again)), (vec!["other".to_owned()], Vec::new()), "the remote was not asked");
    answers(&place, true);
}

#[test]
fn setting_up_once_more_accepts_no_other_base() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, commitment) = failing(&ada);
    let real = place.git(&["rev-parse", MAIN]);
    let evil = lenient(&place, &real);
    answers(&place, false);
    place.git(&["update-ref", MAIN, &evil]);
    fs::remove_file(place.repo.join("AGENTS.md")).expect("removed");
    place.kctl(&["init"]).ok();
    assert!(place.repo.join("AGENTS.md").exists(), "there was something to do");
    assert_fails(&ada, &task, &commitment, "after `init`");
    assert!(!seen(&place).contains(&evil));
}

#[test]
fn a_base_whose_commit_was_taken_away_is_missed_and_brought_back() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, commitment) = failing(&ada);
    let clone = place.top().join("colleague");
    place.git_in(place.top(), &["clone", "-q", "remote.git", "colleague"]);
    write(&clone.join("moved.txt"), "x\n");
    let real = place.commit_in(&clone, "moved");
    place.git_in(&clone, &["push", "-q", "origin", "main"]);
    place.git(&["fetch", "-q", "origin"]);
    ada.ok("validate", json!({ "task": task }));
    place.git(&["update-ref", MAIN, &format!("{real}~1")]);
    take_object(&place.repo.join(".git"), &real);
    let refusal = place.call("status", json!({})).expect_err("the base cannot be read");
    assert_eq!((&refusal["code"], &refusal["next"][0]["op"]), (&json!("BASE_UNKNOWN"), &json!("validate")));
    assert_fails(&ada, &task, &commitment, "after it was brought back");
}

fn take_object(git_dir: &Path, commit: &str) {
    fs::remove_file(git_dir.join("objects").join(&commit[..2]).join(&commit[2..])).expect("a loose object");
}

#[test]
fn what_the_remote_said_counts_even_where_nothing_can_be_fetched() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, commitment) = failing(&ada);
    let real = place.git(&["rev-parse", MAIN]);
    let evil = lenient(&place, &real);
    place.git(&["update-ref", MAIN, &evil]);
    place.git(&["remote", "set-url", "--push", "origin", place.remote.to_str().expect("UTF-8")]);
    place.git(&["remote", "set-url", "origin", "../no-such-remote.git"]);
    let shown = assert_fails(&ada, &task, &commitment, "pushed to and fetched from two places");
    assert_eq!(warned(&shown), ["base_strayed"], "the reference stays as it was: {shown:#}");
    assert_eq!(place.git(&["rev-parse", MAIN]), evil);
}
