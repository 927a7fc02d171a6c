//! What would go with a worktree and its branch, and is nowhere else.

use std::path::Path;

use super::objects::{self, ours};
use super::place::{broken, open_at};
use super::worktrees::{INITIALIZING, Yard};
use super::{branches, dirt, ignored, inner, leaving, left, repair};
use crate::adapters::trees::{ignores::Ignores, index, scan};
use crate::ports::git::{Change, GitFault, GitResult, Leaving, Lost, Whose, Worktree};

pub(super) fn of(yard: &Yard<'_>, leaving: &Leaving) -> GitResult<Vec<Lost>> {
    let tree = yard.leaving(&leaving.path)?;
    let mut lost = Vec::new();
    match &tree {
        Some(tree) if yard.admin_of_whole(tree).is_some() => lost.extend(in_files(yard, &leaving.path)?),
        Some(tree) => lost.extend(repair::lost_files(yard, &leaving.path, tree)?),
        None => {}
    }
    lost.extend(on_branch(yard, leaving)?);
    lost.extend(with_registration(yard, tree.as_ref(), leaving)?);
    Ok(lost)
}

/// What goes with the registration and the branch's log: a lock's meaning, commits of the head and of where it was,
/// commits of submodules.
pub(super) fn with_registration(yard: &Yard<'_>, tree: Option<&Worktree>, leaving: &Leaving) -> GitResult<Vec<Lost>> {
    let mut lost = Vec::new();
    if let Some(reason) = tree.and_then(|tree| tree.locked.as_ref()).filter(|reason| *reason != INITIALIZING) {
        lost.push(Lost::Locked { reason: reason.clone() });
    }
    lost.extend(left::lost(yard, tree, leaving)?);
    if let Some(name) = tree.and_then(|tree| tree.name.as_deref()) {
        let admin = yard.admin(name);
        lost.extend(inner::lost_with_modules(&admin.join("modules"))?);
        if leaving::has_begun(&admin) {
            // The removal that has begun may have taken parts of them, after all of them had been looked at.
            lost.retain(|one| !matches!(one, Lost::Unread { .. }));
        }
    }
    Ok(lost)
}

fn on_branch(yard: &Yard<'_>, leaving: &Leaving) -> GitResult<Option<Lost>> {
    let Some(branch) = &leaving.branch else { return Ok(None) };
    let Some(tip) = branches::tip(yard.repo, branch)? else { return Ok(None) };
    let kept: Vec<_> = leaving.kept.iter().chain(&leaving.base).cloned().collect();
    let commits = objects::unpublished(yard.repo, &tip, &kept)?.commits;
    Ok((!commits.is_empty()).then(|| Lost::Commits { whose: Whose::Branch, commits, tips: vec![tip] }))
}

/// What the sound worktree at `top` holds beside its commits.
fn in_files(yard: &Yard<'_>, top: &Path) -> GitResult<Vec<Lost>> {
    let mut lost: Vec<Lost> = dirt::dirt(top)?.into_iter().map(|Change { path, .. }| Lost::File(path)).collect();
    lost.dedup();
    let repo = open_at(top)?;
    let work_dir = dirt::top(&repo)?;
    let tracked = index::read(&repo, work_dir)?.tracked;
    let found = scan::scan(work_dir, &tracked, &Ignores::of(&repo))?;
    let root = yard.place.main_work_tree.as_deref();
    let ignored = ignored::look(work_dir, root, &found.ignored, &tracked)?;
    lost.extend(ignored.lost);
    let untracked = found.repositories.into_iter();
    for rel in ignored.repositories.into_iter().chain(untracked) {
        lost.extend(inner::lost_in(work_dir, &rel, 0));
    }
    lost.extend(inner::lost_in_submodules(work_dir, &tracked, b"", 0));
    Ok(lost)
}

/// All that the refs of this repository hold.
pub(super) fn held_by_refs(repo: &git2::Repository) -> GitResult<Vec<git2::Oid>> {
    let mut held = Vec::new();
    for reference in repo.references().map_err(broken)? {
        let reference = reference.map_err(broken)?;
        if let Ok(commit) = reference.peel_to_commit() {
            held.push(commit.id());
        }
    }
    Ok(held)
}

/// Commits that `tips` reach and `kept` does not, newest first; tips that are no commit here any more reach nothing.
pub(super) fn reached_only_by(
    repo: &git2::Repository,
    tips: &[git2::Oid],
    kept: &[git2::Oid],
) -> GitResult<Vec<git2::Oid>> {
    let mut walk = repo.revwalk().map_err(broken)?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::TIME).map_err(broken)?;
    let mut any = false;
    for tip in tips.iter().filter(|tip| repo.find_commit(**tip).is_ok()) {
        walk.push(*tip).map_err(broken)?;
        any = true;
    }
    if !any {
        return Ok(Vec::new());
    }
    for oid in kept.iter().filter(|oid| repo.find_commit(**oid).is_ok()) {
        walk.hide(*oid).map_err(broken)?;
    }
    let mut found = Vec::new();
    for step in walk {
        if found.len() == MAX_WALKED {
            return Err(GitFault::TooMany { what: "commits that are nowhere else", limit: MAX_WALKED });
        }
        found.push(step.map_err(broken)?);
    }
    Ok(found)
}

/// The most commits that are looked at one by one.
const MAX_WALKED: usize = 100_000;

/// `found` as what is lost of `whose`; none if there are none.
pub(super) fn commits(repo: &git2::Repository, whose: Whose, found: &[git2::Oid]) -> GitResult<Option<Lost>> {
    let mut parents = std::collections::HashSet::new();
    for oid in found {
        parents.extend(repo.find_commit(*oid).map_err(broken)?.parent_ids());
    }
    let tips: Vec<_> = found.iter().filter(|oid| !parents.contains(oid)).map(|oid| ours(*oid)).collect();
    let lines = found.iter().take(crate::ports::git::MAX_UNPUBLISHED);
    let commits = lines.map(|oid| objects::line(repo, *oid)).collect::<GitResult<Vec<_>>>()?;
    Ok((!commits.is_empty()).then_some(Lost::Commits { whose, commits, tips }))
}
