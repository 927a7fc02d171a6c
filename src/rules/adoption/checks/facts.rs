//! What is known of the tree: which paths there are, and what the few telling files hold.

use std::collections::{BTreeMap, BTreeSet};

use super::{MAX_PROJECTS, joined, unittest};

/// How much of one telling file is read. A longer one is not looked into.
pub const MAX_CONTENT_BYTES: usize = 256 * 1024;

/// How many telling files are read.
const MAX_WANTED: usize = 64;

/// How many workflow files are read for hints.
const MAX_WORKFLOWS: usize = 20;

const MANIFESTS: &[&str] = &["Cargo.toml", "package.json", "pyproject.toml", "go.mod"];

const TOP_FILES: &[&str] = &[
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    ".justfile",
    ".gitlab-ci.yml",
];

/// Directories whose manifests belong to somebody else, or are there to be tested on.
const FOREIGN: &[&str] = &[
    "node_modules",
    "vendor",
    "third_party",
    "examples",
    "example",
    "testdata",
    "fixtures",
    "test",
    "tests",
    "target",
];

/// The tree as far as proposals need it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeFacts {
    /// Tracked paths and untracked ones that are not ignored, with `/` between the parts. Paths that are not UTF-8
    /// may be left out.
    pub paths: BTreeSet<String>,
    /// What those of `wanted(&paths)` hold that could be read as UTF-8 within `MAX_CONTENT_BYTES`.
    pub contents: BTreeMap<String, String>,
}

/// Which files' contents the proposals look into.
pub fn wanted(paths: &BTreeSet<String>) -> Vec<String> {
    let top = MANIFESTS.iter().chain(TOP_FILES).map(|name| (*name).to_owned());
    let mut wanted: Vec<String> = top.filter(|name| paths.contains(name)).collect();
    for manifest in MANIFESTS {
        wanted.extend(projects(paths, manifest).into_iter().map(|dir| joined(&dir, manifest)));
    }
    wanted.extend(paths.iter().filter(|path| is_workflow(path)).take(MAX_WORKFLOWS).cloned());
    wanted.sort();
    wanted.dedup();
    wanted.truncate(MAX_WANTED);
    wanted.extend(unittest::wanted(paths));
    wanted
}

impl TreeFacts {
    pub fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    pub fn content(&self, path: &str) -> Option<&str> {
        self.contents.get(path).map(String::as_str)
    }

    /// The first of `names` in `dir` that exists.
    pub fn first_of(&self, dir: &str, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.has(&joined(dir, name)))
    }

    pub fn toml(&self, path: &str) -> Option<toml::Table> {
        self.content(path)?.parse().ok()
    }

    /// Whether any path lies below `dir` and satisfies `like`.
    pub fn any_below(&self, dir: &str, like: impl Fn(&str) -> bool) -> bool {
        let from = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        self.paths
            .range(from.clone()..)
            .take_while(|path| path.starts_with(&from))
            .any(|path| like(&path[from.len()..]))
    }

    /// The first line of a workflow that runs `command`, where it is plain enough to be run elsewhere.
    pub fn in_workflow(&self, command: &str) -> Option<(&str, String)> {
        let workflows = self.contents.iter().filter(|(path, _)| is_workflow(path) || *path == ".gitlab-ci.yml");
        workflows.flat_map(|(path, text)| text.lines().map(move |line| (path.as_str(), line))).find_map(
            |(path, line)| {
                let line =
                    line.trim().trim_start_matches("- ").trim_start_matches("run:").trim().trim_matches(['"', '\'']);
                let rest = line.strip_prefix(command)?;
                let plain = |c: char| c.is_ascii_alphanumeric() || " -_=.,:/".contains(c);
                (rest.is_empty() || rest.starts_with(' ')).then_some(())?;
                line.chars().all(plain).then(|| (path, line.to_owned()))
            },
        )
    }

    /// The directories of this kind of project: the top if it has the manifest, else the nearest below it.
    pub fn projects(&self, manifest: &str) -> Vec<String> {
        projects(&self.paths, manifest)
    }
}

fn projects(paths: &BTreeSet<String>, manifest: &str) -> Vec<String> {
    if paths.contains(manifest) {
        return vec![String::new()];
    }
    let below = |path: &String| {
        let dir = path.strip_suffix(manifest)?.strip_suffix('/')?;
        let parts: Vec<&str> = dir.split('/').collect();
        let ours = parts.len() <= 2 && !parts.iter().any(|part| part.starts_with('.') || FOREIGN.contains(part));
        ours.then(|| dir.to_owned())
    };
    let mut dirs: Vec<String> = paths.iter().filter_map(below).collect();
    dirs.sort_by_key(|dir| (dir.matches('/').count(), dir.clone()));
    // A project inside another one of its kind is that one's business.
    let mut kept: Vec<String> = Vec::new();
    for dir in dirs {
        if !kept.iter().any(|outer| dir.starts_with(&format!("{outer}/"))) && kept.len() < MAX_PROJECTS {
            kept.push(dir);
        }
    }
    kept
}

fn is_workflow(path: &str) -> bool {
    path.strip_prefix(".github/workflows/")
        .is_some_and(|name| !name.contains('/') && (name.ends_with(".yml") || name.ends_with(".yaml")))
}
