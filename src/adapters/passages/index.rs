//! The index as a port: one call at a time, and an answer whatever becomes of the database.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use git2::{Commit, Oid, Repository, Tree};

use super::fold::{self, INDEXED, Known, PENDING};
use super::store::{Store, Trouble};
use super::{map, pending, recent, search};
use crate::domain::fragment::{Cut, FileMap};
use crate::domain::path::TreePath;
use crate::ports::passages::{Coverage, Found, Passages, Query, Storage, View};

/// The most files of one view that are indexed.
const MAX_FILES: usize = 400_000;
/// The most files of an index that ends with the process.
const MAX_FILES_IN_MEMORY: usize = 2_000;

/// Passages of the repository whose common directory it was given, indexed at `decapod/index.db` in there.
pub struct PassageIndex {
    common_dir: PathBuf,
    cut: Cut,
    open: Mutex<Option<Open>>,
}

struct Open {
    repo: Repository,
    store: Store,
}

impl PassageIndex {
    /// Makes the port without touching anything; the repository and the index are opened by the first call.
    pub fn new(common_dir: impl Into<PathBuf>, cut: Cut) -> Self {
        Self { common_dir: common_dir.into(), cut, open: Mutex::new(None) }
    }

    /// Does `work` with the open index. A damaged index is replaced once, and the work is done again.
    fn with<T>(&self, work: impl Fn(&mut Open) -> Result<T, Trouble>) -> Result<T, Trouble> {
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = match slot.take() {
            Some(open) if !open.store.is_gone(&index_path(&self.common_dir)) => open,
            Some(_) | None => Open::at(&self.common_dir)?,
        };
        let answer = match work(&mut open) {
            Err(Trouble::Damaged(_)) => {
                let path = index_path(&self.common_dir);
                open.store = open.store.rebuilt(&path)?;
                work(&mut open)
            }
            answer => answer,
        };
        *slot = Some(open);
        answer
    }
}

impl Passages for PassageIndex {
    fn refresh(&self, view: &View, within: Duration) -> Coverage {
        let until = Instant::now() + within;
        self.with(|open| open.refresh(view, self.cut, until))
            .unwrap_or_else(|why| Coverage { partial: Some(why.to_string()), ..Coverage::default() })
    }

    fn search(&self, view: &View, query: &Query) -> Found {
        let search = |open: &mut Open| {
            let tree = open.commit(view)?.tree()?;
            let mut found = search::run(&open.store.db, &open.repo, view, &tree, query)?;
            found.partial = found.partial.or_else(|| open.store.reason.clone());
            Ok(found)
        };
        self.with(search).unwrap_or_else(|why| Found { partial: Some(why.to_string()), ..Found::default() })
    }

    fn map(&self, view: &View, touched: &[TreePath]) -> FileMap {
        let map = |open: &mut Open| {
            let tree = open.commit(view)?.tree()?;
            Ok(map::of(&open.store.db, &open.repo, view, &tree, touched))
        };
        self.with(map).unwrap_or_else(|why| FileMap { partial: Some(why.to_string()), ..FileMap::default() })
    }
}

fn index_path(common_dir: &Path) -> PathBuf {
    // SQLite follows no link below, so links above are resolved here.
    let real = fs_err::canonicalize(common_dir).unwrap_or_else(|_| common_dir.to_path_buf());
    real.join("decapod").join("index.db")
}

impl Open {
    fn at(common_dir: &Path) -> Result<Self, Trouble> {
        let repo = Repository::open_bare(common_dir)?;
        let path = index_path(common_dir);
        let made = path.parent().map_or(Ok(()), fs_err::create_dir_all);
        let store = match made {
            Ok(()) => Store::open(&path)?,
            Err(error) => Store::in_memory(format!("the context index cannot be written: {}", error.kind()))?,
        };
        Ok(Self { repo, store })
    }

