//! Making evidence: a check is run, or a proof looked up, and what came of it is recorded.

use crate::domain::contract::{Proof, Strength};
use crate::domain::digest::Digest;
use crate::domain::id::EvidenceId;
use crate::domain::path::TreePath;
use crate::domain::plan::Place;
use crate::domain::profile::{Check, CheckKind, CheckName, IsolationWish};
use crate::domain::refusal::Refusal;
use crate::domain::run::{Candidate, Level, Record, Run, RunEvent, Subject as About, Verdict};
use crate::domain::stamp::{Length, Stamp};
use crate::domain::tree::Snapshot;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::program;
use crate::ops::workspace::prepare::hex;
use crate::ports::files::EntryKind;
use crate::ports::ledger::Query;
use crate::ports::runner::{Ended, Invocation, Isolation, MAX_OUTPUT_BYTES, Outcome, Sandbox};
use crate::ports::world::Guard;
use crate::rules::verification::due::Due;
use crate::rules::verification::proofs::{self, File, Finding, Search};
use crate::rules::verification::verdict;

use super::assess::{self, Assessed};
use super::beside;
use super::reading;
use super::subject::Subject;

/// How many of the last output lines a record keeps.
const TAIL_LINES: usize = 40;
/// What a run may take beyond its timeout before its supervisor counts as dead.
const SUPERVISOR_GRACE: Length = Length::seconds(60);
/// The largest file that a proof reads, in bytes.
const MAX_PROOF_BYTES: u64 = 64 * 1024 * 1024;

/// Tells tools that remember results to run tests all the same: a remembered result shows nothing.
const UNCACHED: [(&str, &str); 3] = [("GOFLAGS", "-count=1"), ("NX_SKIP_NX_CACHE", "true"), ("TURBO_FORCE", "true")];

/// A check whose run is recorded as started.
pub struct Begun {
    pub id: EvidenceId,
    pub invocation: Invocation,
    /// Says that it is under way, for as long as this kctl lives.
    _alive: Guard,
}

/// Whether a kctl is at work on `run` now: one that was killed is not.
pub fn is_under_way(call: &Call<'_>, run: &Run) -> Result<bool, Refusal> {
    Ok(run.is_running(call.now()) && call.world.locks.is_run_alive(&call.repository()?.place().common_dir, &run.id))
}

/// The newest run that `query` finds and that a kctl is at work on.
pub fn under_way(call: &Call<'_>, query: Query) -> Result<Option<Run>, Refusal> {
    let running = Query { statuses: vec!["running"], live_at: Some(call.now()), ..query };
    for run in call.query::<Run>(&running)? {
        if is_under_way(call, &run.value)? {
            return Ok(Some(run.value));
        }
    }
    Ok(None)
}

