//! The terms of a contract: who may change what, what a waiver does, and what is handed in and not run.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Agent, PROFILE, Place, text, write};

/// A task with a workspace that nothing was done in yet.
fn begun(agent: &Agent<'_>, params: Value) -> (String, PathBuf) {
    let task = agent.claimed(params);
    let tree = agent.workspace(&task);
    (task, tree)
}

fn state(place: &Place, task: &str, id: &str) -> String {
    let listed = place.data(&["criterion", "list", task]);
    let line = listed["criteria"].as_array().expect("a list").iter().find(|line| line["id"] == id).cloned();
    text(&line.unwrap_or_else(|| panic!("no criterion `{id}`: {listed:#}"))["state"])
}

#[test]
fn an_amended_contract_is_a_new_revision_and_evidence_for_another_criterion_does_not_count() {
    let place = Place::new();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["here=file_exists:src/lib.txt"] }));
    ada.workspace(&task);
    ada.ok("validate", json!({ "task": task }));
    assert_eq!(state(&place, &task, "here"), "met");
    let before = place.data(&["task", "show", &task]);
    let more = json!({ "task": task, "criteria": ["file_exists:src/more.txt"], "reason": "the second half" });
    let added = ada.ok("criterion.add", more);
    assert_eq!((&added["revision"], &added["criteria"][1]["id"]), (&json!(2), &json!("AC-2")));
    assert_ne!(added["contract_digest"], before["contract_digest"]);
    assert_eq!(state(&place, &task, "here"), "met", "what did not change keeps its evidence");
    let to = json!({ "task": task, "criterion": "here", "to": "file_exists:src/other.txt", "reason": "it moved" });
    let amended = ada.ok("criterion.amend", to);
    assert_eq!((&amended["revision"], &amended["criteria"][0]["id"]), (&json!(3), &json!("here")));
    assert_eq!(state(&place, &task, "here"), "never_checked");
    let withdrawn = ada.ok("criterion.withdraw", json!({ "task": task, "criterion": "AC-2", "reason": "not now" }));
    assert_eq!(withdrawn["criteria"].as_array().map(Vec::len), Some(1));
    for (code, op, params) in [
        ("NOT_FOUND", "criterion.withdraw", json!({ "criterion": "AC-2", "reason": "again" })),
        ("VACUOUS_CRITERION", "criterion.add", json!({ "criteria": ["file_exists:src/"], "reason": "x" })),
        ("CHECK_UNKNOWN", "criterion.add", json!({ "criteria": ["check:nope"], "reason": "x" })),
        ("INVALID_VALUE", "criterion.add", json!({ "criteria": ["file_exists:a"], "reason": " " })),
        (
            "CONFLICT",
            "criterion.amend",
            json!({ "criterion": "here", "to": "file_exists:src/other.txt", "reason": "x" }),
        ),
        ("INVALID_VALUE", "criterion.amend", json!({ "criterion": "here", "reason": "x" })),
        ("INVALID_VALUE", "criterion.amend", json!({ "to": "file_exists:a", "reason": "x" })),
        ("INVALID_VALUE", "criterion.amend", json!({ "criterion": "here", "to": "b=file_exists:a", "reason": "x" })),
    ] {
        let mut params = params;
        params["task"] = json!(task);
        ada.no(code, op, params);
    }
    let neither = ada.no("INVALID_VALUE", "criterion.withdraw", json!({ "criterion": "here", "reason": "x" }));
    assert_eq!(neither["details"]["field"], "task");
}

#[test]
fn another_session_does_not_change_the_contract_of_a_claimed_task() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let task = ada.claimed(json!({ "title": "one", "criteria": ["check:test"] }));
    let add = json!({ "task": task, "criteria": ["file_exists:a"], "reason": "mine" });
    bob.no("TASK_HELD", "criterion.add", add.clone());
    assert_eq!(place.call("criterion.add", add).expect_err("nobody")["code"], "SESSION_REQUIRED");
    ada.ok("task.cancel", json!({ "task": task, "reason": "no" }));
    ada.no("CONFLICT", "criterion.add", json!({ "task": task, "criteria": ["file_exists:a"], "reason": "late" }));
}

