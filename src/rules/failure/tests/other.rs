use super::{counts, items, read};

#[test]
fn phpunit_gives_tests_and_counts() {
    let text = "PHPUnit 11.0.1 by Sebastian Bergmann and contributors.\n\nF.S                                                                 3 / 3 (100%)\n\nThere was 1 failure:\n\n1) App\\CartTest::testAdds\nFailed asserting that 3 matches expected 4.\n\n/home/ann/p/tests/CartTest.php:12\n\nFAILURES!\nTests: 3, Assertions: 2, Failures: 1, Skipped: 1.\n";
    assert_eq!(items(text), ["test:App\\CartTest::testAdds = Failed asserting that <v> matches expected <v>."]);
    assert_eq!(counts(text), (1, 1, 1));
}

#[test]
fn rspec_gives_tests_and_counts() {
    let text = "F..\n\nFailures:\n\n  1) Cart adds numbers\n     Failure/Error: expect(total).to eq(4)\n\n       expected: 4\n            got: 3\n     # ./spec/cart_spec.rb:5:in `block'\n\nFinished in 0.01 seconds\n3 examples, 1 failure, 1 pending\n\nFailed examples:\n\nrspec ./spec/cart_spec.rb:4 # Cart adds numbers\n";
    assert_eq!(items(text), ["test:Cart adds numbers = expect(total).to eq(<v>)"]);
    assert_eq!(counts(text), (1, 1, 1));
}

#[test]
fn dotnet_gives_tests_and_counts() {
    let text = "[xUnit.net 00:00:00.52]     Shop.CartTests.Adds [FAIL]\n  Failed Shop.CartTests.Adds [12 ms]\n  Error Message:\n   Assert.Equal() Failure: Values differ\nExpected: 4\nActual:   3\n\nFailed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 12 ms - Shop.dll (net8.0)\n";
    assert_eq!(items(text), ["test:Shop.CartTests.Adds = Assert.Equal() Failure: Values differ"]);
    assert_eq!(counts(text), (2, 1, 1));
}

#[test]
fn several_tools_in_one_output_are_all_heard() {
    let text = format!(
        "cd web && npx eslint .\n\n/home/ann/p/web/src/a.js\n  1:7  error  'y' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)\n\nmake: *** [Makefile:3: lint] Error 1\n{}make: *** [Makefile:9: test] Error 101\n[exit 2]",
        include_str!("samples/cargo-lib-quiet.txt").replace("[exit 101]\n", "")
    );
    assert_eq!(read(&text).parser, "cargo-test+eslint");
    assert_eq!(items(&text).len(), 4);
}

#[test]
fn caches_say_that_they_were_used() {
    for text in [
        "ok  \texample.com/m\t(cached)",
        "web:build: cache hit, replaying logs 3fa9c1d",
        " Tasks:    3 successful, 3 total\nCached:    3 cached, 3 total\n  Time:    80ms >>> FULL TURBO",
        "> Task :app:test UP-TO-DATE",
        "Nx read the output from the cache instead of running the command for 1 out of 1 tasks.",
    ] {
        assert!(read(text).cached, "{text}");
    }
    assert!(!read("ok  \texample.com/m\t0.1s").cached);
}

#[test]
fn an_output_that_says_failed_says_so_whatever_the_exit_code() {
    for text in [
        "BUILD FAILURE",
        "=== 2 failed, 1 passed in 0.1s ===",
        "make: *** [all] Error 1",
        "Tests:       1 failed, 2 passed, 3 total",
        "test result: FAILED. 0 passed; 1 failed; 0 ignored",
    ] {
        assert!(read(&format!("{text}\n[exit 0]")).said_failed, "{text}");
    }
    for text in [
        "0 failed, 3 passed",
        "✖ 0 problems",
        "3 passing",
        "test result: ok. 3 passed; 0 failed; 0 ignored",
        "# fail 0",
    ] {
        assert!(!read(&format!("{text}\n[exit 0]")).said_failed, "{text}");
    }
}

#[test]
fn a_pass_has_no_items_and_silence_is_its_exit_code() {
    assert!(items("all good\n[exit 0]").is_empty());
    assert_eq!(items("[exit 3]"), ["exit:exit 3"]);
    assert_eq!(items("Compiling a\n=====\n[exit 3]"), ["exit:exit 3"]);
}

#[test]
fn a_known_root_makes_names_exact_where_guessing_cannot() {
    use super::super::{parse_in, signature};
    let text = |root: &str| {
        format!(
            "{root}/one/index.js\n  1:7  error  'x' is not defined  no-undef\n\n{root}/two/index.js\n  1:7  error  'x' is not defined  no-undef\n"
        )
    };
    let read = |root: &str| parse_in(&[root], None, Some("eslint"), &text(root), Some(1), None);
    let (a, b) = (read("/tmp/odd place/q7"), read("/home/ann/w/deep/er"));
    assert_eq!(
        a.items.iter().map(super::super::Item::key).collect::<Vec<_>>(),
        ["lint:no-undef one/index.js", "lint:no-undef two/index.js"]
    );
    assert_eq!(signature(&a.items), signature(&b.items));
    let written = serde_json::to_string(&a).unwrap();
    assert_eq!(serde_json::from_str::<super::super::Report>(&written).unwrap(), a);
}

#[test]
fn npm_logs_of_any_version_are_noise() {
    let text = |log: &str| {
        format!(
            "npm ERR! Missing script: \"test\"\nnpm ERR! A complete log of this run can be found in:\nnpm ERR!     /home/dev/.npm/_logs/{log}-debug.log\n[exit 1]"
        )
    };
    super::same(&text("2026-11-30T09_26_57_677Z"), &text("2025-01-02T01_02_03_004Z"));
}

#[test]
fn two_result_files_leave_what_stands_between_them_to_others() {
    let suite = |name: &str| {
        format!("<testsuite><testcase classname=\"A\" name=\"{name}\"><failure message=\"no\"/></testcase></testsuite>")
    };
    let text = format!("{}\nsrc/a.ts(1,14): error TS2304: Cannot find name 'x'.\n{}\n[exit 1]", suite("a"), suite("b"));
    assert_eq!(items(&text).len(), 3);
}
