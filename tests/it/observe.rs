//! What a host reports of its finished calls: recorded once, judged beside what was seen before, and never evidence.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]
#![expect(clippy::needless_pass_by_value, reason = "parameters are written where they are sent")]

mod looked_on;

use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Agent, PROFILE, Place, proposed, text, texts, wait_until, write};

/// A host that gives its calls ids.
struct Host<'p> {
    agent: Agent<'p>,
    calls: std::cell::Cell<u32>,
}

impl<'p> Host<'p> {
    fn new(place: &'p Place) -> Self {
        Self { agent: place.agent("ada"), calls: std::cell::Cell::new(0) }
    }

    fn report(&self, dir: &Path, tool: &str, arguments: Value, more: Value) -> Result<Value, Value> {
        self.calls.set(self.calls.get() + 1);
        let mut params = json!({ "call": format!("call-{}", self.calls.get()), "tool": tool, "arguments": arguments });
        for (name, value) in more.as_object().expect("an object") {
            params[name] = value.clone();
        }
        self.agent.call_in(dir, "action.observe", params)
    }

    fn did(&self, tool: &str, arguments: Value, more: Value) -> Value {
        let repo = self.agent.place.repo.clone();
        self.report(&repo, tool, arguments, more).unwrap_or_else(|refusal| panic!("refused: {refusal:#}"))
    }

    fn read(&self, path: &str) -> Value {
        self.did("file_read", json!({ "path": path }), json!({}))
    }

    fn advice_on(&self, path: &str) -> String {
        text(&self.read(path)["data"]["advice"])
    }

    fn stuck(&self, path: &str) {
        let advice: Vec<String> = (0..5).map(|_| self.advice_on(path)).collect();
        assert_eq!(advice, ["go_on", "noted", "noted", "reground", "known"]);
    }
}

fn warned(answer: &Value) -> Vec<String> {
    answer["warnings"].as_array().into_iter().flatten().map(|warning| text(&warning["code"])).collect()
}

#[test]
fn a_file_that_is_read_again_and_again_is_listed_once_and_then_pointed_at() {
    let place = Place::new();
    let host = Host::new(&place);
    host.read(".decapod/kctl.toml");
    let answers: Vec<Value> = (0..5).map(|_| host.read("src/lib.txt")).collect();
    let advice: Vec<String> = answers.iter().map(|answer| text(&answer["data"]["advice"])).collect();
    assert_eq!(advice, ["go_on", "noted", "noted", "reground", "known"]);
    let listed = answers[3]["data"]["listing"].as_array().expect("a list");
    let about: Vec<&Value> = listed.iter().map(|one| &one["about"]).collect();
    assert_eq!(about, ["src/lib.txt", ".decapod/kctl.toml"], "the newest first");
    assert_eq!(warned(&answers[3]), ["nothing_new"]);
    let known = &answers[4]["data"]["known"];
    assert_eq!((&known["call"], &known["agent"], &known["times"]), (&json!("call-2"), &json!("ada"), &json!(5)));
    assert_eq!(known["lines"], json!([{ "first": 1, "last": 2 }]));
    assert!(text(&known["result"]).starts_with("sha256:") && known["at"].is_string(), "{known:#}");
    assert_eq!(
        (warned(&answers[4]), answers[4]["data"]["listing"].as_array().map(Vec::len)),
        (vec!["already_known".into()], Some(0))
    );
    assert_eq!(host.advice_on("README.md"), "go_on", "that nothing is there is new as well");
}