#[test]
fn what_came_from_a_person_is_changed_and_waived_by_a_person_only() {
    let place = Place::new();
    let ada = place.agent("ada");
    let create = ["task", "create", "by a person", "--criteria", "a=file_exists:a.txt", "--scope", "src/**", "--json"];
    let Some(made) = place.person(&create) else { return };
    let listed = place.data(&["task", "list"]);
    let task = text(&listed["items"][0]["id"]);
    assert_eq!(made.status, 0, "{made:?}");
    ada.ok("task.claim", json!({ "task": task }));
    ada.ok("criterion.add", json!({ "task": task, "criteria": ["mine=file_exists:b.txt"], "reason": "more" }));
    for (op, params) in [
        ("criterion.withdraw", json!({ "criterion": "a", "reason": "it is hard" })),
        ("criterion.amend", json!({ "criterion": "a", "to": "file_exists:src/lib.txt", "reason": "it is there" })),
        ("criterion.amend", json!({ "scope": ["**"], "reason": "more room" })),
        ("criterion.waive", json!({ "criterion": "a", "reason": "it is hard" })),
    ] {
        let mut params = params;
        params["task"] = json!(task);
        ada.no("PERSON_REQUIRED", op, params);
    }
    ada.ok("criterion.withdraw", json!({ "task": task, "criterion": "mine", "reason": "not needed" }));
    let waive = ["criterion", "waive", "a", "--task", &task, "--reason", "the file comes later", "--ttl", "2h"];
    let waived = place.person(&waive).expect("as before");
    assert_eq!(waived.status, 0, "{waived:?}");
    assert_eq!(state(&place, &task, "a"), "waived");
    let shown = place.data(&["criterion", "list", &task]);
    assert_eq!(shown["criteria"][0]["from"], "person");
    assert_eq!(shown["criteria"][0]["waiver"]["reason"], "the file comes later");
    place.later(2 * 3600 + 1);
    assert_eq!(state(&place, &task, "a"), "never_checked", "a waiver runs out");
}

