use super::*;

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    No,
    Failure,
    Nothing,
}
use Kind::{Failure, No, Nothing};

fn kind(text: &str, code: i32, statuses: &[i32]) -> Kind {
    match of(&Run::Shell(text.into()), code, statuses) {
        Says::No(_) => No,
        Says::CouldNotTell(_) => Failure,
        Says::Nothing => Nothing,
    }
}

fn words(text: &str, code: i32) -> String {
    match of(&Run::Shell(text.into()), code, &[code]) {
        Says::No(why) | Says::CouldNotTell(why) => why,
        Says::Nothing => String::new(),
    }
}

#[test]
fn a_programs_no_is_told_from_its_failure() {
    for (text, no, failure) in [
        ("grep -q x f", vec![1], vec![2, 3]),
        ("/usr/bin/egrep x f", vec![1], vec![2]),
        ("rg x", vec![1], vec![2]),
        ("diff a b", vec![1], vec![2]),
        ("cmp a b", vec![1], vec![2]),
        ("test -e f", vec![1], vec![2]),
        ("[ -e f ]", vec![1], vec![2]),
        ("git diff --quiet", vec![1], vec![2, 128, 129]),
        ("git diff --exit-code HEAD", vec![1], vec![128]),
        ("git merge-base --is-ancestor a b", vec![1], vec![128]),
        ("git grep x", vec![1], vec![128]),
        ("git diff --check", vec![1, 2], vec![128]),
        ("pytest -q", vec![1, 5], vec![2, 3, 4]),
        ("python3 -m pytest", vec![1, 5], vec![2, 3, 4]),
        ("uv run pytest", vec![1, 5], vec![2, 3, 4]),
        ("go test ./...", vec![1, 2], vec![]),
        ("eslint .", vec![1], vec![2]),
        ("npx eslint .", vec![1], vec![2]),
        ("tsc --noEmit", vec![1, 2], vec![]),
        ("cargo test", vec![1, 101], vec![]),
        ("cargo nextest run", vec![4, 100], vec![]),
        ("timeout 5 make", vec![1, 2], vec![124, 125]),
        ("timeout -k 1 5 grep x f", vec![1], vec![2, 124]),
        ("A=b env C=d grep x f", vec![1], vec![2]),
        ("make check", vec![1, 2, 124], vec![]),
        ("./check.sh", vec![1, 3, 255], vec![126, 127]),
        ("cd sub; grep x f", vec![1], vec![2]),
        ("grep x f 2>/dev/null\n", vec![1], vec![2]),
    ] {
        for code in no {
            assert_eq!(kind(text, code, &[code]), No, "{text}: {code}");
        }
        for code in failure {
            assert_eq!(kind(text, code, &[code]), Failure, "{text}: {code}");
        }
    }
}

#[test]
fn of_a_pipeline_the_stage_that_decided_is_judged() {
    for (text, code, statuses, expected) in [
        ("cat f | grep -q x", 1, vec![0, 1], No),
        ("cat f | grep -q '['", 2, vec![0, 2], Failure),
        ("grep '[' f | wc -l", 2, vec![2, 0], Failure),
        ("grep x f | wc -l", 1, vec![1, 0], No),
        ("yes | head -1", 141, vec![141, 0], Nothing),
        ("cat big | grep -q x", 141, vec![141, 0], Nothing),
        ("yes | head -1 | grep -q n", 1, vec![141, 0, 1], No),
        ("(exit 3) | yes | head -1", 141, vec![3, 141, 0], No),
        ("cargo test | head -1", 141, vec![141, 0], Failure),
        ("python -m pytest | grep -q passed", 141, vec![141, 0], Failure),
        ("a | b", 141, vec![0, 141], Failure),
        ("a | b | c", 141, vec![139, 141, 0], Failure),
        ("make | tee log", 2, vec![2, 0], No),
        ("a && grep x f", 2, vec![2], No),
        ("set -e; grep x f", 2, vec![2], No),
        ("cat f | grep x", 2, vec![], No),
    ] {
        assert_eq!(kind(text, code, &statuses), expected, "{text}: {statuses:?}");
    }
}

#[test]
fn the_reason_says_what_the_status_means() {
    assert_eq!(words("pytest", 5), "it exited with 5: no tests were collected");
    assert_eq!(words("go build ./...", 2), "it exited with 2: the build failed");
    assert_eq!(words("timeout 9 make", 124), "it exited with 124, because `timeout` ended it");
    assert_eq!(words("grep x f", 2), "it exited with 2, which is that program's failure and not its no");
}

#[test]
fn a_list_of_words_is_judged_as_its_text_would_be() {
    let argv = |words: &[&str]| Run::Argv(words.iter().map(ToString::to_string).collect());
    assert!(matches!(of(&argv(&["grep", "x", "f"]), 2, &[]), Says::CouldNotTell(_)));
    assert!(matches!(of(&argv(&["grep", "x", "f"]), 1, &[]), Says::No(_)));
    assert!(matches!(of(&argv(&["pytest"]), 4, &[]), Says::CouldNotTell(_)));
}
