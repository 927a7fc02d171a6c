//! `action.observe`: what a host did is recorded, and an agent that only sees the same again is told what it knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::attempt::{Attempt, Counted};
use super::once::Reported;
use super::{finished, ground};
use crate::domain::action::Capability;
use crate::domain::answer::Truncation;
use crate::domain::digest::Digest;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{AgentName, EvidenceId, SessionId, TaskId};
use crate::domain::profile::CheckName;
use crate::domain::refusal::Refusal;
use crate::domain::stagnation::{
    ActionEvent, Advice, Judged, Known, Lines, Mode, Observation, Process, Saw, Stagnation, TurnKind,
};
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;
use crate::ops::call::{Call, Held};
use crate::ops::op::{Op, Span};
use crate::ops::verification::subject::task_here;
use crate::ops::verification::supervise;
use crate::rules::gates::{self, Arguments, Host};
use crate::rules::stagnation;

/// How much of what is known one answer lists, the newest first.
const MAX_LISTED: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The host's own id of the call: reported again, it gets the first answer
    pub(super) call: String,
    /// The tool's name, as the host spells it
    pub(super) tool: String,
    /// The tool's arguments: a JSON object, or a text that holds one
    pub(super) arguments: Arguments,
    /// Whose names of tools these are
    #[serde(default)]
    pub(super) host: Host,
    /// The host's id of the turn (default: the call is a turn of its own)
    #[serde(default)]
    pub(super) turn: Option<String>,
    /// What began the turn
    #[serde(default)]
    pub(super) turn_kind: TurnKind,
    /// The shape of the work, where the host has one
    #[serde(default)]
    pub(super) mode: Option<Mode>,
    /// What came of it, as text; of files the disk is asked instead
    #[serde(default)]
    pub(super) result: Option<String>,
    /// The digest of what came of it, in place of the text
    #[serde(default)]
    pub(super) result_digest: Option<Digest>,
    /// The exit status, where there is one
    #[serde(default)]
    pub(super) exit: Option<i32>,
    /// The host's id of a process that goes on beside the call
    #[serde(default)]
    pub(super) process: Option<String>,
    /// Whether that process is still running
    #[serde(default)]
    pub(super) running: Option<bool>,
}

/// Where something is known from.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pointer {
    /// The call that saw it first.
    call: String,
    tool: String,
    about: String,
    lines: Vec<Lines>,
    agent: Option<AgentName>,
    session: SessionId,
    turn: Option<String>,
    at: Stamp,
    times: u32,
    result: Option<Digest>,
    exit: Option<i32>,
    /// Evidence for the check that it runs.
    evidence: Option<EvidenceId>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Out {
    call: String,
    capability: Capability,
    advice: Advice,
    note: String,
    /// What the observation means beside the others of its epoch.
    judged: Judged,
    /// Where the answer stands that was asked for again.
    known: Option<Pointer>,
    /// What is known, the newest first; filled once, when nothing new was seen for a while.
    listing: Vec<Pointer>,
    /// How much is known in all.
    known_total: usize,
    /// Whether it is what `validate` is for: a test, a build, a lint. What a host ran is no evidence.
    checks: bool,
    /// The declared check that the command runs.
    check: Option<CheckName>,
    /// The task whose attempts it counts among.
    task: Option<TaskId>,
    /// A command that was counted as an attempt, and what that means.
    attempt: Option<Counted>,
}

pub struct Observe;

