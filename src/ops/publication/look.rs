//! Looking at everything that publication is judged by. The remote is asked, not remembered.

use std::path::PathBuf;

use crate::domain::contract::Proof;
use crate::domain::digest::Digest;
use crate::domain::id::Oid;
use crate::domain::path::TreePath;
use crate::domain::profile::{PROFILE_PATH, Profile};
use crate::domain::publication::Cleared;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::Task;
use crate::domain::tree::MODE_REPOSITORY;
use crate::domain::workspace::Workspace;
use crate::ops::base::{self, Base};
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::verification::assess::{self, evidence_of};
use crate::ops::verification::gate;
use crate::ops::verification::subject::Subject;
use crate::ports::git::{Ancestry, Depth, Git, GitFault, Leaving, Lost, RemoteUrl, Submodule, Whose};
use crate::rules::inputs;
use crate::rules::publication::{BuildsOn, Facts, OffCommit};
use crate::rules::verification::due::add_required;
use crate::rules::verification::state::{CriterionState, Standing};

/// Where the candidate would go, and what is there now.
pub struct Destination {
    pub remote: String,
    pub url: RemoteUrl,
    /// The full name of the branch on the remote.
    pub reference: String,
    /// The full name of the base's branch on the remote.
    pub base_reference: String,
    /// What the branch holds there; none if it is not there.
    pub held: Option<Oid>,
    pub base: Base,
}

/// Asks the remote where the branch and the base are.
pub fn destination(call: &Call<'_>, workspace: &Workspace) -> Result<Destination, Refusal> {
    let git = call.repository()?;
    let known = call.base()?.ok_or_else(|| no_base("this clone knows no base"))?;
    let Some(remote) = known.remote.clone() else {
        return Err(no_base("there is no remote to publish to").with("remedy", "git remote add origin URL"));
    };
    let url = git.push_url(&remote).map_err(fault::of_git)?;
    let reference = format!("refs/heads/{}", workspace.branch);
    let base_reference = format!("refs/heads/{}", known.branch);
    let refs = git.remote_refs(&url, &[&reference, &base_reference]).map_err(fault::of_git)?;
    let at = |name: &str| refs.iter().find(|(known, _)| known == name).map(|(_, oid)| oid.clone());
    let Some(base_commit) = at(&base_reference) else {
        let words = format!("the remote has no branch `{}`", known.branch);
        return Err(no_base(&words).with("branch", &known.branch));
    };
    let base = accepted(git, &remote, known, &base_reference, base_commit)?;
    let held = at(&reference);
    Ok(Destination { remote, url, reference, base_reference, held, base })
}

/// The base as the remote has it now: its commit is brought here if need be, and its own tree says what must hold.
fn accepted(git: &dyn Git, remote: &str, known: Base, base_reference: &str, commit: Oid) -> Result<Base, Refusal> {
    if known.commit == commit {
        return Ok(known);
    }
    if git.resolve(commit.as_str()).is_err() {
        git.fetch(remote, base_reference, Depth::AsConfigured).map_err(fault::of_git)?;
    }
    let profile = base::profile_at(git, &commit)?;
    Ok(Base { commit, profile, ..known })
}

fn no_base(words: &str) -> Refusal {
    Refusal::new(Code::BASE_UNKNOWN, words)
}

/// Everything that the gate judges.
pub fn facts(call: &Call<'_>, task: &Task, workspace: &Workspace, destination: &Destination) -> Result<Facts, Refusal> {
    let git = call.repository()?;
    let path = PathBuf::from(&workspace.path);
    let head = git.head(&path).map_err(fault::of_git)?;
    let (Some(commit), Some(tree)) = (head.at.commit().cloned(), head.tree.clone()) else {
        return Err(Refusal::new(Code::NOT_CLEARED, "the workspace has no commit to publish"));
    };
    let base = &destination.base;
    let Judged { subject, criteria, input } = judge(call, task, base)?;
    let dirt = git.dirt(&path).map_err(fault::of_git)?;
    // A tree that is not committed is not what the commit holds anyway.
    let converted =
        if dirt.is_empty() { git.converted(&path, &commit, &base.commit).map_err(fault::of_git)? } else { Vec::new() };
    let rules = base.profile.as_ref().map(|profile| &profile.publish);
    Ok(Facts {
        on_branch: head.at.branch().map(str::to_owned),
        uncommitted: crate::ops::workspace::look::by_path(&dirt).into_iter().map(|changed| changed.path).collect(),
        builds_on_base: builds_on(git, &base.commit, &commit)?,
        builds_on_remote: match &destination.held {
            None => BuildsOn::Yes,
            Some(held) => builds_on(git, held, &commit)?,
        },
        protected: rules.is_some_and(|rules| rules.protects(&workspace.branch, &base.branch)),
        judged: base.profile.is_some(),
        profile_changed: base.profile.is_some() && profile_changed(git, &base.commit, &commit)?,
        off_commit: off_commit(git, &subject, &criteria, &commit)?,
        converted: converted.iter().map(ToString::to_string).collect(),
        blocked: task.block.as_ref().map(|block| block.reason.clone()),
        exhausted: exhausted(task, &criteria),
        branch: workspace.branch.clone(),
        base_branch: base.branch.clone(),
        candidate: Cleared {
            task: task.id.clone(),
            remote: destination.remote.clone(),
            url: destination.url.shown.clone(),
            reference: destination.reference.clone(),
            commit,
            tree,
            base: base.commit.clone(),
            base_ref: destination.base_reference.clone(),
            expected: destination.held.clone(),
            profile_digest: base.profile.as_ref().map_or_else(no_profile, Profile::digest),
            evidence: evidence_of(&criteria),
            fence: task.fence,
            input: Some(input),
        },
        criteria,
    })
}

