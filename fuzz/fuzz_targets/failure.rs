//! The readers of what tools print: no output makes one panic, the same output is read the same way again, and where the
//! work tree lies changes nothing of an output that names no path.
#![no_main]

use kctl::rules::failure::{parse, parse_in, signature};
use libfuzzer_sys::fuzz_target;

const STATUSES: [(Option<i32>, Option<i32>); 5] =
    [(Some(1), None), (Some(0), None), (Some(101), None), (None, Some(11)), (None, None)];
const PROGRAMS: [Option<&str>; 6] = [None, Some("cargo"), Some("pytest"), Some("go"), Some("jest"), Some("make")];

fuzz_target!(|input: &[u8]| {
    let output = String::from_utf8_lossy(input);
    let (exit, signal) = STATUSES[input.len() % STATUSES.len()];
    let program = PROGRAMS[input.len() / STATUSES.len() % PROGRAMS.len()];
    let report = parse(None, program, &output, exit, signal);
    let again = parse(None, program, &output, exit, signal);
    assert_eq!(report, again, "read twice");
    assert_eq!(signature(&report.items), signature(&again.items));
    let rooted = parse_in(&["/work/tree"], None, program, &output, exit, signal);
    if !output.contains('/') {
        assert_eq!(report, rooted, "no path is named");
    }
});
