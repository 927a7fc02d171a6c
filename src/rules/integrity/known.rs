//! A finding by its name: the same edit gives the same name in every run, another edit another.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::model::{Change, Finding, Findings, Kind, Severity};
use super::paths::language_of;
use crate::domain::digest::{Digest, Fields};
use crate::domain::id::FindingId;

/// One side of a changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    Absent,
    Content(Vec<u8>),
    /// It is longer than is read; the text tells one such content from another.
    TooLong(String),
}

impl Side {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Side::Content(bytes) => Some(bytes),
            Side::Absent | Side::TooLong(_) => None,
        }
    }

    fn is_there(&self) -> bool {
        *self != Side::Absent
    }
}

/// A path whose content differs between the base and the candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub path: String,
    pub old: Side,
    pub new: Side,
}

/// The changes, with what was taken away under one name and put back under another as one change.
#[must_use]
pub fn paired(files: &[Changed]) -> Vec<Change<'_>> {
    let gone: Vec<usize> = (0..files.len()).filter(|at| !files[*at].new.is_there()).collect();
    let mut fresh: Vec<usize> = (0..files.len()).filter(|at| !files[*at].old.is_there()).collect();
    let mut partner: BTreeMap<usize, usize> = BTreeMap::new();
    for same_content in [true, false] {
        for at in gone.iter().filter(|at| files[**at].old.is_there()) {
            if partner.contains_key(at) {
                continue;
            }
            let fits = |other: &&usize| match same_content {
                true => files[**other].new == files[*at].old,
                false => name(&files[**other].path) == name(&files[*at].path),
            };
            let fitting: Vec<usize> = fresh.iter().filter(fits).copied().collect();
            let several = gone.iter().filter(|other| name(&files[**other].path) == name(&files[*at].path)).count() > 1;
            if let [other, ..] = fitting.as_slice()
                && (same_content || fitting.len() == 1 && !several)
            {
                partner.insert(*at, *other);
                fresh.retain(|left| left != other);
            }
        }
    }
    let taken: Vec<usize> = partner.values().copied().collect();
    let changes = files.iter().enumerate().filter(|(at, _)| !taken.contains(at));
    changes.map(|(at, file)| change(file, partner.get(&at).map(|other| &files[*other]))).collect()
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn change<'f>(old: &'f Changed, moved: Option<&'f Changed>) -> Change<'f> {
    let new = moved.unwrap_or(old);
    let too_long = matches!(old.old, Side::TooLong(_)) || matches!(new.new, Side::TooLong(_));
    Change {
        old_path: old.old.is_there().then(|| old.path.clone()),
        new_path: new.new.is_there().then(|| new.path.clone()),
        old: old.old.bytes().filter(|_| !too_long),
        new: new.new.bytes().filter(|_| !too_long),
        too_long,
    }
}

/// A finding with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub id: FindingId,
    pub digest: Digest,
    pub finding: Finding,
}

/// Names what was found in `files`. What was left out for its number is one finding more, so that nothing is passed over.
///
/// A name is of the edit and not of how grave it is: only what is held can be accepted, so no word on something slight
/// is ever taken for one on something grave. Where the same is found twice, the graver stands.
#[must_use]
pub fn known(files: &[Changed], mut found: Findings) -> Vec<Known> {
    let omitted = found.omitted_holds;
    found.findings.sort_by_key(|finding| finding.severity);
    let mut seen = BTreeSet::new();
    let mut all: Vec<Known> = found.findings.into_iter().map(|finding| named(files, finding)).collect();
    all.retain(|one| seen.insert(one.digest.clone()));
    if omitted > 0 {
        all.push(named(files, too_many(omitted)));
    }
    all
}

/// A file of code that the work takes out, and that still lies on disk: checks see it, and nobody else will.
#[must_use]
pub fn hidden(path: &str) -> Option<Finding> {
    language_of(path)?;
    let message = "the file is taken out of the work and still lies on disk, where checks see it";
    let path = path.to_owned();
    Some(Finding { path, kind: Kind::FileHidden, message: message.to_owned(), ..too_many(0) })
}

/// Files by which a run of the tests is bent from outside of them.
pub const BENDING: [&str; 24] = [
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "sitecustomize.py",
    "usercustomize.py",
    "unittest.py",
    "pytest.py",
    "tox.ini",
    "setup.cfg",
    "GNUmakefile",
    "makefile",
    "jest.config.js",
    "jest.config.cjs",
    "jest.config.mjs",
    "jest.config.ts",
    "jest.config.json",
    "vitest.config.js",
    "vitest.config.ts",
    "vitest.config.mjs",
    ".mocharc.json",
    ".mocharc.js",
    ".mocharc.yml",
    ".cargo/config.toml",
    ".cargo/config",
];

/// The first of them count in every directory, the others at the top.
pub const ANYWHERE: usize = 3;
/// So many are no settings that a person would keep for one machine.
pub const NOBODY_S: usize = 7;

/// Such a file that git ignores: it bends the checks here, and no one else will have it.
#[must_use]
pub fn ignored(path: &str) -> Finding {
    let message = "a file that bends the tests lies in the tree, where git ignores it";
    let path = path.to_owned();
    Finding { path, kind: Kind::FileHidden, message: message.to_owned(), ..too_many(0) }
}

fn too_many(omitted: usize) -> Finding {
    Finding {
        severity: Severity::Hold,
        kind: Kind::NotRead,
        path: String::new(),
        line: None,
        test: None,
        before: None,
        after: None,
        message: format!("{omitted} more findings are held than can be listed"),
    }
}

