//! What a deleted test tested: whether it can be shown that the code is gone too.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Digest, Suite, Symbol, Test};

/// A function whose words are so much alike those of one that is new was renamed, not deleted.
const RENAMED_PERCENT: usize = 60;

/// Symbols of the project's own code that the candidate no longer has.
pub(super) struct Gone {
    gone: BTreeSet<String>,
    /// All symbols that the base's versions of the changed files define.
    known: BTreeSet<String>,
}

impl Gone {
    /// `old` and `new` are the suites of the changed files, with whether the path is one of tests.
    pub fn of(old: &[(bool, &Suite)], new: &[(bool, &Suite)]) -> Gone {
        let code = |side: &[(bool, &Suite)]| -> BTreeMap<String, Symbol> {
            let symbols = side.iter().filter(|(tests, _)| !tests).flat_map(|(_, suite)| &suite.helpers);
            symbols.filter(|symbol| !symbol.in_tests).map(|symbol| (symbol.name.clone(), symbol.clone())).collect()
        };
        let (before, after) = (code(old), code(new));
        let everywhere: BTreeSet<&str> =
            new.iter().flat_map(|(_, suite)| &suite.helpers).map(|symbol| symbol.name.as_str()).collect();
        let fresh: Vec<&Symbol> = after.values().filter(|symbol| !before.contains_key(&symbol.name)).collect();
        let bodies: BTreeSet<Digest> = fresh.iter().map(|symbol| symbol.body_digest).collect();
        let gone = before
            .values()
            .filter(|symbol| !everywhere.contains(symbol.name.as_str()) && !bodies.contains(&symbol.body_digest))
            .filter(|symbol| !fresh.iter().any(|other| alike(&symbol.words, &other.words)))
            .map(|symbol| symbol.name.clone())
            .collect();
        Gone { gone, known: before.into_keys().collect() }
    }
    /// The gone symbol that the test was about: most of what it calls of the changed code is gone.
    pub fn subject(&self, test: &Test) -> Option<&str> {
        let known = test.calls.iter().filter(|name| self.known.contains(*name)).count();
        let gone: Vec<&String> = test.calls.iter().filter(|name| self.gone.contains(*name)).collect();
        if gone.is_empty() || gone.len() * 2 < known {
            return None;
        }
        self.gone.iter().find(|name| Some(*name) == gone.first().copied()).map(String::as_str)
    }
}

/// Both lists are sorted.
fn alike(a: &[u64], b: &[u64]) -> bool {
    let (mut i, mut j, mut common) = (0, 0, 0usize);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                common += 1;
                i += 1;
                j += 1;
            }
        }
    }
    let all = a.len() + b.len() - common;
    all > 0 && common * 100 >= all * RENAMED_PERCENT
}
