//! `context.resolve`: what a task needs to be known, in one capsule whose whole size is bounded.

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::constitution::{Constitution, Problem};
use crate::domain::digest::Digest;
use crate::domain::effect::{Custody, Effect};
use crate::domain::fragment::{Fragment, Source, Trust};
use crate::domain::id::TaskRef;
use crate::domain::path::TreePath;
use crate::domain::plan::Place;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{Task, TaskStatus};
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::Op;
use crate::ops::task::onward::{self, Came};
use crate::ops::verification::gate;
use crate::ops::verification::subject::Subject;
use crate::ports::files::Files;
use crate::ports::passages::{Coverage, Query as Search, View};
use crate::rules::context::capsule::{Capsule, Kind, MAX_BUDGET, MIN_BUDGET, Overflow, Parts, pack};
use crate::rules::context::fragment;
use crate::rules::verification::state::{CriterionState, Standing};

/// The budget when none is given, in tokens.
const DEFAULT_BUDGET: u32 = 8_000;
/// The longest query, and the most touched paths, tags and held digests, that are looked at.
const MAX_QUERY_BYTES: usize = 4_000;
const MAX_LIST: usize = 256;
/// How many passages are looked for; the budget decides how many are served.
const MAX_PASSAGES: usize = 40;
/// How long one call may spend on indexing what is new, in milliseconds.
const MAX_INDEX_MS: u64 = 2_000;
/// The largest instruction or spec file that is read, in bytes, and how many specs.
const MAX_TEXT_BYTES: u64 = 256 * 1024;
const MAX_SPECS: usize = 50;
/// The most documents that a project adds to the constitution.
const MAX_DOCUMENTS: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task that is worked on
    #[serde(default)]
    task: Option<TaskRef>,
    /// The operation that is about to be called, such as `publish`: its mandates are served (default: the one that comes next)
    #[serde(default)]
    op: Option<String>,
    /// Paths that are touched, from the top of the work tree
    #[serde(default)]
    paths: Vec<String>,
    /// What is looked for (default: the task's title and goal)
    #[serde(default)]
    query: Option<String>,
    /// Tags of mandates to serve
    #[serde(default)]
    tags: Vec<String>,
    /// The most that the capsule may take, in tokens (default: 8000)
    #[serde(default)]
    budget_tokens: Option<u32>,
    /// Digests of fragments that the host still holds: it gets a pointer instead of the text
    #[serde(default)]
    have: Vec<Digest>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    capsule: Capsule,
    /// How much of the tracked files could be searched.
    coverage: Option<Coverage>,
    /// Documents of the project that could not be taken, and why.
    problems: Vec<Problem>,
}

pub struct Resolve;

impl Op for Resolve {
    const NAME: &'static str = "context.resolve";
    const ABOUT: &'static str = "Gather what a task needs to be known, within a budget; what is required is never cut";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &[
        "capsule.hash",
        "capsule.mandates.digest",
        "capsule.fragments.digest",
        "capsule.fragments.source",
        "coverage",
    ];
    const TEXTS: &'static [&'static str] = &["capsule.mandates.text", "capsule.fragments.text"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl context resolve t-7k2 --budget-tokens 12000", "the task, its contract, mandates, specs and passages"),
        ("kctl context resolve --query 'where are numbers parsed' --paths src/lex.rs", "without a task"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let budget = budget(input.budget_tokens)?;
        bounded(&input)?;
        let task = input.task.as_ref().map(|task| call.task(task)).transpose()?.map(|held| held.value);
        let subject = match &task {
            Some(task) => Subject::of_task(call, task)?,
            None => Subject::of_tree(call)?,
        };
        let touched = touched(task.as_ref(), &input.paths);
        let (constitution, problems) = constitution(call, &subject)?;
        let op = input.op.clone().unwrap_or_else(|| ahead(task.as_ref(), &subject).to_owned());
        let mandates = constitution.mandates_for(Some(&op), &touched, &input.tags);
        let required = match &task {
            Some(task) => required(call, task, &subject)?,
            None => Vec::new(),
        };
        let files = call.files(Some(&subject.work_tree))?;
        let (found, coverage) = passages(call, &subject, &touched, &query(&input, task.as_ref()), &input)?;
        let mut optional = vec![(Kind::Instructions, instructions(files.as_ref(), &touched))];
        optional.push((Kind::Specs, specs(files.as_ref())?));
        optional.extend(found);
        optional.push((Kind::Notes, notes(task.as_ref())));
        let parts = Parts { required, mandates, optional, have: input.have };
        let capsule = pack(parts, budget).map_err(|overflow| overflowed(&overflow, task.as_ref()))?;
        propose(call, task.as_ref())?;
        Ok(Out { capsule, coverage, problems })
    }
}

/// The operation that comes next, whose mandates are served when none is named.
fn ahead(task: Option<&Task>, subject: &Subject) -> &'static str {
    match task {
        None => "status",
        Some(task) if task.claim.is_none() => "task.claim",
        Some(_) if subject.workspace.is_none() => "workspace.ensure",
        Some(task) if task.status.is_over() => "publish",
        Some(_) => "task.finish",
    }
}

