//! Different failures under the same look.

use super::different;

fn cargo(test: &str, file: &str, message: &str) -> String {
    format!(
        "running 9 tests\nfailures:\n\n---- {test} stdout ----\n\nthread '{test}' (7) panicked at {file}:5:9:\n{message}\n\nfailures:\n    {test}\n\ntest result: FAILED. 8 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\nerror: test failed, to rerun pass `--lib`\n[exit 101]\n"
    )
}

#[test]
fn another_test_another_place_another_panic() {
    let one = cargo("t::case_1", "src/a.rs", "called `Option::unwrap()` on a `None` value");
    different(&one, &cargo("t::case_2", "src/a.rs", "called `Option::unwrap()` on a `None` value"));
    different(&one, &cargo("t::case_1", "src/b.rs", "called `Option::unwrap()` on a `None` value"));
    different(&one, &cargo("t::case_1", "src/a.rs", "attempt to subtract with overflow"));
}

#[test]
fn one_name_in_two_targets() {
    let one = cargo("t::a", "src/a.rs", "boom");
    different(&one, &one.replace("--lib", "--test it"));
    different(&one.replace("--lib", "-p core --lib"), &one.replace("--lib", "-p wire --lib"));
}

#[test]
fn two_codes_with_one_text_and_one_code_with_two_texts() {
    let tsc = |code: u32, text: &str| format!("src/a.ts(1,14): error TS{code}: {text}\n[exit 2]");
    different(&tsc(2322, "Types differ."), &tsc(2345, "Types differ."));
    different(
        &tsc(2339, "Property 'a' does not exist on type 'X'."),
        &tsc(2339, "Property 'b' does not exist on type 'X'."),
    );
}

#[test]
fn one_error_in_two_files_of_one_name() {
    let js = |dir: &str| {
        format!(
            "/home/ann/p/src/{dir}/index.js\n  1:7  error  'x' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)\n"
        )
    };
    different(&js("a"), &js("b"));
}

#[test]
fn one_and_two_of_the_same_finding() {
    let row = |line: u32| format!("src/a.py:{line}:1: E501 line too long\n");
    different(&format!("{}[exit 1]", row(3)), &format!("{}{}[exit 1]", row(3), row(4)));
}

#[test]
fn failing_tests_far_above_the_same_end() {
    let noise = (0..300).map(|n| format!("log: step {} done\n", n % 7)).collect::<String>();
    let text = |test: &str| {
        format!(
            "running 2 tests\ntest {test} ... FAILED\n{noise}\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n[exit 101]"
        )
    };
    different(&text("a::x"), &text("a::y"));
}

#[test]
fn parameters_of_one_test() {
    let text = |p: &str| format!("FAILED t/test_x.py::test_a[{p}] - ValueError: bad\n1 failed in 0.1s\n");
    different(&text("1"), &text("2"));
    different(&text("a - b"), &text("a - c"));
}

#[test]
fn keys_errnos_and_classes_in_one_test() {
    let text = |told: &str| format!("FAILED t/test_x.py::test_a - {told}\n1 failed in 0.1s\n");
    different(&text("KeyError: 'a'"), &text("KeyError: 'b'"));
    different(&text("OSError: [Errno 98] in use"), &text("OSError: [Errno 13] denied"));
    different(&text("assert 3 == 4"), &text("TypeError: f() missing 1 required positional argument: 'x'"));
}

#[test]
fn setup_error_and_failure_of_one_test() {
    different(
        "ERROR t/test_x.py::test_a - OSError: no disk\n1 error in 0.1s\n",
        "FAILED t/test_x.py::test_a - assert 1 == 2\n1 failed in 0.1s\n",
    );
}

#[test]
fn a_module_and_its_submodule() {
    let text = |name: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"/x/a.py\", line 1, in <module>\n    import y\nModuleNotFoundError: No module named '{name}'\n[exit 1]"
        )
    };
    different(&text("yaml"), &text("yaml.parser"));
}

#[test]
fn matchers_and_errors_in_one_jest_test() {
    let text = |told: &str| {
        format!(
            "FAIL src/a.test.js\n  ● adds\n\n    {told}\n\n      at Object.x (src/a.test.js:2:9)\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\n"
        )
    };
    different(&text("expect(received).toBe(expected)"), &text("TypeError: x is not a function"));
    different(&text("expect(received).toBe(expected)"), &text("thrown: \"Exceeded timeout of 5000 ms for a test.\""));
}

