//! `check.run`: `validate`, narrowed to one declared check and what it needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::declared;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::profile::CheckName;
use crate::domain::refusal::Refusal;
use crate::domain::run::Candidate;
use crate::ops::call::Call;
use crate::ops::op::{Op, Span};
use crate::ops::validate::{self, How, Shown};
use crate::ops::verification::execute;
use crate::ops::verification::subject::Subject;
use crate::rules::verification::due::in_order;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Its name
    check: CheckName,
    /// For this task, in its workspace (default: inside a task's worktree, that task; elsewhere none)
    #[serde(default)]
    task: Option<TaskRef>,
    /// Run it also where there is fresh evidence
    #[serde(default)]
    rerun: bool,
    /// Run it on the accepted base as well, and say whether it is a regression or failed before
    #[serde(default)]
    baseline: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    check: CheckName,
    /// Whether it has passed on exactly these inputs.
    passed: bool,
    work_tree: String,
    candidate: Candidate,
    /// Its own result, and those of the checks that it needs.
    results: Vec<Shown>,
}

pub struct RunCheck;

impl Op for RunCheck {
    const NAME: &'static str = "check.run";
    const ABOUT: &'static str = "Run one declared check and what it needs, unless there is fresh evidence";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const SPAN: Span = Span::Steps;
    const ASKS_BASE: bool = true;
    const POSITIONAL: &'static [&'static str] = &["check"];
    const COLUMNS: &'static [&'static str] = validate::COLUMNS;
    const HOLDS: Option<&'static str> = Some("passed");
    const HIDDEN: &'static [&'static str] = &["work_tree", "candidate", "results.criteria", "results.tail"];
    const TEXTS: &'static [&'static str] = validate::TEXTS;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl check run test", "exits with 8 unless it passes"),
        ("kctl check run test --task t-7k2 --rerun", "in the task's workspace, even if its evidence is fresh"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let subject = Subject::named(call, input.task.as_ref(), None)?;
        let declared = declared::one(&subject, &input.check)?;
        let due = in_order(vec![declared.due()], subject.judges());
        let done = validate::carry_out(call, &subject, due, How { rerun: input.rerun, baseline: input.baseline })?;
        let own = done.results.iter().find(|shown| shown.is_of(input.check.as_str()));
        let passed = own.is_some_and(Shown::passed);
        let evidence = own.and_then(|shown| shown.evidence.clone());
        if let Some(evidence) = evidence.filter(|_| !passed) {
            call.propose("evidence.log", "pages through the whole output", json!({ "evidence": evidence }));
            let params = json!({ "check": input.check, "task": subject.task });
            call.propose("check.run", "again, when that is mended", params);
        }
        Ok(Out {
            check: input.check,
            passed,
            work_tree: subject.work_tree.display().to_string(),
            candidate: execute::candidate(call, &subject, &done.after)?,
            results: done.results,
        })
    }
}
