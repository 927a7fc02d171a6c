//! The scenes between the beginning and the end: one job from the first session to the closed commitment.

use serde_json::Value;

use super::story::Cast;
use super::teller::{Stopped, Teller, Told, id_in};
use crate::domain::refusal::Code;

pub fn sessions(teller: &mut Teller, cast: &mut Cast) -> Result<(), Stopped> {
    teller.scene(
        "Two agents begin their sessions",
        "A session is an agent's custody. Its token is kept in the state directory, readable for its owner alone.",
    )?;
    cast.ada = id_in(&teller.line("kctl session acquire --agent ada", &Told::done(&["ada"]))?, 's')?;
    cast.grace = id_in(&teller.line("kctl session acquire --agent grace", &Told::done(&["grace"]).first(1))?, 's')?;
    teller.export("KCTL_SESSION", &cast.ada)?;
    teller.say("\n")
}

pub fn commit_open(teller: &mut Teller, cast: &mut Cast) -> Result<(), Stopped> {
    teller.scene(
        "An obligation, and a task that works for it",
        "A commitment says what must hold in the end: here that the check `test` passes, and that nothing outside of\n\
         `src` was changed. It outlives sessions, and closes as fulfilled only on evidence.",
    )?;
    let line = "kctl commit open 'Discounts are a share of the total' \
                --criteria check:test --criteria 'diff_scope:src/**'";
    cast.commitment = id_in(&teller.line(line, &Told::done(&["AC-1", "AC-2"]))?, 'c')?;
    let line = format!("kctl task create 'Mend the discount' --commitment {}", cast.commitment);
    cast.task = id_in(&teller.line(&line, &Told::done(&["open"]))?, 't')?;
    Ok(())
}

pub fn claims(teller: &mut Teller, cast: &Cast) -> Result<(), Stopped> {
    let Cast { task, grace, .. } = cast;
    teller.scene(
        "One holds the task, the other is told so",
        "A claim is a lease with a fence. Whoever comes second gets a refusal that names the holder and the expiry.",
    )?;
    teller.line(&format!("kctl task claim {task}"), &Told::done(&["ada"]))?;
    let second = format!("kctl task claim {task} --session {grace}");
    teller.line(&second, &Told::refused(Code::TASK_HELD, &["error[TASK_HELD]", "holder:", "ada", "until:"])).map(drop)
}

pub fn workspace(teller: &mut Teller, cast: &Cast) -> Result<(), Stopped> {
    let task = &cast.task;
    teller.scene(
        "A worktree of its own, and what there is to know",
        "`context resolve` gathers the task, its criteria, the rules and the passages of code that matter, within a\n\
         budget of tokens.",
    )?;
    teller.line(&format!("kctl workspace ensure {task}"), &Told::done(&["created"]))?;
    let path = teller.data(&format!("kctl workspace status {task}"))?;
    let path = path["path"].as_str().unwrap_or_default().to_owned();
    teller.cd(path.as_ref())?;
    let context = format!("kctl context resolve {task}");
    teller.line(&context, &Told::done(&[cast.project.source, "AC-1"]).first(18)).map(drop)
}

pub fn too_early(teller: &mut Teller, cast: &Cast) -> Result<(), Stopped> {
    let task = &cast.task;
    teller.scene(
        "Nothing is done because somebody says so",
        "No check has run: to finish is refused, and to publish as well. Each refusal says what would help.",
    )?;
    let rejected = Told::refused(Code::FINALIZATION_REJECTED, &["error[FINALIZATION_REJECTED]", "never_checked"]);
    teller.line(&format!("kctl task finish {task} --summary 'It is done, trust me'"), &rejected)?;
    teller.line(&format!("kctl publish {task}"), &Told::refused(Code::NOT_CLEARED, &["error[NOT_CLEARED]"]))?;
    teller.aside("So kctl runs the checks itself, supervised, and records what came of them. The bug shows:")?;
    let validate = format!("kctl validate {task}");
    teller.line(&validate, &Told::refused(Code::CHECKS_FAILED, &["fail", cast.project.failing]))?;
    Ok(())
}

pub fn mend(teller: &mut Teller, cast: &Cast) -> Result<(), Stopped> {
    teller.scene("The bug is mended", "Evidence is bound to the exact content of the files that the check saw.")?;
    teller.line(&format!("git apply --index <<'EOF'\n{}EOF", cast.project.fix), &Told::done(&[]))?;
    let validate = format!("kctl validate {}", cast.task);
    teller.line(&validate, &Told::done(&["pass", "met"]))?;
    let data = teller.data(&validate)?;
    teller.check(data["verified"] == true && is_fresh(&data), "what was verified is fresh at once")
}