fn budget(asked: Option<u32>) -> Result<u32, Refusal> {
    match asked {
        None => Ok(DEFAULT_BUDGET),
        Some(tokens) if (MIN_BUDGET..=MAX_BUDGET).contains(&tokens) => Ok(tokens),
        Some(tokens) => {
            let words = format!("a budget is from {MIN_BUDGET} to {MAX_BUDGET} tokens, not {tokens}");
            Err(Refusal::invalid("budget_tokens", words))
        }
    }
}

fn bounded(input: &In) -> Result<(), Refusal> {
    if input.query.as_ref().is_some_and(|query| query.len() > MAX_QUERY_BYTES) {
        return Err(Refusal::invalid("query", format!("a query has at most {MAX_QUERY_BYTES} bytes")));
    }
    for (field, count) in [("paths", input.paths.len()), ("tags", input.tags.len()), ("have", input.have.len())] {
        if count > MAX_LIST {
            return Err(Refusal::invalid(field, format!("`{field}` has at most {MAX_LIST} entries, not {count}")));
        }
    }
    Ok(())
}

/// The paths that the work is about: those that were given, and the task's own as far as they are plain.
fn touched(task: Option<&Task>, paths: &[String]) -> Vec<TreePath> {
    let own = task.map(|task| task.paths.as_slice()).unwrap_or_default();
    let plain = |path: &&String| !path.contains(['*', '?', '[', '{']);
    paths.iter().chain(own.iter().filter(plain)).map(|path| TreePath::new(path.trim_start_matches("./"))).collect()
}

fn query(input: &In, task: Option<&Task>) -> String {
    match (&input.query, task) {
        (Some(query), _) => query.clone(),
        (None, Some(task)) => format!("{}\n{}", task.title, task.contract.goal),
        (None, None) => String::new(),
    }
}

/// The constitution, as worded anew by the project's accepted base. A work tree's own wording does not count (I7).
fn constitution(call: &Call<'_>, subject: &Subject) -> Result<(Constitution, Vec<Problem>), Refusal> {
    let Some(base) = &subject.base else { return Ok((Constitution::embedded().clone(), Vec::new())) };
    let git = call.repository()?;
    let listed = git.list_at(&base.commit, &TreePath::new(".decapod/constitution")).map_err(fault::of_git)?;
    let mut documents = Vec::new();
    for entry in listed.into_iter().take(MAX_DOCUMENTS) {
        let Some(name) = entry.path.as_str().filter(|name| name.ends_with(".md")).map(str::to_owned) else { continue };
        let blob = git.read_at(&base.commit, &entry.path, MAX_TEXT_BYTES).map_err(fault::of_git)?;
        documents.extend(blob.map(|blob| (name, String::from_utf8_lossy(&blob.bytes).into_owned())));
    }
    Ok(Constitution::with_project(&documents))
}

/// What is never cut: the task, its contract, its constraints, and what is unmet with the last output.
fn required(call: &Call<'_>, task: &Task, subject: &Subject) -> Result<Vec<Fragment>, Refusal> {
    let kernel = |name: &str, source, text: String| fragment::of(name, source, Trust::Kernel, text);
    let mut parts = vec![kernel(&format!("task/{}", task.id), Source::Task, about(task, subject))];
    let contract = &subject.contract;
    if !contract.scope.is_empty() {
        let text = format!("only these paths may change: {}", contract.scope.join(", "));
        parts.push(kernel("contract/scope", Source::Contract, text));
    }
    for (index, constraint) in contract.constraints.iter().chain(&contract.forbidden).enumerate() {
        let enforcer = constraint.enforced_by.as_deref().unwrap_or("nothing: it is unenforced");
        let text = format!("{}\n(enforced by {enforcer})", constraint.text);
        parts.push(kernel(&format!("contract/constraint/{}", index + 1), Source::Constraint, text));
    }
    let judged = gate::judge(call, subject)?;
    for state in &judged.criteria {
        parts.push(kernel(&format!("criterion/{}", state.id), Source::Criterion, criterion(state)));
    }
    Ok(parts)
}

fn about(task: &Task, subject: &Subject) -> String {
    let mut lines = vec![format!("{} ({}, priority {})", task.title, task.status.name(), task.priority)];
    if !task.contract.goal.is_empty() {
        lines.push(format!("goal: {}", task.contract.goal));
    }
    if let Some(claim) = &task.claim {
        lines.push(format!("held by {} with fence {} until {}", claim.agent, claim.fence, claim.until));
    }
    match &subject.workspace {
        Some(workspace) => lines.push(format!("work in {} on branch {}", workspace.path, workspace.branch)),
        None => lines.push("no workspace yet: call workspace.ensure".to_owned()),
    }
    if let Some(block) = &task.block {
        let question = block.question.as_deref().map(|question| format!("; asked: {question}")).unwrap_or_default();
        lines.push(format!("blocked: {}{question}", block.reason));
    }
    lines.push(format!("contract {}", subject.contract_digest));
    lines.join("\n")
}

