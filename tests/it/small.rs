//! Small promises: what is refused by its field, counted once, answered again, and proposed only where it can be done.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use kctl::domain::refusal::Code;
use serde_json::{Value, json};

use crate::place::{Place, proposed, text, texts, write};

#[test]
fn a_title_is_one_line_wherever_it_is_written_down() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    for bad in ["two\nlines", "a\u{1b}[31mred", "tab\there", "\u{2028}sep", "back\u{8}space", "c1\u{9b}m"] {
        let calls = [
            ("task.create", json!({ "title": bad }), "title"),
            ("task.update", json!({ "task": task, "title": bad }), "title"),
            ("task.decompose", json!({ "task": task, "parts": [{ "title": bad }] }), "parts[0].title"),
        ];
        for (op, params, field) in calls {
            let refusal = ada.no("INVALID_VALUE", op, params);
            assert_eq!(refusal["details"]["field"], field, "{op} {bad:?}: {refusal:#}");
        }
    }
    let refusal = ada.no("INVALID_VALUE", "commit.open", json!({ "objective": "a\u{7}bell" }));
    assert_eq!(refusal["details"]["field"], "objective");
    let opened = ada.call("commit.open", json!({ "objective": "first line\n\nand more" })).expect("it may be long");
    ada.ok("task.create", opened["next"][0]["params"].clone());
}

#[test]
fn an_attestation_without_a_question_asks_none_and_an_empty_one_is_refused() {
    let place = Place::new();
    for empty in ["attested:", "ui=attested:", "attested:  "] {
        for op in ["task.create", "commit.open"] {
            let refusal = place
                .call(op, json!({ "title": "x", "objective": "x", "criteria": [empty] }).pick(op))
                .expect_err("an empty question");
            let said = (&refusal["code"], &refusal["details"]["field"]);
            assert_eq!(said, (&json!("INVALID_VALUE"), &json!("criteria[0].question")), "{op} {empty}: {refusal:#}");
        }
    }
    place.call("task.create", json!({ "title": "x", "criteria": ["attested"] })).expect("it has words of its own");
}

trait Pick {
    /// Without the member that the operation does not take.
    fn pick(self, op: &str) -> Value;
}

impl Pick for Value {
    fn pick(mut self, op: &str) -> Value {
        let other = if op == "task.create" { "objective" } else { "title" };
        self.as_object_mut().expect("an object").remove(other);
        self
    }
}

#[test]
fn a_path_that_was_staged_and_changed_again_is_counted_once() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, path) = ada.worked(json!({ "title": "one" }));
    write(&path.join("work.txt"), "staged\n");
    place.git_in(&path, &["add", "work.txt"]);
    write(&path.join("work.txt"), "done\n");
    write(&path.join("new.txt"), "new\n");
    place.git_in(&path, &["add", "new.txt"]);
    fs::remove_file(path.join("new.txt")).expect("removed");
    let shown = ada.ok("workspace.status", json!({ "task": task }));
    let changes = json!([
        { "path": "new.txt", "kind": "added, then deleted" },
        { "path": "work.txt", "kind": "modified" },
    ]);
    assert_eq!(shown["changes"], changes, "{shown:#}");
    assert_eq!(texts(&shown["at_risk"]["uncommitted"]), ["new.txt", "work.txt"]);
    let refusal = ada.call("publish", json!({ "task": task })).expect_err("it is dirty");
    assert!(refusal.to_string().contains("2 paths are not committed"), "{refusal:#}");
}

#[test]
fn a_token_that_others_can_read_is_a_problem_to_the_doctor() {
    let place = Place::new();
    let ada = place.agent("ada");
    let health = || {
        let ran = place.kctl(&["doctor", "--json"]).json();
        let found = ran["data"]["findings"].as_array().expect("a list").iter().find(|one| one["part"] == "secrets");
        found.expect("it is looked at").clone()
    };
    assert_eq!(health()["health"], "ok");
    let dir = place.state().join("kctl/sessions");
    let file = dir.join(format!("{}.token", ada.session));
    for (path, own, open) in [(&file, 0o600, 0o666), (&file, 0o600, 0o640), (&dir, 0o700, 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(open)).expect("set");
        let found = health();
        assert_eq!(found["health"], "problem", "{open:o}");
        assert!(text(&found["what"]).contains(path.to_str().expect("UTF-8")) && found["remedy"].is_string());
        fs::set_permissions(path, fs::Permissions::from_mode(own)).expect("set");
    }
    assert_eq!(health()["health"], "ok");
}

