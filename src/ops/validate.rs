//! `validate`: runs what is due, skips what is fresh, and says where every criterion stands.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::contract::{CriterionId, LIMITS};
use crate::domain::effect::{Custody, Effect};
use crate::domain::failure::{Item, Kind as ItemKind, Parser, Tests};
use crate::domain::id::{CommitmentRef, EvidenceId, TaskRef};
use crate::domain::path::TreePath;
use crate::domain::profile::{CheckKind, CheckName};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::{Candidate, Record, Run, Verdict};
use crate::domain::task::Task;
use crate::domain::tree::Snapshot;
use crate::ops::call::Call;
use crate::ops::custody;
use crate::ops::op::{Op, Span};
use crate::ops::verification::assess;
use crate::ops::verification::baseline::{self, Against, Newly};
use crate::ops::verification::beside;
use crate::ops::verification::execute;
use crate::ops::verification::gap;
use crate::ops::verification::subject::Subject;
use crate::ops::verification::suite::{self, Came};
use crate::rules::inputs;
use crate::rules::near::near;
use crate::rules::verification::due::{Due, What, in_order};
use crate::rules::verification::state::{AGREEING_RUNS, CriterionState, Standing};

mod ad_hoc;
mod propose;

use propose::{Outcome, propose};

/// How many failing items an answer lists of one check.
const MAX_SHOWN_ITEMS: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose criteria are shown, in its workspace (default: inside a task's worktree, that task; elsewhere none)
    #[serde(default)]
    task: Option<TaskRef>,
    /// The commitment whose criteria are shown
    #[serde(default, alias = "commit")]
    commitment: Option<CommitmentRef>,
    /// `task`: the criteria; `branch`: what publication needs as well; `ci`: what a runner without custody can show
    /// (default: `task` where there is a task or a commitment, otherwise `branch`)
    #[serde(default)]
    scope: Option<Scope>,
    /// Only these criteria
    #[serde(default)]
    criteria: Vec<CriterionId>,
    /// Only these checks, of those that are due
    #[serde(default)]
    checks: Vec<CheckName>,
    /// Run also what has fresh evidence
    #[serde(default)]
    rerun: bool,
    /// Run the checks on the accepted base as well, and say what is a regression and what failed before
    #[serde(default)]
    baseline: bool,
    /// Only this command, for bash, run and recorded as a check is: what it says is asserted and shows no criterion
    #[serde(default)]
    run: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Task,
    Branch,
    Ci,
}

/// What came of one thing that was due.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Shown {
    check: String,
    /// A command of the caller's own.
    #[serde(skip)]
    is_ad_hoc: bool,
    verdict: Verdict,
    /// Whether nothing was run because evidence for exactly these inputs was there.
    fresh: bool,
    /// Seconds that the run took.
    seconds: f64,
    reasons: Vec<String>,
    criteria: Vec<CriterionId>,
    pub evidence: Option<EvidenceId>,
    /// Tests as the output counts them.
    tests: Option<Tests>,
    /// The first of what failed, with its place, or else how the output ends; `evidence.show` has all of it.
    failing: Vec<String>,
    /// How it stands against the base, with `baseline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    against_base: Option<Against>,
    /// What fails here and did not on the base, with `baseline`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    newly_failing: Vec<String>,
    /// The last lines of the output, unless it passed.
    tail: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    scope: Scope,
    work_tree: String,
    candidate: Candidate,
    results: Vec<Shown>,
    criteria: Vec<CriterionState>,
    /// Whether everything that was asked for has passed on exactly these inputs.
    verified: bool,
    /// Whether nothing that was looked at stands against publication; `publish` judges the rest.
    publication_ready: bool,
    /// How many checks could run at once, if some had to wait for that (`limits.parallel`).
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_bound: Option<usize>,
}

impl Shown {
    pub fn is_of(&self, check: &str) -> bool {
        self.check == check
    }

    pub fn passed(&self) -> bool {
        self.verdict == Verdict::Pass
    }
}

/// The columns of results.
pub const COLUMNS: &[&str] = &["check", "verdict", "against_base?", "fresh", "seconds", "reasons", "evidence"];
/// What a person reads below them: what failed; and the end of the output, on asking for more.
pub const TEXTS: &[&str] = &["results.failing", "results.tail"];

pub struct Validate;