/// Each call is a process of its own, and replays nothing but what was recorded.
#[test]
fn a_resumed_session_is_answered_as_a_live_one() {
    let of = |between: &dyn Fn(&Place)| -> Vec<Value> {
        let place = Place::new();
        let host = Host::new(&place);
        let mut all = Vec::new();
        for n in 0..14 {
            let answer = match n {
                3 | 9 => host.did("process", json!({ "command": "ls -la" }), json!({ "result": "a\nb\n", "exit": 0 })),
                6 => {
                    place.write("src/lib.txt", "one\ntwo\nthree\n");
                    host.read("src/lib.txt")
                }
                _ => host.read("src/lib.txt"),
            };
            let data = &answer["data"];
            all.push(json!([
                data["advice"],
                data["judged"],
                data["known"]["call"],
                data["listing"].as_array().map(Vec::len)
            ]));
            between(&place);
        }
        all
    };
    let live = of(&|_| ());
    let resumed = of(&|place| assert_eq!(place.kctl(&["ledger", "rebuild"]).status, 0));
    assert_eq!(live, resumed);
    assert!(live.iter().any(|one| one[0] == "reground") && live.iter().any(|one| one[0] == "known"), "{live:#?}");
}

#[test]
fn a_call_is_recorded_once_however_often_it_is_reported_and_its_id_is_its_own() {
    let place = Place::new();
    let host = Host::new(&place);
    let report = |path: &str| json!({ "call": "toolu_01A", "tool": "file_read", "arguments": { "path": path } });
    let observed = || place.log().iter().filter(|event| event["type"] == "action.observed").count();
    let first = host.agent.ok("action.observe", report("src/lib.txt"));
    for _ in 0..4 {
        assert_eq!(host.agent.ok("action.observe", report("src/lib.txt")), first);
    }
    assert_eq!(observed(), 1);
    let other = host.agent.no("IDEMPOTENCY_MISMATCH", "action.observe", report("a.txt"));
    assert_eq!(other["details"]["field"], "call");
    let grace = place.agent("grace");
    assert_eq!(grace.ok("action.observe", report("a.txt"))["judged"]["epoch"], 1, "ids are a session's own");
    let dry = json!({ "call": "dry", "tool": "file_read", "arguments": { "path": "a.txt" }, "dry_run": true });
    assert_eq!(host.agent.ok("action.observe", dry)["advice"], "go_on");
    assert_eq!(observed(), 2);
}

/// Hosts run tools side by side, and send a report again that they had no answer to.
#[test]
fn of_reports_that_come_at_once_each_is_recorded_once() {
    let place = Place::new();
    let host = Host::new(&place);
    let report = |call: &str| json!({ "call": call, "tool": "file_read", "arguments": { "path": "src/lib.txt" }, "session": host.agent.session });
    let same = ["toolu_01T1x1fJ34qAmk2tNTrN7Up6"; 6];
    let other = ["call_zLVzUR0rIRAYqZSm6eNL3mGk", "item_9", "019a5d3e-77c1-7d3f-b2a4-4be6e5f0c111"];
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let place = &place;
        let reports = same.iter().chain(&other).map(|call| report(call));
        let threads: Vec<_> = reports
            .map(|report| scope.spawn(move || place.call("action.observe", report).expect("recorded")))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    assert!(answers[..6].iter().all(|answer| answer["data"] == answers[0]["data"]), "{answers:#?}");
    let log = place.log();
    let recorded = log.iter().filter(|event| event["type"] == "action.observed");
    let mut calls: Vec<String> = recorded.map(|event| text(&event["body"]["observation"]["call"])).collect();
    calls.sort();
    let mut expected = [&same[..1], &other].concat();
    expected.sort_unstable();
    assert_eq!(calls, expected, "an id is no secret, and is kept as it is");
}

/// What was done was done, whatever state the place is in.
#[test]
fn a_profile_that_cannot_be_read_and_a_workspace_that_is_gone_keep_no_report_out() {
    let place = Place::new();
    let host = Host::new(&place);
    let task = host.agent.claimed(json!({ "title": "one", "criteria": ["check:test"] }));
    let tree = host.agent.workspace(&task);
    std::fs::remove_dir_all(&tree).expect("removed");
    let ran = || host.did("process", json!({ "command": "make" }), json!({ "exit": 2, "result": "no rule" }));
    assert_eq!(ran()["data"]["advice"], "go_on");
    place.rebase_profile("version = 1\n[checks");
    assert!(warned(&ran()).contains(&"check_unknown".to_owned()));
}

