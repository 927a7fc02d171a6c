//! Which edits the reports of a host speak for. An edit that none does was made beside the gates.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::path::TreePath;
use crate::domain::stagnation::{Observation, Saw};
use crate::domain::stamp::Stamp;

/// How much later than the report of a command a file may look that it wrote: disks and clocks differ in their grain.
const GRAIN_MS: i64 = 1_000;

/// What a session's host reported, as far as it may have changed files.
#[derive(Debug, Default)]
pub struct Reported {
    /// What each file that was written by its name held then.
    written: BTreeMap<TreePath, Saw>,
    /// Files that were there when they were named.
    seen: BTreeSet<TreePath>,
    /// When the first thing was reported: what is older was made by nobody that could have reported it.
    since: Option<Stamp>,
    /// When the last thing was reported that may have written anything.
    acted: Option<Stamp>,
    /// Processes that go on.
    running: BTreeSet<String>,
}

/// An edit: what the file holds now, and when that was written, as far as it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub content: Saw,
    pub modified: Option<Stamp>,
}

impl Reported {
    pub fn add(&mut self, observation: &Observation, at: Stamp) {
        self.since = Some(self.since.map_or(at, |since| since.min(at)));
        let there = observation.files.iter().filter(|file| matches!(file.content, Saw::Content(_)));
        self.seen.extend(there.map(|file| file.path.clone()));
        if let Some(process) = &observation.process {
            self.running.remove(&process.id);
            if process.running {
                self.running.insert(process.id.clone());
            }
        }
        if observation.capability.changes_files() {
            let files = observation.files.iter().map(|file| (file.path.clone(), file.content.clone()));
            self.written.extend(files);
        } else if observation.may_act() {
            self.acted = self.acted.max(Some(at));
        }
    }

    /// Whether something reported may have made `edit`. What goes on beside the calls may write at any time, and nobody
    /// can tell what a command before the edit's time did.
    pub fn explains(&self, path: &TreePath, edit: &Edit) -> bool {
        let written = self.written.get(path).is_some_and(|saw| *saw == edit.content || *saw == Saw::Unsaid);
        let by_command = self.acted.is_some_and(|acted| {
            edit.modified.is_none_or(|modified| modified.ms() <= acted.ms().saturating_add(GRAIN_MS))
        });
        let before = match (edit.modified, self.since) {
            (Some(modified), Some(since)) => modified.ms().saturating_add(GRAIN_MS) < since.ms(),
            // When something was taken away is not told by what is left.
            (None, _) => !self.seen.contains(path),
            (Some(_), None) => true,
        };
        written || before || by_command || !self.running.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::action::Capability;
    use crate::domain::digest::Digest;
    use crate::domain::stagnation::{Ground, Process, Subject, Touched, TurnKind};

    fn observed(capability: Capability, files: &[(&str, Saw)]) -> Observation {
        let digest = Digest::of(b"");
        Observation {
            call: "c".to_owned(),
            tool: "t".to_owned(),
            capability,
            subject: Subject::Files {},
            saw: Saw::Unsaid,
            files: files
                .iter()
                .map(|(path, content)| Touched { path: TreePath::new(*path), content: content.clone() })
                .collect(),
            exit: None,
            turn: None,
            turn_kind: TurnKind::Agent,
            mode: None,
            process: None,
            run: None,
            ground: Ground { tasks: digest.clone(), evidence: digest, tree: None },
        }
    }

    fn held(text: &str, at: i64) -> Edit {
        Edit { content: Saw::Content(Digest::of(text.as_bytes())), modified: Some(Stamp(at)) }
    }

    #[test]
    fn an_edit_is_spoken_for_by_what_was_written_or_by_a_command_after_it() {
        let path = TreePath::new("a");
        let mut all = Reported::default();
        all.add(&observed(Capability::FileRead, &[("a", held("x", 0).content)]), Stamp(1_000));
        assert!(!all.explains(&path, &held("x", 500)), "reading writes nothing");
        assert!(all.explains(&path, &held("x", -500)), "it is older than all that was reported");
        all.add(&observed(Capability::FileWrite, &[("a", held("x", 0).content)]), Stamp(2_000));
        assert!(all.explains(&path, &held("x", 9_000)) && !all.explains(&path, &held("y", 500)));
        assert!(!all.explains(&TreePath::new("b"), &held("x", 500)));
        let gone = Edit { content: Saw::Nothing, modified: None };
        assert!(!all.explains(&path, &gone), "it was seen, and is gone");
        assert!(all.explains(&TreePath::new("b"), &gone), "nobody knows since when");
        all.add(&observed(Capability::Process, &[]), Stamp(10_000));
        assert!(all.explains(&path, &held("y", 10_900)) && !all.explains(&path, &held("y", 12_000)));
        assert!(all.explains(&path, &gone));
    }

    #[test]
    fn while_a_process_goes_on_nothing_can_be_told() {
        let mut all = Reported::default();
        let process = |running| Some(Process { id: "1".to_owned(), running });
        all.add(&Observation { process: process(true), ..observed(Capability::Process, &[]) }, Stamp(0));
        assert!(all.explains(&TreePath::new("a"), &held("x", 90_000)));
        all.add(&Observation { process: process(false), ..observed(Capability::Process, &[]) }, Stamp(0));
        assert!(!all.explains(&TreePath::new("a"), &held("x", 90_000)));
    }
}
