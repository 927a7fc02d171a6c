//! `turn.end`: what a host's Stop hook asks. Recorded verdicts are judged and nothing is run; whatever goes wrong, the
//! turn is let go (I10).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::look;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{SessionId, TaskId, TaskRef};
use crate::domain::refusal::{Code, Next, Refusal};
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::{Call, Held};
use crate::ops::op::{Needs, Op, Span};
use crate::ops::task::needs;
use crate::ops::verification::gate::{self, Judged};
use crate::ops::verification::rejection::{self, Rejection, Unmet};
use crate::ops::verification::subject::Subject;
use crate::rules::contract;
use crate::rules::verification::state::{Completion, CompletionFacts, CriterionState, completion};
use crate::rules::verification::turn::{self, AtOnce, Decision, Message, Why};

/// How often the end is judged anew when the task moved meanwhile.
const MAX_TRIES: usize = 3;
/// The longest id of a turn, in bytes.
const MAX_TURN_BYTES: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task that was worked on (default: that of the worktree, else the only one that the session holds)
    #[serde(default)]
    task: Option<TaskRef>,
    /// Work of the host goes on in the background
    #[serde(default)]
    background: bool,
    /// What the agent asked the person; the task is then blocked until it is answered
    #[serde(default)]
    question: Option<String>,
    /// The host's id of the turn: told twice within a minute, it counts once
    #[serde(default)]
    turn: Option<String>,
    /// The host goes on already because an earlier end was refused: then every end counts
    #[serde(default)]
    stop_active: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    decision: Decision,
    /// For the model, if it is to go on.
    message: String,
    why: Why,
    task: Option<TaskId>,
    /// Where the task stands; none where nobody looked.
    state: Option<Completion>,
    unmet: Vec<Unmet>,
    /// How often finishing was refused since the last progress.
    attempt: u32,
    /// How many refusals are left before turns are let go.
    attempts_left: u32,
}

pub struct End;

impl Op for End {
    const NAME: &'static str = "turn.end";
    const ABOUT: &'static str = "Say whether an agent's turn may end; for a host's Stop hook, and nothing is run";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const NEEDS: Needs = Needs::Whatever;
    const SPAN: Span = Span::Steps;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["unmet"];
    const TEXTS: &'static [&'static str] = &["message"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl turn end --turn 7 --json", "`decision` is `continue` with a `message` for the model, or `let_go`"),
        ("kctl turn end --question 'Which format do clients expect?'", "blocks the task until a person answers"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let mut ended = judge(call, &input);
        for _ in 1..MAX_TRIES {
            match &ended {
                // Somebody wrote to the task between the look and the record.
                Err(why) if why.code() == Code::LEDGER_BUSY && why.details().contains_key("found") => {
                    ended = judge(call, &input);
                }
                Ok(_) | Err(_) => break,
            }
        }
        Ok(ended.unwrap_or_else(|why| {
            call.warn("turn_not_judged", format!("{}: {}", why.code().name(), why.message()));
            let_go(Why::NotJudged, None)
        }))
    }
}

fn let_go(why: Why, task: Option<&Task>) -> Out {
    Out {
        decision: why.decision(),
        message: String::new(),
        why,
        task: task.map(|task| task.id.clone()),
        state: None,
        unmet: Vec::new(),
        attempt: task.map_or(0, |task| task.rejections.total),
        attempts_left: task.map_or(0, |task| task.rejections.left()),
    }
}

fn judge(call: &mut Call<'_>, input: &In) -> Result<Out, Refusal> {
    if call.views().is_err() {
        let unread = call.warnings.iter().any(|warning| warning.code == "not_read");
        return Ok(let_go(if unread { Why::NotJudged } else { Why::NoLedger }, None));
    }
    let Some(session) = call.caller.session.clone() else { return Ok(let_go(Why::NoSession, None)) };
    let Some(held) = look::task(call, input.task.as_ref(), &session)? else { return Ok(let_go(Why::NoTask, None)) };
    let question = input.question.as_deref().filter(|question| !question.trim().is_empty());
    let at_once = AtOnce {
        over: held.value.status.is_over(),
        held: is_held(call, &held.value, &session),
        asked: question.is_some(),
        blocked: held.value.block.is_some(),
        background: input.background,
    };
    match (turn::at_once(at_once), question) {
        (Some(Why::Asked), Some(question)) => ask(call, &held, question),
        (Some(why), _) => Ok(let_go(why, Some(&held.value))),
        (None, _) => look(call, input, &held),
    }
}

