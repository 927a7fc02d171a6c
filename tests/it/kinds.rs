//! Kinds of repositories: submodules, Git LFS, sparse checkouts, shallow clones, names that differ in case. The job goes
//! through in each, or what cannot be done is refused by name; nothing goes with a workspace unseen.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::place::{Agent, Place, text, texts, write};

fn warned(answer: &Value) -> Vec<String> {
    answer["warnings"].as_array().expect("a list").iter().map(|one| text(&one["code"])).collect()
}

/// The whole job on a new task, to the removal of its workspace. Gives what `workspace.ensure` answered.
fn whole_job(ada: &Agent<'_>) -> Value {
    let task = ada.claimed(json!({ "title": "one" }));
    let made = ada.call("workspace.ensure", json!({ "task": task })).expect("it is made");
    let path = PathBuf::from(text(&made["data"]["path"]));
    assert_eq!(ada.place.git_in(&path, &["status", "--porcelain"]), "");
    write(&path.join("work.txt"), "done\n");
    ada.place.git_in(&path, &["add", "--sparse", "work.txt"]);
    ada.place.git_in(&path, &["commit", "-q", "--no-verify", "-m", "work"]);
    publish_and_remove(ada, &task, &path);
    made
}

/// A claimed task with one commit of exactly `file` in its workspace.
fn worked(ada: &Agent<'_>, file: &str) -> (String, PathBuf) {
    let task = ada.claimed(json!({ "title": "two" }));
    let path = ada.workspace(&task);
    write(&path.join(file), "done\n");
    ada.place.git_in(&path, &["add", file]);
    ada.place.git_in(&path, &["commit", "-q", "--no-verify", "-m", "work"]);
    (task, path)
}

fn publish_and_remove(ada: &Agent<'_>, task: &str, path: &Path) {
    let shown = ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    assert_eq!(shown["publication_ready"], true, "{shown:#}");
    ada.ok("publish", json!({ "task": task }));
    ada.ok("workspace.remove", json!({ "task": task, "dry_run": true }));
    ada.ok("workspace.remove", json!({ "task": task }));
    assert!(!path.exists());
    assert_eq!(ada.place.git(&["worktree", "list"]).lines().count(), 1, "its registration went too");
}

/// A repository whose base has the submodule `lib`.
fn with_submodule() -> Place {
    let place = Place::new();
    let inner = place.top().join("inner");
    fs::create_dir(&inner).expect("made");
    place.git_in(&inner, &["init", "-q", "-b", "main"]);
    write(&inner.join("x.txt"), "x\n");
    place.commit_in(&inner, "inner");
    place.git_in(place.top(), &["clone", "-q", "--bare", "inner", "inner.git"]);
    let url = place.top().join("inner.git");
    let url = url.to_str().expect("UTF-8");
    place.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", url, "lib"]);
    place.commit("submodule");
    place.git(&["push", "-q", "origin", "main"]);
    place
}

/// The user allows submodules on local paths, which git does not by itself.
fn allow_local(place: &Place) {
    place.git(&["config", "--global", "protocol.file.allow", "always"]);
}

#[test]
fn a_submodule_that_cannot_be_fetched_is_told_and_stops_nothing() {
    let place = with_submodule();
    let made = whole_job(&place.agent("ada"));
    assert_eq!(warned(&made), ["submodules_not_initialised"], "{made:#}");
}

#[test]
fn a_clean_submodule_comes_with_the_workspace_and_goes_with_it() {
    let place = with_submodule();
    allow_local(&place);
    let made = whole_job(&place.agent("ada"));
    assert_eq!(warned(&made), Vec::<String>::new(), "{made:#}");
    assert!(place.repo.join("lib/x.txt").exists(), "the root's own is another");
}

#[test]
fn what_is_changed_in_a_submodule_stops_publication_and_removal() {
    let place = with_submodule();
    allow_local(&place);
    let ada = place.agent("ada");
    let (task, path) = ada.worked(json!({ "title": "one" }));
    let removes = || ada.no("WOULD_LOSE_WORK", "workspace.remove", json!({ "task": task }));
    for file in ["lib/x.txt", "lib/new.txt"] {
        write(&path.join(file), "changed\n");
        let refusal = ada.call("publish", json!({ "task": task })).expect_err("it is not committed");
        assert!(refusal.to_string().contains("`lib` is not committed"), "{refusal:#}");
        assert!(texts(&removes()["details"]["would_lose"]["uncommitted"]).contains(&"lib".to_owned()));
        place.git_in(&path.join("lib"), &["checkout", "-q", "--", "x.txt"]);
        let _ = fs::remove_file(path.join("lib/new.txt"));
    }
    publish_and_remove(&ada, &task, &path);
}