impl Op for Validate {
    const NAME: &'static str = "validate";
    const ABOUT: &'static str = "Run the checks that are due, skip what is fresh, and say where each criterion stands";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const SPAN: Span = Span::Steps;
    const ASKS_BASE: bool = true;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const COLUMNS: &'static [&'static str] = COLUMNS;
    const HOLDS: Option<&'static str> = Some("verified");
    const HIDDEN: &'static [&'static str] = &[
        "scope",
        "work_tree",
        "candidate",
        "results.criteria",
        "results.tail",
        "criteria.required",
        "criteria.strength",
        "criteria.last",
    ];
    const TEXTS: &'static [&'static str] = TEXTS;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl validate t-7k2", "the task's criteria, in its workspace; exits with 8 unless all of them hold"),
        ("kctl validate --scope branch", "everything that publication needs; inside a task's worktree, for that task"),
        ("kctl validate t-7k2 --checks tests --rerun", "one check, even if its evidence is fresh"),
        ("kctl validate t-7k2 --baseline", "what this work broke, and what was broken before"),
        ("kctl validate t-7k2 --run 'cargo test parse'", "a command of your own, recorded; it is no evidence"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let subject = Subject::named(call, input.task.as_ref(), input.commitment.as_ref())?;
        if let Some(task) = &subject.task {
            let task = call.load_or_blank::<Task>(task)?.value;
            if custody::is_stranger(call, &task) {
                let words =
                    format!("task `{}` is held by another session: what is run counts for nothing of it", task.id);
                call.warn("not_counted", words);
            } else {
                custody::refuse_strangers(call, &task)?;
            }
        }
        let scope = input.scope.unwrap_or(if subject.task.is_some() || subject.commitment.is_some() {
            Scope::Task
        } else {
            Scope::Branch
        });
        let due = match &input.run {
            Some(run) => vec![ad_hoc::due(call, &subject, run, &input)?],
            None => wanted(&subject, scope, &input)?,
        };
        let done = carry_out(call, &subject, due, How { rerun: input.rerun, baseline: input.baseline })?;
        answer(call, &subject, scope, done)
    }
}

/// What came of what was due, and the tree after it.
pub struct Done {
    pub results: Vec<Shown>,
    pub after: Snapshot,
    /// How many checks could run at once, if some had to wait for that.
    pub bound: Option<usize>,
}

/// What is asked beside running what has no fresh evidence.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// What has fresh evidence is run as well.
    pub rerun: bool,
    /// The checks are run on the accepted base as well.
    pub baseline: bool,
}

/// Shows everything of `due` that has no fresh evidence. There is no other way to run a check.
///
/// # Errors
/// When the tree or the ledger cannot be read, or what came of a check cannot be recorded.
pub fn carry_out(call: &mut Call<'_>, subject: &Subject, due: Vec<Due>, how: How) -> Result<Done, Refusal> {
    let before = assess::snapshot(call, subject)?;
    warn_of_links(call, subject, &due, &before);
    for (code, words) in beside::warnings(call, subject, &due, &before) {
        call.warn(code, words);
    }
    if let Some(words) = gap::words(call, subject, &before)? {
        call.warn("gate_gap", words);
    }
    let assessed = assess::look_up(call, subject, due, &before)?;
    let base = if how.baseline {
        let due: Vec<Due> = assessed.iter().map(|one| one.due.clone()).collect();
        Some(baseline::show(call, subject, &due)?)
    } else {
        None
    };
    let done = suite::show(call, subject, assessed, &before, how.rerun)?;
    // The tree is read once more if anything ran: a check that edited files must not vouch for the one before it.
    let after = if done.ran() { assess::snapshot(call, subject)? } else { before };
    warn_of_uncounted(call, &done.came);
    warn_of_again(call, &done.again);
    let bound = done.bound;
    let mut results = Vec::new();
    for (due, came) in done.came {
        let told = told(&due, came.clone());
        results.push(against(call, subject, told, (&due, came), base.as_deref())?);
    }
    Ok(Done { results, after, bound })
}

/// Warns of checks for tests that passed without a count: tests that are left out would not be noticed.
fn warn_of_uncounted(call: &mut Call<'_>, came: &[(Due, Came)]) {
    let uncounted = |(due, came): &(Due, Came)| {
        let What::Check { name, check } = &due.what else { return None };
        let meant = check.kind == CheckKind::Test && check.parser != Parser::None;
        let told = check.report.is_some() || check.min_tests.is_some();
        let run = came.clone().run().filter(|run| run.verdict() == Some(Verdict::Pass))?;
        let counted = run.record.as_ref().is_none_or(|record| record.tests.is_some());
        (meant && !told && !counted).then(|| format!("`{name}`"))
    };
    let names: Vec<String> = came.iter().filter_map(uncounted).collect();
    if !names.is_empty() {
        let words = "passed, and no count of its tests can be read, so that tests left out go unnoticed: \
            set `parser` or `report` for it, or `min_tests` to make a count required";
        call.warn("tests_not_counted", format!("{} {words}", names.join(", ")));
    }
}