fn no_profile() -> Digest {
    Digest::of(b"")
}

/// How often finishing was refused, if it was given up on and there is no progress since: no less is unmet, and it was
/// not finished.
fn exhausted(task: &Task, criteria: &[CriterionState]) -> Option<u32> {
    let unmet = criteria.iter().filter(|state| state.required && !state.state.is_settled()).count();
    let is_open = !task.status.is_over();
    (is_open && task.rejections.is_shut(unmet)).then_some(task.rejections.total)
}

/// Where the candidate stands by evidence.
struct Judged {
    subject: Subject,
    criteria: Vec<CriterionState>,
    /// Digest of the whole tree that was judged.
    input: Digest,
}

/// The task's criteria and the base's required checks, all judged by the base alone (I7).
fn judge(call: &Call<'_>, task: &Task, base: &Base) -> Result<Judged, Refusal> {
    let mut subject = Subject::of_task(call, task)?;
    subject.base = Some(base.clone());
    if base.profile.is_some() {
        subject.tree_profile = None;
    }
    let snapshot = assess::snapshot(call, &subject)?;
    let mut due = subject.due(false);
    if let Some(profile) = &base.profile {
        add_required(&mut due, profile);
    }
    let assessed = assess::look_up(call, &subject, due, &snapshot)?;
    let mut criteria = assess::criteria(call, &subject, &assessed, &snapshot)?;
    if let Some(profile) = &base.profile {
        gate::hold_to_required(call, &subject, &assessed, profile, &mut criteria);
    }
    Ok(Judged { subject, criteria, input: inputs::whole(&snapshot) })
}

/// Required criteria that are met by a file on disk, and that the commit says otherwise about: git may ignore the file,
/// or a sparse checkout may leave it out. What lies in a submodule is bound by the submodule's commit.
fn off_commit(
    git: &dyn Git,
    subject: &Subject,
    criteria: &[CriterionState],
    commit: &Oid,
) -> Result<Vec<OffCommit>, Refusal> {
    let mut found = Vec::new();
    for state in criteria.iter().filter(|state| state.required && state.state == Standing::Met) {
        let Some(proof) = subject.contract.criterion(&state.id).map(|criterion| &criterion.proof) else { continue };
        let Some(path) = proof.path() else { continue };
        let wants_absence = matches!(proof, Proof::FileAbsent { .. });
        let is_there = mode_in(git, commit, path)?.is_some();
        if is_there == wants_absence && (wants_absence || !is_in_submodule(git, commit, path)?) {
            found.push(OffCommit { criterion: state.id.clone(), path: path.to_owned(), is_there });
        }
    }
    Ok(found)
}

fn mode_in(git: &dyn Git, commit: &Oid, path: &str) -> Result<Option<u32>, Refusal> {
    git.mode_at(commit, &TreePath::new(path)).map_err(fault::of_git)
}

fn is_in_submodule(git: &dyn Git, commit: &Oid, path: &str) -> Result<bool, Refusal> {
    for (end, _) in path.match_indices('/') {
        if mode_in(git, commit, &path[..end])? == Some(MODE_REPOSITORY) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn builds_on(git: &dyn Git, old: &Oid, new: &Oid) -> Result<BuildsOn, Refusal> {
    match git.ancestry(old, new) {
        Ok(Ancestry::Yes) => Ok(BuildsOn::Yes),
        // A commit that is not here was pushed by somebody else: nothing here builds on it.
        Ok(Ancestry::No) | Err(GitFault::UnknownRevision { .. }) => Ok(BuildsOn::No),
        Ok(Ancestry::UnknownShallow) => Ok(BuildsOn::Unknown),
        Err(why) => Err(fault::of_git(why)),
    }
}

fn profile_changed(git: &dyn Git, base: &Oid, commit: &Oid) -> Result<bool, Refusal> {
    let path = TreePath::new(PROFILE_PATH);
    let limit = crate::rules::profile::MAX_PROFILE_BYTES as u64;
    let at = |commit: &Oid| git.read_at(commit, &path, limit).map_err(fault::of_git);
    Ok(at(base)?.map(|blob| blob.bytes) != at(commit)?.map(|blob| blob.bytes))
}

/// Warns of commits in submodules that their remotes do not have: who fetches what is published cannot get at them.
pub fn warn_of_submodules(call: &mut Call<'_>, workspace: &Workspace) -> Result<(), Refusal> {
    let git = call.repository()?;
    let path = PathBuf::from(&workspace.path);
    let submodules: Vec<_> = git.submodules(&path).map_err(fault::of_git)?;
    if !submodules.iter().any(|submodule| submodule.populated) {
        return Ok(());
    }
    let leaving = Leaving { path, ..Leaving::default() };
    let lost = git.losses(&leaving).map_err(fault::of_git)?;
    let unpublished: Vec<String> =
        lost.iter().filter(|lost| is_of(lost, &submodules)).map(ToString::to_string).collect();
    for words in unpublished {
        call.warn("submodule_not_published", words);
    }
    Ok(())
}

fn is_of(lost: &Lost, submodules: &[Submodule]) -> bool {
    let Lost::Commits { whose: Whose::Repository(path), .. } = lost else { return false };
    submodules.iter().any(|submodule| path.as_bytes().starts_with(submodule.path.as_bytes()))
}
