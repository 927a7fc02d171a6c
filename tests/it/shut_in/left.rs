//! What a check leaves running: it is ended and told, in each tier; and what stays of a check whose kctl was killed.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use kctl::adapters::process::Supervisor;
use kctl::domain::stamp::Length;
use kctl::ports::runner::{Ended, Program, Runner as _, Sandbox, Tier};
use serde_json::json;

use super::{Ground, KCTL, has_bwrap, supervisor, supervisor_without_bwrap, without_bwrap};
use crate::place::{Place, write};
use crate::rig::skipped;

/// Ways to outlive a command, or to keep it from ending. `SECONDS_` is a number found nowhere else; how many are left
/// over at least, and whether only the deadline ends it.
const WAYS: [(&str, &str, u32, bool); 8] = [
    ("in the background", "sleep SECONDS_ >/dev/null 2>&1 & echo done", 1, false),
    ("in a session of its own", "setsid sleep SECONDS_ & sleep 0.1; echo done", 1, false),
    (
        "a daemon that forks twice and drops its environment",
        "(setsid env -i PATH=\"$PATH\" bash -c 'setsid sleep SECONDS_ >/dev/null 2>&1 & exit 0' &); sleep 0.2; echo done",
        1,
        false,
    ),
    ("with the pipe held open", "sleep SECONDS_ & echo done", 1, false),
    ("TERM ignored", "(trap '' TERM HUP INT; while :; do sleep SECONDS_; done) & sleep 0.1; echo done", 1, false),
    ("stopped", "echo done; sleep SECONDS_ & kill -STOP $!; kill -STOP $BASHPID", 0, true),
    ("two hundred", "for n in {1..200}; do sleep SECONDS_ & done; echo done", 200, false),
    ("much output", "echo done; sleep SECONDS_ & yes 0123456789", 0, true),
];

fn leaves_nothing(supervisor: &Supervisor, tier: Tier, sandbox: impl Fn(&Ground) -> Option<Sandbox>) {
    let ground = Ground::new();
    for (name, text, least, is_late) in WAYS {
        let seconds = unlikely_seconds();
        let program = Program::Shell(text.replace("SECONDS_", &seconds));
        let mut invocation = ground.invocation(program, sandbox(&ground));
        if is_late {
            invocation.timeout = Length::seconds(1);
        }
        let outcome = supervisor.run(&invocation, &mut |_| ());
        assert_eq!(outcome.isolation.tier, tier, "{name}: {:?}", outcome.isolation);
        match is_late {
            true => assert!(matches!(outcome.ended, Ended::TimedOut { .. }), "{name}: {:?}", outcome.ended),
            false => assert_eq!(outcome.ended, Ended::Exited { code: 0 }, "{name}: {}", outcome.output.text),
        }
        assert!(outcome.output.text.starts_with("done\n"), "{name}: {}", outcome.output.text);
        assert_eq!(alive(&seconds), 0, "{name}");
        assert!(outcome.leftovers.ended && outcome.leftovers.known, "{name}: {:?}", outcome.leftovers);
        assert!(outcome.leftovers.count >= least, "{name}: {:?}", outcome.leftovers);
    }
}

#[test]
fn under_bwrap_nothing_outlives_a_command_and_what_tried_to_is_told() {
    if has_bwrap("reaping under bwrap") {
        leaves_nothing(&supervisor(), Tier::Bwrap, |ground| Some(ground.sandbox()));
    }
}

#[test]
fn where_bwrap_is_missing_nothing_outlives_a_command_either() {
    let bin = tempfile::tempdir().expect("a directory");
    let supervisor = supervisor_without_bwrap(bin.path());
    let tier = supervisor.isolation(&Ground::new().sandbox()).tier;
    if tier == Tier::None {
        skipped("reaping under Landlock", "the kernel has none: it is tried without any");
    }
    assert_ne!(tier, Tier::Bwrap);
    leaves_nothing(&supervisor, tier, |ground| Some(ground.sandbox()));
}

#[test]
fn without_a_sandbox_nothing_outlives_a_command_either() {
    leaves_nothing(&supervisor(), Tier::None, |_| None);
}