    fn commit(&self, view: &View) -> Result<Commit<'_>, Trouble> {
        Ok(self.repo.find_commit(Oid::from_str(view.commit.as_str())?)?)
    }

    fn refresh(&mut self, view: &View, cut: Cut, until: Instant) -> Result<Coverage, Trouble> {
        let mut done = self.bring_up(view, cut, until);
        if let Err(Trouble::NotWritable(why)) = &done {
            self.store.reason = Some(format!("the context index cannot be written: {why}"));
            self.store.storage = Storage::ReadOnly;
            let tree = self.commit(view)?.tree_id();
            if fold::nearest(&self.store.db, tree)?.is_none() {
                self.store = Store::in_memory(self.store.reason.clone().unwrap_or_default())?;
                done = self.bring_up(view, cut, until);
            }
        }
        let (read, why) = match done {
            Ok((read, late)) => (read, late.then(|| "recent changes are not all known yet".to_owned())),
            Err(why @ (Trouble::Busy | Trouble::NotWritable(_))) => (0, Some(why.to_string())),
            Err(why) => return Err(why),
        };
        let tree = self.commit(view)?.tree_id();
        let mut coverage = coverage(&self.store, view, tree)?;
        coverage.read = read;
        coverage.partial = self.store.reason.clone().or(why).or(coverage.partial);
        Ok(coverage)
    }

    /// Does what is left to do for the view. Gives how many files it read, and whether it ran out of time over
    /// recency.
    fn bring_up(&mut self, view: &View, cut: Cut, until: Instant) -> Result<(u32, bool), Trouble> {
        let Self { repo, store } = self;
        let commit = repo.find_commit(Oid::from_str(view.commit.as_str())?)?;
        let tree = commit.tree()?;
        let known = match fold::known(&store.db, &view.name)? {
            Some(known) if known.tree == tree.id() => known,
            _ => advance(store, repo, &view.name, &tree)?,
        };
        let waits = counts(&store.db, known.id)?.get(&PENDING).is_some_and(|(files, _)| *files > 0);
        let is_recent = known.recent_of.as_deref() == Some(commit.id().as_bytes());
        if store.storage == Storage::ReadOnly && (waits || !is_recent) {
            return Err(read_only());
        }
        let late = !is_recent && !recent::update(&mut store.db, repo, known.id, &commit, until)?;
        let read = if waits { pending::index(&mut store.db, repo, known.id, cut, until)? } else { 0 };
        Ok((read, late))
    }
}

fn read_only() -> Trouble {
    Trouble::NotWritable("the file is read-only".to_owned())
}

fn advance(store: &mut Store, repo: &Repository, name: &str, tree: &Tree<'_>) -> Result<Known, Trouble> {
    let max_files = match store.storage {
        Storage::Disk => MAX_FILES,
        Storage::Memory => MAX_FILES_IN_MEMORY,
        Storage::ReadOnly | Storage::None => return Err(read_only()),
    };
    fold::advance(&mut store.db, repo, name, tree, max_files)
}

fn counts(db: &rusqlite::Connection, view: i64) -> Result<BTreeMap<i64, (u32, u32)>, Trouble> {
    let mut select = db.prepare_cached("SELECT state, files, fragments FROM counts WHERE view = ?1")?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)));
    Ok(select.query_map([view], read)?.collect::<Result<_, _>>()?)
}

fn coverage(store: &Store, view: &View, tree: Oid) -> Result<Coverage, Trouble> {
    let mut coverage = Coverage { storage: store.storage, ..Coverage::default() };
    let Some(known) = fold::known(&store.db, &view.name)? else {
        coverage.partial = Some("this view is not indexed yet".to_owned());
        return Ok(coverage);
    };
    for (state, (files, fragments)) in counts(&store.db, known.id)? {
        coverage.files += files;
        coverage.fragments += fragments;
        match (state, fold::skip_of(state)) {
            (PENDING, _) => coverage.pending = files,
            (INDEXED, _) => coverage.indexed = files,
            (_, Some(skip)) => _ = coverage.skipped.insert(skip, files),
            (_, None) => {}
        }
    }
    let Coverage { pending, files, .. } = coverage;
    coverage.partial = if known.tree != tree {
        Some("the index has an earlier tree of this view".to_owned())
    } else if pending > 0 {
        Some(format!("{pending} of {files} files are not indexed yet"))
    } else {
        known.truncated.then(|| format!("only the first {files} files are indexed"))
    };
    Ok(coverage)
}