#[test]
fn commits_of_a_submodule_that_its_remote_does_not_have_are_told_and_not_removed() {
    // Git keeps a submodule's repository elsewhere, or in the submodule itself, as a clone made by hand does.
    for by_hand in [false, true] {
        let place = with_submodule();
        if !by_hand {
            allow_local(&place);
        }
        let ada = place.agent("ada");
        let task = ada.claimed(json!({ "title": "one" }));
        let path = ada.workspace(&task);
        let lib = path.join("lib");
        if by_hand {
            fs::remove_dir(&lib).expect("it is empty");
            place.git_in(&path, &["clone", "-q", "../../inner.git", "lib"]);
        }
        place.git_in(&lib, &["switch", "-q", "--detach"]);
        write(&lib.join("x.txt"), "y\n");
        let inside = place.commit_in(&lib, "inside");
        place.commit_in(&path, "takes the submodule on");
        ada.ok("validate", json!({ "task": task, "scope": "branch" }));
        let published = ada.call("publish", json!({ "task": task })).expect("the repository itself is published");
        assert_eq!(warned(&published), ["submodule_not_published"], "{published:#}");
        for dry_run in [true, false] {
            let params = json!({ "task": task, "dry_run": dry_run });
            let refusal = ada.no("WOULD_LOSE_WORK", "workspace.remove", params);
            let named = [format!("lib: {} inside", &inside[..12])];
            assert_eq!(texts(&refusal["details"]["would_lose"]["repositories"]), named, "{refusal:#}");
        }
        place.git_in(&lib, &["push", "-q", "origin", "HEAD:refs/heads/inside"]);
        publish_and_remove(&ada, &task, &path);
    }
}

#[test]
fn files_of_git_lfs_without_git_lfs_are_pointers_and_said_to_be() {
    let place = Place::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:\
        4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    place.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    place.write("big.bin", pointer);
    place.commit("a large file");
    place.git(&["push", "-q", "origin", "main"]);
    let ada = place.agent("ada");
    let made = whole_job(&ada);
    assert_eq!(warned(&made), ["lfs_pointers"], "{made:#}");
    let (task, path) = ada.worked(json!({ "title": "two" }));
    write(&path.join("big.bin"), "not a pointer any more\n");
    ada.call("publish", json!({ "task": task })).expect_err("a changed large file is a change");
    let refusal = ada.no("WOULD_LOSE_WORK", "workspace.remove", json!({ "task": task }));
    assert_eq!(refusal["details"]["would_lose"]["uncommitted"], json!(["big.bin"]));
}

#[test]
fn a_sparse_checkout_is_taken_over_and_what_it_leaves_out_is_not_missing() {
    for cone in ["--cone", "--no-cone"] {
        let place = Place::new();
        place.write("docs/guide.md", "read me\n");
        place.commit("docs");
        place.git(&["push", "-q", "origin", "main"]);
        let set = if cone == "--cone" { "src" } else { "/src/\n/.decapod/" };
        place.git(&["sparse-checkout", "set", cone, set]);
        let ada = place.agent("ada");
        whole_job(&ada);
        let (task, path) = worked(&ada, "src/more.txt");
        assert!(path.join("src").exists() && !path.join("docs").exists(), "{cone}");
        // A file outside of the checkout that is there all the same is somebody's.
        write(&path.join("docs/guide.md"), "changed\n");
        let refusal = ada.no("WOULD_LOSE_WORK", "workspace.remove", json!({ "task": task }));
        assert_eq!(refusal["details"]["would_lose"]["uncommitted"], json!(["docs/guide.md"]), "{cone}");
    }
}

