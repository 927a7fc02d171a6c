//! The arrows of the design, and what each floor may touch, read from the source itself: every path in every file is
//! resolved as the compiler would and looked up in a table. What is compiled for tests only is left out.
#![expect(clippy::disallowed_methods, reason = "a test reads the source")]

mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use paths::{Found, Source};

/// What a floor may see, and which crates and parts of `std` it may name. Everything else is refused.
struct Floor {
    name: &'static str,
    sees: &'static [&'static str],
    pure: bool,
}

const FLOORS: [Floor; 6] = [
    Floor { name: "domain", sees: &["domain"], pure: true },
    Floor { name: "rules", sees: &["rules", "domain"], pure: true },
    Floor { name: "ports", sees: &["ports", "domain"], pure: true },
    Floor { name: "ops", sees: &["ops", "rules", "ports", "domain"], pure: true },
    Floor { name: "adapters", sees: &["adapters", "ports", "domain"], pure: false },
    Floor { name: "doors", sees: &["doors", "ops", "rules", "ports", "adapters", "domain"], pure: false },
];

/// Crates that compute and touch nothing.
const PURE_CRATES: [&str; 26] = [
    "globset",
    "jsonc_parser",
    "jiff",
    "memchr",
    "quick_xml",
    "regex",
    "regex_syntax",
    "saphyr_parser",
    "ssh_key",
    "schemars",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "shell_words",
    "strsim",
    "thiserror",
    "toml",
    "toml_edit",
    "tree_sitter",
    "tree_sitter_go",
    "tree_sitter_java",
    "tree_sitter_javascript",
    "tree_sitter_python",
    "tree_sitter_rust",
    "tree_sitter_typescript",
    "uuid",
];
/// `sha2` digests; it is apart only because one floor down is enough for it.
const DOMAIN_CRATES: [&str; 1] = ["sha2"];

/// Parts of `std` that reach out of the process, or read a clock.
const REACHING: [&str; 10] = [
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "std::os::unix::fs",
    "std::os::unix::net",
    "std::time::SystemTime",
    "std::time::Instant",
    "std::io::stdin",
];
/// Functions of pure crates that are not.
const IMPURE: [&str; 6] = [
    "jiff::Timestamp::now",
    "jiff::Zoned::now",
    "uuid::Uuid::now_v7",
    "uuid::Uuid::new_v4",
    "std::io::stdout",
    "std::io::stderr",
];
/// Methods of `Path` that ask the disk; none of ours takes no argument under these names.
const ASKING: [&str; 8] =
    ["exists", "try_exists", "canonicalize", "metadata", "symlink_metadata", "read_dir", "read_link", "is_symlink"];

const MAX_LINES: usize = 500;

fn floor_of(module: &str) -> Option<&'static Floor> {
    let first = module.split("::").nth(1)?;
    FLOORS.iter().find(|floor| floor.name == first)
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every production file and what it names; read once, since reading takes longest.
static PRODUCTION: LazyLock<Vec<(Source, Vec<Found>)>> = LazyLock::new(|| {
    let files = paths::all(&source());
    let read: Vec<_> = files
        .into_iter()
        .map(|file| {
            let read = file.read();
            (file, read)
        })
        .collect();
    let tests_only: Vec<PathBuf> = read.iter().flat_map(|(_, read)| read.test_modules.clone()).collect();
    let production = read.into_iter().filter(|(file, _)| !tests_only.iter().any(|test| file.path.starts_with(test)));
    production.map(|(file, read)| (file, read.found)).collect()
});

