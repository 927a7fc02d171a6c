use super::{counts, different, items, same};

#[test]
fn javac_names_the_symbol() {
    assert_eq!(
        items(include_str!("samples/javac.txt")),
        [
            "compiler:javac j/A.java = cannot find symbol symbol: method missing()",
            "compiler:javac j/A.java = cannot find symbol symbol: method missing2()",
            "compiler:javac j/A.java = incompatible types: String cannot be converted to int",
        ]
    );
}

#[test]
fn a_stack_without_a_test_is_its_first_own_frame() {
    let item =
        "panic:B.java:B.go = NullPointerException: Cannot invoke \"Object.toString()\" because \"<local0>\" is null";
    assert_eq!(items(include_str!("samples/java-crash.txt")), [item]);
}

const NEW: &str = "[INFO] Running com.x.CartTest
[ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 1, Time elapsed: 0.274 s <<< FAILURE! -- in com.x.CartTest
[ERROR] com.x.CartTest.adds -- Time elapsed: 0.035 s <<< FAILURE!
org.opentest4j.AssertionFailedError: expected: <3> but was: <2>
\tat org.junit.jupiter.api.AssertionUtils.fail(AssertionUtils.java:55)
\tat com.x.CartTest.adds(CartTest.java:12)

[ERROR] com.x.CartTest.loads -- Time elapsed: 0.001 s <<< ERROR!
java.lang.IllegalStateException: no data
\tat com.x.Cart.load(Cart.java:9)

[INFO] Results:
[ERROR] Failures:
[ERROR]   CartTest.adds:12 expected: <3> but was: <2>
[ERROR] Errors:
[ERROR]   CartTest.loads:15 » IllegalState no data
[ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 1
";

#[test]
fn surefire_old_and_new_name_the_same_tests() {
    assert_eq!(
        items(NEW),
        [
            "test:com.x.CartTest.adds = AssertionFailedError: expected: <<v>> but was: <<v>>",
            "test:com.x.CartTest.loads = IllegalStateException: no data",
        ]
    );
    assert_eq!(counts(NEW), (0, 2, 1));
    let old = NEW
        .replace("com.x.CartTest.adds -- Time elapsed: 0.035 s <<<", "adds(com.x.CartTest)  Time elapsed: 0.5 s  <<<")
        .replace("com.x.CartTest.loads -- Time elapsed: 0.001 s <<<", "loads(com.x.CartTest)  Time elapsed: 0 s  <<<");
    same(NEW, &old);
}

#[test]
fn junit_files_name_the_same_tests() {
    let xml = r#"<testsuite name="com.x.CartTest" tests="3"><testcase name="adds" classname="com.x.CartTest"><failure message="expected: &lt;3&gt; but was: &lt;2&gt;" type="org.opentest4j.AssertionFailedError">stack</failure></testcase>
<testcase name="loads" classname="com.x.CartTest"><error message="no data" type="java.lang.IllegalStateException"><![CDATA[stack]]></error></testcase>
<testcase name="later" classname="com.x.CartTest"><skipped/></testcase></testsuite>"#;
    same(NEW, xml);
    assert_eq!(counts(xml), (0, 2, 1));
}

#[test]
fn gradle_gives_tests_and_counts() {
    let text = "> Task :test FAILED

CartTest > adds() FAILED
    org.opentest4j.AssertionFailedError: expected: <3> but was: <2>
        at app//com.x.CartTest.adds(CartTest.java:12)

3 tests completed, 1 failed, 1 skipped

FAILURE: Build failed with an exception.
BUILD FAILED in 8s
";
    assert_eq!(items(text), ["test:CartTest.adds = AssertionFailedError: expected: <<v>> but was: <<v>>"]);
    assert_eq!(counts(text), (1, 1, 1));
}

#[test]
fn gradle_tests_of_one_name_are_told_by_their_module() {
    let of = |module: &str| {
        format!(
            "> Task {module}:test FAILED\n\nCartTest > adds() FAILED\n    java.lang.NullPointerException at CartTest.java:12\n\n"
        )
    };
    let ended = "2 tests completed, 1 failed\nBUILD FAILED in 8s\n";
    let (app, core) = (format!("{}{ended}", of(":app")), format!("{}{ended}", of(":core")));
    assert_eq!(items(&app), ["test::app CartTest.adds = NullPointerException"]);
    different(&app, &core);
    different(&app, &format!("{}{}{ended}", of(":app"), of(":core")));
}

#[test]
fn kotlin_and_maven_compile_errors_name_file_and_message() {
    let kotlin = "e: file:///home/ann/p/src/main/kotlin/A.kt:3:5 Unresolved reference: foo\n[exit 1]";
    assert_eq!(items(kotlin), ["compiler:javac src/main/kotlin/A.kt = Unresolved reference: foo"]);
    let maven = "[ERROR] /home/ann/p/src/main/java/A.java:[1,34] cannot find symbol\n  symbol:   method g()\n  location: class A\n[exit 1]";
    assert_eq!(items(maven), ["compiler:javac src/main/java/A.java = cannot find symbol symbol: method g()"]);
}
