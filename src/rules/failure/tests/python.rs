use super::{counts, items, same};

#[test]
fn unittest_is_one_with_and_without_verbose() {
    let quiet = include_str!("samples/unittest.txt");
    assert_eq!(
        items(quiet),
        [
            "missing_module:python:nosuchmod",
            "test:test_cart.TestCart.test_key = KeyError: 'a'",
            "test:test_cart.TestCart.test_sub[i=0] = AssertionError: <v> != <v>",
            "test:test_cart.TestCart.test_sub[i=1] = AssertionError: <v> != <v>",
            "test:test_cart.TestCart.test_total = AssertionError: <v> != <v>",
        ]
    );
    assert_eq!(counts(quiet), (0, 5, 1));
    same(quiet, include_str!("samples/unittest-verbose.txt"));
}

#[test]
fn unittest_started_in_several_places_is_counted_in_all_of_them() {
    let first = "..\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n";
    assert_eq!(counts(&format!("{first}{}", include_str!("samples/unittest.txt"))), (1, 5, 2));
}

#[test]
fn of_a_chain_of_exceptions_the_last_counts() {
    assert_eq!(items(include_str!("samples/python-chained.txt")), ["panic:<string>:<module> = ValueError: bad conf"]);
}

const PYTEST: &str = "============================= test session starts ==============================
rootdir: /tmp/w/py
collected 4 items

tests/test_a.py F.s                                                      [ 75%]
tests/test_b.py E                                                        [100%]

==================================== ERRORS ====================================
_________________________ ERROR at setup of test_needs _________________________
file /tmp/w/py/tests/test_b.py, line 3
  def test_needs(db):
E       fixture 'db' not found
>       available fixtures: cache, capfd

/tmp/w/py/tests/test_b.py:3
=================================== FAILURES ===================================
____________________________ TestCart.test_add[1-2] ____________________________

self = <test_a.TestCart object at 0x7f286353fd10>, a = 1

    def test_add(self, a):
>       assert total(a) == 4, \"sum of 1\"
E       AssertionError: sum of 1
E       assert 3 == 4

tests/test_a.py:8: AssertionError
=========================== short test summary info ============================
FAILED tests/test_a.py::TestCart::test_add[1-2] - AssertionError: sum of 1
ERROR tests/test_b.py::test_needs
=================== 1 failed, 1 passed, 1 skipped, 1 error in 0.07s ===================
";

#[test]
fn pytest_gives_failures_errors_and_counts() {
    assert_eq!(
        items(PYTEST),
        [
            "test:tests.test_a.TestCart.test_add[1-2] = AssertionError: sum of <v>",
            "test:tests.test_b.test_needs = setup or teardown: fixture 'db' not found",
        ]
    );
    assert_eq!(counts(PYTEST), (1, 2, 1));
}

#[test]
fn one_test_has_one_name_in_pytest_unittest_and_junit() {
    let pytest = "=========================== short test summary info ============================
FAILED test_cart.py::TestCart::test_total - AssertionError: 3 != 4
============================== 1 failed in 0.04s ===============================";
    let unittest = "F\n======================================================================\nFAIL: test_total (test_cart.TestCart)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/x/test_cart.py\", line 4, in test_total\n    self.assertEqual(1+2, 4)\nAssertionError: 3 != 4\n\n----------------------------------------------------------------------\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n";
    let junit = r#"<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="1" failures="1" time="0.1"><testcase classname="test_cart.TestCart" name="test_total" time="0.001"><failure message="AssertionError: 3 != 4">self = ...</failure></testcase></testsuite></testsuites>"#;
    same(pytest, unittest);
    same(pytest, junit);
}

#[test]
fn parameters_may_hold_the_separator() {
    let text = "=========================== short test summary info ============================\nFAILED t/test_a.py::test_x[a - b] - ValueError: c - d\n1 failed in 0.1s";
    assert_eq!(items(text), ["test:t.test_a.test_x[a - b] = ValueError: c - d"]);
}

#[test]
fn verbose_and_xdist_lines_are_enough() {
    let verbose = "============================= test session starts ==============================\ntests/test_a.py::test_one PASSED   [ 50%]\ntests/test_a.py::test_two FAILED   [100%]\n";
    let xdist = "============================= test session starts ==============================\n[gw0] [ 50%] PASSED tests/test_a.py::test_one \n[gw1] [100%] FAILED tests/test_a.py::test_two \n";
    assert_eq!(items(verbose), ["test:tests.test_a.test_two"]);
    same(verbose, xdist);
}

#[test]
fn expected_failures_are_none() {
    let text = "============================= test session starts ==============================\ncollected 3 items\n\ntest_a.py xX.  [100%]\n\n=========================== short test summary info ============================\nXFAIL test_a.py::test_a - later\nXPASS test_a.py::test_b\n=================== 1 passed, 1 xfailed, 1 xpassed in 0.02s ===================\n[exit 0]";
    assert!(items(text).is_empty());
    assert_eq!(counts(text), (2, 0, 1));
}
