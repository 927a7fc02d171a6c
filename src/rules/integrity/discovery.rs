//! Where unittest looks for tests, as the checks call it: below a directory, by a pattern, through packages only.

use std::collections::BTreeSet;

use globset::Glob;

use super::model::{Change, Checks, Finding, Kind, Severity};
use super::paths::{base, has_dir};

/// A search for tests that a check has unittest do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// The directory that it begins in, without a slash at its end; empty for the top of the tree.
    pub start: String,
    pub pattern: String,
}

impl Discovery {
    /// Of the words of a command, from `unittest` on.
    pub(super) fn of(words: &[&str]) -> Option<Discovery> {
        let mut found = Discovery { start: String::new(), pattern: "test*.py".to_owned() };
        let mut places = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let (flag, glued) = word.split_once('=').map_or((*word, None), |(flag, value)| (flag, Some(value)));
            let value = || glued.or_else(|| words.get(at + 1).copied()).unwrap_or_default().to_owned();
            let takes =
                matches!(flag, "-s" | "--start-directory" | "-p" | "--pattern" | "-t" | "--top-level-directory" | "-k");
            match flag {
                "-s" | "--start-directory" => places.insert(0, value()),
                "-p" | "--pattern" => found.pattern = value(),
                _ if !takes && !flag.starts_with('-') => places.push((*word).to_owned()),
                _ => {}
            }
            at += 1 + usize::from(takes && glued.is_none());
        }
        // Without `discover`, what is named are modules.
        let searches = places.iter().any(|place| place == "discover");
        places.retain(|place| place != "discover");
        if !searches && !places.is_empty() {
            return None;
        }
        let start = places.first().map_or("", String::as_str).trim_start_matches("./").trim_end_matches('/');
        start.trim_start_matches('.').clone_into(&mut found.start);
        Some(found)
    }

    fn names(&self, path: &str) -> bool {
        let below = self.start.is_empty() || path.strip_prefix(&self.start).is_some_and(|rest| rest.starts_with('/'));
        below && Glob::new(&self.pattern).is_ok_and(|glob| glob.compile_matcher().is_match(base(path)))
    }

    /// Directories between the first one and the file: each has to be a package.
    fn between<'p>(&self, path: &'p str) -> Vec<&'p str> {
        let from = if self.start.is_empty() { 0 } else { self.start.len() + 1 };
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > from);
        ends.map(|end| &path[..end]).collect()
    }

    fn reaches(&self, path: &str, tree: &BTreeSet<String>) -> bool {
        let is_package = |dir: &&str| tree.contains(&format!("{dir}/__init__.py"));
        self.names(path) && self.between(path).iter().all(is_package)
    }
}

fn searched(checks: &Checks) -> bool {
    !checks.discoveries.is_empty() && !checks.pytest
}

/// Whether unittest found what was at `from`, and does not find it at `to`.
pub(super) fn hides(checks: &Checks, from: &str, to: &str) -> bool {
    let named = checks.discoveries.iter().any(|search| search.names(from));
    // Of a tree that is not known only the names are.
    let found =
        |search: &Discovery| checks.python.as_ref().map_or_else(|| search.names(to), |tree| search.reaches(to, tree));
    searched(checks) && named && !checks.discoveries.iter().any(found)
}

/// Packages that are none any more, with tests in them.
pub(super) fn findings(changes: &[Change<'_>], checks: &Checks, out: &mut Vec<Finding>) {
    let Some(tree) = checks.python.as_ref().filter(|_| searched(checks)) else { return };
    let gone = changes.iter().filter_map(|change| {
        let path = change.old_path.as_deref().filter(|path| base(path) == "__init__.py")?;
        (change.new_path.as_deref() != Some(path)).then_some(path)
    });
    for path in gone {
        let Some((dir, _)) = path.rsplit_once('/') else { continue };
        let hidden = tree.iter().find(|file| {
            checks.discoveries.iter().any(|search| search.names(file) && search.between(file).contains(&dir))
                && !checks.discoveries.iter().any(|search| search.reaches(file, tree))
        });
        if let Some(hidden) = hidden.filter(|file| !has_dir(file, &["node_modules", ".venv", "site-packages"])) {
            out.push(Finding {
                severity: Severity::Hold,
                kind: Kind::TestFileRenamedOut,
                path: path.to_owned(),
                line: None,
                test: None,
                before: Some("a package".to_owned()),
                after: Some(hidden.clone()),
                message: "the directory is no package any more, and unittest does not look into it".to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(words: &str, tree: &[&str]) -> Checks {
        let words: Vec<&str> = words.split(' ').collect();
        Checks {
            discoveries: Discovery::of(&words).into_iter().collect(),
            python: Some(tree.iter().map(|path| (*path).to_owned()).collect()),
            ..Checks::default()
        }
    }

    #[test]
    fn a_file_is_hidden_by_its_name_by_its_place_and_by_what_is_around_it() {
        let of = |to: &str, words: &str, tree: &[&str]| hides(&checks(words, tree), "tests/test_a.py", to);
        let search = "discover -s tests -t .";
        assert!(of("tests/a_test.py", search, &[]), "the name is one of pytest's");
        assert!(of("tests/a.py", search, &[]));
        assert!(of("other/test_a.py", search, &[]));
        assert!(of("tests/deep/test_a.py", search, &["tests/__init__.py"]));
        assert!(!of("tests/deep/test_a.py", search, &["tests/deep/__init__.py"]));
        assert!(!of("tests/testing.py", search, &[]), "unittest wants no underscore");
        assert!(!of("tests/a_test.py", "discover -p *_test.py", &["tests/__init__.py"]), "it was not found before");
        assert!(of("src/deep/test_a.py", "discover", &["src/__init__.py"]));
        assert!(!of("tests/a_test.py", "tests.test_a", &[]), "modules that are named");
        let both = Checks { pytest: true, ..checks(search, &[]) };
        assert!(!hides(&both, "tests/test_a.py", "tests/a_test.py"));
    }

    #[test]
    fn a_package_that_is_none_any_more_hides_its_tests() {
        let gone = [Change { old_path: Some("tests/deep/__init__.py".to_owned()), ..Change::default() }];
        let found = |tree: &[&str]| {
            let mut out = Vec::new();
            findings(&gone, &checks("discover -s tests", tree), &mut out);
            out.len()
        };
        assert_eq!(found(&["tests/deep/test_a.py"]), 1);
        assert_eq!(found(&["tests/test_a.py", "tests/deep/data.py"]), 0, "no test is in it");
    }
}
