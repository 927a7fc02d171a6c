//! The same failure under other noise.

use super::same;

fn cargo(time: &str, pid: &str, line: u32, left: &str) -> String {
    format!(
        "   Compiling shop v0.3.1 (/home/ann/{pid}/shop)\n    Finished `test` profile [unoptimized + debuginfo] target(s) in {time}s\n     Running unittests src/lib.rs (target/debug/deps/shop-0123456789abcdef)\n\nrunning 1 test\ntest cart::sum ... FAILED\n\nfailures:\n\n---- cart::sum stdout ----\n\nthread 'cart::sum' ({pid}) panicked at src/cart.rs:{line}:9:\nassertion `left == right` failed\n  left: {left}\n right: 9\n\n\nfailures:\n    cart::sum\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in {time}s\n\nerror: test failed, to rerun pass `--lib`\n[exit 101]\n"
    )
}

#[test]
fn a_test_that_moved_or_computes_another_wrong_value() {
    same(&cargo("0.10", "11", 5, "3"), &cargo("9.99", "4242", 77, "4"));
}

#[test]
fn warnings_and_build_noise_around_a_failed_test() {
    let noisy = format!(
        "warning: unused variable: `x`\n --> src/lib.rs:3:9\n  |\n3 |     let x = 1;\n  |         ^ help: if this is intentional, prefix it with an underscore: `_x`\n\nwarning: `shop` (lib test) generated 1 warning\n{}",
        cargo("1.0", "5", 5, "3")
    );
    same(&cargo("0.10", "11", 5, "3"), &noisy);
}

#[test]
fn old_and_new_panic_wording() {
    let new = cargo("0.1", "1", 5, "3");
    let old = |message: &str| {
        new.replace(
            "thread 'cart::sum' (1) panicked at src/cart.rs:5:9:\nassertion `left == right` failed\n  left: 3\n right: 9\n",
            &format!("thread 'cart::sum' panicked at '{message}', src/cart.rs:5:9\n"),
        )
    };
    same(&new, &old("assertion failed: `(left == right)`\n  left: `3`,\n right: `9`"));
    let told = new.replace("` failed\n", "` failed: a sum\n");
    same(&told, &old("assertion failed: `(left == right)`\n  left: `3`,\n right: `9`: a sum"));
    same(
        &new.replace("assertion `left == right` failed\n  left: 3\n right: 9\n", "boom, it's over\n"),
        &old("boom, it's over"),
    );
}

#[test]
fn an_error_after_other_warnings_and_with_a_help_behind_it() {
    let a = "error[E0308]: mismatched types\n --> src/lib.rs:1:31\n  |\n1 | x\n  | ^ expected `i32`, found `&str`\n\nerror: could not compile `a` (lib) due to 1 previous error\n[exit 101]";
    let b = "   Compiling a v0.1.0\nwarning: unused import: `std::fs`\n --> src/b.rs:1:5\n  |\n1 | use std::fs;\n  |     ^^^^^^^\n\nerror[E0308]: mismatched types\n  --> src/lib.rs:21:31\n   |\n21 | x\n   | ^ expected `i32`, found `&str`\n   |\nhelp: try\n   |\n\nFor more information about this error, try `rustc --explain E0308`.\nwarning: `a` (lib) generated 1 warning\nerror: could not compile `a` (lib test) due to 1 previous error; 1 warning emitted\n[exit 101]";
    same(a, b);
}

#[test]
fn one_error_reported_for_the_library_and_again_for_its_tests() {
    let error = "error[E0425]: cannot find value `y` in this scope\n --> src/lib.rs:2:5\n  |\n2 |     y\n  |     ^ not found in this scope\n\n";
    same(
        &format!("{error}error: could not compile `a` (lib) due to 1 previous error\n[exit 101]"),
        &format!(
            "{error}{error}error: could not compile `a` (lib) due to 1 previous error\nerror: could not compile `a` (lib test) due to 1 previous error\n[exit 101]"
        ),
    );
}

