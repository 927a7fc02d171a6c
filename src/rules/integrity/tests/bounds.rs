//! Whatever the bytes, there is an answer, it is bounded, and it comes in time.

use crate::rules::integrity::{
    Change, Checks, Kind, Language, MAX_FILE_BYTES, MAX_FINDINGS, Severity, Unread, findings, survey,
};
use proptest::prelude::*;

const LANGUAGES: [(Language, &str); 7] = [
    (Language::Rust, "tests/a.rs"),
    (Language::Python, "tests/test_a.py"),
    (Language::JavaScript, "src/a.test.js"),
    (Language::TypeScript, "src/a.test.ts"),
    (Language::Tsx, "src/a.test.tsx"),
    (Language::Go, "a_test.go"),
    (Language::Java, "src/test/java/ATest.java"),
];
const PIECES: [&str; 64] = [
    "#[test]\n",
    "fn a() {",
    "}",
    "{",
    "(",
    ")",
    "[",
    "]",
    "assert_eq!(",
    "assert!(",
    "1",
    ",",
    ";",
    "\"x\"",
    "'",
    "`",
    "${",
    "def test_a():\n    ",
    "assert x == 1\n",
    "@pytest.mark.skip\n",
    "@pytest.mark.parametrize('a', [1, 2])\n",
    "class TestA:\n    ",
    "import x\n",
    "it('a', () => {",
    "expect(a)",
    ".toBe(1)",
    ".not",
    ".only",
    "describe(",
    "test.each`a\n${1}\n`(",
    "func TestA(t *testing.T) {",
    "t.Run(\"x\", func(t *testing.T) {",
    "t.Errorf(\"\")",
    "if ",
    "if (false) ",
    "else ",
    "for _, x := range y ",
    "for (const a of b) ",
    "while False:\n    ",
    "try:\n    pass\nexcept:\n    pass\n",
    "return\n",
    "return;",
    "@Test void a() {",
    "class A {",
    "assertThat(a)",
    ".isEqualTo(1)",
    "proptest! {",
    "macro_rules! m {",
    "$",
    "é",
    "日本",
    "\u{0}",
    "//",
    "/*",
    "*/",
    "#",
    "\n",
    "    ",
    "<",
    ">",
    "=>",
    "::",
    "!",
    "not ",
];
const CONFIGS: [&str; 16] = [
    "Cargo.toml",
    "pyproject.toml",
    "setup.cfg",
    "pytest.ini",
    "package.json",
    "tsconfig.json",
    "jest.config.js",
    ".eslintrc.json",
    "pom.xml",
    "build.gradle",
    "Makefile",
    ".github/workflows/a.yml",
    "conftest.py",
    ".decapod/kctl.toml",
    "a.snap",
    "src/__snapshots__/a.snap",
];

