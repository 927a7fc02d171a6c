//! `publish`: exactly what was verified reaches the remote, or a refusal says exactly why not and what stands.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::place::{Agent, PROFILE, Place, proposed, text, write};

fn publish(agent: &Agent<'_>, task: &str) -> Value {
    agent.ok("publish", json!({ "task": task }))
}

fn refused(agent: &Agent<'_>, code: &str, task: &str) -> Value {
    let branch = branch_of(agent.place, task);
    let before = agent.place.remote_holds(&branch);
    let refusal = agent.no(code, "publish", json!({ "task": task }));
    assert_eq!(agent.place.remote_holds(&branch), before, "nothing left this clone");
    refusal
}

fn branch_of(place: &Place, task: &str) -> String {
    let status = place.call("workspace.status", json!({ "task": task })).expect("it is read");
    format!("refs/heads/{}", text(&status["data"]["branch"]))
}

fn publications(place: &Place) -> Vec<(String, String)> {
    let all = place.call("publication.list", json!({})).expect("it is read");
    let items = all["data"]["items"].as_array().expect("a list").clone();
    items.iter().map(|one| (text(&one["status"]), one["commit"].as_str().unwrap_or_default().to_owned())).collect()
}

/// Another clone of the remote, as a colleague has one.
fn colleague(place: &Place) -> PathBuf {
    let clone = place.top().join("colleague");
    if !clone.exists() {
        place.git_in(place.top(), &["clone", "-q", "remote.git", "colleague"]);
    }
    place.git_in(&clone, &["fetch", "-q"]);
    clone
}

/// Puts a hook into the remote.
fn remote_hook(place: &Place, name: &str, script: &str) {
    let hook = place.remote.join("hooks").join(name);
    write(&hook, &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("set");
}

#[test]
fn what_was_verified_is_on_the_remote_and_was_read_back() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    let head = place.git_in(&tree, &["rev-parse", "HEAD"]);
    let events = place.log().len();
    let tried = ada.ok("publish", json!({ "task": task, "dry_run": true }));
    assert_eq!((&tried["publication"], &tried["remote_verified"]), (&Value::Null, &json!(false)));
    assert_eq!((place.remote_holds(&branch_of(&place, &task)), place.log().len()), (None, events));
    let done = publish(&ada, &task);
    assert_eq!((&done["remote_verified"], &done["base_unmoved"]), (&json!(true), &json!(true)));
    assert_eq!(
        (&done["commit"], &done["tree"]),
        (&json!(head), &json!(place.git_in(&tree, &["rev-parse", "HEAD^{tree}"])))
    );
    assert_eq!(place.remote_holds(&branch_of(&place, &task)), Some(head.clone()));
    let types: Vec<String> = place.log()[events..].iter().map(|event| text(&event["type"])).collect();
    assert_eq!(types, ["publish.started", "publish.done"]);
    write(&tree.join("more.txt"), "x\n");
    let second = place.commit_in(&tree, "more");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    assert_eq!(publish(&ada, &task)["commit"], json!(second), "it goes on from what the remote holds");
    assert_eq!(publications(&place), [("done".to_owned(), second), ("done".to_owned(), head)]);
}

#[test]
fn a_relative_address_and_one_with_a_password_are_published_to_and_no_password_is_shown() {
    let place = Place::new();
    place.git(&["remote", "set-url", "origin", "../remote.git"]);
    let ada = place.agent("ada");
    let (task, _) = ada.worked(json!({ "title": "one" }));
    assert_eq!(publish(&ada, &task)["remote_verified"], true);
    place.git(&["remote", "set-url", "origin", "http://ada:hunter2pass@127.0.0.1:9/x.git"]);
    let refusal = ada.no("REMOTE_UNREACHABLE", "publish", json!({ "task": task }));
    assert_eq!(refusal["retry_helps"], true);
    assert!(!refusal.to_string().contains("hunter2pass"), "{refusal:#}");
}

#[test]
fn a_tree_that_is_not_committed_is_not_published() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    for (name, undo) in [("untracked.txt", true), ("work.txt", false)] {
        write(&tree.join(name), "changed\n");
        ada.ok("validate", json!({ "task": task, "scope": "branch" }));
        let refusal = refused(&ada, "NOT_CLEARED", &task);
        assert!(text(&refusal["message"]).contains(name), "{refusal:#}");
        assert_eq!(refusal["details"]["blockers"].as_array().map(Vec::len), Some(1));
        assert!(refusal["details"]["blockers"][0]["remedy"].is_string());
        if undo {
            fs::remove_file(tree.join(name)).expect("removed");
        } else {
            place.git_in(&tree, &["checkout", "-q", "--", name]);
        }
    }
    publish(&ada, &task);
}

