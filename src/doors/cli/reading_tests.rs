//! How the answers that people see most often read, with what the operations themselves say about it.

use serde_json::{Value, json};

use super::render::{Look, answer, refusal};
use crate::domain::answer::Answer;
use crate::domain::op_info::OpInfo;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::stamp::Stamp;
use crate::ops::registry::{OPS, find};

fn look() -> Look {
    let now: Stamp = "2026-11-30T12:00:00Z".parse().expect("a time");
    Look { colour: false, colour_stderr: false, columns: Some(100), now, quiet: false, verbose: 0 }
}

fn read(op: &str, data: Value, look: &Look) -> String {
    let info = &find(op).expect("there is such an operation").info;
    answer(&Answer::of(data), Some(info), &[], look).stdout
}

/// Whether the schema knows a member at `path`; lists are gone through.
fn knows(schema: &Value, path: &str) -> bool {
    let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|name| schema[*name].as_array()).flatten();
    let whole = branches.chain(schema.get("items"));
    if whole.into_iter().any(|below| knows(below, path)) {
        return true;
    }
    let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
    match (schema["properties"].get(head), rest) {
        (Some(_), None) => true,
        (Some(below), Some(rest)) => knows(below, rest) || is_anything(below),
        (None, _) => false,
    }
}

/// Whether the schema says nothing of what is in it.
fn is_anything(schema: &Value) -> bool {
    *schema == Value::Bool(true) || ["type", "anyOf", "oneOf", "$ref"].iter().all(|name| schema.get(name).is_none())
}

#[test]
fn what_an_operation_says_about_its_answer_is_about_members_that_it_has() {
    let mut wrong = Vec::new();
    for OpInfo { name, output_schema, hidden, texts, columns, holds, .. } in OPS.iter().map(|entry| &entry.info) {
        let schema = output_schema();
        wrong.extend(hidden.iter().chain(*texts).chain(holds).filter(|path| !knows(&schema, path)).map(|p| (name, *p)));
        // Columns are told without the list that they are of.
        let lists = schema["properties"].as_object().into_iter().flatten().map(|(_, below)| below);
        let lists: Vec<&Value> = lists.collect();
        wrong.extend(
            columns
                .iter()
                .filter(|path| !lists.iter().any(|list| knows(list, path.trim_end_matches('?'))))
                .map(|p| (name, *p)),
        );
    }
    assert_eq!(wrong, []);
}

fn validated(verdict: &str, tail: &str) -> Value {
    let pass = verdict == "pass";
    json!({
        "scope": "task", "work_tree": "/w/t-0123456789ab",
        "candidate": {"head": "5".repeat(40), "tree": "6".repeat(40), "base": "5".repeat(40), "clean": true},
        "results": [
            {"check": "test", "verdict": verdict, "fresh": false, "seconds": 1.5, "criteria": ["AC-1"],
             "reasons": if pass { json!([]) } else { json!(["it exited with 101"]) }, "evidence": "e-0123456789ab",
             "failing": if pass { Vec::new() } else { vec!["src/lib.rs:7: tests::it_\tadds \u{1b}[2J"] }, "tail": tail},
            {"check": "lint", "verdict": "pass", "fresh": true, "seconds": 0.5, "criteria": [], "reasons": [],
             "evidence": "e-zzzzzzzzzzzz", "failing": [], "tail": ""},
        ],
        "criteria": [{"id": "AC-1", "statement": "check `test` passes", "required": true,
                      "state": if pass { "met" } else { "failed" }, "strength": "asserted",
                      "evidence": "e-0123456789ab", "last": {"verdict": verdict}}],
        "verified": pass, "publication_ready": false,
    })
}

