//! Who calls, and whether they hold what the operation asks for. The same for every door; there is no exemption list
//! and no variable that skips it.

use crate::domain::caller::{Caller, Grade};
use crate::domain::effect::Custody;
use crate::domain::id::{SessionId, SessionRef, TaskId, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::session::Session;
use crate::domain::task::{Claim, Task, TaskStatus};
use crate::domain::workspace::{Workspace, WorkspaceStatus};
use crate::ports::world::token_digest;

use super::call::{Call, Held};
use super::fault;
use super::waist::{Envelope, Presented};

use serde_json::json;

/// Where a session's id and token may stand in the environment, for calls that do not carry them.
pub const SESSION_VAR: &str = "KCTL_SESSION";
pub const TOKEN_VAR: &str = "KCTL_TOKEN";

/// The warning that a session was named and does not hold, where none is needed.
pub const SESSION_INVALID: &str = "session_invalid";

/// Verifies what the call presents.
///
/// # Errors
/// `SESSION_INVALID` for a missing, wrong or expired token, where the operation needs custody. Where it needs none the
/// caller is then unknown, and told so.
pub fn identify(
    call: &mut Call<'_>,
    presented: &Presented,
    envelope: &Envelope,
    custody: Custody,
) -> Result<Caller, Refusal> {
    let unknown = Caller { grade: presented.grade, host: presented.host.clone(), ..Caller::unknown(presented.door) };
    let presented_in_words = envelope.session.is_some() || envelope.token.is_some();
    let (named, token) = named(call, envelope);
    let Some(named) = named else {
        return match token {
            Some(_) => Err(fault::session_invalid("the token is not one of kctl's", &unknown)),
            None => Ok(unknown),
        };
    };
    if call.ledger.is_none() {
        return Ok(unknown);
    }
    match verify(call, &named, token, &unknown) {
        Ok(session) => Ok(Caller {
            // A session is an agent's, whatever the door: a person does not act through one.
            grade: Grade::Asserted,
            agent: session.agent,
            host: session.host.or(unknown.host),
            session: Some(session.id),
            door: unknown.door,
        }),
        Err(refusal) if custody == Custody::None && refusal.code() == Code::SESSION_INVALID => {
            let from = if presented_in_words { "" } else { " (named in the environment)" };
            call.warn(SESSION_INVALID, format!("{}{from}; this call is made without a session", refusal.message()));
            Ok(unknown)
        }
        Err(refusal) => Err(refusal),
    }
}

/// The session that the call names, and the token it carries.
fn named(call: &Call<'_>, envelope: &Envelope) -> (Option<String>, Option<String>) {
    let env = |name| call.world.env.var(name).filter(|value| !value.is_empty());
    let token = envelope.token.clone().or_else(|| if envelope.session.is_none() { env(TOKEN_VAR) } else { None });
    let named = envelope.session.clone().or_else(|| token_session(token.as_deref())).or_else(|| env(SESSION_VAR));
    (named, token)
}

/// The session that the call names, if it was released. Its token went with it; one that is sent must be right.
pub fn released(call: &Call<'_>, envelope: &Envelope) -> Result<Option<SessionId>, Refusal> {
    if call.ledger.is_none() {
        return Ok(None);
    }
    let (named, token) = named(call, envelope);
    let Some(Ok(id)) = named.map(|named| named.parse::<SessionId>()) else { return Ok(None) };
    let Some(Held { value: session, .. }) = call.load::<Session>(&id)? else { return Ok(None) };
    let right = token.is_none_or(|token| session.token_digest.as_ref() == Some(&token_digest(&token)));
    Ok((session.released && right).then_some(id))
}

/// A token begins with the id of its session.
fn token_session(token: Option<&str>) -> Option<String> {
    token?.split_once('.').map(|(session, _)| session.to_owned())
}

fn verify(call: &mut Call<'_>, named: &str, token: Option<String>, unknown: &Caller) -> Result<Session, Refusal> {
    let invalid = |why: &str| fault::session_invalid(why, unknown);
    let session = named_session(call, named, unknown)?;
    let token = token.or_else(|| call.world.secrets.find(&session.id));
    let Some(token) = token else {
        return Err(invalid("its token is neither in the call nor in the state directory"));
    };
    call.secrets.extend(token.rsplit('.').next().map(str::to_owned));
    let now = call.now();
    if session.token_digest.as_ref() != Some(&token_digest(&token)) {
        return Err(invalid("the token is wrong"));
    }
    if session.released {
        return Err(invalid("it was released"));
    }
    if !session.is_live(now) {
        return Err(invalid(&format!("it expired at {}", session.until)));
    }
    Ok(session)
}

/// The session whose id is `named`, or the only one whose id begins so.
fn named_session(call: &Call<'_>, named: &str, unknown: &Caller) -> Result<Session, Refusal> {
    let invalid = |why: &str| fault::session_invalid(why, unknown);
    let reference = SessionRef::try_from(named.to_owned()).map_err(|why| invalid(&why.to_string()))?;
    match call.find::<Session>(reference.as_str(), SessionId::NOUN, "session.list") {
        Ok(held) => Ok(held.value),
        Err(none) if none.code() == Code::NOT_FOUND => {
            let candidates = none.details().get("candidates").cloned();
            let refusal = invalid(none.message());
            Err(if let Some(candidates) = candidates { refusal.with("candidates", candidates) } else { refusal })
        }
        Err(other) => Err(other),
    }
}

/// Refuses unless the caller holds what `custody` asks for.
///
/// # Errors
/// The custody refusals, each with the way to what is missing.
pub fn judge(call: &mut Call<'_>, custody: Custody, task: Option<&TaskRef>) -> Result<(), Refusal> {
    match custody {
        Custody::None => Ok(()),
        Custody::Session if call.caller.session.is_some() || call.caller.is_person() => Ok(()),
        Custody::Session => Err(fault::session_required(&call.caller)),
        Custody::Person if call.caller.is_person() => Ok(()),
        Custody::Person => Err(person_required(&call.caller)),
        Custody::Claim | Custody::Workspace => {
            let task = task.expect("an operation under a claim names its task");
            let id = judge_claim(call, task, custody == Custody::Workspace)?;
            if custody == Custody::Workspace { judge_workspace(call, &id) } else { Ok(()) }
        }
    }
}

fn judge_claim(call: &mut Call<'_>, task: &TaskRef, after_finish: bool) -> Result<TaskId, Refusal> {
    let session = call.caller.session.clone().ok_or_else(|| fault::session_required(&call.caller))?;
    let task = call.task(task)?.value;
    let now = call.now();
    let claim_next = |refusal: Refusal, task: &Task| {
        let refusal = refusal.with("task", &task.id);
        if task.status == TaskStatus::Finished {
            let params = json!({ "task": task.id, "reason": "to publish what is finished" });
            return refusal.next("task.takeover", "takes over what is left to do: publication", params);
        }
        refusal.next("task.claim", "takes the lease", json!({ "task": task.id }))
    };
    // What is finished is still to be published by whoever finished it.
    let ends = task.status == TaskStatus::Cancelled || (task.status == TaskStatus::Finished && !after_finish);
    if ends {
        return Err(Refusal::new(Code::CONFLICT, format!("task `{}` is {}", task.id, task.status.name()))
            .with("task", &task.id)
            .with("status", task.status)
            .next("task.show", "shows how it ended", json!({ "task": task.id })));
    }
    match task.claim.as_ref() {
        None => {
            let words = format!("task `{}` is not claimed", task.id);
            Err(claim_next(Refusal::new(Code::CLAIM_REQUIRED, words), &task))
        }
        Some(claim) if claim.session.as_ref() == Some(&session) && (claim.until > now || task.status.is_over()) => {
            call.claim = Some(claim.clone());
            Ok(task.id.clone())
        }
        Some(claim) if claim.session.as_ref() == Some(&session) => {
            let words = format!("the claim on task `{}` ran out at {}", task.id, claim.until);
            Err(claim_next(Refusal::new(Code::CLAIM_REQUIRED, words), &task))
        }
        Some(_) => Err(held(call, &task)?),
    }
}

/// Tells who holds the task, and how to take over a claim that ran out.
///
/// # Errors
/// When the ledger cannot be read.
pub fn held(call: &Call<'_>, task: &Task) -> Result<Refusal, Refusal> {
    let now = call.now();
    let refusal = fault::task_held(task, now);
    let Some(claim) = &task.claim else { return Ok(refusal) };
    let gone = match &claim.session {
        Some(session) => !call.load::<Session>(session)?.is_some_and(|held| held.value.is_live(now)),
        None => false,
    };
    if claim.until > now && !gone {
        return Ok(refusal);
    }
    let params = json!({ "task": task.id, "reason": "the claim ran out" });
    let why = "takes over the claim, which ran out; the fence rises";
    Ok(refusal.with("takeable", true).next("task.takeover", why, params))
}

/// Whether the caller's session works on `task`, which another session holds. Whoever calls without a session works for
/// nobody.
pub fn is_stranger(call: &Call<'_>, task: &Task) -> bool {
    let holder = task.claim.as_ref().and_then(|claim| claim.session.as_ref()).filter(|_| !task.status.is_over());
    matches!((&call.caller.session, holder), (Some(session), Some(holder)) if session != holder)
}

/// Refuses a session that hands something in for a task which another session holds, or whose claim ran out: what it
/// shows would count for work that is not its own any more.
///
/// # Errors
/// `TASK_HELD`, or `CLAIM_REQUIRED` with how to take the lease again.
pub fn refuse_strangers(call: &Call<'_>, task: &Task) -> Result<(), Refusal> {
    if is_stranger(call, task) {
        return Err(held(call, task)?);
    }
    let lapsed = |claim: &&Claim| claim.session.is_some() && claim.until <= call.now() && !task.status.is_over();
    let Some(claim) = task.claim.as_ref().filter(lapsed).filter(|_| call.caller.session.is_some()) else {
        return Ok(());
    };
    let words = format!("the claim on task `{}` ran out at {}", task.id, claim.until);
    let refusal = Refusal::new(Code::CLAIM_REQUIRED, words).with("task", &task.id);
    Err(refusal.next("task.claim", "takes the lease", json!({ "task": task.id })))
}

/// Refuses unless the claim that the waist verified still stands. Asked in each step of an operation that took its time
/// between: somebody may have taken over meanwhile.
///
/// # Errors
/// `FENCE_STALE`, with who holds the task now.
pub fn still_holds(call: &Call<'_>, task: &TaskId) -> Result<(), Refusal> {
    let verified = call.claim()?.clone();
    let held = call.load::<Task>(task)?;
    let now = held.as_ref().and_then(|held| held.value.claim.as_ref());
    match now {
        Some(claim) if claim.fence == verified.fence && claim.session == verified.session => Ok(()),
        other => {
            let words = format!("the claim on task `{task}` with fence {} ended meanwhile", verified.fence);
            Err(Refusal::new(Code::FENCE_STALE, words)
                .with("task", task)
                .with("fence", verified.fence)
                .with("claim", other)
                .next("task.show", "shows who holds it now", json!({ "task": task })))
        }
    }
}

fn judge_workspace(call: &Call<'_>, task: &TaskId) -> Result<(), Refusal> {
    match call.load::<Workspace>(task)? {
        Some(held) if held.value.status == WorkspaceStatus::Open => Ok(()),
        _ => Err(workspace_required(task)),
    }
}

pub fn workspace_required(task: &TaskId) -> Refusal {
    Refusal::new(Code::WORKSPACE_REQUIRED, format!("task `{task}` has no workspace")).with("task", task).next(
        "workspace.ensure",
        "makes it, or mends what a crash left",
        json!({ "task": task }),
    )
}

pub fn person_required(caller: &Caller) -> Refusal {
    Refusal::new(Code::PERSON_REQUIRED, "only a person may do this, at a terminal and without an agent's session")
        .with("grade", caller.grade)
        .with("remedy", "ask the person to run the command in a terminal of their own")
}