fn criterion(state: &CriterionState) -> String {
    let required = if state.required { "" } else { " (optional)" };
    let mut text = format!("{}: {}{required}\nstate: {}", state.id, state.statement, state.state.words());
    if let Some(evidence) = &state.evidence {
        text.push_str(&format!(" (evidence {evidence})"));
    }
    if let Some(last) = state.last.as_ref().filter(|_| state.state != Standing::Met) {
        for reason in &last.reasons {
            text.push_str(&format!("\n{reason}"));
        }
        if !last.changed.is_empty() {
            text.push_str(&format!("\nchanged since: {}", last.changed.join(", ")));
        }
        if !last.tail.is_empty() {
            text.push_str(&format!("\nlast output:\n{}", last.tail));
        }
    }
    text
}

/// AGENTS.md from the top down to each touched path. The nearest comes first: where they disagree, it wins.
fn instructions(files: &dyn Files, touched: &[TreePath]) -> Vec<Fragment> {
    let mut dirs: Vec<String> = vec![String::new()];
    for path in touched.iter().filter_map(TreePath::as_str) {
        let mut dir = Path::new(path).parent();
        while let Some(parent) = dir.and_then(Path::to_str).filter(|parent| !parent.is_empty()) {
            if !dirs.iter().any(|known| known == parent) {
                dirs.push(parent.to_owned());
            }
            dir = Path::new(parent).parent();
        }
    }
    dirs.sort_by_key(|dir| std::cmp::Reverse(if dir.is_empty() { 0 } else { dir.matches('/').count() + 1 }));
    let name = |dir: &String| if dir.is_empty() { "AGENTS.md".to_owned() } else { format!("{dir}/AGENTS.md") };
    dirs.iter().take(MAX_LIST).filter_map(|dir| text(files, &name(dir), Source::Instructions)).flatten().collect()
}

fn specs(files: &dyn Files) -> Result<Vec<Fragment>, Refusal> {
    let names = files.list(&Place::tree("specs"), MAX_SPECS).unwrap_or_default();
    let documents = names.iter().filter(|name| name.ends_with(".md"));
    Ok(documents.filter_map(|name| text(files, &format!("specs/{name}"), Source::Spec)).flatten().collect())
}

/// A file of the project, cut at its headings.
fn text(files: &dyn Files, path: &str, source: Source) -> Option<Vec<Fragment>> {
    let bytes = files.read(&Place::tree(path), MAX_TEXT_BYTES).ok().flatten()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(fragment::of_document(path, source, Trust::Project, &text))
}

/// What the index gave, and how much of the tracked files it could look at.
type Searched = (Vec<(Kind, Vec<Fragment>)>, Option<Coverage>);

fn passages(
    call: &Call<'_>,
    subject: &Subject,
    touched: &[TreePath],
    text: &str,
    input: &In,
) -> Result<Searched, Refusal> {
    let place = call.repository()?.place().clone();
    let head = call.repository()?.head(&subject.work_tree).map_err(fault::of_git)?;
    let Some(commit) = head.at.commit().cloned() else { return Ok((Vec::new(), None)) };
    let index = (call.world.passages)(&place.common_dir);
    let view =
        View { name: subject.work_tree.display().to_string(), commit, work_tree: Some(subject.work_tree.clone()) };
    let coverage = index.refresh(&view, Duration::from_millis(MAX_INDEX_MS));
    let search = Search {
        text: text.to_owned(),
        touched: touched.to_vec(),
        op: input.op.clone(),
        tags: input.tags.clone(),
        limit: MAX_PASSAGES,
    };
    let found = index.search(&view, &search);
    let map = fragment::of_map(&index.map(&view, touched));
    let passages = found.passages.iter().map(fragment::of_passage).collect();
    Ok((vec![(Kind::Passages, passages), (Kind::FileMap, map)], Some(coverage)))
}

fn notes(task: Option<&Task>) -> Vec<Fragment> {
    let note = task.and_then(|task| task.note.as_ref());
    let last = |note: &String| fragment::of("task/note", Source::Note, Trust::Recorded, note.as_str());
    note.map(last).into_iter().collect()
}

fn overflowed(overflow: &Overflow, task: Option<&Task>) -> Refusal {
    let mut params = json!({ "budget_tokens": overflow.needed });
    if let Some(task) = task {
        params["task"] = json!(task.id);
    }
    Refusal::new(Code::CONTEXT_OVERFLOW, overflow.to_string())
        .with("field", "budget_tokens")
        .with("budget", overflow.budget)
        .with("needed", overflow.needed)
        .with("parts", &overflow.parts)
        .next("context.resolve", "asks for the room that is needed", params)
}

fn propose(call: &mut Call<'_>, task: Option<&Task>) -> Result<(), Refusal> {
    let Some(task) = task else { return Ok(()) };
    onward::propose(call, task, Came::Unverified)?;
    let held = call.caller.session.is_some()
        && task.live_claim(call.now()).is_some_and(|claim| claim.session == call.caller.session);
    if held && task.status == TaskStatus::Claimed {
        call.propose("task.complete", "claims that it is done", json!({ "task": task.id, "summary": "what was done" }));
    }
    Ok(())
}