fn changed<'a>(path: &str, old: &'a [u8], new: &'a [u8]) -> Change<'a> {
    Change {
        old_path: Some(path.to_owned()),
        new_path: Some(path.to_owned()),
        old: Some(old),
        new: Some(new),
        too_long: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_bytes_are_surveyed(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for (language, path) in LANGUAGES {
            let _ = survey(language, &bytes);
            let _ = findings(&[changed(path, b"x", &bytes), changed(path, &bytes, b"")], &Checks::default());
        }
    }
    #[test]
    fn any_mix_of_code_is_surveyed(picks in proptest::collection::vec(0..PIECES.len(), 0..60), cut in 0..400usize) {
        let text: String = picks.iter().map(|at| PIECES[*at]).collect();
        let half: String = text.chars().take(cut).collect();
        for (_, path) in LANGUAGES {
            let _ = findings(&[changed(path, text.as_bytes(), half.as_bytes())], &Checks::default());
        }
    }
    #[test]
    fn any_configuration_is_compared(old in ".{0,120}", new in ".{0,120}", bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        for path in CONFIGS {
            let _ = findings(&[changed(path, old.as_bytes(), new.as_bytes()), changed(path, &bytes, old.as_bytes())], &Checks::default());
        }
    }
    #[test]
    fn the_same_file_on_both_sides_says_nothing(picks in proptest::collection::vec(0..PIECES.len(), 0..40)) {
        let text: String = picks.iter().map(|at| PIECES[*at]).collect();
        for (_, path) in LANGUAGES {
            let found = findings(&[changed(path, text.as_bytes(), text.as_bytes())], &Checks::default());
            prop_assert!(found.findings.is_empty());
        }
    }
}

#[test]
fn a_file_over_the_limit_is_named_and_held() {
    let long = vec![b'\n'; MAX_FILE_BYTES + 1];
    let found = findings(&[changed("tests/a.rs", b"", &long)], &Checks::default());
    assert_eq!(found.unread, vec![("tests/a.rs".to_owned(), Unread::TooLong)]);
    assert!(found.findings.iter().any(|f| f.kind == Kind::NotRead && f.severity == Severity::Hold));
}

#[test]
fn findings_over_the_cap_are_counted_and_holds_come_first() {
    let old: String = (0..900).map(|n| format!("#[test]\nfn t{n}() {{ assert_eq!(f({n}), {n}); }}\n")).collect();
    let new: String =
        (0..900).map(|n| format!("#[test]\n#[ignore]\nfn t{n}() {{ assert_eq!(f({n}), {n}); }}\n")).collect();
    let found = findings(&[changed("tests/a.rs", old.as_bytes(), new.as_bytes())], &Checks::default());
    assert_eq!((found.findings.len(), found.omitted, found.omitted_holds), (MAX_FINDINGS, 400, 400));
}

/// Shapes that make a careless reader quadratic or overflow its stack.
#[test]
fn deep_and_long_shapes_are_read_in_bounds() {
    let nest = |open: &str, close: &str, times: usize| format!("{}{}", open.repeat(times), close.repeat(times));
    let shapes = [
        (Language::JavaScript, nest("describe('a', () => {", "});", 3000)),
        (Language::JavaScript, nest("assert(() => ", ")", 3000)),
        (Language::JavaScript, format!("it('a', () => {{ x{}; }});", ".b(1)".repeat(4000))),
        (Language::JavaScript, format!("it('a', () => {{ {} }});", nest("f(", ")", 4000))),
        (Language::JavaScript, format!("it('a', () => {{ {} }});", nest("if (a) {", "}", 3000))),
        (Language::Rust, nest("mod a {", "}", 4000)),
        (Language::Rust, format!("#[test] fn a() {{ {} }}", nest("if true {", "}", 3000))),
        (Language::Rust, format!("#[test] fn a() {{ assert!({}); }}", nest("(", ")", 5000))),
        (Language::Rust, format!("#[test] fn a() {{ assert!({}true); }}", "!".repeat(5000))),
        (Language::Rust, format!("#[test] fn a() {{ assert!({}true); }}", "a || b && ".repeat(5000))),
        (Language::Python, format!("def test_a():\n    assert {}1\n", "not ".repeat(3000))),
        (Language::Python, format!("def test_a():\n    x = {}\n", nest("[", "]", 3000))),
        (
            Language::Go,
            format!(
                "package a\nfunc TestA(t *testing.T) {{ {} }}",
                nest("t.Run(\"a\", func(t *testing.T) {", "})", 2000)
            ),
        ),
        (Language::Java, nest("class A {", "}", 3000)),
        (Language::Java, format!("class A {{ @Test void a() {{ {} }} }}", nest("assertAll(() -> ", ")", 2000))),
        (Language::TypeScript, nest("<", ">", 5000)),
    ];
    for (language, text) in shapes {
        let _ = survey(language, text.as_bytes());
    }
}

/// Twice the text is about twice the work: the parser's own steps aside, nothing here goes over a file again and again.
#[test]
fn many_tests_are_paired() {
    let file = |count: usize, value: usize| -> String {
        (0..count)
            .map(|n| {
                format!("def test_{n}():\n    u = load({n})\n    assert u.a == {value}\n    assert u.b == {n}\n\n")
            })
            .collect()
    };
    let (old, new) = (file(3000, 1), file(3000, 2));
    let found = findings(&[changed("tests/test_a.py", old.as_bytes(), new.as_bytes())], &Checks::default());
    assert!(found.findings.iter().all(|f| f.kind == Kind::ExpectationChanged));
    assert_eq!(found.findings.len() + found.omitted, 3000);
}
