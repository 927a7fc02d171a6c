//! `action.evaluate`: what a host is told before it lets a tool run. Records nothing.

use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::action::{Capability, Decision, GateCode, Reached};
use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::Task;
use crate::domain::workspace::{Workspace, WorkspaceStatus};
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::{Needs, Op};
use crate::ports::git::Worktree;
use crate::ports::ledger::Query;
use crate::rules::gates::{self, Arguments, Facts, Finding, Host, Target, Tree};

/// The longest name of a tool, in bytes.
const MAX_TOOL_BYTES: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The tool's name, as the host spells it
    tool: String,
    /// The tool's arguments: a JSON object, or a text that holds one
    arguments: Arguments,
    /// Whose names of tools these are
    #[serde(default)]
    host: Host,
}

/// A path that the action names, and where it leads.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Named {
    given: String,
    leads_to: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    decision: Decision,
    allowed: bool,
    capability: Capability,
    /// Whether a rule looked at what it does. What no rule reads is allowed here, and held by the sandbox alone.
    mediated: bool,
    code: Option<GateCode>,
    reason: String,
    /// Exactly what to do instead.
    next_step: Option<String>,
    /// Paths that may have been meant.
    candidates: Vec<String>,
    /// Whether the same call can succeed later, once that was done.
    repeat_helps: bool,
    paths: Vec<Named>,
    /// All that stands against it, in the order of the rules.
    findings: Vec<Finding>,
}

pub struct Evaluate;

impl Op for Evaluate {
    const NAME: &'static str = "action.evaluate";
    const ABOUT: &'static str = "Say whether a host should let a tool run: allow, ask or deny; records nothing";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const NEEDS: Needs = Needs::Repository;
    const POSITIONAL: &'static [&'static str] = &["tool"];
    const HOLDS: Option<&'static str> = Some("allowed");
    const HIDDEN: &'static [&'static str] = &["paths", "findings", "mediated"];
    const HELP: &'static str = "\
Judged by rule, in this order: paths that nobody but git, kctl or a person changes; paths outside of the workspace; work that
belongs into another workspace; files that are to be read and are not there. Tools are told apart by what they can do:
file_read, file_write, file_delete, dir_list, search, process, network, vcs, external, mcp. A tool that no table names is asked
about. This is advice before the act: what a command does inside is not read here, and `validate` judges the tree.";
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl action evaluate file_read --arguments '{\"path\":\"src/lib.rs\"}'", "exits with 8 unless it is allowed"),
        (
            "kctl action evaluate Edit --host claude_code --arguments '{\"file_path\":\"src/lib.rs\"}'",
            "a tool by its host's name for it",
        ),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        if input.tool.is_empty() || input.tool.len() > MAX_TOOL_BYTES {
            return Err(misfit("tool", format!("`tool` is a name of 1 to {MAX_TOOL_BYTES} bytes")));
        }
        let Some(tool) = gates::find(input.host, &input.tool) else {
            return Ok(answer(Capability::Unknown, Vec::new(), vec![gates::unknown_tool(&input.tool)]));
        };
        let paths = gates::paths(&tool, &input.arguments)
            .map_err(|(member, why)| misfit(&format!("arguments.{member}"), why))?;
        if !tool.capability.names_paths() {
            return Ok(answer(tool.capability, Vec::new(), Vec::new()));
        }
        let facts = facts(call, tool.capability)?;
        let (mut named, mut findings) = (Vec::new(), Vec::new());
        for given in paths {
            let (target, mut found) = look(call, &facts, given);
            for missing in found.iter_mut().filter(|finding| finding.code == GateCode::ReferenceMissing) {
                missing.candidates = closest(call, &facts, &target);
            }
            named.push(shown(&target));
            findings.append(&mut found);
        }
        propose(call, &findings);
        Ok(answer(tool.capability, named, findings))
    }
}

fn misfit(member: &str, why: String) -> Refusal {
    Refusal::new(Code::INVALID_PARAMS, why).with("member", member).next(
        "ops.describe",
        "shows what is taken",
        json!({ "name": Evaluate::NAME }),
    )
}

/// Reads both ways in which a path may be taken, and judges them.
fn look(call: &Call<'_>, facts: &Facts, given: String) -> (Target, Vec<Finding>) {
    if let Some(wrong) = gates::plainly_wrong(&given) {
        return (Target { given, reached: Vec::new() }, vec![wrong]);
    }
    let as_written = call.world.cwd.join(&given);
    let mut ways = vec![as_written.clone(), by_words(&as_written)];
    ways.dedup();
    let reached: Result<Vec<Reached>, String> = ways.iter().map(|way| call.world.paths.reach(way)).collect();
    match reached {
        Ok(mut reached) => {
            reached.dedup();
            let target = Target { given, reached };
            let findings = gates::judge(facts, &target);
            (target, findings)
        }
        Err(why) => {
            let unresolved = gates::unresolved(&given, &why);
            (Target { given, reached: Vec::new() }, vec![unresolved])
        }
    }
}

