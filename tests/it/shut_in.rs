//! Checks shut in: what gets out, and that an end is still told exactly. `left` tries each way to outlive a command,
//! under `bwrap` and without it, and some through the whole of kctl.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

mod left;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use kctl::adapters::process::Supervisor;
use kctl::domain::stamp::Length;
use kctl::ports::runner::{Ended, Invocation, NotStarted, Outcome, Program, Runner as _, Sandbox, Tier};
use kctl::rules::redaction::of_stream;
use serde_json::json;

use crate::place::{Place, text, write};
use crate::rig::skipped;

const KCTL: &str = env!("CARGO_BIN_EXE_kctl");

/// A work tree with a git directory, on which runs are tried.
struct Ground {
    _dir: tempfile::TempDir,
    tree: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let tree = dir.path().canonicalize().expect("it is there").join("tree");
        fs::create_dir_all(tree.join(".git")).expect("made");
        Self { _dir: dir, tree }
    }

    fn sandbox(&self) -> Sandbox {
        let common_dir = self.tree.join(".git");
        Sandbox { network: false, work_tree: self.tree.clone(), common_dir, writable: Vec::new() }
    }

    fn invocation(&self, program: Program, sandbox: Option<Sandbox>) -> Invocation {
        let bare = Invocation::new(program, &self.tree, Length::seconds(20));
        Invocation { grace: Length::seconds(1), sandbox, ..bare }
    }

    fn run(&self, text: &str) -> Outcome {
        let invocation = self.invocation(Program::Shell(text.to_owned()), Some(self.sandbox()));
        supervisor().run(&invocation, &mut |_| ())
    }

    fn output(&self, text: &str) -> String {
        self.run(text).output.text
    }
}

fn supervisor() -> Supervisor {
    Supervisor::new(of_stream).with_helper(KCTL)
}

/// The same where the programs that a command needs are found and `bwrap` is not.
fn supervisor_without_bwrap(bin: &Path) -> Supervisor {
    link_programs(bin);
    let mut environment: Vec<_> = std::env::vars_os().filter(|(name, _)| name != "PATH").collect();
    environment.push(("PATH".into(), bin.into()));
    Supervisor::with_environment(environment, of_stream).with_helper(KCTL)
}

/// Whether `bwrap` works on this machine; says so where it does not.
fn has_bwrap(test: &str) -> bool {
    let found = supervisor().isolation(&Ground::new().sandbox());
    if found.tier != Tier::Bwrap {
        skipped(test, &found.why);
    }
    found.tier == Tier::Bwrap
}

/// What Python compiles is the run's own: it can be written, is not read from beside a source, and goes with the run.
#[test]
fn a_run_compiles_python_into_a_place_of_its_own_that_goes_with_it() {
    if Command::new("python3").arg("--version").output().is_err() {
        skipped("compiled Python", "there is no python3");
        return;
    }
    let ground = Ground::new();
    fs::write(ground.tree.join("a.py"), "x = 1\n").expect("written");
    let text = "python3 -m compileall -q a.py && test -d \"$PYTHONPYCACHEPREFIX\" && echo \"$PYTHONPYCACHEPREFIX\"";
    for sandbox in [Some(ground.sandbox()), None] {
        let outcome = supervisor().run(&ground.invocation(Program::Shell(text.to_owned()), sandbox), &mut |_| ());
        let place = outcome.output.text.trim();
        assert!(outcome.ended == (Ended::Exited { code: 0 }) && place.starts_with('/'), "{outcome:?}");
        assert!(!Path::new(place).exists() && !ground.tree.join("__pycache__").exists(), "{place}");
    }
}

#[test]
fn an_end_is_told_exactly_through_bwrap() {
    if !has_bwrap("ends under bwrap") {
        return;
    }
    let ground = Ground::new();
    for (text, code, statuses) in [
        ("exit 3", 3, vec![]),
        ("false | true", 1, vec![1, 0]),
        ("yes | head -1", 141, vec![141, 0]),
        ("exit 137", 137, vec![]),
    ] {
        let outcome = ground.run(text);
        assert_eq!(outcome.ended, Ended::Exited { code }, "{text}: {}", outcome.output.text);
        assert_eq!(outcome.pipe_statuses, statuses, "{text}");
        assert_eq!(outcome.isolation.tier, Tier::Bwrap);
    }
    for (text, signal) in [("kill -KILL $$", 9), ("kill -SEGV $$", 11), ("kill -TERM $$", 15), ("kill -KILL -1", 9)] {
        assert_eq!(ground.run(text).ended, Ended::Signalled { signal, core_dumped: false }, "{text}");
    }
    let argv = |words: &[&str]| {
        let program = Program::Argv(words.iter().map(ToString::to_string).collect());
        supervisor().run(&ground.invocation(program, Some(ground.sandbox())), &mut |_| ()).ended
    };
    assert_eq!(argv(&["bash", "-c", "kill -ABRT $$"]), Ended::Signalled { signal: 6, core_dumped: false });
    let missing = NotStarted::Missing { program: "kctl-no-such-program".into() };
    assert_eq!(argv(&["kctl-no-such-program"]), Ended::NotStarted(missing));
    assert!(supervisor().tool_version("bash", &ground.tree, Some(&ground.sandbox())).is_ok());
}

