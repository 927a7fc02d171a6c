//! Finds the passages for a query: postings for its words, files near the touched paths, files that import them; then
//! one score of named parts for each candidate, and the text of the best from git.
//!
//! Scores are computed here, from the view's own counts, because SQLite's `bm25()` counts what other views hold too:
//! the same commit must rank the same everywhere.

use std::collections::{BTreeMap, HashMap, HashSet};

use git2::{Oid, Repository, Tree};
use rusqlite::{Connection, OptionalExtension as _};

use super::fold::{self, Known};
use super::on_disk::Comparison;
use super::rank::{self, Candidate, Evidence, Words};
use super::store::Trouble;
use super::words::Mixed;
use super::{pending, tree, words};
use crate::domain::fragment::{Lines, OnDisk, Passage};
use crate::domain::path::TreePath;
use crate::ports::passages::{Found, Query, View};

/// The most passages of one answer.
const MAX_PASSAGES: usize = 64;
/// Candidates whose files are looked up, and files that are candidates without a fragment of their own.
const MAX_CANDIDATES: usize = 400;
const MAX_CANDIDATE_FILES: usize = 80;
/// The most passages of one file, and the largest passage in bytes.
const MAX_PER_FILE: usize = 3;
const MAX_PASSAGE_BYTES: usize = 16 * 1024;

/// Searches the view, or the nearest one if it has never been indexed.
pub fn run(db: &Connection, repo: &Repository, view: &View, tree: &Tree<'_>, query: &Query) -> Result<Found, Trouble> {
    // All reads see one state of the index.
    let snapshot = db.unchecked_transaction()?;
    let named = fold::known(&snapshot, &view.name)?;
    let Some(known) = named.map_or_else(|| fold::nearest(&snapshot, tree.id()), |known| Ok(Some(known)))? else {
        return Ok(Found { partial: Some("nothing is indexed yet".to_owned()), ..Found::default() });
    };
    let mut search = Search::new(&snapshot, repo, tree, &known)?;
    let words_left_out = search.look_up(query)?;
    let ranked = search.ranked(query)?;
    let passages = search.passages(ranked, view, query.limit.min(MAX_PASSAGES))?;
    let partial = if known.tree != tree.id() {
        Some("the index has another tree; passages of changed files are left out".to_owned())
    } else {
        search.pending.then(|| "some files are not indexed yet".to_owned())
    };
    Ok(Found { passages, too_common: search.too_common, words_left_out, partial })
}

pub struct Search<'a> {
    pub(super) db: &'a Connection,
    pub(super) repo: &'a Repository,
    pub(super) tree: &'a Tree<'a>,
    pub(super) view: i64,
    pub(super) absent: HashSet<i64>,
    pub(super) fragments: f64,
    pub(super) pending: bool,
    /// What speaks for single fragments, and for all of a file.
    pub(super) by_fragment: HashMap<i64, Words, Mixed>,
    pub(super) by_file: HashMap<i64, Evidence>,
    pub(super) too_common: Vec<String>,
}

