//! Whether a change weakens what judges it: its tests, their configuration, snapshots and checks, against the base.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::contract::{Contract, Strength};
use crate::domain::finding::{Decision, Finding as Decided, Ruling};
use crate::domain::id::{FindingId, Oid};
use crate::domain::path::TreePath;
use crate::domain::refusal::Refusal;
use crate::domain::run::Verdict;
use crate::domain::tree::{Entry, Snapshot};
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ports::git::{Change, ChangeKind, Git, GitFault};
use crate::rules::integrity::{self, Changed, Checks, Known, MAX_FILE_BYTES, Severity, Side};
use crate::rules::verification::state::{CriterionState, Last, Standing};

use super::subject::Subject;

/// The criterion that stands while something is held.
pub const INTEGRITY: &str = "integrity";
/// The same where a contract uses that name for its own.
const INTEGRITY_APART: &str = "kctl.integrity";
const STATEMENT: &str = "what judges the work was not weakened";
/// How many findings one criterion names; `finding.list` names them all.
const MAX_NAMED: usize = 10;
/// All the content that is read for one look, both sides together.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Ignored files are looked for in so many directories, down to this depth.
const MAX_DIRS: usize = 2000;
const MAX_DEPTH: usize = 12;

/// What a finding does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing is done on it until a person accepts it.
    Held,
    /// A person said no: it stays held.
    Rejected,
    Accepted,
    /// It holds nothing up.
    Noted,
}

/// A finding, with what a person decided about exactly this edit.
pub struct Item {
    pub known: Known,
    pub decision: Option<Decision>,
}

impl Item {
    pub fn id(&self) -> &FindingId {
        &self.known.id
    }

    pub fn state(&self) -> State {
        match (self.known.finding.severity, self.decision.as_ref().map(|decision| decision.ruling)) {
            (Severity::Note, _) => State::Noted,
            (Severity::Hold, None) => State::Held,
            (Severity::Hold, Some(Ruling::Rejected)) => State::Rejected,
            (Severity::Hold, Some(Ruling::Accepted)) => State::Accepted,
        }
    }

    pub fn holds(&self) -> bool {
        matches!(self.state(), State::Held | State::Rejected)
    }

    /// Where it is and what it says, in one line.
    fn line(&self) -> String {
        let finding = &self.known.finding;
        let mut line = format!("{} {}", self.known.id, finding.kind.name());
        if !finding.path.is_empty() {
            line.push_str(&format!(" {}", finding.path));
        }
        if let Some(at) = finding.line {
            line.push_str(&format!(":{at}"));
        }
        if let Some(test) = &finding.test {
            line.push_str(&format!(" `{test}`"));
        }
        line.push_str(&format!(": {}", finding.message));
        match (&finding.before, &finding.after) {
            (Some(before), Some(after)) => line.push_str(&format!(" ({before} → {after})")),
            (Some(only), None) | (None, Some(only)) => line.push_str(&format!(" ({only})")),
            (None, None) => {}
        }
        if let Some(decision) = self.decision.as_ref().filter(|decision| decision.ruling == Ruling::Rejected) {
            line.push_str(&format!("; rejected: {}", decision.reason));
        }
        line
    }
}

/// What was found in a change, holds first.
#[derive(Default)]
pub struct Integrity {
    pub items: Vec<Item>,
    /// Notes that were left out for their number.
    pub omitted: usize,
    /// Tests that are new in the work: whoever wrote what they test wrote them as well.
    pub new_tests: usize,
    /// Files that were not read, and why.
    pub unread: Vec<String>,
}

impl Integrity {
    /// The criterion that nothing is held, while something is.
    pub fn criterion(&self, contract: &Contract) -> Option<CriterionState> {
        let held: Vec<&Item> = self.items.iter().filter(|item| item.holds()).collect();
        if held.is_empty() {
            return None;
        }
        let mut reasons: Vec<String> = held.iter().take(MAX_NAMED).map(|item| item.line()).collect();
        if held.len() > MAX_NAMED {
            reasons.push(format!("and {} more: `finding.list` shows them", held.len() - MAX_NAMED));
        }
        let own = INTEGRITY.parse().expect("a legal id");
        let apart = || INTEGRITY_APART.parse().expect("a legal id");
        Some(CriterionState {
            id: if contract.criterion(&own).is_some() { apart() } else { own },
            statement: STATEMENT.to_owned(),
            required: true,
            state: Standing::Suspicious,
            strength: Strength::Asserted,
            evidence: None,
            last: Some(Last {
                verdict: Verdict::Fail,
                age_s: 0,
                exit: None,
                reasons,
                tail: String::new(),
                changed: Vec::new(),
            }),
            regressed_at: None,
            waiver: None,
            waits_for: None,
            by_person: true,
        })
    }
}