#[test]
fn what_a_check_leaves_behind_is_ended_and_told_by_validate() {
    for isolation in ["auto", "none"] {
        for (name, way, _, is_late) in [WAYS[0], WAYS[2], WAYS[4], WAYS[7]] {
            let seconds = unlikely_seconds();
            let run = way.replace("SECONDS_", &seconds);
            let timeout = if is_late { "1s" } else { "20s" };
            let place = Place::with_profile(&format!(
                "version = 1\n[checks.test]\nrun = '''\n{run}\ntest -e src'''\ntimeout = \"{timeout}\"\nisolation = \"{isolation}\"\n"
            ));
            write(&place.repo.join("src/lib.txt"), "x\n");
            let shown = place.call("validate", json!({})).expect("it answers")["data"]["results"][0].clone();
            let shut = json!({ "evidence": shown["evidence"] });
            let shut = place.call("evidence.show", shut).expect("it answers")["data"].to_string();
            let says = shut.contains("the profile asks for none: nothing is held, and a kctl that is killed");
            assert_eq!(says, isolation == "none", "the record says what held: {shut}");
            let expected = if is_late { "error" } else { "pass" };
            assert_eq!(shown["verdict"], expected, "{name}, {isolation}: {shown:#}");
            assert_eq!(alive(&seconds), 0, "{name}, {isolation}");
            assert!(is_late || shown["reasons"].to_string().contains("outlived"), "{name}, {isolation}: {shown:#}");
        }
    }
}

/// How much is alive of a check whose kctl was killed, and what the doctor says there. `without` has no `bwrap` in reach.
fn left_by_a_killed_kctl(isolation: &str, without: bool) -> (usize, String) {
    let seconds = unlikely_seconds();
    let run =
        format!("(setsid env -i PATH=\\\"$PATH\\\" sleep {seconds} &); sleep {seconds} & sleep {seconds}; exit 1");
    let place =
        Place::with_profile(&format!("version = 1\n[checks.test]\nrun = \"{run}\"\nisolation = \"{isolation}\"\n"));
    let path = without.then(|| without_bwrap(&place));
    if path.is_some() {
        place.set("PATH", path.as_deref());
    }
    // As data: for people it is laid out in columns, which break a sentence.
    let doctor = place.data(&["doctor"]).to_string();
    let mut command = place.command(&place.repo, KCTL, &["validate"]);
    command.envs(path.map(|path| ("PATH", path)));
    let mut kctl = command.spawn().expect("it starts");
    assert!(soon(|| alive(&seconds) == 3), "the check is on: {}", alive(&seconds));
    kctl.kill().expect("it is ours");
    kctl.wait().expect("it is ours");
    // The command itself goes with kctl in every tier.
    let is_gone = || alive(&seconds) == 0 || (without || isolation == "none") && shells(&seconds) == 0;
    assert!(soon(is_gone), "{} are left", alive(&seconds));
    let left = alive(&seconds);
    end_all(&seconds);
    (left, doctor)
}

/// How many shells run the command that names this number.
fn shells(word: &str) -> usize {
    named(word, |line, word| line.contains(&format!("& sleep {word};"))).len()
}

/// Ends what a test left on purpose.
fn end_all(word: &str) {
    for pid in named(word, |line, word| line.ends_with(word)) {
        let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
    }
}

fn named(word: &str, is_it: impl Fn(&str, &str) -> bool) -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("there is a /proc").filter_map(Result::ok);
    let line = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ")
    };
    let found = processes.filter(|process| is_it(&line(&process.path()), word));
    found.filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}

#[test]
fn a_kctl_that_is_killed_leaves_no_process_behind_under_bwrap() {
    if !has_bwrap("a killed kctl under bwrap") {
        return;
    }
    let (left, doctor) = left_by_a_killed_kctl("auto", false);
    assert_eq!(left, 0);
    assert!(doctor.contains("under bwrap") && !doctor.contains("may leave processes behind"), "{doctor}");
}

