use super::super::{Lineages, lineage, parse, signature, volatile};
use proptest::prelude::*;

/// Pieces that open a reader's doors, so that random text gets inside.
const PIECES: &[&str] = &[
    "test result: FAILED. 1 passed; 2 failed; 0 ignored",
    "failures:",
    "---- a stdout ----",
    "thread 'a' panicked at src/a.rs:1:2:",
    "error[E0308]: x",
    " --> src/a.rs:1:2",
    "=== short test summary info ===",
    "FAILED a.py::b[c - d - e",
    "____ test_a ____",
    "E   assert 1 == 2",
    "======",
    "FAIL: a (b.C)",
    "Ran 3 tests in 0.1s",
    "Traceback (most recent call last):",
    "  File \"a.py\", line 1, in b",
    "ValueError: x",
    "TAP version 13",
    "not ok 1 - a",
    "  ---",
    "  ...",
    "# Subtest: a",
    "ℹ pass 1",
    "ℹ fail 1",
    "✖ failing tests:",
    "▶ a",
    "  ✖ b (1ms)",
    "FAIL a.test.js",
    "  ● a › b",
    "Test Suites: 1 failed",
    " FAIL  a.test.ts > b",
    "Test Files  1 failed",
    "  1 failing",
    "  1) a",
    "--- FAIL: TestA (0.00s)",
    "panic: x",
    "goroutine 1 [running]:",
    "FAIL\tm\t0.1s",
    "# m",
    "./a.go:1:2: x",
    "{\"Action\":\"output\",\"Package\":\"m\",\"Output\":\"x\\n\"}",
    "<testsuite><testcase name=\"a\"><failure message=\"x\">",
    "</testsuite>",
    "Tests run: 1, Failures: 1, Errors: 0, Skipped: 0",
    "a(B)  Time elapsed: 0 s  <<< FAILURE!",
    "A > b FAILED",
    "BUILD FAILED",
    "/a/A.java:1: error: x",
    "  symbol: y",
    "a.ts(1,2): error TS1: x",
    "a.c:1:2: error: x",
    "  1:2  error  x  rule",
    "[{\"ruleId\":1}]",
    "Summary [ 0.1s] 1 test run: 0 passed, 1 failed",
    "        FAIL [   0.005s] (1/6) a b",
    "  stdout ───",
    "3 examples, 1 failure",
    "Failures:",
    "PHPUnit",
    "1) A::b",
    "make: *** [a] Error 1",
    "    at f (/a/b.js:1:2)",
    "TypeError: x",
    "ERROR: AddressSanitizer: x on",
    "    #0 0x1 in f a.c:1",
    "Cannot find module 'x'",
    "\u{1b}[31m",
    "\r",
    "é",
    "[exit 1]",
    "{\"spans\":[],\"message\":\"x\"}",
    "{\"numTotalTests\":1}",
    "Exception in thread \"main\" java.lang.X: y",
];

