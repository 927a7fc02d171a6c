//! Clocks that jump, and homes that are not there.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::rig::{KCTL, Ran, Rig, skipped};

const DAY_MS: i64 = 86_400_000;

fn at(rig: &Rig, now_ms: i64, op: &str, params: &Value) -> Ran {
    rig.finish(rig.prepared(op, params).env("KCTL_TEST_NOW_MS", now_ms.to_string()))
}

#[test]
fn a_clock_that_jumps_back_loses_nothing_and_frees_no_claim() {
    let rig = Rig::new();
    let now = jiff::Timestamp::now().as_millisecond();
    let task = rig.task(json!({ "title": "x" }));
    let ada = rig.session.borrow().clone().expect("there is one");
    assert_eq!(at(&rig, now, "task.claim", &json!({ "task": task })).code(), None);
    rig.be("bob");
    for back in [1, 3600 * 1000, DAY_MS, 365 * DAY_MS] {
        let ran = at(&rig, now - back, "task.claim", &json!({ "task": task }));
        assert_eq!(ran.code().as_deref(), Some("TASK_HELD"), "{back} ms back: {ran:?}");
        let ran = at(&rig, now - back, "task.create", &json!({ "title": "y" }));
        assert_eq!(ran.code(), None, "{back} ms back: {ran:?}");
    }
    let ran = at(&rig, now - DAY_MS, "task.renew", &json!({ "task": task, "session": ada }));
    assert_eq!(ran.code(), None, "{ran:?}");
    rig.assert_sound("after the jumps");
    assert_eq!(rig.ok("ledger.rebuild", json!({}))["changed"], false);
}

#[test]
fn no_time_is_too_early_or_too_late_to_be_answered() {
    let rig = Rig::new();
    let task = rig.task(json!({ "title": "x" }));
    for now in [i64::MIN, i64::MIN + 1, -1, 0, 253_402_300_799_999, 253_402_300_800_000, i64::MAX - 1, i64::MAX] {
        for (op, params) in [
            ("status", json!({})),
            ("task.claim", json!({ "task": task })),
            ("session.acquire", json!({ "agent": "eve", "ttl": "30d" })),
            ("task.create", json!({ "title": "then" })),
            ("doctor", json!({})),
            ("ledger.log", json!({})),
        ] {
            let ran = at(&rig, now, op, &params);
            let code = ran.code();
            assert!(code.as_deref() != Some("INTERNAL") && ran.signal.is_none(), "{op} at {now}: {ran:?}");
            assert!(!ran.stderr.contains("panicked"), "{op} at {now}: {ran:?}");
        }
    }
    rig.assert_sound("after all times");
}

#[test]
fn without_a_home_everything_works_but_the_keeping_of_tokens() {
    const NOBODY_AT_ALL: u32 = 54_321;
    let rig = Rig::bare();
    if !rustix::process::geteuid().is_root() {
        return skipped("without a home", "only root can become a user that the system does not know");
    }
    let owned = Command::new("chown").args(["-R", &NOBODY_AT_ALL.to_string()]).arg(&rig.top).status();
    let open = Command::new("chmod").args(["-R", "a+rX"]).arg(rig.top.parent().expect("it has one")).status();
    assert!(owned.is_ok_and(|done| done.success()) && open.is_ok_and(|done| done.success()));
    let run = |op: &str, params: Value| {
        let mut command = rig.program(KCTL);
        command.env_remove("HOME").env_remove("XDG_STATE_HOME").uid(NOBODY_AT_ALL).gid(NOBODY_AT_ALL);
        command.args(["rpc", "--op", op, "--params", &params.to_string()]);
        match command.output() {
            Ok(output) => Some(Ran::of(&output)),
            // The build may lie where only its owner can reach it.
            Err(_) => None,
        }
    };
    let Some(ran) = run("init", json!({})) else {
        return skipped("without a home", "another user cannot reach the binary");
    };
    assert_eq!(ran.code(), None, "{ran:?}");
    let acquired = run("session.acquire", json!({ "agent": "ada" })).expect("it starts").json();
    let data = &acquired["result"]["data"];
    assert_eq!(data["kept"], false, "{acquired}");
    assert_eq!(acquired["result"]["warnings"][0]["code"], "secret_not_kept", "{acquired}");
    let task = run("task.create", json!({ "title": "x" })).expect("it starts").json();
    let params = json!({ "task": task["result"]["data"]["id"], "session": data["session"], "token": data["token"] });
    assert_eq!(run("task.claim", params.clone()).expect("it starts").code(), None);
    assert_eq!(run("workspace.ensure", params).expect("it starts").code(), None);
    assert_eq!(run("doctor", json!({})).expect("it starts").code(), None);
}
