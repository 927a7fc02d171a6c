//! Brings a view from the tree it last had to the tree of a commit: which files belong to it, not yet what is in them.
//! One transaction, so that a view is always exactly one tree.

use std::collections::BTreeMap;

use git2::{Oid, Repository, Tree};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::admit;
use super::store::Trouble;
use super::tree::{self, Change};
use crate::ports::passages::Skip;

/// The most views; the one that was brought up to date longest ago gives way to a new one.
const MAX_VIEWS: i64 = 64;

/// `files.state`: 0 waits to be read, 1 is indexed, the others say why it is skipped.
pub const PENDING: i64 = 0;
pub const INDEXED: i64 = 1;

pub fn state_of(skip: Skip) -> i64 {
    match skip {
        Skip::Binary => 2,
        Skip::Generated => 3,
        Skip::Vendored => 4,
        Skip::Huge => 5,
        Skip::Symlink => 6,
        Skip::Submodule => 7,
        Skip::Missing => 8,
    }
}

pub fn skip_of(state: i64) -> Option<Skip> {
    let all =
        [Skip::Binary, Skip::Generated, Skip::Vendored, Skip::Huge, Skip::Symlink, Skip::Submodule, Skip::Missing];
    all.into_iter().find(|skip| state_of(*skip) == state)
}

/// A view, as the index last saw it.
pub struct Known {
    pub id: i64,
    pub tree: Oid,
    pub recent_of: Option<Vec<u8>>,
    pub truncated: bool,
}

/// The view of this name.
pub fn known(db: &Connection, name: &str) -> Result<Option<Known>, Trouble> {
    let mut select = db.prepare_cached("SELECT id, tree, recent_of, truncated FROM views WHERE name = ?1")?;
    Ok(select.query_row([name], read_known).optional()?)
}

/// The view whose tree is `tree`, or else the one that was brought up to date last.
pub fn nearest(db: &Connection, tree: Oid) -> Result<Option<Known>, Trouble> {
    let sql = "SELECT id, tree, recent_of, truncated FROM views ORDER BY tree = ?1 DESC, used DESC, id LIMIT 1";
    Ok(db.query_row(sql, [tree.as_bytes()], read_known).optional()?)
}

fn read_known(row: &rusqlite::Row<'_>) -> rusqlite::Result<Known> {
    let tree: Vec<u8> = row.get(1)?;
    let tree = Oid::from_bytes(&tree).unwrap_or(Oid::ZERO_SHA1);
    Ok(Known { id: row.get(0)?, tree, recent_of: row.get(2)?, truncated: row.get(3)? })
}

/// Makes `new` the tree of the view `name`, with at most `max_files` files.
pub fn advance(
    db: &mut Connection,
    repo: &Repository,
    name: &str,
    new: &Tree<'_>,
    max_files: usize,
) -> Result<Known, Trouble> {
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again under the lock: another process may have done the work meanwhile.
    let view = match known(&change, name)? {
        Some(view) if view.tree == new.id() => return Ok(view),
        Some(view) => view,
        None => create(&change, name, new.id())?,
    };
    let old = if view.tree.is_zero() { None } else { repo.find_tree(view.tree).ok() };
    if old.is_none() {
        forget_files(&change, view.id)?;
    }
    let changes = tree::changes(repo, old.as_ref(), new)?;
    let mut fold = Fold::new(&change, view.id, max_files, view.truncated && old.is_some())?;
    for step in &changes {
        fold.apply(step)?;
    }
    let truncated = fold.finish()?;
    let used = "UPDATE views SET tree = ?2, truncated = ?3, used = (SELECT max(used) + 1 FROM views) WHERE id = ?1";
    change.execute(used, params![view.id, new.id().as_bytes(), truncated])?;
    recount(&change, view.id)?;
    change.commit()?;
    Ok(Known { tree: new.id(), truncated, ..view })
}

