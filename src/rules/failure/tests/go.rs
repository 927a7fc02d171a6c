use super::{counts, items, read, same};

const PLAIN: &str = "--- FAIL: TestAdd (0.00s)
    --- FAIL: TestAdd/two (0.00s)
        m_test.go:4: add(1,2)=3 want 4
--- FAIL: TestTestify (0.00s)
    m_test.go:14:
        \tError Trace:\t/home/ann/m/m_test.go:14
        \tError:      \tNot equal:
        \t            \texpected: 4
        \t            \tactual  : 3
        \tTest:       \tTestTestify
FAIL
FAIL\texample.com/m\t0.002s
ok  \texample.com/m/sub\t(cached)
FAIL
[exit 1]
";

#[test]
fn a_parent_of_a_failed_subtest_is_no_failure_of_its_own() {
    assert_eq!(
        items(PLAIN),
        ["test:example.com/m.TestAdd/two = add(<v>,<v>)=<v> want <v>", "test:example.com/m.TestTestify = Not equal:"]
    );
    assert!(read(PLAIN).cached);
    assert_eq!(read(PLAIN).counts, None);
}

#[test]
fn verbose_and_json_are_the_same_failure() {
    let verbose = "=== RUN   TestAdd
=== RUN   TestAdd/two
    m_test.go:4: add(1,2)=3 want 4
--- FAIL: TestAdd (0.00s)
    --- FAIL: TestAdd/two (0.00s)
=== RUN   TestOk
--- PASS: TestOk (0.00s)
FAIL
FAIL\texample.com/m\t0.002s
FAIL
";
    let json = verbose
        .lines()
        .map(|line| format!("{{\"Time\":\"2026-11-30T09:20:54Z\",\"Action\":\"output\",\"Package\":\"example.com/m\",\"Output\":\"{}\\n\"}}\n", line.replace('\t', "\\t")))
        .collect::<String>();
    assert_eq!(items(verbose), ["test:example.com/m.TestAdd/two = add(<v>,<v>)=<v> want <v>"]);
    assert_eq!(counts(verbose), (1, 2, 0));
    same(verbose, &json);
}

#[test]
fn panics_timeouts_and_races_are_causes() {
    let panic = "--- FAIL: TestNil (0.00s)
panic: runtime error: invalid memory address or nil pointer dereference [recovered]
\tpanic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4f5142]

goroutine 18 [running]:
testing.tRunner.func1.2({0x508da0, 0x5fdab0})
\t/usr/local/go/src/testing/testing.go:1396 +0x24e
example.com/m/store.(*Db).Get(0xc000106000?)
\t/home/ann/m/store/db.go:6 +0x2
example.com/m.TestNil(0xc000106000?)
\t/home/ann/m/m_test.go:6 +0x2
FAIL\texample.com/m\t0.005s
";
    assert_eq!(
        items(panic),
        [
            "test:example.com/m.TestNil = panic: runtime error: invalid memory address or nil pointer dereference @store/db.go:store.(*Db).Get"
        ]
    );
    let timeout = "panic: test timed out after 1s\nrunning tests:\n\tTestSlow (1s)\n\ngoroutine 17 [running]:\ntesting.(*M).startAlarm.func1()\n\t/usr/local/go/src/testing/testing.go:2366 +0x30c\nFAIL\texample.com/m\t1.005s\n";
    assert_eq!(items(timeout), ["test:example.com/m.TestSlow = timeout"]);
    let race = "==================\nWARNING: DATA RACE\nRead at 0x00c000122088 by goroutine 8:\n==================\n--- FAIL: TestRace (0.00s)\n    testing.go:1446: race detected during execution of test\nFAIL\nFAIL\texample.com/m\t0.012s\n";
    assert_eq!(items(race), ["test:example.com/m.TestRace = race detected during execution of test"]);
}

#[test]
fn build_failures_name_package_and_file() {
    let text = "# example.com/m [example.com/m.test]\n./m_test.go:6:29: undefined: undefinedFn\nFAIL\texample.com/m [build failed]\nFAIL\n[exit 1]";
    assert_eq!(items(text), ["compiler:example.com/m m_test.go = undefined: undefinedFn"]);
}

#[test]
fn a_module_that_nobody_provides_is_its_name() {
    let text =
        "m.go:4:2: no required module provides package github.com/x/y; to add it:\n\tgo get github.com/x/y\n[exit 1]";
    assert_eq!(items(text), ["missing_module:go:github.com/x/y"]);
}

#[test]
fn a_program_that_panics_is_its_frame() {
    let text = "panic: boom\n\ngoroutine 1 [running]:\nmain.run(...)\n\t/home/ann/m/main.go:6\nmain.main()\n\t/home/ann/m/main.go:9 +0x2c\nexit status 2\n[exit 1]";
    assert_eq!(items(text), ["panic:main.go:main.run = boom"]);
}

#[test]
fn packages_without_tests_count_as_none() {
    let text = "?   \texample.com/m\t[no test files]\nok  \texample.com/m/a\t0.002s [no tests to run]\n[exit 0]";
    assert_eq!(counts(text), (0, 0, 0));
    assert!(items(text).is_empty());
}
