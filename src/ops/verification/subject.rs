//! What is verified: a contract, the work tree it is judged in, and the base that judges.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::domain::commitment::Commitment;
use crate::domain::contract::{Attestation, Contract, Strength, Terms};
use crate::domain::digest::Digest;
use crate::domain::fold::{Kind, Rel};
use crate::domain::id::{CommitmentId, CommitmentRef, Oid, TaskId, TaskRef};
use crate::domain::profile::Profile;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::Run;
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;
use crate::domain::workspace::{Dirt, Workspace, WorkspaceStatus};
use crate::ops::base::Base;
use crate::ops::call::Call;
use crate::ops::custody;
use crate::ops::fault;
use crate::ops::workspace::look;
use crate::ports::ledger::Query;
use crate::rules::verification::due::{Due, Ground, Judges, add_required, of_criteria};
use crate::rules::verification::state::Bar;

/// What is verified, with everything that decides how.
pub struct Subject {
    pub task: Option<TaskId>,
    pub commitment: Option<CommitmentId>,
    /// With the criterion that its limits make, which the digest binds as limits.
    pub contract: Contract,
    pub contract_digest: Digest,
    pub attestations: Vec<Attestation>,
    pub terms: Terms,
    /// Evidence that is weaker does not meet a criterion.
    pub least: Strength,
    pub work_tree: PathBuf,
    pub workspace: Option<Workspace>,
    pub base: Option<Base>,
    pub tree_profile: Option<Profile>,
    /// The claim under which evidence counts.
    pub fence: Option<u64>,
    /// The claim that runs are recorded under: none for a session that does not hold it, so that they count for nothing.
    pub made_under: Option<u64>,
    /// Evidence that a verified publication rests on: it speaks for what was published, whatever became of the tree.
    pub published: Vec<Run>,
    /// Digests of the whole trees that were published so.
    pub published_inputs: Vec<Digest>,
    /// By commit: the paths that differ from it, as far as that was asked since the last snapshot.
    pub changed_from: RefCell<BTreeMap<String, Vec<String>>>,
}

impl Subject {
    /// A task. Without criteria of its own it is held to its commitment's, and without those to the base's required
    /// checks.
    pub fn of_task(call: &Call<'_>, task: &Task) -> Result<Self, Refusal> {
        let (work_tree, workspace) = look::work_tree_for(call, Some(&task.id))?;
        let mut subject = Self::in_tree(call, work_tree, workspace)?;
        subject.task = Some(task.id.clone());
        subject.commitment.clone_from(&task.commitment);
        subject.contract = task.contract.clone();
        subject.contract_digest = task.contract_digest.clone();
        subject.attestations.clone_from(&task.attestations);
        subject.terms.clone_from(&task.terms);
        // Nobody's word alone finishes a task (I3).
        subject.least = Strength::Cited;
        subject.fence = task.claim.as_ref().map(|claim| claim.fence);
        subject.made_under = subject.fence.filter(|_| !custody::is_stranger(call, task));
        if task.contract.criteria.is_empty()
            && let Some(id) = &task.commitment
            && let Some(held) = call.load::<Commitment>(id)?
        {
            subject.contract.criteria = held.value.contract.criteria;
            if subject.contract.limits.is_none() {
                subject.contract.limits = held.value.contract.limits;
            }
            subject.contract_digest = held.value.contract_digest;
            subject.attestations = held.value.attestations;
            subject.terms = held.value.terms;
        }
        subject.contract = subject.contract.with_limits();
        Ok(subject)
    }

    /// A commitment, judged where its work is: in the one workspace of its tasks, or else where the call was made.
    pub fn of_commitment(call: &Call<'_>, commitment: &Commitment) -> Result<Self, Refusal> {
        let tasks = tasks_of(call, &commitment.id)?;
        let mut open = Vec::new();
        let (mut published, mut published_inputs) = (Vec::new(), Vec::new());
        for task in &tasks {
            match look::standing(call, &task.id) {
                Ok(workspace) => open.push(workspace),
                Err(why) if why.code() == Code::WORKSPACE_REQUIRED => {}
                Err(why) => return Err(why),
            }
            for publication in look::published(call, &task.id)? {
                let Some(cleared) = publication.cleared else { continue };
                for evidence in cleared.evidence {
                    published.extend(call.load::<Run>(&evidence)?.map(|held| held.value));
                }
                published_inputs.extend(cleared.input);
            }
        }
        let here = call.repository()?.place().work_tree.clone();
        let inside = |workspace: &&Workspace| here.as_deref() == Some(Path::new(&workspace.path));
        let workspace = match (open.iter().find(inside), open.as_slice()) {
            (Some(here), _) => Some(here.clone()),
            (None, [only]) => Some(only.clone()),
            (None, _) => None,
        };
        let work_tree = match &workspace {
            Some(workspace) => PathBuf::from(&workspace.path),
            None => call.work_tree()?.to_owned(),
        };
        let mut subject = Self::in_tree(call, work_tree, workspace)?;
        subject.commitment = Some(commitment.id.clone());
        subject.contract = commitment.contract.clone().with_limits();
        subject.contract_digest = commitment.contract_digest.clone();
        subject.attestations.clone_from(&commitment.attestations);
        subject.terms.clone_from(&commitment.terms);
        subject.published = published;
        subject.published_inputs = published_inputs;
        Ok(subject)
    }

