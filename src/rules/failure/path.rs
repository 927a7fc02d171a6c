//! A file's name that is the same in every checkout.

use std::sync::LazyLock;

/// Directories that open a project's own layout.
const ANCHORS: &[&str] = &[
    "src",
    "tests",
    "test",
    "__tests__",
    "lib",
    "libs",
    "app",
    "apps",
    "pkg",
    "cmd",
    "internal",
    "crates",
    "packages",
    "spec",
    "specs",
    "benches",
    "examples",
    "include",
    "scripts",
    "modules",
    "services",
    "components",
    "e2e",
    "fixtures",
];

/// Where checkouts are mounted: the project follows at once.
const MOUNTS: &[&str] = &[
    "src",
    "app",
    "apps",
    "code",
    "repo",
    "work",
    "workspace",
    "workspaces",
    "project",
    "build",
    "builds",
    "source",
    "sandbox",
    "testbed",
];

static LIBRARY: LazyLock<Vec<&str>> = LazyLock::new(|| {
    vec![
        "/site-packages/",
        "/dist-packages/",
        "/node_modules/",
        "node_modules/",
        "/.cargo/registry/",
        "/rustc/",
        "/rustlib/",
        "/go/pkg/mod/",
        "/usr/lib/",
        "/usr/local/go/",
        "/usr/share/",
        "/.pyenv/",
        "/.rbenv/",
        "/.nvm/",
        "/gems/",
        "/vendor/",
        "node:",
        "internal/",
        "<frozen ",
        "<__array_function__",
    ]
});

/// Says whether a frame's file is not the project's own.
pub fn is_library(file: &str) -> bool {
    LIBRARY.iter().any(|mark| if mark.starts_with('/') { file.contains(mark) } else { file.starts_with(mark) })
        || (file.contains("/lib/python3") && file.starts_with('/'))
}

/// Gives `file` without the parts that name this machine, this user or this checkout.
///
/// A relative path stays. An absolute one is cut at the first project directory; under a temp directory without one
/// only the file name is left, under a home the user and the checkout go.
pub fn stable(file: &str) -> String {
    let file = file.trim().trim_matches(['"', '\'', '`']).replace('\\', "/");
    let file = file.strip_prefix("file://").unwrap_or(&file);
    let file = drive(file);
    if !file.starts_with('/') && !file.starts_with('~') {
        return relative(file);
    }
    let parts: Vec<&str> = file.split('/').filter(|part| !part.is_empty() && *part != "~").collect();
    let (rest, temp) = checkout(&parts);
    let Some(name) = rest.last() else { return "/".to_owned() };
    if let Some(at) = rest.iter().take(rest.len() - 1).position(|part| is_anchor(part)) {
        return rest[at..].join("/");
    }
    if temp { (*name).to_owned() } else { rest.join("/") }
}

fn drive(file: &str) -> &str {
    let bytes = file.as_bytes();
    if bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'/' {
        &file[2..]
    } else {
        file
    }
}

fn relative(file: &str) -> String {
    let mut file = file;
    while let Some(rest) = file.strip_prefix("./") {
        file = rest;
    }
    file.to_owned()
}

fn is_anchor(part: &str) -> bool {
    ANCHORS.iter().any(|anchor| part.eq_ignore_ascii_case(anchor))
}

/// Splits off what names the place of the checkout; says whether that was a temp directory.
fn checkout<'p, 's>(parts: &'p [&'s str]) -> (&'p [&'s str], bool) {
    let after = |n: usize| parts.get(n.min(parts.len().saturating_sub(1))..).unwrap_or_default();
    match parts {
        ["tmp", ..] => (after(1), true),
        ["private", "tmp", ..] | ["var", "tmp", ..] => (after(2), true),
        ["private", "var", "folders", ..] => (after(6), true),
        ["var", "folders", ..] => (after(5), true),
        ["dev", "shm", ..] | ["run", "user", ..] => (after(2), true),
        ["home" | "Users", _, "AppData", "Local", "Temp", ..] => (after(5), true),
        ["home", "runner", "work", _, _, ..] => (after(5), false),
        ["home" | "Users", ..] => (after(3), false),
        ["__w", _, _, ..] => (after(3), false),
        ["github", "workspace", ..] => (after(2), false),
        ["root", ..] => (after(2), false),
        ["mnt" | "srv" | "opt" | "data", ..] => (after(2), false),
        [mount, ..] if MOUNTS.contains(mount) => (after(1), false),
        _ => (parts, false),
    }
}

/// Says whether a name looks made up by `mktemp` or its like.
pub fn is_random(name: &str) -> bool {
    let stem = name.split('.').next_back().filter(|part| part.len() >= 6).unwrap_or(name);
    let body = stem.trim_start_matches("tmp").trim_start_matches(['-', '_', '.']);
    if body.len() < 6 || !body.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return false;
    }
    let digits = body.chars().any(|c| c.is_ascii_digit());
    let letters = body.chars().any(|c| c.is_ascii_alphabetic());
    let mixed = body.chars().any(|c| c.is_ascii_uppercase()) && body.chars().any(|c| c.is_ascii_lowercase());
    (digits && letters) || name.starts_with("tmp") || (mixed && !body.starts_with(|c: char| c.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_name_in_every_checkout() {
        for (a, b) in [
            ("/tmp/one/src/lib.rs", "/tmp/two/deeper/src/lib.rs"),
            ("/tmp/x1/a.js", "/tmp/deep/x2/a.js"),
            ("/src/App/Lexer.cs", "/home/ann/wt-7/App/Lexer.cs"),
            ("C:\\Users\\ann\\proj\\src\\a.ts", "/home/bo/proj2/src/a.ts"),
            ("./src/a.ts", "src/a.ts"),
            ("/var/folders/q1/abc/T/run.1/tests/t.py", "/private/var/folders/q2/abd/T/run.2/tests/t.py"),
            ("/home/runner/work/p/p/a/b.js", "/work/a/b.js"),
        ] {
            assert_eq!(stable(a), stable(b), "{a} and {b}");
        }
    }

    #[test]
    fn two_files_of_one_project_keep_two_names() {
        for (a, b) in [
            ("/home/ann/p/src/a/index.js", "/home/ann/p/src/b/index.js"),
            ("/repo/a/index.js", "/repo/b/index.js"),
            ("/tmp/w/packages/a/src/x.ts", "/tmp/w/packages/b/src/x.ts"),
        ] {
            assert_ne!(stable(a), stable(b), "{a} and {b}");
        }
    }

    #[test]
    fn made_up_names_are_known() {
        for name in ["tmp8wqgxs_7", "tmp.aB3dE9xYz1", "tmpabcdefg", "build-x7k2p9q1"] {
            assert!(is_random(name), "{name}");
        }
        for name in ["parser", "config.json", "lib.rs", "Makefile", "fixture"] {
            assert!(!is_random(name), "{name}");
        }
    }
}
