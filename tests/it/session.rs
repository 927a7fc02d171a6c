//! Sessions: a secret shown once, custody that ends when it says, and no way around it.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::place::{Place, proposed, text};

#[test]
fn the_token_is_shown_once_kept_for_its_owner_only_and_never_in_the_ledger() {
    let place = Place::new();
    let shown = place.data(&["session", "acquire", "--agent", "ada"]);
    let (session, token) = (text(&shown["session"]), text(&shown["token"]));
    assert_eq!(shown["kept"], true);
    let kept = place.state().join("kctl/sessions").join(format!("{session}.token"));
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&kept), mode(kept.parent().expect("it has one"))), (0o600, 0o700));
    assert_eq!(fs::read_to_string(&kept).expect("read"), token);
    let secret = token.split_once('.').expect("it names its session").1.to_owned();
    for entry in fs::read_dir(place.repo.join(".git/decapod")).expect("listed") {
        let path = entry.expect("listed").path();
        let bytes = if path.is_file() { fs::read(&path).expect("read") } else { Vec::new() };
        assert!(!String::from_utf8_lossy(&bytes).contains(&secret), "{path:?}");
    }
    assert!(!place.data(&["session", "list"]).to_string().contains(&secret));
}

#[test]
fn whatever_is_wrong_with_a_session_every_door_refuses_and_says_how_to_get_a_new_one() {
    let place = Place::new();
    let task = text(&place.data(&["task", "create", "x"])["id"]);
    let (live, released) = (place.agent("ada"), place.agent("rea"));
    released.ok("session.release", json!({}));
    let short = place.call("session.acquire", json!({ "agent": "eve", "ttl": "1s" })).expect("anybody may");
    let short = text(&short["data"]["session"]);
    place.later(60);
    let forged = format!("{}.{}", live.session, "0".repeat(64));
    let cases = [
        ("SESSION_REQUIRED", json!({})),
        ("SESSION_INVALID", json!({ "session": "s-000000000000" })),
        ("SESSION_INVALID", json!({ "session": "s-000000" })),
        ("SESSION_INVALID", json!({ "session": "../../etc" })),
        ("SESSION_INVALID", json!({ "session": live.session, "token": "wrong" })),
        ("SESSION_INVALID", json!({ "session": live.session, "token": "" })),
        ("SESSION_INVALID", json!({ "session": live.session, "token": released.token })),
        ("SESSION_INVALID", json!({ "token": forged })),
        ("SESSION_INVALID", json!({ "token": "no-session-in-it" })),
        ("SESSION_INVALID", json!({ "session": released.session, "token": released.token })),
        ("SESSION_INVALID", json!({ "session": short })),
    ];
    for (code, said) in cases {
        let mut params = said.clone();
        params["task"] = json!(task);
        let by_rpc = place.call("task.claim", params.clone()).expect_err("refused");
        let mut words = vec!["task", "claim", &task];
        for name in ["session", "token"] {
            if let Some(value) = said[name].as_str() {
                words.extend([if name == "session" { "--session" } else { "--token" }, value]);
            }
        }
        let by_cli = place.refusal(&words);
        let by_op = place.kctl(&["rpc", "--op", "task.claim", "--params", &params.to_string()]);
        assert_eq!(by_op.status, 6, "{by_op:?}");
        for refusal in [&by_rpc, &by_cli, &json!({ "code": by_op.json()["error"]["data"]["code"] })] {
            assert_eq!(refusal["code"], code, "{said}: {refusal:#}");
        }
        assert_eq!(proposed(&by_rpc), ["session.acquire"], "{said}");
        assert!(!by_rpc.to_string().contains(&live.token), "a refusal gives no secret away");
        let next = &by_rpc["next"][0];
        place.call(&text(&next["op"]), next["params"].clone()).expect("what is proposed is legal");
    }
    live.ok("task.claim", json!({ "task": task }));
}

#[test]
fn the_environment_gives_a_session_and_words_win_over_it() {
    let place = Place::new();
    let task = text(&place.data(&["task", "create", "x"])["id"]);
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    place.set("KCTL_SESSION", Some(&ada.session));
    assert_eq!(place.data(&["task", "claim", &task])["agent"], "ada");
    assert_eq!(place.refusal(&["task", "claim", &task, "--session", &bob.session])["code"], "TASK_HELD");
    place.set("KCTL_SESSION", None);
    place.set("KCTL_TOKEN", Some(&bob.token));
    assert_eq!(place.data(&["status"])["agent"], "bob", "a token names its session");
    place.set("KCTL_TOKEN", Some("s-000000000000.ff"));
    assert_eq!(place.refusal(&["task", "renew", &task])["code"], "SESSION_INVALID");
    let warned = place.call("task.list", json!({})).expect("a read needs no session");
    assert_eq!(warned["warnings"][0]["code"], "session_invalid", "{warned:#}");
}