#[test]
fn pytest_with_addresses_in_another_order_and_a_rerun_plugin() {
    let a = "=================================== FAILURES ===================================\n__________________________________ test_a __________________________________\nE       KeyError: <C object at 0x7f286353fd10>\n\nt/test_x.py:3: KeyError\n=========================== short test summary info ============================\nFAILED t/test_x.py::test_a - KeyError: <C object at 0x7f286353fd10>\n========================= 1 failed, 2 passed in 0.07s ==========================\n[exit 1]";
    let b = a
        .replace("0x7f286353fd10", "0x55d4c8a1")
        .replace("2 passed in 0.07s", "2 passed, 1 rerun, 3 warnings in 61.07s (0:01:01)");
    same(a, &b);
}

#[test]
fn pytest_with_only_the_summary_left_by_tail() {
    let whole = "=================================== FAILURES ===================================\n__________________________________ test_a __________________________________\n\n>       f()\nE       ValueError: bad\n\nt/test_x.py:3: ValueError\n=========================== short test summary info ============================\nFAILED t/test_x.py::test_a - ValueError: bad\n1 failed in 0.07s\n";
    same(whole, "FAILED t/test_x.py::test_a - ValueError: bad\n1 failed in 0.02s\n");
}

#[test]
fn pytest_below_another_root() {
    let text = |root: &str| {
        format!(
            "rootdir: {root}\n=========================== short test summary info ============================\nFAILED {root}/tests/test_x.py::test_a - ValueError: cannot read {root}/tests/data/a.json\n1 failed in 0.07s\n"
        )
    };
    same(&text("/home/ann/p"), &text("/tmp/tmpab12cd34/p"));
}

#[test]
fn pytest_subprocess_output_with_pids_in_the_message() {
    let text = |pid: u32, secs: &str| {
        format!(
            "FAILED t/test_x.py::test_a - TimeoutExpired: process {pid} timed out after {secs} seconds\n1 failed in 3.0s\n"
        )
    };
    same(&text(4711, "30.0"), &text(92, "29.998"));
}

#[test]
fn jest_with_timings_and_a_summary_of_all_failures() {
    let block = "FAIL src/a.test.js\n  ● adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 4\n    Received: 3\n\n      at Object.toBe (src/a.test.js:2:90)\n";
    let tail = "\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\nTime:        1.7 s\n";
    same(
        &format!("{block}{tail}"),
        &format!(
            "PASS src/b.test.js (6.1 s)\n{}\nSummary of all failing tests\n{block}{}",
            block.replace(":2:90", ":9:1"),
            tail.replace("1.7", "12.4")
        ),
    );
}

#[test]
fn go_in_another_order_with_seed_and_times() {
    let a = "--- FAIL: TestA (0.00s)\n    a_test.go:4: no user\n--- FAIL: TestB (0.10s)\n    a_test.go:9: no group\nFAIL\nFAIL\tm/x\t0.002s\n[exit 1]";
    let b = "-test.shuffle 1796030455563357768\n--- FAIL: TestB (1.10s)\n    a_test.go:19: no group\n--- FAIL: TestA (0.00s)\n    a_test.go:14: no user\nFAIL\nexit status 1\nFAIL\tm/x\t12.02s\n[exit 1]";
    same(a, b);
}

#[test]
fn a_node_crash_in_another_checkout_and_node_version() {
    let text = |dir: &str, loader: &str, version: &str| {
        format!(
            "{dir}/src/i.js:3\n  throw new Error('no config');\n  ^\n\nError: no config\n    at load ({dir}/src/i.js:3:9)\n    at Module._compile (node:internal/modules/cjs/loader:{loader})\n\nNode.js v{version}\n[exit 1]"
        )
    };
    same(&text("/home/ann/a b/p", "1521:14", "20.1.0"), &text("/work/p", "99:1", "22.0.0"));
}

#[test]
fn a_traceback_with_other_lines_and_interpreter() {
    let text = |dir: &str, line: u32, lib: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"{dir}/app.py\", line {line}, in <module>\n    main()\n  File \"{dir}/app.py\", line {}, in main\n    requests.get(u)\n  File \"{lib}/requests/api.py\", line 73, in get\n    return request()\nrequests.exceptions.ConnectionError: HTTPConnectionPool(host='localhost', port={}): refused\n[exit 1]",
            line + 3,
            line + 5000
        )
    };
    same(
        &text("/tmp/a", 3, "/usr/lib/python3/dist-packages"),
        &text("/tmp/b/c", 9, "/home/ann/.venv/lib/python3.12/site-packages"),
    );
}