fn is_held(call: &Call<'_>, task: &Task, session: &SessionId) -> bool {
    task.live_claim(call.now()).is_some_and(|claim| claim.session.as_ref() == Some(session))
}

/// Blocks the task on a person's answer.
fn ask(call: &mut Call<'_>, held: &Held<Task>, question: &str) -> Result<Out, Refusal> {
    contract::text("question", question, 1)?;
    let same = |asked: &String| asked == question;
    if !held.value.block.as_ref().is_some_and(|block| block.question.as_ref().is_some_and(same)) {
        let reason = held.value.block.as_ref().map_or("a person was asked", |block| &block.reason).to_owned();
        let blocked = TaskEvent::Blocked { reason, question: Some(question.to_owned()) };
        call.step(|call| call.record::<Task>(&held.value.id, held.ver, blocked.clone()).map(drop))?;
    }
    Ok(Out { state: Some(Completion::Blocked), ..let_go(Why::Asked, Some(&held.value)) })
}

fn look(call: &mut Call<'_>, input: &In, held: &Held<Task>) -> Result<Out, Refusal> {
    let task = &held.value;
    let subject = Subject::of_task(call, task)?;
    let judged = gate::judge(call, &subject)?;
    let waits_for = needs::unmet(call, task)?;
    let turn = input.turn.as_ref().filter(|turn| !turn.is_empty() && turn.len() <= MAX_TURN_BYTES);
    let told_before = !input.stop_active && turn.is_some_and(|id| task.rejections.is_same_turn(id, call.now()));
    let facts = look::facts(call, &subject, (task, &judged), (!waits_for.is_empty(), told_before))?;
    let why = turn::judge(&facts);
    let task = match why {
        Why::Unmet | Why::Corrective if !told_before => count(call, held, &judged, turn)?,
        Why::Exhausted if !facts.is_shut => exhaust(call, held, &judged, turn)?,
        _ => held.value.clone(),
    };
    let rejection = Rejection { task: &task, judged: &judged, waits_for: &waits_for };
    let claimed_done = task.completion.is_some();
    let state = completion(CompletionFacts { blocked: false, claimed_done, criteria: &judged.criteria });
    let mut out = Out { state: Some(state), unmet: rejection.unmet(), ..let_go(why, Some(&task)) };
    match why {
        Why::Verified => call.propose("task.finish", "asks the gate", json!({ "task": task.id })),
        Why::Unmet | Why::Corrective | Why::AwaitsPerson | Why::Exhausted => {
            call.next.extend(rejection.refusal().proposals().iter().cloned());
        }
        _ => {}
    }
    if out.decision == Decision::Continue {
        out.message = message(call, &rejection, &judged.unmet(), &task);
    }
    Ok(out)
}

fn count(call: &mut Call<'_>, held: &Held<Task>, judged: &Judged, turn: Option<&String>) -> Result<Task, Refusal> {
    call.step(|call| Ok(rejection::count(call, held, judged, turn.cloned())?.value))
}

/// Counts this refusal as well, and records that there will be no more.
fn exhaust(call: &mut Call<'_>, held: &Held<Task>, judged: &Judged, turn: Option<&String>) -> Result<Task, Refusal> {
    call.step(|call| {
        let counted = rejection::count(call, held, judged, turn.cloned())?;
        Ok(rejection::give_up(call, &counted, judged)?.value)
    })
}

fn message(call: &Call<'_>, rejection: &Rejection<'_>, unmet: &[&CriterionState], task: &Task) -> String {
    let next: Vec<String> = call.next.iter().map(step).collect();
    let (attempt, left) = (task.rejections.total, task.rejections.left());
    Message { sentence: &rejection.sentence(), attempt, left, unmet, next: &next }.text()
}

/// A proposal as a command, for a model that has a shell.
fn step(next: &Next) -> String {
    let words = next.op.replace('.', " ");
    let flags = next.params.as_object().into_iter().flatten().map(|(name, value)| match value {
        Value::String(text) if name == "task" => format!(" {text}"),
        Value::String(text) => format!(" --{name} '{}'", text.replace('\'', r"'\''")),
        value => format!(" --{name} '{value}'"),
    });
    let mut ordered: Vec<String> = flags.collect();
    ordered.sort_by_key(|flag| flag.starts_with(" --"));
    format!("`kctl {words}{}` ({})", ordered.concat(), next.why)
}