#[test]
fn what_runs_in_a_box_cannot_tell_of_its_own_end() {
    if !has_bwrap("a forged end under bwrap") {
        return;
    }
    let forge = "for end in /proc/[12]/fd/*; do (printf 'on\\n{\"type\":\"exited\",\"code\":0}\\n' > $end) 2>/dev/null; done; exit 7";
    let outcome = Ground::new().run(forge);
    assert_eq!(outcome.ended, Ended::Exited { code: 7 }, "{}", outcome.output.text);
}

#[test]
fn under_bwrap_only_the_work_tree_is_written_to_and_credentials_and_the_network_are_gone() {
    if !has_bwrap("walls of bwrap") {
        return;
    }
    let ground = Ground::new();
    let outside = ground.tree.join("../outside");
    let wrote = |path: &str| ground.output(&format!("echo x 2>/dev/null > {path} && echo yes || echo no"));
    assert_eq!(wrote("inside"), "yes\n");
    assert!(ground.tree.join("inside").exists());
    for path in [".git/config", "/etc/kctl-it", "/usr/kctl-it", "$HOME/.bashrc-kctl-it"] {
        assert!(wrote(path).ends_with("no\n"), "{path}");
    }
    ground.run("echo x > ../outside; echo x > /tmp/kctl-it-private; test -w $TMPDIR");
    assert!(!outside.exists() && !Path::new("/tmp/kctl-it-private").exists(), "what is temporary is private");
    assert_eq!(ground.output("mktemp >/dev/null && echo usable"), "usable\n");
    assert_eq!(
        ground.output(
            "(: </dev/tcp/127.0.0.1/9) 2>/dev/null; ls /sys/class/net >/dev/null; cat /proc/net/dev | grep -c :"
        ),
        "1\n"
    );
    let mut open = ground.sandbox();
    open.writable = vec!["..".into()];
    let invocation = ground.invocation(Program::Shell("echo x > ../outside".into()), Some(open));
    assert_eq!(supervisor().run(&invocation, &mut |_| ()).ended, Ended::Exited { code: 0 });
    assert!(outside.exists(), "what the profile opens is open");
}

#[test]
fn credentials_of_the_home_are_not_seen_by_a_check() {
    if !has_bwrap("credentials under bwrap") {
        return;
    }
    let see = "cat ~/.ssh/id ~/.netrc ~/.aws/credentials \"$XDG_STATE_HOME\"/kctl/sessions/* 2>/dev/null; test -r ~/.netrc && cat ~/plain && touch ~/.cache/made";
    let place = Place::with_profile(&format!("version = 1\n[checks.see]\nrun = '{see}'\n"));
    let ada = place.agent("ada");
    let home = place.top().join("home");
    for name in [".ssh/id", ".netrc", ".aws/credentials"] {
        write(&home.join(name), "SECRETWORD\n");
    }
    write(&home.join("plain"), "plainly seen\n");
    let shown = ada.ok("validate", json!({ "rerun": true }));
    let evidence = text(&shown["results"][0]["evidence"]);
    let record = place.call("evidence.show", json!({ "evidence": evidence, "output": true })).expect("it is read");
    assert_eq!(record["data"]["output"], "plainly seen\n", "{record:#}");
    assert_eq!(record["data"]["record"]["isolation"]["tier"], "bwrap");
    assert_eq!(record["data"]["record"]["isolation"]["network"], false);
}

#[test]
fn a_check_that_misses_the_network_is_unavailable_and_told_what_to_write() {
    if !has_bwrap("no network under bwrap") {
        return;
    }
    let say = "echo 'curl: (6) Could not resolve host: example.invalid' >&2; exit 6";
    let place = Place::with_profile(&format!("version = 1\n[checks.fetch]\nrun = \"{say}\"\n"));
    let shown = place.call("validate", json!({})).expect("it answers")["data"]["results"][0].clone();
    assert_eq!(shown["verdict"], "unavailable", "{shown:#}");
    assert!(shown["reasons"].to_string().contains("network = true"), "{shown:#}");
    place.rebase_profile(&format!("version = 1\n[checks.fetch]\nrun = \"{say}\"\nnetwork = true\n"));
    let shown = place.call("validate", json!({})).expect("it answers")["data"]["results"][0].clone();
    assert_eq!(shown["verdict"], "fail", "it had the network: {shown:#}");
}

