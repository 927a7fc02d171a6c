//! What a person meets at the terminal: ids typed short, words that agree with each other, ways out of every dead end.

use serde_json::{Value, json};

use crate::place::{Place, proposed, text, texts};

/// The shortest beginning of `id` that none of `others` has.
fn unique_prefix(id: &str, others: &[String]) -> String {
    let is_unique = |end: &usize| !others.iter().any(|other| other != id && other.starts_with(&id[..*end]));
    id[..(3..=id.len()).find(is_unique).expect("ids differ")].to_owned()
}

/// Acquires sessions until two of them begin alike, and gives one of them and what they have in common.
fn sessions_that_begin_alike(place: &Place) -> (String, String) {
    let mut known: Vec<String> = Vec::new();
    loop {
        let session = place.agent("ada").session;
        if let Some(other) = known.iter().find(|other| other[..3] == session[..3]) {
            let common = session.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
            return (session[..common].to_owned(), session);
        }
        known.push(session);
    }
}

#[test]
fn a_unique_prefix_of_a_session_is_enough_at_every_door_and_an_ambiguous_one_names_the_candidates() {
    let place = Place::new();
    let (common, session) = sessions_that_begin_alike(&place);
    let all = place.data(&["session", "list", "--limit", "499"])["items"].clone();
    let all: Vec<String> = all.as_array().expect("a list").iter().map(|one| text(&one["session"])).collect();
    let task = text(&place.data(&["task", "create", "x"])["id"]);
    let short = unique_prefix(&session, &all);
    let claimed = place.data(&["task", "claim", &task, "--session", &short]);
    assert_eq!(claimed["session"], json!(session));
    let renewed = place.call("session.renew", json!({ "session": short })).expect("the prefix is unique");
    assert_eq!(renewed["data"]["session"], json!(session));
    place.set("KCTL_SESSION", Some(&short));
    assert_eq!(place.data(&["status"])["session"], json!(session));
    let refused = place.refusal(&["task", "renew", &task, "--session", &common]);
    assert_eq!(refused["code"], "SESSION_INVALID");
    let candidates = texts(&refused["details"]["candidates"]);
    assert!(candidates.len() >= 2 && candidates.contains(&session), "{refused:#}");
    assert_eq!(place.data(&["session", "release"])["session"], json!(session));
}

#[test]
fn a_unique_prefix_names_every_kind_of_thing() {
    let place = Place::new();
    let ada = place.agent("ada");
    let commitment = text(&place.data(&["commit", "open", "It works", "--criteria", "check:test"])["id"]);
    let (task, tree) = ada.worked(json!({ "title": "x", "commitment": commitment }));
    ada.ok("task.finish", json!({ "task": task }));
    ada.ok("publish", json!({ "task": task }));
    assert!(tree.is_dir());
    let first = |list: &[&str]| text(&place.data(list)["items"][0]["id"]);
    let (evidence, publication) = (first(&["evidence", "list"]), first(&["publication", "list"]));
    let short = |id: &str| id[..id.len() - 2].to_owned();
    assert_eq!(place.data(&["task", "show", &short(&task)])["id"], json!(task));
    assert_eq!(place.data(&["commit", "show", &short(&commitment)])["commitment"]["id"], json!(commitment));
    assert_eq!(place.data(&["evidence", "show", &short(&evidence)])["id"], json!(evidence));
    // The last row of a page, named short, is where the next page begins.
    for (noun, id) in [("evidence", &evidence), ("publication", &publication), ("workspace", &task)] {
        let whole = place.data(&[noun, "list", "--after", id]);
        assert_eq!(place.data(&[noun, "list", "--after", &short(id)]), whole, "{noun}");
        assert_eq!(place.refusal(&[noun, "list", "--after", &format!("{}-zz", &id[..1])])["code"], "NOT_FOUND");
    }
    let of_stream = |stream: &str| place.data(&["ledger", "log", "--stream", stream])["items"].clone();
    let whole = of_stream(&format!("task:{task}"));
    assert!(!whole.as_array().expect("a list").is_empty());
    assert_eq!(of_stream(&format!("task:{}", short(&task))), whole);
}