/// Counts the view's files by state.
pub fn recount(db: &Connection, view: i64) -> Result<(), Trouble> {
    db.execute("DELETE FROM counts WHERE view = ?1", [view])?;
    db.execute(
        "INSERT INTO counts (view, state, files, fragments)
         SELECT ?1, state, count(*), sum(fragments) FROM files
         WHERE id NOT IN (SELECT file FROM absent WHERE view = ?1) GROUP BY state",
        [view],
    )?;
    Ok(())
}

/// Makes a view that has the files of the nearest one, or none.
fn create(db: &Connection, name: &str, tree: Oid) -> Result<Known, Trouble> {
    make_room(db)?;
    let base = nearest(db, tree)?;
    let start = base.as_ref().map_or(Oid::ZERO_SHA1, |base| base.tree);
    let truncated = base.as_ref().is_some_and(|base| base.truncated);
    let insert = "INSERT INTO views (name, tree, used, truncated) VALUES (?1, ?2, 0, ?3)";
    db.execute(insert, params![name, start.as_bytes(), truncated])?;
    let id = db.last_insert_rowid();
    if let Some(base) = base {
        for copy in [
            "INSERT INTO absent (file, view) SELECT file, ?1 FROM absent WHERE view = ?2",
            "INSERT INTO tops (view, name, files) SELECT ?1, name, files FROM tops WHERE view = ?2",
        ] {
            db.execute(copy, [id, base.id])?;
        }
    }
    Ok(Known { id, tree: start, recent_of: None, truncated })
}

fn make_room(db: &Connection) -> Result<(), Trouble> {
    let views: i64 = db.query_row("SELECT count(*) FROM views", [], |row| row.get(0))?;
    if views < MAX_VIEWS {
        return Ok(());
    }
    let oldest: i64 = db.query_row("SELECT id FROM views ORDER BY used, id LIMIT 1", [], |row| row.get(0))?;
    for delete in [
        "DELETE FROM absent WHERE view = ?1",
        "DELETE FROM tops WHERE view = ?1",
        "DELETE FROM counts WHERE view = ?1",
        "DELETE FROM recent WHERE view = ?1",
        "DELETE FROM views WHERE id = ?1",
    ] {
        db.execute(delete, [oldest])?;
    }
    let unowned = "SELECT file FROM absent GROUP BY file HAVING count(*) >= ?1";
    let files: Vec<i64> = db.prepare(unowned)?.query_map([views - 1], |row| row.get(0))?.collect::<Result<_, _>>()?;
    files.into_iter().try_for_each(|file| delete_file(db, file))
}

/// Lets the view begin from nothing: the tree it had is gone, or it never had one.
fn forget_files(db: &Connection, view: i64) -> Result<(), Trouble> {
    db.execute("INSERT OR IGNORE INTO absent (file, view) SELECT id, ?1 FROM files", [view])?;
    db.execute("DELETE FROM tops WHERE view = ?1", [view])?;
    Ok(())
}

/// Deletes a file that no view has, with its fragments.
fn delete_file(db: &Connection, file: i64) -> Result<(), Trouble> {
    let (low, high) = super::pending::ids_of(file);
    for table in ["bodies", "titles", "grams"] {
        let delete =
            format!("DELETE FROM {table} WHERE rowid IN (SELECT id FROM fragments WHERE id BETWEEN ?1 AND ?2)");
        db.prepare_cached(&delete)?.execute([low, high])?;
    }
    db.prepare_cached("DELETE FROM fragments WHERE id BETWEEN ?1 AND ?2")?.execute([low, high])?;
    let delete = "DELETE FROM places WHERE rowid IN (SELECT id FROM files WHERE id = ?1 AND state = 1)";
    db.prepare_cached(delete)?.execute([file])?;
    db.prepare_cached("DELETE FROM absent WHERE file = ?1")?.execute([file])?;
    db.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([file])?;
    Ok(())
}

/// A walk over the changes of one view.
struct Fold<'a> {
    db: &'a Transaction<'a>,
    view: i64,
    views: i64,
    files: i64,
    max_files: i64,
    truncated: bool,
    tops: BTreeMap<Vec<u8>, i64>,
}