#[test]
fn unknown_tools_with_every_kind_of_noise() {
    let text = |n: u32, id: &str, pct: u32| {
        format!(
            "[{n}/12] fetching [====>    ] {pct}%\nsession 5f0c6b1e-8a53-4c6f-9d0e-0b3a5f7c{n:04} at 2026-11-30T09:00:{n:02}Z\nworker-{n} wrote /tmp/build-{id}/out.bin ({n}.5 MB, {n}00 kB/s)\ndeploy: rejected by policy P-17, commit {id}\ndone in {n}.31s\n[exit 2]"
        )
    };
    same(&text(1, "ab12cd34", 7), &text(9, "9f8e7d6c5b", 100));
}

#[test]
fn unknown_tools_with_interleaved_lines_in_another_order() {
    same(
        "alpha: checking\nbeta: bad token\ngamma: bad port range\n[exit 1]",
        "gamma: bad port range\nalpha: checking\nbeta: bad token\n[exit 1]",
    );
}

#[test]
fn colour_links_and_carriage_returns() {
    let plain = "src/a.ts(3,1): error TS2304: Cannot find name 'x'.\n[exit 2]";
    let shown = "\u{1b}]0;title\u{7} 10%\r 70%\r\u{1b}[96msrc/a.ts\u{1b}[0m:\u{1b}[93m13\u{1b}[0m:\u{1b}[93m1\u{1b}[0m - \u{1b}[91merror\u{1b}[0m\u{1b}[90m TS2304: \u{1b}[0mCannot find name 'x'.\r\n\r\n\u{1b}[7m3\u{1b}[0m x;\r\n\r\nFound 1 error in src/a.ts:13\r\n[exit 2]";
    same(plain, shown);
}

#[test]
fn compilers_in_parallel_make_in_another_order() {
    let a = "cc -c a.c -o a.o\na.c:1:21: error: ‘x’ undeclared (first use in this function)\nmake: *** [Makefile:3: a.o] Error 1\ncc -c b.c -o b.o\nb.c:9:2: error: expected ‘;’ before ‘}’ token\nmake: *** [Makefile:3: b.o] Error 1\n[exit 2]";
    let b = "make[1]: Entering directory '/tmp/q/lib'\ncc -c b.c -o b.o\nb.c:19:2: error: expected ‘;’ before ‘}’ token\nmake[1]: *** [Makefile:3: b.o] Error 1\nmake[1]: *** Waiting for unfinished jobs....\na.c:11:21: error: ‘x’ undeclared (first use in this function)\nmake[1]: *** [Makefile:8: a.o] Error 1\nmake[1]: Leaving directory '/tmp/q/lib'\n[exit 2]";
    same(a, b);
}

#[test]
fn crlf_and_a_missing_last_newline() {
    let unix = "not ok 1 - a\n1..1\n[exit 1]";
    same(unix, &unix.replace('\n', "\r\n"));
}

#[test]
fn junit_in_another_order_with_times_and_hosts() {
    let case = |name: &str, time: &str| {
        format!(
            "<testcase classname=\"a.B\" name=\"{name}\" time=\"{time}\"><failure type=\"java.lang.AssertionError\" message=\"no &quot;row&quot;\">at B.java:3</failure></testcase>"
        )
    };
    let suite = |cases: String, host: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<testsuite hostname=\"{host}\" timestamp=\"2026-11-30T09:00:00\">{cases}</testsuite>"
        )
    };
    same(&suite(case("x", "0.1") + &case("y", "0.2"), "h1"), &suite(case("y", "9") + &case("x", "8"), "h2"));
}

#[test]
fn a_signal_told_by_status_and_by_shell() {
    same("working\n[exit 139]", "working\n./t.sh: line 9: 4711 Segmentation fault      (core dumped) ./a\n[exit 139]");
}