#[test]
fn a_commitment_is_shown_as_it_stands_now_and_never_two_ways_at_once() {
    let place = Place::new();
    let ada = place.agent("ada");
    let commitment = text(&place.data(&["commit", "open", "It works", "--criteria", "check:test"])["id"]);
    let shown = |met: Value, unmet: Value, phase: &str, state: &str| {
        let shown = place.data(&["commit", "show", &commitment]);
        let owed = &shown["commitment"];
        assert_eq!((&owed["met"], &owed["unmet"], &owed["phase"]), (&met, &unmet, &json!(phase)), "{shown:#}");
        assert_eq!(shown["criteria"][0]["state"], state);
    };
    shown(json!([]), json!(["AC-1"]), "active", "never_checked");
    // Evidence is made, and nobody evaluates the commitment.
    ada.ok("validate", json!({ "commitment": commitment }));
    shown(json!(["AC-1"]), json!([]), "satisfying", "met");
    let status = place.data(&["status"])["commitments"][0].clone();
    assert_eq!((&status["commitment"], &status["criteria"]), (&json!(commitment), &json!(1)), "{status:#}");
    for stale in ["met", "phase"] {
        assert!(status.get(stale).is_none(), "`{stale}` would be as old as the last evaluation: {status:#}");
    }
    for words in [["status"].as_slice(), &["commit", "list"]] {
        assert!(!place.kctl(words).stdout.contains("MET"), "{words:?}");
    }
}

#[test]
fn inside_a_tasks_worktree_validating_nothing_in_particular_validates_the_task() {
    for door in ["cli", "rpc"] {
        let place = Place::new();
        let ada = place.agent("ada");
        let task = ada.claimed(json!({ "title": "x", "criteria": ["check:test"] }));
        let tree = ada.workspace(&task);
        if door == "cli" {
            let ran = place.kctl_in(&tree, &["validate", "--json"]);
            assert_eq!(ran.ok().json()["data"]["criteria"][0]["state"], "met", "{ran:#?}");
        } else {
            let answer = place.call_in(&tree, "validate", json!({})).expect("it is validated");
            assert_eq!(answer["data"]["criteria"][0]["state"], "met", "{answer:#}");
        }
        // What was made counts under the task's fence, so that nothing is run again.
        let again = ada.ok("validate", json!({ "task": task }));
        assert_eq!(again["results"][0]["fresh"], true, "{door}: {again:#}");
        ada.ok("task.finish", json!({ "task": task }));
        let elsewhere = place.call("validate", json!({})).expect("it is validated");
        assert_eq!((&elsewhere["data"]["scope"], &elsewhere["data"]["criteria"]), (&json!("branch"), &json!([])));
    }
}

#[test]
fn a_person_who_pushes_with_a_session_exported_is_told_the_way_out() {
    let place = Place::untouched();
    let said = place.kctl(&["init"]).ok().stderr.clone();
    assert!(said.contains("as a person without `KCTL_SESSION`"), "{said}");
    assert!(place.kctl(&["status"]).ok().stderr.contains("warning[base_without_profile]"));
    let ada = place.agent("ada");
    place.set("KCTL_SESSION", Some(&ada.session));
    place.git(&["add", "-A"]);
    place.git(&["commit", "-q", "-m", "Adopt kctl"]);
    let push = |place: &Place| place.run(&place.repo, "git", &["push", "origin", "main"], None);
    let refused = push(&place);
    assert_ne!(refused.status, 0, "{refused:?}");
    assert!(refused.stderr.contains("error[PROTECTED_BRANCH]"), "{}", refused.stderr);
    assert!(refused.stderr.contains("unset KCTL_SESSION KCTL_TOKEN"), "{}", refused.stderr);
    assert!(refused.stderr.contains("next: kctl doctor"), "nothing is published yet: {}", refused.stderr);
    place.set("KCTL_SESSION", None);
    assert_eq!(push(&place).status, 0);
}

#[test]
fn a_new_session_says_what_to_type_and_where_its_token_is() {
    let place = Place::new();
    let shown = place.kctl(&["session", "acquire", "--agent", "ada"]).ok().stdout.clone();
    let session = place.data(&["session", "list"])["items"][0]["session"].clone();
    let session = text(&session);
    assert!(shown.contains(&format!("export KCTL_SESSION={session}\n")), "{shown}");
    assert_eq!(shown.matches(&format!("{session}.")).count(), 1, "the token is shown once: {shown}");
    assert!(shown.contains("stored in `") && shown.contains("kctl/sessions"), "{shown}");
    place.set("XDG_STATE_HOME", None);
    place.set("HOME", None);
    let nowhere = place.call("session.acquire", json!({ "agent": "bob" })).expect("anybody may")["data"].clone();
    assert_eq!(nowhere["export"], json!(null));
    assert!(text(&nowhere["note"]).contains("set `KCTL_TOKEN` to it"), "{nowhere:#}");
}

