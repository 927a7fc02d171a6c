//! The git port on this machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use git2::{Repository, RepositoryOpenFlags};

use super::place::{self, place_of};
use super::program::{MAX_LOCAL_WAIT, Program};
use super::worktrees::Yard;
use super::{branches, converted, dirt, head, losses, objects, remotes, repair, settings, submodules, worktrees};
use crate::adapters::layout::Layout;
use crate::adapters::lock::FileLock;
use crate::domain::id::Oid;
use crate::domain::path::TreePath;
use crate::ports::git::{
    Ancestry, At, Blob, Branch, Change, Checkout, ConfigValue, Configured, Depth, Git, GitFault, GitResult, Head,
    Leaving, Listed, Lost, Place, Pushed, RefUpdate, RemoteUrl, Repair, Repositories, Spot, Submodule, Unpublished,
    Worktree,
};

/// How long a git that a killed kctl left behind is waited for, in milliseconds. Whoever holds the lock of the worktrees
/// has waited for it already.
const MAX_LEFT_BEHIND_WAIT_MS: u64 = 300_000;

/// One repository, opened from one directory.
pub struct LocalGit {
    place: Place,
    // libgit2's repository may move between threads, but not be shared by them.
    repo: Mutex<Repository>,
    git: Program,
}

impl LocalGit {
    /// Opens the repository that `dir` is in, whatever `GIT_DIR` says.
    ///
    /// # Errors
    /// As [`discover`](super::discover).
    pub fn open(dir: &Path) -> GitResult<Self> {
        let repo = place::open(dir, RepositoryOpenFlags::empty())?;
        Ok(Self { place: place_of(&repo)?, repo: Mutex::new(repo), git: Program::default() })
    }

    /// The same with another git program.
    #[cfg(test)]
    pub(super) fn with_program(self, git: Program) -> Self {
        Self { git, ..self }
    }

    fn repo(&self) -> MutexGuard<'_, Repository> {
        self.repo.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The root once more, for what takes long: reads by other threads do not wait for a network.
    fn fresh(&self) -> GitResult<Repository> {
        place::open_at(&self.place.common_dir)
    }

    fn yard<'a>(&'a self, repo: &'a Repository, git: &'a Program) -> Yard<'a> {
        Yard { place: &self.place, repo, git }
    }

    /// Git for what makes or removes worktrees and branches: it holds a lock that outlives us if we are killed.
    fn lasting(&self) -> GitResult<Program> {
        let layout = Layout::of(&self.place.common_dir);
        let path = layout.git_lock();
        let made = fs_err::create_dir_all(layout.dir());
        let lock = made.and_then(|()| FileLock::take(&path, MAX_LEFT_BEHIND_WAIT_MS));
        Ok(self.git.holding(lock.map_err(|error| place::io(&path, &error))?))
    }

    /// Where git runs when it is about the root: in the main worktree, so that a remote's relative address means the
    /// same from every linked one.
    fn dir(&self) -> &Path {
        let place = &self.place;
        place.main_work_tree.as_ref().or(place.work_tree.as_ref()).unwrap_or(&place.common_dir)
    }
}

impl Git for LocalGit {
    fn place(&self) -> &Place {
        &self.place
    }

    fn head(&self, work_tree: &Path) -> GitResult<Head> {
        head::head(work_tree)
    }

    fn resolve(&self, rev: &str) -> GitResult<Oid> {
        objects::resolve(&self.repo(), rev)
    }

    fn tree_of(&self, commit: &Oid) -> GitResult<Oid> {
        objects::tree_of(&self.repo(), commit)
    }

    fn ancestry(&self, old: &Oid, new: &Oid) -> GitResult<Ancestry> {
        objects::ancestry(&self.repo(), old, new)
    }

    fn fork_point(&self, a: &Oid, b: &Oid) -> GitResult<Option<Oid>> {
        objects::fork_point(&self.repo(), a, b)
    }

    fn read_at(&self, commit: &Oid, path: &TreePath, max_bytes: u64) -> GitResult<Option<Blob>> {
        objects::read_at(&self.repo(), commit, path, max_bytes)
    }

    fn mode_at(&self, commit: &Oid, path: &TreePath) -> GitResult<Option<u32>> {
        objects::mode_at(&self.repo(), commit, path)
    }

    fn list_at(&self, commit: &Oid, prefix: &TreePath) -> GitResult<Vec<Listed>> {
        objects::list_at(&self.repo(), commit, prefix)
    }

    fn dirt(&self, work_tree: &Path) -> GitResult<Vec<Change>> {
        dirt::dirt(work_tree)
    }

    fn converted(&self, work_tree: &Path, commit: &Oid, base: &Oid) -> GitResult<Vec<TreePath>> {
        converted::converted(work_tree, commit, base)
    }

    fn changed_since(&self, work_tree: &Path, base: &Oid) -> GitResult<Vec<Change>> {
        dirt::changed_since(work_tree, base)
    }

    fn changed_between(&self, from: &Oid, to: &Oid) -> GitResult<Vec<Change>> {
        dirt::changed_between(&self.repo(), from, to)
    }

    fn is_ignored(&self, work_tree: &Path, path: &str) -> GitResult<bool> {
        place::open_at(work_tree)?.is_path_ignored(path).map_err(place::broken)
    }

    fn branch_tip(&self, branch: &str) -> GitResult<Option<Oid>> {
        branches::tip(&self.repo(), branch)
    }