/// Says why a check ran more often than was asked for.
fn warn_of_again(call: &mut Call<'_>, again: &[(String, u32)]) {
    for (check, runs) in again {
        let times = if *runs == 1 { "once".to_owned() } else { format!("{runs} times") };
        let words = format!(
            "`{check}` passed and failed on exactly these inputs, so it was run again, {times}: it is believed when \
             {AGREEING_RUNS} runs in a row agree"
        );
        call.warn("run_again", words);
    }
}

/// How many links a warning names.
const MAX_LINKS_NAMED: usize = 10;

/// Warns of inputs that are symbolic links to what no input digest covers: a change there makes nothing stale.
fn warn_of_links(call: &mut Call<'_>, subject: &Subject, due: &[Due], snapshot: &Snapshot) {
    let mut links = call.world.trees.links_out(&subject.work_tree, snapshot);
    if links.is_empty() {
        return;
    }
    let named = |due: &Due| inputs::narrowed(snapshot, &due.inputs()).unwrap_or_default();
    let inputs: HashSet<&TreePath> = due.iter().flat_map(named).map(|entry| &entry.path).collect();
    links.retain(|link| inputs.contains(link));
    if links.is_empty() {
        return;
    }
    let more = links.len().saturating_sub(MAX_LINKS_NAMED);
    let names: Vec<String> = links.iter().take(MAX_LINKS_NAMED).map(|link| format!("`{link}`")).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let words = "lead out of the tree or to ignored files; a change of what lies there does not make evidence stale";
    call.warn("inputs_outside", format!("symbolic links {words}: {}{more}", names.join(", ")));
}

/// What is due in `scope`, narrowed to what was asked for, with every check after those it needs.
fn wanted(subject: &Subject, scope: Scope, input: &In) -> Result<Vec<Due>, Refusal> {
    let required = scope != Scope::Task || !subject.contract.requires_something() || subject.owes_required();
    let mut due = subject.due(required);
    if !input.criteria.is_empty() {
        for id in &input.criteria {
            if subject.contract.criterion(id).is_none() {
                return Err(Refusal::invalid("criteria", format!("`{id}` is no criterion here")));
            }
        }
        due.retain(|one| one.criteria.iter().any(|id| input.criteria.contains(id)));
    }
    if !input.checks.is_empty() {
        let all: Vec<String> = due.iter().map(Due::title).collect();
        if let Some(unknown) = input.checks.iter().find(|name| !all.contains(&name.to_string())) {
            let near = near(unknown.as_str(), all.iter().map(String::as_str));
            return Err(Refusal::new(Code::CHECK_UNKNOWN, format!("no check `{unknown}` is due here"))
                .with("field", "checks")
                .with("near", near)
                .with("known", &all)
                .next("check.list", "lists the checks that are declared, due or not", json!({})));
        }
        due.retain(|one| input.checks.iter().any(|name| one.title() == name.as_str()));
    }
    Ok(in_order(due, subject.judges()))
}

/// The parameters that name what is validated.
fn reference(subject: &Subject) -> serde_json::Value {
    match (&subject.task, &subject.commitment) {
        (Some(task), _) => json!({ "task": task }),
        (None, commitment) => json!({ "commitment": commitment }),
    }
}

/// What is told of one thing that was due.
fn told(due: &Due, came: Came) -> Shown {
    match came {
        Came::NotRun(verdict, why) => not_run(due, verdict, why),
        Came::Fresh(run) => shown(due, &run, true),
        Came::Ran(run) => shown(due, &run, false),
    }
}

