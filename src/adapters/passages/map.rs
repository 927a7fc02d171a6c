//! What lies where: read from git's trees; only the counts come from the index.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use git2::{ObjectType, Repository, Tree};
use rusqlite::Connection;

use super::store::Trouble;
use super::{fold, tree};
use crate::domain::fragment::{FileMap, MapEntry};
use crate::domain::path::TreePath;
use crate::ports::passages::View;

const MAX_TOP: usize = 64;
const MAX_DIRECTORIES: usize = 8;
const MAX_NEAR: usize = 96;

/// The map of `tree`, with the neighbours of the touched paths.
pub fn of(db: &Connection, repo: &Repository, view: &View, root: &Tree<'_>, touched: &[TreePath]) -> FileMap {
    let counts = counts(db, view, root);
    let mut map = FileMap::default();
    if counts.is_none() {
        map.partial = Some("files are not counted yet".to_owned());
    }
    let mut top = entries(root, b"");
    map.left_out += shorten(&mut top, MAX_TOP);
    for entry in top.iter_mut().filter(|entry| entry.directory) {
        entry.files = counts.as_ref().map(|counts| counts.get(entry.path.as_bytes()).copied().unwrap_or(0));
    }
    map.top = top;
    let directories: BTreeSet<&[u8]> = touched.iter().map(|path| tree::directory(path.as_bytes())).collect();
    let directories = directories.into_iter().filter(|directory| !directory.is_empty());
    for directory in directories.take(MAX_DIRECTORIES) {
        let mut near = subtree(repo, root, directory).map_or_else(Vec::new, |tree| entries(&tree, directory));
        map.left_out += shorten(&mut near, MAX_NEAR - map.near.len());
        map.near.extend(near);
    }
    map
}

fn counts(db: &Connection, view: &View, root: &Tree<'_>) -> Option<BTreeMap<Vec<u8>, u32>> {
    let known = fold::known(db, &view.name).ok()??;
    let read = || -> Result<BTreeMap<Vec<u8>, u32>, Trouble> {
        let mut select = db.prepare_cached("SELECT name, files FROM tops WHERE view = ?1")?;
        Ok(select.query_map([known.id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
    };
    if known.tree == root.id() { read().ok() } else { None }
}

fn subtree<'a>(repo: &'a Repository, root: &Tree<'_>, path: &[u8]) -> Option<Tree<'a>> {
    let entry = root.get_path(Path::new(OsStr::from_bytes(path))).ok()?;
    repo.find_tree(entry.id()).ok()
}

fn entries(tree: &Tree<'_>, directory: &[u8]) -> Vec<MapEntry> {
    let entry = |entry: git2::TreeEntry<'_>| {
        let mut path = directory.to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(entry.name_bytes());
        MapEntry { path: TreePath::new(path), directory: entry.kind() == Some(ObjectType::Tree), files: None }
    };
    let mut entries: Vec<MapEntry> = tree.iter().map(entry).collect();
    // Directories first, so that the bound cuts files.
    entries.sort_by(|a, b| b.directory.cmp(&a.directory).then_with(|| a.path.cmp(&b.path)));
    entries
}

fn shorten(entries: &mut Vec<MapEntry>, most: usize) -> u32 {
    let left_out = entries.len().saturating_sub(most);
    entries.truncate(most);
    u32::try_from(left_out).unwrap_or(u32::MAX)
}