#[test]
fn a_waiver_neither_meets_a_criterion_nor_lifts_what_the_base_requires() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, tree) =
        begun(&ada, json!({ "title": "one", "criteria": ["t=check:test", "gone=file_exists:gone.txt"] }));
    write(&tree.join("broken"), "x\n");
    place.commit_in(&tree, "breaks it");
    let waive = |id: &str| {
        let words = ["criterion", "waive", id, "--task", &task, "--reason", "not today"].map(str::to_owned);
        place.person(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    if waive("t").is_none() {
        return;
    }
    waive("gone").expect("as before");
    ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    let refusal = ada.no("NOT_CLEARED", "publish", json!({ "task": task }));
    assert!(refusal.to_string().contains("`test`"), "the base requires it whatever was waived: {refusal:#}");
    let commitment = place.call("commit.open", json!({ "objective": "x", "criteria": ["g=file_exists:gone.txt"] }));
    let commitment = text(&commitment.expect("opened")["data"]["id"]);
    place.person(&["criterion", "waive", "g", "--commitment", &commitment, "--reason", "x"]).expect("as before");
    let close = json!({ "commitment": commitment, "verdict": "fulfilled" });
    ada.no("NOTHING_TO_CLOSE_ON", "commit.close", close);
}

#[test]
fn a_constraint_names_what_holds_it_or_is_shown_as_unenforced() {
    let place = Place::new();
    let held = |enforced_by: &str| json!({ "text": "only the sources", "enforced_by": enforced_by });
    let create = |constraint: Value| {
        let criteria = json!(["s=diff_scope:src/**", "check:test"]);
        place.call("task.create", json!({ "title": "x", "criteria": criteria, "constraints": [constraint] }))
    };
    for enforcer in ["s", "check:test", "gate:publish"] {
        let task = text(&create(held(enforcer)).expect("accepted")["data"]["id"]);
        let listed = place.data(&["criterion", "list", &task]);
        assert_eq!(listed["constraints"][0]["enforced_by"], enforcer);
    }
    for nothing in ["nobody", "gate:nowhere", "check:lint"] {
        let refusal = create(held(nothing)).expect_err("nothing enforces it");
        assert_eq!(refusal["details"]["field"], "constraints[0].enforced_by", "{refusal:#}");
    }
    let task = text(&create(json!("be kind")).expect("accepted")["data"]["id"]);
    assert_eq!(place.data(&["criterion", "list", &task])["constraints"][0]["enforced_by"], "unenforced");
}

#[test]
fn a_citation_holds_when_every_source_was_read_and_goes_stale_with_a_source_of_the_tree() {
    let place = Place::new();
    let ada = place.agent("ada");
    let cited = "c=citation:docs/a.md,https://example.org/rfc";
    let (task, tree) = begun(&ada, json!({ "title": "one", "criteria": [cited] }));
    let shown = ada.ok("validate", json!({ "task": task }));
    assert_eq!((&shown["results"][0]["verdict"], &shown["verified"]), (&json!("skipped"), &json!(false)));
    let cite =
        |contents: Value| ada.call("criterion.cite", json!({ "task": task, "criterion": "c", "contents": contents }));
    let missing = cite(json!({})).expect("recorded")["data"].clone();
    assert_eq!((&missing["verdict"], &missing["strength"]), (&json!("fail"), &json!("asserted")), "{missing:#}");
    assert_eq!(state(&place, &task, "c"), "failed");
    write(&tree.join("docs/a.md"), "the rule\n");
    let read = json!({ "https://example.org/rfc": "the text of it\n" });
    let whole = cite(read.clone()).expect("recorded")["data"].clone();
    assert_eq!((&whole["verdict"], &whole["strength"]), (&json!("pass"), &json!("cited")), "{whole:#}");
    assert_eq!(whole["handed_in"]["sources"][1]["bytes"], 15);
    assert_eq!(state(&place, &task, "c"), "met");
    write(&tree.join("other.txt"), "x\n");
    assert_eq!(state(&place, &task, "c"), "met", "it speaks for its sources only");
    write(&tree.join("docs/a.md"), "another rule\n");
    assert_eq!(state(&place, &task, "c"), "stale");
    let foreign = cite(json!({ "https://example.org/other": "x" })).expect_err("no source");
    assert_eq!(foreign["details"]["field"], "contents");
    ada.no(
        "INVALID_VALUE",
        "criterion.cite",
        json!({ "task": task, "criterion": "c", "retrieved_at": "2999-01-01T00:00:00Z" }),
    );
    ada.no(
        "CONFLICT",
        "criterion.judge",
        json!({ "task": task, "criterion": "c", "holds": true, "confidence": 9, "reason": "x" }),
    );
}

#[test]
fn a_judgement_never_finishes_a_task_and_closes_only_what_asks_for_no_evidence() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, _) = begun(&ada, json!({ "title": "one", "criteria": ["j=judgement:Does it read well?"] }));
    let judge =
        |confidence: u8| json!({ "criterion": "j", "holds": true, "confidence": confidence, "reason": "it does" });
    let mut said = judge(90);
    said["task"] = json!(task);
    let judged = ada.ok("criterion.judge", said.clone());
    assert_eq!(judged["strength"], "asserted");
    assert_eq!(state(&place, &task, "j"), "insufficient_strength");
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task, "summary": "done" }));
    assert_eq!(refusal["details"]["unmet"][0]["state"], "insufficient_strength");
    said["confidence"] = json!(101);
    ada.no("INVALID_VALUE", "criterion.judge", said);
    for (class, closes) in [("none", true), ("cited", false)] {
        let open = json!({ "objective": class, "class": class, "criteria": ["j=judgement"] });
        let commitment = text(&place.call("commit.open", open).expect("opened")["data"]["id"]);
        let mut said = judge(50);
        said["commitment"] = json!(commitment);
        ada.ok("criterion.judge", said);
        let close = json!({ "commitment": commitment, "verdict": "fulfilled" });
        assert_eq!(ada.call("commit.close", close).is_ok(), closes, "{class}");
    }
}

