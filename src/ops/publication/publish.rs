//! `publish`: clearance for the exact candidate, a push leased on what the gate saw, and the remote read back by id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{EvidenceId, Oid, PublicationId, TaskId, TaskRef};
use crate::domain::publication::{Cleared, Publication, PublicationEvent};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::root::SeenBase;
use crate::domain::task::{Task, TaskStatus};
use crate::ops::call::Call;
use crate::ops::custody;
use crate::ops::fault;
use crate::ops::op::{Op, Span};
use crate::ops::seen;
use crate::ops::task::onward;
use crate::ops::verification::{gate, sealed};
use crate::ops::workspace::look::standing;
use crate::ports::git::{Pushed, RefUpdate, Rejection};
use crate::rules::publication::{Blocker, Clearance, clear};

use super::heal;
use super::look::{self, Destination};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    task: TaskId,
    /// None in a dry run.
    publication: Option<PublicationId>,
    branch: String,
    commit: Oid,
    tree: Oid,
    base: Oid,
    remote: String,
    /// Without credentials.
    url: String,
    /// Whether the remote was read back and holds exactly `commit`.
    remote_verified: bool,
    /// Whether the base was still where the gate saw it when the remote was read back.
    base_unmoved: bool,
    evidence: Vec<EvidenceId>,
}

pub struct Publish;

impl Op for Publish {
    const NAME: &'static str = "publish";
    const ABOUT: &'static str = "Push exactly what was verified to its branch on the remote, and read it back";
    const EFFECT: Effect = Effect::External;
    const CUSTODY: Custody = Custody::Workspace;
    const SPAN: Span = Span::Steps;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["tree"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl publish t-7k2 --dry-run", "asks the gate and pushes nothing"),
        ("kctl publish t-7k2", "exits with 11 and lists every blocker, if there is one"),
    ];
    type In = In;
    type Out = Out;

    fn task(input: &In) -> Option<&TaskRef> {
        Some(&input.task)
    }

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let task = call.task(&input.task)?.value;
        let workspace = standing(call, &task.id)?;
        let destination = look::destination(call, &workspace)?;
        let (remote, branch) = (destination.remote.clone(), destination.base.branch.clone());
        let commit = destination.base.commit.clone();
        seen::record(call, SeenBase { remote, branch, commit, at: call.now() })?;
        let facts = look::facts(call, &task, &workspace, &destination)?;
        look::warn_of_submodules(call, &workspace)?;
        let clearance = clear(facts).map_err(|blockers| not_cleared(&task, &blockers))?;
        if call.dry_run {
            return Ok(out(clearance.cleared(), None, false, true));
        }
        let begun = heal::interrupted(call, clearance.cleared(), &destination)?;
        let id = match begun {
            Some(id) => id,
            None => begin(call, &task, &clearance)?,
        };
        let observed = push(call, &id, &clearance, &destination)?;
        finish(call, &task, &id, clearance.cleared(), &observed)
    }
}

/// One blocker with a code of its own keeps that code; several are listed under one.
fn not_cleared(task: &Task, blockers: &[Blocker]) -> Refusal {
    let (code, message) = match blockers {
        [only] => (only.kind, only.what.clone()),
        several => {
            let first = several.first().map_or("", |blocker| blocker.what.as_str());
            (Code::NOT_CLEARED, format!("{} things stand against publication; the first: {first}", several.len()))
        }
    };
    let refusal = Refusal::new(code, message).with("task", &task.id).with("blockers", blockers);
    let refusal = if task.status == TaskStatus::Blocked { onward::unblock(refusal, task) } else { refusal };
    let refusal = match blockers.iter().any(|blocker| blocker.kind == Code::INTEGRITY_HELD) {
        true => {
            let why = "shows what is held and where: undo it, or a person decides";
            refusal.next(gate::FINDINGS, why, json!({ "task": task.id }))
        }
        false => refusal,
    };
    refusal
        .next("validate", "shows everything that publication needs", json!({ "task": task.id, "scope": "branch" }))
        .next("workspace.status", "shows what is in the workspace", json!({ "task": task.id }))
}

/// Journals the clearance before anything leaves: a crash from here on is healed by reading the remote.
fn begin(call: &mut Call<'_>, task: &Task, clearance: &Clearance) -> Result<PublicationId, Refusal> {
    let id = PublicationId::new(call.world.ids.uuid());
    call.step(|call| {
        custody::still_holds(call, &task.id)?;
        sealed::refuse_edited::<Task>(call, &task.id, &clearance.cleared().evidence)?;
        let started = PublicationEvent::Started { clearance: Box::new(clearance.cleared().clone()) };
        call.record::<Publication>(&id, 0, started).map(drop)
    })?;
    Ok(id)
}

/// What the remote held when it was read back.
struct Observed {
    commit: Oid,
    base: Option<Oid>,
}

