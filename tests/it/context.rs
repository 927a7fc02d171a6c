//! `context.resolve`: one capsule, bounded as a whole, whose required part is never cut.

use serde_json::{Value, json};

use crate::place::{Agent, Place, proposed, text};

fn resolve(agent: &Agent<'_>, params: Value) -> Value {
    agent.ok("context.resolve", params)["capsule"].clone()
}

fn refs(capsule: &Value) -> Vec<String> {
    capsule["fragments"].as_array().expect("a list").iter().map(|fragment| text(&fragment["ref"])).collect()
}

fn fragment<'c>(capsule: &'c Value, name: &str) -> Option<&'c Value> {
    capsule["fragments"].as_array().expect("a list").iter().find(|fragment| text(&fragment["ref"]).starts_with(name))
}

/// A place with instructions at three depths, a spec and something to find.
fn furnished() -> Place {
    let place = Place::new();
    place.write("AGENTS.md", "# Top\n\nTabs nowhere.\n");
    place.write("src/AGENTS.md", "# Sources\n\nNo globals.\n");
    place.write("src/lex/AGENTS.md", "# Lexer\n\nTokens are small.\n");
    place.write("specs/grammar.md", "# Grammar\n\nNumbers may be negative.\n");
    place.write("src/lex/number.rs", "fn read_negative_number() -> i64 {\n    -1\n}\n");
    place.commit("furnish");
    place.git(&["push", "-q", "origin", "main"]);
    place
}

#[test]
fn a_capsule_holds_the_task_its_criteria_instructions_specs_and_passages() {
    let place = furnished();
    let ada = place.agent("ada");
    let task = ada.claimed(json!({
        "title": "Read negative numbers", "goal": "the lexer yields them", "criteria": ["check:test"],
        "constraints": ["keep the public names"], "scope": ["src/**"], "paths": ["src/lex/number.rs"],
    }));
    ada.workspace(&task);
    let claimed = ada.call("task.claim", json!({ "task": task })).expect("it is held");
    let proposed = claimed["next"].as_array().expect("a list").iter().find(|next| next["op"] == "context.resolve");
    let capsule = resolve(&ada, proposed.expect("whoever claims is told to ask")["params"].clone());
    for name in [&format!("task/{task}"), "contract/scope", "contract/constraint/1", "criterion/AC-1"] {
        assert!(fragment(&capsule, name).is_some(), "{name} is not among {:?}", refs(&capsule));
    }
    let about = text(&fragment(&capsule, "task/").expect("it is there")["text"]);
    assert!(about.contains("Read negative numbers") && about.contains("fence 1"), "{about}");
    let constraint = text(&fragment(&capsule, "contract/constraint").expect("it is there")["text"]);
    assert!(constraint.contains("unenforced"), "nothing is decorative: {constraint}");
    let depth = |name: &str| refs(&capsule).iter().position(|other| other.starts_with(name));
    let order = ["src/lex/AGENTS.md", "src/AGENTS.md", "AGENTS.md"].map(depth);
    assert!(order.is_sorted() && order.iter().all(Option::is_some), "the nearest first: {:?}", refs(&capsule));
    assert!(fragment(&capsule, "specs/grammar.md").is_some(), "{:?}", refs(&capsule));
    let passage = fragment(&capsule, "src/lex/number.rs").expect("the passage is found");
    assert!(passage["score"].is_object() && passage["trust"].is_string(), "{passage:#}");
    let mandates = capsule["mandates"].to_string();
    assert!(mandates.contains("completion") && mandates.contains("evidence"), "{mandates}");
    assert!(capsule["used"].as_u64() <= capsule["budget"].as_u64(), "{capsule:#}");
}

#[test]
fn the_same_question_on_the_same_tree_has_the_same_hash_and_another_tree_another() {
    let place = furnished();
    let ada = place.agent("ada");
    place.later(0);
    let task = ada.claimed(json!({ "title": "Read negative numbers", "criteria": ["check:test"] }));
    ada.workspace(&task);
    let ask = || resolve(&ada, json!({ "task": task }));
    // The first call may still index what is new.
    ask();
    let (first, second) = (ask(), ask());
    assert_eq!(first["hash"], second["hash"]);
    assert_eq!(first, second, "and it is the same to the byte");
    ada.ok("validate", json!({ "task": task }));
    assert_ne!(ask()["hash"], first["hash"], "a criterion stands elsewhere");
}

#[test]
fn what_the_host_holds_already_is_pointed_at() {
    let place = furnished();
    let ada = place.agent("ada");
    let params = json!({ "query": "negative numbers", "paths": ["src/lex/number.rs"] });
    resolve(&ada, params.clone());
    let whole = resolve(&ada, params.clone());
    let spec = fragment(&whole, "specs/grammar.md").expect("it is there").clone();
    let mut again = params;
    again["have"] = json!([spec["digest"]]);
    let pointed = resolve(&ada, again);
    let pointer = fragment(&pointed, "specs/grammar.md").expect("it is still named");
    assert_eq!(pointer["digest"], spec["digest"]);
    assert_ne!(pointer["text"], spec["text"], "the text is not sent twice: {pointer:#}");
    assert!(pointed["used"].as_u64() < whole["used"].as_u64());
}

#[test]
fn the_required_part_is_never_cut_and_one_that_does_not_fit_names_its_parts() {
    let place = furnished();
    let ada = place.agent("ada");
    let goal = "Everything that anybody ever wrote as a number must be read. ".repeat(60);
    let task = ada.claimed(json!({ "title": "x", "goal": goal }));
    let refusal = ada.no("CONTEXT_OVERFLOW", "context.resolve", json!({ "task": task, "budget_tokens": 600 }));
    let details = &refusal["details"];
    assert!(details["needed"].as_u64() > details["budget"].as_u64(), "{refusal:#}");
    assert!(details["parts"].to_string().contains(&task), "{refusal:#}");
    assert_eq!(proposed(&refusal), ["context.resolve"]);
    let roomy = resolve(&ada, refusal["next"][0]["params"].clone());
    assert!(text(&fragment(&roomy, "task/").expect("it is there")["text"]).contains(goal.trim()));
    assert!(roomy["used"].as_u64() <= roomy["budget"].as_u64());
    let left_out = roomy["omitted"].as_array().expect("a list");
    assert!(!left_out.is_empty(), "what found no room is listed: {roomy:#}");
}

#[test]
fn what_cannot_be_asked_is_refused_with_its_field() {
    let place = Place::new();
    let ada = place.agent("ada");
    for (field, params) in [
        ("budget_tokens", json!({ "budget_tokens": 1 })),
        ("budget_tokens", json!({ "budget_tokens": 4_000_000_000_u32 })),
        ("query", json!({ "query": "x".repeat(4001) })),
        ("paths", json!({ "paths": vec!["a"; 257] })),
    ] {
        let refusal = ada.no("INVALID_VALUE", "context.resolve", params);
        assert_eq!(refusal["details"]["field"], field);
    }
    for paths in [json!(["../../etc/passwd"]), json!(["/etc/passwd"]), json!(["a\u{0}b"])] {
        let answer = ada.call("context.resolve", json!({ "paths": paths, "query": "root" }));
        assert!(!format!("{answer:?}").contains("root:x:"), "nothing outside the tree is read: {answer:?}");
    }
}