#[test]
fn proof_that_is_missing_failed_or_stale_is_named() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["w=file_exists:work.txt"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("work.txt"), "x\n");
    place.commit_in(&tree, "work");
    let missing = refused(&ada, "NOT_CLEARED", &task);
    let named = missing["details"]["blockers"].to_string();
    assert!(named.contains("`w`") && named.contains("`test`") && named.contains("never checked"), "{missing:#}");
    assert_eq!(proposed(&missing), ["validate", "workspace.status"]);
    ada.ok("validate", json!({ "task": task }));
    let required = refused(&ada, "NOT_CLEARED", &task);
    assert!(text(&required["message"]).contains("`test`"), "the criterion alone is not enough: {required:#}");
    write(&tree.join("broken"), "");
    place.commit_in(&tree, "break");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    assert!(text(&refused(&ada, "NOT_CLEARED", &task)["message"]).contains("failed"));
    place.git_in(&tree, &["rm", "-q", "broken"]);
    write(&tree.join("work.txt"), "y\n");
    place.commit_in(&tree, "mend");
    let stale = refused(&ada, "NOT_CLEARED", &task);
    assert!(stale["details"]["blockers"].to_string().contains("stale"), "{stale:#}");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    ada.ok("task.block", json!({ "task": task, "reason": "wait for ops" }));
    assert!(text(&refused(&ada, "NOT_CLEARED", &task)["message"]).contains("wait for ops"));
    ada.ok("task.unblock", json!({ "task": task, "note": "they are ready" }));
    publish(&ada, &task);
}

#[test]
fn work_that_does_not_build_on_the_base_as_the_remote_has_it_is_refused_with_the_way_on() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    let clone = colleague(&place);
    write(&clone.join("theirs.txt"), "x\n");
    place.commit_in(&clone, "theirs");
    place.git_in(&clone, &["push", "-q", "origin", "main"]);
    // This clone has not fetched: the remote is asked, not remembered.
    let refusal = refused(&ada, "ACCEPTED_BASE_NOT_ANCESTOR", &task);
    let remedy = text(&refusal["details"]["blockers"][0]["remedy"]);
    let (incorporate, _) = remedy.split_once(", then").expect("first incorporate, then validate");
    assert_eq!(place.run(&tree, "sh", &["-c", incorporate], None).status, 0, "the remedy works as it stands: {remedy}");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    publish(&ada, &task);
}

#[test]
fn a_branch_that_somebody_moved_on_the_remote_is_not_overwritten() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    let branch = text(&publish(&ada, &task)["branch"]);
    let clone = colleague(&place);
    place.git_in(&clone, &["switch", "-q", &branch]);
    write(&clone.join("theirs.txt"), "x\n");
    let theirs = place.commit_in(&clone, "theirs");
    place.git_in(&clone, &["push", "-q", "origin", &branch]);
    write(&tree.join("mine.txt"), "x\n");
    place.commit_in(&tree, "mine");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    let refusal = refused(&ada, "REMOTE_MOVED", &task);
    assert!(refusal.to_string().contains(&theirs[..12]), "{refusal:#}");
    assert_eq!(place.remote_holds(&branch), Some(theirs), "a colleague's commit stands");
}

#[test]
fn a_branch_that_moves_between_gate_and_push_is_held_by_the_lease() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    let branch = text(&publish(&ada, &task)["branch"]);
    let before = place.remote_holds(&branch).expect("it was published");
    write(&tree.join("mine.txt"), "x\n");
    place.commit_in(&tree, "mine");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    let base = place.git(&["rev-parse", "origin/main"]);
    let moving = format!(
        "env -u GIT_QUARANTINE_PATH git --git-dir='{}' update-ref refs/heads/{branch} {base}",
        place.remote.display()
    );
    // Once while the push is under way, and once before it begins, in a hook of this clone that runs after the gate.
    let former = place.repo.join(".git/hooks/pre-push.before-kctl");
    for at_the_remote in [true, false] {
        if at_the_remote {
            remote_hook(&place, "pre-receive", &moving);
        } else {
            fs::remove_file(place.remote.join("hooks/pre-receive")).expect("removed");
            place.git_in(&place.remote, &["update-ref", &format!("refs/heads/{branch}"), &before]);
            write(&former, &format!("#!/bin/sh\n{moving}\n"));
            fs::set_permissions(&former, fs::Permissions::from_mode(0o755)).expect("set");
        }
        let refusal = ada.no("REMOTE_MOVED", "publish", json!({ "task": task }));
        assert_eq!(refusal["details"]["remote_holds"], json!(base), "{refusal:#}");
        assert_eq!(place.remote_holds(&branch).as_deref(), Some(base.as_str()), "what moved there stands");
        assert_eq!(publications(&place)[0].0, "failed");
    }
    fs::remove_file(&former).expect("removed");
    publish(&ada, &task);
}