/// Adds how it stands against the base, where that was asked.
fn against(
    call: &mut Call<'_>,
    subject: &Subject,
    shown: Shown,
    (due, came): (&Due, Came),
    base: Option<&[(String, Run)]>,
) -> Result<Shown, Refusal> {
    let Some(base) = base.filter(|_| matches!(due.what, What::Check { .. })) else { return Ok(shown) };
    let there = base.iter().find(|(key, _)| *key == due.key).map(|(_, run)| run);
    let (newly_failing, newly) = match (came.run(), there) {
        (Some(here), Some(there)) => {
            let items = baseline::newly_failing(&here, there);
            let keys: Vec<String> = items.iter().map(|item| item.key()).collect();
            (keys, baseline::newly(call, subject, &here, &items)?)
        }
        _ => (Vec::new(), Newly::Nothing),
    };
    if !newly_failing.is_empty() {
        let more = newly_failing.len().saturating_sub(MAX_SHOWN_ITEMS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let first = &newly_failing[..newly_failing.len().min(MAX_SHOWN_ITEMS)];
        let words = format!("newly failing: {}{more} (check `{}`)", first.join(", "), shown.check);
        call.warn("newly_failing", words);
    }
    Ok(Shown { against_base: Some(Against::of(shown.verdict, there, newly)), newly_failing, ..shown })
}

fn not_run(due: &Due, verdict: Verdict, why: String) -> Shown {
    Shown {
        check: due.row(),
        is_ad_hoc: due.is_ad_hoc(),
        verdict,
        fresh: false,
        seconds: 0.0,
        reasons: vec![why],
        criteria: due.criteria.clone(),
        evidence: None,
        tests: None,
        failing: Vec::new(),
        against_base: None,
        newly_failing: Vec::new(),
        tail: String::new(),
    }
}

fn shown(due: &Due, run: &Run, fresh: bool) -> Shown {
    let record = run.record.as_ref().expect("a finished run has a record");
    Shown {
        check: due.row(),
        is_ad_hoc: due.is_ad_hoc(),
        verdict: run.verdict().unwrap_or(record.verdict),
        fresh,
        seconds: record.ended.ms().saturating_sub(record.started.ms()).max(0) as f64 / 1000.0,
        reasons: record.reasons.clone(),
        criteria: due.criteria.clone(),
        evidence: Some(run.id.clone()),
        tests: record.tests,
        failing: failing(record),
        against_base: None,
        newly_failing: Vec::new(),
        tail: if record.verdict == Verdict::Pass { String::new() } else { record.tail.clone() },
    }
}

/// The few lines that matter: the first of what failed, one line each, where it failed first. Where nothing was made out
/// in the output, how it ended.
fn failing(record: &Record) -> Vec<String> {
    let items = record.failing.as_ref().map_or(&[] as &[Item], |failing| &failing.items);
    let is_named = |item: &&Item| !matches!(item.kind, ItemKind::Line | ItemKind::Exit | ItemKind::Signal);
    let named: Vec<String> = items.iter().filter(is_named).take(MAX_SHOWN_ITEMS).map(failing_line).collect();
    if !named.is_empty() || record.verdict == Verdict::Pass {
        return named;
    }
    let lines: Vec<&str> = record.tail.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(MAX_SHOWN_ITEMS)..].iter().map(|line| (*line).to_owned()).collect()
}

fn failing_line(item: &Item) -> String {
    let place = match (&item.file, item.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(file), None) => format!("{file}: "),
        (None, _) => String::new(),
    };
    format!("{place}{}: {}", item.key(), item.message)
}

fn answer(
    call: &mut Call<'_>,
    subject: &Subject,
    scope: Scope,
    Done { results, after, bound }: Done,
) -> Result<Out, Refusal> {
    let after = &after;
    let assessed = assess::look_up(call, subject, subject.due(false), after)?;
    let criteria = assess::criteria(call, subject, &assessed, after)?;
    let candidate = execute::candidate(call, subject, after)?;
    let is_waived = |id: &CriterionId| criteria.iter().any(|one| one.id == *id && one.state == Standing::Waived);
    let waived = |shown: &Shown| !shown.criteria.is_empty() && shown.criteria.iter().all(is_waived);
    let shown_pass = results.iter().all(|shown| shown.verdict == Verdict::Pass || waived(shown));
    let met = criteria.iter().filter(|criterion| criterion.required).all(|criterion| criterion.state.is_settled());
    // That limits are kept shows nothing of what was asked for.
    let is_limits = |id: &CriterionId| id.as_str() == LIMITS;
    let asked = results.iter().filter(|shown| !shown.is_ad_hoc);
    let is_ad_hoc = results.iter().any(|shown| shown.is_ad_hoc);
    let something = asked.map(|shown| shown.criteria.as_slice()).any(|of| !matches!(of, [only] if is_limits(only)))
        || criteria.iter().any(|state| !is_limits(&state.id));
    let verified = shown_pass && met && something;
    let publication_ready = verified && !is_ad_hoc && candidate.clean && scope == Scope::Branch;
    propose(call, subject, &results, &criteria, Outcome { verified, publication_ready, scope })?;
    Ok(Out {
        scope,
        work_tree: subject.work_tree.display().to_string(),
        candidate,
        results,
        criteria,
        verified,
        publication_ready,
        parallel_bound: bound,
    })
}
