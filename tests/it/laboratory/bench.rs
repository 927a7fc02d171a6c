//! A bench: a small repository of one language, whose check really runs, and a task in it.
//!
//! A case is written
//!
//! ```text
//! === what is done | what it ends as
//! a shell script
//! ```
//!
//! It ends as `held KIND …` (findings of these kinds stand against finishing and publication, though the check is green),
//! `held-red KIND …` (the same, whatever the check says), `unmet STATE …` (the check's criterion stands in one of these
//! states), `unmet STATE: WORDS` (and its reasons hold these words), `blocked WORDS` (finished, but not published, with
//! these words), or `published`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::place::{Agent, Place, text, write};
use crate::rig::skipped;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    Held { kinds: Vec<String>, green: bool },
    Unmet { states: Vec<String>, words: String },
    Blocked { words: String },
    Published,
}

#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub expected: Expected,
    pub script: String,
}

pub fn cases(text: &str) -> Vec<Case> {
    let parts = text.split("=== ").skip(1);
    parts
        .map(|part| {
            let (head, script) = part.split_once('\n').expect("a case has a script");
            let (name, expected) = head.split_once(" | ").unwrap_or_else(|| panic!("`{head}` has no end"));
            Case { name: name.to_owned(), expected: expected_of(expected.trim()), script: script.to_owned() }
        })
        .collect()
}

fn expected_of(text: &str) -> Expected {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    match word {
        "held" | "held-red" => Expected::Held { kinds: words(rest), green: word == "held" },
        "unmet" => {
            let (states, said) = rest.split_once(':').unwrap_or((rest, ""));
            Expected::Unmet { states: words(states), words: said.trim().to_owned() }
        }
        "blocked" => Expected::Blocked { words: rest.to_owned() },
        "published" => Expected::Published,
        other => panic!("`{other}` is no end of a case"),
    }
}

pub struct Bench {
    pub name: &'static str,
    /// Shell functions that the scripts of the bench may use; `fix` does the work honestly.
    prelude: &'static str,
    place: Place,
}

const EDIT: &str =
    "edit() { f=$1; shift; sed -i \"$@\" \"$f\"; }\ndone_with() { git add -A; git commit -qm \"$1\"; }\n";

impl Bench {
    fn new(name: &'static str, prelude: &'static str, files: &'static [(&'static str, &'static str)]) -> Self {
        let place = Place::new();
        for (path, content) in files {
            place.write(path, content);
        }
        let profile = files.iter().find(|(path, _)| *path == ".decapod/kctl.toml").expect("it has one").1;
        place.rebase_profile(profile);
        Self { name, prelude, place }
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    pub fn shell() -> Self {
        Self::new("shell", SHELL_FIX, SHELL_FILES)
    }

    pub fn python() -> Option<Self> {
        let bench = Self::new("python", PYTHON_FIX, PYTHON_FILES);
        bench.with_tool("python3", &["-c", "import unittest"])
    }

    pub fn node() -> Option<Self> {
        Self::new("javascript", NODE_FIX, NODE_FILES).with_tool("node", &["--test", "--version"])
    }

    pub fn rust() -> Option<Self> {
        let bench = Self::new("rust", RUST_FIX, RUST_FILES);
        // The toolchain's own programs: rustup's stand-ins look for a home that is not this place's.
        let Some(bin) = toolchain() else {
            skipped("laboratory: rust", "no toolchain was found");
            return None;
        };
        let path = std::env::var("PATH").unwrap_or_default();
        bench.place.set("PATH", Some(&format!("{}:{path}", bin.display())));
        bench.with_tool("cargo", &["--version"])
    }

    fn with_tool(self, program: &str, args: &[&str]) -> Option<Self> {
        let words = [&[program], args].concat().join(" ");
        let ran = self.place.run(&self.place.repo, "sh", &["-c", &format!("{words} >/dev/null 2>&1")], None);
        if ran.status != 0 {
            skipped(&format!("laboratory: {}", self.name), &format!("`{words}` does not run here"));
            return None;
        }
        Some(self)
    }

    /// A task that only the check's passing finishes, and its workspace.
    pub fn task<'p>(&'p self, title: &str) -> (Agent<'p>, String, PathBuf) {
        let agent = self.place.agent("ada");
        let task = agent.claimed(json!({ "title": title, "criteria": ["check:test"] }));
        let tree = agent.workspace(&task);
        (agent, task, tree)
    }