#[test]
fn a_validation_that_failed_shows_verdicts_then_what_failed_and_the_output_only_for_more() {
    insta::assert_snapshot!(read("validate", validated("fail", "a\tb\n\nright: 2250 \u{1b}[2J\n"), &look()), @r"
results:
  CHECK  VERDICT  REUSED  SECONDS  REASONS             EVIDENCE
  test   fail     no      1.5      it exited with 101  e-0123456789ab
  lint   pass     yes     0.5                          e-zzzzzzzzzzzz
criteria:
  ID    STATEMENT            STATE   EVIDENCE
  AC-1  check `test` passes  failed  e-0123456789ab
verified:          no
publication_ready: no
test:
  src/lib.rs:7: tests::it_    adds \u{1b}[2J
");
}

#[test]
fn asking_for_more_shows_what_was_kept_back() {
    let more = Look { verbose: 1, ..look() };
    insta::assert_snapshot!(read("validate", validated("pass", ""), &more), @r"
scope:             task
work_tree:         /w/t-0123456789ab
candidate:
  head:  5555555555555555555555555555555555555555
  tree:  6666666666666666666666666666666666666666
  base:  5555555555555555555555555555555555555555
  clean: yes
results:
  CHECK  VERDICT  REUSED  SECONDS  REASONS  EVIDENCE
  test   pass     no      1.5               e-0123456789ab
  lint   pass     yes     0.5               e-zzzzzzzzzzzz
criteria:
  ID    STATEMENT            REQUIRED  STATE  STRENGTH  EVIDENCE
  AC-1  check `test` passes  yes       met    asserted  e-0123456789ab
verified:          yes
publication_ready: no
");
}

fn planned() -> Value {
    json!({
        "changed": false,
        "steps": [{"does": "create .decapod/kctl.toml (605 bytes)", "why": "the profile", "text": "version = 1\n\n[checks]\n"}],
        "checks": [{"name": "test", "run": "cargo test --locked", "because": "`Cargo.toml`"}],
        "notices": [],
    })
}

#[test]
fn a_plan_shows_its_steps_and_the_files_only_on_asking() {
    insta::assert_snapshot!(read("init", planned(), &look()), @r"
changed: no
steps:
  DOES                                   WHY
  create .decapod/kctl.toml (605 bytes)  the profile
checks:
  NAME  RUN                  BECAUSE
  test  cargo test --locked  `Cargo.toml`
");
    insta::assert_snapshot!(read("init", planned(), &Look { verbose: 1, ..look() }), @r"
changed: no
steps:
  DOES                                   WHY
  create .decapod/kctl.toml (605 bytes)  the profile
checks:
  NAME  RUN                  BECAUSE
  test  cargo test --locked  `Cargo.toml`
notices: none
create .decapod/kctl.toml (605 bytes):
  version = 1

  [checks]
");
}

#[test]
fn evidence_is_a_record_and_then_the_output_once() {
    let record = json!({
        "verdict": "fail", "reasons": ["it exited with 1"], "input_before": format!("sha256:{}", "a".repeat(64)),
        "env_digest": format!("sha256:{}", "b".repeat(64)), "exit": 1, "signal": null, "tail": "two\nthree",
        "ended": "2026-11-30T11:57:00.123Z",
    });
    let with = |output: Value| json!({"id": "e-0123456789ab", "subject": null, "record": record, "output": output});
    insta::assert_snapshot!(read("evidence.show", with(json!("one\n\ntwo\n\nthree\n")), &look()), @r"
id: e-0123456789ab
record:
  verdict:      fail
  reasons:      it exited with 1
  input_before: sha256:aaaaaaaaaaaa
  exit:         1
  ended:        2026-11-30T11:57:00Z (3 min ago)
output:
  one

  two

  three
");
    let tail_alone = read("evidence.show", with(Value::Null), &look());
    assert!(tail_alone.ends_with("tail:\n  two\n  three\n"), "{tail_alone}");
}

#[test]
fn context_is_a_table_of_its_parts_and_then_their_words() {
    let digest = format!("sha256:{}", "c".repeat(64));
    let fragment = |name: &str, text: &str| json!({"ref": name, "source": "passage", "trust": "untrusted", "digest": digest, "tokens": 7, "text": text});
    let long = "A mandate is said whole. ".repeat(40);
    let mandate = json!({"id": "completion", "title": "When it is done", "digest": digest, "tokens": 5, "text": long});
    let data = json!({
        "capsule": {"hash": digest, "budget": 8000, "used": 14, "mandates": [mandate], "omitted": [], "authority": null,
                    "fragments": [fragment("task/t-0123456789ab", "Mend it"), fragment("src/lib.rs#L1-L2", "fn a() {\n}\n")]},
        "coverage": {"files": 7}, "problems": [],
    });
    let shown = read("context.resolve", data, &look());
    assert!(shown.contains(long.trim_end()), "no word of a mandate is lost: {shown}");
    insta::assert_snapshot!(shown.replace(long.trim_end(), "…"), @r"
capsule:
  budget: 8000
  used:   14
  mandates:
    ID          TITLE            TOKENS
    completion  When it is done  5
  fragments:
    REF                  TRUST      TOKENS
    task/t-0123456789ab  untrusted  7
    src/lib.rs#L1-L2     untrusted  7
completion:
  …
task/t-0123456789ab:
  Mend it
src/lib.rs#L1-L2:
  fn a() {
  }
");
}

#[test]
fn a_word_that_no_line_could_hold_is_cut_and_whole_in_json() {
    let words = [
        "src/".to_owned() + &"deep/".repeat(60),
        "x".repeat(300),
        "長".repeat(300),
        "👩‍👩‍👧".repeat(80),
        "e\u{301}".repeat(200),
    ];
    for word in &words {
        let data = json!({ "items": [{ "path": word, "state": "fresh" }, { "path": "short", "state": "stale" }] });
        for columns in [80, 40, 20, 1] {
            let shown = read("task.list", data.clone(), &Look { columns: Some(columns), ..look() });
            assert!(shown.contains('…') && !shown.contains(word.as_str()), "{columns}: {shown}");
            if columns >= 40 {
                let seen = |line: &str| line.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum::<usize>();
                assert!(shown.lines().all(|line| seen(line) <= columns + 2), "{columns}: {shown}");
                assert_eq!(shown.lines().filter(|line| line.contains("fresh")).count(), 1, "one line a row: {shown}");
            }
            let whole = read("task.list", data.clone(), &Look { columns: Some(columns), verbose: 1, ..look() });
            assert!(!whole.contains('…'), "asked for more, all of it is there: {whole}");
        }
        let answer = Answer::of(data.clone());
        assert!(super::render::answer_json(&answer).contains(word.as_str()), "it is whole");
    }
    let kept = "z".repeat(40);
    let data = json!({ "items": [{ "path": kept, "state": "fresh" }] });
    assert!(read("task.list", data, &Look { columns: Some(40), ..look() }).contains(&kept), "what fits stays whole");
}

#[test]
fn columns_that_are_zero_in_every_row_give_way_where_there_is_no_room() {
    let names = ["events", "tools", "refused", "runs", "passed", "failed", "rejected", "false_successes", "regrounds"];
    let row = |agent: &str, runs: u64| {
        let counts = names.iter().map(|name| ((*name).to_owned(), json!(if *name == "runs" { runs } else { 0 })));
        let named = [("host".to_owned(), json!("codex")), ("agent".to_owned(), json!(agent))];
        serde_json::Value::Object(named.into_iter().chain(counts).collect())
    };
    let data = json!({ "agents": [row("ada", 0), row("bob", 3)], "events": 9 });
    let at = |columns| read("metrics.show", data.clone(), &Look { columns: Some(columns), ..look() });
    let narrow = at(60);
    assert!(narrow.contains("RUNS") && !narrow.contains("REGROUNDS"), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(at(200).contains("REGROUNDS"), "where there is room nothing is left out");
}

#[test]
fn a_task_shows_what_it_has_and_not_what_it_lacks() {
    let data = json!({
        "id": "t-0123456789ab", "title": "Mend the parser", "status": "open", "priority": 2,
        "contract": {"goal": "", "criteria": [], "scope": [], "constraints": [], "forbidden": []},
        "contract_digest": format!("sha256:{}", "d".repeat(64)), "needs": ["t-zzzzzzzzzzzz"], "blocked_by": [],
        "paths": [], "labels": [], "parent": null, "children": [], "commitment": null, "claim": null, "fence": 0,
        "block": null, "completion": null, "note": "begin with\nthe lexer",
        "created_at": "2026-11-30T11:57:00.000Z", "updated_at": "2026-11-30T11:57:00.000Z",
    });
    insta::assert_snapshot!(read("task.show", data, &look()), @r"
id:         t-0123456789ab
title:      Mend the parser
status:     open
priority:   2
needs:      t-zzzzzzzzzzzz
note:
  begin with
  the lexer
created_at: 2026-11-30T11:57:00Z (3 min ago)
");
}

#[test]
fn words_of_other_programs_keep_their_lines() {
    let failed = Refusal::new(Code::GIT_FAILED, "`git fetch` failed: fatal: no\n\nPlease \u{1b}[31mlook\u{1b}[0m\n")
        .with("exit", 128)
        .with("waived", Vec::<String>::new());
    insta::assert_snapshot!(refusal(&failed, &[], &look()), @r"
error[GIT_FAILED]: `git fetch` failed: fatal: no
  | Please \u{1b}[31mlook\u{1b}[0m
  exit: 128
");
}

#[test]
fn a_branch_is_not_broken_where_a_title_can_be() {
    let rows: Vec<Value> = (0..2)
        .map(|_| {
            json!({"task": "t-0123456789ab", "task_status": "finished", "holder": "ada",
                   "branch": "kctl/t-0123456789ab-mend-the-discount", "path": "/a path/of some/words that/can be broken"})
        })
        .collect();
    let shown = read("workspace.list", json!({ "items": rows }), &look());
    assert_eq!(shown.matches("kctl/t-0123456789ab-mend-the-discount").count(), 2, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}
