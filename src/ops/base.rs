//! The accepted base and its profile: the judge that a candidate cannot choose (I7).

use std::path::Path;

use crate::domain::contract::{Contract, Proof};
use crate::domain::digest::Digest;
use crate::domain::fold::Kind;
use crate::domain::id::Oid;
use crate::domain::path::TreePath;
use crate::domain::plan::Place;
use crate::domain::profile::{Check, CheckName, Overlap, PROFILE_PATH, Profile, TaskRules};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::root::{BaseName, Root};
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
    /// None where the base's tree has no profile.
    pub profile: Option<Profile>,
}

impl Base {
    pub fn profile_digest(&self) -> Option<Digest> {
        self.profile.as_ref().map(Profile::digest)
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
        let found = find(self.repository()?, self.recorded_base()?.as_ref())?;
        Ok(self.base.get_or_init(|| found).clone())
    }

    /// The base that was recorded when kctl was put into the repository.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn recorded_base(&self) -> Result<Option<BaseName>, Refusal> {
        Ok(self.roots()?.into_iter().filter_map(|root| root.base).find(|base| base.remote.is_some()))
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
/// recorded: both are in reach of whoever wants another judge.
fn find(git: &dyn Git, recorded: Option<&BaseName>) -> Result<Option<Base>, Refusal> {
    let remotes = git.remotes().map_err(fault::of_git)?;
    let usual = remotes.iter().find(|name| *name == "origin").or(remotes.first()).cloned();
    let known = recorded.filter(|base| base.remote.as_ref().is_some_and(|remote| remotes.contains(remote)));
    let (remote, first) = match known {
        Some(base) => (base.remote.clone(), Some(base.branch.clone())),
        None => (usual.clone(), default_branch(git, usual.as_deref())?),
    };
    let Some(first) = first else { return Ok(None) };
    let Some(base) = at(git, remote.clone(), &first)? else { return Ok(None) };
    let named = base.profile.as_ref().map(|profile| profile.publish.clone());
    let Some(rules) = named else { return Ok(Some(base)) };
    let remote = if remotes.contains(&rules.remote) { Some(rules.remote) } else { remote };
    let branch = rules.base.unwrap_or(first);
    if remote == base.remote && branch == base.branch {
        return Ok(Some(base));
    }
    match at(git, remote, &branch)? {
        Some(named) => Ok(Some(named)),
        None => Err(Refusal::new(Code::BASE_UNKNOWN, format!("the base `{branch}` is not in this clone"))
            .with("branch", &branch)
            .with("remedy", format!("git fetch, so that `{branch}` of the remote is known here"))),
    }
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

fn at(git: &dyn Git, remote: Option<String>, branch: &str) -> Result<Option<Base>, Refusal> {
    let reference = match &remote {
        Some(remote) => format!("refs/remotes/{remote}/{branch}"),
        None => format!("refs/heads/{branch}"),
    };
    let commit = match git.resolve(&reference) {
        Ok(commit) => commit,
        Err(GitFault::UnknownRevision { .. }) => return Ok(None),
        Err(why) => return Err(fault::of_git(why)),
    };
    let profile = profile_at(git, &commit)?;
    Ok(Some(Base { remote, branch: branch.to_owned(), reference, commit, profile }))
}

/// The profile in the tree of `commit`.
pub fn profile_at(git: &dyn Git, commit: &Oid) -> Result<Option<Profile>, Refusal> {
    let blob = git.read_at(commit, &TreePath::new(PROFILE_PATH), MAX_PROFILE_BYTES as u64).map_err(fault::of_git)?;
    blob.map(|blob| profile::read(&blob.bytes))
        .transpose()
        .map_err(|faults| Refusal::from(faults).with("commit", commit))
}
