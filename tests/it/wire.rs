//! The wire is total and the same at every door: whatever is wrong is said in one shape, and whatever is asked is
//! answered alike.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::path::{Path, PathBuf};

use kctl::domain::refusal::Code;
use kctl::ops::registry::OPS;
use serde_json::{Value, json};

use crate::place::{PROFILE, Place, text, write};
use crate::samples::params_of;

/// Every operation in one batch, each with parameters that fit.
fn everything() -> (Vec<&'static str>, Value) {
    let names: Vec<&str> = OPS.iter().map(|entry| entry.info.name).collect();
    let request = |name: &&str| json!({ "jsonrpc": "2.0", "id": name, "method": name, "params": params_of(name) });
    let batch = names.iter().map(request).collect();
    (names, Value::Array(batch))
}

/// What each operation was answered in `dir`: a code, or `ok`.
fn answered(place: &Place, dir: &Path) -> Vec<(&'static str, String)> {
    let (names, batch) = everything();
    let answers = place.rpc_in(dir, &batch);
    let answers = answers.as_array().expect("a batch is answered by one").clone();
    assert_eq!(answers.len(), names.len());
    let said = |answer: &Value| match answer.get("error") {
        Some(error) => text(&error["data"]["code"]),
        None => "ok".to_owned(),
    };
    names.iter().zip(&answers).map(|(name, answer)| (*name, said(answer))).collect()
}

fn count(said: &[(&str, String)], code: &str) -> usize {
    said.iter().filter(|(_, said)| said == code).count()
}

#[test]
fn where_there_is_no_repository_every_operation_says_so_and_the_catalogue_answers() {
    let place = Place::untouched();
    let outside = place.top().join("outside");
    fs::create_dir(&outside).expect("made");
    let said = answered(&place, &outside);
    assert_eq!(count(&said, "NO_REPOSITORY"), said.len() - 3, "{said:?}");
    for name in ["ops.list", "ops.describe", "failure.explain"] {
        assert!(said.contains(&(name, "ok".to_owned())) || name != "ops.list", "{said:?}");
    }
    for args in
        [&["--version"][..], &["--help"], &["ops", "list"], &["help", "exit"], &["completions", "bash"], &["man"]]
    {
        assert_eq!(place.kctl_in(Path::new("/"), args).status, 0, "{args:?}");
    }
    let moved = place.kctl_in(&outside, &["-C", "no/such/dir", "status", "--json"]);
    assert_eq!((moved.status, text(&moved.json()["error"]["data"]["code"])), (4, "NO_REPOSITORY".to_owned()));
}

#[test]
fn where_kctl_is_not_set_up_nothing_but_the_way_in_is_done() {
    let place = Place::untouched();
    let said = answered(&place, &place.repo);
    for (name, code) in &said {
        match *name {
            "init" | "doctor" | "ops.list" => assert_eq!(code, "ok", "{name}"),
            "uninstall" => assert_eq!(code, "PERSON_REQUIRED"),
            "ops.describe" => assert_eq!(code, "NOT_FOUND"),
            // It is answered after `init` of the same batch.
            _ => {}
        }
    }
    let fresh = Place::untouched();
    for entry in OPS.iter().filter(|entry| {
        !["init", "uninstall", "doctor", "ops.list", "ops.describe", "failure.explain"].contains(&entry.info.name)
    }) {
        let refusal = fresh.call(entry.info.name, params_of(entry.info.name)).err();
        let code = refusal.as_ref().map(|refusal| text(&refusal["code"]));
        assert_eq!(code.as_deref(), Some("NOT_INITIALISED"), "{}", entry.info.name);
        assert_eq!(refusal.expect("it was refused")["next"][0]["op"], "init");
        assert!(!fresh.repo.join(".git/decapod").exists(), "{} made a ledger", entry.info.name);
    }
}

#[test]
fn in_a_bare_root_and_in_a_work_tree_that_lost_its_root_the_shape_holds() {
    let place = Place::new();
    let bare = place.top().join("bare.git");
    place.git_in(place.top(), &["clone", "-q", "--bare", "remote.git", "bare.git"]);
    place.kctl_in(&bare, &["init", "--no-agents", "--no-hooks"]);
    let said = answered(&place, &bare);
    assert_eq!(count(&said, "INTERNAL"), 0, "{said:?}");
    let linked = place.top().join("linked");
    place.git(&["worktree", "add", "-q", "--detach", linked.to_str().expect("UTF-8")]);
    fs::rename(&place.repo, place.top().join("moved away")).expect("renamed");
    let said = answered(&place, &linked);
    assert_eq!(count(&said, "INTERNAL") + count(&said, "NOT_INITIALISED"), 0, "{said:?}");
    assert!(count(&said, "NO_REPOSITORY") + count(&said, "GIT_FAILED") >= said.len() - 3, "{said:?}");
}