#[test]
fn a_remote_that_accepts_and_then_differs_is_believed_in_what_it_holds() {
    let elsewhere = |place: &Place| place.git(&["rev-parse", "origin/main"]);
    for (script, holds) in [
        ("while read old new ref; do git update-ref -d $ref; done", None),
        ("while read old new ref; do git update-ref $ref MAIN; done", Some(elsewhere)),
    ] {
        let place = Place::new();
        let ada = place.agent("ada");
        let (task, _) = ada.worked(json!({ "title": "one" }));
        let main = place.git(&["rev-parse", "origin/main"]);
        remote_hook(&place, "post-receive", &script.replace("MAIN", &main));
        let refusal = ada.no("REMOTE_DIFFERS", "publish", json!({ "task": task }));
        let expected = holds.map(|holds| holds(&place));
        assert_eq!(refusal["details"]["remote_holds"], json!(expected), "{refusal:#}");
        assert!(refusal["details"]["stands"].is_string());
        assert_eq!((&refusal["retry_helps"], proposed(&refusal)), (&json!(true), vec!["publish".to_owned()]));
        assert_eq!(publications(&place)[0].0, "failed");
        fs::remove_file(place.remote.join("hooks/post-receive")).expect("removed");
        assert_eq!(publish(&ada, &task)["remote_verified"], true, "the same call goes on from what stands there");
    }
}

#[test]
fn a_remote_that_says_no_is_quoted() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, _) = ada.worked(json!({ "title": "one" }));
    remote_hook(&place, "update", "echo 'freeze until Monday' >&2; exit 1");
    let refusal = refused(&ada, "PUSH_REJECTED", &task);
    assert!(text(&refusal["message"]).contains("freeze until Monday"), "{refusal:#}");
    assert_eq!(publications(&place)[0].0, "failed");
}

#[test]
fn a_branch_that_the_base_protects_and_a_base_without_a_profile_publish_nothing() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    place.rebase_profile(&format!("{PROFILE}\n[publish]\nprotected = [\"kctl/**\"]\n"));
    place.git_in(&tree, &["rebase", "-q", "origin/main"]);
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    refused(&ada, "PROTECTED_BRANCH", &task);
    place.git(&["rm", "-q", "-r", ".decapod"]);
    place.git(&["commit", "-q", "-m", "no profile"]);
    place.git(&["push", "-q", "origin", "main"]);
    place.git_in(&tree, &["rebase", "-q", "origin/main"]);
    let refusal = refused(&ada, "BASE_UNKNOWN", &task);
    assert!(text(&refusal["message"]).contains("kctl.toml"), "{refusal:#}");
}

#[test]
fn a_candidate_that_edits_its_judge_is_judged_by_the_old_one_and_stopped() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let tree = ada.workspace(&task);
    write(&tree.join("broken"), "");
    write(&tree.join(".decapod/kctl.toml"), &PROFILE.replace("test ! -e broken", "test -e broken"));
    place.commit_in(&tree, "make it green");
    let shown = ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    assert_eq!(shown["results"][0]["verdict"], "fail", "the base's check is what runs: {shown:#}");
    let refusal = refused(&ada, "NOT_CLEARED", &task);
    let named = refusal["details"]["blockers"].to_string();
    assert!(named.contains("changes .decapod/kctl.toml") && named.contains("`test`"), "{refusal:#}");
    fs::remove_file(tree.join("broken")).expect("removed");
    write(&tree.join(".decapod/kctl.toml"), "version = 1\n");
    place.commit_in(&tree, "drop the checks");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    assert!(text(&refused(&ada, "NOT_CLEARED", &task)["message"]).contains("kctl.toml"), "even when all of them pass");
}

