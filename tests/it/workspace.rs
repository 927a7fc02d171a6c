//! Workspaces: made, found again, mended, and never removed with anything that is nowhere else.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::place::{Agent, PROFILE, Place, proposed, text, write};

fn codes(answer: &Value) -> Vec<String> {
    answer["blockers"].as_array().expect("a list").iter().map(|blocker| text(&blocker["code"])).collect()
}

fn ensure(agent: &Agent<'_>, task: &str) -> Value {
    agent.ok("workspace.ensure", json!({ "task": task }))
}

fn status(place: &Place, task: &str) -> Value {
    place.call("workspace.status", json!({ "task": task })).expect("it is read")["data"].clone()
}

#[test]
fn a_workspace_is_a_worktree_of_its_own_on_the_base_without_an_upstream() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "Parse négative numbers!" }));
    let made = ensure(&ada, &task);
    let (path, branch) = (PathBuf::from(text(&made["path"])), text(&made["branch"]));
    assert_eq!(branch, format!("kctl/{task}-parse-n-gative-numbers"));
    assert_eq!(path, place.top().join("calc.work").join(&task));
    assert_eq!((&made["state"], &made["base_ref"]), (&json!("created"), &json!("refs/remotes/origin/main")));
    assert_eq!(made["base"], json!(place.git(&["rev-parse", "origin/main"])));
    assert_eq!(place.git_in(&path, &["branch", "--show-current"]), branch);
    let upstream = place.run(&path, "git", &["rev-parse", "--abbrev-ref", "@{upstream}"], None);
    assert_ne!(upstream.status, 0, "it tracks nothing");
    assert_eq!(place.run(&place.repo, "sh", &["-c", &format!("{} && pwd", text(&made["cd"]))], None).status, 0);
    assert_eq!(ensure(&ada, &task)["state"], "reused");
    let listed = place.data(&["workspace", "list"]);
    assert_eq!((&listed["items"][0]["task"], &listed["items"][0]["holder"]), (&json!(task), &json!("ada")));
    assert_eq!(place.git(&["status", "--porcelain"]), "", "the root's own tree is left alone");
}

#[test]
fn a_workspace_whose_directory_is_gone_is_made_again_with_its_commits() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let path = ada.workspace(&task);
    write(&path.join("work.txt"), "done\n");
    let commit = place.commit_in(&path, "work");
    fs::remove_dir_all(&path).expect("removed");
    let gone = place.call("workspace.status", json!({ "task": task })).expect("it is read");
    assert_eq!(gone["data"]["exists"], false);
    assert_eq!(gone["data"]["at_risk"]["unpublished"].as_array().map(Vec::len), Some(1), "{gone:#}");
    assert_eq!(proposed(&gone), ["workspace.ensure"]);
    let refusal = ada.no("WORKSPACE_REQUIRED", "publish", json!({ "task": task }));
    assert_eq!(proposed(&refusal), ["workspace.ensure"]);
    for op in ["validate", "task.finish", "context.resolve"] {
        let refusal = ada.call(op, json!({ "task": task })).expect_err("there is no tree to judge");
        assert_eq!(refusal["code"], "WORKSPACE_REQUIRED", "{op}: {refusal:#}");
        assert_eq!(proposed(&refusal), ["workspace.ensure"], "{op}");
    }
    assert_eq!(ensure(&ada, &task)["state"], "repaired");
    assert_eq!(place.git_in(&path, &["rev-parse", "HEAD"]), commit);
    assert_eq!(ensure(&ada, &task)["state"], "reused");
}

#[test]
fn what_stands_in_the_way_is_named_and_left_as_it_is() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let path = ada.workspace(&task);
    let branch = place.git_in(&path, &["branch", "--show-current"]);
    place.git_in(&path, &["switch", "-q", "-c", "elsewhere"]);
    assert_eq!(codes(&ensure(&ada, &task)), ["other_branch"]);
    place.git_in(&path, &["switch", "-q", "--detach"]);
    assert_eq!(codes(&status(&place, &task)), ["other_branch"]);
    let refusal = ada.call("publish", json!({ "task": task })).expect_err("not from a detached head");
    assert!(refusal["details"]["blockers"].to_string().contains("no branch"), "{refusal:#}");
    place.git_in(&path, &["switch", "-q", &branch]);
    let lock = PathBuf::from(place.git_in(&path, &["rev-parse", "--absolute-git-dir"])).join("index.lock");
    fs::write(&lock, "").expect("written");
    let locked = ensure(&ada, &task);
    assert_eq!(codes(&locked), ["index_locked"]);
    assert!(locked["blockers"][0]["what"].as_str().is_some_and(|what| what.contains("index.lock")), "{locked:#}");
    assert!(lock.exists(), "it may be somebody's");
    fs::remove_file(&lock).expect("removed");
    assert_eq!(codes(&status(&place, &task)), Vec::<String>::new());
}

