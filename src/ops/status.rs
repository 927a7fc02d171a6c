//! `status`: where things stand here, for a person who comes in.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::domain::commitment::{Commitment, Phase};
use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::{AgentName, CommitmentId, SessionId, TaskId};
use crate::domain::refusal::Refusal;
use crate::domain::stagnation::{MAX_UNMOVED, Stagnation};
use crate::domain::stamp::Stamp;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::workspace::WorkspaceStatus;
use crate::ops::call::Call;
use crate::ops::catalogue::NoParams;
use crate::ops::custody::SESSION_INVALID;
use crate::ops::fault;
use crate::ops::op::Op;
use crate::ops::task::onward::{self, Came};
use crate::ops::task::view::propose_context;
use crate::ports::ledger::Query;

/// How many rows each part shows; the lists show the rest.
const MAX_ROWS: u32 = 10;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Count {
    status: String,
    count: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Held {
    task: TaskId,
    title: String,
    status: TaskStatus,
    holder: Option<AgentName>,
    until: Option<Stamp>,
    /// Whether the lease ran out, so that it can be taken over.
    ran_out: bool,
    /// Actions that the holder's host reported since anything changed, where they are many
    #[serde(skip_serializing_if = "Option::is_none")]
    unmoved: Option<u64>,
    /// Since when finishing is given up on: it was refused too often without progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    exhausted: Option<Stamp>,
    /// What a person is asked.
    question: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Owed {
    commitment: CommitmentId,
    objective: String,
    /// How many criteria it has; `commit.show` judges where each of them stands.
    criteria: usize,
    until: Stamp,
    overdue: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    /// The session that the call was made in.
    session: Option<SessionId>,
    agent: Option<AgentName>,
    /// The branch that work is accepted onto, and where it is.
    base: Option<String>,
    tasks: Vec<Count>,
    workspaces: Vec<Count>,
    /// Tasks that are claimed or blocked.
    work: Vec<Held>,
    commitments: Vec<Owed>,
}

pub struct Status;

impl Op for Status {
    const NAME: &'static str = "status";
    const ABOUT: &'static str = "Show where things stand: tasks, claims, questions, commitments";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[("kctl status", "the first thing to look at")];
    type In = NoParams;
    type Out = Out;

    fn run(call: &mut Call<'_>, _: NoParams) -> Result<Out, Refusal> {
        let now = call.now();
        let taken = Query { statuses: vec!["claimed", "blocked"], limit: MAX_ROWS + 1, ..Query::all(Kind::Task) };
        let mut tasks = call.query::<Task>(&taken)?;
        call.cut(&mut tasks, MAX_ROWS, "work", |held| held.value.id.to_string());
        let open = vec![Phase::Active.name(), Phase::Satisfying.name()];
        let owed = Query { statuses: open, limit: MAX_ROWS + 1, ..Query::all(Kind::Commitment) };
        let mut commitments = call.query::<Commitment>(&owed)?;
        call.cut(&mut commitments, MAX_ROWS, "commitments", |held| held.value.id.to_string());
        propose(call, &tasks)?;
        unjudged(call)?;
        Ok(Out {
            session: call.caller.session.clone(),
            agent: call.caller.agent.clone(),
            base: call.base()?.map(|base| format!("{} at {}", base.reference, base.commit.short())),
            tasks: counts(call, Kind::Task)?,
            workspaces: workspaces(call)?,
            work: tasks.into_iter().map(|task| held(call, task.value, now)).collect::<Result<_, _>>()?,
            commitments: commitments.into_iter().map(|one| self::owed(one.value, now)).collect(),
        })
    }
}

/// Says so where the base has no profile yet: until then nothing can be published, and the first person wonders why.
fn unjudged(call: &mut Call<'_>) -> Result<(), Refusal> {
    if call.base()?.is_some_and(|base| base.profile.is_none()) {
        let words = "the base has no .decapod/kctl.toml yet: a person commits and pushes it, without `KCTL_SESSION`";
        call.warn("base_without_profile", words);
    }
    Ok(())
}

fn counts(call: &Call<'_>, kind: Kind) -> Result<Vec<Count>, Refusal> {
    let counts = call.views()?.counts(kind).map_err(fault::of_ledger)?;
    Ok(counts.into_iter().map(|(status, count)| Count { status, count }).collect())
}

/// Those that are there: what was removed is history.
fn workspaces(call: &Call<'_>) -> Result<Vec<Count>, Refusal> {
    let mut counts = counts(call, Kind::Workspace)?;
    counts.retain(|count| count.status != WorkspaceStatus::Removed.name());
    Ok(counts)
}

fn held(call: &Call<'_>, task: Task, now: Stamp) -> Result<Held, Refusal> {
    let session = task.claim.as_ref().and_then(|claim| claim.session.as_ref());
    let seen = session.map(|session| call.load::<Stagnation>(session)).transpose()?.flatten();
    Ok(Held {
        unmoved: seen.map(|seen| seen.value.unmoved()).filter(|unmoved| *unmoved >= MAX_UNMOVED),
        ran_out: task.claim.as_ref().is_some_and(|claim| claim.until <= now),
        holder: task.claim.as_ref().map(|claim| claim.agent.clone()),
        until: task.claim.as_ref().map(|claim| claim.until),
        exhausted: task.rejections.exhausted,
        question: task.block.and_then(|block| block.question),
        task: task.id,
        title: task.title,
        status: task.status,
    })
}

fn owed(commitment: Commitment, now: Stamp) -> Owed {
    Owed {
        criteria: commitment.contract.criteria.len(),
        until: commitment.until,
        overdue: commitment.until <= now,
        objective: commitment.objective.lines().next().unwrap_or_default().to_owned(),
        commitment: commitment.id,
    }
}

fn propose(call: &mut Call<'_>, tasks: &[crate::ops::call::Held<Task>]) -> Result<(), Refusal> {
    let asks = |task: &Task| task.block.as_ref().is_some_and(|block| block.question.is_some());
    if call.caller.is_person()
        && let Some(task) = tasks.iter().map(|held| &held.value).find(|task| asks(task))
    {
        onward::propose(call, task, Came::AsItStands)?;
    }
    if call.warnings.iter().any(|warning| warning.code == SESSION_INVALID) {
        call.propose("session.acquire", "gives a session that holds", json!({ "agent": "agent" }));
    }
    let mine = tasks.iter().find(|task| {
        let claim = task.value.claim.as_ref();
        claim.is_some_and(|claim| claim.session.is_some() && claim.session == call.caller.session)
    });
    if let Some(task) = mine {
        let id = task.value.id.clone();
        propose_context(call, &id);
        onward::propose(call, &task.value, Came::AsItStands)?;
    } else if !call.views()?.ready(None, 1).map_err(fault::of_ledger)?.is_empty() {
        call.propose("task.ready", "lists what can be claimed", json!({}));
    } else if call.views()?.counts(Kind::Task).map_err(fault::of_ledger)?.is_empty() {
        call.propose("task.create", "writes down the first task", json!({ "title": "what is to be done" }));
    }
    Ok(())
}
