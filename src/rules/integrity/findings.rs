//! The whole answer: every changed file read once, its tests paired, what is left told.

use std::collections::{BTreeMap, BTreeSet};

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::compare::{Lost, View, compare};
use super::compared;
use super::config;
use super::discovery;
use super::gone::Gone;
use super::markers::markers;
use super::marks;
use super::model::{
    Change, Checks, Finding, Findings, Kind, Language, MAX_FILE_BYTES, MAX_FINDINGS, Marker, Severity, Suite, Symbol,
    Unread,
};
use super::pair::{Item, Pairs, pair};
use super::paths::{base, collected, is_test_file, language_of};
use super::reach::Reach;
use super::snapshots;
use super::stand_ins::{self, Tree, stem};
use super::subject::{self, Around};
use super::suite::{Helpers, OwnedHelpers, raw};

/// What weakens the tests between the base's and the candidate's versions of the changed files.
#[must_use]
pub fn findings(changes: &[Change<'_>], checks: &Checks) -> Findings {
    let tests = globs(&checks.tests);
    let mut out = Vec::new();
    let files: Vec<File> = changes.iter().map(|change| File::read(change, &tests)).collect();
    let unread = unread(changes, &files, &mut out);
    let new_tests = code(changes, &files, (checks, &tests), &mut out);
    discovery::findings(changes, checks, &mut out);
    config::findings(changes, checks, &globs(&checks.config), &mut out);
    snapshots::findings(changes, &globs(&checks.snapshots), &mut out);
    Findings { new_tests, ..capped(out, unread) }
}

/// Whether a change touches what the tests are about: no test, no recorded expectation and no text for people.
fn under_test(change: &Change<'_>, tests: &GlobSet) -> bool {
    const PROSE: [&str; 5] = [".md", ".rst", ".txt", ".adoc", ".snap"];
    let path = change.new_path.as_deref().or(change.old_path.as_deref()).unwrap_or_default();
    if is_test_file(path) || tests.is_match(path) || PROSE.iter().any(|end| path.ends_with(end)) {
        return false;
    }
    let said = |bytes: Option<&[u8]>| {
        let text = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        text.split_whitespace().collect::<String>()
    };
    change.too_long || said(change.old) != said(change.new)
}

/// What the change does to the code that is tested.
fn reach(changes: &[Change<'_>], files: &[File], tests: &GlobSet) -> Reach {
    let mut reach = Reach::default();
    for (change, file) in changes.iter().zip(files).filter(|(change, _)| under_test(change, tests)) {
        match (&file.old, &file.new) {
            (Some(old), Some(new)) => reach.file(old, new),
            // What is new changes nothing by itself.
            _ if change.old_path.is_none() => {}
            _ => reach.unknown(),
        }
    }
    reach
}

fn globs(patterns: &[String]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns.iter().filter_map(|pattern| Glob::new(pattern).ok()) {
        builder.add(pattern);
    }
    builder.build().unwrap_or_default()
}

/// Holds first, then by path and line; what is over the cap is counted.
fn capped(mut findings: Vec<Finding>, unread: Vec<(String, Unread)>) -> Findings {
    findings.sort();
    findings.dedup();
    let omitted = findings.len().saturating_sub(MAX_FINDINGS);
    let omitted_holds = findings.iter().skip(MAX_FINDINGS).filter(|finding| finding.severity == Severity::Hold).count();
    findings.truncate(MAX_FINDINGS);
    Findings { findings, omitted, omitted_holds, unread, new_tests: 0 }
}

/// A changed file, surveyed on both sides.
struct File {
    old_path: String,
    new_path: String,
    old: Option<Suite>,
    new: Option<Suite>,
    same: bool,
}

impl File {
    fn read(change: &Change<'_>, tests: &GlobSet) -> File {
        let (old_path, new_path) =
            (change.old_path.clone().unwrap_or_default(), change.new_path.clone().unwrap_or_default());
        let holds_tests = |path: &str| is_test_file(path) || tests.is_match(path);
        let of_tests = holds_tests(&old_path) || holds_tests(&new_path);
        let same = change.old == change.new && old_path == new_path && !change.too_long;
        let read = |path: &str, bytes: Option<&[u8]>| {
            let language = language_of(path).filter(|_| !same && !vendored(path))?;
            Some(raw(language, bytes?, of_tests))
        };
        File { old: read(&old_path, change.old), new: read(&new_path, change.new), old_path, new_path, same }
    }
    fn path(&self) -> &str {
        if self.new_path.is_empty() { &self.old_path } else { &self.new_path }
    }
    fn of_tests(&self) -> bool {
        is_test_file(self.path()) || is_test_file(&self.old_path)
    }
}

fn vendored(path: &str) -> bool {
    super::paths::has_dir(path, &["node_modules", "vendor", "target", ".venv", "site-packages"])
}

fn unread(changes: &[Change<'_>], files: &[File], out: &mut Vec<Finding>) -> Vec<(String, Unread)> {
    let mut unread = Vec::new();
    for (change, file) in changes.iter().zip(files) {
        let why = [&file.old, &file.new].into_iter().flatten().find_map(|suite| suite.unread);
        let long =
            change.too_long || [change.old, change.new].into_iter().flatten().any(|bytes| bytes.len() > MAX_FILE_BYTES);
        let Some(why) = why.or(long.then_some(Unread::TooLong)).filter(|_| !file.same) else { continue };
        unread.push((file.path().to_owned(), why));
        if file.of_tests() {
            out.push(plain(Severity::Hold, Kind::NotRead, file.path(), None, why.words()));
        }
    }
    unread
}

pub(super) fn plain(severity: Severity, kind: Kind, path: &str, line: Option<u32>, message: &str) -> Finding {
    Finding {
        severity,
        kind,
        path: path.to_owned(),
        line,
        test: None,
        before: None,
        after: None,
        message: message.to_owned(),
    }
}

/// What the code of the changed files says; the number of tests that are new in it.
fn code(changes: &[Change<'_>], files: &[File], (checks, tests): (&Checks, &GlobSet), out: &mut Vec<Finding>) -> usize {
    let mut old: Vec<Option<Suite>> = files.iter().map(|file| file.old.clone()).collect();
    let mut new: Vec<Option<Suite>> = files.iter().map(|file| file.new.clone()).collect();
    let (old_helpers, new_helpers) = (Helpers::of(old.iter().flatten()), Helpers::of(new.iter().flatten()));
    old.iter_mut().flatten().for_each(|suite| old_helpers.resolve(suite));
    new.iter_mut().flatten().for_each(|suite| new_helpers.resolve(suite));
    let (old_items, new_items) = (items(&old), items(&new));
    let pairs = pair(&old_items, &new_items);
    let old_sides: Vec<(bool, &Suite)> = sides(files, &old, |file| &file.old_path);
    let new_sides: Vec<(bool, &Suite)> = sides(files, &new, |file| &file.new_path);
    let gone = Gone::of(&old_sides, &new_sides);
    let view = View {
        old: &old_items,
        new: &new_items,
        new_paths: &files.iter().map(|file| file.new_path.clone()).collect::<Vec<_>>(),
        literals: &new
            .iter()
            .map(|suite| suite.as_ref().map_or_else(BTreeSet::new, |suite| suite.literals.clone()))
            .collect::<Vec<_>>(),
        gone: &gone,
        reach: &reach(changes, files, tests),
    };
    let (found, lost) = compare(&view, &pairs);
    out.extend(found);
    let out_of_reach = renamed_out(files, &view, &pairs, checks, &new, out);
    deleted(files, &view, &lost, &out_of_reach, out);
    markers(&view, &pairs, out);
    let paths: Vec<&str> = files.iter().map(File::path).collect();
    marks::findings(&paths, &old, &new, out);
    subjects(files, &view, &pairs, (&old, &new), out);
    for (at, file) in files.iter().enumerate().filter(|(_, file)| !file.same) {
        file_findings(file, old[at].as_ref(), new[at].as_ref(), (&old_helpers, &new_helpers), out);
    }
    modules(files, &old, &new, out);
    for (at, file) in files.iter().enumerate().filter(|(_, file)| !file.same) {
        let run = checks.runs.contains(&file.new_path);
        if let (Some(old), Some(new)) = (&old[at], &new[at])
            && (run || beside_a_run(file.path(), checks) && (file.of_tests() || tests.is_match(file.path())))
        {
            compared::findings(&compared::Judge { path: file.path(), run, old, new }, view.reach, out);
        }
    }
    pairs.gained.len()
}

/// A check runs a file of this language by its name: what judges may lie in others that it loads.
fn beside_a_run(path: &str, checks: &Checks) -> bool {
    language_of(path).is_some_and(|language| checks.runs.iter().any(|run| language_of(run) == Some(language)))
}

/// Files of tests on both sides: whether they still test what they tested.
fn subjects(
    files: &[File],
    view: &View<'_>,
    pairs: &Pairs,
    (old, new): (&[Option<Suite>], &[Option<Suite>]),
    out: &mut Vec<Finding>,
) {
    let fresh = files.iter().zip(new).filter(|(file, _)| file.old_path.is_empty());
    let known = files.iter().zip(old).zip(new).filter(|((file, _), _)| !file.old_path.is_empty());
    let mut around = Around {
        fresh: fresh.filter_map(|(file, suite)| Some((stem(&file.new_path), suite.as_ref()?))).collect(),
        changed: BTreeMap::new(),
    };
    for ((file, old), new) in known {
        let new = new.as_ref().filter(|_| file.new_path == file.old_path);
        let side = (old.as_ref(), new, file.new_path == file.old_path);
        around.changed.entry(stem(&file.old_path)).or_default().push(side);
    }
    let (before, after) = (
        Tree { files: with_path(files, old, |file| &file.old_path) },
        Tree { files: with_path(files, new, |file| &file.new_path) },
    );
    for (at, file) in files.iter().enumerate() {
        let (Some(old), Some(new)) = (&old[at], &new[at]) else { continue };
        if file.of_tests() || !new.tests.is_empty() {
            let here = pairs.matched.iter().filter(|(was, is)| view.old[*was].file == at && view.new[*is].file == at);
            let tests = here.map(|(was, is)| (view.old[*was].test, view.new[*is].test)).collect();
            let pair = subject::Pair { path: file.path(), old, new, tests };
            subject::findings(&pair, &around, out);
            stand_ins::names(&pair, &after, out);
            stand_ins::classes(&pair, &before, &after, out);
        }
    }
}

fn with_path<'s>(files: &'s [File], suites: &'s [Option<Suite>], path: fn(&File) -> &str) -> Vec<(&'s str, &'s Suite)> {
    let all = files.iter().zip(suites);
    all.filter_map(|(file, suite)| Some((path(file), suite.as_ref()?))).collect()
}

/// The suites of one side, with whether the path is one of tests.
fn sides<'s>(files: &[File], suites: &'s [Option<Suite>], path: fn(&File) -> &str) -> Vec<(bool, &'s Suite)> {
    let with_file = files.iter().zip(suites);
    with_file.filter_map(|(file, suite)| Some((is_test_file(path(file)), suite.as_ref()?))).collect()
}

fn items(suites: &[Option<Suite>]) -> Vec<Item<'_>> {
    let with_file = suites.iter().enumerate();
    with_file
        .flat_map(|(file, suite)| {
            suite.iter().flat_map(move |suite| suite.tests.iter().map(move |test| Item { file, test }))
        })
        .collect()
}

/// Files whose tests are still there, but where no runner looks.
fn renamed_out(
    files: &[File],
    view: &View<'_>,
    pairs: &Pairs,
    checks: &Checks,
    new: &[Option<Suite>],
    out: &mut Vec<Finding>,
) -> BTreeSet<usize> {
    let declared: BTreeSet<&str> =
        new.iter().flatten().flat_map(|suite| &suite.modules).map(|(name, _)| name.as_str()).collect();
    let rank = |path: &str| {
        let stem = base(path).split('.').next().unwrap_or("");
        let rank = collected(path);
        if checks.runs.iter().any(|run| run == path) || (path.ends_with(".rs") && rank == 1 && declared.contains(stem))
        {
            2
        } else {
            rank
        }
    };
    let mut gone = BTreeSet::new();
    let mut moved: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (old, new) in &pairs.matched {
        *moved.entry((view.old[*old].file, view.new[*new].file)).or_insert(0) += 1;
    }
    for (at, file) in files.iter().enumerate() {
        let whole = file.old.as_ref().is_some_and(|suite| !suite.tests.is_empty()) && !file.new_path.is_empty();
        if whole && file.new_path != file.old_path {
            moved.entry((at, at)).or_insert(0);
        }
    }
    for ((old, new), count) in moved {
        let (from, to) = (&files[old].old_path, &files[new].new_path);
        let kept = files[new].new.as_ref().map_or(0, |suite| suite.tests.len());
        let hidden = discovery::hides(checks, from, to);
        if from == to || !hidden && (rank(to) >= rank(from) || (count == 0 && kept > 0 && rank(to) > 0)) {
            continue;
        }
        if language_of(to).is_none() && files[old].new.is_some() {
            continue;
        }
        gone.insert(old);
        out.push(Finding {
            before: Some(from.clone()),
            after: Some(to.clone()),
            ..plain(
                Severity::Hold,
                Kind::TestFileRenamedOut,
                to,
                None,
                "the file's new name is not one that its runner collects",
            )
        });
    }
    gone
}

fn deleted(files: &[File], view: &View<'_>, lost: &[Lost], elsewhere: &BTreeSet<usize>, out: &mut Vec<Finding>) {
    let mut by_file: BTreeMap<usize, Vec<&Lost>> = BTreeMap::new();
    for gone in lost {
        by_file.entry(view.old[gone.old].file).or_default().push(gone);
    }
    for (at, gone) in by_file {
        let file = &files[at];
        if elsewhere.contains(&at) && file.new.as_ref().is_none_or(|suite| suite.tests.is_empty()) {
            continue;
        }
        if file.new.is_none() && file.new_path.is_empty() {
            let held: Vec<&&Lost> = gone.iter().filter(|lost| lost.severity == Severity::Hold).collect();
            let severity = if held.is_empty() { Severity::Note } else { Severity::Hold };
            let why = held.first().map_or_else(|| gone[0].why.clone(), |lost| lost.why.clone());
            let count = if held.is_empty() { gone.len() } else { held.len() };
            out.push(Finding {
                before: Some(format!("{count} tests")),
                after: Some("0 tests".to_owned()),
                ..plain(severity, Kind::TestFileDeleted, &file.old_path, None, &why)
            });
            continue;
        }
        for lost in gone {
            let test = view.old[lost.old].test;
            out.push(Finding {
                test: Some(test.id.clone()),
                before: Some(format!("{} assertions", test.effect())),
                ..plain(lost.severity, Kind::TestDeleted, file.path(), Some(test.line), &lost.why)
            });
        }
    }
}

fn added<'m>(old: Option<&[Marker]>, new: &'m [Marker]) -> Vec<&'m Marker> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for marker in old.unwrap_or_default() {
        *known.entry(marker.text.as_str()).or_insert(0) += 1;
    }
    let fresh = new.iter().filter(|marker| match known.get_mut(marker.text.as_str()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    });
    fresh.collect()
}