#[test]
fn a_removal_that_would_lose_something_is_refused_and_lists_it() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, path) = ada.worked(json!({ "title": "one" }));
    write(&path.join("note with space.txt"), "not committed\n");
    let refusal = ada.no("WOULD_LOSE_WORK", "workspace.remove", json!({ "task": task }));
    let lost = &refusal["details"]["would_lose"];
    assert_eq!(lost["uncommitted"], json!(["note with space.txt"]), "{refusal:#}");
    assert!(text(&lost["unpublished"][0]).ends_with(" work"), "{refusal:#}");
    fs::remove_file(path.join("note with space.txt")).expect("removed");
    let refusal = ada.no("WOULD_LOSE_WORK", "workspace.remove", json!({ "task": task }));
    assert_eq!(refusal["details"]["would_lose"]["uncommitted"], json!([]));
    ada.ok("publish", json!({ "task": task }));
    place.agent("bob").no("TASK_HELD", "workspace.remove", json!({ "task": task }));
    assert_eq!(ada.ok("workspace.remove", json!({ "task": task, "dry_run": true }))["branch_deleted"], true);
    assert!(path.exists(), "a dry run removes nothing");
    let removed = ada.ok("workspace.remove", json!({ "task": task }));
    assert_eq!(removed["branch_deleted"], true, "the remote has all of it");
    assert!(!path.exists());
    ada.no("WORKSPACE_REQUIRED", "workspace.remove", json!({ "task": task }));
    assert_eq!(place.data(&["workspace", "list"])["items"], json!([]));
}

#[test]
fn ignored_files_that_somebody_made_are_not_removed_unseen() {
    let place = Place::new();
    place.write(".gitignore", "*.local\n");
    place.commit("ignore");
    place.git(&["push", "-q", "origin", "main"]);
    let ada = place.agent("ada");
    let (task, path) = ada.worked(json!({ "title": "one" }));
    ada.ok("publish", json!({ "task": task }));
    write(&path.join("keys.local"), "only here\n");
    let refusal = ada.no("WOULD_LOSE_WORK", "workspace.remove", json!({ "task": task }));
    assert!(refusal.to_string().contains("keys.local"), "{refusal:#}");
    assert!(path.join("keys.local").exists());
}

#[test]
fn a_workspace_is_prepared_as_the_base_says_and_what_fails_is_told() {
    let place = Place::new();
    place.write(".gitignore", ".env\n");
    let setup = "setup = [\"cat src/lib.txt > prepared\", \"echo no >&2; exit 3\", \"touch never\"]";
    place.rebase_profile(&format!("{PROFILE}\n[workspace]\n{setup}\ncopy = [\".env\", \"absent\"]\n"));
    place.write(".env", "KEY=value\n");
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let made = ada.call("workspace.ensure", json!({ "task": task })).expect("made all the same");
    let path = PathBuf::from(text(&made["data"]["path"]));
    assert_eq!(fs::read_to_string(path.join("prepared")).expect("read"), "one\ntwo\n");
    assert_eq!(fs::read_to_string(path.join(".env")).expect("read"), "KEY=value\n");
    assert!(!path.join("never").exists(), "what comes after a failure is not tried");
    let warnings: Vec<String> =
        made["warnings"].as_array().expect("a list").iter().map(|one| text(&one["code"])).collect();
    assert_eq!(warnings, ["not_copied", "setup_failed"], "{made:#}");
    assert_eq!(made["data"]["baseline"], 1, "what the set-up left is the baseline: {made:#}");
}

#[test]
fn where_something_else_lies_no_workspace_is_made() {
    let place = Place::with_profile(&format!("{PROFILE}\n[workspace]\ndir = \"../trees of mine\"\n"));
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let taken = place.top().join("trees of mine").join(&task).join("mine.txt");
    write(&taken, "somebody's\n");
    let refusal = ada.no("WORKSPACE_FAILED", "workspace.ensure", json!({ "task": task }));
    assert!(refusal["details"]["remedy"].is_string(), "{refusal:#}");
    assert_eq!(fs::read_to_string(&taken).expect("read"), "somebody's\n");
    fs::remove_dir_all(taken.parent().expect("it has one")).expect("removed");
    assert_eq!(ensure(&ada, &task)["path"], json!(place.top().join("trees of mine").join(&task)));
}

