//! Git itself is killed at each step of making and of removing a worktree, and kctl with it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;

use crate::rig::{Rig, Saved};

/// A git that gets as far as `CUT_AT` says, by deleting or by undoing what it did after that, and dies with who called it.
const DYING: &str = r#"#!/bin/sh
die() { kill -9 $PPID; kill -9 $$; }
removes() {
    for path; do :; done
    admin=$(sed -n 's/^gitdir: //p' "$path/.git")
    {
        [ "$CUT_ORDER" = last ] || echo "$path/.git"
        find "$path" -depth -mindepth 1 ! -path "$path/.git"
        echo "$path/.git"
        echo "$path"
        find "$admin" -depth
    } | awk '!seen[$0]++' | head -n "$CUT_AT" | while read -r one; do
        if [ -d "$one" ] && [ ! -L "$one" ]; then rmdir "$one" || exit; else rm "$one"; fi
    done
    die
}
adds() {
    REAL "$@" || exit
    while [ "$1" != -- ]; do shift; done
    path=$2 admin=$(sed -n 's/^gitdir: //p' "$2/.git")
    [ "$CUT_AT" -gt 8 ] || printf initializing > "$admin/locked"
    [ "$CUT_AT" -gt 7 ] || rm "$admin/index"
    [ "$CUT_AT" -gt 6 ] || { printf go > "$path/a.txt"; rm "$path/check.sh"; }
    [ "$CUT_AT" -gt 5 ] || find "$path" -mindepth 1 -maxdepth 1 ! -name .git -exec rm -r {} +
    [ "$CUT_AT" -gt 4 ] || rm -rf "$admin/HEAD" "$admin/commondir" "$admin/logs" "$admin/refs"
    [ "$CUT_AT" -gt 3 ] || rm -r "$path"
    [ "$CUT_AT" -gt 2 ] || rm "$admin/gitdir"
    [ "$CUT_AT" -gt 1 ] || rm -r "$admin"
    die
}
case " $* " in
*" worktree remove "*) removes "$@" ;;
*" worktree add "*) adds "$@" ;;
*) exec REAL "$@" ;;
esac
"#;
/// From the branch alone to a worktree that is whole and not locked any more.
const ADDING: std::ops::RangeInclusive<usize> = 1..=9;
/// More than there is to delete.
const MAX_DELETIONS: usize = 100;

/// A task of ours, whose workspace is made, killed, removed, in any order.
struct Cut {
    rig: Rig,
    task: String,
    path: PathBuf,
    with_workspace: Saved,
    without: Saved,
    env: String,
}

impl Cut {
    fn new() -> Self {
        let rig = Rig::new();
        let task = rig.task(json!({ "title": "x" }));
        rig.ok("task.claim", json!({ "task": task }));
        let search = std::env::var("PATH").expect("there is one");
        let real = std::env::split_paths(&search).map(|dir| dir.join("git")).find(|git| git.is_file());
        let bin = rig.top.join("bin");
        fs::create_dir_all(&bin).expect("made");
        let text = DYING.replace("REAL", real.expect("git is there").to_str().expect("UTF-8 here"));
        fs::write(bin.join("git"), text).expect("written");
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).expect("set");
        let env = format!("{}:{search}", bin.display());
        let without = rig.save();
        let path = rig.ok("workspace.ensure", json!({ "task": task }))["path"].as_str().map(PathBuf::from);
        let path = path.expect("it has one");
        let with_workspace = rig.save_as("made");
        Self { rig, task, path, with_workspace, without, env }
    }

    /// `op`, killed with its git after `at` steps.
    fn killed(&self, op: &str, order: &str, at: usize, when: &str) {
        let at = at.to_string();
        let mut command = self.rig.prepared(op, &json!({ "task": self.task }));
        command.envs([("PATH", self.env.as_str()), ("CUT_AT", &at), ("CUT_ORDER", order)]);
        let killed = self.rig.finish(&mut command);
        assert!(killed.was_killed(), "{when}: {killed:?}");
        self.rig.assert_sound(when);
    }

    /// What the next call makes of it, whichever it is.
    fn goes_on(&self, next: &str, when: &str) {
        let (rig, params) = (&self.rig, json!({ "task": self.task }));
        match next {
            "workspace.ensure" => {
                rig.ok(next, params);
                assert_eq!(rig.git_in(&self.path, &["status", "--porcelain"]), "", "{when}");
                rig.ok("validate", json!({ "task": self.task }));
            }
            "workspace.prune" => {
                rig.ok("task.cancel", json!({ "task": self.task, "reason": "not needed" }));
                let pruned = rig.ok(next, json!({}));
                assert_eq!(pruned["removed"][0]["task"], self.task, "{when}: {pruned}");
                assert!(!self.path.exists(), "{when}");
            }
            _ => {
                rig.ok(next, params);
                assert!(!self.path.exists(), "{when}");
            }
        }
        rig.assert_sound(when);
        rig.assert_tidy(when);
    }
}

const NEXT: [&str; 3] = ["workspace.ensure", "workspace.remove", "workspace.prune"];

/// Every step of making a worktree, and every `stride`th deletion of removing one. How many there were.
pub fn walk(stride: usize) -> usize {
    let cut = Cut::new();
    let mut count = 0;
    for next in NEXT {
        for at in ADDING {
            let when = format!("making cut after step {at}, then {next}");
            cut.rig.restore(&cut.without);
            cut.killed("workspace.ensure", "first", at, &when);
            cut.goes_on(next, &when);
            count += 1;
        }
        for order in ["first", "last"] {
            for at in (1..=MAX_DELETIONS).step_by(stride) {
                let when = format!("removal with .git {order} cut after {at} deletions, then {next}");
                cut.rig.restore(&cut.with_workspace);
                cut.killed("workspace.remove", order, at, &when);
                let admin = cut.rig.repo().join(".git/worktrees").join(cut.path.file_name().expect("it has one"));
                let is_over = !admin.exists();
                cut.goes_on(next, &when);
                count += 1;
                if is_over {
                    break;
                }
                assert!(at < MAX_DELETIONS - stride, "{when}: it never ended");
            }
        }
    }
    count
}