pub fn stale(teller: &mut Teller, cast: &Cast) -> Result<(), Stopped> {
    let (task, source) = (&cast.task, cast.project.source);
    let comment = cast.project.comment;
    teller.scene(
        "An edit after the check makes its evidence stale",
        "The check spoke for other content, and the refusal names the file. Taking the edit back makes the evidence\n\
         fresh again, and nothing has to be run.",
    )?;
    teller.line(&format!("echo '{comment} one more thing' >> {source}"), &Told::done(&[]))?;
    let says = ["error[FINALIZATION_REJECTED]", "stale", source];
    teller.line(&format!("kctl task finish {task}"), &Told::refused(Code::FINALIZATION_REJECTED, &says))?;
    teller.line(&format!("git checkout -q -- {source}"), &Told::done(&[]))?;
    let before = runs(teller)?;
    teller.line(&format!("kctl validate {task}"), &Told::done(&["yes"]))?;
    let data = teller.data(&format!("kctl validate {task}"))?;
    teller.check(is_fresh(&data) && runs(teller)? == before, "no check ran, and all evidence is fresh")
}

fn is_fresh(data: &Value) -> bool {
    data["results"].as_array().is_some_and(|all| !all.is_empty() && all.iter().all(|one| one["fresh"] == true))
}

/// How many runs the ledger has.
fn runs(teller: &Teller) -> Result<usize, Stopped> {
    let data = teller.data("kctl evidence list")?;
    Ok(data["items"].as_array().map_or(0, Vec::len))
}

pub fn pushes(teller: &mut Teller, cast: &Cast) -> Result<(), Stopped> {
    let (task, source) = (&cast.task, cast.project.source);
    teller.scene(
        "Only a clearance opens the way to the remote",
        "What is not committed cannot be published. And a push by hand has no clearance: the pre-push gate stops it.",
    )?;
    let says = ["error[NOT_CLEARED]", source];
    teller.line(&format!("kctl publish {task}"), &Told::refused(Code::NOT_CLEARED, &says))?;
    teller.line("git commit -q -m 'Take the discount as a share of the total'", &Told::done(&[]))?;
    teller.line("git push origin HEAD", &Told::fails(&["error[NOT_CLEARED]", "has no clearance"]))?;
    let (branch, remote) = (branch(teller)?, teller.quietly("git ls-remote origin")?);
    teller.check(!remote.contains(&branch), "nothing of the branch reached the remote")
}

fn branch(teller: &Teller) -> Result<String, Stopped> {
    Ok(teller.quietly("git symbolic-ref HEAD")?.trim().to_owned())
}

pub fn finish(teller: &mut Teller, cast: &Cast) -> Result<(), Stopped> {
    let task = &cast.task;
    teller.scene(
        "The gate opens",
        "The commit holds exactly what was verified, so its evidence stands. `--scope branch` asks for everything that\n\
         publication needs.",
    )?;
    let line = format!("kctl validate {task} --scope branch");
    teller.line(&line, &Told::done(&["publication_ready: yes"]))?;
    let line = format!("kctl task finish {task} --summary 'The discount is a share of the total'");
    teller.line(&line, &Told::done(&["finished", "verified"])).map(drop)
}

pub fn publish(teller: &mut Teller, cast: &Cast) -> Result<(), Stopped> {
    teller.scene(
        "Published is what the remote says it holds",
        "The push carries a lease on the validated commit, and the remote is read back by id.",
    )?;
    teller.line(&format!("kctl publish {}", cast.task), &Told::done(&["remote_verified: yes"]))?;
    let remote = teller.line("git ls-remote origin", &Told::done(&["refs/heads/main"]))?;
    let (head, branch) = (teller.quietly("git rev-parse HEAD")?, branch(teller)?);
    let line = format!("{}\t{branch}", head.trim());
    teller.check(remote.lines().any(|said| said == line), "the remote holds the validated commit on its branch")
}

pub fn close(teller: &mut Teller, cast: &Cast) -> Result<(), Stopped> {
    teller.scene(
        "The commitment is closed on evidence",
        "Fulfilled is recomputed from evidence, and never taken as said.",
    )?;
    let line = format!("kctl commit close {} --verdict fulfilled", cast.commitment);
    teller.line(&line, &Told::done(&["closed", "fulfilled"])).map(drop)
}

pub fn look_back(teller: &mut Teller, cast: &Cast) -> Result<(), Stopped> {
    teller.scene(
        "A host asks through JSON-RPC",
        "Every operation is there under the same name: one request on standard input, one answer, and kctl is gone.",
    )?;
    let request =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"evidence.list","params":{{"task":"{}","limit":1}}}}"#, cast.task);
    let answer = teller.line(&format!("echo '{request}' | kctl rpc"), &Told::done(&["\"id\":1"]))?;
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    let verdict = &answer["result"]["data"]["items"][0]["verdict"];
    teller
        .check(answer["jsonrpc"] == "2.0" && verdict == "pass", "the answer is JSON-RPC and tells of the evidence")?;
    teller.scene(
        "Everything that happened is in the ledger",
        "Each event is sealed with the one before it; `verify` recomputes every seal and every folded state.",
    )?;
    teller.line("kctl ledger verify", &Told::done(&["sound", "yes"]))?;
    teller.line("kctl ledger log", &Told::done(&["task.claimed", "publish.done", "commit.closed"]))?;
    teller.line("kctl status", &Told::done(&["finished"])).map(drop)
}