#[test]
fn a_real_change_begins_anew_and_a_heartbeat_does_not() {
    let place = Place::new();
    let host = Host::new(&place);
    let task = host.agent.claimed(json!({ "title": "one", "criteria": ["check:test"] }));
    let progress = |path: &str| host.read(path)["data"]["judged"]["progress"].clone();
    host.stuck("src/lib.txt");
    host.agent.ok("session.renew", json!({}));
    host.agent.ok("task.renew", json!({ "task": task }));
    assert_eq!(host.advice_on("src/lib.txt"), "known", "a renewed lease is no progress");
    place.write("new.txt", "by somebody else\n");
    assert_eq!(progress("src/lib.txt"), "tree_changed");
    host.advice_on("src/lib.txt");
    host.agent.ok("task.block", json!({ "task": task, "reason": "unsure", "question": "which?" }));
    assert_eq!(progress("src/lib.txt"), "task_state");
    host.agent.workspace(&task);
    host.agent.ok("validate", json!({ "task": task }));
    assert_eq!(progress("src/lib.txt"), "evidence");
    let user = json!({ "turn": "u-1", "turn_kind": "user" });
    assert_eq!(host.did("dir_list", json!({}), user)["data"]["judged"]["progress"], "user_turn");
    place.write("a.txt", "written by the tool\n");
    assert_eq!(host.did("file_write", json!({ "path": "a.txt" }), json!({}))["data"]["judged"]["progress"], "written");
    let resumed = host.did("dir_list", json!({}), json!({ "turn": "r", "turn_kind": "resumed" }));
    assert_eq!(resumed["data"]["judged"]["progress"], "resumed");
    assert!(text(&resumed["data"]["note"]).contains("anew"), "{resumed:#}");
}

/// What the tree costs is paid only where something may be a repeat, and what is recorded is one event.
#[test]
fn what_is_new_is_one_event_without_a_look_at_the_tree() {
    let place = Place::new();
    let host = Host::new(&place);
    let bodies = || -> Vec<Value> {
        let log = place.log();
        log.iter()
            .filter(|event| event["type"] == "action.observed")
            .map(|event| event["body"]["observation"].clone())
            .collect()
    };
    for path in ["a", "b", "c"] {
        assert_eq!(host.read(path)["receipt"]["events"].as_array().map(Vec::len), Some(1));
    }
    assert!(bodies().iter().all(|body| body["ground"].get("tree").is_none()), "{:#?}", bodies());
    host.read("a");
    assert!(bodies()[3]["ground"]["tree"].is_string());
}

#[test]
fn the_disk_says_what_a_file_holds_whatever_the_payload_says() {
    let place = Place::new();
    let host = Host::new(&place);
    let claimed = |result: &str| host.did("file_read", json!({ "path": "src/lib.txt" }), json!({ "result": result }));
    let advice: Vec<String> =
        ["a", "b", "c", "d"].iter().map(|result| text(&claimed(result)["data"]["advice"])).collect();
    assert_eq!(advice, ["go_on", "noted", "noted", "reground"]);
    std::os::unix::fs::symlink("src/lib.txt", place.repo.join("link")).expect("linked");
    let through = host.read("link");
    assert_eq!(through["data"]["judged"]["progress"], "tree_changed");
    assert_eq!(host.read("src/lib.txt")["data"]["known"]["about"], "src/lib.txt", "a link is what it leads to");
}

const FAILS: &str = "\
running 2 tests
test parse::one ... ok
test parse::two ... FAILED

failures:

---- parse::two stdout ----

thread 'parse::two' panicked at src/parse.rs:7:5:
assertion `left == right` failed
  left: 1
 right: 2

failures:
    parse::two

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.0Ns
";

