//! Criteria of every kind: what passes, what fails, what decides nothing, and what is not worth writing down.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;

use serde_json::{Value, json};

use crate::place::{PROFILE, Place, text, write};

const CHECKS: &str = r#"
[checks.passes]
run = "grep -q two src/lib.txt"
[checks.fails]
run = "grep -q three src/lib.txt"
[checks.dies]
run = "kill -9 $$"
[checks.hangs]
run = "sleep 30"
timeout = "1s"
[checks.cannot_look]
run = "grep -q two no-such-file"
[checks.no_tool]
run = ["no-such-tool-anywhere"]
[checks.no_tool_in_shell]
run = "no-such-tool-anywhere --version"
"#;

fn states(shown: &Value) -> Vec<(String, String)> {
    let criteria = shown["criteria"].as_array().expect("a list");
    criteria.iter().map(|one| (text(&one["id"]), text(&one["state"]))).collect()
}

#[test]
fn every_kind_passes_fails_and_errs_as_it_should() {
    let profile = PROFILE.replace("kind = \"test\"", "kind = \"test\"\nrequired = false");
    let place = Place::with_profile(&format!("{profile}{CHECKS}"));
    let ada = place.agent("ada");
    let table = [
        ("check:passes", "met"),
        ("check:fails", "failed"),
        ("check:dies", "error"),
        ("check:hangs", "error"),
        ("check:cannot_look", "error"),
        ("check:no_tool", "unavailable"),
        ("check:no_tool_in_shell", "unavailable"),
        ("file_exists:src/lib.txt", "met"),
        ("file_exists:src/none.txt", "failed"),
        ("file_exists:link.txt", "failed"),
        ("file_exists:out/passwd", "error"),
        ("file_absent:src/none.txt", "met"),
        ("file_absent:src/lib.txt", "failed"),
        ("file_absent:src", "failed"),
        ("file_absent:out/none-such", "error"),
        ("file_contains:src/lib.txt:two", "met"),
        ("file_contains:src/lib.txt:three", "failed"),
        ("file_contains:none.txt:two", "failed"),
        ("file_contains:out/passwd:root", "error"),
        ("search_none:FIXME", "met"),
        ("search_none:two", "failed"),
        ("diff_scope:src/**,added.txt,link.txt,out,*.json*,*.toml,*.yaml", "met"),
        ("diff_scope:docs/**", "failed"),
        ("json_valid:good.json", "met"),
        ("json_valid:noted.jsonc", "failed"),
        ("json_valid:none.json", "failed"),
        ("json_valid:out/passwd", "error"),
        ("toml_valid:good.toml", "met"),
        ("toml_valid:good.json", "failed"),
        ("yaml_valid:good.yaml", "met"),
        ("yaml_valid:bad.yaml", "failed"),
        ("parses:noted.jsonc", "met"),
        ("parses:bad.yaml", "failed"),
        ("parses:src/none.json", "failed"),
        ("citation:src/lib.txt", "never_checked"),
        ("receipt:ci", "never_checked"),
        ("judgement:Does it read well?", "never_checked"),
        ("attested:Does it read well?", "never_checked"),
    ];
    let criteria: Vec<String> =
        table.iter().enumerate().map(|(n, (criterion, _))| format!("c{n}={criterion}")).collect();
    let mut criteria: Vec<Value> = criteria.into_iter().map(Value::String).collect();
    criteria.push(json!({ "id": "lines", "kind": "file_contains", "path": "src/lib.txt", "pattern": "^t.o$" }));
    criteria.push(json!({ "id": "nowhere", "kind": "search_none", "pattern": "x", "paths": ["docs/**"] }));
    criteria.push(json!({ "id": "boundary", "kind": "search_none", "pattern": r"\bon\b", "paths": ["src/**"] }));
    let task = ada.claimed(json!({ "title": "one", "criteria": criteria }));
    let tree = ada.workspace(&task);
    write(&tree.join("added.txt"), "new\n");
    for (name, content) in [
        ("good.json", "{\"a\": [1]}"),
        ("noted.jsonc", "{ // why\n \"a\": [1,], }"),
        ("good.toml", "[a]\nb = 1\n"),
        ("good.yaml", "a:\n  - b\n"),
        ("bad.yaml", "a: [b\n c: d\n"),
    ] {
        write(&tree.join(name), content);
    }
    for (target, link) in [("src/lib.txt", "link.txt"), ("/etc", "out")] {
        std::os::unix::fs::symlink(target, tree.join(link)).expect("linked");
    }
    let shown = ada.ok("validate", json!({ "task": task }));
    let mut expected: Vec<(String, String)> =
        table.iter().enumerate().map(|(n, (_, state))| (format!("c{n}"), (*state).to_owned())).collect();
    for (id, state) in [("lines", "met"), ("nowhere", "error"), ("boundary", "met")] {
        expected.push((id.to_owned(), state.to_owned()));
    }
    let found = states(&shown);
    for ((id, state), (_, expected)) in found.iter().zip(&expected) {
        assert_eq!(
            state,
            expected,
            "{id}: {:#}",
            shown["criteria"]
                .as_array()
                .expect("a list")
                .iter()
                .find(|one| one["id"] == json!(id))
                .expect("it is there")
        );
    }
    assert_eq!((found.len(), &shown["verified"]), (expected.len(), &json!(false)));
}