#[test]
fn a_receipt_counts_if_a_signer_of_the_base_signed_exactly_this() {
    let place = Place::new();
    let keys = place.state().join("keys");
    std::fs::create_dir_all(&keys).expect("made");
    let keygen = |args: &[&str], stdin: &str| {
        use std::io::Write as _;
        let mut child = Command::new("ssh-keygen")
            .args(args)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(stdin.as_bytes()).ok()?;
        let done = child.wait_with_output().ok()?;
        done.status.success().then(|| String::from_utf8(done.stdout).expect("ASCII"))
    };
    let key = |name: &str| keys.join(name).display().to_string();
    for name in ["ci", "other"] {
        if keygen(&["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", &key(name)], "").is_none() {
            return crate::rig::skipped("a_receipt_counts", "there is no ssh-keygen here");
        }
    }
    let public = std::fs::read_to_string(keys.join("ci.pub")).expect("made");
    place.write(".decapod/allowed_signers", &format!("# who may sign\nci@example.org {public}"));
    place.commit("signers");
    place.git(&["push", "-q", "origin", "main"]);
    let ada = place.agent("ada");
    let (task, tree) = begun(&ada, json!({ "title": "one", "criteria": ["r=receipt:ci@example.org"] }));
    let digest = text(&place.data(&["task", "show", &task])["contract_digest"]);
    let head = place.git_in(&tree, &["rev-parse", "HEAD"]).trim().to_owned();
    let say = |verdict: &str, criterion: &str, contract: &str, commit: &str| {
        json!({ "criterion": criterion, "contract": contract, "commit": commit, "verdict": verdict, "says": "all green" })
            .to_string()
    };
    let good = say("pass", "r", &digest, &head);
    let sign = |name: &str, namespace: &str, text: &str| {
        keygen(&["-Y", "sign", "-n", namespace, "-f", &key(name)], text).expect("signed")
    };
    let hand_in = |statement: &str, signature: &str| {
        let params = json!({ "task": task, "criterion": "r", "statement": statement, "signature": signature });
        ada.call("criterion.receipt", params)
    };
    let zero = "0".repeat(40);
    for (field, statement, signature) in [
        ("signature", good.clone(), sign("other", "kctl", &good)),
        ("signature", good.clone(), sign("ci", "git", &good)),
        ("signature", good.replace("pass", "fail"), sign("ci", "kctl", &good)),
        ("signature", good.clone(), "nonsense".to_owned()),
        ("statement", "{}".to_owned(), sign("ci", "kctl", "{}")),
    ] {
        let refusal = hand_in(&statement, &signature).expect_err("it does not count");
        assert_eq!(
            (&refusal["code"], &refusal["details"]["field"]),
            (&json!("RECEIPT_INVALID"), &json!(field)),
            "{statement}"
        );
    }
    let other = place.call("task.create", json!({ "title": "y" })).expect("made")["data"]["contract_digest"].clone();
    for about in
        [say("pass", "x", &digest, &head), say("pass", "r", &text(&other), &head), say("pass", "r", &digest, &zero)]
    {
        let refusal = hand_in(&about, &sign("ci", "kctl", &about)).expect_err("it is about something else");
        assert_eq!(refusal["details"]["field"], "statement", "{refusal:#}");
    }
    let received = hand_in(&good, &sign("ci", "kctl", &good)).expect("it counts")["data"].clone();
    assert_eq!((&received["verdict"], &received["strength"]), (&json!("pass"), &json!("attested")), "{received:#}");
    let shown = place.data(&["evidence", "show", &text(&received["evidence"])]);
    assert!(shown.to_string().contains("\"L2\""), "{shown:#}");
    assert_eq!(state(&place, &task, "r"), "met");
    write(&tree.join("src/lib.txt"), "edited\n");
    assert_eq!(state(&place, &task, "r"), "stale");
    let dirty = hand_in(&good, &sign("ci", "kctl", &good)).expect_err("that is not what lies here");
    assert_eq!(dirty["details"]["field"], "statement");
}