    fn branches(&self, prefix: &str) -> GitResult<Vec<Branch>> {
        branches::with_prefix(&self.repo(), prefix)
    }

    fn unpublished(&self, tip: &Oid, kept: &[Oid]) -> GitResult<Unpublished> {
        objects::unpublished(&self.repo(), tip, kept)
    }

    fn delete_branch(&self, branch: &str, expected: &Oid) -> GitResult<bool> {
        let full = branches::legal_branch(branch)?;
        if branches::tip(&self.repo(), branch)?.is_none() {
            return Ok(false);
        }
        let repo = self.repo();
        let holder = self
            .yard(&repo, &self.git)
            .all()?
            .into_iter()
            .find(|tree| tree.at.as_ref().and_then(At::branch) == Some(branch));
        drop(repo);
        if let Some(path) = holder.and_then(|tree| tree.path) {
            return Err(GitFault::Taken { path, why: format!("the branch `{branch}` is checked out there") });
        }
        // Git compares and deletes under the ref's own lock.
        let args = ["update-ref", "--no-deref", "-d", &full, expected.as_str()].map(OsStr::new);
        self.lasting()?.must(&self.place.common_dir, &args, MAX_LOCAL_WAIT)?;
        Ok(true)
    }

    fn worktrees(&self) -> GitResult<Vec<Worktree>> {
        self.yard(&self.repo(), &self.git).all()
    }

    fn estranged(&self, path: &Path) -> GitResult<Option<String>> {
        worktrees::estranged(&self.place, path)
    }

    fn spot(&self, path: &Path) -> GitResult<Spot> {
        self.yard(&self.repo(), &self.git).spot(path)
    }

    fn add_worktree(&self, path: &Path, checkout: &Checkout) -> GitResult<Worktree> {
        self.yard(&self.fresh()?, &self.lasting()?).add(path, checkout)
    }

    fn repair_worktree(&self, path: &Path, checkout: &Checkout) -> GitResult<Repair> {
        repair::repair(&self.yard(&self.fresh()?, &self.lasting()?), path, checkout)
    }

    fn losses(&self, leaving: &Leaving) -> GitResult<Vec<Lost>> {
        losses::of(&self.yard(&self.fresh()?, &self.git), leaving)
    }

    fn remove_worktree(&self, leaving: &Leaving, accepted: &[Lost]) -> GitResult<()> {
        self.yard(&self.fresh()?, &self.lasting()?).remove(leaving, accepted)
    }

    fn keep(&self, commit: &Oid, reference: &str) -> GitResult<()> {
        let args = ["update-ref", "--no-deref", reference, commit.as_str()].map(OsStr::new);
        self.lasting()?.must(&self.place.common_dir, &args, MAX_LOCAL_WAIT).map(drop)
    }

    fn submodules(&self, work_tree: &Path) -> GitResult<Vec<Submodule>> {
        submodules::submodules(work_tree)
    }

    fn init_submodules(&self, work_tree: &Path) -> GitResult<()> {
        submodules::init(&self.lasting()?, work_tree)
    }

    fn lfs_pointers(&self, work_tree: &Path) -> GitResult<Vec<TreePath>> {
        submodules::lfs_pointers(work_tree)
    }

    fn remotes(&self) -> GitResult<Vec<String>> {
        let names = self.repo().remotes().map_err(place::broken)?;
        Ok(names.iter().filter_map(|name| name.ok().flatten().map(str::to_owned)).collect())
    }

    fn push_url(&self, remote: &str) -> GitResult<RemoteUrl> {
        remotes::push_url(&self.git, self.dir(), remote)
    }

    fn remote_refs(&self, url: &RemoteUrl, refs: &[&str]) -> GitResult<Vec<(String, Oid)>> {
        remotes::remote_refs(&self.git, self.dir(), url, refs)
    }

    fn fetch(&self, remote: &str, reference: &str, depth: Depth) -> GitResult<Option<Oid>> {
        remotes::fetch(&self.git, &self.fresh()?, self.dir(), remote, reference, depth)
    }

    fn push(&self, url: &RemoteUrl, updates: &[RefUpdate]) -> GitResult<Pushed> {
        remotes::push(&self.git, &self.fresh()?, self.dir(), url, updates)
    }

    fn symbolic(&self, reference: &str) -> GitResult<Option<String>> {
        settings::symbolic(&self.repo(), reference)
    }

    fn config_values(&self, key: &str) -> GitResult<Vec<ConfigValue>> {
        settings::values(&self.git, self.dir(), key)
    }

    fn config(&self, work_tree: Option<&Path>, key: &str) -> GitResult<Option<Configured>> {
        match work_tree {
            Some(work_tree) => branches::config(&place::open_at(work_tree)?, key),
            None => branches::config(&self.repo(), key),
        }
    }

    fn set_local_config(&self, key: &str, value: &str) -> GitResult<()> {
        branches::set_local(&self.place, key, value)
    }

    fn unset_local_config(&self, key: &str) -> GitResult<bool> {
        branches::unset_local(&self.place, key)
    }

    fn hooks_dir(&self, work_tree: Option<&Path>) -> GitResult<PathBuf> {
        branches::hooks_dir(&self.place, work_tree)
    }
}

/// Opens repositories on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalRepositories;

impl Repositories for LocalRepositories {
    fn discover(&self, dir: &Path) -> GitResult<Box<dyn Git>> {
        Ok(Box::new(LocalGit::open(dir)?))
    }
}
