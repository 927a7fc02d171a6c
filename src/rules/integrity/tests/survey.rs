//! What the survey of one file says.

use crate::rules::integrity::{Hollow, Language, Strength, survey};

#[test]
fn a_rust_file_is_surveyed() {
    let text = b"#[cfg(test)]\nmod tests {\n    fn check(x: u8) { assert_eq!(f(x), x); }\n    #[rstest]\n    #[case(1)]\n    #[case(2)]\n    fn both(#[case] x: u8) { check(x); assert!(x > 0); }\n    #[test]\n    #[ignore]\n    fn hollow() { assert!(true); }\n}\n";
    let suite = survey(Language::Rust, text);
    let both = &suite.tests[0];
    assert_eq!((both.id.as_str(), both.line, both.assertions, both.parametrised), ("tests > both", 7, 2, Some(2)));
    assert_eq!(both.kinds.get(&Strength::Equal), Some(&1));
    let hollow = &suite.tests[1];
    assert_eq!(
        (hollow.hollow, hollow.trivially_true, hollow.skipped.is_some()),
        (Some(Hollow::AlwaysTrue), true, true)
    );
    assert_eq!(suite.helpers[0].name, "check");
}

#[test]
fn formatting_and_comments_do_not_change_a_digest() {
    let pairs: [(Language, &str, &str); 4] = [
        (
            Language::Rust,
            "#[test]\nfn a() { assert_eq!(f(1), 2); }",
            "#[test]\nfn a() {\n  // why\n  assert_eq!(\n    f(1),\n    2,\n  );\n}",
        ),
        (
            Language::Python,
            "def test_a():\n    assert f('x') == [1]\n",
            "def test_a():\n    # why\n    assert f(\"x\") == [\n        1,\n    ]\n",
        ),
        (
            Language::JavaScript,
            "it('a', () => { expect(f(1)).toBe(2) })",
            "it(\"a\", () => {\n  expect(f(1)).toBe(2); // why\n});",
        ),
        (
            Language::Go,
            "package a\nfunc TestA(t *testing.T) { require.Equal(t, 1, f()) }",
            "package a\n\nfunc TestA(t *testing.T) {\n\t// why\n\trequire.Equal(t, 1, f())\n}\n",
        ),
    ];
    for (language, before, after) in pairs {
        let (before, after) = (survey(language, before.as_bytes()), survey(language, after.as_bytes()));
        assert_eq!(before.tests[0].body_digest, after.tests[0].body_digest, "{language:?}");
    }
}

#[test]
fn nested_blocks_give_the_path_and_markers_are_inherited() {
    let suite = survey(
        Language::TypeScript,
        b"describe.skip('a', () => { describe('b', () => { it.only('c', () => { expect(x).toBe(1); }); }); });",
    );
    let test = &suite.tests[0];
    assert_eq!(test.id, "a > b > c");
    assert!(test.skipped.as_ref().is_some_and(|marker| marker.inherited) && test.focused.is_some());
}

#[test]
fn words_in_comments_and_strings_mark_nothing() {
    let suite = survey(
        Language::JavaScript,
        "// it.skip('x')\nit('é it.only(', () => { const s = '#[ignore] xit('; expect(s).toBe(f()); });".as_bytes(),
    );
    let test = &suite.tests[0];
    assert_eq!(
        (suite.tests.len(), test.skipped.is_none(), test.focused.is_none(), test.assertions),
        (1, true, true, 1)
    );
}

#[test]
fn java_and_go_tests_are_found_by_their_runner_s_rule() {
    let java = survey(
        Language::Java,
        b"class ATest { @Test void a() { assertEquals(1, f()); } void b() { assertEquals(1, f()); } }",
    );
    assert_eq!(java.tests.iter().map(|test| test.id.as_str()).collect::<Vec<_>>(), ["ATest > a"]);
    let go = survey(Language::Go, b"package a\nfunc TestA(t *testing.T) { t.Run(\"x\", func(t *testing.T) { t.Fatal(1) }) }\nfunc Testify(t *testing.T) {}\n");
    assert_eq!(go.tests.iter().map(|test| test.id.as_str()).collect::<Vec<_>>(), ["TestA > x", "TestA"]);
}