#[test]
fn a_check_that_did_both_on_the_same_inputs_is_flaky_until_three_runs_agree() {
    // The check counts its runs in a file that git ignores: the inputs stay, the answer does not.
    let flip = "n=$(cat .git-ignored/n 2>/dev/null || echo 0); mkdir -p .git-ignored; echo $((n+1)) > .git-ignored/n; test $n -ne 1";
    let place = Place::with_profile(&format!("{PROFILE}\n[checks.flip]\nrun = '''{flip}'''\nrequired = false\n"));
    place.write(".gitignore", ".git-ignored/\n");
    place.commit("ignores");
    place.git(&["push", "-q", "origin", "main"]);
    let ada = place.agent("ada");
    let (task, _) = begun(&ada, json!({ "title": "one", "criteria": ["f=check:flip"] }));
    let rerun = json!({ "task": task, "checks": ["flip"], "rerun": true });
    let told = |params: &Value| ada.call("validate", params.clone()).expect("it answers");
    let validate = |params: &Value| text(&told(params)["data"]["criteria"][0]["state"]);
    let why = |answer: &Value| {
        let warnings = answer["warnings"].as_array().expect("a list").iter();
        let again = warnings.filter(|warning| warning["code"] == "run_again");
        again.map(|warning| text(&warning["message"])).collect::<Vec<_>>()
    };
    assert_eq!(validate(&json!({ "task": task })), "met");
    assert_eq!(validate(&rerun), "flaky");
    let refusal = ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task, "summary": "done" }));
    assert_eq!(refusal["details"]["unmet"][0]["state"], "flaky");
    let again = json!({ "task": task });
    let runs = || place.log().iter().filter(|event| event["type"] == "run.ended").count();
    let before = runs();
    let answer = told(&again);
    assert_eq!(answer["data"]["criteria"][0]["state"], "met", "it is run until three agree");
    assert!(
        matches!(why(&answer).as_slice(), [said] if said.contains("`flip`") && said.contains("3 times")),
        "{answer:#}"
    );
    assert_eq!(runs() - before, 3);
    let answer = told(&again);
    assert_eq!((runs() - before, why(&answer)), (3, Vec::new()), "and then it is fresh: {answer:#}");
    assert_eq!(answer["data"]["criteria"][0]["state"], "met");
}

#[test]
fn a_constraint_that_cannot_be_read_names_what_is_wrong() {
    let place = Place::new();
    for (wrong, said) in [
        (json!({ "text": "x", "enforced_by": "gate:publish", "enforcer": "y" }), "enforcer"),
        (json!({ "text": "x", "enforced": "gate:publish" }), "enforced"),
        (json!({ "text": "x" }), "enforced_by"),
        (json!(7), "a text, or an object"),
    ] {
        for (op, name) in [("task.create", "title"), ("commit.open", "objective")] {
            for field in ["constraints", "forbidden"] {
                let mut params = json!({ name: "x" });
                params[field] = json!(["fine", wrong]);
                let refusal = place.call(op, params).expect_err("refused");
                assert!(text(&refusal["message"]).contains(said), "{refusal:#}");
                assert!(text(&refusal["details"]["member"]).starts_with(&format!("{field}[1]")), "{refusal:#}");
            }
        }
    }
}

#[test]
fn a_constraint_that_nothing_holds_is_shown_as_unenforced() {
    let place = Place::new();
    let held = json!({ "text": "b", "enforced_by": "gate:publish" });
    for constraints in [json!(["a"]), json!(["a", held])] {
        let task = json!({ "title": "x", "constraints": constraints, "forbidden": ["c"] });
        let task = text(&place.call("task.create", task).expect("created")["data"]["id"]);
        let commitment = json!({ "objective": "x", "constraints": constraints, "forbidden": ["c"] });
        let commitment = text(&place.call("commit.open", commitment).expect("opened")["data"]["id"]);
        for words in [["task", "show", &task], ["commit", "show", &commitment]] {
            let shown = place.kctl(&words).stdout;
            assert_eq!(shown.matches("ENFORCED_BY").count(), 2, "{shown}");
            assert_eq!(shown.matches("unenforced").count(), 2, "{shown}");
        }
    }
}
