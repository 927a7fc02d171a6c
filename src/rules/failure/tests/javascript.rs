use super::{counts, items, read, same};

#[test]
fn nodes_tap_and_spec_name_the_same_tests() {
    let tap = include_str!("samples/node-tap.txt");
    assert_eq!(
        items(tap),
        [
            "test:p.test.js > price = Expected values to be strictly equal",
            "test:p.test.js > suite > child = Cannot read properties of null (reading 'x')",
            "test:p.test.js > suite > inner > deep = boom",
        ]
    );
    assert_eq!(counts(tap), (2, 3, 0));
    let spec = include_str!("samples/node-spec.txt");
    assert_eq!(counts(spec), (2, 3, 0));
    same(tap, spec);
}

#[test]
fn a_crash_is_its_top_own_frame_and_a_missing_module_is_its_name() {
    let crash = "panic:crash.js:go = TypeError: Cannot read properties of undefined (reading 'name')";
    assert_eq!(items(include_str!("samples/node-crash.txt")), [crash]);
    assert_eq!(items(include_str!("samples/node-missing.txt")), ["missing_module:node:./nope"]);
}

const JEST: &str = "PASS src/b.test.js
FAIL src/a.test.js (5.2 s)
  ● Console

    console.log
      t 1796030418782

  ● cart › adds › numbers

    expect(received).toEqual(expected) // deep equality

    Expected: {\"a\": 4}
    Received: {\"a\": 3}

      1 | const x = 1;
    > 2 | expect(x).toEqual(y);

      at Object.toEqual (src/a.test.js:2:90)

  ● cart › throws

    TypeError: Cannot read properties of undefined (reading 'name')

      at go (src/cart.js:3:9)
      at Object.go (src/a.test.js:7:3)

FAIL src/c.test.js
  ● Test suite failed to run

    Cannot find module './nope' from 'src/c.test.js'

Test Suites: 2 failed, 1 passed, 3 total
Tests:       2 failed, 1 skipped, 3 passed, 6 total
Snapshots:   0 total
Time:        1.767 s
";

#[test]
fn jest_gives_tests_suites_and_counts() {
    assert_eq!(
        items(JEST),
        [
            "missing_module:node:./nope",
            "test:src/a.test.js > cart > adds > numbers = expect.toEqual",
            "test:src/a.test.js > cart > throws = TypeError: Cannot read properties of undefined (reading 'name')",
        ]
    );
    assert_eq!(counts(JEST), (3, 2, 1));
}

#[test]
fn jests_json_names_the_same_tests() {
    let json = r#"{"numTotalTests":6,"numFailedTests":2,"numPassedTests":3,"numPendingTests":1,"numTodoTests":0,"success":false,"testResults":[
{"name":"/home/ann/p/src/a.test.js","status":"failed","message":"x","assertionResults":[
{"ancestorTitles":["cart","adds"],"title":"numbers","status":"failed","failureMessages":["Error: expect(received).toEqual(expected) // deep equality\n\nExpected"]},
{"ancestorTitles":["cart"],"title":"throws","status":"failed","failureMessages":["TypeError: Cannot read properties of undefined (reading 'name')\n    at go"]}]},
{"name":"/home/ann/p/src/c.test.js","status":"failed","message":"Cannot find module './nope' from 'src/c.test.js'","assertionResults":[]}]
}"#;
    same(JEST, json);
    assert_eq!(counts(json), (3, 2, 1));
}

#[test]
fn vitest_gives_tests_suites_and_counts() {
    let text = "
 RUN  v2.1.4 /home/ann/p

 ❯ src/a.test.ts (2 tests | 1 failed) 12ms
   × cart > adds 5ms
     → expected 3 to be 4 // Object.is equality

⎯⎯⎯⎯⎯⎯⎯ Failed Suites 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  src/c.test.ts [ src/c.test.ts ]
Error: Failed to resolve import \"./nope\" from \"src/c.test.ts\". Does the file exist?

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  src/a.test.ts > cart > adds
AssertionError: expected 3 to be 4 // Object.is equality

 ❯ src/a.test.ts:5:15

 Test Files  2 failed (2)
      Tests  1 failed | 1 passed | 1 skipped (3)
   Duration  312ms
";
    assert_eq!(
        items(text),
        [
            "missing_module:node:./nope",
            "test:src/a.test.ts > cart > adds = AssertionError: expected <v> to be <v> // Object.is equality"
        ]
    );
    assert_eq!(counts(text), (1, 1, 1));
}

#[test]
fn mocha_gives_titles_over_several_lines() {
    let text = "

  cart
    ✔ works
    1) adds


  1 passing (5ms)
  1 pending
  1 failing

  1) cart
       adds:

      AssertionError [ERR_ASSERTION]: 3 == 4
      + expected - actual

      at Context.<anonymous> (test/cart.js:9:14)
      at process.processImmediate (node:internal/timers:483:21)
";
    assert_eq!(items(text), ["test:cart > adds = AssertionError <v>: <v> == <v>"]);
    assert_eq!(counts(text), (1, 1, 1));
    assert_eq!(read(text).items[0].file.as_deref(), Some("test/cart.js"));
}

#[test]
fn tap_knows_todo_skip_and_bail_out() {
    let text = "TAP version 14\n1..4\nok 1 - a\nnot ok 2 - b # TODO later\nok 3 - c # SKIP no net\nnot ok 4 - d\n  ---\n  message: 'expected 1 got 2'\n  at: 't/a.t:5'\n  ...\n";
    assert_eq!(items(text), ["test:t/a.t > d = expected <v> got <v>"]);
    assert_eq!(counts(text), (1, 1, 2));
    assert_eq!(items("TAP version 13\nBail out! no database\n"), ["test:bail out = Bail out! no database"]);
}