#[test]
fn a_directory_that_is_gone_and_input_that_is_none_are_answered() {
    let place = Place::new();
    let gone = place.top().join("gone");
    fs::create_dir(&gone).expect("made");
    let kctl = env!("CARGO_BIN_EXE_kctl");
    let script = format!("cd '{}' && rmdir '{}' && '{kctl}' status --json", gone.display(), gone.display());
    let ran = place.run(place.top(), "sh", &["-c", &script], None);
    assert_eq!((ran.status, text(&ran.json()["error"]["data"]["code"])), (4, "NO_REPOSITORY".to_owned()));
    let deep = "[".repeat(100_000);
    let inputs: [(&[u8], &str); 6] = [
        (b"", "PARSE_ERROR"),
        (b"\xff\xfe{}", "PARSE_ERROR"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"", "PARSE_ERROR"),
        (b"[]", "INVALID_REQUEST"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\",\"params\":{\"a\":1,\"a\":2}}", "INVALID_PARAMS"),
        (deep.as_bytes(), "PARSE_ERROR"),
    ];
    for (input, code) in inputs {
        let ran = place.run(&place.repo, kctl, &["rpc"], Some(input));
        assert_eq!((ran.status, text(&ran.ok().json()["error"]["data"]["code"])), (0, code.to_owned()));
    }
    let silent = place.run(&place.repo, kctl, &["rpc"], Some(br#"{"jsonrpc":"2.0","method":"status"}"#));
    assert_eq!((silent.status, silent.stdout.as_str()), (0, ""), "a notification is not answered");
    for (args, status) in [
        (&["rpc", "--nonsense"][..], 2),
        (&["rpc", "--op", "status", "--params", "{"], 2),
        (&["rpc", "--op", "no.such"], 2),
    ] {
        let ran = place.kctl(args);
        assert_eq!(ran.status, status, "{ran:?}");
        assert_eq!(ran.json()["jsonrpc"], "2.0", "the door speaks its own language: {ran:?}");
    }
    for args in [
        &["nonsense"][..],
        &["task"],
        &["task", "nonsense"],
        &["task", "list", "--limit", "x"],
        &["task", "list", "--dry-run"],
        &["task", "show"],
    ] {
        let ran = place.kctl(args);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{ran:?}");
        let json = place.kctl(&[args, &["--json"]].concat());
        assert!(json.json()["error"]["data"]["code"].is_string(), "{json:?}");
    }
}

#[test]
fn a_fault_of_kctl_itself_is_answered_too() {
    let place = Place::new();
    place.set("KCTL_FAILPOINT", Some("panic@door.called"));
    let kctl = env!("CARGO_BIN_EXE_kctl");
    let human = place.run(&place.repo, kctl, &["status"], None);
    assert_eq!((human.status, human.stdout.as_str()), (70, ""), "{human:?}");
    let json = place.run(&place.repo, kctl, &["status", "--json"], None);
    assert_eq!((json.status, &json.json()["error"]["data"]["code"]), (70, &json!("INTERNAL")), "{json:?}");
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": "status" }).to_string();
    let rpc = place.run(&place.repo, kctl, &["rpc"], Some(request.as_bytes()));
    assert_eq!(
        (rpc.status, &rpc.json()["error"]["code"], &rpc.json()["id"]),
        (0, &json!(-32603), &json!(7)),
        "{rpc:?}"
    );
    let op = place.run(&place.repo, kctl, &["rpc", "--op", "status"], None);
    assert_eq!((op.status, &op.json()["error"]["data"]["category"]), (70, &json!("internal")), "{op:?}");
}

#[test]
fn the_documented_exit_statuses_are_the_real_ones() {
    let place = Place::new();
    let help = place.kctl(&["help", "exit"]).ok().stdout.clone();
    for code in Code::ALL {
        assert!(help.contains(code.name()), "`kctl help exit` leaves out {}", code.name());
        assert!(
            help.lines().any(|line| line.trim_start().starts_with(&code.exit_status().to_string())),
            "{}",
            code.name()
        );
    }
    let full = place.run(
        &place.repo,
        "sh",
        &["-c", &format!("'{}' task list --json > /dev/full", env!("CARGO_BIN_EXE_kctl"))],
        None,
    );
    assert_eq!(full.status, 74, "{full:?}");
    assert!(help.contains("74"), "{help}");
}

/// A place with one of everything.
struct Furnished {
    place: Place,
    session: String,
    task: String,
    evidence: String,
    commitment: String,
}

fn furnished() -> Furnished {
    let place = Place::new();
    let ada = place.agent("ada");
    let opened = place.call("commit.open", json!({ "objective": "x", "criteria": ["check:test"] })).expect("opened");
    let commitment = text(&opened["data"]["id"]);
    let (task, _) = ada.worked(json!({ "title": "one", "commitment": commitment }));
    ada.ok("publish", json!({ "task": task }));
    let evidence = text(&place.data(&["evidence", "list"])["items"][0]["id"]);
    let session = ada.session.clone();
    drop(ada);
    Furnished { session, task, evidence, commitment, place }
}

#[test]
fn every_door_gives_the_same_answer_and_the_same_refusal() {
    let all = furnished();
    let (place, t, e, c) = (&all.place, all.task.as_str(), all.evidence.as_str(), all.commitment.as_str());
    place.later(0);
    let mine = ["--session", all.session.as_str()];
    let table: Vec<(Vec<&str>, &str, Value)> = vec![
        (vec!["status"], "status", json!({})),
        (vec!["doctor"], "doctor", json!({})),
        (vec!["session", "list", "--all"], "session.list", json!({ "all": true })),
        (vec!["task", "show", t], "task.show", json!({ "task": t })),
        (vec!["task", "list", "--all", "--limit", "1"], "task.list", json!({ "all": true, "limit": 1 })),
        (vec!["task", "ready"], "task.ready", json!({})),
        (vec!["task", "history", t], "task.history", json!({ "task": t })),
        (vec!["workspace", "status", t], "workspace.status", json!({ "task": t })),
        (vec!["workspace", "list"], "workspace.list", json!({})),
        (vec!["context", "resolve", t, "--op", "publish"], "context.resolve", json!({ "task": t, "op": "publish" })),
        (vec!["validate", t], "validate", json!({ "task": t })),
        (vec!["evidence", "list", "--check", "test"], "evidence.list", json!({ "check": "test" })),
        (vec!["evidence", "show", e, "--output"], "evidence.show", json!({ "evidence": e, "output": true })),
        (vec!["commit", "list"], "commit.list", json!({})),
        (vec!["commit", "show", c], "commit.show", json!({ "commitment": c })),
        (vec!["publication", "list"], "publication.list", json!({})),
        (vec!["finding", "list", t], "finding.list", json!({ "task": t })),
        (vec!["ledger", "log", "--limit", "2"], "ledger.log", json!({ "limit": 2 })),
        (vec!["ledger", "verify"], "ledger.verify", json!({})),
        (vec!["ledger", "export", "--after", "3"], "ledger.export", json!({ "after": 3 })),
        (vec!["ops", "describe", "publish"], "ops.describe", json!({ "name": "publish" })),
        (vec!["task", "claim", t, mine[0], mine[1]], "task.claim", json!({ "task": t, "session": mine[1] })),
        (vec!["task", "update", t, "--priority", "1"], "task.update", json!({ "task": t, "priority": 1 })),
        (
            vec!["publish", t, "--dry-run", mine[0], mine[1]],
            "publish",
            json!({ "task": t, "dry_run": true, "session": mine[1] }),
        ),
        (vec!["task", "show", "t-000000000000"], "task.show", json!({ "task": "t-000000000000" })),
        (vec!["task", "claim", t], "task.claim", json!({ "task": t })),
        (vec!["task", "create", "", "--dry-run"], "task.create", json!({ "title": "", "dry_run": true })),
        (
            vec!["task", "create", "x", "--criteria", "check:no"],
            "task.create",
            json!({ "title": "x", "criteria": ["check:no"] }),
        ),
        (vec!["task", "list", "--limit", "0"], "task.list", json!({ "limit": 0 })),
        (vec!["ops", "describe", "publsh"], "ops.describe", json!({ "name": "publsh" })),
        (vec!["workspace", "remove", t], "workspace.remove", json!({ "task": t })),
        (vec!["evidence", "show", "e-000000000000"], "evidence.show", json!({ "evidence": "e-000000000000" })),
        (
            vec!["finding", "accept", "f-1", "--reason", "x"],
            "finding.accept",
            json!({ "finding": "f-1", "reason": "x" }),
        ),
        (
            vec!["criterion", "attest", "AC-1", "--note", "x"],
            "criterion.attest",
            json!({ "criterion": "AC-1", "note": "x" }),
        ),
    ];
    // The index is warm once it was asked.
    place.call("context.resolve", json!({ "task": t })).expect("it is read");
    for (words, op, params) in table {
        let cli = place.kctl(&[&words[..], &["--json"]].concat()).json();
        let rpc = place.rpc(&json!({ "jsonrpc": "2.0", "id": 1, "method": op, "params": params }));
        let by_op = place.kctl(&["rpc", "--op", op, "--params", &params.to_string()]).json();
        for (door, answer) in [("rpc", &rpc), ("rpc --op", &by_op)] {
            match cli.get("error") {
                Some(error) => assert_eq!(*error, answer["error"], "{op} at {door}"),
                None => {
                    let parts = ["data", "next", "warnings", "truncated"];
                    // What each write records differs by its ids alone.
                    let said = |from: &Value| parts.map(|part| without_ids(&from[part]));
                    assert_eq!(said(&cli), said(&answer["result"]), "{op} at {door}");
                }
            }
        }
    }
}

/// Without what each call makes anew.
fn without_ids(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !["seconds", "used_ms"].contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name.clone(), without_ids(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_ids).collect()),
        other => other.clone(),
    }
}