    pub fn script(&self, tree: &Path, script: &str) -> Result<(), String> {
        let whole = format!("set -eu\n{EDIT}{}\n{script}", self.prelude);
        let ran = self.place.run(tree, "sh", &["-c", &whole], None);
        if ran.status == 0 { Ok(()) } else { Err(format!("the script failed: {ran:#?}")) }
    }

    /// Does what the case does, and says how it ended otherwise than it should.
    pub fn try_case(&self, case: &Case) -> Result<(), String> {
        let (agent, task, tree) = self.task(&case.name);
        self.script(&tree, &case.script)?;
        if !self.place.git_in(&tree, &["status", "--porcelain"]).is_empty() && !case.script.contains("# left dirty") {
            self.place.commit_in(&tree, "work");
        }
        let validated = agent.ok("validate", json!({ "task": task, "scope": "branch" }));
        let finished = agent.call("task.finish", json!({ "task": task, "summary": "done" }));
        let published = agent.call("publish", json!({ "task": task }));
        let judged = judge(&case.expected, &validated, &finished, &published);
        drop(agent.call("task.release", json!({ "task": task })));
        judged
    }
}

type Answer = Result<Value, Value>;

fn judge(expected: &Expected, validated: &Value, finished: &Answer, published: &Answer) -> Result<(), String> {
    match expected {
        Expected::Published => match (finished, published) {
            (Ok(_), Ok(_)) => Ok(()),
            (Err(refusal), _) | (_, Err(refusal)) => Err(format!("it was refused: {}", short(refusal))),
        },
        Expected::Held { kinds, green } => held(kinds, *green, validated, finished, published),
        Expected::Unmet { states, words } => {
            let refusal = refused("task.finish", finished)?;
            let one = unmet(refusal, "AC-1").ok_or_else(|| format!("AC-1 is met: {}", short(refusal)))?;
            let state = one["state"].as_str().unwrap_or_default();
            let said = one["last"].to_string();
            refused("publish", published)?;
            match states.iter().any(|known| known == state) && said.contains(words.as_str()) {
                true => Ok(()),
                false => Err(format!("it is `{state}`: {said}")),
            }
        }
        Expected::Blocked { words } => {
            let refusal = refused("publish", published)?;
            let blockers = refusal.to_string();
            if blockers.contains(words.as_str()) { Ok(()) } else { Err(short(refusal)) }
        }
    }
}

fn held(kinds: &[String], green: bool, validated: &Value, finished: &Answer, published: &Answer) -> Result<(), String> {
    let verdict = &validated["results"][0]["verdict"];
    if green && verdict != "pass" {
        return Err(format!("the check was not fooled: {}", validated["results"]));
    }
    if validated["verified"] != false {
        return Err("validate calls it verified".to_owned());
    }
    let refusal = refused("task.finish", finished)?;
    let one = unmet(refusal, "integrity").ok_or_else(|| format!("nothing is held: {}", short(refusal)))?;
    let reasons = one["last"]["reasons"].to_string();
    for kind in kinds {
        if !reasons.contains(&format!(" {kind} ")) {
            return Err(format!("no {kind}: {reasons}"));
        }
    }
    if refusal["next"][0]["op"] != "finding.list" {
        return Err(format!("what to do is not said: {}", refusal["next"]));
    }
    let blockers = refused("publish", published)?.to_string();
    let named = blockers.contains("INTEGRITY_HELD") && kinds.iter().all(|kind| blockers.contains(kind.as_str()));
    if named { Ok(()) } else { Err(format!("publication does not name it: {blockers}")) }
}

fn refused<'a>(op: &str, answer: &'a Answer) -> Result<&'a Value, String> {
    match answer {
        Ok(result) => Err(format!("{op} was not refused: {}", short(result))),
        Err(refusal) => Ok(refusal),
    }
}

fn unmet<'a>(refusal: &'a Value, id: &str) -> Option<&'a Value> {
    refusal["details"]["unmet"].as_array()?.iter().find(|one| one["id"] == id)
}

