//! Every operation that writes, with parameters that make it do its work.

use std::process::Command;

use serde_json::{Value, json};

use crate::rig::{KCTL, Ran, Rig, Saved};

/// One operation as it is called, killed, and called again.
pub struct Act {
    pub name: &'static str,
    pub op: &'static str,
    pub params: Value,
    /// Repeated under one idempotency key, so that it is done once however often it is sent.
    pub is_keyed: bool,
    /// Whether there is a ledger before, and after.
    pub has_ledger: bool,
    pub leaves_ledger: bool,
    pub needs_terminal: bool,
    /// The clock that the call sees, in milliseconds after the machine's.
    pub later_ms: i64,
    /// What the second call may be refused with, if the first had got far enough.
    pub legal: &'static [&'static str],
    /// What must be so in the end.
    pub after: fn(&Rig, &str),
}

impl Act {
    fn new(op: &'static str, params: Value) -> Self {
        Self {
            name: op,
            op,
            params,
            is_keyed: false,
            has_ledger: true,
            leaves_ledger: true,
            needs_terminal: false,
            later_ms: 0,
            legal: &[],
            after: |_, _| {},
        }
    }

    /// In one transaction, and under a key.
    fn once(op: &'static str, params: Value) -> Self {
        Self { is_keyed: true, ..Self::new(op, params) }
    }

    pub fn run(&self, rig: &Rig, env: &[(&str, &str)]) -> Ran {
        let mut command = if self.needs_terminal { self.at_a_terminal(rig) } else { self.rpc(rig) };
        if self.later_ms > 0 {
            let now = jiff::Timestamp::now().as_millisecond() + self.later_ms;
            command.env("KCTL_TEST_NOW_MS", now.to_string());
        }
        command.envs(env.iter().copied());
        rig.finish(&mut command)
    }

    fn rpc(&self, rig: &Rig) -> Command {
        let mut params = self.params.clone();
        if self.is_keyed {
            params["idempotency_key"] = json!(format!("key of {}", self.name));
        }
        rig.prepared(self.op, &params)
    }