fn refuse(wrong: &BTreeSet<String>) {
    assert!(wrong.is_empty(), "\n{}", wrong.iter().cloned().collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_floor_sees_only_what_lies_below_it() {
    let mut wrong = BTreeSet::new();
    for (file, found) in PRODUCTION.iter() {
        let Some(floor) = floor_of(&file.module) else { continue };
        for Found { path, line, .. } in found.iter().filter(|found| found.path.starts_with("crate::")) {
            // `crate::VERSION` and its like belong to nobody.
            let Some(other) = floor_of(path) else { continue };
            if !floor.sees.contains(&other.name) {
                wrong.insert(format!("{}:{line}: `{}` sees `{path}`", file.shown(), floor.name));
            }
        }
    }
    refuse(&wrong);
}

#[test]
fn the_pure_floors_touch_no_file_environment_network_process_thread_or_clock() {
    let crates = dependencies();
    let mut wrong = BTreeSet::new();
    for (file, found) in PRODUCTION.iter() {
        let Some(floor) = floor_of(&file.module).filter(|floor| floor.pure) else { continue };
        for Found { path, line, method } in found {
            let beneath = |name: &&str| path == *name || path.starts_with(&format!("{name}::"));
            let first = path.split("::").next().unwrap_or_default();
            let known = PURE_CRATES.contains(&first) || (floor.name == "domain" && DOMAIN_CRATES.contains(&first));
            let foreign = path.contains("::") && crates.contains(first) && !known;
            let reaching = !method && (REACHING.iter().any(beneath) || IMPURE.iter().any(beneath));
            if foreign || reaching || (*method && ASKING.contains(&path.as_str())) {
                wrong.insert(format!("{}:{line}: `{}` names `{path}`", file.shown(), floor.name));
            }
        }
    }
    refuse(&wrong);
}

/// A library is spoken to in one place, so that it can be exchanged there.
#[test]
fn a_library_with_a_place_of_its_own_is_named_nowhere_else() {
    let places: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("git2", &["adapters::git", "adapters::trees", "adapters::passages"][..]),
        ("rusqlite", &["adapters::sqlite", "adapters::passages"]),
        ("fs4", &["adapters::lock"]),
        ("jsonrpc_core", &["doors::rpc"]),
        ("clap", &["doors::cli"]),
        ("clap_complete", &["doors::cli"]),
        ("clap_mangen", &["doors::cli"]),
        ("comfy_table", &["doors::cli"]),
        ("directories", &["adapters::world"]),
    ]);
    let mut wrong = BTreeSet::new();
    for (file, found) in PRODUCTION.iter() {
        for Found { path, line, .. } in found.iter().filter(|found| found.path.contains("::")) {
            let first = path.split("::").next().unwrap_or_default();
            let module = file.module.trim_start_matches("crate::");
            if let Some(allowed) = places.get(first)
                && !allowed.iter().any(|place| module == *place || module.starts_with(&format!("{place}::")))
            {
                wrong.insert(format!("{}:{line}: `{first}` has its place in {allowed:?}", file.shown()));
            }
        }
    }
    refuse(&wrong);
}

#[test]
fn no_file_is_longer_than_500_lines() {
    let files = paths::all(&source());
    let tests = paths::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
    let long = files.iter().chain(&tests).filter(|file| file.lines > MAX_LINES);
    refuse(&long.map(|file| format!("{}: {} lines", file.shown(), file.lines)).collect());
}

#[test]
fn nothing_unwraps_and_nothing_is_left_to_do() {
    let mut wrong = BTreeSet::new();
    for (file, found) in PRODUCTION.iter() {
        for Found { path, line, method } in found {
            let unfinished = ["todo", "unimplemented", "dbg"].iter().any(|name| *path == format!("{name}!"));
            if unfinished || (*method && (path == "unwrap" || path == "unwrap_err")) {
                wrong.insert(format!("{}:{line}: `{path}`", file.shown()));
            }
        }
        if file.text.contains("#[allow(") || file.text.contains("#![allow(") {
            wrong.insert(format!("{}: `allow` says no reason; `expect` does", file.shown()));
        }
    }
    refuse(&wrong);
}

/// The tests above are worth something only if they find what they look for.
#[test]
fn the_reader_finds_what_is_planted() {
    let planted = r#"
        use crate::ops::{call::Call, world as w};
        use super::super::adapters::lock;
        type T = crate::doors::Door;
        fn f() {
            let at = std::time::SystemTime::now();
            println!("{:?} {}", crate::adapters::git::LocalGit, "crate::ports::in_a_string");
            // crate::ports::in_a_comment
            path.exists();
            todo!();
            inner::call::<git2::Repository>();
        }
        mod inner { use super::super::super::doors::run; }
        #[cfg(test)] mod tests { use crate::ports::git; fn g() { x.unwrap(); } }
    "#;
    let source = Source::of("planted.rs".into(), "crate::rules::planted".into(), planted.to_owned());
    let found: BTreeSet<String> = source.read().found.into_iter().map(|found| found.path).collect();
    for expected in [
        "crate::ops::call::Call",
        "crate::ops::world",
        "crate::adapters::lock",
        "crate::doors::Door",
        "crate::doors::run",
        "std::time::SystemTime::now",
        "crate::adapters::git::LocalGit",
        "exists",
        "todo!",
        "git2::Repository",
    ] {
        assert!(found.contains(expected), "{expected} is not among {found:#?}");
    }
    for unexpected in ["crate::ports::in_a_string", "crate::ports::in_a_comment", "crate::ports::git", "unwrap"] {
        assert!(!found.contains(unexpected), "{unexpected}");
    }
}

/// The crates that the manifest names, as code spells them.
fn dependencies() -> BTreeSet<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).expect("it is there");
    let manifest: toml::Table = text.parse().expect("it is TOML");
    let names = manifest["dependencies"].as_table().expect("it is a table").keys();
    names.map(|name| name.replace('-', "_")).collect()
}