#[test]
fn a_crash_between_push_and_record_is_healed_by_the_next_call() {
    // Committed in order: begun, ended. The push lies between the two.
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    let head = place.git_in(&tree, &["rev-parse", "HEAD"]);
    let kill_at = |nth: u32| {
        place.set("KCTL_FAILPOINT", Some(&format!("ledger.committing:{nth}")));
        let args = ["publish", &task, "--session", &ada.session];
        let killed = place.run(&place.repo, env!("CARGO_BIN_EXE_kctl"), &args, None);
        assert_eq!(killed.status, -1, "it was to be killed: {killed:?}");
        place.set("KCTL_FAILPOINT", None);
    };
    kill_at(1);
    assert_eq!(
        (publications(&place), place.remote_holds(&branch_of(&place, &task))),
        (vec![], None),
        "nothing was begun"
    );
    kill_at(2);
    assert_eq!(publications(&place), [("started".to_owned(), head.clone())]);
    assert_eq!(place.remote_holds(&branch_of(&place, &task)), Some(head.clone()), "the push went through");
    assert_eq!(publish(&ada, &task)["remote_verified"], true);
    assert_eq!(publications(&place), [("done".to_owned(), head)], "and it is the same publication");
    place.kctl(&["ledger", "verify"]).ok();
}

#[test]
fn a_publication_that_was_begun_for_another_commit_is_ended_by_what_the_remote_holds() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    let first = place.git_in(&tree, &["rev-parse", "HEAD"]);
    place.set("KCTL_FAILPOINT", Some("ledger.committed:1"));
    place.run(&place.repo, env!("CARGO_BIN_EXE_kctl"), &["publish", &task, "--session", &ada.session], None);
    place.set("KCTL_FAILPOINT", None);
    assert_eq!(publications(&place), [("started".to_owned(), first.clone())], "killed before the push");
    write(&tree.join("more.txt"), "x\n");
    let second = place.commit_in(&tree, "more");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    publish(&ada, &task);
    assert_eq!(publications(&place), [("done".to_owned(), second), ("failed".to_owned(), first.clone())]);
    let pushed = push_by_hand(&place, &tree, &format!("{first}:refs/heads/again"));
    assert!(pushed.is_err(), "what was begun once and failed clears nothing");
}

fn push_by_hand(place: &Place, tree: &Path, refspec: &str) -> Result<(), String> {
    let ran = place.run(tree, "git", &["push", "origin", refspec], None);
    if ran.status == 0 { Ok(()) } else { Err(ran.stderr) }
}

#[test]
fn pushing_by_hand_is_stopped_by_the_gate_until_it_is_cleared() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    let branch = branch_of(&place, &task);
    let stopped = push_by_hand(&place, &tree, &format!("HEAD:{branch}")).expect_err("it has no clearance");
    assert!(stopped.contains("NOT_CLEARED") && stopped.contains(&format!("kctl publish {task}")), "{stopped}");
    for (tree, refspec) in [
        (&tree, "HEAD:refs/heads/sneaky"),
        (&tree, "HEAD:main"),
        (&place.repo, &*format!("{branch}:refs/heads/sneaky")),
    ] {
        push_by_hand(&place, tree, refspec).expect_err("under another name it is the same work");
    }
    assert_eq!((place.remote_holds(&branch), place.remote_holds("refs/heads/sneaky")), (None, None));
    write(&place.repo.join("person.txt"), "x\n");
    place.commit("a person's own work");
    push_by_hand(&place, &place.repo, "main").expect("what is no workspace's is not governed");
    place.set("KCTL_SESSION", Some(&ada.session));
    write(&place.repo.join("agent.txt"), "x\n");
    place.commit("an agent's, past every workspace");
    let protected = push_by_hand(&place, &place.repo, "main").expect_err("an agent does not push to the base");
    assert!(protected.contains("PROTECTED_BRANCH"), "{protected}");
    push_by_hand(&place, &place.repo, ":main").expect_err("nor delete it");
    place.set("KCTL_SESSION", None);
    place.git_in(&tree, &["fetch", "-q"]);
    place.git_in(&tree, &["rebase", "-q", "origin/main"]);
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    publish(&ada, &task);
    push_by_hand(&place, &tree, &format!("HEAD:{branch}")).expect("what is cleared may be pushed again");
}

