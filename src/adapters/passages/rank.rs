//! How much each kind of evidence weighs.

use git2::Oid;

use super::{imports, tree};
use crate::domain::fragment::Score;
use crate::domain::path::TreePath;

/// What a name is worth that only holds the word inside another one.
pub const PART_OF_NAME: f64 = 3.0;

// BM25's usual constants; the mean length is fixed, so that a score depends on the passage alone.
const K1: f64 = 1.2;
const B: f64 = 0.6;
const MEAN_WORDS: f64 = 120.0;

const NAME: f64 = 0.8;
const PATH: f64 = 1.5;
const PROXIMITY: f64 = 5.0;
const IMPORTS: f64 = 3.0;
const BINDING: f64 = 1.5;
const RECENCY: f64 = 1.0;
/// After this long a change is half as recent, in seconds.
const HALF_RECENT_S: f64 = 7.0 * 86_400.0;

/// What speaks for a fragment: the query's words in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words {
    pub bm25: f64,
    pub name: f64,
}

impl Words {
    pub fn strength(self) -> f64 {
        self.bm25 + NAME * self.name
    }
}

/// What speaks for all of a file.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub path: f64,
    pub binding: f64,
    pub imports: f64,
    /// Words that a touched file imports and the path has.
    pub imported_as: Vec<String>,
    pub near: bool,
}

impl Evidence {
    /// What it is worth for choosing candidates, before paths are compared.
    pub fn strength(&self) -> f64 {
        let near = if self.near { PROXIMITY } else { 0.0 };
        let imported = if self.imported_as.is_empty() { 0.0 } else { IMPORTS / 2.0 };
        PATH * self.path + BINDING * self.binding + IMPORTS * self.imports + imported + near
    }
}

/// A fragment with its score.
pub struct Candidate {
    pub score: Score,
    pub path: Vec<u8>,
    pub blob: Oid,
    pub fragment: i64,
}

/// How much a word tells that `found` of `all` fragments have. Never nothing: in a repository of one file every word is
/// in all of it.
pub fn weight(found: usize, all: f64) -> f64 {
    const LEAST: f64 = 0.1;
    let found = found as f64;
    (1.0 + ((all - found).max(0.0) + 0.5) / (found + 0.5)).ln().max(LEAST)
}

pub fn bm25(weight: f64, times: f64, length: f64) -> f64 {
    weight * times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length / MEAN_WORDS))
}

/// Adds up the named parts.
pub fn score(fragment: Words, file: &Evidence, path: &[u8], touched: &[TreePath], age_s: Option<i64>) -> Score {
    let proximity = touched.iter().map(|other| nearness(path, other.as_bytes())).fold(0.0, f64::max);
    let recency = age_s.map_or(0.0, |age| HALF_RECENT_S / (HALF_RECENT_S + age.max(0) as f64));
    // A word that is imported names this file only if others would import the file by it.
    let stem = imports::stem(path);
    let is_imported = stem.is_some_and(|stem| file.imported_as.contains(&stem));
    let imports = if is_imported { 1.0 } else { file.imports };
    Score {
        total: 0,
        bm25: thousandths(fragment.bm25),
        name: thousandths(NAME * fragment.name),
        path: thousandths(PATH * file.path),
        proximity: thousandths(PROXIMITY * proximity),
        imports: thousandths(IMPORTS * imports),
        binding: thousandths(BINDING * file.binding.min(2.0)),
        recency: thousandths(RECENCY * recency),
    }
    .summed()
}

fn thousandths(value: f64) -> u32 {
    (value * 1000.0).round() as u32
}

/// 1 for the same file, 0.6 for the same directory, less for what only shares the way there.
fn nearness(path: &[u8], other: &[u8]) -> f64 {
    if path == other {
        return 1.0;
    }
    let (here, there) = (tree::directory(path), tree::directory(other));
    let parts = |path: &[u8]| path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).count();
    let shared =
        here.split(|b| *b == b'/').zip(there.split(|b| *b == b'/')).take_while(|(a, b)| a == b && !a.is_empty());
    let shared = shared.count() as f64;
    0.6 * (shared + f64::from(u8::from(here == there && shared == 0.0))) / (parts(here).max(parts(there)).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearer_paths_are_nearer() {
        let to = |path: &str| nearness(path.as_bytes(), b"src/domain/id.rs");
        let order = ["src/domain/id.rs", "src/domain/path.rs", "src/domain/a/b.rs", "src/ports/a.rs", "docs/a.md"];
        let found: Vec<f64> = order.iter().map(|path| to(path)).collect();
        assert!(found.windows(2).all(|pair| pair[0] > pair[1]), "{found:?}");
        assert_eq!(found[4], 0.0);
        assert_eq!(nearness(b"a.rs", b"b.rs"), 0.6);
    }

    #[test]
    fn rarer_words_and_shorter_passages_weigh_more() {
        assert!(weight(1, 1000.0) > weight(100, 1000.0) && weight(1000, 1000.0) >= 0.0);
        assert!(bm25(1.0, 1.0, 20.0) > bm25(1.0, 1.0, 500.0) && bm25(1.0, 3.0, 20.0) > bm25(1.0, 1.0, 20.0));
    }
}
