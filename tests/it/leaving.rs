//! What leaves with a workspace: everything that is nowhere else stops a removal, is listed, and has a way out.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::place::{Agent, Place, proposed, text, texts, write};

/// A published task: whatever is lost with its workspace now was added since.
fn published(ada: &Agent<'_>) -> (String, PathBuf) {
    let (task, path) = ada.worked(json!({ "title": "one" }));
    ada.ok("publish", json!({ "task": task }));
    (task, path)
}

/// The refusal of a removal, which a dry run gives in the same words, and which removes nothing.
fn refused(ada: &Agent<'_>, task: &str, path: &Path) -> Value {
    let tried = ada.no("WOULD_LOSE_WORK", "workspace.remove", json!({ "task": task, "dry_run": true }));
    let refusal = ada.no("WOULD_LOSE_WORK", "workspace.remove", json!({ "task": task }));
    assert_eq!(tried["details"], refusal["details"], "a dry run says what the real call says");
    assert_eq!(tried["message"], refusal["message"]);
    assert!(path.exists());
    let shown = ada.ok("workspace.status", json!({ "task": task }));
    assert_eq!(shown["at_risk"], refusal["details"]["would_lose"], "and so does the status");
    refusal
}

/// Removes the workspace after a dry run, which must foresee the same.
fn removed(ada: &Agent<'_>, params: Value) -> Value {
    let mut tried = params.clone();
    tried["dry_run"] = json!(true);
    let foreseen = ada.ok("workspace.remove", tried);
    let gone = ada.ok("workspace.remove", params);
    assert_eq!(foreseen, gone);
    assert!(!Path::new(&text(&gone["path"])).exists());
    gone
}

fn lost<'r>(refusal: &'r Value, kind: &str) -> &'r Value {
    &refusal["details"]["would_lose"][kind]
}

/// Sends the proposed `workspace.remove`.
fn take_the_way_out(ada: &Agent<'_>, refusal: &Value) -> Value {
    let next = refusal["next"].as_array().expect("a list").iter().find(|next| next["op"] == "workspace.remove");
    removed(ada, next.unwrap_or_else(|| panic!("no way out: {refusal:#}"))["params"].clone())
}

/// Leaves a commit behind that no branch has, and gives it.
type Way<'w> = &'w dyn Fn(&Place, &Path) -> String;

#[test]
fn commits_that_only_the_log_of_the_head_has_are_not_lost() {
    let detached = |place: &Place, path: &Path| {
        let branch = place.git_in(path, &["branch", "--show-current"]);
        place.git_in(path, &["switch", "-q", "--detach"]);
        write(&path.join("idea.txt"), "an idea\n");
        let commit = place.commit_in(path, "only here");
        place.git_in(path, &["switch", "-q", &branch]);
        commit
    };
    let reset = |place: &Place, path: &Path| {
        write(&path.join("idea.txt"), "an idea\n");
        let commit = place.commit_in(path, "only here");
        place.git_in(path, &["reset", "-q", "--hard", "HEAD~1"]);
        commit
    };
    let moved = |place: &Place, path: &Path| {
        let branch = place.git_in(path, &["branch", "--show-current"]);
        let commit = detached(place, path);
        // The log of the branch alone tells of it: the log of the head is cut.
        place.git_in(path, &["switch", "-q", "--detach"]);
        place.git_in(path, &["branch", "-f", &branch, &commit]);
        place.git_in(path, &["branch", "-f", &branch, "HEAD"]);
        place.git_in(path, &["switch", "-q", &branch]);
        place.git_in(path, &["reflog", "expire", "--expire=now", "HEAD"]);
        commit
    };
    let still_there = |place: &Place, path: &Path| {
        let commit = detached(place, path);
        place.git_in(path, &["switch", "-q", "--detach", &commit]);
        commit
    };
    let private = |place: &Place, path: &Path| {
        let commit = detached(place, path);
        place.git_in(path, &["update-ref", "refs/worktree/mine", &commit]);
        place.git_in(path, &["reflog", "expire", "--expire=now", "HEAD"]);
        commit
    };
    let ways: [Way<'_>; 5] = [&detached, &reset, &moved, &still_there, &private];
    for (nth, way) in ways.iter().enumerate() {
        let place = Place::new();
        let ada = place.agent("ada");
        let (task, path) = published(&ada);
        let commit = way(&place, &path);
        let refusal = refused(&ada, &task, &path);
        assert_eq!(texts(lost(&refusal, "left")), [format!("{} only here", &commit[..12])], "way {nth}: {refusal:#}");
        let gone = take_the_way_out(&ada, &refusal);
        let kept = format!("refs/decapod/kept/{task}/{commit}");
        assert_eq!(texts(&gone["kept"]), [kept.as_str()], "way {nth}");
        assert_eq!(place.git(&["rev-parse", &kept]), commit);
        assert_eq!(gone["branch_deleted"], true, "the branch itself is on the remote");
        let event = place.log().into_iter().rfind(|event| event["type"] == "workspace.removed").expect("recorded");
        assert_eq!(event["body"]["kept"], json!([commit]));
    }
}

#[test]
fn a_commit_that_a_rebase_made_anew_is_not_missed() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, path) = ada.worked(json!({ "title": "one" }));
    place.write("src/other.txt", "new on the base\n");
    place.commit("base moves");
    place.git(&["push", "-q", "origin", "main"]);
    place.git_in(&path, &["rebase", "-q", "origin/main"]);
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    ada.ok("publish", json!({ "task": task }));
    assert_eq!(removed(&ada, json!({ "task": task }))["kept"], json!([]));
    assert_eq!(place.git(&["for-each-ref", "refs/decapod/kept"]), "");
}