fn named(files: &[Changed], finding: Finding) -> Known {
    let mut fields = Fields::new();
    fields.push(finding.kind.name().as_bytes()).push(finding.path.as_bytes());
    for text in [&finding.test, &finding.before, &finding.after] {
        fields.push(text.as_deref().unwrap_or_default().as_bytes());
    }
    fields.push(finding.message.as_bytes()).push(&finding.line.unwrap_or(0).to_le_bytes());
    for file in files.iter().filter(|file| finding.path.is_empty() || file.path == finding.path) {
        fields.push(file.path.as_bytes());
        for side in [&file.old, &file.new] {
            match side {
                Side::Absent => fields.push(b"absent"),
                Side::Content(bytes) => fields.push(b"content").push(bytes),
                Side::TooLong(tag) => fields.push(b"long").push(tag.as_bytes()),
            };
        }
    }
    let digest = fields.finish();
    let mut low = [0; 16];
    low.copy_from_slice(&fields.finish_raw()[..16]);
    Known { id: FindingId::new(Uuid::from_bytes(low)), digest, finding }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::integrity::{Checks, findings};

    const FULL: &str = "def test_a():\n    assert f(1) == 2\n    assert f(2) == 3\n";

    fn content(text: &str) -> Side {
        Side::Content(text.as_bytes().to_vec())
    }

    fn changed(path: &str, old: Side, new: Side) -> Changed {
        Changed { path: path.to_owned(), old, new }
    }

    fn ids(files: &[Changed]) -> Vec<String> {
        let found = findings(&paired(files), &Checks::default());
        known(files, found).iter().map(|one| one.id.to_string()).collect()
    }

    #[test]
    fn the_same_edit_has_the_same_name_and_another_edit_another() {
        let edit = |new: &str| ids(&[changed("test_a.py", content(FULL), content(new))]);
        let less = edit("def test_a():\n    assert f(1) == 2\n");
        assert_eq!(less.len(), 1);
        assert_eq!(less, edit("def test_a():\n    assert f(1) == 2\n"));
        let other = edit("def test_a():\n    assert f(2) == 3\n");
        assert_eq!((other.len(), other == less), (1, false), "as many assertions, and not the same");
        let beside = ids(&[
            changed("test_a.py", content(FULL), content("def test_a():\n    assert f(1) == 2\n")),
            changed("README.md", content("a"), content("b")),
        ]);
        assert_eq!(beside, less, "what else changed does not matter");
    }

    /// The name leaves the severity out, so two of one name must not stand side by side: a person who is shown the note
    /// would not know that it is held, and one row would answer for the other.
    #[test]
    fn of_the_same_edit_found_twice_the_graver_stands_whatever_the_order() {
        let files = [changed("test_a.py", content(FULL), content("def test_a():\n    pass\n"))];
        let slight = Finding { path: "test_a.py".to_owned(), severity: Severity::Note, ..too_many(1) };
        let grave = Finding { severity: Severity::Hold, ..slight.clone() };
        let other = Finding { line: Some(2), ..slight.clone() };
        for findings in [[slight.clone(), other.clone(), grave.clone()], [grave, other, slight]] {
            let found = Findings { findings: findings.to_vec(), ..Findings::default() };
            let shown: Vec<_> = known(&files, found).into_iter().map(|one| one.finding).collect();
            let of = |line: Option<u32>| -> Vec<Severity> {
                shown.iter().filter(|one| one.line == line).map(|one| one.severity).collect()
            };
            assert_eq!((of(None), of(Some(2))), (vec![Severity::Hold], vec![Severity::Note]));
        }
    }

    #[test]
    fn a_file_that_moved_is_one_change() {
        let moved = [
            changed("a/test_a.py", content(FULL), Side::Absent),
            changed("b/test_a.py", Side::Absent, content(FULL)),
            changed("c.txt", Side::Absent, content("x")),
        ];
        let changes = paired(&moved);
        let named: Vec<_> = changes.iter().map(|one| (one.old_path.as_deref(), one.new_path.as_deref())).collect();
        assert_eq!(named, [(Some("a/test_a.py"), Some("b/test_a.py")), (None, Some("c.txt"))]);
        let edited =
            [changed("a/conf.ini", content("one"), Side::Absent), changed("b/conf.ini", Side::Absent, content("two"))];
        assert_eq!(paired(&edited).len(), 1);
        let unclear = [
            changed("a/mod.rs", content("one"), Side::Absent),
            changed("b/mod.rs", content("two"), Side::Absent),
            changed("c/mod.rs", Side::Absent, content("three")),
        ];
        assert_eq!(paired(&unclear).len(), 3);
    }

    #[test]
    fn a_file_of_tests_that_is_too_long_is_held_and_not_taken_for_deleted() {
        let long = |tag: &str| Side::TooLong(tag.to_owned());
        let found = |file: Changed| {
            let files = [file];
            let all = known(&files, findings(&paired(&files), &Checks::default()));
            all.into_iter().map(|one| (one.finding.kind, one.id)).collect::<Vec<_>>()
        };
        let one = found(changed("test_a.py", content(FULL), long("1")));
        assert_eq!(one.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Kind::NotRead]);
        assert_ne!(one, found(changed("test_a.py", content(FULL), long("2"))));
        assert_eq!(found(changed("data.bin", long("1"), long("2"))), []);
    }
}
