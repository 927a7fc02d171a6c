//! A command that a host ran, as an attempt at something: which check it is, and what failed in it. It is no evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::observe::In;
use crate::domain::contract::CriterionId;
use crate::domain::digest::Digest;
use crate::domain::failure::{Gate, Key, Report, Step};
use crate::domain::fold::Kind;
use crate::domain::id::{EvidenceId, TaskId};
use crate::domain::profile::CheckName;
use crate::domain::refusal::Refusal;
use crate::domain::run::Run;
use crate::domain::stagnation::Saw;
use crate::domain::supervision::Observed;
use crate::domain::task::Task;
use crate::ops::call::Call;
use crate::ops::verification::reading::MAX_KEPT_ITEMS;
use crate::ops::verification::subject::Subject;
use crate::ops::verification::supervise;
use crate::ports::ledger::Query;
use crate::rules::verification::due::What;
use crate::rules::{failure, stagnation};

/// How much of the end of an output is read for failures, in bytes.
const MAX_PARSED_BYTES: usize = 128 * 1024;
/// What is kept of a command, in characters.
const MAX_COMMAND_CHARS: usize = 300;

/// A command that a host ran.
pub struct Attempt {
    key: Key,
    line: String,
    report: Option<Report>,
    /// The check that it runs, and the criterion that rests on it.
    pub check: Option<CheckName>,
    criterion: Option<(CriterionId, Option<u32>)>,
}

impl Attempt {
    pub fn of(
        call: &mut Call<'_>,
        task: Option<&Task>,
        input: &In,
        (line, key): (String, Key),
    ) -> Result<Self, Refusal> {
        let report = input.result.as_deref().map(|text| read(call, &key, text, input.exit)).transpose()?;
        let subject = match task {
            Some(task) => Subject::of_task(call, task),
            None => Subject::of_tree(call),
        };
        let subject = match subject {
            Ok(subject) => subject,
            // What was done was done, whether or not anybody can say which check it was.
            Err(why) => {
                call.warn("check_unknown", format!("which check the command is cannot be told: {why}"));
                return Ok(Self { key, line, report, check: None, criterion: None });
            }
        };
        let check = subject.judge().and_then(|profile| stagnation::check_of(profile, &key));
        let check = check.map(|(name, _)| name.clone());
        let due = subject.due(false);
        let at =
            due.iter().position(|due| matches!(&due.what, What::Check { name, .. } if Some(name) == check.as_ref()));
        let criterion = at.and_then(|at| Some((due[at].criteria.first()?.clone(), u32::try_from(at).ok())));
        Ok(Self { key, line, report, check, criterion })
    }

    /// Whether it is a test, a build or a lint: what `validate` is for.
    pub fn checks_something(&self) -> bool {
        self.check.is_some() || self.report.as_ref().is_some_and(|report| report.counts.is_some())
    }

    /// What came of it. Times and addresses in the output of a check are no result.
    pub fn saw(&self, result: &str) -> Saw {
        let text = if self.checks_something() { masked(result) } else { result.to_owned() };
        Saw::Content(Digest::of(text.as_bytes()))
    }

    /// Counts it among the attempts at its gate. Must be called inside a step.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn supervise(&self, call: &mut Call<'_>, task: &TaskId, input: &In) -> Result<Option<Counted>, Refusal> {
        let Some(exit) = input.exit.filter(|_| input.running != Some(true)) else { return Ok(None) };
        let passed = exit == 0;
        // What a criterion rests on passes when kctl ran it. A no that was asked for is no failure.
        if passed && self.criterion.is_some() || !passed && stagnation::is_answer(&self.key, exit) {
            return Ok(None);
        }
        let observed = self.observed(input, exit);
        let step = supervise::count(call, task, &observed)?;
        Ok(step.map(|step| Counted { gate: observed.gate, step }))
    }

    fn observed(&self, input: &In, exit: i32) -> Observed {
        let gate = match &self.criterion {
            Some((criterion, _)) => Gate::Criterion(criterion.to_string()),
            None => Gate::Command(self.key.clone()),
        };
        let mut items = match &self.report {
            Some(report) if exit != 0 => report.items.clone(),
            Some(_) | None => Vec::new(),
        };
        let signature = if items.is_empty() { format!("exit {exit}") } else { failure::signature(&items) };
        items.truncate(MAX_KEPT_ITEMS);
        Observed {
            run: None,
            call: Some(input.call.clone()),
            gate,
            passed: exit == 0,
            items,
            signature,
            stage: self.criterion.as_ref().and_then(|(_, stage)| *stage),
            command: Some(self.line.chars().take(MAX_COMMAND_CHARS).collect()),
            changed_paths: Vec::new(),
            inputs: None,
        }
    }

    /// The newest evidence of the check that it runs.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn evidence(&self, call: &Call<'_>, task: Option<&TaskId>) -> Result<Option<EvidenceId>, Refusal> {
        let Some(check) = &self.check else { return Ok(None) };
        let (name, parent) = (Some(format!("check:{check}")), task.map(ToString::to_string));
        let newest = call.query::<Run>(&Query { name, parent, limit: 1, ..Query::all(Kind::Run) })?;
        Ok(newest.into_iter().find(|run| run.value.record.is_some()).map(|run| run.value.id))
    }
}

/// What became of a command that was counted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    pub gate: Gate,
    pub step: Step,
}

fn read(call: &Call<'_>, key: &Key, text: &str, exit: Option<i32>) -> Result<Report, Refusal> {
    let root = call.work_tree()?.display().to_string();
    let start = text.len().saturating_sub(MAX_PARSED_BYTES);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    Ok(failure::parse_in(&[&root], None, Some(&key.program), &text[start..], exit, None))
}

fn masked(text: &str) -> String {
    text.lines().map(failure::volatile).collect::<Vec<_>>().join("\n")
}