/// Records that a check is run now, and says how; `again` tells who looks on why it is run once more.
pub fn begin(
    call: &mut Call<'_>,
    subject: &Subject,
    one: &Assessed,
    (name, check): (&CheckName, &Check),
    again: Option<&str>,
) -> Result<Begun, Refusal> {
    let id = EvidenceId::new(call.world.ids.uuid());
    let deadline = call.now().plus(check.timeout).plus(SUPERVISOR_GRACE);
    let mut invocation = Invocation::new(program::of(&check.run), &subject.work_tree, check.timeout);
    invocation.pass_env.clone_from(&check.env);
    if check.kind == CheckKind::Test {
        invocation.set_env.extend(UNCACHED.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    let kept = call.profile()?.limits.max_output.bytes();
    invocation.max_output_bytes = usize::try_from(kept).unwrap_or(MAX_OUTPUT_BYTES).min(MAX_OUTPUT_BYTES);
    invocation.sandbox = sandbox(call, subject, check)?;
    let common_dir = call.repository()?.place().common_dir.clone();
    let alive = call.world.locks.run(&common_dir, &id).map_err(fault::of_lock)?;
    start(call, subject, one, &id, deadline)?;
    call.world.progress.started(name.as_str(), &check.run.to_string(), again);
    Ok(Begun { id, invocation, _alive: alive })
}

/// What `check` may reach; none if it is not shut in.
fn sandbox(call: &Call<'_>, subject: &Subject, check: &Check) -> Result<Option<Sandbox>, Refusal> {
    Ok(match check.isolation {
        IsolationWish::None => None,
        IsolationWish::Auto => Some(Sandbox {
            network: check.network,
            work_tree: subject.work_tree.clone(),
            common_dir: call.repository()?.place().common_dir.clone(),
            writable: call.profile()?.sandbox.writable,
        }),
    })
}

/// What was seen of a check's run: how it ended, the tree after it, and what moved beside it while it ran.
pub struct Seen<'s> {
    pub outcome: &'s Outcome,
    pub after: &'s Snapshot,
    pub beside: Option<&'s str>,
}

/// Judges a check's run that has ended, and records it.
pub fn finish(
    call: &mut Call<'_>,
    subject: &Subject,
    one: &Assessed,
    begun: &Begun,
    (name, check): (&CheckName, &Check),
    seen: &Seen<'_>,
) -> Result<Run, Refusal> {
    let input_after = assess::whole_input_of(call, subject, &one.due, seen.after)?;
    let mut finding = verdict::of_outcome(seen.outcome, &check.run, input_after != one.input);
    if let Some(beside) = seen.beside {
        finding = finding.unsettled(beside);
    }
    if names_no_file(&one.due, seen.after)? {
        finding = Finding::error("its inputs name no file, so nothing could ever make it stale");
    }
    let read = reading::read(call, subject, &one.due, check, (seen.outcome, finding.verdict))?;
    let finding = reading::judge(finding, &read);
    call.world.progress.ended(name.as_str(), finding.verdict.name());
    let mut record = record(call, subject, finding, (one.input.clone(), input_after), seen.after)?;
    if one.due.is_ad_hoc() {
        record.strength = Strength::Asserted;
    }
    keep_outcome(call, &mut record, seen.outcome)?;
    reading::keep(&mut record, read);
    record.isolation = Some(match check.isolation {
        IsolationWish::Auto => seen.outcome.isolation.clone(),
        IsolationWish::None => Isolation::unasked(),
    });
    record.argv = program::argv(&check.run);
    if let Some(tool) = verdict::program_of(&check.run)
        && let Ok(version) =
            call.world.runner.tool_version(&tool, &subject.work_tree, begun.invocation.sandbox.as_ref())
    {
        record.tools.insert(tool, version);
    }
    if let Some(own) = beside::own(call, &subject.work_tree, check, seen.after) {
        record.tools.insert(own.name, own.content);
    }
    end(call, &begun.id, record)
}

fn names_no_file(due: &Due, snapshot: &Snapshot) -> Result<bool, Refusal> {
    let narrowed = crate::rules::inputs::narrowed(snapshot, &due.inputs());
    Ok(narrowed.map_err(|why| Refusal::invalid("inputs", why.to_string()))?.is_empty())
}

/// Moves what the runner saw into the record; the whole output becomes an artifact, redacted already (I12).
fn keep_outcome(call: &Call<'_>, record: &mut Record, outcome: &Outcome) -> Result<(), Refusal> {
    let output = &outcome.output;
    record.output = Some(call.artifacts()?.store(output.text.as_bytes()).map_err(fault::of_artifact)?);
    record.output_bytes = output.bytes_total;
    record.output_omitted = output.bytes_omitted;
    record.redactions = output.redactions;
    record.tail = program::tail(&output.text, TAIL_LINES);
    record.exit = match outcome.ended {
        Ended::Exited { code } => Some(code),
        Ended::Signalled { .. } | Ended::TimedOut { .. } | Ended::Interrupted { .. } | Ended::NotStarted(_) => None,
    };
    record.signal = outcome.signal();
    record.pipe_statuses.clone_from(&outcome.pipe_statuses);
    record.env_digest = Some(outcome.env_digest.clone());
    record.started = outcome.started;
    record.ended = outcome.finished;
    Ok(())
}

/// Looks a proof up in the tree as `snapshot` has it, and records it.
pub fn prove(
    call: &mut Call<'_>,
    subject: &Subject,
    one: &Assessed,
    proof: &Proof,
    snapshot: &Snapshot,
) -> Result<Run, Refusal> {
    let id = EvidenceId::new(call.world.ids.uuid());
    let finding = match proof {
        Proof::SearchNone { pattern, paths } => search(call, subject, pattern, paths, snapshot),
        Proof::DiffScope { paths, max_files } => scope(call, subject, (paths, *max_files), snapshot)?,
        proof => match proof.path() {
            Some(path) => proofs::of_file(proof, &file(call, subject, path)),
            None => Finding::error("it is not looked up in the tree"),
        },
    };
    start(call, subject, one, &id, call.now().plus(SUPERVISOR_GRACE))?;
    let record = record(call, subject, finding, (one.input.clone(), one.input.clone()), snapshot)?;
    end(call, &id, record)
}

/// The file at `path` of the subject's work tree, as a proof sees it.
pub fn file(call: &Call<'_>, subject: &Subject, path: &str) -> File {
    let at = Place::tree(path);
    let look = || -> Result<File, Refusal> {
        let files = call.files(Some(&subject.work_tree))?;
        Ok(match files.look(&at)?.map(|entry| entry.kind) {
            None => File::Absent,
            Some(EntryKind::Dir) => File::Other("a directory"),
            Some(EntryKind::Link) => File::Other("a symbolic link"),
            Some(EntryKind::Other) => File::Other("neither file nor directory"),
            Some(EntryKind::File) => files.read(&at, MAX_PROOF_BYTES)?.map_or(File::Absent, File::Regular),
        })
    };
    look().unwrap_or_else(|why| File::Unreadable(why.message().to_owned()))
}

fn search(call: &Call<'_>, subject: &Subject, pattern: &str, paths: &[String], snapshot: &Snapshot) -> Finding {
    let mut search = match Search::new(pattern, paths) {
        Ok(search) => search,
        Err(why) => return Finding::error(why),
    };
    for entry in snapshot.entries.iter().filter(|entry| search.covers(&entry.path)).collect::<Vec<_>>() {
        match call.world.trees.read(&subject.work_tree, &entry.path, MAX_PROOF_BYTES) {
            Ok(Some(bytes)) => search.look(&entry.path, &bytes),
            Ok(None) => {}
            Err(why) => return Finding::error(format!("`{}` cannot be read: {why}", entry.path)),
        }
    }
    search.finish(proofs::control_for(pattern).as_deref())
}

fn scope(
    call: &Call<'_>,
    subject: &Subject,
    (paths, max_files): (&[String], Option<u32>),
    snapshot: &Snapshot,
) -> Result<Finding, Refusal> {
    let Some(from) = subject.parted_from(call)? else {
        return Ok(Finding::error("there is no base that changes could be told from"));
    };
    let git = call.repository()?;
    let changes = git.changed_since(&subject.work_tree, &from).map_err(fault::of_git)?;
    let content = |path: &TreePath| match snapshot.entries.binary_search_by(|entry| entry.path.cmp(path)) {
        Ok(index) => hex(&snapshot.entries[index].digest),
        Err(_) => String::new(),
    };
    let changed: Vec<(TreePath, String)> =
        changes.into_iter().map(|change| (change.path.clone(), content(&change.path))).collect();
    let baseline = subject.ground().baseline;
    Ok(proofs::diff_scope((paths, max_files), &changed, baseline))
}

/// A record with what every kind of run has in common.
pub fn record(
    call: &Call<'_>,
    subject: &Subject,
    finding: Finding,
    (input_before, input_after): (Digest, Digest),
    after: &Snapshot,
) -> Result<Record, Refusal> {
    let now = call.now();
    // A failed or undetermined check earns nothing (I5).
    let strength = if finding.verdict == Verdict::Pass { Strength::Observed } else { Strength::Asserted };
    Ok(Record {
        verdict: finding.verdict,
        reasons: finding.reasons,
        level: Level::L1,
        strength,
        argv: Vec::new(),
        cwd: ".".to_owned(),
        work_tree: subject.work_tree.display().to_string(),
        env_digest: None,
        tools: std::collections::BTreeMap::new(),
        input_before,
        input_after,
        candidate: candidate(call, subject, after)?,
        contract_digest: Some(subject.contract_digest.clone()),
        started: now,
        ended: now,
        exit: None,
        signal: None,
        pipe_statuses: Vec::new(),
        output: None,
        output_bytes: 0,
        output_omitted: 0,
        redactions: 0,
        tail: String::new(),
        session: call.caller.session.clone(),
        fence: subject.made_under,
        kctl_version: crate::VERSION.to_owned(),
        handed_in: None,
        tests: None,
        failing: None,
        doubts: Vec::new(),
        isolation: None,
    })
}

/// The exact tree, and the base it builds on. `snapshot` is the work tree as it is now.
pub fn candidate(call: &Call<'_>, subject: &Subject, snapshot: &Snapshot) -> Result<Candidate, Refusal> {
    let git = call.repository()?;
    let head = git.head(&subject.work_tree).map_err(fault::of_git)?;
    Ok(Candidate {
        head: head.at.commit().cloned(),
        tree: head.tree,
        base: subject.base.as_ref().map(|base| base.commit.clone()),
        clean: snapshot.clean,
    })
}

fn start(
    call: &mut Call<'_>,
    subject: &Subject,
    one: &Assessed,
    id: &EvidenceId,
    deadline: Stamp,
) -> Result<(), Refusal> {
    let about = About {
        key: one.due.key.clone(),
        definition: one.due.definition.clone(),
        task: subject.task.clone(),
        commitment: subject.commitment.clone(),
        criteria: one.due.criteria.clone(),
    };
    call.step(|call| call.record::<Run>(id, 0, RunEvent::Started { subject: about.clone(), deadline }).map(drop))
}

fn end(call: &mut Call<'_>, id: &EvidenceId, record: Record) -> Result<Run, Refusal> {
    let record = Box::new(record);
    call.step(|call| {
        let held = call.load_or_blank::<Run>(id)?;
        Ok(call.record::<Run>(id, held.ver, RunEvent::Ended { record: record.clone() })?.value)
    })
}