/// Everything that a dry run must leave as it is.
fn picture(place: &Place) -> Vec<String> {
    let mut all = vec![format!("{:#}", Value::Array(place.log()))];
    for (dir, args) in [
        (&place.repo, &["for-each-ref"][..]),
        (&place.repo, &["worktree", "list", "--porcelain"]),
        (&place.repo, &["status", "--porcelain"]),
        (&place.repo, &["config", "--local", "--list"]),
        (&place.remote, &["for-each-ref"]),
    ] {
        all.push(place.git_in(dir, args));
    }
    let mut open: Vec<PathBuf> = vec![
        place.state(),
        place.repo.join(".git/hooks"),
        place.repo.join(".git/decapod/artifacts"),
        place.top().join("calc.work"),
    ];
    while let Some(dir) = open.pop() {
        for path in fs::read_dir(&dir).into_iter().flatten().map(|entry| entry.expect("listed").path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                all.push(format!("{} {:?}", path.display(), fs::read(&path).expect("read")));
            }
        }
    }
    all
}

/// Those that cannot be tried, or only by a person, or that need a signature.
const TRIED_ELSEWHERE: [&str; 6] =
    ["evidence.accept", "criterion.attest", "criterion.waive", "criterion.receipt", "finding.accept", "finding.reject"];