/// Whether the criterion stands for held findings, which only a person's acceptance or another edit settles.
pub fn is_held(state: &CriterionState) -> bool {
    state.state == Standing::Suspicious && state.by_person
}

/// Looks at what the subject's work changes since it parted from the base. Nothing where there is no base.
///
/// # Errors
/// What git, the work tree or the ledger says.
pub fn look(call: &Call<'_>, subject: &Subject, snapshot: &Snapshot) -> Result<Integrity, Refusal> {
    let Some(from) = subject.parted_from(call)? else { return Ok(Integrity::default()) };
    let git = call.repository()?;
    let head = git.head(&subject.work_tree).map_err(fault::of_git)?.at.commit().cloned();
    let changes = match &head {
        // The walk that made the snapshot compared the disk with the head already.
        Some(head) if snapshot.clean && *head == from => return Ok(Integrity::default()),
        Some(head) if snapshot.clean => git.changed_between(&from, head),
        _ => git.changed_since(&subject.work_tree, &from),
    };
    let changes = changes.map_err(fault::of_git)?;
    if changes.is_empty() {
        return Ok(Integrity::default());
    }
    let profile = subject.base.as_ref().and_then(|base| base.profile.as_ref());
    let read = |path: &str| {
        let blob = git.read_at(&from, &TreePath::new(path), MAX_FILE_BYTES as u64).ok()??;
        is_regular(blob.mode).then(|| String::from_utf8_lossy(&blob.bytes).into_owned())
    };
    let mut facts = profile.map_or_else(Checks::default, |profile| integrity::checks(profile, read));
    if !facts.discoveries.is_empty() {
        let all = snapshot.entries.iter().map(|entry| entry.path.to_string());
        facts.python = Some(all.filter(|path| path.ends_with(".py")).collect());
    }
    let disk = Disk { call, subject, snapshot, head: head.as_ref(), from: &from, git };
    let mut files = disk.sides(&changes)?;
    let ignored = disk.ignored_judges();
    files.extend(
        ignored.iter().filter(|file| files.iter().all(|known| known.path != file.path)).cloned().collect::<Vec<_>>(),
    );
    let mut found = integrity::findings(&integrity::paired(&files), &facts);
    let gone = files.iter().filter(|file| file.new == Side::Absent);
    let hidden: Vec<&str> = gone.filter(|file| disk.still_has(&file.path)).map(|file| file.path.as_str()).collect();
    found.findings.extend(hidden.into_iter().filter_map(integrity::hidden));
    found.findings.extend(ignored.iter().map(|file| integrity::ignored(&file.path)));
    let new_tests = found.new_tests;
    let omitted = found.omitted.saturating_sub(found.omitted_holds);
    let unread = found.unread.iter().map(|(path, why)| format!("{path}: {}", why.words())).collect();
    let decided = |known: Known| -> Result<Item, Refusal> {
        let decided = call.load::<Decided>(&known.id)?;
        let decision = decided.and_then(|held| held.value.decision_on(&known.digest).cloned());
        Ok(Item { known, decision })
    };
    let mut items: Vec<Item> =
        integrity::known(&files, found).into_iter().map(decided).collect::<Result<_, Refusal>>()?;
    items.sort_by_key(Item::state);
    Ok(Integrity { items, omitted, new_tests, unread })
}

/// Where the two sides of a change are read from.
struct Disk<'a> {
    call: &'a Call<'a>,
    subject: &'a Subject,
    snapshot: &'a Snapshot,
    head: Option<&'a Oid>,
    from: &'a Oid,
    git: &'a dyn Git,
}

