use super::{different, items, read};

#[test]
fn compilers_linkers_and_headers_are_read() {
    assert_eq!(
        items(include_str!("samples/make-gcc.txt")),
        [
            "compiler:a.c = ‘x’ undeclared (first use in this function)",
            "compiler:a.c = ‘y’ undeclared (first use in this function)"
        ]
    );
    assert_eq!(items(include_str!("samples/link.txt")), ["compiler:link foo"]);
    assert_eq!(items(include_str!("samples/header.txt")), ["missing_module:c:nope.h"]);
}

#[test]
fn what_a_recipe_prints_is_the_failure_when_nothing_else_is() {
    let recipe = include_str!("samples/make-recipe.txt");
    let report = read(recipe);
    assert_eq!((report.parser.as_str(), report.items.len()), ("lines", 1));
    different(recipe, &recipe.replace("expected 3 got 4", "expected 3 got 5"));
    different(recipe, include_str!("samples/make-no-rule.txt"));
}

#[test]
fn commands_that_are_not_there_are_named_by_every_shell() {
    for text in [
        include_str!("samples/bash-missing.txt"),
        include_str!("samples/sh-missing.txt"),
        "zsh: command not found: nosuchtool",
        "make: nosuchtool: No such file or directory",
    ] {
        assert_eq!(items(&format!("{text}\n[exit 127]")), ["missing_module:command:nosuchtool"]);
    }
}

#[test]
fn sanitizers_are_named_by_kind_and_own_frame() {
    assert_eq!(items(include_str!("samples/asan.txt")), ["panic:AddressSanitizer <stdin>:main = heap-use-after-free"]);
}

#[test]
fn ctest_and_googletest_give_tests_and_counts() {
    let ctest = "67% tests passed, 1 tests failed out of 3\n\nTotal Test time (real) =   0.02 sec\n\nThe following tests FAILED:\n\t  2 - adds (Failed)\n\t  3 - slow (Timeout)\nErrors while running CTest\n[exit 8]";
    assert_eq!(items(ctest), ["test:adds", "test:slow = Timeout"]);
    assert_eq!(super::counts(ctest), (2, 1, 0));
    let gtest = "[ RUN      ] Cart.Adds\na.cc:3: Failure\n[  FAILED  ] Cart.Adds (0 ms)\n[==========] 2 tests from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Cart.Adds\n\n 1 FAILED TEST\n[exit 1]";
    assert_eq!(items(gtest), ["test:Cart.Adds"]);
    assert_eq!(super::counts(gtest), (1, 1, 0));
}

#[test]
fn signals_are_items_from_the_status_and_from_the_shell() {
    let by = |exit, signal| {
        super::super::parse(None, None, "starting\n", exit, signal)
            .items
            .iter()
            .map(super::super::Item::key)
            .collect::<Vec<_>>()
    };
    assert_eq!(by(None, Some(11)), ["signal:signal 11"]);
    assert_eq!(by(Some(139), None), ["signal:signal 11"]);
    assert_eq!(by(Some(124), None), ["exit:timeout"]);
    assert_eq!(items("./run.sh: line 3: 812 Segmentation fault      (core dumped) ./a.out\n[exit 1]").len(), 1);
}