#[test]
fn without_a_home_the_token_is_not_kept_and_still_opens() {
    let place = Place::new();
    let task = text(&place.data(&["task", "create", "x"])["id"]);
    place.set("XDG_STATE_HOME", None);
    for home in [None, Some("")] {
        place.set("HOME", home);
        let answer = place.call("session.acquire", json!({ "agent": "ada" })).expect("anybody may");
        let (data, warnings) = (&answer["data"], &answer["warnings"]);
        assert_eq!((&data["kept"], &warnings[0]["code"]), (&json!(false), &json!("secret_not_kept")), "{answer:#}");
        let (session, token) = (text(&data["session"]), text(&data["token"]));
        let alone = place.call("task.claim", json!({ "task": task, "session": session }));
        assert_eq!(alone.expect_err("nobody kept the token")["code"], "SESSION_INVALID");
        place.call("task.claim", json!({ "task": task, "token": token })).expect("the token is enough");
        place.call("session.release", json!({ "token": token })).expect("and ends it");
    }
    place.set("XDG_STATE_HOME", Some(place.state().to_str().expect("UTF-8")));
    let kept = place.call("session.acquire", json!({ "agent": "ada" })).expect("anybody may");
    assert_eq!(kept["data"]["kept"], true, "the state directory alone is enough");
}

#[test]
fn no_variable_skips_custody() {
    let place = Place::new();
    let task = text(&place.data(&["task", "create", "x"])["id"]);
    for name in ["BYPASS", "FORCE", "SKIP", "NO_GATE", "DISABLE", "TRUSTED", "ADMIN", "AGENT", "HOOK_DEPTH", "TESTING"]
    {
        place.set(&format!("KCTL_{name}"), Some("1"));
        place.set(&format!("DECAPOD_{name}"), Some("1"));
    }
    for name in ["CI", "SKIP", "HUSKY", "LEFTHOOK"] {
        place.set(name, Some("1"));
    }
    assert_eq!(place.refusal(&["task", "claim", &task])["code"], "SESSION_REQUIRED");
    assert_eq!(place.refusal(&["task", "unblock", &task, "--note", "x"])["code"], "SESSION_REQUIRED");
}

/// Every variable that the program reads by name is one of these; a new one is looked at here first.
#[test]
fn the_variables_that_are_read_are_few_and_known() {
    let known =
        ["FAILPOINT", "FAILPOINT_TRACE", "HOOK_DEPTH", "LOG", "LOG_FILE", "RUN_ID", "SESSION", "TEST_NOW_MS", "TOKEN"];
    let mut found = std::collections::BTreeSet::new();
    let mut open = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(dir) = open.pop() {
        for path in fs::read_dir(dir).expect("listed").map(|entry| entry.expect("listed").path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                let source = fs::read_to_string(&path).expect("read");
                let names = source.split("KCTL_").skip(1);
                found.extend(
                    names.map(|rest| {
                        rest.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect::<String>()
                    }),
                );
            }
        }
    }
    found.remove("");
    let unknown: Vec<_> = found.iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn renewing_goes_on_with_the_leases_and_releasing_frees_them_unless_they_are_kept() {
    let place = Place::new();
    let (ada, bob) = (place.agent("ada"), place.agent("bob"));
    let (one, two) = (ada.claimed(json!({ "title": "one" })), bob.claimed(json!({ "title": "two" })));
    let until = |task: &str| text(&place.data(&["task", "show", task])["claim"]["until"]);
    let before = until(&one);
    place.later(600);
    let renewed = ada.ok("session.renew", json!({ "ttl": "20h" }));
    assert_eq!(renewed["claims"], json!([one]));
    assert!(until(&one) > before);
    assert_eq!(ada.ok("session.release", json!({}))["freed"], json!([one]));
    assert_eq!(place.data(&["task", "show", &one])["status"], "open");
    assert!(!place.state().join(format!("kctl/sessions/{}.token", ada.session)).exists());
    assert_eq!(bob.ok("session.release", json!({ "keep": true }))["kept"], json!([two]));
    let eve = place.agent("eve");
    let held = eve.no("TASK_HELD", "task.claim", json!({ "task": two }));
    assert_eq!(held["details"]["takeable"], true, "its session is over: {held:#}");
    let taken = eve.ok("task.takeover", json!({ "task": two, "reason": "bob is gone" }));
    assert_eq!(taken["fence"], 2);
    let states: Vec<Value> = place.data(&["session", "list", "--all"])["items"].as_array().expect("a list").clone();
    let state = |agent: &str| states.iter().find(|one| one["agent"] == agent).map(|one| one["state"].clone());
    assert_eq!((state("ada"), state("eve")), (Some(json!("released")), Some(json!("live"))));
}

#[test]
fn names_that_nobody_should_have_are_refused_with_the_field() {
    let place = Place::new();
    for agent in ["", "a b", "ada\n", &"x".repeat(65), "ädä"] {
        let refusal = place.call("session.acquire", json!({ "agent": agent })).expect_err("refused");
        assert_eq!((&refusal["code"], &refusal["details"]["member"]), (&json!("INVALID_PARAMS"), &json!("agent")));
    }
    let host = place.call("session.acquire", json!({ "agent": "ada", "host": "a\u{7}" })).expect_err("refused");
    assert_eq!((&host["code"], &host["details"]["field"]), (&json!("INVALID_VALUE"), &json!("host")));
    for ttl in [json!(0), json!("1w"), json!(-1), json!("99999d")] {
        let refusal = place.call("session.acquire", json!({ "agent": "ada", "ttl": ttl })).expect_err("refused");
        assert_eq!(refusal["details"]["member"], "ttl", "{refusal:#}");
    }
}
