//! What only others can show, and what a newcomer is told on the way there.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use serde_json::{Value, json};

use crate::place::{PROFILE, Place, proposed, text, write};

fn opened(place: &Place, criteria: &Value) -> String {
    let params = json!({ "objective": "x", "criteria": criteria });
    text(&place.call("commit.open", params).expect("opened")["data"]["id"])
}

#[test]
fn what_only_others_can_show_costs_no_attempt() {
    let place = Place::new();
    for criterion in ["look=attested:Does it read well?", "look=receipt:ci@example.org"] {
        let ada = place.agent("ada");
        let task = ada.claimed(json!({ "title": "one", "criteria": ["w=file_exists:work.txt", criterion] }));
        let tree = ada.workspace(&task);
        let finish = || ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
        // While the agent can do something, it is charged.
        let first = finish();
        assert_eq!((&first["details"]["reason"], &first["details"]["attempt"]), (&json!("unmet"), &json!(1)));
        write(&tree.join("work.txt"), "x\n");
        ada.ok("validate", json!({ "task": task }));
        for turn in 0..6 {
            let refusal = finish();
            let details = &refusal["details"];
            assert_eq!((&details["reason"], &details["attempt"]), (&json!("awaits_person"), &json!(1)), "{refusal:#}");
            assert_eq!((&details["attempts_left"], proposed(&refusal)), (&json!(2), vec!["task.block".to_owned()]));
            let ended = ada.ok("turn.end", json!({ "task": task, "turn": format!("t-{turn}") }));
            assert_eq!((&ended["decision"], &ended["why"]), (&json!("let_go"), &json!("awaits_person")), "{ended:#}");
            assert_eq!((&ended["attempt"], &ended["message"]), (&json!(1), &json!("")));
        }
        let refused = place.log().iter().filter(|event| event["type"] == "task.finalization_exhausted").count();
        assert_eq!(refused, 0);
        ada.ok("task.cancel", json!({ "task": task, "reason": "seen enough" }));
    }
}

#[test]
fn a_criterion_that_a_task_has_through_its_commitment_is_met_through_the_task() {
    let place = Place::new();
    let ada = place.agent("ada");
    let source = "src=citation:src/lib.txt";
    let commitment = opened(&place, &json!([source, "look=attested:Well?"]));
    let task = ada.claimed(json!({ "title": "one", "commitment": commitment }));
    let tree = ada.workspace(&task);
    let listed = ada.ok("criterion.list", json!({ "task": task }));
    let ids: Vec<String> = listed["criteria"].as_array().expect("rows").iter().map(|row| text(&row["id"])).collect();
    assert_eq!(ids, ["src", "look"]);
    assert_eq!(listed["criteria"][1]["waits_for"], "person", "{listed:#}");
    let cited = ada.ok("criterion.cite", json!({ "task": task, "criterion": "src" }));
    assert_eq!(cited["verdict"], "pass", "{cited:#}");
    let stands = |params: Value| {
        let listed = place.call_in(&tree, "criterion.list", params).expect("listed")["data"].clone();
        text(&listed["criteria"][0]["state"])
    };
    // Inside the task's worktree nothing has to be named; for the commitment it counts as well.
    for params in [json!({}), json!({ "task": task }), json!({ "commitment": commitment })] {
        assert_eq!(stands(params.clone()), "met", "{params}");
    }
    for op in ["criterion.list", "criterion.cite"] {
        let params = if op == "criterion.list" { json!({}) } else { json!({ "criterion": "src" }) };
        let refusal = ada.no("INVALID_VALUE", op, params);
        assert_eq!(proposed(&refusal), ["task.list", "commit.list"], "{op}: {refusal:#}");
    }
    let validated = ada.call("validate", json!({ "task": task })).expect("it is judged");
    assert_eq!(proposed(&validated), ["criterion.attest"], "only a person's word is open: {validated:#}");
    let attest = &validated["next"][0]["params"];
    assert_eq!((&attest["task"], &attest["criterion"]), (&json!(task), &json!("look")));
    let words = ["criterion", "attest", "look", "--note", "I read it", "--task", &task];
    let Some(ran) = place.person(&words) else { return };
    assert_eq!(ran.status, 0, "{ran:?}");
    let shown = place.data(&["commit", "show", &commitment]);
    assert_eq!(
        shown["commitment"]["attestations"][0]["criterion"], "look",
        "it is recorded where the criterion is: {shown:#}"
    );
    ada.ok("task.finish", json!({ "task": task }));
}