#[test]
fn no_workspace_is_made_on_a_protected_branch() {
    let place = Place::with_profile(&format!("{PROFILE}\n[publish]\nprotected = [\"kctl/*\"]\n"));
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let refusal = ada.no("PROTECTED_BRANCH", "workspace.ensure", json!({ "task": task }));
    assert!(text(&refusal["details"]["branch"]).starts_with("kctl/t-"));
    assert!(!place.top().join("calc.work").exists());
}

#[test]
fn a_crash_between_plan_and_worktree_is_mended_by_the_same_call() {
    for nth in 1..=2 {
        let place = Place::new();
        let ada = place.agent("ada");
        let task = ada.claimed(json!({ "title": "one" }));
        place.set("KCTL_FAILPOINT", Some(&format!("ledger.committed:{nth}")));
        let killed = place.run(
            &place.repo,
            env!("CARGO_BIN_EXE_kctl"),
            &["workspace", "ensure", &task, "--session", &ada.session],
            None,
        );
        assert_eq!(killed.status, -1, "it was to be killed: {killed:?}");
        place.set("KCTL_FAILPOINT", None);
        let mended = ensure(&ada, &task);
        assert_eq!(mended["state"], if nth == 1 { "repaired" } else { "reused" });
        let path = PathBuf::from(text(&mended["path"]));
        assert_eq!(place.git_in(&path, &["status", "--porcelain"]), "");
    }
}

