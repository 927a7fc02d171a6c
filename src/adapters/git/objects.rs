//! Commits, trees and blobs.

use std::collections::HashSet;

use git2::{Commit, ErrorCode, ObjectType, Repository, Sort, Tree};

use super::place::{broken, read_small};
use crate::domain::id::Oid;
use crate::domain::path::TreePath;
use crate::ports::git::{
    Ancestry, Blob, CommitLine, GitFault, GitResult, Listed, MAX_LISTED, MAX_SUBJECT_CHARS, MAX_UNPUBLISHED,
    Unpublished,
};

/// Directories inside each other in a stored tree.
const MAX_TREE_DEPTH: usize = 512;

pub(super) fn ours(oid: git2::Oid) -> Oid {
    oid.to_string().parse().expect("libgit2 writes an object id as lowercase hex digits")
}

pub(super) fn theirs(oid: &Oid) -> GitResult<git2::Oid> {
    git2::Oid::from_str(oid.as_str()).map_err(|_| GitFault::UnknownRevision { rev: oid.to_string() })
}

pub(super) fn resolve(repo: &Repository, rev: &str) -> GitResult<Oid> {
    let unknown = |_| GitFault::UnknownRevision { rev: rev.to_owned() };
    let commit = repo.revparse_single(rev).and_then(|object| object.peel_to_commit()).map_err(unknown)?;
    Ok(ours(commit.id()))
}

pub(super) fn commit<'r>(repo: &'r Repository, oid: &Oid) -> GitResult<Commit<'r>> {
    repo.find_commit(theirs(oid)?).map_err(|error| match error.code() {
        ErrorCode::NotFound => GitFault::UnknownRevision { rev: oid.to_string() },
        _ => broken(error),
    })
}

pub(super) fn tree_of(repo: &Repository, oid: &Oid) -> GitResult<Oid> {
    Ok(ours(commit(repo, oid)?.tree_id()))
}

pub(super) fn ancestry(repo: &Repository, old: &Oid, new: &Oid) -> GitResult<Ancestry> {
    let boundary = boundary(repo);
    for oid in [new, old] {
        match commit(repo, oid) {
            // A commit beyond the boundary is not known to be a stranger.
            Err(GitFault::UnknownRevision { .. }) if !boundary.is_empty() => return Ok(Ancestry::UnknownShallow),
            known => known?,
        };
    }
    let (old, new) = (theirs(old)?, theirs(new)?);
    if old == new || repo.graph_descendant_of(new, old).map_err(broken)? {
        return Ok(Ancestry::Yes);
    }
    if boundary.is_empty() {
        return Ok(Ancestry::No);
    }
    let mut walk = repo.revwalk().map_err(broken)?;
    walk.push(new).map_err(broken)?;
    for step in walk {
        if boundary.contains(&step.map_err(broken)?) {
            return Ok(Ancestry::UnknownShallow);
        }
    }
    Ok(Ancestry::No)
}

pub(super) fn fork_point(repo: &Repository, a: &Oid, b: &Oid) -> GitResult<Option<Oid>> {
    match repo.merge_base(theirs(a)?, theirs(b)?) {
        Ok(found) => Ok(Some(ours(found))),
        Err(why) if why.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(why) => Err(broken(why)),
    }
}

/// The commits whose parents a shallow clone does not have.
fn boundary(repo: &Repository) -> HashSet<git2::Oid> {
    if !repo.is_shallow() {
        return HashSet::new();
    }
    let path = repo.commondir().join("shallow");
    let text = read_small(&path).or_else(|| fs_err::read(&path).ok()).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(|line| git2::Oid::from_str(line.trim()).ok()).collect()
}

pub(super) fn read_at(repo: &Repository, at: &Oid, path: &TreePath, max_bytes: u64) -> GitResult<Option<Blob>> {
    let Some((oid, mode)) = entry_at(repo, at, path)?.filter(|(_, mode)| is_blob(*mode)) else {
        return Ok(None);
    };
    let odb = repo.odb().map_err(broken)?;
    // The size comes first: nobody makes us hold a blob that is too large.
    let (size, kind) = odb.read_header(oid).map_err(broken)?;
    if size as u64 > max_bytes {
        return Err(GitFault::TooLarge { path: path.clone(), size: size as u64, limit: max_bytes });
    }
    if kind != ObjectType::Blob {
        return Err(GitFault::Broken { words: format!("{oid} is not a blob") });
    }
    let bytes = odb.read(oid).map_err(broken)?.data().to_vec();
    Ok(Some(Blob { bytes, mode, oid: ours(oid) }))
}