#[test]
fn a_release_that_is_asked_again_under_its_key_gives_the_stored_answer() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one" }));
    let made = ada.call("task.create", json!({ "title": "two", "idempotency_key": "k" })).expect("created");
    let params = json!({ "idempotency_key": "bye" });
    let first = ada.call("session.release", params.clone()).expect("released");
    assert_eq!(texts(&first["data"]["freed"]), [task]);
    let mut sent = params.clone();
    sent["token"] = json!(ada.token);
    for again in [ada.call("session.release", params.clone()), place.call("session.release", sent)] {
        let again = again.expect("the stored answer");
        assert_eq!((&again["data"], &again["receipt"]["replayed"]), (&first["data"], &json!(true)));
    }
    let earlier = ada.call("task.create", json!({ "title": "two", "idempotency_key": "k" }));
    assert_ne!(earlier.map(|answer| answer["data"]["id"].clone()).ok(), None, "so does whatever else it was answered");
    assert!(made["data"]["id"].is_string());
    let events = place.log().len();
    ada.no("SESSION_INVALID", "session.release", json!({}));
    ada.no("SESSION_INVALID", "session.release", json!({ "idempotency_key": "another" }));
    ada.no("IDEMPOTENCY_MISMATCH", "session.release", json!({ "idempotency_key": "bye", "keep": true }));
    let mut forged = params;
    forged["token"] = json!(format!("{}.{}", ada.session, "0".repeat(64)));
    assert_eq!(place.call("session.release", forged).expect_err("a wrong token")["code"], "SESSION_INVALID");
    assert_eq!(place.log().len(), events, "a released session does nothing any more");
}

#[test]
fn every_code_that_a_failed_publication_is_recorded_with_is_a_code() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) = ada.worked(json!({ "title": "one" }));
    // It ends between journal and push, and is begun anew on another commit.
    place.set("KCTL_FAILPOINT", Some("ledger.committed:1"));
    let killed =
        place.run(&place.repo, env!("CARGO_BIN_EXE_kctl"), &["publish", &task, "--session", &ada.session], None);
    assert_eq!(killed.status, -1, "{killed:?}");
    place.set("KCTL_FAILPOINT", None);
    write(&tree.join("more.txt"), "more\n");
    place.commit_in(&tree, "more");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    ada.ok("publish", json!({ "task": task }));
    let failed: Vec<String> = place
        .log()
        .iter()
        .filter(|event| event["type"] == "publish.failed")
        .map(|event| text(&event["body"]["code"]))
        .collect();
    assert_eq!(failed, ["INTERRUPTED"]);
    assert!(Code::ALL.iter().any(|code| code.name() == failed[0]), "it is documented like any other");
}

/// What is proposed about a task is never refused for its status.
#[test]
fn what_is_proposed_helps_under_every_status() {
    let place = Place::new();
    let ada = place.agent("ada");
    let bob = place.agent("bob");
    let make = |title: &str| ada.worked(json!({ "title": title })).0;
    let open = text(&ada.ok("task.create", json!({ "title": "open" }))["id"]);
    let waits = ada.call("task.create", json!({ "title": "waits", "needs": [open] })).expect("created");
    assert_eq!((proposed(&waits), &waits["next"][0]["params"]["task"]), (vec!["task.show".to_owned()], &json!(open)));
    let claimed = make("claimed");
    let blocked = make("blocked");
    ada.ok("task.block", json!({ "task": blocked, "reason": "x" }));
    let asked = make("asked");
    ada.ok("task.block", json!({ "task": asked, "reason": "x", "question": "which?" }));
    let finished = make("finished");
    ada.ok("task.finish", json!({ "task": finished }));
    let cancelled = make("cancelled");
    ada.ok("task.cancel", json!({ "task": cancelled, "reason": "x" }));
    let table = [
        (&ada, &open, "task.claim"),
        (&ada, &claimed, "task.finish"),
        (&bob, &claimed, "task.show"),
        (&ada, &blocked, "task.unblock"),
        (&bob, &blocked, "task.unblock"),
        (&ada, &asked, "task.unblock"),
        // With `branch` it is seen whether anything stands against publication.
        (&ada, &finished, "validate"),
        (&bob, &finished, "task.show"),
        (&ada, &cancelled, "task.show"),
    ];
    for (who, task, helps) in table {
        let answer = who.call("validate", json!({ "task": task })).expect("it is judged");
        let ops = proposed(&answer);
        assert_eq!(ops, [helps], "validate {task}: {answer:#}");
        for op in ["validate", "context.resolve", "workspace.ensure", "publish", "task.claim", "task.finish"] {
            let said = who.call(op, json!({ "task": task, "dry_run": true }).without_dry_run_of(op));
            // What a claim that was only tried leads to is not there yet.
            let said = match said {
                Ok(_) if op == "task.claim" => continue,
                Ok(said) | Err(said) => said,
            };
            for next in said["next"].as_array().expect("a list") {
                let mut params = next["params"].clone();
                let proposed = text(&next["op"]);
                params["dry_run"] = json!(true);
                let sent = who.call(&proposed, params.without_dry_run_of(&proposed));
                let code = sent.err().map_or_else(|| "ok".to_owned(), |refusal| text(&refusal["code"]));
                assert!(
                    !["CONFLICT", "CLAIM_REQUIRED", "FINALIZATION_REJECTED"].contains(&code.as_str()),
                    "{op} on {task} proposes {proposed}, which is refused with {code}: {said:#}"
                );
            }
        }
    }
}