#[test]
fn a_test_that_the_host_ran_is_counted_and_is_no_evidence() {
    let check = "\n[checks.unit]\nrun = \"timeout 60 cargo test --locked\"\nkind = \"test\"\nrequired = false\n";
    let place = Place::with_profile(&format!("{PROFILE}{check}"));
    let host = Host::new(&place);
    let task = host.agent.claimed(json!({ "title": "one", "criteria": ["u=check:unit"] }));
    let tree = host.agent.workspace(&task);
    let runs = |command: &str, exit: i32, n: usize| {
        let output = FAILS.replace("0.0N", &format!("0.0{n}"));
        let output = if exit == 0 { output.replace("FAILED", "ok").replace("1 failed", "0 failed") } else { output };
        host.report(&tree, "process", json!({ "command": command }), json!({ "exit": exit, "result": output }))
            .unwrap_or_else(|refusal| panic!("refused: {refusal:#}"))
    };
    let first = runs("cargo test --locked", 101, 1);
    assert_eq!((&first["data"]["check"], &first["data"]["task"]), (&json!("unit"), &json!(task)), "{first:#}");
    assert!(text(&first["data"]["note"]).contains("no evidence"), "{first:#}");
    let validate = first["next"].as_array().into_iter().flatten().find(|next| next["op"] == "validate");
    assert_eq!(validate.expect("it is proposed")["params"], json!({ "task": task, "checks": ["unit"] }));
    let spellings = ["RUST_BACKTRACE=1 cargo test --locked 2>&1 | tail -40", "timeout 300 cargo test --locked"];
    let steps: Vec<Value> = spellings.iter().enumerate().map(|(n, line)| runs(line, 101, n + 2)).collect();
    assert_eq!(steps[1]["data"]["attempt"]["step"]["count"], 3, "{:#}", steps[1]);
    assert!(
        warned(&steps[1]).contains(&"no_progress".to_owned()) && proposed(&steps[1]).contains(&"reground".to_owned())
    );
    let packet = &host.agent.ok("reground", json!({ "task": task }))["packet"];
    assert_eq!(texts(&packet["gates"]), ["criterion u"]);
    assert!(text(&packet["failing"][0]["item"]).contains("parse::two"), "{packet:#}");
    let passed = runs("cargo test --locked", 0, 1);
    assert_eq!(passed["data"]["attempt"], Value::Null, "only kctl's own run passes what a criterion rests on");
    assert_eq!(place.data(&["failure", "list", &task])["items"].as_array().map(Vec::len), Some(1));
    let listed = host.agent.ok("criterion.list", json!({ "task": task }));
    assert!(!listed.to_string().contains("\"met\":true"), "{listed:#}");
    assert_eq!(place.data(&["evidence", "list"])["items"], json!([]));
}

#[test]
fn a_check_that_is_run_again_and_again_is_pointed_to_its_evidence() {
    let place = Place::new();
    let host = Host::new(&place);
    let task = host.agent.claimed(json!({ "title": "one", "criteria": ["check:test"] }));
    let tree = host.agent.workspace(&task);
    host.agent.ok("validate", json!({ "task": task }));
    let ran = || {
        let more = json!({ "exit": 0, "result": "" });
        host.report(&tree, "process", json!({ "command": "time test ! -e broken | cat" }), more).expect("recorded")
    };
    (0..4).for_each(|_| drop(ran()));
    let last = ran();
    assert_eq!((&last["data"]["advice"], &last["data"]["check"]), (&json!("known"), &json!("test")), "{last:#}");
    let evidence = place.data(&["evidence", "list"])["items"][0]["id"].clone();
    assert!(evidence.is_string() && last["data"]["known"]["evidence"] == evidence, "{last:#}");
    assert!(proposed(&last).contains(&"evidence.show".to_owned()), "{last:#}");
}