impl<'a> Fold<'a> {
    fn new(db: &'a Transaction<'a>, view: i64, max_files: usize, truncated: bool) -> Result<Self, Trouble> {
        let views = db.query_row("SELECT count(*) FROM views", [], |row| row.get(0))?;
        let sum = "SELECT coalesce(sum(files), 0) FROM tops WHERE view = ?1";
        let files = db.query_row(sum, [view], |row| row.get(0))?;
        let max_files = i64::try_from(max_files).unwrap_or(i64::MAX);
        Ok(Self { db, view, views, files, max_files, truncated, tops: BTreeMap::new() })
    }

    fn apply(&mut self, change: &Change) -> Result<(), Trouble> {
        if let Some(blob) = change.old {
            self.remove(&change.path, blob)?;
        }
        match change.new {
            Some((blob, skip)) => self.add(&change.path, blob, skip),
            None => Ok(()),
        }
    }

    fn remove(&mut self, path: &[u8], blob: Oid) -> Result<(), Trouble> {
        let Some(file) = self.find(path, blob)? else { return Ok(()) };
        let mut insert = self.db.prepare_cached("INSERT OR IGNORE INTO absent (file, view) VALUES (?1, ?2)")?;
        if insert.execute([file, self.view])? == 0 {
            return Ok(());
        }
        self.count(path, -1);
        let mut count = self.db.prepare_cached("SELECT count(*) FROM absent WHERE file = ?1")?;
        if count.query_row([file], |row| row.get::<_, i64>(0))? >= self.views {
            delete_file(self.db, file)?;
        }
        Ok(())
    }

    fn add(&mut self, path: &[u8], blob: Oid, skip: Option<Skip>) -> Result<(), Trouble> {
        if self.files >= self.max_files {
            self.truncated = true;
            return Ok(());
        }
        if let Some(file) = self.find(path, blob)? {
            let mut delete = self.db.prepare_cached("DELETE FROM absent WHERE file = ?1 AND view = ?2")?;
            if delete.execute([file, self.view])? > 0 {
                self.count(path, 1);
            }
            return Ok(());
        }
        let state = skip.or_else(|| admit::by_path(path)).map_or(PENDING, state_of);
        let insert = "INSERT INTO files (path, blob, state) VALUES (?1, ?2, ?3)";
        self.db.prepare_cached(insert)?.execute(params![path, blob.as_bytes(), state])?;
        let file = self.db.last_insert_rowid();
        if self.views > 1 {
            let others = "INSERT INTO absent (file, view) SELECT ?1, id FROM views WHERE id <> ?2";
            self.db.prepare_cached(others)?.execute([file, self.view])?;
        }
        self.count(path, 1);
        Ok(())
    }

    fn find(&self, path: &[u8], blob: Oid) -> Result<Option<i64>, Trouble> {
        let mut select = self.db.prepare_cached("SELECT id FROM files WHERE path = ?1 AND blob = ?2")?;
        Ok(select.query_row(params![path, blob.as_bytes()], |row| row.get(0)).optional()?)
    }

    fn count(&mut self, path: &[u8], by: i64) {
        self.files += by;
        *self.tops.entry(tree::top(path).unwrap_or_default().to_vec()).or_insert(0) += by;
    }

    /// Writes the counts of the top-level directories; says whether files were left out.
    fn finish(self) -> Result<bool, Trouble> {
        let upsert = "INSERT INTO tops (view, name, files) VALUES (?1, ?2, ?3)
                      ON CONFLICT (view, name) DO UPDATE SET files = files + excluded.files";
        for (name, by) in &self.tops {
            self.db.prepare_cached(upsert)?.execute(params![self.view, name, by])?;
        }
        self.db.execute("DELETE FROM tops WHERE view = ?1 AND files <= 0", [self.view])?;
        Ok(self.truncated)
    }
}