    /// What a call is about: the task or the commitment it names, or the task whose worktree it was made in, or that tree.
    ///
    /// # Errors
    /// `INVALID_VALUE` for both; `NOT_FOUND`.
    pub fn named(call: &Call<'_>, task: Option<&TaskRef>, commitment: Option<&CommitmentRef>) -> Result<Self, Refusal> {
        match (task, commitment) {
            (Some(_), Some(_)) => Err(Refusal::invalid(
                "commitment",
                "`task` and `commitment` cannot be given together: a task knows its own",
            )),
            (Some(task), None) => Self::of_task(call, &call.task(task)?.value),
            (None, Some(commitment)) => Self::of_commitment(call, &call.commitment(commitment)?.value),
            (None, None) => match task_here(call)? {
                Some(task) => Self::of_task(call, &task),
                None => Self::of_tree(call),
            },
        }
    }

    /// No task and no commitment: the tree that the call was made in, against the base.
    pub fn of_tree(call: &Call<'_>) -> Result<Self, Refusal> {
        Self::in_tree(call, call.work_tree()?.to_owned(), None)
    }

    /// The work tree at `path`, with nothing to hold it to but the base.
    pub fn of_dir(call: &Call<'_>, path: &Path) -> Result<Self, Refusal> {
        Self::in_tree(call, path.to_owned(), None)
    }

    fn in_tree(call: &Call<'_>, work_tree: PathBuf, workspace: Option<Workspace>) -> Result<Self, Refusal> {
        let contract = Contract::default();
        Ok(Self {
            task: None,
            commitment: None,
            contract_digest: contract.digest(),
            contract,
            attestations: Vec::new(),
            terms: Terms::default(),
            // A commitment's class says how strong its evidence must be: `fulfil` judges the whole.
            least: Strength::Asserted,
            base: call.base()?,
            tree_profile: call.work_tree_profile(Some(&work_tree))?,
            work_tree,
            workspace,
            fence: None,
            made_under: None,
            published: Vec::new(),
            published_inputs: Vec::new(),
            changed_from: RefCell::default(),
        })
    }

    /// Where the work parts from the base: what others changed on the base meanwhile is not this work's, whether or not
    /// the work was moved onto it. None where there is no base.
    ///
    /// # Errors
    /// What git says.
    pub fn parted_from(&self, call: &Call<'_>) -> Result<Option<Oid>, Refusal> {
        let Some(base) = &self.base else { return Ok(None) };
        let git = call.repository()?;
        let head = git.head(&self.work_tree).map_err(fault::of_git)?.at.commit().cloned();
        let parted = head.map(|head| git.fork_point(&base.commit, &head)).transpose().map_err(fault::of_git)?.flatten();
        let made_on = self.workspace.as_ref().and_then(|workspace| workspace.base.clone());
        Ok(Some(parted.or(made_on).unwrap_or_else(|| base.commit.clone())))
    }

    /// What evidence is held against at `now`.
    pub fn bar(&self, now: Stamp) -> Bar {
        Bar { least: self.least, now }
    }

    pub fn judges(&self) -> Judges<'_> {
        Judges {
            base: self.base.as_ref().and_then(|base| base.profile.as_ref()),
            work_tree: self.tree_profile.as_ref(),
        }
    }

    /// The profile whose required checks count: the base's, where it has one.
    pub fn judge(&self) -> Option<&Profile> {
        self.judges().base.or(self.judges().work_tree)
    }

    pub fn ground(&self) -> Ground<'_> {
        const NONE: &[Dirt] = &[];
        let recorded = self.workspace.as_ref();
        Ground {
            // A commitment's changes are judged where its work is: by the same key as the task's own.
            task: self.task.as_ref().or(recorded.map(|workspace| &workspace.task)),
            base: self.base.as_ref().map(|base| &base.commit),
            baseline: recorded.map_or(NONE, |workspace| workspace.baseline.as_slice()),
        }
    }

    /// Whether a commitment owes the base's required checks beside its criteria: an agent took from what it required.
    pub fn owes_required(&self) -> bool {
        self.task.is_none() && self.commitment.is_some() && self.terms.weakened_by_agent()
    }

    /// What the contract asks for, and what publication asks for as well if `required`.
    pub fn due(&self, required: bool) -> Vec<Due> {
        let mut due = of_criteria(&self.contract.criteria, self.judges(), self.ground());
        if let Some(profile) = self.judge().filter(|_| required) {
            add_required(&mut due, profile);
        }
        due
    }
}

/// The task whose worktree the call was made in: there, no task means that one, so that what is shown counts for it.
///
/// # Errors
/// `NO_WORK_TREE`, or when the ledger cannot be read.
pub fn task_here(call: &Call<'_>) -> Result<Option<Task>, Refusal> {
    let here = call.work_tree()?;
    match open_workspaces(call)?.into_iter().find(|workspace| Path::new(&workspace.path) == here) {
        Some(workspace) => Ok(call.load::<Task>(&workspace.task)?.map(|task| task.value)),
        None => Ok(None),
    }
}

/// Every workspace that is open, by the ledger.
pub fn open_workspaces(call: &Call<'_>) -> Result<Vec<Workspace>, Refusal> {
    let open = Query { statuses: vec![WorkspaceStatus::Open.name()], ..Query::all(Kind::Workspace) };
    Ok(call.query::<Workspace>(&open)?.into_iter().map(|held| held.value).collect())
}

/// The tasks that work for a commitment.
pub fn tasks_of(call: &Call<'_>, commitment: &CommitmentId) -> Result<Vec<Task>, Refusal> {
    let query = Query { link: Some((Rel::Commitment, commitment.to_string())), ..Query::all(Kind::Task) };
    Ok(call.query::<Task>(&query)?.into_iter().map(|held| held.value).collect())
}