fn push(
    call: &mut Call<'_>,
    id: &PublicationId,
    clearance: &Clearance,
    destination: &Destination,
) -> Result<Observed, Refusal> {
    let cleared = clearance.cleared();
    let update = RefUpdate {
        oid: cleared.commit.clone(),
        dst: cleared.reference.clone(),
        // The lease names what the gate saw, never what was fetched just now: that would overwrite a colleague.
        expected: cleared.expected.clone(),
    };
    let pushed = call.repository()?.push(&destination.url, std::slice::from_ref(&update)).map_err(fault::of_git)?;
    let refused = match pushed {
        Pushed::Accepted | Pushed::UpToDate => None,
        Pushed::LeaseMoved { dst } => Some(Refusal::new(
            Code::REMOTE_MOVED,
            format!("`{dst}` moved on the remote between the gate and the push; nothing was overwritten"),
        )),
        Pushed::Rejected { reason: Rejection::NotAncestor, words } => {
            Some(Refusal::new(Code::REMOTE_MOVED, format!("the push would drop commits of the remote: {words}")))
        }
        Pushed::Rejected { reason, words } => {
            Some(Refusal::new(Code::PUSH_REJECTED, format!("the push was refused ({reason:?}): {words}")))
        }
        Pushed::Unreachable { words } => {
            Some(Refusal::new(Code::REMOTE_UNREACHABLE, format!("the remote did not answer: {words}")))
        }
    };
    let read = read_back(call, destination);
    match (refused, read) {
        // Whatever the push said: the remote holds the commit, and that is the proof.
        (_, Ok((Some(held), base))) if held == cleared.commit => Ok(Observed { commit: held, base }),
        (Some(_), Ok((held, _))) if held != cleared.expected => {
            let words = format!(
                "`{}` moved on the remote between the gate and the push; nothing was overwritten",
                cleared.reference
            );
            fail(call, id, cleared, Refusal::new(Code::REMOTE_MOVED, words), held)
        }
        (Some(refusal), read) => fail(call, id, cleared, refusal, read.ok().and_then(|(held, _)| held)),
        (None, Ok((held, _))) => {
            let there = held.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string);
            let words = format!("the push was accepted, but `{}` on the remote holds {there}", cleared.reference);
            fail(call, id, cleared, Refusal::new(Code::REMOTE_DIFFERS, words), held)
        }
        (None, Err(refusal)) => fail(call, id, cleared, refusal, None),
    }
}

/// What the remote's branch and base hold now.
fn read_back(call: &Call<'_>, destination: &Destination) -> Result<(Option<Oid>, Option<Oid>), Refusal> {
    let wanted = [destination.reference.as_str(), destination.base_reference.as_str()];
    let refs = call.repository()?.remote_refs(&destination.url, &wanted).map_err(fault::of_git)?;
    let at = |name: &str| refs.iter().find(|(known, _)| known == name).map(|(_, oid)| oid.clone());
    Ok((at(wanted[0]), at(wanted[1])))
}

/// Records that it failed and says exactly what stands.
fn fail(
    call: &mut Call<'_>,
    id: &PublicationId,
    cleared: &Cleared,
    refusal: Refusal,
    held: Option<Oid>,
) -> Result<Observed, Refusal> {
    let stands = match &held {
        Some(held) => format!("`{}` on the remote holds {held}", cleared.reference),
        None => format!("`{}` was not seen on the remote", cleared.reference),
    };
    call.step(|call| {
        let at = call.load_or_blank::<Publication>(id)?.ver;
        let (code, words) = (refusal.code().name().to_owned(), refusal.message().to_owned());
        let failed = PublicationEvent::Failed { code, words, stands: stands.clone() };
        call.record::<Publication>(id, at, failed).map(drop)
    })?;
    Err(refusal
        .with("task", &cleared.task)
        .with("publication", id)
        .with("stands", stands)
        .with("remote_holds", held)
        .next("publish", "reads the remote again, and goes on from what stands there", json!({ "task": cleared.task })))
}

fn finish(
    call: &mut Call<'_>,
    task: &Task,
    id: &PublicationId,
    cleared: &Cleared,
    observed: &Observed,
) -> Result<Out, Refusal> {
    let base_unmoved = observed.base.as_ref() == Some(&cleared.base);
    if !base_unmoved {
        call.warn("base_moved", format!("`{}` moved on the remote while this was published", cleared.base_ref));
    }
    call.step(|call| {
        let at = call.load_or_blank::<Publication>(id)?.ver;
        let done = PublicationEvent::Done { observed: observed.commit.clone(), base_observed: observed.base.clone() };
        call.record::<Publication>(id, at, done).map(drop)
    })?;
    if let Some(commitment) = &task.commitment {
        let params = json!({ "commitment": commitment, "verdict": "fulfilled" });
        call.propose("commit.close", "closes the commitment on this evidence", params);
    }
    Ok(out(cleared, Some(id.clone()), true, base_unmoved))
}

fn out(cleared: &Cleared, publication: Option<PublicationId>, remote_verified: bool, base_unmoved: bool) -> Out {
    Out {
        task: cleared.task.clone(),
        publication,
        branch: cleared.reference.trim_start_matches("refs/heads/").to_owned(),
        commit: cleared.commit.clone(),
        tree: cleared.tree.clone(),
        base: cleared.base.clone(),
        remote: cleared.remote.clone(),
        url: cleared.url.clone(),
        remote_verified,
        base_unmoved,
        evidence: cleared.evidence.clone(),
    }
}