#[test]
fn what_an_amended_commit_no_longer_has_is_not_lost() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, path) = ada.worked(json!({ "title": "one" }));
    write(&path.join("work.txt"), "done otherwise\n");
    place.git_in(&path, &["commit", "-qam", "work", "--amend", "--no-verify"]);
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    ada.ok("publish", json!({ "task": task }));
    assert_eq!(lost(&refused(&ada, &task, &path), "left").as_array().map(Vec::len), Some(1));
}

#[test]
fn unpublished_commits_stay_under_their_branch_when_that_is_asked() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, path) = ada.worked(json!({ "title": "one" }));
    let tip = place.git_in(&path, &["rev-parse", "HEAD"]);
    let refusal = refused(&ada, &task, &path);
    assert_eq!(proposed(&refusal), ["publish", "workspace.remove", "workspace.status"]);
    let gone = take_the_way_out(&ada, &refusal);
    assert_eq!((&gone["branch_deleted"], &gone["kept"]), (&json!(false), &json!([])));
    assert_eq!(place.git(&["rev-parse", &text(&gone["branch"])]), tip);
    let again = ada.workspace(&task);
    assert_eq!(place.git_in(&again, &["rev-parse", "HEAD"]), tip, "and come back with the next workspace");
}

/// A repository at `at` with one commit that is on its remote.
fn inner(place: &Place, at: &Path) {
    let remote = at.to_str().expect("UTF-8").replace('/', "_");
    let remote = place.top().join(format!("inner{remote}.git"));
    let remote = remote.to_str().expect("UTF-8");
    place.git_in(place.top(), &["init", "-q", "--bare", "-b", "main", remote]);
    fs::create_dir_all(at).expect("made");
    place.git_in(at, &["init", "-q", "-b", "main"]);
    write(&at.join("x.txt"), "x\n");
    place.commit_in(at, "inner");
    place.git_in(at, &["remote", "add", "origin", remote]);
    place.git_in(at, &["push", "-q", "-u", "origin", "main"]);
}

fn ignoring(rules: &str) -> Place {
    let place = Place::new();
    place.write(".gitignore", rules);
    place.commit("ignore");
    place.git(&["push", "-q", "origin", "main"]);
    place
}

#[test]
fn repositories_inside_ignored_directories_are_looked_into() {
    // A cache is looked into as well, and so is what lies deeper.
    for dir in ["scratch/deps", "target/a/b", "scratch"] {
        let place = ignoring("/scratch/\n/target/\n");
        let ada = place.agent("ada");
        let (task, path) = published(&ada);
        let at = path.join(dir);
        inner(&place, &at);
        write(&at.join("x.txt"), "changed\n");
        let refusal = refused(&ada, &task, &path);
        assert_eq!(texts(lost(&refusal, "uncommitted")), [format!("{dir}/x.txt")], "{refusal:#}");
        assert!(!proposed(&refusal).contains(&"workspace.remove".to_owned()), "nothing may go: {refusal:#}");
        place.git_in(&at, &["switch", "-q", "--detach"]);
        let commit = place.commit_in(&at, "inside");
        place.git_in(&at, &["switch", "-q", "main"]);
        let refusal = refused(&ada, &task, &path);
        assert_eq!(texts(lost(&refusal, "repositories")), [format!("{dir}: {} inside", &commit[..12])], "{refusal:#}");
        place.git_in(&at, &["push", "-q", "origin", &format!("{commit}:refs/heads/inside")]);
        removed(&ada, json!({ "task": task }));
    }
}