trait WithoutDryRun {
    /// Reads take no dry run.
    fn without_dry_run_of(self, op: &str) -> Value;
}

impl WithoutDryRun for Value {
    fn without_dry_run_of(mut self, op: &str) -> Value {
        let reads = kctl::ops::registry::find(op).is_some_and(|entry| !entry.info.effect.changes());
        if reads {
            self.as_object_mut().expect("an object").remove("dry_run");
        }
        self
    }
}

#[test]
fn an_answer_that_standard_output_cannot_take_is_no_success() {
    let place = Place::new();
    let task = text(&place.data(&["task", "create", "one"])["id"]);
    let kctl = env!("CARGO_BIN_EXE_kctl");
    let commands = [
        "status".to_owned(),
        "status --json".to_owned(),
        "--version".to_owned(),
        "--help".to_owned(),
        "task list --help".to_owned(),
        "completions bash".to_owned(),
        "man".to_owned(),
        "ops list".to_owned(),
        "doctor --json".to_owned(),
        format!("task show {task}"),
        "task claim no-such-task --json".to_owned(),
        "rpc --op status".to_owned(),
        "quickstart".to_owned(),
    ];
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "status" }).to_string();
    for words in commands.iter().map(String::as_str).chain(["rpc"]) {
        for out in [">&-", ">/dev/full"] {
            let line = format!("exec \"$0\" {words} {out}");
            let ran =
                place.run(place.top(), "sh", &["-c", &format!("cd calc && {line}"), kctl], Some(request.as_bytes()));
            assert_eq!(ran.status, 74, "kctl {words} {out}: {ran:?}");
            assert!(ran.stderr.contains("could not be written"), "kctl {words} {out}: {ran:?}");
        }
        let nowhere =
            place.run(&place.repo, "sh", &["-c", &format!("\"$0\" {words} <>/dev/null 1<>/dev/null"), kctl], None);
        assert_ne!(nowhere.status, 74, "kctl {words}: it is told to throw its answer away: {nowhere:?}");
    }
}

#[test]
fn a_value_typed_behind_a_switch_is_said_to_be_none_of_its() {
    let place = Place::new();
    for (words, flag, value) in [
        (&["turn", "end", "--task", "t-1", "--background", "true"][..], "--background", "true"),
        (&["turn", "end", "--background", "false", "--task", "t-1"], "--background", "false"),
        (&["validate", "t-1", "--rerun", "yes"], "--rerun", "yes"),
        (&["task", "show", "t-1", "t-2"], "", ""),
    ] {
        let refusal = place.refusal(words);
        assert_eq!(refusal["code"], "USAGE", "{words:?}: {refusal:#}");
        let said = text(&refusal["message"]).contains("takes no value");
        assert_eq!(said, !flag.is_empty(), "{refusal:#}");
        if said {
            assert!(text(&refusal["message"]).contains(&format!("`{value}`")), "{refusal:#}");
            assert_eq!(refusal["details"]["flag"], flag, "{refusal:#}");
        }
    }
}
