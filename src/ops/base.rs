//! The accepted base and its profile: the judge that a candidate cannot choose (I7).

use std::path::Path;

use serde_json::json;

use crate::domain::contract::{Contract, Proof};
use crate::domain::digest::Digest;
use crate::domain::fold::Kind;
use crate::domain::id::Oid;
use crate::domain::path::TreePath;
use crate::domain::plan::Place;
use crate::domain::profile::{Check, CheckName, Overlap, PROFILE_PATH, Profile, TaskRules};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::root::{BaseName, Root, SeenBase};
use crate::domain::stamp::Length;
use crate::ports::files::FileFault;
use crate::ports::git::{Git, GitFault};
use crate::ports::ledger::Query;
use crate::rules::profile::{self, MAX_PROFILE_BYTES};

use super::call::Call;
use super::fault;

/// The commit that work is accepted onto, and what its own tree says must hold.
#[derive(Clone, Debug)]
pub struct Base {
    /// The remote whose branch it is; none in a repository without one.
    pub remote: Option<String>,
    /// Without `refs/heads/`.
    pub branch: String,
    /// The full name here: `refs/remotes/<remote>/<branch>`, or `refs/heads/<branch>` without a remote.
    pub reference: String,
    pub commit: Oid,
    /// What the reference holds here. Where it is not `commit`, it was moved and the remote was not asked since.
    pub tracking: Option<Oid>,
    /// None where the base's tree has no profile.
    pub profile: Option<Profile>,
}

impl Base {
    pub fn profile_digest(&self) -> Option<Digest> {
        self.profile.as_ref().map(Profile::digest)
    }

    /// What is to be said where this clone's reference to the base does not hold it.
    pub fn strayed(&self) -> Option<String> {
        self.remote.as_ref()?;
        let here = match &self.tracking {
            Some(tracking) if *tracking == self.commit => return None,
            Some(tracking) => format!("at {} here", tracking.short()),
            None => "gone here".to_owned(),
        };
        let (reference, commit) = (&self.reference, self.commit.short());
        Some(format!(
            "`{reference}` is {here}; the base was last seen at {commit}, and that judges. `kctl validate` asks the remote"
        ))
    }
}