#[test]
fn a_bare_repository_and_a_broken_one_inside_are_not_lost_unseen() {
    let place = ignoring("/scratch/\n/target/\n");
    let ada = place.agent("ada");
    let (task, path) = published(&ada);
    let (bare, broken) = (path.join("target/bare.git"), path.join("scratch/new"));
    inner(&place, &place.top().join("source"));
    place.git_in(place.top(), &["clone", "-q", "--bare", "source", bare.to_str().expect("UTF-8")]);
    inner(&place, &broken);
    fs::write(broken.join(".git/config"), "[core]\nrepositoryformatversion = 9\n").expect("written");
    let refusal = refused(&ada, &task, &path);
    let named = texts(lost(&refusal, "repositories")).join("\n");
    assert!(named.contains("target/bare.git: ") && named.contains("scratch/new: cannot be read"), "{refusal:#}");
}

#[test]
fn a_repository_in_an_untracked_directory_is_named_with_its_commits() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, path) = published(&ada);
    place.git_in(&path, &["init", "-q", "-b", "main", "notes/inner"]);
    write(&path.join("notes/inner/x.txt"), "x\n");
    place.commit_in(&path.join("notes/inner"), "inside");
    let refusal = refused(&ada, &task, &path);
    assert_eq!(texts(lost(&refusal, "uncommitted")), ["notes/inner"]);
    assert!(texts(lost(&refusal, "repositories"))[0].ends_with(" inside"), "{refusal:#}");
}

#[test]
fn ignored_content_is_counted_by_directory_and_caches_are_no_work() {
    let place = ignoring("/data/\n/target/\n/.env\n*.log\n/made/\nnode_modules\n*.pyc\n");
    let ada = place.agent("ada");
    let (task, path) = published(&ada);
    for n in 0..30 {
        write(&path.join(format!("data/{}/{n}.csv", n % 3)), "12345");
        write(&path.join(format!("target/debug/{n}.o")), "x");
        write(&path.join(format!("node_modules/dep/{n}.js")), "x");
        write(&path.join(format!("made/{n}.bin")), "x");
        write(&path.join(format!("src/__pycache__/{n}.pyc")), "x");
        write(&path.join(format!("src/{n}.log")), "123");
    }
    write(&path.join("made/CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc55\n# by a tool\n");
    write(&path.join("data/CACHEDIR.TAG"), "Signature: wrong\n");
    write(&path.join(".env"), "KEY=value\n");
    let refusal = refused(&ada, &task, &path);
    let expected = json!([
        { "path": "data/", "files": 31, "bytes": 30 * 5 + 17 },
        { "path": ".env", "files": 1, "bytes": 10 },
        { "path": "src/", "files": 30, "bytes": 90 },
    ]);
    assert_eq!(lost(&refusal, "ignored"), &expected, "{refusal:#}");
    assert!(text(&refusal["message"]).ends_with("would lose 62 files that git ignores"), "{refusal:#}");
    place.write(".env", "KEY=value\n");
    assert_eq!(lost(&refused(&ada, &task, &path), "ignored").as_array().map(Vec::len), Some(2), "the root has .env");
    assert_eq!(take_the_way_out(&ada, &refusal)["branch_deleted"], true);
}

#[test]
fn the_directory_of_workspaces_goes_with_the_last_and_no_other_does() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (one, two) = (published(&ada), published(&ada));
    let home = place.top().join("calc.work");
    removed(&ada, json!({ "task": one.0 }));
    assert!(home.is_dir(), "another workspace is in it");
    write(&home.join("note.txt"), "somebody's\n");
    removed(&ada, json!({ "task": two.0 }));
    assert!(home.join("note.txt").exists(), "and so is something else");
    fs::remove_file(home.join("note.txt")).expect("removed");
    let three = ada.claimed(json!({ "title": "three" }));
    ada.workspace(&three);
    removed(&ada, json!({ "task": three }));
    assert!(!home.exists());
    assert_eq!(place.data(&["status"])["workspaces"], json!([]), "what was removed is not there");
}

