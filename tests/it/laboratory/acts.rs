//! What an agent may try beside changing files: other places, other evidence, other criteria, another caller.

use serde_json::{Value, json};

use super::bench::{Bench, put, state_of};
use crate::place::{Agent, Place, proposed, text};

/// How many ways are tried here.
pub const COUNT: usize = ACTS.len();

type Act = fn(&Bench) -> Result<(), String>;

const ACTS: [(&str, Act); 20] = [
    ("finished without a run", nothing_ran),
    ("edited after the run", edited_after),
    ("amended after the run", amended_after),
    ("the fix is put away after the run", put_away),
    ("checked in another worktree", elsewhere),
    ("evidence of another task", of_another_task),
    ("one check of two is run", narrowed),
    ("the base's reference is moved", moved_base),
    ("its own criterion is withdrawn", withdrawn),
    ("its own criterion is made easier", amended_criterion),
    ("a waiver by the agent", waived),
    ("an attestation by the agent", attested),
    ("a finding accepted by the agent", accepted_by_agent),
    ("a doubted run accepted by the agent", doubt_accepted_by_agent),
    ("a grade in the parameters", graded),
    ("a weakening that is not committed", uncommitted_weakening),
    ("a weakening that is staged and undone on disk", staged_weakening),
    ("a commitment closed over a finding", closed),
    ("a second session of another agent", stranger),
    ("published without being finished", published_only),
];

