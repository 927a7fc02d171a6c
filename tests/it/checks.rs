//! Declared checks, their runs, and what is seen of them: lists, logs, and what a person at a terminal looks at.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use serde_json::{Value, json};

use crate::place::{PROFILE, Place, proposed, text, write};

/// Beside `test`: one that needs another, and one that says what `out.txt` says and ends as `status` says.
const MORE: &str = r#"
[checks.build]
run = "test ! -e unbuilt"
required = false

[checks.says]
run = "cat out.bin; exit $(cat status)"
needs = ["build"]
kind = "test"
required = false
"#;

fn place() -> Place {
    let place = Place::with_profile(&format!("{PROFILE}{MORE}"));
    says(&place, b"fine\n", "0");
    place.commit("what it says");
    place
}

fn says(place: &Place, output: &[u8], status: &str) {
    std::fs::write(place.repo.join("out.bin"), output).expect("written");
    place.write("status", status);
}

fn row(list: &Value, check: &str) -> Value {
    let rows = list["items"].as_array().expect("a list");
    rows.iter().find(|row| row["check"] == check).unwrap_or_else(|| panic!("no `{check}`: {list:#}")).clone()
}

/// The evidence of the newest run of `says`, with `output`.
fn ran(place: &Place, output: &[u8], status: &str) -> String {
    says(place, output, status);
    let ran = place.call("check.run", json!({ "check": "says" })).expect("it runs");
    let results = ran["data"]["results"].as_array().expect("a list").clone();
    text(&results.iter().find(|one| one["check"] == "says").expect("its own")["evidence"])
}

#[test]
fn a_list_says_where_each_check_stands_as_the_tree_is_now() {
    let place = place();
    let state = |check: &str| {
        let row = row(&place.data(&["check", "list"]), check);
        (text(&row["state"]), row["verdict"].as_str().unwrap_or("").to_owned())
    };
    let is = |state: &str, verdict: &str| (state.to_owned(), verdict.to_owned());
    assert_eq!(state("says"), is("never_run", ""));
    place.kctl(&["check", "run", "says"]).ok();
    assert_eq!((state("says"), state("build")), (is("fresh", "pass"), is("fresh", "pass")));
    place.write("broken", "x");
    assert_eq!(state("says"), is("stale", "pass"));
    std::fs::remove_file(place.repo.join("broken")).expect("removed");
    assert_eq!(state("says"), is("fresh", "pass"));
    let listed = row(&place.data(&["check", "list"]), "says");
    assert_eq!((&listed["needs"], &listed["required"]), (&json!(["build"]), &json!(false)), "{listed:#}");
    let profile = std::fs::read_to_string(place.repo.join(".decapod/kctl.toml")).expect("read");
    let new = "\n[checks.mine]\nrun = \"make mine\"\n";
    place.write(".decapod/kctl.toml", &(profile.replace("cat out.bin", "cat other.bin") + new));
    let listed = place.data(&["check", "list"]);
    assert_eq!(row(&listed, "mine")["declared_by"], "work_tree");
    assert_eq!(row(&listed, "test")["declared_by"], "base");
    let shown = place.data(&["check", "show", "says"]);
    assert_eq!((&shown["differs"], &shown["declared_by"]), (&json!(true), &json!("base")), "{shown:#}");
    assert!(text(&shown["run"]).contains("out.bin"), "the base judges: {shown:#}");
}

#[test]
fn a_check_that_nobody_declares_is_refused_with_what_is_near() {
    let place = place();
    for words in [["check", "show", "tst"], ["check", "run", "tst"]] {
        let refusal = place.refusal(&words);
        assert_eq!((&refusal["code"], &refusal["details"]["field"]), (&json!("CHECK_UNKNOWN"), &json!("check")));
        assert_eq!(refusal["details"]["near"], json!(["test"]), "{refusal:#}");
        assert_eq!(refusal["next"][0]["op"], "check.list", "{refusal:#}");
    }
    let refusal = place.refusal(&["validate", "--checks", "tst"]);
    assert_eq!((&refusal["code"], &refusal["details"]["near"]), (&json!("CHECK_UNKNOWN"), &json!(["test"])));
    assert_eq!(refusal["next"][0]["op"], "check.list", "{refusal:#}");
    assert_eq!(place.refusal(&["check", "list", "--task", "t-zzzz"])["code"], "NOT_FOUND");
}

