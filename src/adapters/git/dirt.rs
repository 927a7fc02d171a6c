//! What differs: base and head, head and index, index and disk.

use std::path::Path;

use git2::{Delta, Diff, DiffFindOptions, DiffOptions, ErrorCode, Repository, Tree};

use super::compare;
use super::objects::commit;
use super::place::{broken, open_at};
use crate::adapters::trees::index::{self, IndexFile};
use crate::adapters::trees::scan;
use crate::domain::id::Oid;
use crate::domain::path::TreePath;
use crate::ports::git::{Change, ChangeKind, GitFault, GitResult, Layer};

/// Renames are looked for among at most this many files.
const MAX_RENAME_CANDIDATES: usize = 1000;

pub(super) fn dirt(work_tree: &Path) -> GitResult<Vec<Change>> {
    of(&open_at(work_tree)?, 0)
}

/// The dirt of an open repository that lies `depth` repositories deep.
pub(super) fn of(repo: &Repository, depth: usize) -> GitResult<Vec<Change>> {
    let top = top(repo)?;
    let index = index::read(repo, top)?;
    let mut changes = staged(repo, head_tree(repo)?.as_ref(), &index, true)?;
    changes.extend(compare::work_tree(repo, top, &index, depth)?);
    changes.sort();
    Ok(changes)
}

/// Whether `dirt` would name nothing, told from a walk of the work tree that was made already.
pub(crate) fn is_clean(repo: &Repository, top: &Path, index: &IndexFile, found: &scan::Scan) -> GitResult<bool> {
    Ok(staged(repo, head_tree(repo)?.as_ref(), index, false)?.is_empty() && compare::is_same(repo, top, index, found)?)
}

pub(super) fn changed_since(work_tree: &Path, base: &Oid) -> GitResult<Vec<Change>> {
    let repo = open_at(work_tree)?;
    let top = top(&repo)?;
    let index = index::read(&repo, top)?;
    let base = commit(&repo, base)?.tree().map_err(broken)?;
    let head = head_tree(&repo)?;
    let committed = repo.diff_tree_to_tree(Some(&base), head.as_ref(), Some(&mut options())).map_err(broken)?;
    let mut found = changes(&committed, Layer::Committed);
    found.extend(staged(&repo, head.as_ref(), &index, false)?);
    found.extend(compare::work_tree(&repo, top, &index, 0)?);
    found.sort();
    Ok(found)
}

pub(super) fn changed_between(repo: &Repository, from: &Oid, to: &Oid) -> GitResult<Vec<Change>> {
    let tree = |oid| commit(repo, oid)?.tree().map_err(broken);
    let diff = repo.diff_tree_to_tree(Some(&tree(from)?), Some(&tree(to)?), Some(&mut options())).map_err(broken)?;
    let mut found = changes(&diff, Layer::Committed);
    found.sort();
    Ok(found)
}

pub(super) fn top(repo: &Repository) -> GitResult<&Path> {
    repo.workdir().ok_or_else(|| GitFault::NoWorkTree { dir: repo.path().to_owned() })
}

fn head_tree(repo: &Repository) -> GitResult<Option<Tree<'_>>> {
    match repo.head() {
        Ok(head) => Ok(Some(head.peel_to_tree().map_err(broken)?)),
        Err(error) if error.code() == ErrorCode::UnbornBranch => Ok(None),
        Err(error) => Err(broken(error)),
    }
}

fn staged(repo: &Repository, head: Option<&Tree<'_>>, index: &IndexFile, renames: bool) -> GitResult<Vec<Change>> {
    // Git notes which tree the index makes, and forgets it with the first change: mostly there is nothing to compare.
    if index.tree.is_some() && index.tree == head.map(Tree::id) {
        return Ok(Vec::new());
    }
    let mut diff = repo.diff_tree_to_index(head, None, Some(&mut options())).map_err(broken)?;
    if renames {
        // Similarity is libgit2's own: no textconv runs.
        let mut find = DiffFindOptions::new();
        find.renames(true).rename_limit(MAX_RENAME_CANDIDATES);
        diff.find_similar(Some(&mut find)).map_err(broken)?;
    }
    Ok(changes(&diff, Layer::Staged))
}

fn options() -> DiffOptions {
    let mut options = DiffOptions::new();
    options.include_typechange(true).skip_binary_check(true);
    options
}

fn changes(diff: &Diff<'_>, layer: Layer) -> Vec<Change> {
    let path = |file: git2::DiffFile<'_>| TreePath::new(file.path_bytes().unwrap_or_default());
    let one = |delta: git2::DiffDelta<'_>| {
        let kind = match delta.status() {
            Delta::Added | Delta::Copied => ChangeKind::Added,
            Delta::Deleted => return Some(Change { path: path(delta.old_file()), kind: ChangeKind::Deleted, layer }),
            Delta::Modified => ChangeKind::Modified,
            Delta::Renamed => ChangeKind::Renamed { from: path(delta.old_file()) },
            Delta::Typechange => ChangeKind::TypeChanged,
            // The comparison with the disk names conflicts, once.
            Delta::Conflicted | Delta::Unmodified | Delta::Ignored | Delta::Untracked | Delta::Unreadable => {
                return None;
            }
        };
        Some(Change { path: path(delta.new_file()), kind, layer })
    };
    diff.deltas().filter_map(one).collect()
}