/// A directory of programs without `bwrap`, for what comes where it is missing.
fn without_bwrap(place: &Place) -> String {
    let bin = place.repo.parent().expect("it has one").join("bin");
    fs::create_dir_all(&bin).expect("made");
    link_programs(&bin);
    bin.display().to_string()
}

fn link_programs(bin: &Path) {
    for name in ["bash", "sh", "git", "cat", "test", "touch", "sleep", "true", "setsid", "env", "yes"] {
        let found = Command::new("which").arg(name).output().expect("which starts");
        let found = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        std::os::unix::fs::symlink(found, bin.join(name)).expect("linked");
    }
}

#[test]
fn where_bwrap_is_missing_the_kernel_holds_what_it_can_and_the_record_says_which() {
    let place = Place::with_profile(
        "version = 1\n[checks.in]\nrun = \"touch made && test -e made\"\ninputs = [\"a\"]\n\
         [checks.out]\nrun = \"touch ~/out 2>/dev/null; test -e ~/out\"\ninputs = [\"a\"]\n\
         [checks.end]\nrun = \"kill -KILL $$\"\ninputs = [\"a\"]\n",
    );
    write(&place.repo.join("a"), "x\n");
    // A home that is not below a temporary directory, which is open under Landlock.
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    place.set("HOME", Some(home.path().to_str().expect("UTF-8")));
    place.set("PATH", Some(&without_bwrap(&place)));
    let shown = place.call("validate", json!({})).expect("it answers")["data"].clone();
    let of = |check: &str| {
        let results = shown["results"].as_array().expect("a list").clone();
        results.into_iter().find(|one| one["check"] == check).expect("it was run")
    };
    let evidence = text(&of("in")["evidence"]);
    let record = place.call("evidence.show", json!({ "evidence": evidence })).expect("it is read");
    let isolation = &record["data"]["record"]["isolation"];
    assert!(text(&isolation["why"]).contains("bwrap is not installed"), "{isolation}");
    assert_eq!((&of("in")["verdict"], &of("end")["verdict"]), (&json!("pass"), &json!("error")), "{shown:#}");
    let doctor = place.kctl(&["doctor"]);
    match isolation["tier"].as_str() {
        Some("landlock") => {
            assert_eq!(of("out")["verdict"], "fail", "{shown:#}");
            assert!(doctor.stdout.contains("Landlock"), "{doctor:?}");
        }
        tier => {
            skipped("landlock", "the kernel has none");
            assert_eq!((tier, &of("out")["verdict"]), (Some("none"), &json!("pass")));
            assert!(doctor.stdout.contains("not shut in"), "{doctor:?}");
        }
    }
}

#[test]
fn a_bwrap_that_does_not_work_is_told_and_not_relied_on() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with_profile("version = 1\n[checks.test]\nrun = \"test -e a.txt || test -e src\"\n");
    write(&place.repo.join("src/lib.txt"), "x\n");
    let bin = without_bwrap(&place);
    let fake = Path::new(&bin).join("bwrap");
    write(&fake, "#!/bin/sh\necho 'no permissions' >&2\nexit 1\n");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("set");
    place.set("PATH", Some(&bin));
    let shown = place.data(&["validate"]);
    let evidence = text(&shown["results"][0]["evidence"]);
    let record = place.call("evidence.show", json!({ "evidence": evidence })).expect("it is read");
    let isolation = &record["data"]["record"]["isolation"];
    assert_ne!(isolation["tier"], "bwrap");
    assert!(text(&isolation["why"]).contains("no permissions"), "{isolation}");
}

/// Figures for docs/BENCHMARKS.md: `cargo test --locked --test it -- --ignored --nocapture shut_in::figures`.
#[test]
#[ignore = "it reports figures and decides nothing"]
fn figures() {
    use std::io::Write as _;
    let ground = Ground::new();
    let median = |mut run: Box<dyn FnMut() + '_>| {
        let mut took: Vec<u128> = Vec::new();
        for _ in 0..41 {
            let began = Instant::now();
            run();
            took.push(began.elapsed().as_micros());
        }
        took.sort_unstable();
        took[20]
    };
    let supervised = |sandbox: Option<Sandbox>| {
        let invocation = ground.invocation(Program::Shell("true".to_owned()), sandbox);
        median(Box::new(move || drop(supervisor().run(&invocation, &mut |_| ()))))
    };
    let bare = median(Box::new(|| drop(Command::new("bash").args(["-c", "true"]).output())));
    let (open, shut) = (supervised(None), supervised(Some(ground.sandbox())));
    let _ = writeln!(std::io::stderr(), "bare {bare} us, supervised {open} us, under bwrap {shut} us");
}
