//! One failure in the layouts that one tool can print it in.

use super::{different, same};

const RUFF: &str = "F401 [*] `os` imported but unused\n --> greet.py:1:8\n  |\n1 | import os\n  |        ^^\n  |\nhelp: Remove unused import: `os`\n\nFound 1 error.\n[exit 1]\n";

#[test]
fn linters_as_text_as_json_grouped_and_annotated() {
    same(
        RUFF,
        "[\n  {\n    \"code\": \"F401\",\n    \"filename\": \"/tmp/x7/greet.py\",\n    \"location\": { \"column\": 8, \"row\": 1 },\n    \"message\": \"`os` imported but unused\",\n    \"severity\": \"error\"\n  }\n]\n[exit 1]\n",
    );
    same(RUFF, "greet.py:\n  1:8 F401 [*] `os` imported but unused\n\nFound 1 error.\n[exit 1]\n");
    same(
        RUFF,
        "::error title=ruff (F401),file=/tmp/x/greet.py,line=1,col=8::greet.py:1:8: F401 `os` imported but unused%0A  help: Remove it\n[exit 1]\n",
    );
    same(
        "/tmp/es/src/read.js\n  5:11  error  Expected '===' and instead saw '=='  eqeqeq\n\n✖ 1 problem (1 error, 0 warnings)\n\n[exit 1]\n",
        "[{\"filePath\":\"/tmp/es/src/read.js\",\"messages\":[{\"ruleId\":\"eqeqeq\",\"severity\":2,\"message\":\"Expected '===' and instead saw '=='.\",\"line\":5}],\"errorCount\":1}]\n[exit 1]\n",
    );
    same(
        "shapes.py:6:19: E0602: Undefined variable 'heigth' (undefined-variable)\n[exit 2]\n",
        "[\n  {\"type\": \"error\", \"line\": 6, \"path\": \"shapes.py\", \"symbol\": \"undefined-variable\", \"message\": \"Undefined variable 'heigth'\", \"message-id\": \"E0602\"}\n]\n[exit 2]\n",
    );
}

#[test]
fn json_rows_of_two_rules_differ() {
    let row = |code: &str| {
        format!(
            "[{{\"code\":\"{code}\",\"filename\":\"a.py\",\"location\":{{\"row\":1}},\"message\":\"bad\"}}]\n[exit 1]\n"
        )
    };
    different(&row("F401"), &row("F841"));
}

#[test]
fn mypy_broken_over_lines_and_with_end_positions() {
    let one = "app/io.py:3: error: No stub for module named \"yamlx\"  [import-not-found]\nFound 1 error in 1 file (checked 1 source file)\n[exit 1]\n";
    same(
        one,
        "app/io.py:9:1: error: No stub for module named\n\"yamlx\"  [import-not-found]\n    import yamlx\n    ^\nFound 1 error in 1 file (checked 1 source file)\n[exit 1]\n",
    );
    same(one, "app/io.py:9:1:9:12: error: No stub for module named \"yamlx\"  [import-not-found]\n[exit 1]\n");
}

#[test]
fn shellcheck_under_the_line_and_as_gcc_prints() {
    let tty = "\nIn b.sh line 3:\nfor f in $(ls *.txt); do\n         ^---------^ SC2045 (error): Iterating over ls output is fragile. Use globs.\n              ^-- SC2035 (info): Use ./*glob*.\n\n[exit 1]\n";
    same(
        tty,
        "b.sh:5:10: error: Iterating over ls output is fragile. Use globs. [SC2045]\nb.sh:5:15: note: Use ./*glob*. [SC2035]\n[exit 1]\n",
    );
    different(tty, &tty.replace("SC2035 (info): Use ./*glob*.", "SC2086 (info): Double quote."));
}

#[test]
fn formatters_name_their_files() {
    let black =
        |file: &str| format!("would reformat {file}\n\nOh no! 💥 💔 💥\n1 file would be reformatted.\n[exit 1]\n");
    same(&black("/tmp/one/a.py"), &format!("--- a.py\t2026\n+++ a.py\t2026\n-x\n+y\n{}", black("a.py")));
    different(&black("a.py"), &black("b.py"));
}

#[test]
fn vitest_as_tap() {
    same(
        "\n FAIL  src/c.test.js > clamp > cuts\nAssertionError: expected 15 to be 10 // Object.is equality\n\n ❯ src/c.test.js:8:30\n\n Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n[exit 1]\n",
        "TAP version 13\n1..1\nnot ok 1 - src/c.test.js # time=10.27ms {\n    1..1\n    not ok 1 - clamp # time=9.75ms {\n        1..2\n        ok 1 - keeps # time=1.49ms\n        not ok 2 - cuts # time=7.09ms\n            ---\n            error:\n                name: \"AssertionError\"\n                message: \"expected 15 to be 10 // Object.is equality\"\n            at: \"/tmp/v/src/c.test.js:8:30\"\n            ...\n    }\n}\n[exit 1]\n",
    );
}