impl Call<'_> {
    /// The accepted base as this clone knows it. None where no branch could be one.
    ///
    /// # Errors
    /// `PROFILE_INVALID` when the base's profile cannot be read (I14), or what git says.
    pub fn base(&self) -> Result<Option<Base>, Refusal> {
        if let Some(base) = self.base.get() {
            return Ok(base.clone());
        }
        let found = find(self.repository()?, self.recorded_base()?.as_ref(), &self.seen_bases()?)?;
        Ok(self.base.get_or_init(|| found).clone())
    }

    /// The base that was recorded when kctl was put into the repository.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn recorded_base(&self) -> Result<Option<BaseName>, Refusal> {
        Ok(self.roots()?.into_iter().filter_map(|root| root.base).find(|base| base.remote.is_some()))
    }

    /// Where bases were when they were last seen; the newest word on each comes first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn seen_bases(&self) -> Result<Vec<SeenBase>, Refusal> {
        let mut recorded: Vec<SeenBase> = self.roots()?.into_iter().flat_map(|root| root.seen).collect();
        recorded.sort_by_key(|seen| std::cmp::Reverse(seen.at));
        Ok(self.asked.iter().rev().cloned().chain(recorded).collect())
    }

    /// How kctl was put in here. There can be several: a recovery that may have lost events goes on under a new origin.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn roots(&self) -> Result<Vec<Root>, Refusal> {
        if self.ledger.is_none() {
            return Ok(Vec::new());
        }
        Ok(self.query::<Root>(&Query::all(Kind::Root))?.into_iter().map(|held| held.value).collect())
    }

    /// The profile that rules claims, workspaces and the words of tasks: the base's, or the work tree's where the
    /// base has none yet.
    ///
    /// # Errors
    /// `PROFILE_INVALID`.
    pub fn profile(&self) -> Result<Profile, Refusal> {
        if let Some(profile) = self.base()?.and_then(|base| base.profile) {
            return Ok(profile);
        }
        Ok(self.work_tree_profile(None)?.unwrap_or_default())
    }

    /// The profile as it lies in `work_tree`, or in the root's main worktree.
    ///
    /// # Errors
    /// `PROFILE_INVALID`.
    pub fn work_tree_profile(&self, work_tree: Option<&Path>) -> Result<Option<Profile>, Refusal> {
        match self.files(work_tree)?.read(&Place::tree(PROFILE_PATH), MAX_PROFILE_BYTES as u64) {
            Ok(Some(bytes)) => Ok(Some(profile::read(&bytes)?)),
            Ok(None) | Err(FileFault::NoTree { .. }) => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    /// Refuses a contract whose criteria name a check that the profile does not declare. The profile is read only for one
    /// that names checks.
    ///
    /// # Errors
    /// `CHECK_UNKNOWN`, `PROFILE_INVALID`.
    pub fn knows_checks(&self, contract: &Contract) -> Result<(), Refusal> {
        let names_checks = contract.criteria.iter().any(|criterion| matches!(criterion.proof, Proof::Check { .. }));
        if names_checks { self.profile()?.knows_checks(contract) } else { Ok(()) }
    }

    /// How long a new lease runs.
    ///
    /// # Errors
    /// `PROFILE_INVALID`.
    pub fn lease(&self) -> Result<Length, Refusal> {
        Ok(self.profile()?.tasks.lease)
    }
}

impl TaskRules {
    pub fn overlap_refused(&self) -> bool {
        self.overlap == Overlap::Refuse
    }
}

impl Profile {
    /// Refuses a contract whose criteria name a check that is not declared.
    ///
    /// # Errors
    /// `CHECK_UNKNOWN` with the field and the names there are.
    pub fn knows_checks(&self, contract: &Contract) -> Result<(), Refusal> {
        for (index, criterion) in contract.criteria.iter().enumerate() {
            if let Proof::Check { check } = &criterion.proof
                && self.check(check).is_none()
            {
                let known: Vec<&str> = self.checks.keys().map(CheckName::as_str).collect();
                return Err(Refusal::new(Code::CHECK_UNKNOWN, format!("the profile declares no check `{check}`"))
                    .with("field", format!("criteria[{index}].check"))
                    .with("known", known)
                    .with("path", PROFILE_PATH));
            }
        }
        Ok(())
    }

    pub fn check(&self, name: &str) -> Option<&Check> {
        self.checks.iter().find(|(known, _)| known.as_str() == name).map(|(_, check)| check)
    }
}

/// Finds the base: the branch that was recorded, or else the one that the remote's HEAD names, unless the profile at
/// that branch names another. A work tree's profile is not asked, and neither is the remote's HEAD once a base is
/// recorded: both are in reach of whoever wants another judge. So is the reference to the branch itself, and where a
/// commit was `seen` there, that commit is the base.
fn find(git: &dyn Git, recorded: Option<&BaseName>, seen: &[SeenBase]) -> Result<Option<Base>, Refusal> {
    let Some(first) = first(git, recorded)? else { return Ok(None) };
    let Some(base) = at(git, first, seen)? else { return Ok(None) };
    let Some(named) = elsewhere(git, &base)? else { return Ok(Some(base)) };
    let branch = named.branch.clone();
    match at(git, named, seen)? {
        Some(named) => Ok(Some(named)),
        None => Err(Refusal::new(Code::BASE_UNKNOWN, format!("the base `{branch}` is not in this clone"))
            .with("branch", &branch)
            .with("remedy", format!("git fetch, so that `{branch}` of the remote is known here"))),
    }
}

/// The branch whose profile is read first.
pub fn first(git: &dyn Git, recorded: Option<&BaseName>) -> Result<Option<BaseName>, Refusal> {
    let remotes = git.remotes().map_err(fault::of_git)?;
    let known = recorded.filter(|base| base.remote.as_ref().is_some_and(|remote| remotes.contains(remote)));
    if let Some(known) = known {
        return Ok(Some(known.clone()));
    }
    let remote = remotes.iter().find(|name| *name == "origin").or(remotes.first()).cloned();
    Ok(default_branch(git, remote.as_deref())?.map(|branch| BaseName { remote, branch }))
}

/// The base that the profile at `base` names, if that is another.
pub fn elsewhere(git: &dyn Git, base: &Base) -> Result<Option<BaseName>, Refusal> {
    let Some(rules) = base.profile.as_ref().map(|profile| &profile.publish) else { return Ok(None) };
    let remotes = git.remotes().map_err(fault::of_git)?;
    let remote = if remotes.contains(&rules.remote) { Some(rules.remote.clone()) } else { base.remote.clone() };
    let branch = rules.base.clone().unwrap_or_else(|| base.branch.clone());
    Ok((remote != base.remote || branch != base.branch).then_some(BaseName { remote, branch }))
}

fn default_branch(git: &dyn Git, remote: Option<&str>) -> Result<Option<String>, Refusal> {
    let Some(remote) = remote else {
        let here = git.place().main_work_tree.clone();
        let usual = || ["main", "master", "trunk"].into_iter().find(|name| matches!(git.branch_tip(name), Ok(Some(_))));
        let checked_out = match here {
            Some(work_tree) => git.head(&work_tree).map_err(fault::of_git)?.at.branch().map(str::to_owned),
            None => None,
        };
        return Ok(usual().map(str::to_owned).or(checked_out));
    };
    let prefix = format!("refs/remotes/{remote}/");
    if let Some(target) = git.symbolic(&format!("{prefix}HEAD")).map_err(fault::of_git)?
        && let Some(branch) = target.strip_prefix(&prefix)
    {
        return Ok(Some(branch.to_owned()));
    }
    let usual = ["main", "master", "trunk"];
    Ok(usual.into_iter().find(|name| git.resolve(&format!("{prefix}{name}")).is_ok()).map(str::to_owned))
}

/// The base of this name: where it was seen last, or else where this clone has it.
pub fn at(git: &dyn Git, name: BaseName, seen: &[SeenBase]) -> Result<Option<Base>, Refusal> {
    let BaseName { remote, branch } = name;
    let reference = reference(remote.as_deref(), &branch);
    let tracking = tracking(git, &reference)?;
    let is_it = |one: &&SeenBase| Some(&one.remote) == remote.as_ref() && one.branch == branch;
    let Some(commit) = seen.iter().find(is_it).map(|one| one.commit.clone()).or(tracking.clone()) else {
        return Ok(None);
    };
    if tracking.as_ref() != Some(&commit) && git.resolve(commit.as_str()).is_err() {
        let words = format!("the base was last seen at {}, which is not in this clone", commit.short());
        return Err(Refusal::new(Code::BASE_UNKNOWN, words)
            .with("commit", &commit)
            .with("remedy", "git fetch, so that the commit is here")
            .next("validate", "asks the remote, and brings the base here", json!({})));
    }
    let profile = profile_at(git, &commit)?;
    Ok(Some(Base { remote, branch, reference, commit, tracking, profile }))
}

/// The full name that the branch has here.
pub fn reference(remote: Option<&str>, branch: &str) -> String {
    match remote {
        Some(remote) => format!("refs/remotes/{remote}/{branch}"),
        None => format!("refs/heads/{branch}"),
    }
}

/// What `reference` holds here.
pub fn tracking(git: &dyn Git, reference: &str) -> Result<Option<Oid>, Refusal> {
    match git.resolve(reference) {
        Ok(commit) => Ok(Some(commit)),
        Err(GitFault::UnknownRevision { .. }) => Ok(None),
        Err(why) => Err(fault::of_git(why)),
    }
}

/// The profile in the tree of `commit`.
pub fn profile_at(git: &dyn Git, commit: &Oid) -> Result<Option<Profile>, Refusal> {
    let blob = git.read_at(commit, &TreePath::new(PROFILE_PATH), MAX_PROFILE_BYTES as u64).map_err(fault::of_git)?;
    blob.map(|blob| profile::read(&blob.bytes))
        .transpose()
        .map_err(|faults| Refusal::from(faults).with("commit", commit))
}