#[test]
fn what_publication_asks_for_beside_the_contract_is_told_with_the_end() {
    let place = Place::with_profile(&format!("{PROFILE}\n[checks.lint]\nrun = [\"sh\", \"-c\", \"exit 1\"]\n"));
    let ada = place.agent("ada");
    let commitment = opened(&place, &json!(["w=file_exists:work.txt"]));
    let task = ada.claimed(json!({ "title": "one", "commitment": commitment }));
    let tree = ada.workspace(&task);
    write(&tree.join("work.txt"), "x\n");
    place.commit_in(&tree, "work");
    ada.ok("validate", json!({ "task": task }));
    let done = ada.call("task.finish", json!({ "task": task })).expect("the contract is met");
    assert_eq!(proposed(&done), ["validate"], "{done:#}");
    assert_eq!(done["warnings"][0]["code"], "publication_needs");
    let said = text(&done["warnings"][0]["message"]);
    assert!(said.contains("`lint`") && said.contains("`test`"), "{said}");
    assert_eq!(done["next"][0]["params"], json!({ "task": task, "scope": "branch" }));
    for scope in ["task", "branch"] {
        let again = ada.call("validate", json!({ "task": task, "scope": scope })).expect("judged");
        assert_eq!(again["data"]["publication_ready"], false);
        assert!(!proposed(&again).contains(&"publish".to_owned()), "{scope}: {again:#}");
    }
    let rows = ada.ok("validate", json!({ "task": task, "scope": "branch" }));
    let named: Vec<String> = rows["results"].as_array().expect("rows").iter().map(|row| text(&row["check"])).collect();
    assert!(named.contains(&"w".to_owned()), "a criterion's row has its id: {named:?}");
    let runs = place.call("evidence.list", json!({ "task": task })).expect("listed");
    let about: Vec<String> =
        runs["data"]["items"].as_array().expect("rows").iter().map(|row| text(&row["about"])).collect();
    assert!(about.contains(&"w".to_owned()) && about.iter().all(|one| !one.starts_with("proof:")), "{about:?}");
}

#[test]
fn a_finish_is_progress_and_where_things_stand_says_what_was_given_up_on() {
    let place = Place::new();
    let ada = place.agent("ada");
    let commitment = opened(&place, &json!(["w=file_exists:work.txt"]));
    let task = ada.claimed(json!({ "title": "one", "commitment": commitment }));
    let tree = ada.workspace(&task);
    for _ in 0..5 {
        ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task }));
    }
    let status = ada.call("status", json!({})).expect("shown");
    assert!(status["data"]["work"][0]["exhausted"].is_string(), "{status:#}");
    assert!(!proposed(&status).contains(&"task.finish".to_owned()), "{status:#}");
    let block = status["next"].as_array().expect("rows").iter().find(|next| next["op"] == "task.block");
    assert!(block.is_some_and(|next| next["params"]["question"].is_string()), "{status:#}");
    let shown = place.data(&["task", "show", &task]);
    assert!(shown["exhausted"].is_string() && shown["claim"].is_object(), "{shown:#}");
    assert_eq!(shown["held_to"]["criteria"][0]["id"], "w", "{shown:#}");
    ada.ok("task.block", json!({ "task": task, "reason": "stuck", "question": "What now?" }));
    let Some(ran) = place.person(&["status"]) else { return };
    assert!(ran.stdout.contains(&format!("kctl task unblock {task}")), "{ran:?}");
    let answered = place.person(&["task", "unblock", &task, "--note", "the file"]).expect("as before");
    assert_eq!(answered.status, 0, "{answered:?}");
    write(&tree.join("work.txt"), "x\n");
    place.commit_in(&tree, "work");
    ada.ok("validate", json!({ "task": task }));
    ada.ok("task.finish", json!({ "task": task }));
    let shown = place.data(&["task", "show", &task]);
    assert!(shown["claim"].is_null() && shown["exhausted"].is_null(), "{shown:#}");
    write(&tree.join("broken"), "");
    std::fs::remove_file(tree.join("work.txt")).expect("removed");
    place.commit_in(&tree, "worse");
    let refusal = ada.no("NOT_CLEARED", "publish", json!({ "task": task }));
    assert!(!refusal["details"]["blockers"].to_string().contains("FINALIZATION_EXHAUSTED"), "{refusal:#}");
}

#[test]
fn what_a_run_said_is_explained_by_its_id() {
    let place = Place::with_profile(
        "version = 1\n\n[checks.unit]\nrun = [\"sh\", \"-c\", \"echo 'FAILED t.py::a - boom'; exit 1\"]\n",
    );
    let ran = place.call("validate", json!({})).expect("judged");
    let evidence = text(&ran["data"]["results"][0]["evidence"]);
    let by_rpc = place.call("failure.explain", json!({ "evidence": evidence })).expect("read")["data"].clone();
    assert!(by_rpc["items"].as_array().is_some_and(|items| !items.is_empty()), "{by_rpc:#}");
    let by_cli = place.data(&["failure", "explain", &evidence]);
    assert_eq!(by_cli, by_rpc);
    let both = json!({ "evidence": evidence, "output": "x" });
    assert_eq!(place.call("failure.explain", both).expect_err("one of them")["code"], "INVALID_VALUE");
    assert_eq!(place.call("failure.explain", json!({})).expect_err("one of them")["code"], "INVALID_VALUE");
    let refusal = place.refusal(&["failure", "explain", "no-such-file"]).to_string();
    assert!(refusal.contains("evidence") && refusal.contains("file"), "{refusal}");
}

#[test]
fn the_profile_document_names_every_parser() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/PROFILE.md")).expect("read");
    let row = text.lines().find(|line| line.starts_with("| `parser` |")).expect("a row");
    for parser in kctl::domain::failure::Parser::ALL {
        assert!(row.contains(&format!("`{}`", parser.name())), "{} is missing", parser.name());
    }
}

#[test]
fn a_profile_without_checks_is_a_warning() {
    let place = Place::new();
    place.write(".decapod/kctl.toml", "version = 1\n");
    let told = place.kctl(&["doctor", "--json"]).json().to_string();
    assert!(told.contains("0 checks"), "{told}");
}