#[test]
fn what_the_base_requires_is_required_whatever_the_task_says_of_it() {
    let long = format!("t{}", "x".repeat(63));
    let place = Place::with_profile(&PROFILE.replace("checks.test", &format!("checks.{long}")));
    let ada = place.agent("ada");
    let optional = json!([{ "id": "soft", "kind": "check", "check": long, "required": false }]);
    let task = ada.claimed(json!({ "title": "one", "criteria": optional }));
    let tree = ada.workspace(&task);
    write(&tree.join("broken"), "");
    place.commit_in(&tree, "break");
    let shown = ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    assert_eq!(shown["publication_ready"], false);
    let refusal = refused(&ada, "NOT_CLEARED", &task);
    assert!(text(&refusal["message"]).contains(&long), "{refusal:#}");
    let unfinished = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    assert_eq!(unfinished["details"]["unmet"][0]["id"], json!(long), "{unfinished:#}");
    let next = &unfinished["next"][0];
    ada.ok(&text(&next["op"]), next["params"].clone());
}

#[test]
fn publishing_needs_the_claim_and_the_workspace() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    assert_eq!(proposed(&ada.no("WORKSPACE_REQUIRED", "publish", json!({ "task": task }))), ["workspace.ensure"]);
    let free = text(&ada.ok("task.create", json!({ "title": "two" }))["id"]);
    assert_eq!(proposed(&ada.no("CLAIM_REQUIRED", "publish", json!({ "task": free }))), ["task.claim"]);
    assert_eq!(place.refusal(&["publish", &task])["code"], "SESSION_REQUIRED");
}

#[test]
fn a_proof_about_a_file_that_the_commit_does_not_have_is_no_clearance() {
    let place = Place::new();
    let ada = place.agent("ada");
    let criteria =
        ["there=file_exists:out/report.txt", "says=file_contains:out/report.txt:fine", "gone=file_absent:src/lib.txt"];
    for criterion in criteria {
        let task = ada.claimed(json!({ "title": "one", "criteria": [criterion] }));
        let tree = ada.workspace(&task);
        write(&tree.join(".gitignore"), "out/\n");
        place.commit_in(&tree, "work");
        write(&tree.join("out/report.txt"), "fine\n");
        // Git calls the tree clean with the file left out, as in a sparse checkout.
        place.git_in(&tree, &["update-index", "--skip-worktree", "src/lib.txt"]);
        if criterion.starts_with("gone") {
            fs::remove_file(tree.join("src/lib.txt")).expect("removed");
        }
        assert_eq!(ada.ok("validate", json!({ "task": task, "scope": "branch" }))["verified"], true, "{criterion}");
        let refusal = refused(&ada, "NOT_CLEARED", &task);
        let blockers = &refusal["details"]["blockers"];
        assert_eq!(blockers.as_array().map(Vec::len), Some(1), "{criterion}: {refusal:#}");
        assert!(text(&blockers[0]["what"]).contains("rests on") && blockers[0]["remedy"].is_string(), "{refusal:#}");
        assert!(!proposed(&refusal).is_empty());
        if criterion.starts_with("gone") {
            place.git_in(&tree, &["update-index", "--no-skip-worktree", "src/lib.txt"]);
            place.git_in(&tree, &["rm", "-q", "src/lib.txt"]);
        } else {
            place.git_in(&tree, &["add", "-f", "out/report.txt"]);
        }
        place.commit_in(&tree, "now it has");
        ada.ok("validate", json!({ "task": task, "scope": "branch" }));
        publish(&ada, &task);
    }
}

#[test]
fn what_a_filter_makes_of_the_checked_bytes_is_not_published() {
    let place = Place::with_profile(&PROFILE.replace("test ! -e broken", "grep -q good state.txt"));
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let tree = ada.workspace(&task);
    for (part, script) in [("clean", "sed s/good/bad!/"), ("smudge", "sed s/bad!/good/")] {
        place.git(&["config", &format!("filter.flip.{part}"), script]);
    }
    // In the clone, where no review sees it.
    write(&place.repo.join(".git/info/attributes"), "state.txt filter=flip\n");
    write(&tree.join("state.txt"), "good\n");
    place.commit_in(&tree, "work");
    assert_eq!(place.git_in(&tree, &["show", "HEAD:state.txt"]), "bad!");
    assert_eq!(ada.ok("validate", json!({ "task": task, "scope": "branch" }))["publication_ready"], true);
    let refusal = refused(&ada, "NOT_CLEARED", &task);
    assert!(text(&refusal["message"]).contains("state.txt"), "{refusal:#}");
    fs::remove_file(place.repo.join(".git/info/attributes")).expect("removed");
    refused(&ada, "NOT_CLEARED", &task);
    place.git_in(&tree, &["rm", "-q", "--cached", "state.txt"]);
    place.commit_in(&tree, "as it is");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    publish(&ada, &task);
}