#[test]
fn an_empty_list_says_what_it_leaves_out_and_how_to_see_it() {
    let place = Place::new();
    for list in [["task", "list"], ["task", "ready"], ["commit", "list"], ["session", "list"]] {
        let said = place.kctl(&list).ok().stderr.clone();
        assert_eq!(said, "nothing to show\n", "nothing was ever made: {list:?}");
    }
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "x" }));
    let ready = place.call("task.ready", json!({})).expect("a read");
    assert_eq!(ready["next"][0]["why"], "none is ready; 1 claimed, blocked or waiting for others", "{ready:#}");
    ada.ok("task.cancel", json!({ "task": task, "reason": "no" }));
    let commitment = text(&place.data(&["commit", "open", "Later", "--criteria", "check:test"])["id"]);
    ada.ok("commit.close", json!({ "commitment": commitment, "verdict": "abandoned", "note": "no" }));
    ada.ok("session.release", json!({}));
    for (op, why) in [
        ("task.list", "none is open; 1 finished or cancelled"),
        ("task.ready", "none is open; 1 finished or cancelled"),
        ("commit.list", "none is open; 1 closed"),
        ("session.list", "none is open; 1 ended or expired"),
    ] {
        let answer = place.call(op, json!({})).expect("a read");
        assert_eq!((&answer["data"]["items"], &answer["next"][0]["why"]), (&json!([]), &json!(why)), "{op}");
        let next = &answer["next"][0];
        let all = place.call(&text(&next["op"]), next["params"].clone()).expect("what is proposed is legal");
        assert_eq!(all["data"]["items"].as_array().map(Vec::len), Some(1), "{all:#}");
    }
    let narrowed = place.call("task.list", json!({ "label": "none" })).expect("a read");
    assert_eq!(proposed(&narrowed), Vec::<String>::new(), "how many others there are says nothing about a label");
}

#[test]
fn a_session_in_the_environment_that_does_not_hold_is_said_by_status() {
    let place = Place::new();
    let ada = place.agent("ada");
    place.set("KCTL_SESSION", Some(&ada.session));
    let fine = place.kctl(&["status"]).ok().stderr.clone();
    assert!(!fine.contains("warning") && fine.contains("next: kctl task create"), "{fine}");
    place.later(20 * 3600);
    let expired = place.kctl(&["status"]).ok().stderr.clone();
    assert!(expired.contains("warning[session_invalid]") && expired.contains("it expired at"), "{expired}");
    assert!(expired.contains("named in the environment"), "{expired}");
    assert!(expired.contains("next: kctl session acquire"), "{expired}");
    place.set("KCTL_SESSION", Some("nonsense"));
    let odd = place.kctl(&["status"]).ok().stderr.clone();
    assert!(odd.contains("`nonsense` is not a session id"), "{odd}");
}

#[test]
fn a_check_whose_tool_is_missing_and_a_remote_that_is_missing_are_said_before_they_hurt() {
    let place = Place::untouched();
    place.write("go.mod", "module calc\n\ngo 1.22\n");
    place.write("calc_test.go", "package calc\n");
    place.commit("a Go module");
    // A machine that has git and a shell, and no Go.
    let bin = place.top().join("bin");
    fs_err::create_dir(&bin).expect("made");
    let path = std::env::var("PATH").expect("it is set");
    for tool in ["git", "sh", "bash", "uname", "basename", "cat", "env"] {
        let found = path.split(':').map(|dir| std::path::Path::new(dir).join(tool)).find(|file| file.exists());
        std::os::unix::fs::symlink(found.unwrap_or_else(|| panic!("{tool} is there")), bin.join(tool)).expect("linked");
    }
    place.set("PATH", bin.to_str());
    let answer = place.call("init", json!({ "dry_run": true })).expect("anybody may");
    let told = answer["warnings"].to_string();
    assert!(told.contains("tool_missing") && told.contains("needs `go`, which is not on PATH"), "{answer:#}");
    place.kctl(&["init"]).ok();
    let finding = |part: &str| {
        let found = place.call("doctor", json!({})).expect("a read")["data"]["findings"].clone();
        found.as_array().and_then(|all| all.iter().find(|one| one["part"] == part)).cloned().unwrap_or_default()
    };
    let tools = finding("tools");
    assert_eq!(tools["health"], "warning");
    assert!(text(&tools["what"]).contains("`go` for check `test`"), "{tools:#}");
    assert_eq!(finding("remote"), json!(null), "there is one");
    place.git(&["remote", "remove", "origin"]);
    let remote = finding("remote");
    assert_eq!(remote["health"], "warning", "{remote:#}");
    assert!(text(&remote["remedy"]).contains("git remote add origin"), "{remote:#}");
    place.set("PATH", Some(&path));
    for tool in ["go", "gofmt"] {
        std::os::unix::fs::symlink("/bin/true", bin.join(tool)).expect("linked");
    }
    place.set("PATH", bin.to_str());
    assert_eq!(finding("tools")["health"], "ok", "{:#}", finding("tools"));
}

