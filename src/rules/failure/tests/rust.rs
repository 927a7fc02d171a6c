use super::{counts, items, read, same};

const LIB: &str = include_str!("samples/cargo-lib.txt");

#[test]
fn one_binary_gives_tests_with_their_causes() {
    assert_eq!(
        items(LIB),
        [
            "test:lib tests::panics = note: test did not panic as expected at src/lib.rs:<l>",
            "test:lib tests::parsed = panic: called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit } @src/lib.rs",
            "test:lib tests::ten_percent = panic: assertion `left == right` failed: price after discount @src/lib.rs",
        ]
    );
    assert_eq!(counts(LIB), (1, 3, 1));
    assert!(read(LIB).said_failed);
}

#[test]
fn quiet_uncaptured_coloured_and_serial_runs_are_the_same_failure() {
    same(LIB, include_str!("samples/cargo-lib-quiet.txt"));
    same(LIB, include_str!("samples/cargo-lib-nocapture.txt"));
    same(LIB, include_str!("samples/cargo-lib-colour.txt"));
    // Without --no-fail-fast the first failing binary is the last.
    same(LIB, include_str!("samples/cargo-all.txt"));
}

#[test]
fn a_cut_output_still_names_the_same_tests() {
    let keys =
        |text: &str| read(text).items.iter().map(super::super::Item::key).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(keys(LIB), keys(include_str!("samples/cargo-lib-tail.txt")));
}

#[test]
fn several_binaries_and_doctests_are_told_apart() {
    let all = include_str!("samples/cargo-no-fail-fast.txt");
    assert_eq!(
        items(all),
        [
            "test:doc src/lib.rs - price = panic: assertion `left == right` failed @doctest_bundle_2024.rs",
            "test:lib tests::panics = note: test did not panic as expected at src/lib.rs:<l>",
            "test:lib tests::parsed = panic: called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit } @src/lib.rs",
            "test:lib tests::ten_percent = panic: assertion `left == right` failed: price after discount @src/lib.rs",
            "test:test it fails = Error: \"no such luck\"",
            "test:test it ten_percent = panic: assertion failed: calc::price(<v>) == <v> @tests/it.rs",
        ]
    );
    assert_eq!(counts(all), (1, 6, 1));
}

#[test]
fn nextest_names_the_same_tests_with_their_package() {
    let next = include_str!("samples/nextest.txt");
    let tests: Vec<String> = items(next).into_iter().map(|item| item.replace("test:calc ", "test:")).collect();
    let cargo: Vec<String> = items(include_str!("samples/cargo-no-fail-fast.txt"))
        .into_iter()
        .filter(|item| !item.contains("test:doc"))
        .collect();
    assert_eq!(tests, cargo);
    assert_eq!(counts(next), (1, 5, 1));
}

#[test]
fn in_a_workspace_the_package_is_part_of_the_name() {
    let one = |package: &str| {
        format!(
            "     Running unittests src/lib.rs (target/debug/deps/{package}-c6626fb655a8d231)\n\nrunning 1 test\ntest t::a ... FAILED\n\nfailures:\n\nfailures:\n    t::a\n\n\
             test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `-p {package} --lib`\n"
        )
    };
    assert_eq!(items(&one("core")), ["test:core lib t::a"]);
    assert_eq!(items(&one("wire")), ["test:wire lib t::a"]);
}

#[test]
fn compile_errors_are_one_in_text_short_json_and_colour() {
    let text = include_str!("samples/build.txt");
    assert_eq!(
        items(text),
        [
            "compiler:E0308 src/lib.rs = mismatched types: expected `i32`, found `&str`",
            "compiler:E0308 src/lib.rs = mismatched types: expected `u8`, found `&str`",
            "missing_module:E0433 src/lib.rs = cannot find module or crate `missing_crate` in this scope: use of unresolved module or unlinked crate `missing_crate`",
        ]
    );
    same(text, include_str!("samples/build-short.txt"));
    same(text, include_str!("samples/build-json.txt"));
    same(text, include_str!("samples/build-colour.txt"));
}

#[test]
fn denied_lints_are_one_in_text_and_json_and_repeats_are_numbered() {
    let text = include_str!("samples/clippy.txt");
    assert_eq!(
        items(text),
        [
            "compiler:rustc src/lib.rs #2 = length comparison to zero",
            "compiler:rustc src/lib.rs #2 = writing `&Vec` instead of `&[_]` involves a new object where a slice will do",
            "compiler:rustc src/lib.rs = length comparison to zero",
            "compiler:rustc src/lib.rs = unused variable: `unused`",
            "compiler:rustc src/lib.rs = writing `&Vec` instead of `&[_]` involves a new object where a slice will do",
        ]
    );
    same(text, include_str!("samples/clippy-json.txt"));
}

#[test]
fn a_program_that_dies_is_named_by_its_panic_or_its_signal() {
    let panic = "panic:rust src/main.rs = panic: index out of bounds: the len is 0 but the index is 3 @src/main.rs";
    assert_eq!(items(include_str!("samples/run-panic.txt")), [panic]);
    assert_eq!(items(include_str!("samples/run-abort.txt")), ["signal:signal 6"]);
}

#[test]
fn cargos_own_trouble_tells_its_root_cause() {
    let item = "compiler:cargo: failed to get `nosuch-crate-zz` as a dependency of package `calc v0.1.0 (<tmp>)` = No such file or directory (os error 2)";
    assert_eq!(items(include_str!("samples/bad-dependency.txt")), [item]);
}