impl Disk<'_> {
    /// Every changed path with its content on both sides; files whose language is known are read first.
    fn sides(&self, changes: &[Change]) -> Result<Vec<Changed>, Refusal> {
        let mut paths: BTreeMap<TreePath, bool> = BTreeMap::new();
        for change in changes {
            let deleted = paths.entry(change.path.clone()).or_default();
            *deleted |= change.kind == ChangeKind::Deleted;
            if let ChangeKind::Renamed { from } = &change.kind {
                paths.insert(from.clone(), true);
            }
        }
        let mut paths: Vec<(TreePath, bool)> = paths.into_iter().collect();
        paths.sort_by_key(|(path, _)| integrity::language_of(&path.to_string()).is_none());
        let mut left = MAX_BYTES;
        let mut files = Vec::new();
        for (path, deleted) in paths {
            let old = self.bounded(self.at(self.from, &path)?, &mut left);
            let new = self.bounded(self.now(&path, deleted)?, &mut left);
            if old != new {
                files.push(Changed { path: path.to_string(), old, new });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    fn bounded(&self, side: Side, left: &mut usize) -> Side {
        let Side::Content(bytes) = &side else { return side };
        if bytes.len() > *left {
            return Side::TooLong(crate::domain::digest::Digest::of(bytes).to_string());
        }
        *left -= bytes.len();
        side
    }

    /// What `commit` has at `path`.
    fn at(&self, commit: &Oid, path: &TreePath) -> Result<Side, Refusal> {
        match self.git.read_at(commit, path, MAX_FILE_BYTES as u64) {
            Ok(Some(blob)) if is_regular(blob.mode) => Ok(Side::Content(blob.bytes)),
            Ok(_) => Ok(Side::Absent),
            Err(GitFault::TooLarge { .. }) => Ok(Side::TooLong(commit.to_string())),
            Err(why) => Err(fault::of_git(why)),
        }
    }

    /// What the work has at `path` now. What git ignores is not part of it, though it may lie there.
    fn now(&self, path: &TreePath, deleted: bool) -> Result<Side, Refusal> {
        let entry = self.snapshot.entries.binary_search_by(|entry| entry.path.cmp(path)).ok();
        let entry = entry.map(|at| &self.snapshot.entries[at]);
        match (entry, self.head) {
            (Some(entry), Some(head)) if self.snapshot.clean && is_regular(entry.mode) => match self.at(head, path)? {
                Side::TooLong(_) => Ok(too_long(entry)),
                side => Ok(side),
            },
            (Some(entry), _) if is_regular(entry.mode) => Ok(self.on_disk(entry)),
            (Some(_), _) => Ok(Side::Absent),
            // A sparse checkout leaves out what the head still has.
            (None, Some(head)) if !deleted => self.at(head, path),
            (None, _) => Ok(Side::Absent),
        }
    }

    /// Files that bend a run of the tests, lie in the tree, and are not part of the work, since git ignores them.
    fn ignored_judges(&self) -> Vec<Changed> {
        let mut dirs: BTreeSet<&[u8]> = BTreeSet::from([b"".as_slice()]);
        for entry in &self.snapshot.entries {
            let path = entry.path.as_bytes();
            let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1);
            dirs.extend(ends.map(|end| &path[..end]).take(MAX_DEPTH));
            if dirs.len() > MAX_DIRS {
                break;
            }
        }
        let profile = self.subject.base.as_ref().and_then(|base| base.profile.as_ref());
        let copied = profile.map(|profile| &profile.workspace.copy);
        let mut found = Vec::new();
        for dir in dirs {
            let most = match (dir.is_empty(), self.subject.workspace.is_some()) {
                (false, _) => integrity::ANYWHERE,
                (true, true) => integrity::BENDING.len(),
                // A person's own clone may hold settings of this machine.
                (true, false) => integrity::NOBODY_S,
            };
            for name in integrity::BENDING.iter().take(most) {
                let path = TreePath::new([dir, name.as_bytes()].concat());
                if copied.is_some_and(|copied| copied.contains(&path.to_string())) {
                    continue;
                }
                let listed = self.snapshot.entries.binary_search_by(|entry| entry.path.cmp(&path)).is_ok();
                let read = || self.call.world.trees.read(&self.subject.work_tree, &path, MAX_FILE_BYTES as u64);
                if let (false, Ok(Some(bytes))) = (listed, if listed { Ok(None) } else { read() }) {
                    found.push(Changed { path: path.to_string(), old: Side::Absent, new: Side::Content(bytes) });
                }
            }
        }
        found
    }

    /// Whether a file lies at a path that the work does not have: git ignores it.
    fn still_has(&self, path: &str) -> bool {
        let read = self.call.world.trees.read(&self.subject.work_tree, &TreePath::new(path), MAX_FILE_BYTES as u64);
        let listed = self.snapshot.entries.binary_search_by(|entry| entry.path.as_bytes().cmp(path.as_bytes()));
        listed.is_err() && !matches!(read, Ok(None))
    }

    fn on_disk(&self, entry: &Entry) -> Side {
        match self.call.world.trees.read(&self.subject.work_tree, &entry.path, MAX_FILE_BYTES as u64) {
            Ok(Some(bytes)) => Side::Content(bytes),
            Ok(None) => Side::Absent,
            Err(_) => too_long(entry),
        }
    }
}

fn too_long(entry: &Entry) -> Side {
    Side::TooLong(crate::ops::workspace::prepare::hex(&entry.digest))
}

const fn is_regular(mode: u32) -> bool {
    // A symbolic link judges nothing by itself: where one takes a file's place, the file is gone.
    mode & 0o170_000 == 0o100_000
}