#[test]
fn a_command_that_no_check_declares_is_cleared_by_its_pass_and_a_question_is_no_failure() {
    let place = Place::new();
    let host = Host::new(&place);
    let task = host.agent.claimed(json!({ "title": "one" }));
    let ran = |command: &str, exit: i32| {
        host.did("process", json!({ "command": command }), json!({ "exit": exit, "result": "" }))
    };
    let failing = || place.data(&["failure", "list", &task])["items"].as_array().map(Vec::len);
    for _ in 0..4 {
        assert_eq!(ran("grep -rn nowhere src", 1)["data"]["attempt"], Value::Null);
    }
    assert_eq!(failing(), Some(0));
    for _ in 0..9 {
        ran("npm run build", 2);
    }
    assert_eq!(failing(), Some(1));
    assert_eq!(place.data(&["ticket", "list"])["items"], json!([]), "kctl would never see such a gate pass");
    ran("ls", 0);
    assert_eq!(failing(), Some(1));
    ran("npm run build", 0);
    assert_eq!(failing(), Some(0));
}

#[test]
fn a_run_of_kctls_own_may_be_polled() {
    let check = "\n[checks.slow]\nrun = \"until test -e go; do sleep 0.05; done\"\ntimeout = \"60s\"\nrequired = false\nisolation = \"none\"\n";
    let place = Place::with_profile(&format!("{PROFILE}{check}"));
    let host = Host::new(&place);
    let task = host.agent.claimed(json!({ "title": "one", "criteria": ["s=check:slow"] }));
    let tree = host.agent.workspace(&task);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| host_less(&place, &host.agent.session, &task));
        wait_until("it runs", || place.log().iter().any(|event| event["type"] == "run.started"));
        let polls = json!({ "command": "tail build.log" });
        let advice: Vec<String> = (0..8)
            .map(|_| {
                let polled = host.report(&tree, "process", polls.clone(), json!({ "result": "…", "exit": 0 }));
                text(&polled.expect("recorded")["data"]["advice"])
            })
            .collect();
        write(&tree.join("go"), "");
        run.join().expect("it ends");
        assert_eq!(advice, ["go_on"; 8]);
    });
}

fn host_less(place: &Place, session: &str, task: &str) {
    drop(place.call("validate", json!({ "session": session, "task": task })));
}