#[test]
fn in_a_shallow_clone_the_job_goes_through_and_a_base_that_moved_is_named() {
    let place = Place::new();
    for n in 0..3 {
        place.write("src/lib.txt", &format!("{n}\n"));
        place.commit("more history");
    }
    place.git(&["push", "-q", "origin", "main"]);
    let url = format!("file://{}", place.remote.display());
    place.git_in(place.top(), &["clone", "-q", "--depth", "1", &url.replace(' ', "%20"), "shallow"]);
    let shallow = place.top().join("shallow");
    assert_eq!(place.git_in(&shallow, &["rev-parse", "--is-shallow-repository"]), "true");
    place.kctl_in(&shallow, &["init", "--no-agents"]).ok();
    let call = |op: &str, params: Value| place.call_in(&shallow, op, params);
    let ok = |op: &str, params: Value| call(op, params).unwrap_or_else(|why| panic!("{op}: {why:#}"))["data"].clone();
    let session = ok("session.acquire", json!({ "agent": "ada" }))["session"].clone();
    let begin = |title: &str| {
        let task = ok("task.create", json!({ "title": title }))["id"].clone();
        ok("task.claim", json!({ "task": task, "session": session }));
        let path = PathBuf::from(text(&ok("workspace.ensure", json!({ "task": task, "session": session }))["path"]));
        write(&path.join(format!("{title}.txt")), "done\n");
        place.commit_in(&path, title);
        ok("validate", json!({ "task": task, "scope": "branch" }));
        (task, path)
    };
    let (task, path) = begin("one");
    ok("publish", json!({ "task": task, "session": session }));
    ok("workspace.remove", json!({ "task": task, "session": session }));
    assert!(!path.exists());
    let (task, path) = begin("two");
    place.write("src/lib.txt", "moved\n");
    place.commit("the base moves");
    place.git(&["push", "-q", "origin", "main"]);
    let refusal = call("publish", json!({ "task": task, "session": session })).expect_err("the base moved");
    assert_eq!(refusal["code"], "ACCEPTED_BASE_NOT_ANCESTOR", "{refusal:#}");
    let lost = call("workspace.remove", json!({ "task": task, "session": session })).expect_err("it is unpublished");
    assert_eq!(lost["details"]["would_lose"]["unpublished"].as_array().map(Vec::len), Some(1), "{lost:#}");
    place.git_in(&path, &["rebase", "-q", "origin/main"]);
    ok("validate", json!({ "task": task, "scope": "branch" }));
    ok("publish", json!({ "task": task, "session": session }));
    ok("workspace.remove", json!({ "task": task, "session": session }));
}

#[test]
fn names_that_differ_only_in_case_are_different_files() {
    for ignore_case in ["false", "true"] {
        let place = Place::new();
        let probe = place.top().join("Probe");
        write(&probe, "x");
        if place.top().join("probe").exists() {
            // The file system itself cannot hold both.
            return;
        }
        place.write("Read.txt", "one\n");
        place.write("read.txt", "two\n");
        place.write("Dir/a.txt", "three\n");
        place.write("dir/a.txt", "four\n");
        place.commit("names");
        place.git(&["push", "-q", "origin", "main"]);
        place.git(&["config", "core.ignorecase", ignore_case]);
        let ada = place.agent("ada");
        whole_job(&ada);
        let (task, path) = worked(&ada, "work.txt");
        write(&path.join("read.txt"), "changed\n");
        let refusal = ada.no("WOULD_LOSE_WORK", "workspace.remove", json!({ "task": task }));
        assert_eq!(refusal["details"]["would_lose"]["uncommitted"], json!(["read.txt"]), "{ignore_case}");
        assert_eq!(fs::read_to_string(path.join("Read.txt")).expect("read"), "one\n");
    }
}

/// What a checkout on a file system without case leaves: an index with both names, and one file.
#[test]
fn an_index_whose_names_collide_on_disk_is_named_path_by_path() {
    let place = Place::new();
    place.write("Read.txt", "one\n");
    place.write("read.txt", "two\n");
    place.commit("names");
    place.git(&["push", "-q", "origin", "main"]);
    let ada = place.agent("ada");
    let (task, path) = ada.worked(json!({ "title": "one" }));
    fs::remove_file(path.join("Read.txt")).expect("removed");
    let shown = ada.ok("workspace.status", json!({ "task": task }));
    assert_eq!(shown["changes"], json!([{ "path": "Read.txt", "kind": "deleted" }]));
    let refusal = ada.call("publish", json!({ "task": task })).expect_err("it is not clean");
    assert!(refusal.to_string().contains("`Read.txt` is not committed"), "{refusal:#}");
    ada.no("WOULD_LOSE_WORK", "workspace.remove", json!({ "task": task }));
}
