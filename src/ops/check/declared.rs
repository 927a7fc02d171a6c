//! The checks that the profiles declare, and where each of them stands now.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::domain::contract::CriterionId;
use crate::domain::fold::Kind;
use crate::domain::id::EvidenceId;
use crate::domain::profile::{Check, CheckName};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::{Run, Verdict};
use crate::domain::stamp::Stamp;
use crate::ops::call::Call;
use crate::ops::verification::assess::{self, Assessed};
use crate::ops::verification::execute;
use crate::ops::verification::subject::Subject;
use crate::ports::ledger::Query;
use crate::rules::near::near;
use crate::rules::verification::due::{Due, of_check};
use crate::rules::verification::state::flaky;

/// Whose profile a check is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeclaredBy {
    /// The accepted base's.
    Base,
    /// Only the work tree's: nothing on the base asks for it yet.
    WorkTree,
}

/// Whether there is evidence for the tree as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    Fresh,
    Stale,
    /// It passed and failed on exactly these inputs.
    Flaky,
    Running,
    NeverRun,
}

/// One check as it is declared.
pub struct Declared {
    pub name: CheckName,
    pub check: Check,
    pub by: DeclaredBy,
    /// Whether the work tree declares it otherwise than the base, which judges.
    pub differs: bool,
    /// Criteria of the contract that rest on it.
    pub criteria: Vec<CriterionId>,
}

impl Declared {
    pub fn due(&self) -> Due {
        Due { criteria: self.criteria.clone(), ..of_check(&self.name, &self.check) }
    }
}

/// Every check that is declared where `subject` is judged, by name.
pub fn all(subject: &Subject) -> Vec<Declared> {
    let judges = subject.judges();
    let profiles = [judges.base, judges.work_tree].into_iter().flatten();
    let mut names: Vec<&CheckName> = profiles.flat_map(|profile| profile.checks.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let due = subject.due(true);
    let of = |name: &CheckName| {
        let (_, check) = judges.check(name.as_str())?;
        let in_base = judges.base.is_some_and(|base| base.checks.contains_key(name));
        let in_tree = judges.work_tree.and_then(|tree| tree.checks.get(name));
        let criteria = due.iter().find(|one| one.title() == name.as_str()).map(|one| one.criteria.clone());
        Some(Declared {
            name: name.clone(),
            check: check.clone(),
            by: if in_base { DeclaredBy::Base } else { DeclaredBy::WorkTree },
            differs: in_base && in_tree.is_some_and(|other| other.digest() != check.digest()),
            criteria: criteria.unwrap_or_default(),
        })
    };
    names.into_iter().filter_map(of).collect()
}

/// The check called `name`.
///
/// # Errors
/// `CHECK_UNKNOWN`, with the names that are near.
pub fn one(subject: &Subject, name: &CheckName) -> Result<Declared, Refusal> {
    let mut all = all(subject);
    match all.iter().position(|declared| declared.name == *name) {
        Some(at) => Ok(all.swap_remove(at)),
        None => {
            let near = near(name.as_str(), all.iter().map(|declared| declared.name.as_str()));
            Err(Refusal::new(Code::CHECK_UNKNOWN, format!("no profile here declares a check `{name}`"))
                .with("field", "check")
                .with("near", near)
                .next("check.list", "lists the checks that are declared", json!({})))
        }
    }
}

/// Where one check stands.
pub struct Stands {
    pub state: Freshness,
    pub last: Option<Run>,
    /// Inputs that changed since.
    pub changed: Vec<String>,
}

impl Stands {
    pub fn verdict(&self) -> Option<Verdict> {
        self.last.as_ref().and_then(|run| run.record.as_ref()).map(|record| record.verdict)
    }

    pub fn evidence(&self) -> Option<EvidenceId> {
        self.last.as_ref().map(|run| run.id.clone())
    }

    pub fn at(&self) -> Option<Stamp> {
        self.last.as_ref().and_then(|run| run.record.as_ref()).map(|record| record.ended)
    }
}

/// Looks up where each of `declared` stands on the tree as it is now, in their order.
///
/// # Errors
/// When the tree or the ledger cannot be read.
pub fn standing(call: &Call<'_>, subject: &Subject, declared: &[Declared]) -> Result<Vec<Stands>, Refusal> {
    let snapshot = assess::snapshot(call, subject)?;
    let due = declared.iter().map(Declared::due).collect();
    let assessed = assess::look_up(call, subject, due, &snapshot)?;
    assessed.into_iter().map(|one| stands(call, one)).collect()
}

fn stands(call: &Call<'_>, one: Assessed) -> Result<Stands, Refusal> {
    let of_it = Query { name: Some(one.due.key.clone()), ..Query::all(Kind::Run) };
    let is_running = execute::under_way(call, of_it)?.is_some();
    let found = one.found;
    let state = match (&found.fresh, &found.last) {
        _ if is_running => Freshness::Running,
        (Some(_), _) if flaky(&found.verdicts).is_some() => Freshness::Flaky,
        (Some(_), _) => Freshness::Fresh,
        (None, Some(_)) => Freshness::Stale,
        (None, None) => Freshness::NeverRun,
    };
    Ok(Stands { state, last: found.fresh.or(found.last), changed: found.changed })
}