/// The path with its `..` taken by words, as tools do that never ask the disk.
fn by_words(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

fn shown(target: &Target) -> Named {
    let leads_to = target.reached.iter().map(|reached| reached.real.display().to_string()).collect();
    Named { given: target.given.clone(), leads_to }
}

fn facts(call: &mut Call<'_>, capability: Capability) -> Result<Facts, Refusal> {
    let here = call.work_tree()?.to_owned();
    let place = call.repository()?.place().clone();
    let tokens = call.world.secrets.place().ok().map(PathBuf::from);
    let mut sealed = vec![place.common_dir, place.git_dir];
    sealed.extend(tokens.and_then(|dir| call.world.paths.reach(&dir).ok()).map(|reached| reached.real));
    let session = call.caller.session.is_some();
    Ok(Facts { capability, trees: trees(call, &here)?, here, session, sealed })
}

/// Every worktree of the root, with who works there.
fn trees(call: &mut Call<'_>, here: &Path) -> Result<Vec<Tree>, Refusal> {
    let listed = call.repository()?.worktrees().map_err(fault::of_git)?;
    let mut trees = Vec::new();
    for Worktree { name, path, .. } in listed {
        let Some(path) = path else { continue };
        let top = call.world.paths.reach(&path).map_or(path, |reached| reached.real);
        trees.push(Tree { top, main: name.is_none(), claimed: false, own: false });
    }
    if !trees.iter().any(|tree| tree.top == here) {
        trees.push(Tree { top: here.to_owned(), main: false, claimed: false, own: false });
    }
    if call.ledger.is_none() {
        call.warn("custody_unknown", "there is no ledger to read here, so nobody's workspace is known");
        return Ok(trees);
    }
    let now = call.now();
    let open = Query { statuses: vec![WorkspaceStatus::Open.name()], ..Query::all(Kind::Workspace) };
    for held in call.query::<Workspace>(&open)? {
        let task = call.load::<Task>(&held.value.task)?.map(|task| task.value);
        let Some(claim) = task.as_ref().and_then(|task| task.live_claim(now)) else { continue };
        let Some(tree) = trees.iter_mut().find(|tree| tree.top == Path::new(&held.value.path)) else { continue };
        tree.claimed = true;
        tree.own = claim.session.is_some() && claim.session == call.caller.session;
    }
    Ok(trees)
}

/// Paths of the tree that may have been meant, as they would be written from where the call was made.
fn closest(call: &Call<'_>, facts: &Facts, target: &Target) -> Vec<String> {
    let here = &facts.here;
    let Some(missing) = target.reached.first().and_then(|reached| reached.real.strip_prefix(here).ok()) else {
        return Vec::new();
    };
    // A tree that cannot be read has no names to offer; that the file is missing is known without it.
    let Ok(snapshot) = call.world.trees.snapshot(here) else { return Vec::new() };
    let known = snapshot.entries.iter().filter_map(|entry| entry.path.as_str());
    let from_here = call.world.cwd.strip_prefix(here).unwrap_or(Path::new(""));
    let absolute = Path::new(&target.given).is_absolute();
    let written = |path: String| match Path::new(&path).strip_prefix(from_here) {
        Ok(inside) if !absolute => inside.display().to_string(),
        Ok(_) | Err(_) => here.join(&path).display().to_string(),
    };
    gates::closest(&missing.to_string_lossy(), known).into_iter().map(written).collect()
}

/// Proposes what leads on from the finding that decides.
fn propose(call: &mut Call<'_>, findings: &[Finding]) {
    match gates::decide(findings) {
        Some(finding) if finding.code == GateCode::WrongWorkspace && finding.candidates.is_empty() => {
            call.propose("task.list", "names the tasks there are; claim one and ask for its workspace", json!({}));
        }
        Some(finding) if finding.code == GateCode::WrongWorkspace => {
            call.propose("workspace.list", "names the workspaces and where they are", json!({}));
        }
        _ => {}
    }
}

fn answer(capability: Capability, paths: Vec<Named>, findings: Vec<Finding>) -> Out {
    let mediated = capability.names_paths() || capability == Capability::Unknown;
    let decisive = gates::decide(&findings).cloned();
    let decision = decisive.as_ref().map_or(Decision::Allow, |finding| finding.decision);
    let allowed = match (mediated, capability) {
        (false, Capability::Process) => "no rule reads commands: only a sandbox of the host's holds what it does",
        (false, _) => "no rule reads this: only a sandbox of the host's holds what it does",
        (true, _) => "no rule has anything against it",
    };
    Out {
        decision,
        allowed: decision == Decision::Allow,
        capability,
        mediated,
        code: decisive.as_ref().map(|finding| finding.code),
        reason: decisive.as_ref().map_or_else(|| allowed.to_owned(), |finding| finding.reason.clone()),
        next_step: decisive.as_ref().map(|finding| finding.next_step.clone()),
        candidates: decisive.as_ref().map(|finding| finding.candidates.clone()).unwrap_or_default(),
        repeat_helps: decisive.is_some_and(|finding| finding.repeat_helps),
        paths,
        findings,
    }
}
