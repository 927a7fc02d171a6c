//! `evidence.list`: runs, newest first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::{EvidenceId, EvidenceRef, Oid, TaskId, TaskRef};
use crate::domain::profile::CheckName;
use crate::domain::refusal::Refusal;
use crate::domain::run::{Level, Run, Subject, Verdict};
use crate::domain::stamp::Stamp;
use crate::ops::call::{Call, List, page};
use crate::ops::op::Op;
use crate::ops::verification::execute;
use crate::ports::ledger::Query;
use crate::rules::verification::due::named;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Only evidence made for this task
    #[serde(default)]
    task: Option<TaskRef>,
    /// Only runs of this check
    #[serde(default)]
    check: Option<CheckName>,
    /// Only those that ended so, or run (default: all)
    #[serde(default)]
    verdict: Option<Wanted>,
    /// How many at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
    /// The last row of the page before
    #[serde(default)]
    after: Option<EvidenceRef>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    Pass,
    Fail,
    Error,
    Unavailable,
    Skipped,
    /// Also what was abandoned: its supervisor died, and nothing was recorded.
    Running,
}

impl Wanted {
    const fn status(self) -> &'static str {
        match self {
            Wanted::Pass => Verdict::Pass.name(),
            Wanted::Fail => Verdict::Fail.name(),
            Wanted::Error => Verdict::Error.name(),
            Wanted::Unavailable => Verdict::Unavailable.name(),
            Wanted::Skipped => Verdict::Skipped.name(),
            Wanted::Running => "running",
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    id: EvidenceId,
    /// `check:<name>`, or the criteria that a proof in the tree was looked up for.
    about: Option<String>,
    verdict: String,
    /// How far it can be trusted; none while it runs.
    level: Option<Level>,
    task: Option<TaskId>,
    at: Stamp,
    head: Option<Oid>,
    reasons: Vec<String>,
}

pub struct ListEvidence;

impl Op for ListEvidence {
    const NAME: &'static str = "evidence.list";
    const ABOUT: &'static str = "List recorded verdicts, newest first";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const COLUMNS: &'static [&'static str] = &["id", "about", "verdict", "level", "task", "at", "reasons"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl evidence list --task t-7k2 --check tests", "every run of one check for one task"),
        ("kctl run list --verdict fail", "what failed; `run` is another word for `evidence`"),
    ];
    type In = In;
    type Out = List<Item>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Item>, Refusal> {
        let limit = page(input.limit)?;
        let query = Query {
            parent: input.task.map(|task| call.task(&task)).transpose()?.map(|held| held.value.id.to_string()),
            name: input.check.map(|check| format!("check:{check}")),
            after: input.after.map(|after| call.cursor(Kind::Run, after.as_str())).transpose()?,
            statuses: input.verdict.map(Wanted::status).into_iter().collect(),
            limit: limit + 1,
            ..Query::all(Kind::Run)
        };
        let mut runs = call.query::<Run>(&query)?;
        call.cut(&mut runs, limit, "items", |held| held.value.id.to_string());
        let items = runs.into_iter().map(|held| item(call, held.value));
        Ok(List { items: items.collect::<Result<_, _>>()? })
    }
}

fn item(call: &Call<'_>, run: Run) -> Result<Item, Refusal> {
    let verdict = match &run.record {
        Some(record) => record.verdict.name(),
        None if execute::is_under_way(call, &run)? => "running",
        None => "abandoned",
    };
    let (about, task) = run.subject.map_or((None, None), |subject| (Some(about(&subject)), subject.task));
    Ok(Item {
        id: run.id,
        about,
        verdict: verdict.to_owned(),
        level: run.record.as_ref().map(|record| record.level),
        task,
        at: run.started,
        head: run.record.as_ref().and_then(|record| record.candidate.head.clone()),
        reasons: run.record.map(|record| record.reasons).unwrap_or_default(),
    })
}

fn about(subject: &Subject) -> String {
    match subject.key.starts_with("check:") || subject.criteria.is_empty() {
        true => subject.key.clone(),
        false => named(&subject.criteria),
    }
}