#[test]
fn uninstalling_says_that_worktrees_stay() {
    let place = Place::new();
    let ada = place.agent("ada");
    assert!(!place.data(&["uninstall", "--dry-run"])["notices"].to_string().contains("worktree"));
    let task = ada.claimed(json!({ "title": "x" }));
    ada.workspace(&task);
    let notices = texts(&place.data(&["uninstall", "--dry-run"])["notices"]);
    assert!(notices.iter().any(|notice| notice.starts_with("1 open worktree stays")), "{notices:?}");
}

/// Every member of every operation's parameters, with its schema.
fn parameters() -> Vec<(&'static str, String, Value)> {
    let of = |info: &kctl::domain::op_info::OpInfo| {
        let schema = (info.input_schema)();
        let members = schema["properties"].as_object().cloned().unwrap_or_default();
        members.into_iter().map(|(name, member)| (info.name, name, member)).collect::<Vec<_>>()
    };
    kctl::ops::registry::OPS.iter().flat_map(|entry| of(&entry.info)).collect()
}

#[test]
fn every_parameter_says_what_it_is_for_and_what_holds_without_it() {
    let about = |member: &Value| member["description"].as_str().unwrap_or_default().to_owned();
    let silent: Vec<_> = parameters().into_iter().filter(|(.., member)| about(member).is_empty()).collect();
    assert!(silent.is_empty(), "{silent:#?}");
    let (page, most) = (kctl::ops::call::DEFAULT_PAGE, kctl::ports::ledger::MAX_PAGE - 1);
    let limits = || parameters().into_iter().filter(|(_, name, _)| name == "limit");
    assert!(limits().count() > 5);
    for (op, _, member) in limits() {
        assert!(about(&member).ends_with(&format!("from 1 to {most} (default: {page})")), "{op}: {member:#}");
    }
    for (op, name, member) in parameters().into_iter().filter(|(_, name, _)| matches!(name.as_str(), "ttl" | "lease")) {
        assert!(about(&member).contains("(default: "), "{op}.{name}: {member:#}");
    }
    // What help says of a lifetime is what a session and a commitment get.
    let place = Place::new();
    let starts = place.call("session.acquire", json!({ "agent": "ada" })).expect("anybody may");
    let commitment = place.data(&["commit", "open", "x", "--criteria", "check:test"]);
    let help = |words: &[&str]| place.kctl(&[words, &["--help"]].concat()).ok().stdout.clone();
    assert!(help(&["session", "acquire"]).contains("(default: 12h)"));
    assert!(help(&["commit", "open"]).contains("(default: 30d)"));
    let shown = place.kctl(&["session", "list"]).ok().stdout.clone();
    assert!(shown.contains("in 12 h"), "{shown} {starts:#}");
    let listed = place.kctl(&["commit", "list"]).ok().stdout.clone();
    assert!(listed.contains("in 30 days"), "{listed} {commitment:#}");
}

#[test]
fn nothing_that_users_read_refers_to_the_rules_of_the_project() {
    let infos = || kctl::ops::registry::OPS.iter().map(|entry| &entry.info);
    let schemas = infos().map(|info| format!("{}{}", (info.input_schema)(), (info.output_schema)()));
    let words = infos().map(|info| format!("{} {} {:?}", info.about, info.help, info.examples));
    let codes = kctl::domain::refusal::Code::ALL.iter().map(|code| code.about().to_owned());
    let profile = include_str!("../../docs/PROFILE.md").to_owned();
    for text in schemas.chain(words).chain(codes).chain([profile]) {
        let refers = text.match_indices("(I").any(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_ascii_digit()));
        assert!(!refers && !text.contains('§'), "{text}");
    }
}