#[test]
fn what_no_host_sends_is_refused_with_its_member_and_nothing_is_recorded() {
    let place = Place::new();
    let host = Host::new(&place);
    let read = |path: &str| json!({ "path": path });
    let process = |command: Value| json!({ "command": command });
    let long = "x".repeat(2 << 20);
    std::os::unix::fs::symlink("/etc", place.repo.join("etc")).expect("linked");
    let cases = [
        ("file_read", read("../other/x"), json!({}), "OUT_OF_TREE", "field", "arguments"),
        ("file_read", read("/etc/passwd"), json!({}), "OUT_OF_TREE", "field", "arguments"),
        ("file_read", read("etc/passwd"), json!({}), "OUT_OF_TREE", "field", "arguments"),
        ("file_read", read("a\u{0}b"), json!({}), "INVALID_PARAMS", "pointer", "/params/arguments/path"),
        ("file_read", read("~/x"), json!({}), "OUT_OF_TREE", "field", "arguments"),
        ("file_read", json!({}), json!({}), "INVALID_PARAMS", "member", "arguments.path"),
        ("file_read", json!("{\"path\":"), json!({}), "INVALID_PARAMS", "member", "arguments"),
        ("file_read", json!([1]), json!({}), "INVALID_PARAMS", "member", "arguments"),
        (
            "file_read",
            json!({ "path": "a", "first_line": -3 }),
            json!({}),
            "INVALID_PARAMS",
            "member",
            "arguments.first_line",
        ),
        ("search", json!({ "query": 3 }), json!({}), "INVALID_PARAMS", "member", "arguments.query"),
        ("process", process(json!("")), json!({}), "INVALID_PARAMS", "member", "arguments.command"),
        ("process", process(json!([1])), json!({}), "INVALID_PARAMS", "member", "arguments.command"),
        ("process", process(json!(long)), json!({}), "INVALID_PARAMS", "member", "arguments.command"),
        ("process", process(json!("ls")), json!({ "result": long }), "INVALID_VALUE", "field", "result"),
        ("process", process(json!("ls")), json!({ "exit": "0" }), "INVALID_PARAMS", "member", "exit"),
        (
            "process",
            process(json!("ls")),
            json!({ "result_digest": "md5:0" }),
            "INVALID_PARAMS",
            "member",
            "result_digest",
        ),
        (
            "process",
            process(json!("ls")),
            json!({ "result": "x", "result_digest": format!("sha256:{}", "0".repeat(64)) }),
            "INVALID_VALUE",
            "field",
            "result_digest",
        ),
        ("process", process(json!("ls")), json!({ "running": true }), "INVALID_VALUE", "field", "process"),
        ("process", process(json!("ls")), json!({ "turn": "a\nb" }), "INVALID_VALUE", "field", "turn"),
        ("process", process(json!("ls")), json!({ "call": "" }), "INVALID_VALUE", "field", "call"),
        ("process", process(json!("ls")), json!({ "call": "y".repeat(201) }), "INVALID_VALUE", "field", "call"),
        ("process", process(json!("ls")), json!({ "turn_kind": "robot" }), "INVALID_PARAMS", "member", "turn_kind"),
        ("process", process(json!("ls")), json!({ "colour": "red" }), "INVALID_PARAMS", "member", "colour"),
    ];
    for (tool, arguments, more, code, member, named) in cases {
        let told = format!("{tool} {:.60} {:.60}", arguments.to_string(), more.to_string());
        let refusal = host.report(&place.repo, tool, arguments, more).expect_err(&told);
        assert_eq!(
            (&refusal["code"], &refusal["details"][member]),
            (&json!(code), &json!(named)),
            "{told}: {refusal:.400}"
        );
    }
    assert!(place.log().iter().all(|event| event["type"] != "action.observed"));
    let nobody = json!({ "call": "1", "tool": "file_read", "arguments": { "path": "a" } });
    assert_eq!(place.call("action.observe", nobody).expect_err("nobody")["code"], "SESSION_REQUIRED");
}

#[test]
fn what_cannot_be_digested_is_recorded_without_it_and_a_secret_is_not_recorded() {
    let place = Place::new();
    let host = Host::new(&place);
    std::fs::write(place.repo.join("binary"), [0, 159, 146, 150, 10, 255]).expect("written");
    std::fs::File::create(place.repo.join("large")).and_then(|file| file.set_len(17 << 20)).expect("made");
    assert_eq!(host.advice_on("binary"), "go_on");
    assert_eq!(host.advice_on("binary"), "noted");
    for _ in 0..3 {
        let large = host.read("large");
        assert_eq!((large["data"]["advice"].as_str(), warned(&large)), (Some("go_on"), vec!["not_digested".into()]));
    }
    assert_eq!(host.advice_on("src"), "go_on", "a directory holds no lines");
    let secret = "ghp_x7Qm2Kd9Tz4Wb8Lr1Vn6Yc3Hj5Pf0Sg2Ae9U";
    let command = json!({ "command": format!("curl -H {secret} x") });
    for _ in 0..4 {
        let answer = host.did("process", command.clone(), json!({ "result": format!("sent {secret}"), "exit": 0 }));
        assert!(!answer.to_string().contains(secret), "{answer:#}");
    }
    assert!(!json!(place.log()).to_string().contains(secret));
    let unknown = host.did("teleport", json!({ "to": "moon" }), json!({ "result": "there" }));
    assert_eq!(unknown["data"]["capability"], "unknown");
    let host = Host::new(&place);
    assert_eq!(host.did("search", json!({ "query": "two one" }), json!({}))["data"]["advice"], "go_on");
    assert_eq!(host.did("search", json!({ "query": "one  two" }), json!({}))["data"]["advice"], "noted");
}