/// What the doctor says is so: without `bwrap` a killed kctl leaves what its check had started, and that is told.
#[test]
fn what_a_killed_kctl_leaves_without_bwrap_is_what_the_doctor_says() {
    let (left, doctor) = left_by_a_killed_kctl("auto", true);
    assert!((1..=3).contains(&left), "what the command had started, and not the command: {left}");
    assert!(doctor.contains("a kctl that is killed may leave processes behind"), "{doctor}");
    assert!(doctor.contains("Landlock") || doctor.contains("not shut in"), "{doctor}");
    let (left, doctor) = left_by_a_killed_kctl("none", false);
    assert!((1..=3).contains(&left), "a check that is not to be shut in: {left}");
    assert!(doctor.contains("not shut in, as the profile asks: `test`"), "whatever the machine could: {doctor}");
    assert!(doctor.contains("a kctl that is killed may leave processes behind"), "{doctor}");
}

/// Whatever a check does that is not shut in: a kctl that is killed leaves at most what is said of it, which is what the
/// command had started. The command itself is gone, and so is everything of kctl's own.
#[test]
fn of_a_check_that_is_not_shut_in_at_most_what_is_said_is_left_by_a_killed_kctl() {
    for (name, way, _, _) in WAYS {
        let seconds = unlikely_seconds();
        let way = way.replace("SECONDS_", &seconds);
        // It goes on until kctl is killed, whatever became of what it started.
        let run = format!("echo $$ > pid; {way}; echo on > on; sleep 600; exit 1");
        let place =
            Place::with_profile(&format!("version = 1\n[checks.test]\nrun = '''{run}'''\nisolation = \"none\"\n"));
        let shown = place.call("check.show", json!({ "check": "test" })).expect("it answers");
        let said = shown["warnings"].to_string();
        assert!(said.contains("not_shut_in") && said.contains("may leave processes behind"), "{name}: {said}");
        let mut kctl = place.command(&place.repo, KCTL, &["validate"]).spawn().expect("it starts");
        let command = || -> Option<i32> { fs::read_to_string(place.repo.join("pid")).ok()?.trim().parse().ok() };
        let is_on = || match name {
            // These never come to the end of their line by themselves.
            "stopped" => command().is_some_and(|pid| state(pid) == Some('T')),
            "much output" => alive(&seconds) >= 1,
            _ => place.repo.join("on").exists(),
        };
        assert!(soon(is_on), "{name}: the check is on");
        let command = command().expect("it wrote its own number");
        kctl.kill().expect("it is ours");
        kctl.wait().expect("it is ours");
        // One that only waits to be reaped by whoever inherited it is gone.
        assert!(soon(|| matches!(state(command), None | Some('Z' | 'X'))), "{name}: the command goes with kctl");
        let left = named(&seconds, |line, word| line.contains(word));
        let kctls = left.iter().filter(|pid| is_kctl(**pid)).count();
        end_everything(&seconds);
        assert_eq!(kctls, 0, "{name}: nothing of kctl's own is left: {left:?}");
        assert!(alive(&seconds) == 0, "{name}: what is left can be ended as any process");
    }
}

/// The letter that the kernel has for how a process is; none where there is no such process.
fn state(pid: i32) -> Option<char> {
    fs::read_to_string(format!("/proc/{pid}/stat")).ok()?.rsplit_once(") ")?.1.chars().next()
}

fn is_kctl(pid: i32) -> bool {
    fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with("kctl"))
}

/// Ends all that has this number in its words, until nothing comes after: a loop starts the next before it is ended.
fn end_everything(word: &str) {
    let ended = soon(|| {
        let left = named(word, |line, word| line.contains(word));
        for pid in left.iter().filter_map(|pid| rustix::process::Pid::from_raw(*pid)) {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
        left.is_empty()
    });
    assert!(ended, "what is left ends");
}

/// A number that a process can be told by: nobody else sleeps for so long.
fn unlikely_seconds() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}{:05}", 1000 + COUNT.fetch_add(1, Ordering::Relaxed), std::process::id() % 100_000)
}

fn alive(word: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("there is a /proc").filter_map(Result::ok);
    let has_word = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|found| found == word.as_bytes())
    };
    processes.filter(|process| has_word(&process.path())).count()
}

fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}