fn file_findings(
    file: &File,
    old: Option<&Suite>,
    new: Option<&Suite>,
    helpers: (&OwnedHelpers, &OwnedHelpers),
    out: &mut Vec<Finding>,
) {
    let Some(new) = new else { return };
    let path = file.path();
    stand_ins::loads(path, old, new, out);
    let tests = file.of_tests() || !new.tests.is_empty();
    let mark = |severity, kind, marker: &Marker, message: &str| Finding {
        after: Some(marker.text.clone()),
        ..plain(severity, kind, path, Some(marker.line), message)
    };
    for marker in added(old.map(|suite| suite.exits.as_slice()), &new.exits).into_iter().filter(|_| tests) {
        out.push(mark(Severity::Hold, Kind::ExitAdded, marker, "the test run ends here as if all were well"));
    }
    for marker in added(old.map(|suite| suite.suppressions.as_slice()), &new.suppressions) {
        out.push(mark(Severity::Note, Kind::SuppressAdded, marker, "a warning is silenced"));
    }
    // Where a file's tests are seen, they carry the skip themselves.
    for marker in added(old.map(|suite| suite.loose_skips.as_slice()), &new.loose_skips)
        .into_iter()
        .filter(|_| new.tests.is_empty() || marker_of_main(new))
    {
        out.push(mark(Severity::Hold, Kind::SkipAdded, marker, "tests are skipped from outside"));
    }
    if new.parse_errors > old.map_or(0, |suite| suite.parse_errors) && tests {
        out.push(plain(Severity::Note, Kind::ParseError, path, None, "parts of the file could not be parsed"));
    }
    if tests {
        helpers_weakened(path, old, new, helpers, out);
    }
}

