//! Many processes at one barrier: who wins is told so, who loses is told to whom, and nobody is told "busy".

use std::collections::HashSet;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::rig::{KCTL, Ran, Rig};

/// Starts one process a request. Each waits for its request on stdin, and all requests are written when all are there.
fn at_once(rig: &Rig, requests: &[Value]) -> Vec<Ran> {
    let mut children: Vec<Child> = requests.iter().map(|_| waiting(rig)).collect();
    for (child, request) in children.iter_mut().zip(requests) {
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(request.to_string().as_bytes()).expect("it reads");
    }
    let ended = children.into_iter().map(|child| {
        let ran = Ran::of(&child.wait_with_output().expect("it ends"));
        rig.remember(&ran);
        ran
    });
    ended.collect()
}

fn waiting(rig: &Rig) -> Child {
    let mut command: Command = rig.program(KCTL);
    command.arg("rpc").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

fn request(op: &str, session: &str, mut params: Value) -> Value {
    params["session"] = json!(session);
    json!({ "jsonrpc": "2.0", "id": 1, "method": op, "params": params })
}

/// `count` sessions, each of an agent of its own.
fn sessions(rig: &Rig, count: usize) -> Vec<String> {
    (0..count).map(|n| rig.be(&format!("agent-{n}"))).collect()
}

fn tasks(rig: &Rig, count: usize) -> Vec<String> {
    (0..count).map(|n| rig.task(json!({ "title": format!("task {n}"), "criteria": ["check:test"] }))).collect()
}

/// Data of the calls that succeeded, and the errors of those that did not.
fn sorted(all: &[Ran]) -> (Vec<Value>, Vec<Value>) {
    let (mut won, mut lost) = (Vec::new(), Vec::new());
    for ran in all {
        let mut answer = ran.json();
        if answer.get("result").is_some() {
            won.push(answer["result"]["data"].take());
        } else {
            lost.push(answer["error"].take());
        }
    }
    (won, lost)
}

#[test]
fn of_64_that_claim_one_task_one_wins_and_63_are_told_who_holds_it_until_when() {
    let rig = Rig::new();
    let sessions = sessions(&rig, 64);
    let task = rig.task(json!({ "title": "wanted" }));
    let requests: Vec<_> =
        sessions.iter().map(|session| request("task.claim", session, json!({ "task": task }))).collect();
    let (won, lost) = sorted(&at_once(&rig, &requests));
    assert_eq!((won.len(), lost.len()), (1, 63), "{lost:?}");
    for refusal in &lost {
        let details = &refusal["data"]["details"];
        assert_eq!(refusal["data"]["code"], "TASK_HELD", "{refusal}");
        assert_eq!(details["holder"], won[0]["agent"], "{refusal}");
        assert_eq!(details["until"], won[0]["until"], "{refusal}");
        assert!(details["expires_in_s"].as_i64().is_some_and(|left| left > 3000), "{refusal}");
    }
    let shown = rig.ok("task.show", json!({ "task": task }));
    assert_eq!((&shown["claim"]["agent"], &shown["fence"]), (&won[0]["agent"], &json!(1)), "{shown}");
    rig.assert_sound("after the race");
}

#[test]
fn of_64_that_claim_64_tasks_all_win() {
    let rig = Rig::new();
    let (sessions, tasks) = (sessions(&rig, 64), tasks(&rig, 64));
    let pairs = sessions.iter().zip(&tasks);
    let requests: Vec<_> =
        pairs.map(|(session, task)| request("task.claim", session, json!({ "task": task }))).collect();
    let (won, lost) = sorted(&at_once(&rig, &requests));
    assert_eq!((won.len(), lost.len()), (64, 0), "{lost:?}");
    rig.assert_sound("after the race");
}

#[test]
fn of_32_that_ask_for_the_next_task_no_two_get_the_same() {
    let rig = Rig::new();
    let sessions = sessions(&rig, 32);
    tasks(&rig, 32);
    let requests: Vec<_> =
        sessions.iter().map(|session| request("task.next", session, json!({ "claim": true }))).collect();
    let (won, lost) = sorted(&at_once(&rig, &requests));
    let got: HashSet<_> = won.iter().filter_map(|data| data["claim"]["task"].as_str()).collect();
    assert_eq!((got.len(), lost.len()), (32, 0), "{lost:?}");
}

#[test]
fn workspaces_of_32_tasks_are_made_at_once_and_nothing_is_left_over() {
    let rig = Rig::new();
    let (sessions, tasks) = (sessions(&rig, 32), tasks(&rig, 32));
    for (session, task) in sessions.iter().zip(&tasks) {
        rig.ok("task.claim", json!({ "task": task, "session": session }));
    }
    let pairs = sessions.iter().zip(&tasks);
    let requests: Vec<_> =
        pairs.map(|(session, task)| request("workspace.ensure", session, json!({ "task": task }))).collect();
    let (won, lost) = sorted(&at_once(&rig, &requests));
    assert_eq!((won.len(), lost.len()), (32, 0), "{lost:?}");
    assert!(won.iter().all(|data| data["state"] == "created"), "{won:?}");
    let branches = rig.git(&["for-each-ref", "--format=%(refname)", "refs/heads/kctl"]);
    assert_eq!(branches.lines().count(), 32, "{branches}");
    rig.assert_sound("after the race");
    rig.assert_tidy("after the race");
}

#[test]
fn one_workspace_asked_for_by_16_at_once_is_made_once() {
    let rig = Rig::new();
    let task = tasks(&rig, 1).remove(0);
    rig.ok("task.claim", json!({ "task": task }));
    let session = rig.session.borrow().clone().expect("there is one");
    let requests = vec![request("workspace.ensure", &session, json!({ "task": task })); 16];
    let (won, lost) = sorted(&at_once(&rig, &requests));
    assert_eq!((won.len(), lost.len()), (16, 0), "{lost:?}");
    let made = won.iter().filter(|data| data["state"] == "created").count();
    assert_eq!(made, 1, "{won:?}");
    rig.assert_tidy("after the race");
}

#[test]
fn one_key_sent_16_times_at_once_makes_one_event_and_16_equal_answers() {
    let rig = Rig::new();
    let session = rig.session.borrow().clone().expect("there is one");
    let before = rig.logged().len();
    let params = json!({ "title": "once", "idempotency_key": "the key" });
    let requests = vec![request("task.create", &session, params); 16];
    let all = at_once(&rig, &requests);
    let (won, lost) = sorted(&all);
    assert_eq!((won.len(), lost.len()), (16, 0), "{lost:?}");
    let ids: HashSet<_> = won.iter().map(|data| data["id"].to_string()).collect();
    let replayed = all.iter().filter(|ran| ran.json()["result"]["receipt"]["replayed"] == true).count();
    assert_eq!((ids.len(), replayed, rig.logged().len()), (1, 15, before + 1));
}

#[test]
fn readers_are_answered_while_others_write() {
    let rig = Rig::new();
    let sessions = sessions(&rig, 24);
    let tasks = tasks(&rig, 24);
    let mut requests = Vec::new();
    for (session, task) in sessions.iter().zip(&tasks) {
        requests.push(request("task.claim", session, json!({ "task": task })));
        requests.push(request("task.create", session, json!({ "title": "another" })));
        for op in ["task.ready", "status", "ledger.log", "ledger.verify"] {
            requests.push(request(op, session, json!({})));
        }
    }
    let (won, lost) = sorted(&at_once(&rig, &requests));
    assert_eq!((won.len(), lost.len()), (requests.len(), 0), "{lost:?}");
    rig.assert_sound("after the crowd");
}

#[test]
fn kctl_set_up_by_8_at_once_is_set_up_once() {
    let rig = Rig::bare();
    let requests = vec![json!({ "jsonrpc": "2.0", "id": 1, "method": "init" }); 8];
    let (_, lost) = sorted(&at_once(&rig, &requests));
    // Who finds that another one was faster says so, and has touched nothing.
    assert!(lost.iter().all(|refusal| refusal["data"]["code"] == "CONFLICT"), "{lost:?}");
    rig.ok("init", json!({}));
    assert_eq!(rig.ok("init", json!({}))["changed"], false);
    let origins = rig.ok("ledger.verify", json!({}));
    assert_eq!(origins["ledger"]["origins"], 1, "{origins}");
}