#[test]
fn a_node_file_that_died_tells_of_what() {
    let spec = |module: &str| {
        format!(
            "Error: Cannot find module '{module}'\nRequire stack:\n- /tmp/x/a.test.js\n\nNode.js v20.20.2\n✖ /tmp/x/a.test.js (97.06ms)\n  'test failed'\n\nℹ tests 1\nℹ pass 0\nℹ fail 1\n\n✖ failing tests:\n\ntest at a.test.js:1:1\n✖ /tmp/x/a.test.js (97.06ms)\n  'test failed'\n[exit 1]\n"
        )
    };
    different(&spec("./args"), &spec("./other"));
    same(
        &spec("./args"),
        "TAP version 13\n# Error: Cannot find module './args'\n# Require stack:\n# Node.js v20.20.2\n# Subtest: /tmp/y/a.test.js\nnot ok 1 - /tmp/y/a.test.js\n  ---\n  location: '/tmp/y/a.test.js:1:1'\n  failureType: 'testCodeFailure'\n  error: 'test failed'\n  code: 'ERR_TEST_FAILURE'\n  ...\n1..1\n# tests 1\n# pass 0\n# fail 1\n[exit 1]\n",
    );
}

#[test]
fn minitest_prove_and_ruby() {
    let mini = |test: &str, line: u32, seed: u32| {
        format!(
            "Run options: --seed {seed}\n\n# Running:\n\nF..\n\n  1) Failure:\nTestStack#{test} [test_stack.rb:{line}]:\nExpected: 2\n  Actual: 1\n\n3 runs, 4 assertions, 1 failures, 0 errors, 0 skips\n[exit 1]\n"
        )
    };
    same(&mini("test_peek", 15, 1), &mini("test_peek", 19, 77));
    different(&mini("test_peek", 15, 1), &mini("test_push", 15, 1));
    let failed = "#   Failed test 'sorts'\n#   at t/sort.t line 5.\n#          got: '1'\n#     expected: '2'\n# Looks like you failed 1 test of 3.\n";
    same(
        &format!("t/ok.t .... ok\n{failed}t/sort.t ..\nDubious, test returned 1\nResult: FAIL\n[exit 1]\n"),
        &format!("{failed}[03:26:52] t/sort.t ..\n1..3\nnot ok 1 - sorts\nok 2 - loads\nResult: FAIL\n[exit 1]\n"),
    );
    let ruby = |place: &str, key: &str| {
        format!("{place}:4:in `fetch': key not found: \"{key}\" (KeyError)\n\tfrom {place}:4:in `load'\n[exit 1]\n")
    };
    same(&ruby("app.rb", "port"), &ruby("./app.rb", "port"));
    different(&ruby("app.rb", "port"), &ruby("app.rb", "host"));
}

#[test]
fn a_script_under_npm_and_under_a_trace() {
    let told = "build: missing env API_KEY\n[exit 2]\n";
    same(told, &format!("\n> web@1.0.0 build\n> node build.js\n\n{told}"));
    same(told, &format!("+ set -eu\n++ date +%T\n{told}"));
}

#[test]
fn nextest_with_its_outputs_at_the_end() {
    let output = "  stderr ───\n    thread 'tests::a' (1) panicked at src/lib.rs:4:9:\n    boom\n\n";
    let head = "────────────\n Nextest run ID 1-2 with nextest profile: default\n        PASS [   0.007s] (1/2) calc tests::b\n        FAIL [   0.012s] (2/2) calc tests::a\n";
    let tail = "────────────\n     Summary [   0.025s] 2 tests run: 1 passed, 1 failed, 0 skipped\n        FAIL [   0.012s] (2/2) calc tests::a\n";
    same(
        &format!("{head}{output}{tail}error: test run failed\n[exit 100]\n"),
        &format!("{head}{tail}{output}error: test run failed\n[exit 100]\n"),
    );
}

#[test]
fn a_passed_test_that_printed_is_no_failure() {
    let a = "=== FAILURES ===\n____ test_split ____\n\n>       assert 1 == 2\nE       assert 1 == 2\n\nt/test_x.py:3: AssertionError\n";
    let b = "=== PASSES ===\n____ test_net ____\n--- Captured stdout call ---\nhello\n";
    let end = "=== short test summary info ===\nPASSED t/test_x.py::test_net\nFAILED t/test_x.py::test_split - assert 1 == 2\n=== 1 failed, 1 passed in 0.01s ===\n[exit 1]\n";
    same(&format!("{a}{end}"), &format!("{a}{b}{end}"));
}

#[test]
fn a_unittest_file_run_as_a_script() {
    let text = |place: &str| {
        format!(
            "F\n======================================================================\nFAIL: test_dots ({place}.SlugTest.test_dots)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/tmp/x/test_slug.py\", line 9, in test_dots\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\n----------------------------------------------------------------------\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n[exit 1]\n"
        )
    };
    same(&text("test_slug"), &text("__main__"));
}
