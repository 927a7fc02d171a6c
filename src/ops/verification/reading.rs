//! What a check's output, and the report file if it writes one, say beside the exit status.

use crate::domain::failure::{Doubt, Parser, Report, Tests};
use crate::domain::fold::Kind;
use crate::domain::id::Oid;
use crate::domain::plan::Place;
use crate::domain::profile::{Check, CheckKind};
use crate::domain::refusal::Refusal;
use crate::domain::run::{Failing, Record, Run, Verdict};
use crate::domain::stamp::Stamp;
use crate::ops::call::Call;
use crate::ports::git::{Ancestry, ChangeKind, Git};
use crate::ports::ledger::Query;
use crate::ports::runner::{Ended, Outcome};
use crate::rules::failure;
use crate::rules::inputs;
use crate::rules::verification::due::Due;
use crate::rules::verification::proofs::Finding;
use crate::rules::verification::verdict;

use super::subject::Subject;

/// How many failing items a record keeps.
pub const MAX_KEPT_ITEMS: usize = 100;
/// The largest report file that is read, in bytes.
const MAX_REPORT_BYTES: u64 = 32 << 20;
/// How many earlier runs are looked through for one to compare counts with.
const MAX_COMPARED: u32 = 50;
/// How much older than the run's start a report file may look: file systems keep times less finely than clocks.
const TIME_GRAIN_MS: i64 = 2;

/// What was read.
pub struct Read {
    pub report: Report,
    pub doubts: Vec<Doubt>,
    /// Why nothing can be said, if the report file is not what this run wrote.
    pub unusable: Option<String>,
}

/// Reads what `outcome` left. `verdict` is what the exit status alone says.
pub fn read(
    call: &Call<'_>,
    subject: &Subject,
    due: &Due,
    check: &Check,
    (outcome, verdict): (&Outcome, Verdict),
) -> Result<Read, Refusal> {
    let mut report = of_output(subject, check, outcome);
    let unusable = match &check.report {
        None => None,
        Some(path) => match of_file(call, subject, path, outcome.started) {
            Ok(text) => {
                let exit = exit(outcome);
                let parsed = failure::parse(Some(check.parser), None, &text, exit, outcome.signal());
                take_over(&mut report, parsed);
                None
            }
            Err(why) => Some(why),
        },
    };
    let mut doubts = Vec::new();
    if verdict == Verdict::Pass && check.parser != Parser::None {
        let tests = check.kind == CheckKind::Test;
        let accepted = if tests { accepted(call, subject, due)? } else { None };
        let least = check.min_tests.map(u64::from);
        doubts = failure::compare(&report, accepted.as_ref(), least);
        if !tests {
            doubts.retain(|doubt| matches!(doubt, Doubt::FailedWithExitZero { .. } | Doubt::SaidFailed { .. }));
        }
    }
    // Who says how many have to run asks for a count, whatever reads it.
    if let (Verdict::Pass, CheckKind::Test, None, Some(minimum)) =
        (verdict, check.kind, &report.counts, check.min_tests.map(u64::from))
    {
        doubts.push(Doubt::BelowMinimum { run: 0, minimum });
    }
    Ok(Read { report, doubts, unusable })
}

fn exit(outcome: &Outcome) -> Option<i32> {
    match outcome.ended {
        Ended::Exited { code } => Some(code),
        Ended::Signalled { .. } | Ended::TimedOut { .. } | Ended::Interrupted { .. } | Ended::NotStarted(_) => None,
    }
}

fn of_output(subject: &Subject, check: &Check, outcome: &Outcome) -> Report {
    let program = verdict::program_of(&check.run);
    let root = subject.work_tree.display().to_string();
    let hint = Some(check.parser).filter(|parser| *parser != Parser::None);
    failure::parse_in(&[&root], hint, program.as_deref(), &outcome.output.text, exit(outcome), outcome.signal())
}