#[test]
fn a_dry_run_of_any_operation_changes_nothing() {
    let all = furnished();
    let (place, done) = (&all.place, all.task.as_str());
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "two" }));
    let tree = ada.workspace(&task);
    write(&tree.join("work.txt"), "x\n");
    place.commit_in(&tree, "work");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    let blocked = ada.claimed(json!({ "title": "blocked" }));
    ada.ok("task.block", json!({ "task": blocked, "reason": "x" }));
    let bare = ada.claimed(json!({ "title": "no workspace" }));
    let free = text(&ada.ok("task.create", json!({ "title": "free" }))["id"]);
    let abandoned = place.agent("bob").claimed(json!({ "title": "abandoned" }));
    let lost = place.call("task.release", json!({ "task": abandoned, "session": "s-000000000000" }));
    assert!(lost.is_err());
    let bob = text(
        &place.data(&["session", "list"])["items"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|one| one["agent"] == "bob")
            .expect("he is there")["session"],
    );
    place.call("session.release", json!({ "session": bob, "keep": true })).expect("released");
    let backup = place.top().join("backup.db");
    let handed = json!(["file_exists:a", "cited=citation:work.txt", "judged=judgement"]);
    let handed = text(&ada.ok("task.create", json!({ "title": "handed in", "criteria": handed }))["id"]);
    let failing = ada.claimed(json!({ "title": "fails", "criteria": ["check:test"] }));
    write(&ada.workspace(&failing).join("broken"), "x\n");
    ada.ok("validate", json!({ "task": failing }));
    let mut table: Vec<(&str, Value)> = vec![
        ("init", json!({})),
        ("uninstall", json!({})),
        ("session.acquire", json!({ "agent": "eve" })),
        ("session.renew", json!({})),
        ("session.release", json!({})),
        ("task.create", json!({ "title": "x" })),
        ("task.update", json!({ "task": task, "title": "x" })),
        ("task.next", json!({ "claim": true })),
        ("task.claim", json!({ "task": free })),
        ("task.renew", json!({ "task": task })),
        ("task.yield", json!({ "task": task, "note": "x" })),
        ("task.handoff", json!({ "task": task, "to": "eve" })),
        ("task.release", json!({ "task": task })),
        ("task.takeover", json!({ "task": abandoned, "reason": "x" })),
        ("task.decompose", json!({ "task": task, "parts": [{ "title": "x" }] })),
        ("task.block", json!({ "task": task, "reason": "x" })),
        ("task.unblock", json!({ "task": blocked, "note": "x" })),
        ("task.complete", json!({ "task": task, "summary": "x" })),
        ("task.finish", json!({ "task": task, "summary": "x" })),
        ("task.cancel", json!({ "task": task, "reason": "x" })),
        ("workspace.ensure", json!({ "task": bare })),
        ("workspace.remove", json!({ "task": done, "session": all.session })),
        ("validate", json!({ "task": task, "scope": "branch", "rerun": true })),
        ("check.run", json!({ "check": "test", "task": task, "rerun": true })),
        ("commit.open", json!({ "objective": "x", "criteria": ["check:test"] })),
        ("commit.evaluate", json!({ "commitment": all.commitment })),
        ("commit.close", json!({ "commitment": all.commitment, "verdict": "fulfilled" })),
        ("publish", json!({ "task": task })),
        ("criterion.add", json!({ "task": handed, "criteria": ["file_exists:b"], "reason": "x" })),
        ("criterion.amend", json!({ "task": handed, "criterion": "AC-1", "to": "file_exists:b", "reason": "x" })),
        ("criterion.withdraw", json!({ "task": handed, "criterion": "AC-1", "reason": "x" })),
        ("criterion.cite", json!({ "task": handed, "criterion": "cited" })),
        ("criterion.judge", json!({ "task": handed, "criterion": "judged", "confidence": 1, "reason": "x" })),
        ("ticket.open", json!({ "task": handed, "criterion": "AC-1", "capability": "x" })),
        ("reground", json!({ "task": failing })),
        ("ledger.rebuild", json!({})),
        ("ledger.backup", json!({ "to": backup })),
        ("ledger.recover", json!({})),
        ("workspace.prune", json!({})),
    ];
    let before = picture(place);
    for (op, params) in &mut table {
        params["dry_run"] = json!(true);
        let answer = match params.get("session") {
            Some(_) => place.call(op, params.clone()),
            None => ada.call(op, params.clone()),
        };
        let answer = answer.unwrap_or_else(|refusal| panic!("{op} would be refused: {refusal:#}"));
        assert_eq!(answer["receipt"]["events"], json!([]), "{op}");
        assert_eq!(picture(place), before, "{op} changed something");
    }
    assert!(!backup.exists());
    if let Some(tried) =
        place.person(&["criterion", "attest", "AC-1", "--commitment", &all.commitment, "--note", "x", "--dry-run"])
    {
        assert_eq!(tried.status, 3, "the criterion is a check's: {tried:?}");
        let waive = ["criterion", "waive", "AC-1", "--commitment", &all.commitment, "--reason", "x", "--dry-run"];
        assert_eq!(place.person(&waive).expect("as before").status, 0);
    }
    assert_eq!(picture(place), before);
    let tried: Vec<&str> = table.iter().map(|(op, _)| *op).chain(TRIED_ELSEWHERE).collect();
    let missing: Vec<&str> = OPS
        .iter()
        .filter(|entry| entry.info.effect.changes())
        .map(|entry| entry.info.name)
        .filter(|name| !tried.contains(name))
        .collect();
    assert!(missing.is_empty(), "not tried: {missing:?}");
}

#[test]
fn text_for_people_goes_to_its_place_and_asks_no_terminal() {
    let all = furnished();
    let place = &all.place;
    for args in [
        &["status"][..],
        &["task", "list", "--all"],
        &["task", "show", &all.task],
        &["commit", "list"],
        &["doctor"],
        &["validate", &all.task],
    ] {
        let ran = place.kctl(args);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(!ran.stdout.is_empty() && !ran.stdout.contains('\u{1b}'), "no colour without a terminal: {ran:?}");
    }
    let refused = place.kctl(&["task", "claim", &all.task]);
    assert_eq!(refused.stdout, "", "a refusal is no answer: {refused:?}");
    assert!(refused.stderr.starts_with("error[SESSION_REQUIRED]: "), "{refused:?}");
    assert!(refused.stderr.contains("next: kctl session acquire"), "{refused:?}");
    assert_eq!(place.kctl(&["task", "list", "--all", "--quiet"]).stderr, "");
    assert!(PROFILE.contains("checks"));
}