impl Op for Observe {
    const NAME: &'static str = "action.observe";
    const ABOUT: &'static str = "Record what a host did, and say when an agent only sees again what it knows";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const SPAN: Span = Span::Steps;
    const POSITIONAL: &'static [&'static str] = &["call", "tool"];
    const HIDDEN: &'static [&'static str] = &["judged", "capability", "attempt", "checks", "known_total"];
    const HELP: &'static str = "\
Two observations are one if the same was done to the same subject with the same result: ranges of lines that were seen to four
fifths, and searches for the same words, are the same. Seeing something once more is fine. After two turns that show nothing
new, what is known is listed once; then an exact repeat is answered with where its answer stands. A change of the tree, a run,
a change of a task, another mode or a person's turn begins anew; looking at a process that is running never counts.
Plain tools take `path`, `first_line` and `last_line`, `query`, or `command`. Digests of files are taken from the disk. A test
that the host ran is an observation and no evidence: `validate` makes evidence. A command that failed counts as an attempt.";
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        (
            "kctl action observe call-1 file_read --arguments '{\"path\":\"src/lib.rs\",\"first_line\":1,\"last_line\":50}'",
            "fifty lines were read",
        ),
        (
            "kctl action observe call-2 Bash --host claude_code --arguments '{\"command\":\"cargo test\"}' --exit 101",
            "a command failed",
        ),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        finished::sound(&input)?;
        let session = call.session()?;
        let reported = Reported::new(&session, &input.call, request(&input));
        if let Some(out) = reported.answered::<Out>(call)? {
            propose(call, &out);
            return Ok(out);
        }
        let seen = see(call, &session, &input)?;
        let out = call.step(|call| match reported.answered::<Out>(call)? {
            // The same report came in beside this one.
            Some(first) => Ok(first),
            None => {
                let out = record(call, &session, &input, &seen)?;
                reported.keep(call, &out)?;
                Ok(out)
            }
        })?;
        propose(call, &out);
        Ok(out)
    }
}

/// What was found out before anything is recorded.
struct Seen {
    observation: Observation,
    attempt: Option<Attempt>,
    task: Option<TaskId>,
}

fn request(input: &In) -> Digest {
    let said = (&input.result, &input.result_digest, input.exit, &input.process, input.running);
    let turn = (&input.turn, input.turn_kind, input.mode);
    Digest::of_json(&(&input.tool, &input.arguments.0, input.host, turn, said))
}

fn see(call: &mut Call<'_>, session: &SessionId, input: &In) -> Result<Seen, Refusal> {
    let tool = gates::find(input.host, &input.tool);
    let found = finished::look(call, input, tool.as_ref())?;
    let (ground, tasks) = ground::of(call, session)?;
    let task = worked_on(call, &tasks)?;
    let attempt = match found.command {
        Some(command) => Some(Attempt::of(call, task.as_ref(), input, command)?),
        None => None,
    };
    let said = match (&input.result, &input.result_digest) {
        (Some(result), _) => {
            attempt.as_ref().map_or_else(|| Saw::Content(Digest::of(result.as_bytes())), |attempt| attempt.saw(result))
        }
        (None, Some(digest)) => Saw::Content(digest.clone()),
        (None, None) => Saw::Unsaid,
    };
    let mut observation = Observation {
        call: input.call.clone(),
        tool: input.tool.clone(),
        capability: tool.map_or(Capability::Unknown, |tool| tool.capability),
        subject: found.subject,
        saw: found.on_disk.unwrap_or(said),
        files: found.files,
        exit: input.exit,
        turn: input.turn.clone(),
        turn_kind: input.turn_kind,
        mode: input.mode,
        process: input.process.clone().map(|id| Process { id, running: input.running.unwrap_or(false) }),
        run: None,
        ground,
    };
    if call.load_or_blank::<Stagnation>(session)?.value.asks_for_tree(&observation) {
        observation.run = ground::running(call, &tasks)?;
        observation.ground.tree = Some(ground::tree(call)?);
    }
    Ok(Seen { observation, attempt, task: task.map(|task| task.id) })
}

/// The task that was worked on: the one whose worktree this is, or the only one that the session holds.
fn worked_on(call: &Call<'_>, tasks: &[Held<Task>]) -> Result<Option<Task>, Refusal> {
    if let [only] = tasks {
        return Ok(Some(only.value.clone()));
    }
    let here = if tasks.is_empty() { None } else { task_here(call)? };
    Ok(here.filter(|here| tasks.iter().any(|task| task.value.id == here.id)))
}

