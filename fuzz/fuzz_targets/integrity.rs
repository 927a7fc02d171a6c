//! The survey of changed test files: no bytes make it panic, the same change gives the same findings, each of them in the
//! file that changed and no more than may be listed, and a file that did not change gives none (it is not even surveyed).
//!
//! The first byte chooses the language; a NUL separates what the base has from what the candidate has.
#![no_main]

use kctl::rules::integrity::{Changed, Checks, MAX_FINDINGS, Side, findings, known, paired};
use libfuzzer_sys::fuzz_target;

const PATHS: [&str; 10] = [
    "tests/it.rs",
    "src/lib.rs",
    "test_it.py",
    "it.test.js",
    "it.test.ts",
    "it.test.tsx",
    "it_test.go",
    "src/test/java/ItTest.java",
    "pytest.ini",
    ".github/workflows/ci.yml",
];

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let path = PATHS[usize::from(*choice) % PATHS.len()];
    let mut sides = rest.splitn(2, |byte| *byte == 0);
    let (old, new) = (sides.next().unwrap_or_default(), sides.next().unwrap_or_default());
    let files = |old: &[u8], new: &[u8]| {
        let side = |bytes: &[u8]| Side::Content(bytes.to_vec());
        vec![Changed { path: path.to_owned(), old: side(old), new: side(new) }]
    };
    let look = |files: &[Changed]| known(files, findings(&paired(files), &Checks::default()));
    let changed = files(old, new);
    let found = look(&changed);
    assert_eq!(found, look(&changed), "twice the same");
    assert!(found.len() <= MAX_FINDINGS + 1, "{} findings", found.len());
    let elsewhere = found.iter().find(|one| !one.finding.path.is_empty() && one.finding.path != path);
    assert!(elsewhere.is_none(), "in a file that did not change: {elsewhere:?}");
    let same = look(&files(old, old));
    assert!(same.is_empty(), "nothing changed, and yet: {same:?}");
});
