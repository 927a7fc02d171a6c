//! The acceptance scenarios and their hardening cases, each through the real binary against a real repository. What they
//! are stands in the tables beside this file; here is one test for each, so that its name shows.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

mod document;
mod expect;
mod host;
mod stage;
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::rig::skipped;

use expect::Answers;
use stage::Stage;
use table::{Entry, Expectation};

/// Plays the entry called `id`.
fn play(id: &str) {
    let table = table::read();
    let entry = table.entry.iter().find(|entry| entry.id == id).unwrap_or_else(|| panic!("no scenario is called {id}"));
    if let Some(needs) = &entry.needs {
        skipped(id, &format!("{}: it needs {needs}, which is not built", entry.title));
        return;
    }
    let mut stage = Stage::set(&entry.given);
    for step in &entry.when {
        stage.act(step);
    }
    let wrong: Vec<String> = entry.then.iter().filter_map(|one| stage.check(one).err()).collect();
    let all = json!(stage.answers.named);
    assert!(wrong.is_empty(), "{id}: {}\n{}\n\nall answers: {all:#}", entry.title, wrong.join("\n"));
}

/// A test for each entry, and the list of them.
macro_rules! scenarios {
    ($($test:ident = $id:literal,)*) => {
        const PLAYED: &[(&str, &str)] = &[$((stringify!($test), $id),)*];
        $(#[test] fn $test() { play($id); })*
    };
}

scenarios! {
    r01 = "R01",
    r01_h2 = "R01.h2",
    r02 = "R02",
    r02_o1 = "R02.o1",
    r03 = "R03",
    r04 = "R04",
    r04_h1 = "R04.h1",
    r04_h3 = "R04.h3",
    r04_h4 = "R04.h4",
    r05 = "R05",
    r05_h1 = "R05.h1",
    r05_h3 = "R05.h3",
    r06 = "R06",
    r07 = "R07",
    r08 = "R08",
    r09 = "R09",
    r10 = "R10",
    r10_h2 = "R10.h2",
    r10_h3 = "R10.h3",
    r11 = "R11",
    r11_h2 = "R11.h2",
    r11_h3 = "R11.h3",
    r11_h4 = "R11.h4",
    r12 = "R12",
    r12_h1 = "R12.h1",
    r12_h3 = "R12.h3",
    r12_h4 = "R12.h4",
    r12_h5 = "R12.h5",
    r13 = "R13",
    r14 = "R14",
    r14_h3 = "R14.h3",
    r14_h4 = "R14.h4",
    r14_o1 = "R14.o1",
    r15 = "R15",
    r15_h2 = "R15.h2",
    a01 = "A01",
    a02 = "A02",
    a02_h1 = "A02.h1",
    a02_h2 = "A02.h2",
    a03 = "A03",
    a03_o1 = "A03.o1",
    a04 = "A04",
    a05 = "A05",
    a05_h1 = "A05.h1",
    a06 = "A06",
    a06_h2 = "A06.h2",
    a07 = "A07",
    a08 = "A08",
    a08_h1 = "A08.h1",
    a08_h2 = "A08.h2",
    a09 = "A09",
    a09_h1 = "A09.h1",
    a09_h2 = "A09.h2",
    a10 = "A10",
    a10_h2 = "A10.h2",
}

/// What each of the 25 scenarios brings along, counted where it was written down.
const HARDENED: [(&str, &[&str]); 25] = [
    ("R01", &["h2"]),
    ("R02", &[]),
    ("R03", &[]),
    ("R04", &["h1", "h3", "h4"]),
    ("R05", &["h1", "h3"]),
    ("R06", &[]),
    ("R07", &[]),
    ("R08", &[]),
    ("R09", &[]),
    ("R10", &["h2", "h3"]),
    ("R11", &["h2", "h3", "h4"]),
    ("R12", &["h1", "h3", "h4", "h5"]),
    ("R13", &[]),
    ("R14", &["h3", "h4"]),
    ("R15", &["h2"]),
    ("A01", &[]),
    ("A02", &["h1", "h2"]),
    ("A03", &[]),
    ("A04", &[]),
    ("A05", &["h1"]),
    ("A06", &["h2"]),
    ("A07", &[]),
    ("A08", &["h1", "h2"]),
    ("A09", &["h1", "h2"]),
    ("A10", &["h2"]),
];

#[test]
fn every_scenario_and_hardening_case_has_its_entry_and_every_entry_its_test() {
    let table = table::read();
    let ids: Vec<&str> = table.entry.iter().map(|entry| entry.id.as_str()).collect();
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "an id stands twice: {ids:?}");
    assert_eq!(known, PLAYED.iter().map(|(_, id)| *id).collect(), "entries and tests differ");
    for (test, id) in PLAYED {
        assert_eq!(*test, document::test_of(id), "the document calls it otherwise");
    }
    let hardening = |(id, cases): &(&str, &[&str])| cases.iter().map(|case| format!("{id}.{case}")).collect::<Vec<_>>();
    let owed = HARDENED.iter().flat_map(|one| [vec![one.0.to_owned()], hardening(one)].concat());
    let missing: Vec<String> = owed.filter(|id| !known.contains(id.as_str())).collect();
    assert!(missing.is_empty(), "without an entry: {missing:?}");
}

