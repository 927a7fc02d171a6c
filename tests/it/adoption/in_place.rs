//! The gate in git's own hooks directory.

use super::world::{RECORDER, World, text};

#[test]
fn the_gate_judges_a_push_and_its_no_stops_it() {
    let world = World::new();
    world.install();
    let head = |rev: &str| world.git(&["rev-parse", rev]);
    let (pushed, said) = world.push(&[]);
    assert!(pushed, "{said}");
    let zero = "0".repeat(40);
    let expected = format!(
        "gate git-hook pre-push origin ../remote.git\nrefs/heads/main {} refs/heads/main {zero}\n",
        head("HEAD")
    );
    assert_eq!(world.log(), expected);
    let before = head("HEAD");
    assert!(!world.push(&[("GATE_SAYS", "11")]).0);
    assert_eq!(world.git_in(&world.top().join("remote.git"), &["rev-parse", "main"]), before);
}

#[test]
fn the_former_hook_gets_the_same_arguments_and_input_after_the_gate() {
    let world = World::new();
    world.put(".git/hooks/pre-push", RECORDER, 0o755);
    world.install();
    let (pushed, said) = world.push(&[]);
    assert!(pushed, "{said}");
    let log = world.log();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 4, "{log}");
    assert!(lines[0].starts_with("gate git-hook pre-push origin"));
    assert!(lines[2].starts_with("former ") && lines[2].ends_with("pre-push.before-kctl origin ../remote.git"));
    assert_eq!(lines[1], lines[3], "both read the whole input");
    assert!(!world.push(&[("FORMER_SAYS", "3")]).0, "its no still counts");
    assert!(!world.push(&[("GATE_SAYS", "11")]).0);
    assert!(!world.log().contains("former"), "what may not be pushed is not tested first");
}

#[test]
fn a_large_input_reaches_both_readers_whole() {
    let world = World::new();
    world.put(".git/hooks/pre-push", "#!/bin/sh\ncat | cksum > \"$LOG.former\"\n", 0o755);
    world.put("kctl", "#!/bin/sh\ncat | cksum > \"$LOG.gate\"\n", 0o755);
    let plan = {
        let mut facts = world.survey();
        facts.kctl = world.repo.join("kctl");
        kctl::rules::adoption::hooks::install(&facts).expect("planned")
    };
    world.carry_out(&plan);
    let refs: String = (0..20_000).map(|i| format!("update refs/heads/many/branch-number-{i} HEAD\n")).collect();
    world.put("refs", &refs, 0o644);
    let all = "git update-ref --stdin < refs && git push -q origin --all";
    let output = world.run(&world.repo, "sh", &["-c", all], &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sum = |name: &str| String::from_utf8_lossy(&world.run(world.top(), "cat", &[name], &[]).stdout).into_owned();
    assert_eq!(sum("log.gate"), sum("log.former"));
    let bytes = sum("log.gate").split_whitespace().nth(1).and_then(|count| count.parse::<u64>().ok());
    assert!(bytes > Some(2_000_000), "{bytes:?}");
}

#[test]
fn readers_that_do_not_read_break_nothing() {
    let world = World::new();
    world.put(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n", 0o755);
    world.put("../bin dir/kctl", "#!/bin/sh\nexit 0\n", 0o755);
    world.install();
    assert_eq!(world.push(&[]), (true, String::new()));
}

#[test]
fn a_former_hook_that_git_skipped_is_skipped_still() {
    let world = World::new();
    world.put(".git/hooks/pre-push", RECORDER, 0o644);
    world.install();
    assert!(world.push(&[("FORMER_SAYS", "1")]).0);
    assert!(!world.log().contains("former"));
}

#[test]
fn a_missing_kctl_is_said_aloud_and_does_not_lock_the_repository() {
    let world = World::new();
    world.put(".git/hooks/pre-push", RECORDER, 0o755);
    world.install();
    std::fs::remove_file(&world.kctl).expect("removed");
    let (pushed, said) = world.push(&[]);
    assert!(pushed && said.contains("THE PRE-PUSH GATE DID NOT RUN"), "{said}");
    assert!(world.log().starts_with("former"), "the former hook runs all the same");
    // One on PATH takes its place.
    world.put("../other/kctl", "#!/bin/sh\nexit 9\n", 0o755);
    let path = format!("{}:/usr/bin:/bin", text(&world.top().join("other")));
    assert_eq!(world.push(&[("PATH", &path)]), (false, world.push(&[("PATH", &path)]).1));
    // One that cannot be started is a missing one.
    world.put("../bin dir/kctl", "#!/nowhere/at/all\n", 0o755);
    let (pushed, said) = world.push(&[]);
    assert!(pushed && said.contains("THE PRE-PUSH GATE DID NOT RUN"), "{said}");
}

#[test]
fn no_variable_skips_the_gate() {
    let world = World::new();
    world.install();
    for depth in ["0", "7", "8", "99999999999999999999", "x", "-1"] {
        let env = [("KCTL_HOOK_DEPTH", depth), ("GATE_SAYS", "11"), ("kctl_bin", "/bin/true"), ("kctl_status", "0")];
        assert!(!world.push(&env).0, "{depth}");
    }
}

#[test]
fn uninstall_restores_every_byte_and_bit() {
    for mode in [0o755, 0o750, 0o644] {
        let world = World::new();
        world.put(".git/hooks/pre-push", RECORDER, mode);
        let before = world.snapshot();
        world.install();
        assert_ne!(world.snapshot(), before);
        world.uninstall();
        assert_eq!(world.snapshot(), before, "{mode:o}");
    }
    let world = World::new();
    let before = world.snapshot();
    world.install();
    world.uninstall();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn every_worktree_is_gated() {
    let world = World::new();
    world.install();
    world.git(&["worktree", "add", "-q", "-b", "other", "../work tree"]);
    let tree = world.top().join("work tree");
    assert!(!world.push_in(&tree, "other", &[("GATE_SAYS", "1")]).0);
    assert!(world.push_in(&tree, "other", &[]).0);
}

#[test]
fn an_install_cut_off_after_any_step_leaves_the_former_hook_running() {
    let steps = {
        let world = World::new();
        world.put(".git/hooks/pre-push", RECORDER, 0o755);
        world.install().steps.len()
    };
    for cut in 0..steps {
        let world = World::new();
        world.put(".git/hooks/pre-push", RECORDER, 0o755);
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