/// `TestMain` skips for a whole package.
fn marker_of_main(suite: &Suite) -> bool {
    suite.loose_skips.iter().any(|marker| marker.text.starts_with("TestMain"))
}

/// Helpers that assert less, where no test of the same file shows it, and stand-ins for the runner's own functions.
fn helpers_weakened(
    path: &str,
    old: Option<&Suite>,
    new: &Suite,
    helpers: (&OwnedHelpers, &OwnedHelpers),
    out: &mut Vec<Finding>,
) {
    for helper in &new.helpers {
        let known = old.and_then(|suite| suite.helpers.iter().find(|known| known.name == helper.name));
        if known.is_none() && shadows(path, helper) {
            let message = format!("`{}` is defined here and stands in for the runner's own", helper.name);
            out.push(plain(Severity::Hold, Kind::AssertionWeakened, path, Some(helper.line), &message));
        }
        let Some(known) = known else { continue };
        let shown = new.tests.iter().any(|test| test.helper_calls.contains_key(&helper.name));
        // Several of one name, each local to its test, are compared by the one that asserts most, once.
        let most = |suite: &Suite, helpers: &OwnedHelpers| {
            let same = suite.helpers.iter().filter(|other| other.name == helper.name);
            same.map(|other| helpers.claims_of(other)).max().unwrap_or(0)
        };
        let first =
            new.helpers.iter().find(|other| other.name == helper.name).is_some_and(|other| other.line == helper.line);
        if known.body_digest == helper.body_digest || shown || !first {
            continue;
        }
        let (before, after) = (old.map_or(0, |suite| most(suite, helpers.0)), most(new, helpers.1));
        if after < before {
            out.push(Finding {
                test: Some(helper.name.clone()),
                before: Some(format!("{before} assertions")),
                after: Some(format!("{after} assertions")),
                ..plain(
                    Severity::Hold,
                    Kind::AssertionRemoved,
                    path,
                    Some(helper.line),
                    "a helper of the tests asserts less",
                )
            });
        }
    }
}