impl<'a> Search<'a> {
    fn new(db: &'a Connection, repo: &'a Repository, tree: &'a Tree<'a>, known: &Known) -> Result<Self, Trouble> {
        let mut select = db.prepare_cached("SELECT file FROM absent WHERE view = ?1")?;
        let absent = select.query_map([known.id], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let count = "SELECT coalesce(sum(fragments), 0), coalesce(sum(CASE state WHEN 0 THEN files END), 0)
                     FROM counts WHERE view = ?1";
        let (fragments, waiting): (i64, i64) = db.query_row(count, [known.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self {
            db,
            repo,
            tree,
            view: known.id,
            absent,
            fragments: fragments as f64,
            pending: waiting > 0,
            by_fragment: HashMap::default(),
            by_file: HashMap::new(),
            too_common: Vec::new(),
        })
    }

    pub(super) fn has(&self, file: i64) -> bool {
        !self.absent.contains(&file)
    }

    pub(super) fn text(&self, blob: Oid) -> Option<String> {
        Some(words::text_of(self.repo.find_blob(blob).ok()?.content().to_vec()))
    }

    fn read(&self, path: &[u8], blob: Oid, on_disk: &mut Comparison<'_>) -> Option<Read> {
        let bytes = self.repo.find_blob(blob).ok()?.content().to_vec();
        Some(Read { on_disk: on_disk.compare(path, &bytes), text: words::text_of(bytes) })
    }

    /// The candidates with their scores, best first.
    fn ranked(&self, query: &Query) -> Result<Vec<Candidate>, Trouble> {
        let mut files: HashMap<i64, Option<File>> = HashMap::new();
        let mut candidates = Vec::new();
        for fragment in self.candidates()? {
            let id = pending::file_of(fragment);
            let file = match files.entry(id) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(slot) => slot.insert(self.file(id)?),
            };
            let Some(file) = file else { continue };
            let of_file = self.by_file.get(&id).cloned().unwrap_or_default();
            let of_fragment = self.by_fragment.get(&fragment).copied().unwrap_or_default();
            let score = rank::score(of_fragment, &of_file, &file.path, &query.touched, file.age_s);
            if score.relevance() > 0 {
                candidates.push(Candidate { score, path: file.path.clone(), blob: file.blob, fragment });
            }
        }
        candidates.sort_by(|a, b| {
            let rank = b.score.total.cmp(&a.score.total).then_with(|| a.path.cmp(&b.path));
            rank.then_with(|| pending::place_of(a.fragment).cmp(&pending::place_of(b.fragment)))
        });
        Ok(candidates)
    }

    /// The fragments with the most evidence, and the first fragment of files that only have evidence as a whole.
    fn candidates(&self) -> Result<Vec<i64>, Trouble> {
        let of_file = |file: i64| self.by_file.get(&file).map_or(0.0, Evidence::strength);
        let strength =
            |(fragment, words): (&i64, &Words)| (words.strength() + of_file(pending::file_of(*fragment)), *fragment);
        let mut fragments: Vec<(f64, i64)> = self.by_fragment.iter().map(strength).collect();
        let best_first = |a: &(f64, i64), b: &(f64, i64)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if fragments.len() > MAX_CANDIDATES {
            fragments.select_nth_unstable_by(MAX_CANDIDATES, best_first);
            fragments.truncate(MAX_CANDIDATES);
        }
        let mut chosen: Vec<i64> = fragments.into_iter().map(|(_, fragment)| fragment).collect();
        let have: HashSet<i64> = chosen.iter().map(|fragment| pending::file_of(*fragment)).collect();
        let others = self.by_file.iter().filter(|(file, _)| !have.contains(file));
        let mut others: Vec<(f64, i64)> = others.map(|(file, evidence)| (evidence.strength(), *file)).collect();
        others.sort_by(best_first);
        for (_, file) in others.into_iter().take(MAX_CANDIDATE_FILES) {
            let (low, high) = pending::ids_of(file);
            let mut select = self.db.prepare_cached("SELECT min(id) FROM fragments WHERE id BETWEEN ?1 AND ?2")?;
            chosen.extend(select.query_row([low, high], |row| row.get::<_, Option<i64>>(0))?);
        }
        Ok(chosen)
    }

    fn file(&self, id: i64) -> Result<Option<File>, Trouble> {
        let sql = "SELECT path, blob, (SELECT age_s FROM recent WHERE view = ?2 AND recent.path = files.path)
                   FROM files WHERE id = ?1";
        let mut select = self.db.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let row: Option<(Vec<u8>, Vec<u8>, Option<i64>)> = select.query_row([id, self.view], read).optional()?;
        Ok(row.and_then(|(path, blob, age_s)| Some(File { path, blob: Oid::from_bytes(&blob).ok()?, age_s })))
    }

    /// The best candidates with their texts, as far as the searched tree holds them.
    fn passages(&self, ranked: Vec<Candidate>, view: &View, limit: usize) -> Result<Vec<Passage>, Trouble> {
        let mut on_disk = Comparison::new(view.work_tree.as_deref());
        let mut read: BTreeMap<Vec<u8>, (usize, Option<Read>)> = BTreeMap::new();
        let mut passages = Vec::new();
        for Candidate { score, path, blob, fragment } in ranked {
            if passages.len() >= limit {
                break;
            }
            let (taken, file) = read.entry(path.clone()).or_insert_with(|| {
                let is_there = tree::blob_at(self.tree, &path) == Some(blob);
                (0, is_there.then(|| self.read(&path, blob, &mut on_disk)).flatten())
            });
            let Some(Read { text, on_disk }) = file.as_ref().filter(|_| *taken < MAX_PER_FILE) else { continue };
            let Some((lines, name, text)) = self.piece(fragment, text)? else { continue };
            *taken += 1;
            let on_disk = *on_disk;
            let blob = blob.to_string().parse().expect("git2 writes ids as hex");
            passages.push(Passage { path: TreePath::new(path), blob, lines, name, on_disk, score, text });
        }
        Ok(passages)
    }

    fn piece(&self, fragment: i64, text: &str) -> Result<Option<(Lines, String, String)>, Trouble> {
        let mut select =
            self.db.prepare_cached("SELECT first, last, start, stop, name FROM fragments WHERE id = ?1")?;
        let read = |row: &rusqlite::Row<'_>| {
            let lines = Lines { first: row.get(0)?, last: row.get(1)? };
            Ok((lines, row.get::<_, usize>(2)?, row.get::<_, usize>(3)?, row.get::<_, String>(4)?))
        };
        let row = select.query_row([fragment], read).optional()?;
        Ok(row.and_then(|(lines, start, stop, name)| {
            let piece = text.get(start..stop).filter(|piece| piece.len() <= MAX_PASSAGE_BYTES)?;
            Some((lines, name, piece.to_owned()))
        }))
    }
}

/// A file that is served from.
struct Read {
    text: String,
    on_disk: OnDisk,
}

struct File {
    path: Vec<u8>,
    blob: Oid,
    age_s: Option<i64>,
}
