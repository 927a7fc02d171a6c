//! Programs that a repository names in its configuration, and that nothing which only looks may run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::rig::Rig;

/// Every hook that git could be brought to run by looking, writing an index, or moving a ref.
const HOOKS: [&str; 9] = [
    "post-index-change",
    "reference-transaction",
    "post-checkout",
    "pre-commit",
    "post-commit",
    "fsmonitor-watchman",
    "pre-auto-gc",
    "post-rewrite",
    "update",
];

#[test]
fn nothing_that_a_repository_configures_runs_when_kctl_only_looks() {
    let rig = Rig::new();
    let task = rig.task(
        json!({ "title": "x", "criteria": ["check:test", "diff_scope:*.txt,.gitattributes", "search_none:FORBIDDEN"] }),
    );
    rig.ok("task.claim", json!({ "task": task }));
    let path = rig.worked_on(&task);
    let ran = rig.top.join("ran");
    fs::create_dir(&ran).expect("made");
    let program = |name: &str| {
        let file = rig.top.join(format!("bin-{name}"));
        fs::write(&file, format!("#!/bin/sh\n: > '{}/{name}'\ncat\n", ran.display())).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("set");
        file.display().to_string()
    };
    for (key, name) in [
        ("core.fsmonitor", "fsmonitor"),
        ("diff.external", "external"),
        ("diff.evil.command", "diff-command"),
        ("diff.evil.textconv", "textconv"),
        ("filter.evil.clean", "clean"),
        ("filter.evil.smudge", "smudge"),
        ("filter.evil.process", "process"),
        ("merge.evil.driver", "merge"),
        ("core.sshCommand", "ssh"),
        ("core.gitProxy", "proxy"),
        ("core.pager", "pager"),
        ("core.editor", "editor"),
        ("core.askPass", "askpass"),
        ("gpg.program", "gpg"),
        ("gpg.ssh.program", "gpg-ssh"),
        ("credential.helper", "credential"),
        ("pager.status", "pager-status"),
        ("uploadpack.packObjectsHook", "pack"),
        ("sequence.editor", "sequence"),
        ("web.browser", "browser"),
    ] {
        rig.git(&["config", key, &program(name)]);
    }
    for alias in ["status", "config", "worktree", "rev-parse", "ls-remote", "remote", "diff", "st"] {
        rig.git(&["config", &format!("alias.{alias}"), &format!("!{}", program(&format!("alias-{alias}")))]);
    }
    let hooks = rig.top.join("hooks");
    fs::create_dir(&hooks).expect("made");
    for hook in HOOKS {
        fs::copy(program(hook), hooks.join(hook)).expect("copied");
    }
    rig.git(&["config", "core.hooksPath", hooks.to_str().expect("UTF-8 here")]);
    for dir in [rig.repo(), path.clone()] {
        fs::write(dir.join(".gitattributes"), "* diff=evil filter=evil merge=evil\n").expect("written");
        fs::write(dir.join("a.txt"), "good, and changed\n").expect("written");
    }
    let _ = fs::remove_dir_all(&ran);
    fs::create_dir(&ran).expect("made");
    for (op, params) in [
        ("status", json!({})),
        ("doctor", json!({})),
        ("task.list", json!({})),
        ("workspace.list", json!({})),
        ("workspace.status", json!({ "task": task })),
        ("context.resolve", json!({ "task": task, "query": "good" })),
        ("validate", json!({ "task": task, "scope": "branch", "dry_run": true })),
        ("validate", json!({ "task": task, "scope": "branch" })),
        ("evidence.list", json!({})),
        ("publication.list", json!({})),
        (
            "gate.push",
            json!({ "updates": [{ "local_ref": "refs/heads/x", "local_oid": rig_head(&rig), "remote_ref": "refs/heads/x" }] }),
        ),
        ("ledger.verify", json!({})),
        ("init", json!({ "dry_run": true })),
        ("uninstall", json!({ "dry_run": true })),
        ("workspace.ensure", json!({ "task": task, "dry_run": true })),
    ] {
        let answer = rig.run(op, &params);
        assert_eq!(answer.code(), None, "{op}: {answer:?}");
        assert_eq!(names(&ran), Vec::<String>::new(), "{op} {params} ran them");
    }
    // The trap is set: whoever looks with plain git runs what is configured.
    let _ = rig.program("git").args(["status"]).current_dir(&path).output();
    let _ = rig.program("git").args(["diff"]).current_dir(&path).output();
    let caught = names(&ran);
    for name in ["fsmonitor", "process", "diff-command"] {
        assert!(caught.iter().any(|caught| caught == name), "{name} would not have been noticed: {caught:?}");
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("listed").filter_map(Result::ok);
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Read without git, which would run what is configured.
fn rig_head(rig: &Rig) -> String {
    let head = fs::read_to_string(rig.repo().join(".git/refs/heads/main")).expect("it is loose");
    head.trim().to_owned()
}
