//! What stands around a run and bends it: settings of package managers, variables, toolchains, build scripts.

use super::flat::{Difference, Flat, ini, toml};
use super::{File, Severity, Verdict, base};
use crate::rules::integrity::model::{Finding, Kind};

/// Variables by which a tool runs other tests, runs them otherwise, or takes what it gets for right.
const VARIABLES: &[&str] = &[
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHONOPTIMIZE",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "NODE_OPTIONS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "CARGO_TARGET_",
    "INSTA_UPDATE",
    "INSTA_FORCE_PASS",
    "UPDATE_EXPECT",
    "UPDATE_SNAPSHOTS",
    "GOFLAGS",
    "MAVEN_OPTS",
    "MAVEN_ARGS",
    "JAVA_TOOL_OPTIONS",
    "LD_PRELOAD",
    "BASH_ENV",
    "PATH",
];

pub(super) fn is_config(path: &str) -> bool {
    let name = base(path);
    matches!(
        name,
        ".npmrc"
            | ".yarnrc"
            | ".yarnrc.yml"
            | ".pnpmrc"
            | "rust-toolchain"
            | "rust-toolchain.toml"
            | "build.rs"
            | "go.mod"
    ) || name == ".env"
        || name.starts_with(".env.")
        || name == ".envrc"
        || name.ends_with(".pth")
}

pub(super) fn findings(file: &File<'_>, out: &mut Vec<Finding>) {
    match base(file.path) {
        ".npmrc" | ".yarnrc" | ".yarnrc.yml" | ".pnpmrc" => file.judge(out, ini, package_manager),
        "rust-toolchain" | "rust-toolchain.toml" => file.judge(out, toml, |found| {
            // A directory of the tree can be named as the toolchain.
            Some(if found.last() == "path" && found.new.is_some() { Severity::Hold } else { Severity::Note })
        }),
        "build.rs" => build_script(file, out),
        "go.mod" => file.judge(out, replaced, |found| (!found.added().is_empty()).then_some(Severity::Hold)),
        name if name.ends_with(".pth") => {
            if file.new.is_some() && !file.same_but_for_comments() {
                let message = "Python runs this file when it starts";
                out.push(file.finding(Severity::Hold, Kind::TestConfigChanged, None, message));
            }
        }
        _ => file.judge(out, ini, |found| {
            let name = found.last().trim_start_matches("export ");
            let bends = VARIABLES.iter().any(|known| name == *known || known.ends_with('_') && name.starts_with(known));
            (bends && found.new.is_some()).then_some(Severity::Hold)
        }),
    }
}

fn package_manager(found: &Difference) -> Verdict {
    let key = found.key.to_lowercase();
    let bends = [
        "script-shell",
        "scriptshell",
        "ignore-scripts",
        "node-options",
        "shell",
        "yarnpath",
        "yarn-path",
        "if-present",
    ];
    (bends.iter().any(|word| key.contains(word)) && found.new.is_some()).then_some(Severity::Hold)
}

/// A build script may write anywhere; an honest one writes where cargo tells it to.
fn build_script(file: &File<'_>, out: &mut Vec<Finding>) {
    let writes = |text: &str| {
        let changes =
            ["fs::write", "remove_file", "remove_dir", "fs::rename", "File::create", "fs::copy", "OpenOptions"];
        let elsewhere = changes.iter().any(|word| text.contains(word)) && !text.contains("OUT_DIR");
        elsewhere || text.contains("tests/") || text.contains("process::exit(0)")
    };
    let now = file.new.as_deref().is_some_and(writes);
    let before = file.old.as_deref().is_some_and(writes);
    if file.same_but_for_comments() {
        return;
    }
    let severity = if now && !before { Severity::Hold } else { Severity::Note };
    let message = if now { "the build script changes files of the tree" } else { "the build script changed" };
    out.push(file.finding(severity, Kind::TestConfigChanged, None, message));
}

/// `replace a => ./b`: the module is taken from the tree.
fn replaced(text: &str) -> Flat {
    let mut out = Flat::new();
    let lines = text.lines().map(str::trim).filter(|line| line.contains("=> ./") || line.contains("=> ../"));
    for line in lines {
        out.entry("replace".to_owned()).or_default().push(line.trim_start_matches("replace ").to_owned());
    }
    out
}
