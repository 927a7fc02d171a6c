//! What a path says about a file: its language, and whether a runner collects it.

use super::model::Language;

/// The language of a file, by its name.
#[must_use]
pub fn language_of(path: &str) -> Option<Language> {
    let name = base(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension)?;
    Some(match extension {
        "rs" => Language::Rust,
        "py" | "pyi" => Language::Python,
        "js" | "jsx" | "mjs" | "cjs" => Language::JavaScript,
        "ts" | "mts" | "cts" => Language::TypeScript,
        "tsx" => Language::Tsx,
        "go" => Language::Go,
        "java" => Language::Java,
        _ => return None,
    })
}

pub(super) fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

pub(super) fn has_dir(path: &str, names: &[&str]) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    parts.iter().any(|part| names.contains(part))
}

/// How surely a runner takes this file for a file of tests: 2 by its name, 1 by where it stands, 0 not at all.
pub(super) fn collected(path: &str) -> u8 {
    let Some(language) = language_of(path) else { return 0 };
    let name = base(path);
    let stem = name.split('.').next().unwrap_or("");
    let in_tests = has_dir(path, &["test", "tests", "__tests__", "spec", "specs", "testing", "e2e", "it"]);
    let by_name = match language {
        Language::Rust => return rust(path),
        Language::Python => stem.starts_with("test_") || stem.ends_with("_test") || matches!(stem, "tests" | "test"),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let marked = name.split('.').any(|part| matches!(part, "test" | "spec" | "e2e" | "cy"));
            marked
                || has_dir(path, &["__tests__"])
                || stem.ends_with("-test")
                || stem.ends_with("_test")
                || stem.starts_with("test-")
                || stem == "test"
        }
        Language::Go => {
            let hidden =
                name.starts_with(['_', '.']) || path.split('/').any(|part| part == "testdata" || part.starts_with('_'));
            return if stem.ends_with("_test") && !hidden { 2 } else { 0 };
        }
        Language::Java => {
            stem.starts_with("Test")
                || ["Test", "Tests", "TestCase", "IT", "Spec"].iter().any(|end| stem.ends_with(end))
        }
    };
    if by_name { 2 } else { u8::from(in_tests) }
}

/// Cargo compiles `src`, and of `tests` what stands at its top or is named `main.rs`.
fn rust(path: &str) -> u8 {
    let parts: Vec<&str> = path.split('/').collect();
    let Some(at) = parts.iter().rposition(|part| *part == "tests") else {
        return if has_dir(path, &["examples", "benches", "disabled", "attic"]) { 0 } else { 2 };
    };
    let below = parts.len().saturating_sub(at + 1);
    if parts.contains(&"src") || below == 1 || (below == 2 && parts.last() == Some(&"main.rs")) { 2 } else { 1 }
}

/// A file that belongs to the tests, though no runner may collect it by itself.
pub(super) fn is_test_file(path: &str) -> bool {
    match language_of(path) {
        Some(Language::Rust) => {
            has_dir(path, &["tests"])
                || matches!(base(path), "tests.rs" | "test.rs")
                || base(path).ends_with("_test.rs")
                || base(path).ends_with("_tests.rs")
        }
        Some(Language::Java) => collected(path) == 2 && path.contains("test") || path.contains("src/test/"),
        Some(_) => collected(path) > 0 || base(path) == "conftest.py",
        None => false,
    }
}