/// The report file that this run wrote.
fn of_file(call: &Call<'_>, subject: &Subject, path: &str, started: Stamp) -> Result<String, String> {
    let at = Place::tree(path);
    let failed = |why: Refusal| format!("its report `{path}` cannot be read: {}", why.message());
    let files = call.files(Some(&subject.work_tree)).map_err(failed)?;
    let entry = files.look(&at).map_err(|why| failed(why.into()))?;
    let Some(entry) = entry else { return Err(format!("it wrote no report `{path}`")) };
    if entry.modified.ms() + TIME_GRAIN_MS < started.ms() {
        return Err(format!("its report `{path}` is older than the run"));
    }
    let bytes = files.read(&at, MAX_REPORT_BYTES).map_err(|why| failed(why.into()))?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the report file says is more exact than the output's words, which add what it does not know.
fn take_over(report: &mut Report, file: Report) {
    report.counts = file.counts.or(report.counts);
    report.said_failed |= file.said_failed;
    if !file.items.is_empty() {
        report.items = file.items;
        report.items_omitted = file.items_omitted;
        report.parser = file.parser;
    }
}

/// The counts of the newest passing run of this check on the accepted base, on what the base grew from, or on a commit
/// with the same inputs, as a branch has them that was squashed onto the base. Runs of other work say nothing about how many tests there ought to be.
fn accepted(call: &Call<'_>, subject: &Subject, due: &Due) -> Result<Option<Tests>, Refusal> {
    let Some(base) = &subject.base else { return Ok(None) };
    let query = Query { name: Some(due.key.clone()), limit: MAX_COMPARED, ..Query::all(Kind::Run) };
    let git = call.repository()?;
    let mut heads: Vec<(Oid, bool)> = Vec::new();
    for held in call.query::<Run>(&query)? {
        let run = held.value;
        let Some(record) = run.record.as_ref().filter(|_| run.verdict() == Some(Verdict::Pass)) else { continue };
        let (Some(tests), Some(head), true) = (record.tests, &record.candidate.head, record.candidate.clean) else {
            continue;
        };
        let known = heads.iter().find(|(oid, _)| oid == head).map(|(_, on_base)| *on_base);
        let on_base = match known {
            Some(known) => known,
            // A commit that is gone says nothing.
            None => {
                matches!(git.ancestry(head, &base.commit), Ok(Ancestry::Yes))
                    || same_inputs(git, head, &base.commit, &due.inputs())
            }
        };
        if on_base {
            return Ok(Some(tests));
        }
        heads.push((head.clone(), on_base));
    }
    Ok(None)
}

/// Whether no input of a check differs between two commits. A commit that is gone says nothing.
fn same_inputs(git: &dyn Git, a: &Oid, b: &Oid, globs: &[String]) -> bool {
    let Ok(changes) = git.changed_between(a, b) else { return false };
    let from = changes.iter().filter_map(|change| match &change.kind {
        ChangeKind::Renamed { from } => Some(from),
        _ => None,
    });
    !inputs::name_any(globs, changes.iter().map(|change| &change.path).chain(from))
}

/// Holds a pass back that is doubted, and one whose report cannot be used.
pub fn judge(finding: Finding, read: &Read) -> Finding {
    if let (Verdict::Pass, Some(why)) = (finding.verdict, &read.unusable) {
        return Finding::error(why.clone());
    }
    if finding.verdict != Verdict::Pass || read.doubts.is_empty() {
        return finding;
    }
    let mut reasons = finding.reasons;
    reasons.extend(read.doubts.iter().map(|doubt| format!("suspicious: {doubt}")));
    Finding { verdict: Verdict::Fail, reasons }
}

/// Moves what was read into the record.
pub fn keep(record: &mut Record, read: Read) {
    let Read { report, doubts, unusable: _ } = read;
    record.tests = report.counts;
    record.doubts = doubts;
    if record.verdict == Verdict::Pass || report.items.is_empty() {
        return;
    }
    let signature = failure::signature(&report.items);
    let mut items = report.items;
    let omitted = items.len().saturating_sub(MAX_KEPT_ITEMS) + report.items_omitted;
    items.truncate(MAX_KEPT_ITEMS);
    record.failing = Some(Failing { items, omitted, signature, parser: report.parser });
}