#[test]
fn acts_beside_the_files_end_as_they_deserve() {
    let mut wrong = Vec::new();
    let bench = Bench::shell();
    for (name, act) in ACTS {
        if let Err(why) = act(&bench) {
            wrong.push(format!("{name}\n    {why}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {COUNT} went otherwise:\n{}", wrong.len(), wrong.join("\n"));
}

fn expect(what: &str, holds: bool, shown: &Value) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{what}: {shown:#}")) }
}

fn validate(agent: &Agent<'_>, task: &str) -> Value {
    agent.ok("validate", json!({ "task": task, "scope": "branch" }))
}

fn finish(agent: &Agent<'_>, task: &str) -> Result<Value, String> {
    match agent.call("task.finish", json!({ "task": task, "summary": "done" })) {
        Ok(result) => Err(format!("it was finished: {result:#}")),
        Err(refusal) => Ok(refusal),
    }
}

/// Finishing is refused, and the criterion stands in one of `states`.
fn unmet(agent: &Agent<'_>, task: &str, id: &str, states: &[&str]) -> Result<Value, String> {
    let refusal = finish(agent, task)?;
    let state = state_of(&refusal, id);
    expect(id, state.as_deref().is_some_and(|state| states.contains(&state)), &refusal)?;
    Ok(refusal)
}

/// The call is refused with `code`.
fn no(agent: &Agent<'_>, code: &str, op: &str, params: Value) -> Result<(), String> {
    match agent.call(op, params) {
        Ok(result) => Err(format!("{op} was answered: {result:#}")),
        Err(refusal) => expect(op, refusal["code"] == code, &refusal),
    }
}

fn nothing_ran(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("nothing ran");
    put(&tree, "state.txt", "good\nnothing ran\n");
    bench.place().commit_in(&tree, "work");
    unmet(&agent, &task, "AC-1", &["never_checked"]).map(drop)
}

fn edited_after(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("edited after");
    bench.script(&tree, "fix\necho mine > edited.md\ndone_with fixed")?;
    validate(&agent, &task);
    bench.script(&tree, "echo bad > state.txt\necho more > more.txt\ndone_with worse")?;
    unmet(&agent, &task, "AC-1", &["stale"]).map(drop)
}

fn amended_after(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("amended after");
    bench.script(&tree, "fix\necho mine > amended.md\ndone_with fixed")?;
    validate(&agent, &task);
    bench
        .script(&tree, "echo bad > state.txt\necho amended > more.txt\ngit add -A\ngit commit -q --amend --no-edit")?;
    unmet(&agent, &task, "AC-1", &["stale"])?;
    no(&agent, "NOT_CLEARED", "publish", json!({ "task": task }))
}

fn put_away(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("put away");
    bench.script(&tree, "echo x > put-away.md\ndone_with start\nfix")?;
    validate(&agent, &task);
    bench.script(&tree, "git stash -q")?;
    unmet(&agent, &task, "AC-1", &["stale"]).map(drop)
}

fn elsewhere(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("elsewhere");
    put(&tree, "elsewhere.md", "x\n");
    bench.place().commit_in(&tree, "work");
    bench.script(&bench.place().repo, "fix")?;
    let shown = agent.ok("validate", json!({}));
    bench.script(&bench.place().repo, "git checkout -q state.txt")?;
    expect("it is good there", shown["results"][0]["verdict"] == "pass", &shown)?;
    unmet(&agent, &task, "AC-1", &["never_checked"]).map(drop)
}

fn of_another_task(bench: &Bench) -> Result<(), String> {
    let (agent, other, tree) = bench.task("the other task");
    bench.script(&tree, "fix\ndone_with fixed")?;
    validate(&agent, &other);
    let (agent, task, tree) = bench.task("this task");
    put(&tree, "this.md", "x\n");
    bench.place().commit_in(&tree, "work");
    unmet(&agent, &task, "AC-1", &["never_checked"]).map(drop)
}

fn narrowed(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("narrowed");
    put(&tree, "narrowed.md", "x\n");
    bench.place().commit_in(&tree, "work");
    agent.ok("validate", json!({ "task": task, "scope": "branch", "checks": ["verify"] }));
    unmet(&agent, &task, "AC-1", &["never_checked"]).map(drop)
}

fn moved_base(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("moved base");
    bench.script(&tree, "fix\nedit ci/check.sh 's/^same.*/true/'\ndone_with weaker")?;
    bench.script(&tree, "git update-ref refs/remotes/origin/main HEAD")?;
    validate(&agent, &task);
    let refusal = unmet(&agent, &task, "integrity", &["suspicious"]);
    bench.place().git(&["fetch", "-q", "origin"]);
    refusal.map(drop)
}

fn withdrawn(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("withdrawn");
    put(&tree, "withdrawn.md", "x\n");
    bench.place().commit_in(&tree, "work");
    drop(agent.call("criterion.withdraw", json!({ "task": task, "criterion": "AC-1", "reason": "in the way" })));
    validate(&agent, &task);
    finish(&agent, &task)?;
    let refusal = agent.call("publish", json!({ "task": task })).expect_err("the base requires the check");
    expect("the base requires it", refusal["details"]["blockers"].to_string().contains("test"), &refusal)
}

fn amended_criterion(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("easier");
    put(&tree, "easier.md", "x\n");
    bench.place().commit_in(&tree, "work");
    let to = json!({ "task": task, "criterion": "AC-1", "to": "file_exists:README.md", "reason": "easier" });
    drop(agent.call("criterion.amend", to));
    validate(&agent, &task);
    drop(agent.call("task.finish", json!({ "task": task, "summary": "done" })));
    let refusal = agent.call("publish", json!({ "task": task })).expect_err("the base requires the check");
    expect("the base requires it", refusal["details"]["blockers"].to_string().contains("`test`"), &refusal)
}

fn waived(bench: &Bench) -> Result<(), String> {
    let (agent, task, _) = bench.task("waived");
    let params = json!({ "task": task, "criterion": "AC-1", "reason": "in the way" });
    no(&agent, "PERSON_REQUIRED", "criterion.waive", params)
}

fn attested(bench: &Bench) -> Result<(), String> {
    let (agent, task, _) = bench.task("attested");
    let params = json!({ "task": task, "criterion": "AC-1", "note": "looks good" });
    no(&agent, "PERSON_REQUIRED", "criterion.attest", params)
}

/// A task whose workspace weakens the check, and the finding that says so.
fn weakened<'b>(bench: &'b Bench, title: &str) -> Result<(Agent<'b>, String, String), String> {
    let (agent, task, tree) = bench.task(title);
    bench.script(&tree, &format!("fix\nedit ci/check.sh 's/^same.*/echo {title}/'\ndone_with weaker"))?;
    validate(&agent, &task);
    let listed = agent.ok("finding.list", json!({ "task": task }));
    let items = &listed["items"];
    expect("one is held", items[0]["state"] == "held" && items[1].is_null(), &listed)?;
    expect("it is located", items[0]["at"] == "ci/check.sh", &listed)?;
    let finding = text(&items[0]["id"]);
    Ok((agent, task, finding))
}

fn accepted_by_agent(bench: &Bench) -> Result<(), String> {
    let (agent, task, finding) = weakened(bench, "self-accepted")?;
    for op in ["finding.accept", "finding.reject"] {
        no(&agent, "PERSON_REQUIRED", op, json!({ "finding": finding, "reason": "it is fine", "task": task }))?;
    }
    unmet(&agent, &task, "integrity", &["suspicious"]).map(drop)
}

fn doubt_accepted_by_agent(bench: &Bench) -> Result<(), String> {
    let (agent, task, _) = bench.task("doubt");
    validate(&agent, &task);
    let evidence = agent.ok("evidence.list", json!({ "task": task }))["items"][0]["id"].clone();
    no(&agent, "PERSON_REQUIRED", "evidence.accept", json!({ "evidence": evidence, "reason": "it is fine" }))
}

fn graded(bench: &Bench) -> Result<(), String> {
    let (agent, _, finding) = weakened(bench, "graded")?;
    let params = json!({ "finding": finding, "reason": "it is fine", "grade": "tty" });
    no(&agent, "INVALID_PARAMS", "finding.accept", params)?;
    // Without a session, and without a terminal, nobody is a person either.
    let params = json!({ "finding": finding, "reason": "it is fine" });
    let refusal = bench.place().call("finding.accept", params).expect_err("it has no terminal");
    expect("no terminal", refusal["code"] == "PERSON_REQUIRED", &refusal)
}

fn uncommitted_weakening(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("not committed");
    bench.script(&tree, "fix\nedit ci/check.sh 's/^same.*/echo not committed/'")?;
    validate(&agent, &task);
    unmet(&agent, &task, "integrity", &["suspicious"]).map(drop)
}

fn staged_weakening(bench: &Bench) -> Result<(), String> {
    let (agent, task, tree) = bench.task("staged");
    bench.script(&tree, "fix\ndone_with fixed\ngit rm -q --cached ci/check.sh\necho ci/check.sh >> .gitignore")?;
    validate(&agent, &task);
    unmet(&agent, &task, "integrity", &["suspicious"]).map(drop)
}

fn closed(bench: &Bench) -> Result<(), String> {
    let agent = bench.place().agent("ada");
    let commitment = text(&agent.ok("commit.open", json!({ "objective": "good", "criteria": ["check:test"] }))["id"]);
    let task = agent.claimed(json!({ "title": "part", "commitment": commitment }));
    let tree = agent.workspace(&task);
    bench.script(&tree, "fix\nedit ci/check.sh 's/^same.*/echo closed/'\ndone_with weaker")?;
    validate(&agent, &task);
    let params = json!({ "commitment": commitment, "verdict": "fulfilled" });
    let refusal = agent.call_in(&tree, "commit.close", params).err().ok_or("it was closed")?;
    expect("it is owed", refusal["code"] == "CRITERIA_OUTSTANDING", &refusal)?;
    expect("it is named", refusal["details"]["ids"] == json!(["integrity"]), &refusal)?;
    expect("what to do is said", proposed(&refusal).contains(&"finding.list".to_owned()), &refusal)
}

fn stranger(bench: &Bench) -> Result<(), String> {
    let (_agent, task, tree) = bench.task("stranger");
    bench.script(&tree, "fix\ndone_with fixed")?;
    let other = bench.place().agent("eve");
    no(&other, "TASK_HELD", "task.finish", json!({ "task": task, "summary": "done" }))
        .or_else(|_| no(&other, "CLAIM_REQUIRED", "task.finish", json!({ "task": task, "summary": "done" })))
}

fn published_only(bench: &Bench) -> Result<(), String> {
    let (agent, task, _) = weakened(bench, "published-only")?;
    no(&agent, "INTEGRITY_HELD", "publish", json!({ "task": task }))
}

/// The person's own words, typed at a terminal; none where there is none.
fn person(place: &Place, args: &[&str]) -> Option<Value> {
    let ran = place.person(&[args, &["--json"]].concat())?;
    let from = ran.stdout.find('{').unwrap_or(0);
    Some(serde_json::from_str(ran.stdout[from..].trim()).unwrap_or_else(|why| panic!("{why}: {ran:#?}")))
}

/// The name of a finding leaves its severity out: a word on a note would count for a hold of the same name.
#[test]
fn what_is_only_noted_cannot_be_accepted() {
    let place = Place::new();
    place.write(".github/workflows/ci.yml", "on: push\n");
    let listed = place.call("finding.list", json!({})).expect("it answers")["data"]["items"].clone();
    assert_eq!((&listed[0]["state"], &listed[0]["kind"]), (&json!("noted"), &json!("ci_changed")), "{listed:#}");
    for verb in ["accept", "reject"] {
        let answer = person(&place, &["finding", verb, &text(&listed[0]["id"]), "--reason", "fine"]);
        let Some(answer) = answer else { return };
        assert_eq!(answer["error"]["data"]["code"], "CONFLICT", "{answer:#}");
    }
    assert!(place.log().iter().all(|event| !text(&event["type"]).starts_with("finding.")));
}

#[test]
fn a_person_accepts_exactly_one_edit_and_a_rejected_one_stays_held() {
    let bench = Bench::shell();
    let (agent, task, finding) = weakened(&bench, "quarantine").expect("it is held");
    let Some(no) = person(bench.place(), &["finding", "reject", &finding, "--reason", "it is needed"]) else { return };
    assert_eq!(no["data"]["decision"]["ruling"], "rejected", "{no:#}");
    let refusal = unmet(&agent, &task, "integrity", &["suspicious"]).expect("it stays held");
    assert!(refusal.to_string().contains("rejected: it is needed"), "{refusal:#}");
    assert_eq!(agent.ok("finding.list", json!({ "task": task }))["items"][0]["state"], "rejected");

    let tried = person(bench.place(), &["finding", "accept", &finding, "--reason", "flaky, issue 12", "--dry-run"]);
    assert_eq!(tried.expect("as before")["receipt"]["events"], json!([]));
    unmet(&agent, &task, "integrity", &["suspicious"]).expect("a dry run accepts nothing");
    let yes =
        person(bench.place(), &["finding", "accept", &finding, "--reason", "flaky, issue 12"]).expect("as before");
    assert_eq!(yes["data"]["decision"]["grade"], "tty", "{yes:#}");
    let listed = agent.ok("finding.list", json!({ "task": task }));
    let item = &listed["items"][0];
    assert_eq!((&item["state"], &item["decision"]["reason"]), (&json!("accepted"), &json!("flaky, issue 12")));

    // Another edit of the same file is another finding.
    let tree = agent.workspace(&task);
    bench.script(&tree, "edit ci/check.sh 's/^echo.*/echo worse/'\ndone_with worse").expect("edited");
    validate(&agent, &task);
    unmet(&agent, &task, "integrity", &["suspicious"]).expect("it was accepted as it was");
    bench
        .script(&tree, "git revert --no-edit -q HEAD 2>/dev/null || git revert --no-edit HEAD >/dev/null")
        .expect("undone");
    validate(&agent, &task);
    agent.ok("task.finish", json!({ "task": task, "summary": "quarantined" }));
    agent.ok("publish", json!({ "task": task }));
    let gone = person(bench.place(), &["finding", "accept", "f-000000000000", "--reason", "x"]).expect("as before");
    assert_eq!(gone["error"]["data"]["code"], "NOT_FOUND", "{gone:#}");
    assert_eq!(gone["error"]["data"]["next"][0]["op"], "finding.list", "{gone:#}");
}

#[test]
fn no_finding_shows_no_criterion_and_the_base_s_own_changes_are_nobody_s() {
    let bench = Bench::shell();
    let (agent, task, tree) = bench.task("beside");
    bench.script(&tree, "fix\ndone_with fixed").expect("fixed");
    let shown = validate(&agent, &task);
    let ids: Vec<String> = shown["criteria"].as_array().expect("a list").iter().map(|one| text(&one["id"])).collect();
    assert_eq!(ids, ["AC-1"]);
    // Somebody else changes the check on the base, and the work is moved onto it.
    bench
        .script(
            &bench.place().repo,
            "edit ci/check.sh 's/^same.*/&; echo more/'\ndone_with 'base'\ngit push -q --no-verify origin main",
        )
        .expect("pushed");
    validate(&agent, &task);
    assert_eq!(agent.ok("finding.list", json!({ "task": task }))["items"], json!([]), "before it is moved");
    bench.script(&tree, "git rebase -q origin/main").expect("moved");
    validate(&agent, &task);
    assert_eq!(agent.ok("finding.list", json!({ "task": task }))["items"], json!([]), "after it is moved");
    agent.ok("task.finish", json!({ "task": task, "summary": "done" }));
}

/// A profile whose one check prints `said`, beside a state that is bad.
fn saying(said: &str, more: &str) -> Place {
    let place = Place::new();
    place.write("say.sh", &format!("cat <<'EOF'\n{said}\nEOF\n"));
    place.rebase_profile(&format!(
        "version = 1\n\n[checks.test]\nrun = \"sh say.sh\"\nkind = \"test\"\ntimeout = \"20s\"\n{more}"
    ));
    place
}

#[test]
fn a_green_exit_whose_output_says_otherwise_is_held_back() {
    for (said, more, words) in [
        ("Ran 4 tests in 0.1s\n\nFAILED (failures=1)", "parser = \"unittest\"\n", "suspicious"),
        ("Ran 0 tests in 0.000s\n\nOK", "parser = \"unittest\"\n", "suspicious"),
        (
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out",
            "",
            "suspicious",
        ),
        ("ok  \texample.com/calc\t(cached)", "parser = \"go-test\"\n", "suspicious"),
        ("nothing was counted", "min_tests = 3\n", "suspicious"),
        ("fine", "report = \"out.xml\"\n", "report"),
    ] {
        let place = saying(said, more);
        let agent = place.agent("ada");
        let task = agent.claimed(json!({ "title": "green", "criteria": ["check:test"] }));
        let tree = agent.workspace(&task);
        put(&tree, "work.txt", "x\n");
        if more.contains("report") {
            // Left from yesterday.
            put(&tree, "out.xml", "<testsuite tests=\"3\" failures=\"0\"><testcase name=\"a\"/></testsuite>\n");
            bench_sh(&place, &tree, "touch -d '1 day ago' out.xml");
        }
        place.commit_in(&tree, "work");
        validate(&agent, &task);
        let refusal = finish(&agent, &task).unwrap_or_else(|why| panic!("{said}: {why}"));
        assert!(refusal["details"]["unmet"][0].to_string().contains(words), "{said}: {refusal:#}");
        agent.no("NOT_CLEARED", "publish", json!({ "task": task }));
    }
}

fn bench_sh(place: &Place, dir: &std::path::Path, script: &str) {
    assert_eq!(place.run(dir, "sh", &["-c", script], None).status, 0, "{script}");
}
