//! The ways there are to outlive one's parent.

use super::*;
use crate::ports::runner::Ended;

/// Runs `text`, in which `SECONDS_` is a number found nowhere else; all must end well, at once, and with nothing left.
fn leaves_nothing(text: &str) -> Outcome {
    let seconds = unlikely_seconds();
    let began = Instant::now();
    let outcome = run(&text.replace("SECONDS_", &seconds));
    assert_eq!(outcome.ended, Ended::Exited { code: 0 }, "{}", outcome.output.text);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(alive(&seconds), 0, "{text}");
    assert!(outcome.leftovers.ended && outcome.leftovers.known);
    outcome
}

fn commands(outcome: &Outcome) -> Vec<&str> {
    outcome.leftovers.listed.iter().map(|left| left.command.split(' ').next().unwrap_or("")).collect()
}

#[test]
fn a_child_in_the_background_that_holds_the_output() {
    let _beside = beside_others();
    let outcome = leaves_nothing("sleep SECONDS_ & echo done");
    assert_eq!((outcome.output.text.as_str(), commands(&outcome)), ("done\n", vec!["sleep"]));
}

#[test]
fn a_child_in_the_background_that_holds_nothing() {
    let _beside = beside_others();
    let outcome = leaves_nothing("sleep SECONDS_ >/dev/null 2>&1 </dev/null & echo done");
    assert_eq!(commands(&outcome), ["sleep"]);
}

#[test]
fn a_child_in_a_session_of_its_own() {
    let _beside = beside_others();
    let outcome = leaves_nothing("setsid sleep SECONDS_ & sleep 0.1; echo done");
    assert_eq!(commands(&outcome), ["sleep"]);
}

#[test]
fn a_daemon_that_forks_twice() {
    let _beside = beside_others();
    let outcome =
        leaves_nothing("(setsid bash -c 'setsid sleep SECONDS_ >/dev/null 2>&1 & exit 0' &); sleep 0.2; echo done");
    assert_eq!(commands(&outcome), ["sleep"]);
}

#[test]
fn a_daemon_that_drops_its_environment_too() {
    let _alone = alone();
    let outcome = leaves_nothing(
        "(setsid env -i bash -c 'setsid sleep SECONDS_ >/dev/null 2>&1 & exit 0' &); sleep 0.2; echo done",
    );
    assert_eq!(commands(&outcome), ["sleep"]);
}

#[test]
fn one_that_ignores_every_signal_it_can() {
    let _beside = beside_others();
    let outcome = leaves_nothing(
        "setsid bash -c 'trap \"\" TERM HUP INT; while :; do sleep SECONDS_; done' & sleep 0.2; echo done",
    );
    assert!(outcome.leftovers.count >= 2, "{:?}", outcome.leftovers);
}

#[test]
fn two_hundred_at_once() {
    let _beside = beside_others();
    let outcome = leaves_nothing("for n in {1..200}; do sleep SECONDS_ & done; echo done");
    assert_eq!((outcome.leftovers.count, outcome.leftovers.listed.len()), (200, 100));
}

#[test]
fn a_chain_that_keeps_forking() {
    let _beside = beside_others();
    leaves_nothing(
        "f() { sleep 0.01; (f SECONDS_ &); }; (f SECONDS_ &) >/dev/null 2>&1; bash -c 'exec -a SECONDS_ sleep 0.05'; echo done",
    );
}

#[test]
fn what_ends_by_itself_right_after_is_no_leftover() {
    let _beside = beside_others();
    let outcome = run("echo abc > >(sleep 0.05; tr a-z A-Z); echo done");
    assert_eq!(outcome.leftovers.count, 0, "{:?}", outcome.leftovers);
    assert!(outcome.output.text.contains("ABC"), "what it still wrote is kept: {}", outcome.output.text);
}

#[test]
fn a_run_within_a_run_belongs_to_both() {
    let _beside = beside_others();
    let outer = shell("echo $KCTL_RUN_ID");
    let first = supervisor().run(&outer, &mut |_| ()).output.text.trim().to_owned();
    let second = supervisor_with(&[("KCTL_RUN_ID", &first)]).run(&outer, &mut |_| ()).output.text;
    assert!(second.starts_with(&format!("{first}:")), "{second}");
}

#[test]
fn runs_side_by_side_do_not_touch_each_other() {
    let _beside = beside_others();
    let dir = tempfile::tempdir().expect("a temporary directory");
    // The long ones have children of every kind while the short ones sweep theirs.
    std::thread::scope(|scope| {
        for long in 0..2 {
            let mark = dir.path().join(format!("{long}"));
            scope.spawn(move || {
                let text = format!(
                    "(setsid bash -c 'sleep 1.5; touch {0}.session' &) ; (bash -c 'sleep 1.5; touch {0}.child') & sleep 1.6; wait; exit 7",
                    mark.display()
                );
                assert_eq!(run(&text).ended, Ended::Exited { code: 7 });
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..6 {
                    let outcome = leaves_nothing("setsid sleep SECONDS_ & sleep SECONDS_ & echo done");
                    assert_eq!(outcome.leftovers.count, 2, "{:?}", outcome.leftovers);
                }
            });
        }
    });
    for name in ["0.session", "0.child", "1.session", "1.child"] {
        assert!(dir.path().join(name).exists(), "{name} was ended by another run");
    }
}

#[test]
fn children_of_other_adapters_are_left_alone() {
    let _alone = alone();
    let seconds = unlikely_seconds();
    let mut other = std::process::Command::new("sleep").arg(&seconds).spawn().expect("sleep is there");
    let outcome = leaves_nothing("setsid sleep SECONDS_ & sleep 0.1");
    assert_eq!(outcome.leftovers.count, 1, "{:?}", outcome.leftovers);
    assert!(other.try_wait().expect("it is ours").is_none(), "it was ended or reaped");
    other.kill().expect("it is ours");
    other.wait().expect("it is ours");
}
