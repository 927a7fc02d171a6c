//! How a run ends, and how it is made to.

use super::*;
use crate::ports::runner::Ended;

fn within_a_second(text: &str) -> (Outcome, Duration) {
    let began = Instant::now();
    let outcome = supervisor().run(&Invocation { timeout: Length::seconds(1), ..shell(text) }, &mut |_| ());
    (outcome, began.elapsed())
}

#[test]
fn a_signal_is_a_signal() {
    let _beside = beside_others();
    let outcome = run("kill -KILL $$");
    assert_eq!(outcome.ended, Ended::Signalled { signal: 9, core_dumped: false });
    assert_eq!(outcome.signal(), Some(9));
    let outcome = run("bash -c 'kill -SEGV $$'");
    assert_eq!((outcome.ended.clone(), outcome.signal()), (Ended::Exited { code: 139 }, Some(11)));
    assert_eq!(run("exit 139").signal(), None, "this is only a number");
    let outcome = supervisor().run(&argv(&["bash", "-c", "kill -ABRT $$"]), &mut |_| ());
    assert_eq!(outcome.ended, Ended::Signalled { signal: 6, core_dumped: false });
}

#[test]
fn at_the_deadline_everything_is_told_to_end() {
    let _beside = beside_others();
    let seconds = unlikely_seconds();
    let (outcome, took) = within_a_second(&format!("echo before; sleep {seconds} & sleep {seconds}; echo never"));
    assert_eq!(outcome.ended, Ended::TimedOut { killed: false });
    assert_eq!(outcome.output.text.lines().next(), Some("before"));
    assert!(took < Duration::from_secs(3) && outcome.elapsed_ms >= 1000, "{took:?}");
    assert_eq!(alive(&seconds), 0);
}

#[test]
fn a_command_may_end_well_within_the_grace() {
    let _beside = beside_others();
    let (outcome, _) =
        within_a_second("trap 'echo cleaning; sleep 0.3; echo clean; exit 0' TERM; while :; do sleep 0.05; done");
    assert_eq!(outcome.ended, Ended::TimedOut { killed: false });
    assert!(outcome.output.text.ends_with("cleaning\nclean\n"), "{}", outcome.output.text);
}

#[test]
fn what_ignores_term_is_killed() {
    let _beside = beside_others();
    let seconds = unlikely_seconds();
    let (outcome, took) = within_a_second(&format!("trap '' TERM; setsid sleep {seconds} & sleep {seconds}"));
    assert_eq!(outcome.ended, Ended::TimedOut { killed: true });
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(alive(&seconds), 0);
    assert!(outcome.leftovers.count >= 2 && outcome.leftovers.ended, "{:?}", outcome.leftovers);
}

#[test]
fn what_is_stopped_is_ended_all_the_same() {
    let _beside = beside_others();
    let seconds = unlikely_seconds();
    let (outcome, _) = within_a_second(&format!("sleep {seconds} & kill -STOP $!; kill -STOP $$"));
    assert_eq!(outcome.ended, Ended::TimedOut { killed: false });
    assert_eq!(alive(&seconds), 0);
    let outcome = run(&format!("sleep {seconds} & kill -STOP $!"));
    assert_eq!(outcome.ended, Ended::Exited { code: 0 });
    assert_eq!((outcome.leftovers.count, alive(&seconds)), (1, 0));
}

#[test]
fn endless_output_does_not_move_the_deadline() {
    let _beside = beside_others();
    let (outcome, took) = within_a_second("yes");
    assert_eq!(outcome.ended, Ended::TimedOut { killed: false });
    assert!(took < Duration::from_secs(4) && outcome.output.bytes_omitted > 0, "{took:?}");
}

#[test]
fn when_showing_the_output_panics_nothing_stays() {
    let _beside = beside_others();
    let seconds = unlikely_seconds();
    let invocation = shell(&format!("setsid sleep {seconds} & echo go; sleep {seconds}"));
    let shown = std::panic::catch_unwind(|| supervisor().run(&invocation, &mut |_| panic!("the door is closed")));
    assert!(shown.is_err());
    assert!(soon(|| alive(&seconds) == 0));
}
