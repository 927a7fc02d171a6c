//! `check.list`: every declared check, and where it stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::declared::{self, Declared, DeclaredBy, Freshness, Stands};
use crate::domain::contract::CriterionId;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{EvidenceId, TaskRef};
use crate::domain::profile::{CheckKind, CheckName};
use crate::domain::refusal::Refusal;
use crate::domain::run::Verdict;
use crate::ops::call::{Call, List};
use crate::ops::op::Op;
use crate::ops::verification::subject::Subject;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Where they stand for this task, in its workspace (default: inside a task's worktree, that task; elsewhere none)
    #[serde(default)]
    task: Option<TaskRef>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    check: CheckName,
    kind: CheckKind,
    declared_by: DeclaredBy,
    /// Whether publication needs it.
    required: bool,
    state: Freshness,
    /// Of the newest run that counts here.
    verdict: Option<Verdict>,
    needs: Vec<CheckName>,
    inputs: Vec<String>,
    /// Criteria of the contract that rest on it.
    criteria: Vec<CriterionId>,
    evidence: Option<EvidenceId>,
}

pub struct ListChecks;

impl Op for ListChecks {
    const NAME: &'static str = "check.list";
    const ABOUT: &'static str = "List the declared checks, and whether there is fresh evidence for each";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const COLUMNS: &'static [&'static str] =
        &["check", "kind", "declared_by", "required", "state", "verdict", "needs", "inputs", "evidence"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[("kctl check list", "what `validate` can run here")];
    type In = In;
    type Out = List<Item>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Item>, Refusal> {
        let subject = Subject::named(call, input.task.as_ref(), None)?;
        let declared = declared::all(&subject);
        if declared.is_empty() {
            propose_a_check(call, &subject);
        }
        let stands = declared::standing(call, &subject, &declared)?;
        Ok(List { items: declared.into_iter().zip(stands).map(|(declared, stands)| item(declared, &stands)).collect() })
    }
}

/// What leads on from no checks at all.
fn propose_a_check(call: &mut Call<'_>, subject: &Subject) {
    let words = match subject.tree_profile {
        Some(_) => "no check is declared: add one to `.decapod/kctl.toml`; `kctl help profile` shows how",
        None => "there is no `.decapod/kctl.toml` here, and so no check",
    };
    call.warn("no_checks", words);
    match subject.tree_profile {
        Some(_) => call.propose("doctor", "says whether the profile reads, once a check is in it", json!({})),
        None => call.propose("init", "writes a profile, with the checks that it finds here", json!({})),
    }
}

fn item(declared: Declared, stands: &Stands) -> Item {
    Item {
        check: declared.name,
        kind: declared.check.kind,
        declared_by: declared.by,
        required: declared.check.required,
        state: stands.state,
        verdict: stands.verdict(),
        needs: declared.check.needs,
        inputs: declared.check.inputs,
        criteria: declared.criteria,
        evidence: stands.evidence(),
    }
}