#[test]
fn one_title_in_two_suites_and_files() {
    let text =
        |file: &str, path: &str| format!("FAIL {file}\n  ● {path}\n\n    boom\n\nTest Suites: 1 failed, 1 total\n");
    different(&text("a.test.js", "x › adds"), &text("a.test.js", "y › adds"));
    different(&text("a.test.js", "adds"), &text("b.test.js", "adds"));
}

#[test]
fn go_packages_subtests_and_builds() {
    let text = |test: &str, package: &str| {
        format!("--- FAIL: {test} (0.00s)\n    a_test.go:4: no\nFAIL\nFAIL\t{package}\t0.1s\n[exit 1]")
    };
    different(&text("TestA", "m/a"), &text("TestA", "m/b"));
    different(&text("TestA/x", "m/a"), &text("TestA/y", "m/a"));
    different("# m/a\n./x.go:1:2: undefined: A\n[exit 1]", "# m/b\n./x.go:1:2: undefined: A\n[exit 1]");
}

#[test]
fn one_exception_raised_in_two_functions() {
    let text = |function: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"/x/a.py\", line 9, in <module>\n    main()\n  File \"/x/a.py\", line 4, in {function}\n    raise ValueError(\"bad\")\nValueError: bad\n[exit 1]"
        )
    };
    different(&text("load"), &text("save"));
}

#[test]
fn numbers_are_the_failure_where_nothing_else_is() {
    different("expected 3 got 4\n[exit 1]", "expected 3 got 5\n[exit 1]");
    different("HTTP 404 from /users\n[exit 1]", "HTTP 500 from /users\n[exit 1]");
    different("schema v2 is not v3\n[exit 1]", "schema v2 is not v4\n[exit 1]");
}

#[test]
fn exit_codes_and_signals_of_one_silence() {
    different("[exit 1]", "[exit 2]");
    different("[exit 139]", "[exit 134]");
    different("[exit 124]", "[exit 137]");
}

#[test]
fn symbols_and_libraries_that_a_linker_misses() {
    let text = |symbol: &str| {
        format!(
            "/usr/bin/ld: /tmp/ccAb12Cd.o: in function `main':\na.c:(.text+0xa): undefined reference to `{symbol}'\ncollect2: error: ld returned 1 exit status\n[exit 1]"
        )
    };
    different(&text("foo"), &text("bar"));
    different(
        "/usr/bin/ld: cannot find -lssl: No such file or directory\n[exit 1]",
        "/usr/bin/ld: cannot find -lz: No such file or directory\n[exit 1]",
    );
}

#[test]
fn commands_and_scripts_that_are_missing() {
    different("bash: line 1: foo: command not found\n[exit 127]", "bash: line 1: bar: command not found\n[exit 127]");
    different("npm error Missing script: \"test\"\n[exit 1]", "npm error Missing script: \"lint\"\n[exit 1]");
}

#[test]
fn goals_and_dependencies_that_a_build_tool_cannot_resolve() {
    let text = |name: &str| {
        format!(
            "[INFO] Scanning for projects...\n[ERROR] Failed to execute goal on project a: Could not resolve dependencies for project x:a:jar:1.0: Could not find artifact {name} in central (https://repo.example.org/maven2) -> [Help 1]\n[ERROR] \n[ERROR] Re-run Maven using the -X switch to enable full debug logging.\n[exit 1]"
        )
    };
    different(&text("org.a:b:jar:1.0"), &text("org.a:c:jar:1.0"));
}

#[test]
fn a_pass_and_a_failure() {
    different("1 passed in 0.1s\n[exit 0]", "FAILED t/test_x.py::test_a\n1 failed in 0.1s\n[exit 1]");
    different(
        "============================ no tests ran in 0.01s =============================\n[exit 5]",
        "1 passed in 0.1s\n[exit 0]",
    );
}

#[test]
fn one_exception_in_a_test_and_in_its_fixture() {
    let summary = |word: &str| format!("{word} t/test_x.py::test_a - RuntimeError: no database\n1 {word} in 0.1s\n");
    different(&summary("ERROR"), &summary("FAILED"));
    let section = |header: &str, word: &str| {
        format!(
            "=== {word}S ===\n____ {header}test_a ____\n\n    def db():\n>       raise RuntimeError('no database')\nE       RuntimeError: no database\n\nt/test_x.py:4: RuntimeError\n=== 1 {word} in 0.10s ===\n"
        )
    };
    different(&section("ERROR at setup of ", "error"), &section("", "failed"));
}