    /// The words of the command line in `params`, typed at a terminal. `script` gives back how kctl ended; a kill
    /// comes out as one of `script` itself, so that both doors look alike.
    fn at_a_terminal(&self, rig: &Rig) -> Command {
        let words: Vec<&str> =
            self.params["words"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let line = format!("{KCTL} {} --json", words.join(" "));
        let mut command = rig.program("sh");
        let kill = "script -qec \"$1\" /dev/null > out; code=$?; [ $code = 137 ] && kill -KILL $$; cat out; exit $code";
        command.args(["-c", kill, "sh", &line]).current_dir(rig.repo());
        command
    }
}

pub fn has_terminal() -> bool {
    Command::new("script").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A repository in a certain state, and what can be done in it.
pub struct Stage {
    pub rig: Rig,
    pub saved: Saved,
    pub acts: Vec<Act>,
}

/// No kctl yet.
pub fn fresh() -> Stage {
    let rig = Rig::bare();
    let saved = rig.save();
    let init = Act { has_ledger: false, after: is_set_up, ..Act::new("init", json!({})) };
    Stage { rig, saved, acts: vec![init] }
}

fn is_set_up(rig: &Rig, when: &str) {
    let again = rig.ok("init", json!({}));
    assert_eq!(again["changed"], false, "{when}: {again}");
    rig.ok("doctor", json!({}));
}

/// Work in every state.
pub fn working() -> Stage {
    let rig = Rig::new();
    let promise = rig.ok("commit.open", json!({ "objective": "it works", "criteria": ["check:test"] }));
    let promise = promise["id"].as_str().expect("it has one").to_owned();
    let make = |title: &str| rig.task(json!({ "title": title, "criteria": ["check:test"], "priority": 3 }));
    let free = make("free");
    let parent = make("parent");
    let (held, blocked) = (make("held"), make("blocked"));
    for task in [&held, &blocked] {
        rig.ok("task.claim", json!({ "task": task }));
    }
    rig.ok("task.block", json!({ "task": blocked, "reason": "unclear" }));
    let (open, valid, done, out) = (make("open"), make("valid"), make("done"), make("out"));
    for task in [&open, &valid, &done, &out] {
        rig.ok("task.claim", json!({ "task": task }));
        rig.worked_on(task);
    }
    for task in [&valid, &done, &out] {
        rig.ok("validate", json!({ "task": task, "scope": "branch" }));
    }
    for task in [&done, &out] {
        rig.ok("task.finish", json!({ "task": task }));
    }
    rig.ok("publish", json!({ "task": out }));
    rig.ok("validate", json!({ "commitment": promise }));
    let spare = rig.top.join("spare.db");
    rig.ok("ledger.backup", json!({ "to": spare }));
    let saved = rig.save();
    let ids = Ids { promise, free, parent, held, blocked, open, valid, done, out };
    let acts = acts(&ids, &spare.display().to_string(), &rig.top.join("new.db").display().to_string());
    Stage { rig, saved, acts }
}

struct Ids {
    promise: String,
    free: String,
    parent: String,
    held: String,
    blocked: String,
    open: String,
    valid: String,
    done: String,
    out: String,
}

fn acts(ids: &Ids, spare: &str, new: &str) -> Vec<Act> {
    let mut acts = tasks(ids);
    acts.extend(wide(ids));
    acts.extend(ledger(spare, new));
    acts
}

/// One transaction each.
fn tasks(ids: &Ids) -> Vec<Act> {
    let Ids { promise, free, parent, held, blocked, valid, .. } = ids;
    let parts = json!([{ "title": "first" }, { "title": "second", "needs": [0] }]);
    let gone = json!({ "commitment": promise, "verdict": "fulfilled" });
    vec![
        // Its answer is a secret and is not stored: asked again, it gives another session.
        Act::new("session.acquire", json!({ "agent": "bob" })),
        Act::once("session.renew", json!({ "ttl": "20d" })),
        // The session that a second call would need is gone, if the first one got through.
        Act { legal: &["SESSION_INVALID"], ..Act::new("session.release", json!({})) },
        Act::once("task.create", json!({ "title": "new" })),
        Act::once("task.update", json!({ "task": free, "title": "freer" })),
        Act::once("task.claim", json!({ "task": free })),
        Act::once("task.next", json!({ "claim": true })),
        Act::once("task.renew", json!({ "task": held })),
        Act::once("task.yield", json!({ "task": held, "note": "half done" })),
        Act::once("task.release", json!({ "task": held })),
        Act::once("task.handoff", json!({ "task": held, "to": "bob" })),
        Act { later_ms: 2 * 86_400_000, ..Act::once("task.takeover", json!({ "task": held, "reason": "it ran out" })) },
        Act::once("task.decompose", json!({ "task": parent, "parts": parts })),
        Act::once("task.block", json!({ "task": held, "reason": "unclear" })),
        Act::once("task.unblock", json!({ "task": blocked, "note": "clear" })),
        Act::once("task.complete", json!({ "task": valid, "summary": "done" })),
        Act::once("task.finish", json!({ "task": valid })),
        Act::once("task.cancel", json!({ "task": held, "reason": "not needed" })),
        Act::once("commit.open", json!({ "objective": "more", "criteria": ["check:test"] })),
        Act::once("commit.evaluate", json!({ "commitment": promise })),
        Act::once("commit.close", gone),
    ]
}

/// In steps of their own, and beyond the ledger.
fn wide(ids: &Ids) -> Vec<Act> {
    let Ids { held, open, done, out, .. } = ids;
    vec![
        Act { after: work_goes_on, ..Act::new("workspace.ensure", json!({ "task": held })) },
        // What is removed already is not there to be removed.
        Act { legal: &["WORKSPACE_REQUIRED"], ..Act::new("workspace.remove", json!({ "task": out })) },
        Act { after: workspaces_are_known, ..Act::new("workspace.prune", json!({})) },
        Act { after: finishes, ..Act::new("validate", json!({ "task": open, "scope": "branch" })) },
        Act::new("publish", json!({ "task": done })),
    ]
}

/// What only a person at a terminal may do.
pub fn personal() -> Stage {
    let rig = Rig::new();
    let task = rig.task(json!({ "title": "to be seen", "criteria": ["looks=attested:does it look right"] }));
    let saved = rig.save();
    let attest = json!({ "words": ["criterion", "attest", "looks", "--task", task, "--note", "seen"] });
    let purge = json!({ "words": ["uninstall", "--purge"] });
    let attest = Act { needs_terminal: true, ..Act::new("criterion.attest", attest) };
    let purge = Act {
        name: "uninstall --purge",
        needs_terminal: true,
        has_ledger: false,
        leaves_ledger: false,
        after: is_gone,
        ..Act::new("uninstall", purge)
    };
    let uninstall =
        Act { needs_terminal: true, after: sets_up_again, ..Act::new("uninstall", json!({ "words": ["uninstall"] })) };
    Stage { rig, saved, acts: vec![attest, uninstall, purge] }
}

/// Nothing but lock files stays, and kctl can be set up anew.
fn is_gone(rig: &Rig, when: &str) {
    let dir = rig.repo().join(".git/decapod");
    let names = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let names: Vec<_> = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().all(|name| name.ends_with(".lock")), "{when}: {names:?}");
    rig.acknowledged.borrow_mut().clear();
    rig.session.replace(None);
    sets_up_again(rig, when);
    rig.assert_sound(when);
}

fn ledger(spare: &str, new: &str) -> Vec<Act> {
    vec![
        Act::new("ledger.rebuild", json!({})),
        // A copy that was ended is not overwritten.
        Act { legal: &["STORAGE_FAILED"], ..Act::new("ledger.backup", json!({ "to": new })) },
        Act { name: "ledger.recover, salvaging", ..Act::new("ledger.recover", json!({})) },
        Act { name: "ledger.recover, from a backup", ..Act::new("ledger.recover", json!({ "from": spare })) },
    ]
}

/// In the workspace that was mended, work can be done and shown.
fn work_goes_on(rig: &Rig, when: &str) {
    let items = rig.ok("workspace.list", json!({}))["items"].clone();
    let held = items.as_array().into_iter().flatten().find(|item| item["title"] == "held");
    let held = held.unwrap_or_else(|| panic!("{when}: no workspace: {items}"));
    assert_eq!((&held["status"], &held["exists"]), (&json!("open"), &json!(true)), "{when}");
    let path = std::path::PathBuf::from(held["path"].as_str().expect("it has one"));
    assert_eq!(rig.git_in(&path, &["status", "--porcelain"]), "", "{when}");
    rig.ok("validate", json!({ "task": held["task"] }));
    rig.ok("task.finish", json!({ "task": held["task"] }));
}

/// A check that was under way when kctl died does not stand in the way for ever.
fn finishes(rig: &Rig, when: &str) {
    let items = rig.ok("workspace.list", json!({}))["items"].clone();
    let open = items.as_array().into_iter().flatten().find(|item| item["title"] == "open");
    let ran = rig.run("task.finish", &json!({ "task": open.expect("it is there")["task"] }));
    assert_eq!(ran.code(), None, "{when}: {ran:?}");
}

/// A second call finds nothing left to take: what stays, stays for a reason.
fn workspaces_are_known(rig: &Rig, when: &str) {
    let again = rig.ok("workspace.prune", json!({}));
    assert_eq!(again["removed"], json!([]), "{when}: {again}");
}

fn sets_up_again(rig: &Rig, when: &str) {
    rig.ok("init", json!({}));
    is_set_up(rig, when);
}