#[test]
fn running_a_check_runs_what_it_needs_and_exits_as_it_came_out() {
    let place = place();
    let passed = place.kctl(&["check", "run", "says", "--json"]).ok().json();
    let verdicts = |answer: &Value| -> Vec<(String, String)> {
        let results = answer["data"]["results"].as_array().expect("a list").clone();
        results.iter().map(|one| (text(&one["check"]), text(&one["verdict"]))).collect()
    };
    let pass = |check: &str| (check.to_owned(), "pass".to_owned());
    assert_eq!(verdicts(&passed), [pass("build"), pass("says")], "{passed:#}");
    says(&place, b"no\n", "1");
    let failed = place.kctl(&["check", "run", "says", "--json"]);
    assert_eq!((failed.status, &failed.json()["data"]["passed"]), (8, &json!(false)), "{failed:#?}");
    assert_eq!(proposed(&failed.json()), ["evidence.log", "check.run"]);
    let again = place.kctl(&["check", "run", "says", "--json"]).json();
    assert_eq!(again["data"]["results"][1]["fresh"], true, "{again:#}");
    let rerun = place.kctl(&["check", "run", "says", "--rerun", "--json"]).json();
    assert_eq!(rerun["data"]["results"][1]["fresh"], false, "{rerun:#}");
}

#[test]
fn a_run_is_its_evidence_by_another_word_at_every_door() {
    let place = place();
    let passed = ran(&place, b"fine\n", "0");
    let failed = ran(&place, b"no\n", "1");
    assert_eq!(place.data(&["run", "list"]), place.data(&["evidence", "list"]));
    assert_eq!(place.data(&["run", "show", &passed]), place.data(&["evidence", "show", &passed]));
    let by = |op: &str| place.call(op, json!({ "evidence": failed })).expect("it is shown")["data"].clone();
    assert_eq!(by("run.log"), by("evidence.log"));
    let ids = |verdict: &str| -> Vec<String> {
        let items = place.data(&["run", "list", "--verdict", verdict])["items"].clone();
        items.as_array().expect("a list").iter().map(|item| text(&item["id"])).collect()
    };
    assert_eq!(ids("fail"), [failed]);
    assert!(ids("pass").contains(&passed) && ids("running").is_empty());
    assert_eq!(place.refusal(&["run", "list", "--verdict", "maybe"])["code"], "USAGE");
    let refusal = place.call("run.list", json!({ "verdict": "maybe" })).expect_err("there is none such");
    assert_eq!((&refusal["code"], &refusal["details"]["member"]), (&json!("INVALID_PARAMS"), &json!("verdict")));
    assert!(place.call("run.fly", json!({})).is_err() && place.kctl(&["run", "fly"]).status == 2);
}

#[test]
fn a_log_is_paged_by_lines_and_by_bytes_and_nothing_of_it_is_lost() {
    let place = place();
    let lines: String = (1..=120).map(|n| format!("line {n}\n")).collect();
    let evidence = ran(&place, lines.as_bytes(), "0");
    let log = |params: Value| {
        let mut params = params;
        params["evidence"] = json!(evidence);
        place.call("evidence.log", params).expect("it is shown")
    };
    let first = log(json!({}));
    let data = &first["data"];
    assert_eq!((&data["lines"], &data["from"], &data["to"]), (&json!(120), &json!(1), &json!(50)), "{data:#}");
    assert_eq!(proposed(&first), ["evidence.log"]);
    let mut whole = text(&data["text"]);
    let mut next = first["next"][0].clone();
    while next.is_object() {
        let page = log(next["params"].clone());
        whole += &text(&page["data"]["text"]);
        next = page["next"].get(0).cloned().unwrap_or(Value::Null);
    }
    assert_eq!(whole, lines);
    let tail = log(json!({ "tail": 2 }))["data"].clone();
    assert_eq!((&tail["text"], &tail["from"]), (&json!("line 119\nline 120\n"), &json!(119)));
    assert_eq!(log(json!({ "after": 118 }))["data"]["text"], tail["text"]);
    let beyond = log(json!({ "after": 10_000 }))["data"].clone();
    assert_eq!((&beyond["text"], &beyond["from"], &beyond["to"]), (&json!(""), &json!(0), &json!(0)));
    assert_eq!(log(json!({ "from_byte": u64::MAX }))["data"]["text"], "");
    for (params, field) in [
        (json!({ "tail": 2, "after": 1 }), "tail"),
        (json!({ "from_byte": 2, "after": 1 }), "from_byte"),
        (json!({ "tail": 0 }), "tail"),
        (json!({ "tail": 500 }), "tail"),
        (json!({ "limit": 0 }), "limit"),
    ] {
        let mut params = params;
        params["evidence"] = json!(evidence);
        let refusal = place.call("evidence.log", params).expect_err("it cannot be meant");
        assert_eq!((&refusal["code"], &refusal["details"]["field"]), (&json!("INVALID_VALUE"), &json!(field)));
    }
    assert_eq!(place.refusal(&["run", "log", "e-zzzz"])["code"], "NOT_FOUND");
}