#[test]
fn a_criterion_that_proves_nothing_is_refused_with_its_field() {
    let place = Place::new();
    let before = place.log().len();
    let long = "x".repeat(1001);
    for (code, field, criterion) in [
        ("VACUOUS_CRITERION", "criteria[0].check", json!("check:")),
        ("VACUOUS_CRITERION", "criteria[0].path", json!("file_exists: ")),
        ("VACUOUS_CRITERION", "criteria[0].path", json!("file_absent:src/")),
        ("VACUOUS_CRITERION", "criteria[0].path", json!("file_exists:.")),
        ("VACUOUS_CRITERION", "criteria[0].path", json!("file_exists:./")),
        ("VACUOUS_CRITERION", "criteria[0].path", json!("file_exists:src/.")),
        ("OUT_OF_TREE", "criteria[0].path", json!("file_exists:../up")),
        ("OUT_OF_TREE", "criteria[0].path", json!("file_absent:/etc/passwd")),
        ("OUT_OF_TREE", "criteria[0].path", json!("file_exists:a/../../b")),
        ("OUT_OF_TREE", "criteria[0].path", json!("file_exists:.git/config")),
        ("VACUOUS_CRITERION", "criteria[0].text", json!("file_contains:a:")),
        ("VACUOUS_CRITERION", "criteria[0].pattern", json!("search_none:")),
        ("VACUOUS_CRITERION", "criteria[0].pattern", json!({ "kind": "file_contains", "path": "a", "pattern": "x*" })),
        ("INVALID_VALUE", "criteria[0].pattern", json!("search_none:(")),
        ("INVALID_VALUE", "criteria[0].pattern", json!(format!("search_none:{long}"))),
        ("INVALID_VALUE", "criteria[0]", json!({ "kind": "file_contains", "path": "a" })),
        ("VACUOUS_CRITERION", "criteria[0].paths", json!("diff_scope:")),
        ("VACUOUS_CRITERION", "criteria[0].paths", json!("diff_scope:src/**,**")),
        ("VACUOUS_CRITERION", "criteria[0].paths", json!("diff_scope:*,*/**")),
        ("INVALID_VALUE", "criteria[0].paths", json!("diff_scope:../**")),
        ("CHECK_UNKNOWN", "criteria[0].check", json!("check:nope")),
        ("INVALID_VALUE", "criteria[0].statement", json!({ "kind": "attested", "statement": " " })),
        ("VACUOUS_CRITERION", "criteria[0].path", json!("json_valid:")),
        ("OUT_OF_TREE", "criteria[0].path", json!("toml_valid:../a.toml")),
        ("INVALID_VALUE", "criteria[0].path", json!("parses:a.unheard-of")),
        ("VACUOUS_CRITERION", "criteria[0].sources", json!("citation:")),
        ("OUT_OF_TREE", "criteria[0].sources[1]", json!("citation:a.md,/etc/passwd")),
    ] {
        for (op, mut params) in [("commit.open", json!({ "objective": "x" })), ("task.create", json!({ "title": "x" }))]
        {
            params["criteria"] = json!([criterion]);
            let refusal = match place.call(op, params) {
                Err(refusal) => refusal,
                Ok(answer) => panic!("{criterion} was accepted: {answer:#}"),
            };
            assert_eq!((&refusal["code"], &refusal["details"]["field"]), (&json!(code), &json!(field)), "{criterion}");
        }
    }
    for (member, criteria) in [
        ("criteria[0]", json!(["sorcery:x"])),
        ("criteria[0]", json!(["a b=check:test"])),
        ("criteria[1]", json!(["check:test", { "kind": "check", "check": "test", "path": "x" }])),
        ("criteria[0]", json!([{ "check": "test" }])),
        ("criteria[0]", json!([7])),
    ] {
        let refusal =
            place.call("commit.open", json!({ "objective": "x", "criteria": criteria })).expect_err("refused");
        assert_eq!((&refusal["code"], &refusal["details"]["member"]), (&json!("INVALID_PARAMS"), &json!(member)));
    }
    let twice = json!({ "objective": "x", "criteria": ["a=check:test", "a=file_exists:x"] });
    assert_eq!(place.call("commit.open", twice).expect_err("refused")["details"]["field"], "criteria[1].id");
    let many: Vec<String> = (0..65).map(|n| format!("file_exists:f{n}")).collect();
    let many = place.call("commit.open", json!({ "objective": "x", "criteria": many })).expect_err("refused");
    assert_eq!(many["details"]["field"], "criteria");
    assert_eq!(place.log().len(), before, "nothing of what was refused is kept");
}

