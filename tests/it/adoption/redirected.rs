//! The gate where `core.hooksPath` is set, or where the former hook would not survive another name.

use std::os::unix::fs::symlink;

use super::world::{RECORDER, World, text};

/// The hook that asks for its own name, as husky's do: `h` beside it runs `.husky/<name>`.
const HUSKY_STUB: &str = "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n";
const HUSKY_H: &str =
    "n=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n[ ! -f \"$s\" ] && exit 0\nsh -e \"$s\" \"$@\"\n";

#[test]
fn a_tracked_hooks_directory_is_not_touched_and_keeps_working() {
    let world = World::new();
    for name in ["pre-push", "post-commit"] {
        world.put(&format!(".githooks/{name}"), RECORDER, 0o755);
    }
    world.git(&["add", "."]);
    world.git(&["config", "core.hooksPath", ".githooks"]);
    let before = world.snapshot();
    world.install();
    assert_eq!(world.git(&["status", "--porcelain", ".githooks"]).lines().count(), 2, "only staged, never changed");
    world.git(&["commit", "-q", "-m", "hooks"]);
    assert_eq!(world.log(), "former .githooks/post-commit \n", "under its own name and path");
    assert!(world.push(&[]).0);
    assert!(world.log().starts_with("gate ") && world.log().contains("former .githooks/pre-push origin"));
    assert!(!world.push(&[("FORMER_SAYS", "1")]).0);
    world.put(".githooks/commit-msg", "#!/bin/sh\nexit 1\n", 0o755);
    let refused = world.run(&world.repo, "git", &["commit", "--allow-empty", "-m", "x"], &[]);
    assert!(!refused.status.success(), "a hook added later works at once");
    std::fs::remove_file(world.repo.join(".githooks/commit-msg")).expect("removed");
    world.uninstall();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_relative_directory_is_each_work_trees_own() {
    let world = World::new();
    world.put(".githooks/pre-push", RECORDER, 0o755);
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "hooks"]);
    world.git(&["config", "core.hooksPath", ".githooks"]);
    world.install();
    world.git(&["worktree", "add", "-q", "-b", "other", "../work tree"]);
    let tree = world.top().join("work tree");
    std::fs::write(tree.join(".githooks/pre-push"), "#!/bin/sh\nexit 4\n").expect("written");
    assert!(!world.push_in(&tree, "other", &[]).0, "the work tree's own hook says no");
    assert!(world.push(&[]).0);
    std::fs::remove_dir_all(tree.join(".githooks")).expect("removed");
    assert!(world.push_in(&tree, "other", &[]).0, "no hook there is no hook, as with git");
    assert!(world.log().starts_with("gate "), "and the gate is in force all the same");
}

#[test]
fn husky_like_hooks_find_their_own_name() {
    let world = World::new();
    world.put(".husky/_/pre-push", HUSKY_STUB, 0o755);
    world.put(".husky/_/h", HUSKY_H, 0o644);
    world.put(".husky/_/.gitignore", "*\n", 0o644);
    world.put(".husky/pre-push", "echo husky \"$@\" >> \"$LOG\"; cat >> \"$LOG\"; exit ${FORMER_SAYS:-0}\n", 0o644);
    world.git(&["config", "core.hooksPath", ".husky/_"]);
    let before = world.snapshot();
    world.install();
    assert!(world.push(&[]).0);
    assert!(world.log().contains("husky origin ../remote.git\nrefs/heads/main"), "{}", world.log());
    assert!(!world.push(&[("FORMER_SAYS", "1")]).0);
    world.uninstall();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_hook_that_asks_for_its_own_name_is_run_where_it_lies() {
    let world = World::new();
    world.put(".git/hooks/dispatch", "#!/bin/sh\necho \"as ${0##*/}\" >> \"$LOG\"\n", 0o755);
    symlink("dispatch", world.repo.join(".git/hooks/pre-push")).expect("linked");
    let before = world.snapshot();
    world.install();
    assert!(world.push(&[]).0);
    assert!(world.log().ends_with("as pre-push\n"), "{}", world.log());
    world.uninstall();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_persons_global_directory_is_shared_and_stays_untouched() {
    let world = World::new();
    world.put("../home/my hooks/pre-push", RECORDER, 0o755);
    world.git(&["config", "--global", "core.hooksPath", "~/my hooks"]);
    let before = world.snapshot();
    world.install();
    assert!(world.push(&[]).0);
    let former = format!("former {}/home/my hooks/pre-push origin", text(world.top()));
    assert!(world.log().contains(&former), "{}", world.log());
    world.uninstall();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_global_hook_that_calls_the_repositorys_own_does_not_go_round_for_ever() {
    let world = World::new();
    let circle = "#!/bin/sh\nexec \"$(git rev-parse --git-path hooks)/pre-push\" \"$@\"\n";
    world.put("../home/hooks/pre-push", circle, 0o755);
    world.git(&["config", "--global", "core.hooksPath", "~/hooks"]);
    world.install();
    let (pushed, said) = world.push(&[]);
    assert!(pushed && said.contains("hooks call each other in a circle"), "{said}");
}

#[test]
fn a_repository_that_was_moved_is_mended_by_init() {
    let mut world = World::new();
    world.put(".githooks/pre-push", RECORDER, 0o755);
    world.git(&["config", "core.hooksPath", ".githooks"]);
    let before = world.git(&["config", "--local", "--get", "core.hooksPath"]);
    world.install();
    let moved = world.top().join("moved");
    std::fs::rename(&world.repo, &moved).expect("moved");
    world.repo = moved;
    world.install();
    assert!(world.push(&[]).0);
    assert!(world.log().contains("former .githooks/pre-push"), "{}", world.log());
    world.uninstall();
    assert_eq!(world.git(&["config", "--local", "--get", "core.hooksPath"]), before);
}

#[test]
fn an_install_cut_off_after_any_step_leaves_the_former_hooks_running() {
    let fresh = || {
        let world = World::new();
        world.put(".githooks/pre-push", RECORDER, 0o755);
        world.git(&["config", "core.hooksPath", ".githooks"]);
        world
    };
    let steps = fresh().install().steps.len();
    for cut in [1, steps - 2, steps - 1] {
        let world = fresh();
        let before = world.snapshot();
        let mut plan = kctl::rules::adoption::hooks::install(&world.survey()).expect("planned");
        plan.steps.truncate(cut);
        world.carry_out(&plan);
        assert!(!world.push(&[("FORMER_SAYS", "1")]).0, "after {cut} steps");
        world.install();
        world.uninstall();
        assert_eq!(world.snapshot(), before, "after {cut} steps");
    }
}

#[test]
fn a_setting_made_since_by_another_tool_survives_uninstall() {
    let world = World::new();
    world.put(".githooks/pre-push", RECORDER, 0o755);
    world.git(&["config", "core.hooksPath", ".githooks"]);
    world.install();
    world.git(&["config", "core.hooksPath", ".husky/_"]);
    world.uninstall();
    assert_eq!(world.git(&["config", "core.hooksPath"]), ".husky/_");
}
