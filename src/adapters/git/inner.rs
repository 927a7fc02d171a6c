//! Repositories inside a worktree: submodules, and those in directories that git does not track.

use std::path::Path;

use git2::Repository;

use super::left::{fetched, logged};
use super::losses::{commits, held_by_refs, reached_only_by};
use super::place::{broken, io, open_at};
use super::{dirt, ignored};
use crate::adapters::trees::index::{self, Tracked};
use crate::adapters::trees::{ignores::Ignores, nested, scan};
use crate::domain::path::TreePath;
use crate::ports::git::{Change, GitFault, GitResult, Lost, Whose};
use crate::ports::trees::MAX_NESTED_REPOSITORIES;

/// How deep `modules` directories are searched.
const MAX_MODULES_DEPTH: usize = 32;

/// What the repository at `rel` below `top` holds that its remotes do not. One that cannot be read is named: nobody can
/// tell what is in it.
pub(super) fn lost_in(top: &Path, rel: &[u8], depth: usize) -> Vec<Lost> {
    match look(top, rel, depth) {
        Ok(lost) => lost,
        Err(why) => vec![Lost::Unread { path: TreePath::new(rel), words: why.to_string() }],
    }
}

fn look(top: &Path, rel: &[u8], depth: usize) -> GitResult<Vec<Lost>> {
    let dir = nested::join(top, rel);
    let repo = open_at(&dir)?;
    let mut lost: Vec<Lost> = lost_commits(&repo, rel)?.into_iter().collect();
    if repo.is_bare() {
        return Ok(lost);
    }
    lost.extend(lost_files(&repo, rel, depth)?);
    Ok(lost)
}

/// Files of the repository that are not committed, and repositories inside it.
fn lost_files(repo: &Repository, rel: &[u8], depth: usize) -> GitResult<Vec<Lost>> {
    if depth >= MAX_NESTED_REPOSITORIES {
        return Err(GitFault::TooMany { what: "repositories inside each other", limit: MAX_NESTED_REPOSITORIES });
    }
    let inside = |path: &[u8]| [rel, b"/", path].concat();
    let top = dirt::top(repo)?;
    let changed = dirt::of(repo, depth)?.into_iter();
    let mut lost: Vec<Lost> =
        changed.map(|Change { path, .. }| Lost::File(TreePath::new(inside(path.as_bytes())))).collect();
    lost.dedup();
    let tracked = index::read(repo, top)?.tracked;
    let found = scan::scan(top, &tracked, &Ignores::of(repo))?;
    let ignored = ignored::look(top, None, &found.ignored, &tracked)?;
    lost.extend(ignored.lost.into_iter().map(|one| match one {
        Lost::Ignored { path, files, bytes } => {
            Lost::Ignored { path: TreePath::new(inside(path.as_bytes())), files, bytes }
        }
        other => other,
    }));
    for below in found.repositories.iter().chain(&ignored.repositories) {
        lost.extend(lost_in(top, below, depth + 1).into_iter().map(|one| moved(one, rel)));
    }
    lost.extend(lost_in_submodules(top, &tracked, rel, depth + 1));
    Ok(lost)
}

fn moved(lost: Lost, rel: &[u8]) -> Lost {
    let inside = |path: TreePath| TreePath::new([rel, b"/", path.as_bytes()].concat());
    match lost {
        Lost::File(path) => Lost::File(inside(path)),
        Lost::Unread { path, words } => Lost::Unread { path: inside(path), words },
        Lost::Ignored { path, files, bytes } => Lost::Ignored { path: inside(path), files, bytes },
        Lost::Commits { whose: Whose::Repository(path), commits, tips } => {
            Lost::Commits { whose: Whose::Repository(inside(path)), commits, tips }
        }
        other => other,
    }
}

/// What the submodules of `tracked` hold whose repositories lie in the worktree itself; their files that are not
/// committed show as a change of the submodule. Those whose repositories git keeps elsewhere are looked at there.
pub(super) fn lost_in_submodules(top: &Path, tracked: &[Tracked], above: &[u8], depth: usize) -> Vec<Lost> {
    let mut lost = Vec::new();
    for entry in tracked.iter().filter(|entry| entry.is_repository()) {
        let dir = nested::join(top, &entry.path);
        if !dir.join(".git").is_dir() {
            continue;
        }
        let rel = if above.is_empty() { entry.path.clone() } else { [above, b"/", &*entry.path].concat() };
        let looked = open_at(&dir).and_then(|repo| {
            let mut found: Vec<Lost> = lost_commits(&repo, &rel)?.into_iter().collect();
            if depth < MAX_NESTED_REPOSITORIES {
                let below = index::read(&repo, dirt::top(&repo)?)?.tracked;
                found.extend(lost_in_submodules(&dir, &below, &rel, depth + 1));
            }
            Ok(found)
        });
        match looked {
            Ok(found) => lost.extend(found),
            Err(why) => lost.push(Lost::Unread { path: TreePath::new(rel), words: why.to_string() }),
        }
    }
    lost
}

/// Commits of a repository's branches, stashes and head, and of where its head was, that its remotes do not have.
fn lost_commits(repo: &Repository, rel: &[u8]) -> GitResult<Option<Lost>> {
    let mut tips = logged(&repo.path().join("logs/HEAD"))?;
    tips.extend(repo.head().ok().and_then(|head| head.target()));
    let mut kept = fetched(repo.path());
    if repo.is_worktree() {
        // Its refs are another repository's, which stays.
        kept.extend(held_by_refs(repo)?);
    } else {
        tips.extend(logged(&repo.path().join("logs/refs/stash"))?);
        for reference in repo.references().map_err(broken)? {
            let reference = reference.map_err(broken)?;
            let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
            let target = reference.target();
            if name.starts_with("refs/remotes/") {
                kept.extend(target);
            } else if name.starts_with("refs/heads/") || name == "refs/stash" {
                tips.extend(target);
            }
        }
    }
    let found = reached_only_by(repo, &tips, &kept)?;
    commits(repo, Whose::Repository(TreePath::new(rel)), &found)
}

/// Commits that only the submodule repositories below `modules` hold.
pub(super) fn lost_with_modules(modules: &Path) -> GitResult<Vec<Lost>> {
    let mut lost = Vec::new();
    search_modules(modules, modules, 0, &mut lost)?;
    Ok(lost)
}

fn search_modules(modules: &Path, dir: &Path, depth: usize, lost: &mut Vec<Lost>) -> GitResult<()> {
    if depth > MAX_MODULES_DEPTH {
        return Err(GitFault::TooMany { what: "submodules inside each other", limit: MAX_MODULES_DEPTH });
    }
    let names = match fs_err::read_dir(dir) {
        Ok(names) => names,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(dir, &error)),
    };
    for entry in names {
        let path = entry.map_err(|error| io(dir, &error))?.path();
        if !path.is_dir() || path.is_symlink() {
            continue;
        }
        if !path.join("HEAD").is_file() {
            search_modules(modules, &path, depth + 1, lost)?;
            continue;
        }
        let name = path.strip_prefix(modules).unwrap_or(&path);
        let name = std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str());
        lost.extend(lost_commits(&open_at(&path)?, name)?);
        search_modules(modules, &path.join("modules"), depth + 1, lost)?;
    }
    Ok(())
}
