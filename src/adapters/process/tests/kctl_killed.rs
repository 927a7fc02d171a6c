//! What becomes of a run when kctl itself is told to stop, or killed. The test binary runs itself as the kctl that is.

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::ports::runner::Ended;

const SECONDS: &str = "TEST_SECONDS";

/// Not a test by itself: the process that the others end.
#[test]
#[ignore = "it is started by the tests beside it"]
fn helper_that_runs() {
    let Ok(seconds) = std::env::var(SECONDS) else { return };
    let text = format!("setsid sleep {seconds} & sleep {seconds} & sleep {seconds}");
    let invocation = Invocation { timeout: Length::minutes(2), ..shell(&text) };
    let outcome = supervisor().run(&invocation, &mut |_| ());
    let again = supervisor().run(&shell("true"), &mut |_| ());
    let told = |outcome: &Outcome| matches!(outcome.ended, Ended::Interrupted { signal: 15 });
    std::process::exit(if told(&outcome) && told(&again) { 42 } else { 1 });
}

fn helper(seconds: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "adapters::process::tests::kctl_killed::helper_that_runs", "--ignored", "--nocapture"]);
    command.env(SECONDS, seconds).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let helper = command.spawn().expect("this binary runs");
    assert!(soon(|| alive(seconds) == 4), "the run is on");
    helper
}

#[test]
fn told_to_stop_it_takes_the_run_down_first() {
    let _alone = alone();
    let seconds = unlikely_seconds();
    let mut helper = helper(&seconds);
    kill_process(Pid::from_child(&helper), Signal::TERM).expect("it is ours");
    let status = helper.wait().expect("it is ours");
    assert_eq!(status.code(), Some(42), "the run said that it was interrupted, and no other was begun");
    assert_eq!(alive(&seconds), 0);
}

#[test]
fn killed_it_leaves_only_what_the_command_had_started() {
    let _alone = alone();
    let seconds = unlikely_seconds();
    let mut helper = helper(&seconds);
    let shells = || {
        super::super::kin::all()
            .iter()
            .filter(|it| super::super::kin::command_line(it.pid).contains(&format!("& sleep {seconds}")))
            .count()
    };
    assert_eq!(shells(), 1);
    helper.kill().expect("it is ours");
    helper.wait().expect("it is ours");
    assert!(soon(|| shells() == 0), "the kernel ends the command itself");
    for process in super::super::kin::all() {
        if super::super::kin::command_line(process.pid).ends_with(&seconds) {
            kill_process(Pid::from_raw(process.pid).expect("a process id"), Signal::KILL).expect("it is ours");
        }
    }
}