pub(super) fn mode_at(repo: &Repository, at: &Oid, path: &TreePath) -> GitResult<Option<u32>> {
    Ok(entry_at(repo, at, path)?.map(|(_, mode)| mode))
}

pub(super) fn list_at(repo: &Repository, at: &Oid, prefix: &TreePath) -> GitResult<Vec<Listed>> {
    let root = commit(repo, at)?.tree().map_err(broken)?;
    let start = TreePath::new(prefix.as_bytes().strip_suffix(b"/").unwrap_or(prefix.as_bytes()));
    let tree = if start.as_bytes().is_empty() {
        root
    } else {
        match entry_at(repo, at, &start)? {
            Some((oid, 0o040_000)) => repo.find_tree(oid).map_err(broken)?,
            Some(_) | None => return Ok(Vec::new()),
        }
    };
    let mut listed = Vec::new();
    let above = if start.as_bytes().is_empty() { Vec::new() } else { [start.as_bytes(), b"/"].concat() };
    list_into(repo, &tree, &above, 0, &mut listed)?;
    // A tree sorts a directory as if its name ended with `/`; paths sort by their bytes.
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listed)
}

fn list_into(
    repo: &Repository,
    tree: &Tree<'_>,
    above: &[u8],
    depth: usize,
    listed: &mut Vec<Listed>,
) -> GitResult<()> {
    if depth > MAX_TREE_DEPTH {
        return Err(GitFault::TooMany { what: "directories inside each other", limit: MAX_TREE_DEPTH });
    }
    for entry in tree {
        let path = [above, entry.name_bytes()].concat();
        if entry.kind() == Some(ObjectType::Tree) {
            let below = repo.find_tree(entry.id()).map_err(broken)?;
            list_into(repo, &below, &[&path, b"/".as_slice()].concat(), depth + 1, listed)?;
            continue;
        }
        if listed.len() >= MAX_LISTED {
            return Err(GitFault::TooMany { what: "files in the tree", limit: MAX_LISTED });
        }
        listed.push(Listed {
            path: TreePath::new(path),
            mode: entry.filemode().cast_unsigned(),
            oid: ours(entry.id()),
        });
    }
    Ok(())
}

fn entry_at(repo: &Repository, at: &Oid, path: &TreePath) -> GitResult<Option<(git2::Oid, u32)>> {
    let mut tree = commit(repo, at)?.tree().map_err(broken)?;
    let mut names = path.as_bytes().split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        // A tree holds no empty name, no `.` and no `..`: such a path names nothing.
        let found = tree.get_name_bytes(name).map(|entry| (entry.id(), entry.filemode().cast_unsigned()));
        let Some((oid, mode)) = found else { return Ok(None) };
        if names.peek().is_none() {
            return Ok(Some((oid, mode)));
        }
        if mode != 0o040_000 {
            return Ok(None);
        }
        tree = repo.find_tree(oid).map_err(broken)?;
    }
    Ok(None)
}

fn is_blob(mode: u32) -> bool {
    matches!(mode & 0o170_000, 0o100_000 | 0o120_000)
}

/// Commits of `tip` that neither a remote-tracking ref nor `kept` reaches.
pub(super) fn unpublished(repo: &Repository, tip: &Oid, kept: &[Oid]) -> GitResult<Unpublished> {
    let mut walk = repo.revwalk().map_err(broken)?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME).map_err(broken)?;
    walk.push(commit(repo, tip)?.id()).map_err(broken)?;
    let mut hide = |oid: git2::Oid| -> GitResult<()> {
        // A ref whose commit is missing keeps nothing here.
        if repo.find_commit(oid).is_ok() { walk.hide(oid).map_err(broken) } else { Ok(()) }
    };
    for reference in repo.references_glob("refs/remotes/*").map_err(broken)? {
        if let Some(oid) = reference.map_err(broken)?.target() {
            hide(oid)?;
        }
    }
    for oid in kept {
        hide(theirs(oid)?)?;
    }
    let mut found = Unpublished::default();
    for step in walk {
        let oid = step.map_err(broken)?;
        if found.commits.len() == MAX_UNPUBLISHED {
            found.more = true;
            break;
        }
        found.commits.push(line(repo, oid)?);
    }
    Ok(found)
}

/// A commit, for people.
pub(super) fn line(repo: &Repository, oid: git2::Oid) -> GitResult<CommitLine> {
    let commit = repo.find_commit(oid).map_err(broken)?;
    let subject = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default());
    Ok(CommitLine { oid: ours(oid), subject: subject.chars().take(MAX_SUBJECT_CHARS).collect() })
}