#[test]
fn prune_takes_what_is_over_and_loses_nothing_and_says_why_the_rest_stays() {
    let place = Place::new();
    let ada = place.agent("ada");
    let finished = published(&ada);
    ada.ok("task.finish", json!({ "task": finished.0 }));
    let cancelled = ada.worked(json!({ "title": "two" }));
    ada.ok("task.cancel", json!({ "task": cancelled.0, "reason": "not wanted" }));
    let live = ada.worked(json!({ "title": "three" }));
    let empty = ada.claimed(json!({ "title": "four" }));
    let empty = (empty.clone(), ada.workspace(&empty));
    ada.ok("task.cancel", json!({ "task": empty.0, "reason": "not wanted" }));
    let bob = place.agent("bob");
    let foreseen = bob.ok("workspace.prune", json!({ "dry_run": true }));
    assert!(finished.1.exists() && empty.1.exists(), "a dry run removes nothing");
    let done = bob.call("workspace.prune", json!({})).expect("it may");
    assert_eq!(done["data"], foreseen, "a dry run says what the real call does");
    let of = |name: &str, task: &str| {
        let list = done["data"][name].as_array().expect("a list").clone();
        list.into_iter().find(|one| one["task"] == task)
    };
    assert!(of("removed", &finished.0).is_some() && of("removed", &empty.0).is_some(), "{done:#}");
    assert!(!finished.1.exists() && !empty.1.exists() && cancelled.1.exists() && live.1.exists());
    assert_eq!(of("kept", &cancelled.0).expect("kept")["code"], "WOULD_LOSE_WORK");
    let held = of("kept", &live.0).expect("kept");
    assert_eq!((&held["code"], &held["why"]), (&Value::Null, &json!("its task is claimed")));
    assert_eq!(proposed(&done), ["workspace.remove"]);
    bob.no("WOULD_LOSE_WORK", "workspace.remove", done["next"][0]["params"].clone());
}

#[test]
fn prune_leaves_the_workspace_that_it_is_called_in() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, path) = published(&ada);
    ada.ok("task.finish", json!({ "task": task }));
    let done = ada.call_in(&path, "workspace.prune", json!({})).expect("it may");
    assert_eq!(done["data"]["kept"][0]["why"], "the call was made in it");
    assert!(path.exists());
}

#[test]
fn the_workspace_of_a_finished_task_is_nobodys_any_more() {
    for who in ["ada", "bob", "a person"] {
        let place = Place::new();
        let ada = place.agent("ada");
        let (task, path) = published(&ada);
        ada.ok("task.finish", json!({ "task": task }));
        match who {
            "ada" => drop(removed(&ada, json!({ "task": task }))),
            "bob" => drop(removed(&place.agent("bob"), json!({ "task": task }))),
            _ => {
                let Some(ran) = place.person(&["workspace", "remove", &task]) else { continue };
                assert_eq!(ran.status, 0, "{ran:#?}");
            }
        }
        assert!(!path.exists(), "{who}");
    }
}

#[test]
fn a_workspace_that_holds_something_when_it_is_mended_names_it_in_words_with_a_way_on() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let path = ada.workspace(&task);
    // As a crash in the middle of `git worktree add` leaves it, with a file that somebody put there since.
    let admin = PathBuf::from(place.git_in(&path, &["rev-parse", "--absolute-git-dir"]));
    fs::write(admin.join("locked"), "initializing").expect("written");
    write(&path.join("mine.txt"), "mine\n");
    let refusal = ada.no("WOULD_LOSE_WORK", "workspace.ensure", json!({ "task": task }));
    assert_eq!(texts(lost(&refusal, "uncommitted")), ["mine.txt"]);
    assert!(text(&refusal["message"]).contains("`mine.txt`, which is not committed"), "{refusal:#}");
    let next = refusal["next"][0].clone();
    ada.ok(&text(&next["op"]), next["params"].clone());
}

#[test]
fn what_took_the_place_of_a_workspace_is_named_and_never_removed() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, path) = published(&ada);
    let away = place.top().join("away");
    fs::rename(&path, &away).expect("moved");
    std::os::unix::fs::symlink(&away, &path).expect("linked");
    let shown = ada.ok("workspace.status", json!({ "task": task }));
    assert!(shown["blockers"].to_string().contains("not_the_workspace"), "{shown:#}");
    for dry_run in [true, false] {
        let refusal = ada.no("WORKSPACE_FAILED", "workspace.remove", json!({ "task": task, "dry_run": dry_run }));
        assert!(text(&refusal["message"]).contains(path.to_str().expect("UTF-8")), "{refusal:#}");
    }
    assert!(away.join("work.txt").exists() && path.is_symlink());
}