/// A bare root whose only work trees are linked ones.
fn bare_root(place: &Place) -> PathBuf {
    let bare = place.top().join("bare.git");
    place.git_in(place.top(), &["clone", "-q", "--bare", "remote.git", "bare.git"]);
    place.git_in(&bare, &["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]);
    place.git_in(&bare, &["fetch", "-q", "origin"]);
    place.git_in(&bare, &["remote", "set-head", "origin", "main"]);
    let tree = place.top().join("linked");
    place.git_in(&bare, &["worktree", "add", "-q", "--detach", "../linked", "main"]);
    tree
}

#[test]
fn a_bare_root_is_worked_on_in_linked_worktrees() {
    let place = Place::new();
    let linked = bare_root(&place);
    place.kctl_in(&linked, &["init", "--no-agents"]).ok();
    let call = |op: &str, params: Value| place.call_in(&linked, op, params).expect(op)["data"].clone();
    let session = call("session.acquire", json!({ "agent": "ada" }))["session"].clone();
    let task = call("task.create", json!({ "title": "one" }))["id"].clone();
    call("task.claim", json!({ "task": task, "session": session }));
    let made = call("workspace.ensure", json!({ "task": task, "session": session }));
    let path = PathBuf::from(text(&made["path"]));
    write(&path.join("work.txt"), "done\n");
    place.commit_in(&path, "work");
    // From the bare root itself as well: it is the same root.
    let bare = place.top().join("bare.git");
    let shown = place.call_in(&bare, "workspace.status", json!({ "task": task })).expect("it is read");
    assert_eq!(shown["data"]["exists"], true);
    call("validate", json!({ "task": task, "scope": "branch" }));
    let published = call("publish", json!({ "task": task, "session": session }));
    assert_eq!(place.remote_holds(&text(&published["branch"])), Some(text(&published["commit"])));
    let nowhere = place.call_in(&bare, "validate", json!({})).expect_err("there is no tree");
    assert_eq!(nowhere["code"], "NO_WORK_TREE");
}

#[test]
fn without_a_remote_there_is_work_and_evidence_but_no_publication() {
    let place = Place::untouched();
    place.git(&["remote", "remove", "origin"]);
    place.kctl(&["init"]).ok();
    place.write(".decapod/kctl.toml", PROFILE);
    place.commit("profile");
    let ada = place.agent("ada");
    let (task, path) = ada.worked(json!({ "title": "one" }));
    assert_eq!(place.git_in(&path, &["rev-parse", "HEAD~1"]), place.git(&["rev-parse", "main"]));
    let refusal = ada.no("BASE_UNKNOWN", "publish", json!({ "task": task }));
    assert!(refusal["details"]["remedy"].is_string(), "{refusal:#}");
    ada.ok("task.finish", json!({ "task": task }));
}

#[test]
fn a_repository_without_a_commit_has_no_base_to_work_on() {
    let place = Place::untouched();
    let empty = place.top().join("empty");
    fs::create_dir(&empty).expect("made");
    place.git_in(&empty, &["init", "-q"]);
    place.kctl_in(&empty, &["init"]).ok();
    let call = |op: &str, params: Value| place.call_in(&empty, op, params);
    let session = call("session.acquire", json!({ "agent": "ada" })).expect("anybody may")["data"]["session"].clone();
    let task = call("task.create", json!({ "title": "one" })).expect("created")["data"]["id"].clone();
    call("task.claim", json!({ "task": task, "session": session })).expect("claimed");
    let refusal = call("workspace.ensure", json!({ "task": task, "session": session })).expect_err("on what");
    assert_eq!(refusal["code"], "BASE_UNKNOWN", "{refusal:#}");
    for op in ["status", "doctor", "validate", "context.resolve"] {
        call(op, json!({})).unwrap_or_else(|refusal| panic!("{op}: {refusal:#}"));
    }
    assert!(Path::new(&empty).join(".git/decapod/ledger.db").exists());
}

/// Every way to put another tree where a workspace was.
#[test]
fn nothing_is_judged_in_what_took_a_workspaces_place() {
    type Replace = fn(&Place, &Path, &Path);
    let ways: [(&str, Replace); 6] = [
        ("a link to the root's own tree", |place, path, _| symlink(&place.repo, path)),
        ("a link to another workspace", |_, path, other| symlink(other, path)),
        ("a link to the workspace itself, moved away", |_, path, _| symlink(&path.with_extension("moved"), path)),
        ("a link that leads nowhere", |_, path, _| symlink(Path::new("nowhere"), path)),
        ("a clone", |place, path, _| {
            place.git(&["clone", "-q", place.remote.to_str().expect("UTF-8"), path.to_str().expect("UTF-8")]);
        }),
        ("a directory that says it is another workspace", |_, path, other| {
            fs::create_dir(path).expect("made");
            fs::copy(other.join(".git"), path.join(".git")).expect("copied");
        }),
    ];
    let place = Place::new();
    let ada = place.agent("ada");
    let opened = place.call("commit.open", json!({ "objective": "x", "criteria": ["check:test"] })).expect("opened");
    let commitment = text(&opened["data"]["id"]);
    let (task, path) = ada.worked(json!({ "title": "one", "commitment": commitment }));
    let other = ada.workspace(&ada.claimed(json!({ "title": "two" })));
    for (way, replace) in ways {
        let moved = path.with_extension("moved");
        fs::rename(&path, &moved).expect("moved");
        replace(&place, &path, &other);
        let head = || path.exists().then(|| place.run(&path, "git", &["rev-parse", "HEAD"], None).stdout);
        let before = head();
        for (op, params) in [
            ("validate", json!({ "task": task })),
            ("validate", json!({ "commitment": commitment })),
            ("task.finish", json!({ "task": task })),
            ("commit.evaluate", json!({ "commitment": commitment })),
            ("commit.close", json!({ "commitment": commitment, "verdict": "fulfilled" })),
            ("context.resolve", json!({ "task": task })),
            ("publish", json!({ "task": task })),
            ("workspace.ensure", json!({ "task": task })),
        ] {
            let refusal = ada.call(op, params).expect_err(&format!("{way}: {op} is refused"));
            assert_eq!(refusal["code"], "WORKSPACE_FAILED", "{way}: {op}: {refusal:#}");
            assert!(refusal["details"]["remedy"].is_string(), "{way}: {op}: {refusal:#}");
        }
        let shown = status(&place, &task);
        assert_eq!((&shown["exists"], codes(&shown)), (&json!(false), vec!["not_the_workspace".to_owned()]), "{way}");
        ada.call("workspace.remove", json!({ "task": task })).expect_err(&format!("{way}: it is not removed"));
        assert_eq!(head(), before, "{way}: it is left alone");
        if path.is_symlink() {
            fs::remove_file(&path).expect("removed");
        } else {
            fs::remove_dir_all(&path).expect("removed");
        }
        fs::rename(&moved, &path).expect("moved back");
        assert_eq!(ada.ok("validate", json!({ "task": task }))["verified"], true, "{way}: and back again");
    }
}

fn symlink(target: &Path, at: &Path) {
    std::os::unix::fs::symlink(target, at).expect("linked");
}
