//! Commitments: `fulfilled` has to be earned; every other verdict can always be recorded.

use serde_json::{Value, json};

use crate::place::{Agent, Place, proposed, text, texts, write};

fn open(place: &Place, params: Value) -> String {
    text(&place.call("commit.open", params).expect("opened")["data"]["id"])
}

fn fulfil(agent: &Agent<'_>, code: &str, commitment: &str) -> Value {
    agent.no(code, "commit.close", json!({ "commitment": commitment, "verdict": "fulfilled" }))
}

#[test]
fn each_thing_that_is_missing_has_a_refusal_of_its_own() {
    let place = Place::new();
    let ada = place.agent("ada");
    let empty = open(&place, json!({ "objective": "nothing to show" }));
    assert_eq!(proposed(&fulfil(&ada, "NOTHING_TO_CLOSE_ON", &empty)), ["commit.show"]);
    let optional = json!([{ "kind": "file_exists", "path": "a", "required": false }]);
    let optional = open(&place, json!({ "objective": "nothing required", "criteria": optional }));
    fulfil(&ada, "NOTHING_TO_CLOSE_ON", &optional);
    let criteria = json!(["t=check:test", "a=file_exists:a.txt"]);
    let commitment = open(&place, json!({ "objective": "two things", "criteria": criteria }));
    let outstanding = fulfil(&ada, "CRITERIA_OUTSTANDING", &commitment);
    assert_eq!(texts(&outstanding["details"]["ids"]), ["t", "a"]);
    assert_eq!(proposed(&outstanding), ["validate", "commit.show"]);
    place.call("validate", json!({ "commitment": commitment })).expect("judged");
    assert_eq!(
        texts(&fulfil(&ada, "CRITERIA_OUTSTANDING", &commitment)["details"]["ids"]),
        ["a"],
        "one of them failed"
    );
    place.write("a.txt", "x\n");
    place.call("validate", json!({ "commitment": commitment })).expect("judged");
    place.write("b.txt", "x\n");
    let stale = fulfil(&ada, "EVIDENCE_STALE", &commitment);
    assert_eq!(texts(&stale["details"]["ids"]), ["t"], "the file's own proof speaks for that file: {stale:#}");
    let audited =
        open(&place, json!({ "objective": "by a person", "class": "audited", "criteria": ["a=file_exists:a.txt"] }));
    place.call("validate", json!({ "commitment": audited })).expect("judged");
    let weak = fulfil(&ada, "INSUFFICIENT_STRENGTH", &audited);
    let details = &weak["details"];
    assert_eq!((&details["required"], &details["achieved"]), (&json!("attested"), &json!("observed")));
    assert_eq!(details["by_criterion"][0], json!({ "id": "a", "strength": "observed", "state": "met" }));
    assert_eq!(place.refusal(&["commit", "close", &commitment, "--verdict", "fulfilled"])["code"], "SESSION_REQUIRED");
}

