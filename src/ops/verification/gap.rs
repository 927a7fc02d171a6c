//! Edits of a task's work that no report of its host speaks for.

use crate::domain::digest::Digest;
use crate::domain::event::Event;
use crate::domain::fold::Kind;
use crate::domain::id::SessionId;
use crate::domain::path::TreePath;
use crate::domain::plan::Place;
use crate::domain::refusal::Refusal;
use crate::domain::run::Run;
use crate::domain::stagnation::{ActionEvent, Saw};
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;
use crate::domain::tree::Snapshot;
use crate::ops::call::{Call, stream_of};
use crate::ops::fault;
use crate::ops::workspace::prepare::hex;
use crate::ports::git::ChangeKind;
use crate::ports::ledger::{MAX_PAGE, Query};
use crate::rules::verification::gap::{Edit, Reported};

use super::subject::Subject;

/// How many pages of a session's reports are read. Of one with more nothing is said.
const MAX_PAGES: usize = 10;
/// How many runs are looked through for one that may have written a file itself.
const MAX_RUNS: u32 = 50;
/// How many paths a warning names.
const MAX_NAMED: usize = 10;

/// In words, where the host of the session that holds the task reports what it does and there are edits beside that. A host
/// that reports nothing is not held against its own silence.
pub fn words(call: &Call<'_>, subject: &Subject, snapshot: &Snapshot) -> Result<Option<String>, Refusal> {
    let (Some(task), Some(workspace)) = (&subject.task, &subject.workspace) else { return Ok(None) };
    let session = call.load::<Task>(task)?.and_then(|task| task.value.claim).and_then(|claim| claim.session);
    let Some(session) = session else { return Ok(None) };
    let Some(reported) = reported(call, &session)? else { return Ok(None) };
    let Some(from) = subject.parted_from(call)? else { return Ok(None) };
    let runs = call.query::<Run>(&Query { limit: MAX_RUNS, ..Query::all(Kind::Run) })?;
    // A check may write too, and kctl saw to that itself.
    let in_run = |at: Stamp| {
        let ended = |run: &Run| run.record.as_ref().map(|record| record.ended);
        runs.iter().any(|run| run.value.started <= at && ended(&run.value).is_some_and(|ended| at <= ended))
    };
    let mut beside: Vec<String> = Vec::new();
    for change in call.repository()?.changed_since(&subject.work_tree, &from).map_err(fault::of_git)? {
        let path = &change.path;
        let now = snapshot.entries.binary_search_by(|entry| entry.path.cmp(path)).ok();
        let now = now.map(|at| hex(&snapshot.entries[at].digest));
        let was_there =
            |content: &String| workspace.baseline.iter().any(|dirt| dirt.path == *path && dirt.content == *content);
        if was_there(&now.clone().unwrap_or_default()) || (now.is_none() && change.kind != ChangeKind::Deleted) {
            continue;
        }
        let content = match &now {
            Some(hex) => format!("sha256:{hex}").parse::<Digest>().map_or(Saw::Unsaid, Saw::Content),
            None => Saw::Nothing,
        };
        let edit = Edit { content, modified: modified(call, subject, path) };
        if !reported.explains(path, &edit) && !edit.modified.is_some_and(in_run) {
            beside.push(format!("`{path}`"));
        }
    }
    let more = beside.len().saturating_sub(MAX_NAMED);
    let names = beside.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let why =
        "changed, and no action that the host reported wrote that: a hook is missing, or somebody else edits here";
    Ok((!beside.is_empty()).then(|| format!("{names}{more} {why}")))
}

fn modified(call: &Call<'_>, subject: &Subject, path: &TreePath) -> Option<Stamp> {
    let entry = call.files(Some(&subject.work_tree)).ok()?.look(&Place::tree(path.as_str()?)).ok()??;
    Some(entry.modified)
}

/// What the host of `session` reported; none where it reported nothing, or too much to look through.
fn reported(call: &Call<'_>, session: &SessionId) -> Result<Option<Reported>, Refusal> {
    let stream = stream_of(Kind::Action, session);
    let (mut reported, mut after, mut any) = (Reported::default(), 0, false);
    for _ in 0..MAX_PAGES {
        let page = call.views()?.events(Some(&stream), after, MAX_PAGE).map_err(fault::of_ledger)?;
        for event in &page {
            after = event.seq;
            // One that only a newer kctl can read says nothing here.
            if let Ok(Event::Action(ActionEvent::Observed { observation })) =
                Event::read(&event.type_name, event.version, &event.body)
            {
                reported.add(&observation, Stamp(event.at));
                any = true;
            }
        }
        if page.len() < MAX_PAGE as usize {
            return Ok(any.then_some(reported));
        }
    }
    Ok(None)
}