#[test]
fn an_entry_is_whole_or_says_what_it_needs() {
    for entry in table::read().entry {
        let Entry { id, needs, partly, when, then, .. } = &entry;
        match needs {
            Some(needs) => {
                assert!(!needs.is_empty() && when.is_empty() && then.is_empty(), "{id} is skipped and not empty");
            }
            None => assert!(!when.is_empty() && !then.is_empty(), "{id} has nothing to show"),
        }
        assert!(partly.as_ref().is_none_or(|why| !why.is_empty() && needs.is_none()), "{id} says too little, or both");
        for step in when {
            assert_eq!(step.verbs(), 1, "{id}: a step has one verb: {step:?}");
            let takes = step.call.is_some() || step.tool.is_some();
            assert!(step.with.is_none() || takes, "{id}: `with` belongs to a call or a tool: {step:?}");
            assert!(step.host.is_none() || step.tool.is_some(), "{id}: `host` belongs to a tool: {step:?}");
        }
    }
}

/// An expectation that holds of nothing at all would hold of anything. Only that something is absent does, and beside it
/// each entry expects something of the same answer that is there.
#[test]
fn no_expectation_holds_of_an_answer_that_says_nothing() {
    for Entry { id, then, .. } in table::read().entry {
        let named = then.iter().filter_map(|one| one.at.clone()).map(|name| (name, Value::Null)).collect();
        let nothing = Answers { named, last: Value::Null };
        let vague = |one: &&Expectation| expect::hold(one, &nothing, Value::clone).is_ok();
        for one in then.iter().filter(vague) {
            assert_eq!(one.present, Some(false), "{id}: it holds of nothing: {one:?}");
            let beside = then.iter().any(|other| other.at == one.at && !vague(&other));
            assert!(beside, "{id}: nothing else is expected there: {one:?}");
        }
    }
}

#[test]
fn a_key_that_nobody_knows_is_a_fault() {
    for wrong in [
        "entry = [{ id = \"x\", title = \"x\", wen = [] }]",
        "entry = [{ id = \"x\", title = \"x\", when = [{ cal = \"status\" }] }]",
        "entry = [{ id = \"x\", title = \"x\", then = [{ ptr = \"/x\", equal = 1 }] }]",
        "entry = [{ id = \"x\", title = \"x\", given = { setup = \"nowhere\" } }]",
    ] {
        assert!(toml::from_str::<table::Table>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_document_says_what_is_played_and_what_is_asserted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/SCENARIOS.md");
    let text = document::render(&table::read());
    if std::env::var_os("KCTL_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, text).expect("written");
        return;
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "docs/SCENARIOS.md is stale: `KCTL_BLESS=1 cargo test --test it scenarios::` writes it");
}

/// What a row says of other tests is true as well: they are there.
#[test]
fn tests_that_an_entry_points_to_exist() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    for top in ["tests/it", "src"] {
        gather(&dir.join(top), &mut sources);
    }
    for Entry { id, see, .. } in table::read().entry {
        for test in see {
            assert!(sources.contains(&format!("fn {test}(")), "{id}: there is no test `{test}`");
        }
    }
}

fn gather(dir: &Path, sources: &mut String) {
    for entry in fs::read_dir(dir).expect("listed").filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, sources);
        } else if path.extension().is_some_and(|end| end == "rs") {
            sources.push_str(&fs::read_to_string(&path).expect("read"));
        }
    }
}