#[test]
fn a_log_of_anything_at_all_is_bounded_and_safe_and_holds_no_secret() {
    let place = place();
    let secret = "token=ghp_x7Qm2Kd9Tz4Wb8Lr1Vn6Yc3Hj5Pf0Sg2Ae9U";
    let mut output = format!("{secret}\n\x1b]0;title\x07\x1b[2J\u{202e}").into_bytes();
    output.extend([0_u8, 0xff, 0xfe, b'\n']);
    output.extend("ä".repeat(200_000).into_bytes());
    let evidence = ran(&place, &output, "1");
    let mut from_byte = json!(0);
    let mut pages = 0;
    loop {
        let page = place.call("evidence.log", json!({ "evidence": evidence, "from_byte": from_byte })).expect("shown");
        let shown = text(&page["data"]["text"]);
        assert!(shown.len() <= 64 * 1024 && !shown.contains("ghp_x7Qm"), "{}", shown.len());
        pages += 1;
        if page["next"].as_array().is_some_and(Vec::is_empty) {
            assert_eq!(page["data"]["to_byte"], page["data"]["bytes"]);
            break;
        }
        from_byte = page["data"]["to_byte"].clone();
    }
    assert!(pages > 3, "{pages}");
    // In the middle of a character it begins with that character.
    let odd = place.call("evidence.log", json!({ "evidence": evidence, "from_byte": 399_999 })).expect("shown");
    assert!(text(&odd["data"]["text"]).starts_with('ä'), "{odd:#}");
    let human = place.kctl(&["run", "log", &evidence]).ok().stdout.clone();
    assert!(!human.contains(['\x1b', '\0', '\u{202e}']) && !human.contains("ghp_x7Qm"));
}

/// What pytest says of one failure, behind a hundred lines that nobody needs.
fn noisy() -> String {
    let noise: String = (0..100).map(|n| format!("loading plugin {n}\n")).collect();
    format!(
        "{noise}============================= test session starts ==============================\ncollected 2 items\n\n\
         tests/test_a.py .F                                                       [100%]\n\n\
         =================================== FAILURES ===================================\n\
         ___________________________________ test_two ___________________________________\n\n    \
         def test_two():\n>       assert add(1, 1) == 3\nE       assert 2 == 3\n\n\
         tests/test_a.py:7: AssertionError\n\
         =========================== short test summary info ============================\n\
         FAILED tests/test_a.py::test_two - assert 2 == 3\n\
         ========================= 1 failed, 1 passed in 0.12s ==========================\n"
    )
}

#[test]
fn a_person_reads_what_failed_and_where_and_what_to_do_and_not_the_whole_output() {
    let place = place();
    says(&place, noisy().as_bytes(), "1");
    let ran = place.kctl(&["check", "run", "says"]);
    assert_eq!(ran.status, 8);
    assert!(ran.stdout.contains("says:\n  tests/test_a.py:7: test:tests.test_a.test_two: "), "{}", ran.stdout);
    assert!(!ran.stdout.contains("loading plugin") && !ran.stdout.contains("short test summary"), "{}", ran.stdout);
    assert!(ran.stderr.contains("next: kctl evidence log "), "{}", ran.stderr);
    assert!(place.kctl(&["check", "run", "says", "-v"]).stdout.contains("short test summary"));
    // Nothing is made out in it: then how it ended, a few lines of it.
    let lines: String = (1..=60).map(|n| format!("step {n}\n")).collect();
    says(&place, lines.as_bytes(), "3");
    let ran = place.kctl(&["check", "run", "says"]).stdout;
    assert!(ran.contains("says:\n  step 51\n") && ran.contains("  step 60\n"), "{ran}");
}