/// A name that means an assertion or a test to the runner. `const expect = chai.expect` is a name for the real one.
fn shadows(path: &str, helper: &Symbol) -> bool {
    let names: &[&str] = match language_of(path) {
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            &["expect", "assert", "it", "test", "describe"]
        }
        Some(Language::Rust) => &["assert", "assert_eq", "assert_ne"],
        Some(Language::Python) => &["assertEqual", "assertTrue", "assertRaises", "assertIn"],
        Some(Language::Java) => {
            &["assertEquals", "assertTrue", "assertThat", "assertThrows", "assertFalse", "assertNotNull"]
        }
        Some(Language::Go) | None => &[],
    };
    names.contains(&helper.name.as_str()) && helper.in_tests && helper.function && helper.claims.is_empty()
}

/// `mod tests;` that is gone while its file is still there.
fn modules(files: &[File], old: &[Option<Suite>], new: &[Option<Suite>], out: &mut Vec<Finding>) {
    let declared: BTreeSet<&str> =
        new.iter().flatten().flat_map(|suite| &suite.modules).map(|(name, _)| name.as_str()).collect();
    for (at, file) in files.iter().enumerate() {
        let Some(old) = &old[at] else { continue };
        for (name, line) in old.modules.iter().filter(|(name, _)| !declared.contains(name.as_str())) {
            let inlined = new[at]
                .as_ref()
                .is_some_and(|suite| suite.tests.iter().any(|test| test.id.starts_with(&format!("{name} > "))));
            let removed = files.iter().any(|other| {
                let is_it = base(&other.old_path).strip_suffix(".rs") == Some(name)
                    || other.old_path.ends_with(&format!("{name}/mod.rs"));
                is_it && other.new_path != other.old_path
            });
            if !inlined && !removed {
                let message = format!("the test module `{name}` is not compiled any more");
                out.push(plain(Severity::Hold, Kind::TestDeleted, file.path(), Some(*line), &message));
            }
        }
    }
}
