//! `check.show`: one check as it is declared, and where it stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::declared::{self, DeclaredBy, Freshness};
use crate::domain::contract::CriterionId;
use crate::domain::digest::Digest;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{EvidenceId, TaskRef};
use crate::domain::isolation::Isolation;
use crate::domain::profile::{CheckKind, CheckName, IsolationWish};
use crate::domain::refusal::Refusal;
use crate::domain::run::Verdict;
use crate::domain::stamp::{Length, Stamp};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ops::verification::subject::Subject;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Its name
    check: CheckName,
    /// Where it stands for this task, in its workspace (default: inside a task's worktree, that task; elsewhere none)
    #[serde(default)]
    task: Option<TaskRef>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    check: CheckName,
    run: String,
    kind: CheckKind,
    declared_by: DeclaredBy,
    /// Whether the work tree declares it otherwise than the base, which judges.
    differs: bool,
    required: bool,
    state: Freshness,
    verdict: Option<Verdict>,
    reasons: Vec<String>,
    at: Option<Stamp>,
    evidence: Option<EvidenceId>,
    /// Inputs that changed since.
    changed: Vec<String>,
    criteria: Vec<CriterionId>,
    needs: Vec<CheckName>,
    inputs: Vec<String>,
    env: Vec<String>,
    timeout: Length,
    network: bool,
    isolation: IsolationWish,
    report: Option<String>,
    min_tests: Option<u32>,
    /// Of all that a verdict depends on; evidence under another one does not count.
    definition: Digest,
}

pub struct Show;

impl Op for Show {
    const NAME: &'static str = "check.show";
    const ABOUT: &'static str = "Show one check: what it runs, who declares it, and where it stands";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["check"];
    const HIDDEN: &'static [&'static str] = &["definition"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[("kctl check show test", "what `test` is")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let subject = Subject::named(call, input.task.as_ref(), None)?;
        let declared = [declared::one(&subject, &input.check)?];
        let stands = declared::standing(call, &subject, &declared)?.pop().expect("one was asked about");
        let [declared] = declared;
        if let Some(evidence) = stands.evidence() {
            call.propose("evidence.log", "shows what it said", json!({ "evidence": evidence }));
        }
        if stands.state != Freshness::Fresh {
            let params = json!({ "check": declared.name, "task": subject.task });
            call.propose("check.run", "makes fresh evidence", params);
        }
        if declared.check.isolation == IsolationWish::None {
            call.warn("not_shut_in", Isolation::unasked().why);
        }
        let record = stands.last.as_ref().and_then(|run| run.record.as_ref());
        Ok(Out {
            run: declared.check.run.to_string(),
            kind: declared.check.kind,
            declared_by: declared.by,
            differs: declared.differs,
            required: declared.check.required,
            state: stands.state,
            verdict: stands.verdict(),
            reasons: record.map(|record| record.reasons.clone()).unwrap_or_default(),
            at: stands.at(),
            evidence: stands.evidence(),
            changed: stands.changed,
            definition: declared.check.digest(),
            check: declared.name,
            criteria: declared.criteria,
            needs: declared.check.needs,
            inputs: declared.check.inputs,
            env: declared.check.env,
            timeout: declared.check.timeout,
            network: declared.check.network,
            isolation: declared.check.isolation,
            report: declared.check.report,
            min_tests: declared.check.min_tests,
        })
    }
}
