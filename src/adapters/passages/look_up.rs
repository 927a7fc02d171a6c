//! Looks for evidence: the query's words in fragments, names and paths, the operation and tags in paths, and what lies
//! near the touched paths or is imported by or from them. Every look has a bound, and one that bites gives all or
//! nothing: the order of rows is not the repository's.
//!
//! Words reach the index as bound values, and as quoted phrases where it must be an expression.

use rusqlite::params;

use super::search::Search;
use super::store::Trouble;
use super::{imports, pending, rank, tree, words};
use crate::domain::path::TreePath;
use crate::ports::passages::Query;

/// Bounds on what a query may ask.
const MAX_QUERY_BYTES: usize = 4096;
const MAX_WORDS: usize = 24;
const MAX_TAGS: usize = 16;
const MAX_TOUCHED: usize = 16;
/// Bounds on what is looked at: fragments over all words, those of one word, files of one word, and so on.
const MAX_MATCHES: usize = 16_000;
const MAX_WORD_MATCHES: usize = 4_000;
const MAX_FILE_MATCHES: usize = 1_000;
const MAX_SIBLINGS: i64 = 48;
/// Entries of lists that are met with each other.
const MAX_MET: f64 = 100_000.0;
const MAX_GRAM_MATCHES: usize = 1_000;
impl Search<'_> {
    /// Collects evidence for the query. Gives how many of its words were left out.
    pub fn look_up(&mut self, query: &Query) -> Result<u32, Trouble> {
        let text = head(&query.text, MAX_QUERY_BYTES);
        let mut asked = words::distinct(text, usize::MAX);
        asked.retain(|word| !words::is_stop_word(word));
        let left_out = asked.len().saturating_sub(MAX_WORDS);
        asked.truncate(MAX_WORDS);
        let most = (MAX_MATCHES / asked.len().max(1)).min(MAX_WORD_MATCHES);
        for word in &asked {
            self.word(word, most)?;
        }
        self.together()?;
        self.bindings(query)?;
        for path in query.touched.iter().take(MAX_TOUCHED) {
            self.touched(path)?;
        }
        Ok(u32::try_from(left_out).unwrap_or(u32::MAX))
    }

    fn word(&mut self, word: &str, most: usize) -> Result<(), Trouble> {
        match self.postings("body_words", word, most)? {
            Some(found) => {
                let weight = rank::weight(found.len(), self.fragments);
                for (fragment, times) in found {
                    let part = rank::bm25(weight, times, pending::words_of(fragment));
                    self.by_fragment.entry(fragment).or_default().bm25 += part;
                }
            }
            None => self.too_common.push(word.to_owned()),
        }
        let titles = self.postings("title_words", word, MAX_FILE_MATCHES)?.unwrap_or_default();
        let weight = rank::weight(titles.len(), self.fragments);
        for (fragment, _) in &titles {
            self.by_fragment.entry(*fragment).or_default().name += weight;
        }
        if titles.is_empty() {
            self.parts_of_names(word)?;
        }
        for file in self.files_with(word, "path", MAX_FILE_MATCHES)? {
            self.by_file.entry(file).or_default().path += 1.0;
        }
        Ok(())
    }

    /// Words that are too common one by one may still be rare together.
    fn together(&mut self) -> Result<(), Trouble> {
        if self.too_common.len() < 2 {
            return Ok(());
        }
        let all: Vec<String> = self.too_common.iter().map(|word| quoted(word)).collect();
        // Meeting long lists takes time that no limit on rows bounds. Those of names are about a tenth as long.
        let met = self.fragments * all.len() as f64;
        let tables = [("titles", true, met / 10.0), ("bodies", false, met)];
        for (table, of_name, _) in tables.into_iter().filter(|(_, _, met)| *met <= MAX_MET) {
            let sql = format!("SELECT rowid FROM {table} WHERE {table} MATCH ?1 LIMIT ?2");
            let Some(found) = self.matches(&sql, &all.join(" "), MAX_WORD_MATCHES)? else { continue };
            let weight = rank::weight(found.len(), self.fragments);
            for fragment in found {
                let words = self.by_fragment.entry(fragment).or_default();
                *(if of_name { &mut words.name } else { &mut words.bm25 }) += weight;
            }
        }
        Ok(())
    }

    /// The view's fragments that a match finds; `None` if it finds more than `most`: the order of rows is not the
    /// repository's, so it is all of them, or none.
    fn matches(&self, sql: &str, expression: &str, most: usize) -> Result<Option<Vec<i64>>, Trouble> {
        let mut select = self.db.prepare_cached(sql)?;
        let rows = select.query_map(params![expression, most as i64 + 1], |row| row.get(0))?;
        let mut found: Vec<i64> = rows.collect::<Result<_, _>>()?;
        if found.len() > most {
            return Ok(None);
        }
        found.retain(|fragment| self.has(pending::file_of(*fragment)));
        Ok(Some(found))
    }

    /// Fragments whose name has the word inside another one.
    fn parts_of_names(&mut self, word: &str) -> Result<(), Trouble> {
        let length = word.chars().count();
        if length < 4 {
            return Ok(());
        }
        let sql = "SELECT rowid FROM grams WHERE grams MATCH ?1 LIMIT ?2";
        for fragment in self.matches(sql, &quoted(word), MAX_GRAM_MATCHES)?.unwrap_or_default() {
            self.by_fragment.entry(fragment).or_default().name += rank::PART_OF_NAME;
        }
        Ok(())
    }

    /// Files whose path names the operation or a tag.
    fn bindings(&mut self, query: &Query) -> Result<(), Trouble> {
        let tags = query.tags.iter().take(MAX_TAGS).map(String::as_str).chain(query.op.as_deref());
        let mut bound: Vec<String> = tags.flat_map(|tag| words::distinct(head(tag, 64), 4)).collect();
        bound.sort();
        bound.dedup();
        for word in bound.iter().filter(|word| word.len() >= 3) {
            for file in self.files_with(word, "path", MAX_FILE_MATCHES)? {
                self.by_file.entry(file).or_default().binding += 1.0;
            }
        }
        Ok(())
    }

    /// Files beside a touched path, files that import it, and files that it imports.
    fn touched(&mut self, path: &TreePath) -> Result<(), Trouble> {
        for file in self.siblings(path.as_bytes())? {
            self.by_file.entry(file).or_default().near = true;
        }
        if let Some(stem) = imports::stem(path.as_bytes()) {
            for file in self.files_with(&stem, "imports", MAX_FILE_MATCHES)? {
                self.by_file.entry(file).or_default().imports = 1.0;
            }
        }
        let Some(blob) = tree::blob_at(self.tree, path.as_bytes()) else { return Ok(()) };
        let Some(text) = self.text(blob) else { return Ok(()) };
        for word in imports::of(&text).split(' ').filter(|word| !word.is_empty()) {
            for file in self.files_with(word, "path", MAX_SIBLINGS as usize)? {
                let evidence = self.by_file.entry(file).or_default();
                evidence.imported_as.push(word.to_owned());
            }
        }
        Ok(())
    }

    /// About how often each fragment of the view has the word; `None` if more than `most` fragments have it.
    fn postings(&self, table: &str, word: &str, most: usize) -> Result<Option<Vec<(i64, f64)>>, Trouble> {
        let mut select = self.db.prepare_cached(&format!("SELECT doc, col FROM {table} WHERE term = ?1"))?;
        let mut rows = select.query([word])?;
        let (mut found, mut looked_at) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let fragment: i64 = row.get(0)?;
            looked_at += 1;
            if self.has(pending::file_of(fragment)) {
                let column = row.get_ref(1)?.as_str().unwrap_or_default();
                let times = words::COLUMNS.iter().find(|(name, _)| *name == column).map_or(1.0, |(_, times)| *times);
                found.push((fragment, times));
            }
            if found.len() > most || looked_at > 4 * most {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }

    /// The files of the view that have the word in a column of `places`; none if more than `most` have it.
    fn files_with(&self, word: &str, column: &str, most: usize) -> Result<Vec<i64>, Trouble> {
        let mut select = self.db.prepare_cached("SELECT doc, col FROM place_words WHERE term = ?1 LIMIT ?2")?;
        let mut rows = select.query(params![word, 4 * most as i64])?;
        let mut found: Vec<i64> = Vec::new();
        while let Some(row) = rows.next()? {
            let file = row.get(0)?;
            let is_column = row.get_ref(1)?.as_str().is_ok_and(|name| name == column);
            if is_column && self.has(file) && found.last() != Some(&file) {
                found.push(file);
            }
        }
        Ok(if found.len() > most { Vec::new() } else { found })
    }

    fn siblings(&self, path: &[u8]) -> Result<Vec<i64>, Trouble> {
        let directory = tree::directory(path);
        let mut low = directory.to_vec();
        if !low.is_empty() {
            low.push(b'/');
        }
        let mut high = low.clone();
        match high.last_mut() {
            Some(slash) => *slash += 1,
            None => high.push(0xff),
        }
        // The file itself, and the first files below its directory. The `+` keeps the search on the index of paths.
        let sql = "SELECT id FROM files WHERE path = ?1 AND +state = 1
                   UNION SELECT id FROM (SELECT id FROM files WHERE path >= ?2 AND path < ?3 AND +state = 1
                   ORDER BY path, blob LIMIT ?4)";
        let mut select = self.db.prepare_cached(sql)?;
        let found = select.query_map(params![path, low, high, MAX_SIBLINGS], |row| row.get::<_, i64>(0))?;
        let found: Vec<i64> = found.collect::<Result<_, _>>()?;
        Ok(found.into_iter().filter(|file| self.has(*file)).collect())
    }
}

/// One phrase of a full-text expression, whatever is in it.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

fn head(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}