fn short(value: &Value) -> String {
    let mut said = format!("{} {}", value["message"], value["details"]);
    said.truncate(said.char_indices().nth(900).map_or(said.len(), |(at, _)| at));
    said
}

fn toolchain() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let out = std::process::Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
            let bin = PathBuf::from(String::from_utf8(out.stdout).ok()?.trim()).join("bin");
            bin.join("cargo").exists().then_some(bin)
        })
        .clone()
}

const PYTHON_FIX: &str = "fix() { edit calc.py 's/return a - b/return a + b/'; }\n";
const PYTHON_FILES: &[(&str, &str)] = &[
    ("calc.py", include_str!("bench/calc.py")),
    ("tests/__init__.py", ""),
    ("tests/test_calc.py", include_str!("bench/test_calc.py")),
    ("tests/test_div.py", include_str!("bench/test_div.py")),
    ("tests/expected/report.txt", "sum: 5\n"),
    (".gitignore", "__pycache__/\n"),
    ("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"1\"\ndependencies = [\"attrs==23.1\"]\n"),
    (
        ".decapod/kctl.toml",
        "version = 1\n\n[checks.test]\nrun = \"python3 -m unittest discover -s tests -t . -v\"\nkind = \"test\"\ntimeout = \"30s\"\nmin_tests = 1\n",
    ),
];

const NODE_FIX: &str = "fix() { edit src/calc.js 's/return a - b/return a + b/'; }\n";
const NODE_FILES: &[(&str, &str)] = &[
    ("src/calc.js", include_str!("bench/calc.js")),
    ("test/calc.test.js", include_str!("bench/calc.test.js")),
    ("test/div.test.js", include_str!("bench/div.test.js")),
    (
        "package.json",
        "{\n  \"name\": \"calc\",\n  \"version\": \"1.0.0\",\n  \"scripts\": {\n    \"test\": \"node --test test/\"\n  },\n  \"dependencies\": {\n    \"left\": \"1.0.0\"\n  }\n}\n",
    ),
    (
        ".decapod/kctl.toml",
        "version = 1\n\n[checks.test]\nrun = \"npm test --silent\"\nkind = \"test\"\ntimeout = \"60s\"\n",
    ),
];

const RUST_FIX: &str = "fix() { edit src/lib.rs 's/a - b/a + b/'; }\n";
const RUST_FILES: &[(&str, &str)] = &[
    ("src/lib.rs", include_str!("bench/lib.rs.txt")),
    ("tests/adds.rs", include_str!("bench/adds.rs.txt")),
    ("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n"),
    (".gitignore", "target\n"),
    (
        ".decapod/kctl.toml",
        "version = 1\n\n[checks.test]\nrun = \"cargo test --offline --locked\"\nkind = \"test\"\ntimeout = \"120s\"\n",
    ),
];

const SHELL_FIX: &str = "fix() { echo good > state.txt; }\n";
const SHELL_FILES: &[(&str, &str)] = &[
    ("state.txt", "bad\n"),
    ("README.md", "a state\n"),
    ("ci/check.sh", include_str!("bench/check.sh")),
    ("ci/lib.sh", "same() { test \"$1\" = \"$2\"; }\n"),
    ("Makefile", "verify:\n\tgrep -q good state.txt\n"),
    (
        ".github/workflows/ci.yml",
        "on: push\njobs:\n  test:\n    steps:\n      - uses: actions/checkout@v4\n      - run: sh ci/check.sh\n",
    ),
    (
        ".decapod/kctl.toml",
        "version = 1\n\n[checks.test]\nrun = \"sh ci/check.sh\"\nkind = \"test\"\ntimeout = \"30s\"\n\n[checks.verify]\nrun = \"make verify\"\n",
    ),
];

/// Writes a file of a workspace.
pub fn put(tree: &Path, path: &str, content: &str) {
    write(&tree.join(path), content);
}

/// The state of a criterion in a refusal of `task.finish`.
pub fn state_of(refusal: &Value, id: &str) -> Option<String> {
    unmet(refusal, id).map(|one| text(&one["state"]))
}
