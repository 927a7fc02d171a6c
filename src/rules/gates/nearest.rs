//! The paths that somebody may have meant by one that is not there.

use crate::rules::near::MAX_COMPARED_CHARS;

/// How many are given.
const MAX_CLOSEST: usize = 3;

/// How alike two file names must be, from 0 to 1.
const ALIKE: f64 = 0.6;

/// How much the directory counts beside the name.
const DIRECTORY_WEIGHT: f64 = 0.15;

/// The paths among `known` that are closest to `missing`, the closest first: by the file's name before all, then by the
/// directory. A name that is like none has no closest path.
pub fn closest<'k>(missing: &str, known: impl Iterator<Item = &'k str>) -> Vec<String> {
    let (dir, name) = parted(missing);
    if name.chars().count() > MAX_COMPARED_CHARS {
        return Vec::new();
    }
    let score = |path: &'k str| {
        let (its_dir, its_name) = parted(path);
        // Names whose lengths are far apart are not alike, and need no comparison.
        let (long, short) = (name.len().max(its_name.len()), name.len().min(its_name.len()));
        if its_name.chars().count() > MAX_COMPARED_CHARS || (short as f64) < long as f64 * ALIKE {
            return None;
        }
        let alike = strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &its_name.to_lowercase());
        (alike >= ALIKE).then(|| (alike + DIRECTORY_WEIGHT * shared(dir, its_dir), path))
    };
    let mut scored: Vec<(f64, &str)> = known.filter_map(score).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.into_iter().take(MAX_CLOSEST).map(|(_, path)| path.to_owned()).collect()
}

fn parted(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// How much of two directories is the same, from 0 to 1.
fn shared(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('/').collect(), b.split('/').collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    same as f64 / a.len().max(b.len()) as f64
}