#[test]
fn every_verdict_but_fulfilled_closes_with_a_note_and_then_nothing_is_accepted() {
    let place = Place::new();
    let ada = place.agent("ada");
    for verdict in ["partial", "failed", "abandoned", "superseded", "expired", "unknown"] {
        let commitment = open(&place, json!({ "objective": verdict, "criteria": ["check:test"] }));
        let close = json!({ "commitment": commitment, "verdict": verdict });
        let refusal = ada.no("INVALID_VALUE", "commit.close", close.clone());
        assert_eq!(refusal["details"]["field"], "note");
        let closed =
            ada.ok("commit.close", json!({ "commitment": commitment, "verdict": verdict, "note": "so it went" }));
        assert_eq!((&closed["phase"], &closed["closed"]["verdict"]), (&json!("closed"), &json!(verdict)));
        assert_eq!(closed["closed"]["strength"], "asserted");
        for (op, mut params) in [
            ("commit.close", json!({ "verdict": "unknown", "note": "again" })),
            ("commit.evaluate", json!({})),
            ("task.create", json!({ "title": "late" })),
        ] {
            params["commitment"] = json!(commitment);
            ada.no("CONFLICT", op, params);
        }
        let shown = place.data(&["commit", "show", &commitment]);
        assert_eq!(shown["commitment"]["closed"]["note"], "so it went");
    }
    assert_eq!(place.data(&["commit", "list"])["items"], json!([]));
    assert_eq!(place.data(&["commit", "list", "--all"])["items"].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_commitment_is_fulfilled_where_its_work_was_done_and_stays_so_after_publication() {
    let place = Place::new();
    let ada = place.agent("ada");
    let criteria = json!(["t=check:test", "w=file_contains:work.txt:done", "s=diff_scope:work.txt"]);
    let commitment = open(&place, json!({ "objective": "do it\n\nat length", "criteria": criteria }));
    let (task, tree) = ada.worked(json!({ "title": "one", "commitment": commitment }));
    let evaluated = ada.call("commit.evaluate", json!({ "commitment": commitment })).expect("judged");
    assert_eq!((&evaluated["data"]["phase"], &evaluated["data"]["closable"]), (&json!("satisfying"), &json!(true)));
    assert_eq!(proposed(&evaluated), ["commit.close"]);
    let events = place.log().len();
    ada.ok("commit.evaluate", json!({ "commitment": commitment }));
    assert_eq!(place.log().len(), events, "what is on record already is not recorded again");
    assert_eq!(place.data(&["commit", "list"])["items"][0]["met"], "3/3");
    write(&tree.join("work.txt"), "undone\n");
    fulfil(&ada, "EVIDENCE_STALE", &commitment);
    place.git_in(&tree, &["checkout", "-q", "--", "work.txt"]);
    ada.ok("task.finish", json!({ "task": task }));
    let published = ada.call("publish", json!({ "task": task })).expect("published");
    assert_eq!(proposed(&published), ["commit.close"]);
    ada.ok("workspace.remove", json!({ "task": task }));
    let closed = ada.ok("commit.close", json!({ "commitment": commitment, "verdict": "fulfilled" }));
    assert_eq!(
        (&closed["closed"]["verdict"], &closed["closed"]["strength"]),
        (&json!("fulfilled"), &json!("observed"))
    );
    assert_eq!(closed["closed"]["evidence"].as_array().map(Vec::len), Some(3), "{closed:#}");
}

#[test]
fn only_a_person_attests_and_the_word_is_bound_to_the_contract() {
    let place = Place::new();
    let ada = place.agent("ada");
    let criteria = json!(["look=attested:Does the page read well?", "t=check:test"]);
    let commitment = open(&place, json!({ "objective": "x", "class": "cited", "criteria": criteria }));
    let attest = json!({ "commitment": commitment, "criterion": "look", "note": "trust me" });
    let refusal = ada.no("PERSON_REQUIRED", "criterion.attest", attest.clone());
    assert!(refusal["details"]["remedy"].is_string(), "{refusal:#}");
    let anonymous = place.call("criterion.attest", attest).expect_err("nobody vouches without a terminal");
    assert_eq!(anonymous["code"], "PERSON_REQUIRED");
    ada.ok("validate", json!({ "commitment": commitment }));
    assert_eq!(texts(&fulfil(&ada, "CRITERIA_OUTSTANDING", &commitment)["details"]["ids"]), ["look"]);
    let words = |criterion, extra: &[&'static str]| {
        [&["criterion", "attest", criterion, "--note", "I read it", "--commitment", &commitment][..], extra]
            .concat()
            .join("\u{1}")
    };
    let person = |words: String| place.person(&words.split('\u{1}').collect::<Vec<_>>());
    let Some(known) = person(words("t", &[])) else { return };
    assert_eq!(known.status, 3, "a check is shown by its run, not by anybody's word: {known:?}");
    assert_eq!(person(words("none", &[])).expect("as before").status, 3);
    assert_eq!(
        person(words("look", &["--session", "s-000000000000"])).expect("as before").status,
        6,
        "a person has no session"
    );
    let given = person(words("look", &[])).expect("as before");
    assert_eq!(given.status, 0, "{given:?}");
    let closed = ada.ok("commit.close", json!({ "commitment": commitment, "verdict": "fulfilled" }));
    assert_eq!(closed["closed"]["strength"], "observed", "the weakest of what it rests on");
    assert_eq!(
        (&closed["attestations"][0]["grade"], &closed["attestations"][0]["note"]),
        (&json!("tty"), &json!("I read it"))
    );
}

#[test]
fn an_objective_is_bounded_and_overdue_commitments_say_so() {
    let place = Place::new();
    for objective in [String::new(), "x".repeat(121), format!("x\n{}", "y".repeat(4000))] {
        let refusal = place.call("commit.open", json!({ "objective": objective })).expect_err("refused");
        assert_eq!(refusal["details"]["field"], "objective");
    }
    let constraint = json!({ "objective": "x", "constraints": [" "] });
    assert_eq!(place.call("commit.open", constraint).expect_err("refused")["details"]["field"], "constraints[0].text");
    let warned = place.call("commit.open", json!({ "objective": "x", "ttl": "1h" })).expect("opened");
    assert_eq!(warned["warnings"][0]["code"], "nothing_to_close_on");
    place.later(7200);
    assert_eq!(place.data(&["commit", "list"])["items"][0]["overdue"], true);
}

/// Attests `criterion` at a terminal. False where there is none to be had.
fn attested(place: &Place, what: &[&str]) -> bool {
    let words = [&["criterion", "attest", "look", "--note", "I read it"][..], what].concat();
    let Some(ran) = place.person(&words) else { return false };
    assert_eq!(ran.status, 0, "{ran:?}");
    let told = |name: &str, value: &str| ran.stdout.lines().any(|line| line.contains(name) && line.contains(value));
    assert!(told("work_tree", "calc.work") && told("input", "sha256:"), "it says for which tree: {ran:?}");
    true
}

#[test]
fn an_attestation_speaks_for_the_tree_it_was_given_for() {
    let place = Place::new();
    let ada = place.agent("ada");
    let criteria = json!(["look=attested:Does it read well?", "w=file_exists:work.txt"]);
    let commitment = open(&place, json!({ "objective": "x", "criteria": criteria }));
    let (task, tree) = {
        let task = ada.claimed(json!({ "title": "one", "commitment": commitment }));
        let tree = ada.workspace(&task);
        write(&tree.join("work.txt"), "done\n");
        place.commit_in(&tree, "work");
        ada.ok("validate", json!({ "task": task, "scope": "branch" }));
        (task, tree)
    };
    if !attested(&place, &["--commitment", &commitment]) {
        return;
    }
    let closable = || ada.ok("commit.evaluate", json!({ "commitment": commitment }))["closable"].clone();
    assert_eq!(closable(), true);
    type Edit = fn(&std::path::Path);
    let edits: [(&str, Edit); 4] = [
        ("work.txt", |tree| write(&tree.join("work.txt"), "other\n")),
        ("new.txt", |tree| write(&tree.join("new.txt"), "x\n")),
        ("src/lib.txt", |tree| std::fs::remove_file(tree.join("src/lib.txt")).expect("removed")),
        ("AGENTS.md", |tree| {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(tree.join("AGENTS.md"), mode).expect("set");
        }),
    ];
    for (path, edit) in edits {
        edit(&tree);
        ada.ok("validate", json!({ "task": task }));
        let stale = fulfil(&ada, "EVIDENCE_STALE", &commitment);
        let details = &stale["details"];
        assert_eq!((texts(&details["ids"]), texts(&details["attested"])), (vec!["look".into()], vec!["look".into()]));
        assert_eq!(texts(&details["changed"]), [path], "{stale:#}");
        let rejected = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
        assert_eq!(rejected["details"]["unmet"][0]["state"], "stale", "{rejected:#}");
        assert_eq!(proposed(&rejected), ["task.block"], "no run can show it");
        place.git_in(&tree, &["stash", "-q", "-u"]);
        place.git_in(&tree, &["stash", "drop", "-q"]);
        assert_eq!(closable(), true, "taking back the edit of {path} restores it");
    }
    write(&tree.join(".gitignore"), "ignored\n");
    place.commit_in(&tree, "more");
    let refusal = ada.no("NOT_CLEARED", "publish", json!({ "task": task }));
    let blockers = refusal["details"]["blockers"].to_string();
    assert!(blockers.contains("`look`") && blockers.contains("criterion.attest"), "{refusal:#}");
    attested(&place, &["--commitment", &commitment]);
    write(&tree.join("ignored"), "x\n");
    assert_eq!(closable(), true, "what git ignores is not part of the tree");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    ada.ok("publish", json!({ "task": task }));
    ada.ok("workspace.remove", json!({ "task": task, "with_ignored": true }));
    let closed = ada.ok("commit.close", json!({ "commitment": commitment, "verdict": "fulfilled" }));
    assert_eq!(closed["closed"]["strength"], "observed", "it was given on what was published: {closed:#}");
}

#[test]
fn an_attestation_on_work_that_was_committed_later_counts_once_that_is_published() {
    let place = Place::new();
    let ada = place.agent("ada");
    let commitment = open(&place, json!({ "objective": "x", "criteria": ["look=attested:Well?"] }));
    let task = ada.claimed(json!({ "title": "one", "commitment": commitment }));
    let tree = ada.workspace(&task);
    write(&tree.join("work.txt"), "done\n");
    if !attested(&place, &["--commitment", &commitment]) {
        return;
    }
    place.commit_in(&tree, "work");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    ada.ok("publish", json!({ "task": task }));
    ada.ok("workspace.remove", json!({ "task": task }));
    ada.ok("commit.close", json!({ "commitment": commitment, "verdict": "fulfilled" }));
}

/// Opens a commitment as `agent`, with the check `test` required and a file that is there.
fn promised(agent: &Agent<'_>) -> String {
    let criteria = json!(["t=check:test", "a=file_exists:src/lib.txt"]);
    text(&agent.ok("commit.open", json!({ "objective": "x", "criteria": criteria }))["id"])
}

/// Every way to take `t` back.
fn weakenings(commitment: &str) -> Vec<(&'static str, Value)> {
    let optional = json!({ "kind": "check", "check": "test", "required": false });
    [
        ("criterion.withdraw", json!({})),
        ("criterion.amend", json!({ "to": "file_exists:src/lib.txt" })),
        ("criterion.amend", json!({ "to": optional })),
    ]
    .map(|(op, mut params)| {
        (params["commitment"], params["criterion"]) = (json!(commitment), json!("t"));
        params["reason"] = json!("it is hard");
        (op, params)
    })
    .to_vec()
}

#[test]
fn nobody_but_its_opener_and_a_person_takes_back_what_a_commitment_requires() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let anonymous = open(&place, json!({ "objective": "x", "criteria": ["t=check:test"] }));
    for commitment in [promised(&ada), anonymous] {
        for (op, params) in weakenings(&commitment) {
            let refusal = bob.no("PERSON_REQUIRED", op, params);
            assert_eq!(refusal["details"]["weakened"], json!(["t"]), "{refusal:#}");
            assert!(text(&refusal["message"]).contains("a person"), "{refusal:#}");
        }
        let more = json!({ "commitment": commitment, "criteria": ["m=file_exists:work.txt"], "reason": "more" });
        bob.ok("criterion.add", more);
    }
}

#[test]
fn what_its_opener_takes_back_is_told_at_close_and_the_bases_checks_are_owed_instead() {
    let place = Place::new();
    let ada = place.agent("ada");
    for index in 0..3 {
        let commitment = promised(&ada);
        let (op, params) = weakenings(&commitment).swap_remove(index);
        ada.ok(op, params);
        place.write("broken", "x\n");
        ada.ok("validate", json!({ "commitment": commitment }));
        let owed = fulfil(&ada, "CRITERIA_OUTSTANDING", &commitment);
        assert_eq!(texts(&owed["details"]["ids"]), ["test"], "{owed:#}");
        place.git(&["clean", "-fdq", "broken"]);
        ada.ok("validate", json!({ "commitment": commitment }));
        let closed = ada.ok("commit.close", json!({ "commitment": commitment, "verdict": "fulfilled" }));
        let weakened = &closed["weakened"][0];
        assert_eq!((&weakened["criterion"], &weakened["by"]), (&json!("t"), &json!("ada")), "{closed:#}");
        assert_eq!((&weakened["reason"], &weakened["revision"]), (&json!("it is hard"), &json!(2)));
    }
    let kept =
        text(&ada.ok("commit.open", json!({ "objective": "x", "criteria": ["a=file_exists:src/lib.txt"] }))["id"]);
    ada.ok("validate", json!({ "commitment": kept }));
    let closed = ada.ok("commit.close", json!({ "commitment": kept, "verdict": "fulfilled" }));
    assert_eq!(closed.get("weakened"), None, "{closed:#}");
}

#[test]
fn what_is_said_to_decide_when_nothing_is_required_does_decide() {
    let place = Place::new();
    let ada = place.agent("ada");
    let commitment =
        text(&ada.ok("commit.open", json!({ "objective": "x", "criteria": ["t=file_exists:gone.txt"] }))["id"]);
    let withdraw = json!({ "commitment": commitment, "criterion": "t", "reason": "x" });
    let warned = ada.call("criterion.withdraw", withdraw).expect("withdrawn");
    assert!(text(&warned["warnings"][0]["message"]).ends_with("the base's required checks decide"), "{warned:#}");
    assert_eq!(texts(&fulfil(&ada, "CRITERIA_OUTSTANDING", &commitment)["details"]["ids"]), ["test"]);
    let note = json!({ "kind": "file_exists", "path": "a", "required": false, "id": "n" });
    let commitment = text(&ada.ok("commit.open", json!({ "objective": "x", "criteria": [note] }))["id"]);
    let withdraw = json!({ "commitment": commitment, "criterion": "n", "reason": "x" });
    let warned = ada.call("criterion.withdraw", withdraw).expect("withdrawn");
    assert!(text(&warned["warnings"][0]["message"]).ends_with("cannot be closed as fulfilled"), "{warned:#}");
    fulfil(&ada, "NOTHING_TO_CLOSE_ON", &commitment);
}