#[test]
fn the_short_form_and_the_object_make_one_contract() {
    let place = Place::new();
    let open = |criteria: Value| {
        let opened = place.call("commit.open", json!({ "objective": "x", "criteria": criteria })).expect("opened");
        opened["data"]["contract_digest"].clone()
    };
    let short = json!([
        "t=check:test",
        "file_exists:a b.txt",
        "file_absent:c",
        "file_contains:a:x=y:z",
        "search_none:a=b",
        "diff_scope:src/**, docs/**",
        "attested:Is it, really?",
        "attested"
    ]);
    let long = json!([
        { "id": "t", "kind": "check", "check": "test" },
        { "kind": "file_exists", "path": "a b.txt" },
        { "kind": "file_absent", "path": "c" },
        { "kind": "file_contains", "path": "a", "text": "x=y:z" },
        { "kind": "search_none", "pattern": "a=b" },
        { "kind": "diff_scope", "paths": ["src/**", "docs/**"] },
        { "kind": "attested", "question": "Is it, really?" },
        { "kind": "attested" }
    ]);
    assert_eq!(open(short), open(long));
}

#[test]
fn a_verdict_on_an_ignored_file_does_not_outlive_the_file() {
    let place = Place::new();
    place.write(".gitignore", "out/\n");
    place.commit("ignore");
    place.git(&["push", "-q", "origin", "main"]);
    let ada = place.agent("ada");
    let task =
        ada.claimed(json!({ "title": "x", "criteria": ["file_exists:out/report.txt", "file_absent:out/trash"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("out/report.txt"), "fine\n");
    let shown = ada.ok("validate", json!({ "task": task }));
    assert_eq!(shown["verified"], true, "{shown:#}");
    fs::remove_file(tree.join("out/report.txt")).expect("removed");
    write(&tree.join("out/trash"), "x");
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    let unmet: Vec<Value> =
        refusal["details"]["unmet"].as_array().expect("a list").iter().map(|one| one["state"].clone()).collect();
    assert_eq!(unmet, ["stale", "stale"], "{refusal:#}");
    let shown = ada.ok("validate", json!({ "task": task }));
    assert_eq!(states(&shown).iter().map(|(_, state)| state.as_str()).collect::<Vec<_>>(), ["failed", "failed"]);
}

#[test]
fn what_others_changed_on_the_base_is_not_held_against_the_scope() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "x", "criteria": ["diff_scope:src/**"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("src/lib.txt"), "one\ntwo\nthree\n");
    place.commit_in(&tree, "work");
    for n in 0..2 {
        place.write("docs/theirs.txt", &format!("{n}\n"));
        place.commit("theirs");
        place.git(&["push", "-q", "origin", "main"]);
        let onto = if n == 0 { "origin/main" } else { "origin/main~1" };
        place.git_in(&tree, &["fetch", "-q"]);
        place.git_in(&tree, &["rebase", "-q", onto]);
        let shown = ada.ok("validate", json!({ "task": task, "rerun": true }));
        assert_eq!(shown["results"][0]["verdict"], "pass", "moved onto {onto}: {shown:#}");
    }
    place.git_in(&tree, &["merge", "-q", "--no-edit", "origin/main"]);
    let shown = ada.ok("validate", json!({ "task": task }));
    assert_eq!(shown["results"][0]["verdict"], "pass", "merged: {shown:#}");
    place.git_in(&tree, &["mv", "src/lib.txt", "moved.txt"]);
    let shown = ada.ok("validate", json!({ "task": task }));
    assert!(shown["results"][0]["reasons"][0].as_str().is_some_and(|why| why.contains("moved.txt")), "{shown:#}");
}

#[test]
fn a_directory_where_a_file_is_meant_is_refused_wherever_a_criterion_is_written_down() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "x", "criteria": ["a=file_exists:a.txt"] }));
    let commitment = json!({ "objective": "x", "criteria": ["a=file_exists:a.txt"] });
    let commitment = ada.ok("commit.open", commitment)["id"].clone();
    for kind in ["file_exists", "file_contains", "json_valid", "toml_valid", "yaml_valid"] {
        let mut criterion = json!({ "kind": kind, "path": "src" });
        if kind == "file_contains" {
            criterion["text"] = json!("x");
        }
        let (one, more) = (json!([criterion]), json!({ "criteria": [criterion], "reason": "x" }));
        let with = |name: &str, value: &Value| {
            let mut params = more.clone();
            params[name] = value.clone();
            params
        };
        for (op, params, field) in [
            ("task.create", json!({ "title": "y", "criteria": one }), "criteria[0].path"),
            ("commit.open", json!({ "objective": "y", "criteria": one }), "criteria[0].path"),
            ("criterion.add", with("task", &json!(task)), "criteria[1].path"),
            ("criterion.add", with("commitment", &commitment), "criteria[1].path"),
        ] {
            let refusal = ada.no("VACUOUS_CRITERION", op, params);
            assert_eq!(refusal["details"]["field"], field, "{refusal:#}");
        }
    }
    ada.ok("task.create", json!({ "title": "it goes", "criteria": ["file_absent:src"] }));
}
