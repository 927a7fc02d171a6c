//! Which files changed lately, seen from a commit: a function of the commit alone, never of when the index was made.

use std::collections::BTreeMap;
use std::time::Instant;

use git2::{Commit, Repository};
use rusqlite::{Connection, TransactionBehavior, params};

use super::store::Trouble;
use super::tree;

/// How far back, in commits along the first parents.
const MAX_COMMITS: usize = 32;
/// A commit that changes more files says nothing about any of them.
const MAX_CHANGES: usize = 400;
/// The most files remembered.
const MAX_FILES: usize = 2_000;

/// Remembers the recent files of a view at `commit`. False if the time was up before.
pub fn update(
    db: &mut Connection,
    repo: &Repository,
    view: i64,
    commit: &Commit<'_>,
    until: Instant,
) -> Result<bool, Trouble> {
    let Some(ages) = ages(repo, commit, until) else { return Ok(false) };
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    change.execute("DELETE FROM recent WHERE view = ?1", [view])?;
    for (path, age_s) in ages {
        let mut insert = change.prepare_cached("INSERT INTO recent (view, path, age_s) VALUES (?1, ?2, ?3)")?;
        insert.execute(params![view, path, age_s])?;
    }
    change.execute("UPDATE views SET recent_of = ?2 WHERE id = ?1", params![view, commit.id().as_bytes()])?;
    change.commit()?;
    Ok(true)
}

/// The age of each recent change, in seconds before `commit`. Where history ends early, as in a shallow clone, so
/// does the list.
fn ages(repo: &Repository, commit: &Commit<'_>, until: Instant) -> Option<BTreeMap<Vec<u8>, i64>> {
    let now = commit.time().seconds();
    let mut ages = BTreeMap::new();
    let mut commit = commit.clone();
    for _ in 0..MAX_COMMITS {
        if Instant::now() >= until {
            return None;
        }
        let Ok(parent) = commit.parent(0) else { break };
        let (Ok(old), Ok(new)) = (parent.tree(), commit.tree()) else { break };
        let Ok(changes) = tree::changes(repo, Some(&old), &new) else { break };
        if changes.len() <= MAX_CHANGES {
            let age = now.saturating_sub(commit.time().seconds()).max(0);
            for change in changes.into_iter().filter(|change| change.new.is_some()) {
                if ages.len() < MAX_FILES {
                    ages.entry(change.path).or_insert(age);
                }
            }
        }
        commit = parent;
    }
    Some(ages)
}
