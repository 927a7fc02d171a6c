//! Names that need quoting, names that are no text, and links that lead out.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::whole_job;
use crate::rig::Rig;

#[test]
fn the_whole_job_goes_through_where_every_name_needs_quoting() {
    let rig = Rig::set_up(Rig::named("it's a \"dir\" $HOME `id` ; ü *"));
    for name in ["with space", "quote\"d", "it's", "new\nline", "tab\tbed", "-dash", "ünïcode", "back\\slash", "$(id)"]
    {
        rig.put(name, "x\n");
    }
    rig.push_all("names");
    whole_job(&rig);
}

#[test]
fn a_repository_in_a_directory_with_a_line_break_is_served_or_refused_by_name() {
    let rig = Rig::set_up(Rig::named("line\nbreak"));
    let task = rig.task(json!({ "title": "x" }));
    rig.ok("task.claim", json!({ "task": task }));
    let ran = rig.run("workspace.ensure", &json!({ "task": task }));
    let code = ran.code();
    assert!(code.is_none() || code.as_deref() == Some("WORKSPACE_FAILED"), "{ran:?}");
    if code.is_none() {
        let path = ran.json()["result"]["data"]["path"].as_str().map(std::path::PathBuf::from).expect("it has one");
        assert!(path.join("a.txt").is_file());
    } else {
        assert_eq!(rig.git(&["for-each-ref", "refs/heads/kctl"]), "");
    }
    rig.ok("status", json!({}));
    rig.assert_sound("afterwards");
}

#[test]
fn a_repository_whose_path_is_no_text_is_read_and_where_it_cannot_be_worked_in_that_is_said() {
    let rig = Rig::set_up(Rig::named(OsStr::from_bytes(b"caf\xe9")));
    let task = rig.task(json!({ "title": "x" }));
    rig.ok("task.claim", json!({ "task": task }));
    let ran = rig.run("workspace.ensure", &json!({ "task": task }));
    assert_eq!(ran.code().as_deref(), Some("WORKSPACE_FAILED"), "{ran:?}");
    for op in ["status", "task.list", "workspace.list", "doctor", "context.resolve"] {
        rig.ok(op, json!({}));
    }
    assert_eq!(rig.git(&["for-each-ref", "refs/heads/kctl"]), "");
}

#[test]
fn files_whose_names_are_no_text_are_work_like_any_other() {
    let rig = Rig::new();
    let task = rig.task(json!({ "title": "x", "criteria": ["diff_scope:src/**", "search_none:FORBIDDEN"] }));
    rig.ok("task.claim", json!({ "task": task }));
    let path = rig.worked_on(&task);
    let name = OsStr::from_bytes(b"bad\xff\xfename");
    fs::write(path.join(name), "FORBIDDEN\n").expect("written");
    let status = rig.ok("workspace.status", json!({ "task": task }));
    assert_eq!((&status["clean"], status["changes"].as_array().map(Vec::len)), (&json!(false), Some(1)), "{status}");
    let shown = rig.ok("validate", json!({ "task": task }));
    assert_eq!(shown["verified"], false, "both the name and the content count: {shown}");
    rig.ok("context.resolve", json!({ "task": task }));
    let removed = rig.run("workspace.remove", &json!({ "task": task }));
    assert_eq!(removed.code().as_deref(), Some("WOULD_LOSE_WORK"));
    assert!(path.join(name).is_file());
}

#[test]
fn links_that_lead_out_of_the_tree_are_neither_read_nor_written_through() {
    const SECRET: &str = "what lies outside the tree";
    let rig = Rig::new();
    let outside = rig.top.join("outside");
    fs::create_dir_all(outside.join("specs")).expect("made");
    for name in ["AGENTS.md", "specs/one.md", "plain.txt"] {
        fs::write(outside.join(name), format!("# {SECRET}\n")).expect("written");
    }
    let task = rig.task(json!({ "title": "x", "criteria": [format!("file_contains:out.txt:{SECRET}")] }));
    rig.ok("task.claim", json!({ "task": task }));
    let path = rig.worked_on(&task);
    let _ = fs::remove_file(path.join("AGENTS.md"));
    for (link, target) in [("AGENTS.md", "AGENTS.md"), ("specs", "specs"), ("out.txt", "plain.txt")] {
        symlink(outside.join(target), path.join(link)).expect("linked");
    }
    for (op, params) in [
        ("context.resolve", json!({ "task": task, "query": SECRET, "paths": ["out.txt", "specs/one.md"] })),
        ("validate", json!({ "task": task })),
        ("workspace.status", json!({ "task": task })),
    ] {
        let ran = rig.run(op, &params);
        let answer = ran.json();
        assert!(answer.get("result").is_some(), "{op}: {answer}");
        let said = answer["result"]["data"].to_string();
        let told = said.matches(SECRET).count();
        // The criterion itself names the text; nothing else may.
        let own = said.matches(&format!("contains `{SECRET}`")).count();
        assert_eq!(told, own, "{op} read through a link: {said}");
        assert_ne!(answer["result"]["data"]["verified"], true, "{op}: {said}");
    }
}

#[test]
fn a_profile_or_a_block_that_is_a_link_out_of_the_tree_is_refused() {
    let rig = Rig::bare();
    let outside = rig.top.join("outside.md");
    fs::write(&outside, "theirs\n").expect("written");
    symlink(&outside, rig.repo().join("AGENTS.md")).expect("linked");
    assert_eq!(rig.run("init", &json!({})).code().as_deref(), Some("OUT_OF_TREE"));
    fs::remove_file(rig.repo().join("AGENTS.md")).expect("removed");
    fs::remove_file(rig.repo().join(".decapod/kctl.toml")).expect("removed");
    symlink(&outside, rig.repo().join(".decapod/kctl.toml")).expect("linked");
    let code = rig.run("init", &json!({})).code();
    assert!(matches!(code.as_deref(), Some("OUT_OF_TREE" | "PROFILE_INVALID")), "{code:?}");
    assert_eq!(fs::read_to_string(outside).expect("there"), "theirs\n");
}