fn record(call: &mut Call<'_>, session: &SessionId, input: &In, seen: &Seen) -> Result<Out, Refusal> {
    let held = call.load_or_blank::<Stagnation>(session)?;
    let event = ActionEvent::Observed { observation: Box::new(seen.observation.clone()) };
    let state = call.record::<Stagnation>(session, held.ver, event)?.value;
    let judged = state.last.clone().expect("an observation was just folded");
    let attempt = match (&seen.attempt, &seen.task) {
        (Some(attempt), Some(task)) => attempt.supervise(call, task, input)?,
        (Some(_) | None, Some(_) | None) => None,
    };
    let evidence = match (&seen.attempt, &judged.known) {
        (Some(attempt), Some(_)) => attempt.evidence(call, seen.task.as_ref())?,
        (Some(_) | None, Some(_) | None) => None,
    };
    let key = seen.observation.key();
    let known = state.known.iter().find(|known| known.key == key && judged.known.is_some());
    let known = known.map(|known| Pointer { evidence, ..pointer(call, session, known) });
    let listing = if judged.advice == Advice::Reground { list(call, session, &state) } else { Vec::new() };
    let check = seen.attempt.as_ref().and_then(|attempt| attempt.check.clone());
    let checks_something = seen.attempt.as_ref().is_some_and(Attempt::checks_something);
    let mut note = stagnation::words(&judged);
    if checks_something {
        note.push_str("; what a host ran is an observation and no evidence: `validate` makes evidence");
    }
    Ok(Out {
        call: input.call.clone(),
        capability: seen.observation.capability,
        advice: judged.advice,
        note,
        judged,
        known,
        listing,
        known_total: state.known.len(),
        checks: checks_something,
        check,
        task: seen.task.clone(),
        attempt,
    })
}

fn list(call: &Call<'_>, session: &SessionId, state: &Stagnation) -> Vec<Pointer> {
    state.known.iter().rev().take(MAX_LISTED).map(|known| pointer(call, session, known)).collect()
}

fn pointer(call: &Call<'_>, session: &SessionId, known: &Known) -> Pointer {
    Pointer {
        call: known.call.clone(),
        tool: known.tool.clone(),
        about: known.about.clone(),
        lines: known.seen.iter().copied().collect(),
        agent: call.caller.agent.clone(),
        session: session.clone(),
        turn: known.turn.clone(),
        at: known.at,
        times: known.times,
        result: known.result.clone(),
        exit: known.exit,
        evidence: None,
    }
}

/// Says what leads on, the same for a report that is repeated.
fn propose(call: &mut Call<'_>, out: &Out) {
    if out.checks {
        let mut params = json!({});
        if let Some(task) = &out.task {
            params["task"] = json!(task);
        }
        if let Some(check) = &out.check {
            params["checks"] = json!([check]);
        }
        call.propose("validate", "runs it under kctl, which makes evidence", params);
    }
    if let (Some(counted), Some(task)) = (&out.attempt, &out.task) {
        supervise::advise(call, task, &counted.gate, &counted.step);
    }
    match out.advice {
        Advice::GoOn | Advice::Noted => return,
        Advice::Reground => call.warn("nothing_new", out.note.clone()),
        Advice::Known => call.warn("already_known", out.note.clone()),
        Advice::Unmoved => call.warn("unmoved", out.note.clone()),
    }
    if let Some(evidence) = out.known.as_ref().and_then(|known| known.evidence.as_ref()) {
        call.propose("evidence.show", "is what kctl knows of the check", json!({ "evidence": evidence }));
    }
    if let Some(task) = &out.task {
        call.propose("context.resolve", "is what applies to the task", json!({ "task": task }));
        let question = "Nothing new is found any more. What should be done?";
        let ask = json!({ "task": task, "reason": "looking further shows nothing new", "question": question });
        call.propose("task.block", "asks a person", ask);
    }
    if out.known_total > out.listing.len() && out.advice == Advice::Reground {
        let total = u64::try_from(out.known_total).ok();
        let how = "`ledger.log` with the session's stream `action:…` has every observation".to_owned();
        call.truncated.push(Truncation { what: "listing".to_owned(), limit: MAX_LISTED as u64, total, how });
    }
}