fn outputs() -> impl Strategy<Value = String> {
    let piece = prop_oneof![proptest::sample::select(PIECES).prop_map(str::to_owned), "[ -~]{0,20}", "\\PC{0,8}"];
    proptest::collection::vec((piece, prop_oneof![Just("\n"), Just("\n"), Just(" "), Just("")]), 0..60)
        .prop_map(|parts| parts.into_iter().map(|(text, end)| text + end).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_output_makes_a_reader_panic(text in outputs(), exit in proptest::option::of(0..255i32)) {
        let report = parse(None, None, &text, exit, None);
        prop_assert_eq!(signature(&report.items), signature(&parse(None, None, &text, exit, None).items));
        if exit.is_some_and(|exit| exit != 0) {
            prop_assert!(!report.items.is_empty());
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = parse(None, None, &String::from_utf8_lossy(&bytes), None, None);
    }

    #[test]
    fn the_order_of_items_does_not_matter(text in outputs(), seed in any::<prop::sample::Index>()) {
        let mut items = parse(None, None, &text, Some(1), None).items;
        let before = signature(&items);
        let by = seed.index(items.len());
        items.rotate_left(by);
        items.reverse();
        prop_assert_eq!(signature(&items), before);
    }

    #[test]
    fn masked_tokens_do_not_matter(pid in 100..4_000_000u32, ms in 1..100_000u32, port in 1_024..65_535u16, hex in "[a-f][0-9][0-9a-f]{10}", name in "[a-z][0-9][a-z0-9]{6}") {
        let text = |pid: u32, ms: u32, port: u16, hex: &str, name: &str| format!(
            "starting worker-{pid} pid {pid} on 127.0.0.1:{port} in /tmp/tmp{name}/run.log\n2026-11-30T09:00:{:02}Z broken object 0x{hex} after {ms}ms\nexpected 3 got 4\n", ms % 60
        );
        let a = parse(None, None, &text(pid, ms, port, &hex, &name), Some(2), None);
        let b = parse(None, None, &text(7, 5, 80, "a1b2c3d4e5f6", "a1b2c3d4"), Some(2), None);
        prop_assert_eq!(signature(&a.items), signature(&b.items));
    }

    // Without what may open a directory's name as well as stand before one: `[/tmp/x]` holds a path, `/[a]/x` is one.
    #[test]
    fn masking_twice_is_masking_once(text in "[ -#%-*,-?A-Z^-~]{0,200}") {
        let once = volatile(&text);
        prop_assert_eq!(volatile(&once), once);
    }

    #[test]
    fn no_command_makes_the_lineage_panic(command in "\\PC{0,120}") {
        let key = lineage(&command);
        prop_assert!(key.covers(&key));
    }
}

/// Enough that what is quadratic is felt; the readers are not optimised in a test.
const BYTES: usize = 64 * 1_024;

#[test]
fn a_huge_output_of_any_form_is_read_in_one_pass() {
    // What would be quadratic takes hours here, and the test's own time limit ends it.
    for piece in PIECES {
        let text = format!("{piece}\n").repeat(BYTES / (piece.len() + 1));
        let report = parse(None, None, &text, Some(1), None);
        assert!(report.items.len() <= 2_000, "{piece}");
    }
    let lines = (0..20_000).map(|n| format!("test t::case_{n} ... FAILED\n")).collect::<String>();
    let report = parse(
        None,
        None,
        &format!("{lines}\ntest result: FAILED. 0 passed; 20000 failed; 0 ignored\n"),
        Some(101),
        None,
    );
    assert_eq!((report.items.len(), report.items_omitted), (2_000, 18_000));
    assert!(parse(None, None, &"x".repeat(8 * 1_024 * 1_024), Some(1), None).items.len() == 1);
}

#[test]
fn the_state_survives_being_written() {
    let state = Lineages::default();
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<Lineages>(&text).unwrap(), state);
}

#[test]
#[ignore = "prints times for a person to judge"]
#[expect(clippy::disallowed_methods, clippy::print_stderr, reason = "a measurement, not a part of the module")]
fn time_of_every_piece() {
    let mixed = format!("{}\n", PIECES.join("\n")).repeat(8 * 1_024 * 1_024 / 2_400);
    let start = std::time::Instant::now();
    let items = parse(None, None, &mixed, Some(1), None).items.len();
    eprintln!("{} bytes, {items} items: {:?}", mixed.len(), start.elapsed());
    for piece in PIECES {
        let mut times = Vec::new();
        for bytes in [BYTES, BYTES * 4] {
            let text = format!("{piece}\n").repeat(bytes / (piece.len() + 1));
            let start = std::time::Instant::now();
            let _ = parse(None, None, &text, Some(1), None);
            times.push(start.elapsed().as_millis());
        }
        if times[1] > 8 * times[0].max(20) || times[1] > 2_000 {
            eprintln!("{times:?} {piece}");
        }
    }
}