#[test]
fn plain_lines_tell_of_checks_where_no_terminal_is_and_programs_are_told_nothing_beside_the_answer() {
    let place = place();
    let ran = place.kctl(&["check", "run", "says"]);
    assert!(ran.stderr.contains("build: test ! -e unbuilt\n") && ran.stderr.contains("says: pass, "), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\x1b') && !ran.stderr.contains("fine"), "{}", ran.stderr);
    assert!(place.kctl(&["check", "run", "says"]).stderr.contains("says: pass, fresh\n"));
    let silent = ["check", "run", "says", "--rerun"];
    assert_eq!(place.kctl(&[&silent[..], &["--json"]].concat()).stderr, "");
    assert_eq!(place.kctl(&[&silent[..], &["--quiet"]].concat()).stderr, "");
    let rpc = ["rpc", "--op", "check.run", "--params", r#"{"check":"says","rerun":true}"#];
    assert_eq!(place.kctl(&rpc).stderr, "");
}

#[test]
fn a_terminal_shows_a_table_while_checks_run_and_takes_it_away() {
    let place = place();
    place.rebase_profile(&format!("{PROFILE}{MORE}").replace("cat out.bin;", "cat out.bin; sleep 1;"));
    says(&place, b"\x1b[2Jso far\nso good", "0");
    let Some(ran) = place.person(&["check", "run", "says"]) else { return };
    assert_eq!(ran.status, 0, "{ran:#?}");
    let frames: Vec<&str> = ran.stdout.split("\x1b[?7l").collect();
    assert!(frames.len() > 3, "{ran:#?}");
    assert!(frames.iter().any(|frame| frame.contains("says") && frame.contains("runs 0.")), "{frames:#?}");
    assert!(frames.iter().any(|frame| frame.contains("so far")), "the last that it said: {frames:#?}");
    assert!(!ran.stdout.contains("\x1b[2J"), "what it says does not steer the terminal: {frames:#?}");
    let (_, after) = ran.stdout.rsplit_once("\x1b[J").expect("it is taken away");
    assert!(after.contains("passed") && !after.contains("runs "), "{after}");
    // For a program nothing is drawn, whoever sits there.
    let json = place.person(&["check", "run", "says", "--rerun", "--json"]).expect("as before");
    assert!(serde_json::from_str::<Value>(json.stdout.trim()).is_ok(), "{json:#?}");
}

#[test]
fn a_column_says_how_each_check_stands_against_the_base() {
    let place = place();
    place.git(&["push", "-q", "origin", "main"]);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "x", "criteria": ["check:test", "check:says"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("broken"), "x");
    let plain = place.kctl(&["validate", &task]).stdout;
    assert!(!plain.contains("AGAINST_BASE") && plain.contains("VERDICT"), "{plain}");
    let ran = place.kctl(&["validate", &task, "--baseline"]);
    assert!(ran.stdout.contains("AGAINST_BASE") && ran.stdout.contains("regression"), "{}", ran.stdout);
    assert!(ran.stderr.contains("test (base): pass"), "{}", ran.stderr);
    let one = place.kctl(&["check", "run", "test", "--task", &task, "--baseline", "--json"]).json()["data"].clone();
    assert_eq!(one["results"][0]["against_base"], "regression", "{one:#}");
}

#[test]
fn a_list_of_no_checks_says_what_to_do_next() {
    let next = |place: &Place| {
        let listed = place.kctl(&["check", "list", "--json"]).ok().json();
        assert_eq!((&listed["data"]["items"], &listed["warnings"][0]["code"]), (&json!([]), &json!("no_checks")));
        (proposed(&listed), text(&listed["warnings"][0]["message"]))
    };
    let place = Place::with_profile("version = 1\n");
    let (ops, said) = next(&place);
    assert_eq!(ops, ["doctor"]);
    assert!(said.contains("`kctl help profile`"), "{said}");
    std::fs::remove_file(place.repo.join(".decapod/kctl.toml")).expect("removed");
    let (ops, said) = next(&place);
    assert_eq!(ops, ["init"]);
    assert!(said.contains("there is no `.decapod/kctl.toml`"), "{said}");
}
