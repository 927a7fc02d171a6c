use super::super::{Parser, parse, signature};
use super::{items, same};

const UNUSED: &str = "lint:no-unused-vars src/a.js = 'x' is assigned a value but never used";

#[test]
fn eslints_formats_are_one_failure() {
    let stylish = "\n/home/ann/p/src/a.js\n  1:7   error    'x' is assigned a value but never used  no-unused-vars\n  3:1   warning  Unexpected console statement            no-console\n\n✖ 2 problems (1 error, 1 warning)\n";
    let unix = "/home/ann/p/src/a.js:1:7: 'x' is assigned a value but never used. [Error/no-unused-vars]\n\n1 problem\n[exit 1]";
    let compact = "/home/ann/p/src/a.js: line 1, col 7, Error - 'x' is assigned a value but never used (no-unused-vars)\n\n1 problem\n";
    let json = r#"[{"filePath":"/home/ann/p/src/a.js","messages":[{"ruleId":"no-unused-vars","severity":2,"message":"'x' is assigned a value but never used.","line":1},{"ruleId":"no-console","severity":1,"message":"c","line":3}]}]"#;
    assert_eq!(items(stylish), [UNUSED]);
    for other in [unix, compact, json] {
        assert_eq!(items(other), [UNUSED]);
    }
}

#[test]
fn warnings_fail_only_where_the_tool_failed_on_nothing_else() {
    let text = "\n/home/ann/p/src/a.js\n  3:1  warning  Unexpected console statement  no-console\n\n✖ 1 problem (0 errors, 1 warning)\nESLint found too many warnings (maximum: 0).\n";
    assert_eq!(items(&format!("{text}[exit 1]")), ["lint:no-console src/a.js = Unexpected console statement"]);
    assert!(items(&format!("{text}[exit 0]")).is_empty());
}

#[test]
fn linters_that_tell_file_line_and_code_are_read_alike() {
    for (text, item) in [
        ("src/a.py:1:8: F401 'os' imported but unused", "lint:F401 src/a.py = 'os' imported but unused"),
        ("src/a.py:1:8: F401 [*] `os` imported but unused", "lint:F401 src/a.py = `os` imported but unused"),
        (
            "src/a.py:1:0: C0114: Missing module docstring (missing-module-docstring)",
            "lint:C0114 src/a.py = Missing module docstring",
        ),
        (
            "src/a.py:3: error: Incompatible types in assignment  [assignment]",
            "compiler:assignment src/a.py = Incompatible types in assignment",
        ),
        (
            "  /home/ann/p/src/a.py:3:5 - error: \"x\" is not defined (reportUndefinedVariable)",
            "compiler:reportUndefinedVariable src/a.py = \"x\" is not defined",
        ),
        (
            "src/a.go:9:2: Error return value is not checked (errcheck)",
            "lint:errcheck src/a.go = Error return value is not checked",
        ),
        ("src/a.sh:3:1: warning: foo is unused [SC2034]", "compiler:SC2034 src/a.sh = foo is unused"),
        (
            "F401 [*] `os` imported but unused\n --> src/a.py:1:8\n  |\n1 | import os",
            "lint:F401 src/a.py = `os` imported but unused",
        ),
        (
            "src/a.ts:1:7 lint/suspicious/noDoubleEquals  FIXABLE  ━━━━━━━━\n\n  × Use === instead of ==.",
            "lint:lint/suspicious/noDoubleEquals src/a.ts = Use === instead of ==",
        ),
        (
            "src/a.ts(1,14): error TS2322: Type 'string' is not assignable to type 'number'.",
            "compiler:TS2322 src/a.ts = Type 'string' is not assignable to type 'number'.",
        ),
        (
            "src/a.ts:1:14 - error TS2322: Type 'string' is not assignable to type 'number'.",
            "compiler:TS2322 src/a.ts = Type 'string' is not assignable to type 'number'.",
        ),
        (
            "src/a.ts(1,14): error TS2307: Cannot find module 'left-pad' or its corresponding type declarations.",
            "missing_module:node:left-pad",
        ),
        (
            "error TS18003: No inputs were found in config file 'tsconfig.json'.",
            "compiler:TS18003 = No inputs were found in config file 'tsconfig.json'.",
        ),
    ] {
        assert_eq!(items(&format!("{text}\n[exit 1]")), [item]);
    }
}

#[test]
fn places_in_stacks_and_logs_are_no_lint() {
    for text in [
        "at go (/tmp/x/i.js:1:44)",
        "see https://x.org:80:1: no",
        "12:30:11: worker ready",
        "    at f (node:internal/a.js:1:2)",
    ] {
        assert!(items(&format!("{text}\n[exit 0]")).is_empty(), "{text}");
    }
}

#[test]
fn a_declared_linter_may_say_less_and_a_wrong_hint_changes_nothing() {
    let bare = "conf/a.yaml:3: wrong indentation";
    let read = |hint| parse(Some(hint), None, bare, Some(1), None);
    assert_eq!(read(Parser::Lint).items[0].key(), "lint:conf/a.yaml");
    let text = include_str!("samples/cargo-lib.txt");
    let plain = signature(&parse(None, None, text, Some(101), None).items);
    for hint in Parser::ALL {
        assert_eq!(signature(&parse(Some(hint), Some("make"), text, Some(101), None).items), plain, "{hint:?}");
    }
}

#[test]
fn the_same_rule_twice_is_two_and_one_less_is_less() {
    let one = "src/a.py:1:8: E501 line too long\n[exit 1]";
    let two = "src/a.py:1:8: E501 line too long\nsrc/a.py:9:8: E501 line too long\n[exit 1]";
    assert_eq!(items(two), ["lint:E501 src/a.py #2 = line too long", "lint:E501 src/a.py = line too long"]);
    assert_eq!(items(one), ["lint:E501 src/a.py = line too long"]);
    same(one, "src/a.py:5:8: E501 line too long\n[exit 1]");
}
