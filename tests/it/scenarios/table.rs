//! The tables of scenarios: what is given, what happens, what must be seen. A key that is not known is a fault.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// The tables, in the order in which they are shown.
const TABLES: [&str; 4] = ["kernel.toml", "kernel_hardening.toml", "activation.toml", "activation_hardening.toml"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub entry: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub id: String,
    pub title: String,
    /// What of it cannot be shown yet and why; the rest is played.
    pub partly: Option<String>,
    /// What must be built before any of it can be tried. It is then skipped by name.
    pub needs: Option<String>,
    /// Other tests that show more of it, by the names of their functions.
    #[serde(default)]
    pub see: Vec<String>,
    #[serde(default)]
    pub given: Given,
    #[serde(default)]
    pub when: Vec<Step>,
    #[serde(default)]
    pub then: Vec<Expectation>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    #[serde(default)]
    pub setup: Setup,
    /// Files of the base.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Checks of the base's profile: a tracked script each, which ends with the status that `state/NAME` says.
    #[serde(default)]
    pub probes: BTreeMap<String, i64>,
    #[serde(default)]
    pub criteria: Vec<Value>,
    /// Whether a commitment has the criteria, and the task belongs to it.
    #[serde(default)]
    pub commitment: bool,
}

/// How far things stand when it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setup {
    /// `ada` works on a task in its workspace.
    #[default]
    Work,
    /// Kctl is set up, and nobody works.
    Idle,
    /// Kctl was never called.
    Untouched,
}

/// One step: exactly one of its verbs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// By what later steps and expectations call what came of it.
    pub name: Option<String>,
    /// Who calls; `ada` unless said, `nobody` without a session.
    pub by: Option<String>,
    /// Where: the task's `tree` if there is one, the `main` worktree, another repository (`other`), or a plain directory.
    #[serde(rename = "in")]
    pub place: Option<Where>,
    /// An operation over JSON-RPC, with `with` over the parameters that name the task.
    pub call: Option<String>,
    pub with: Option<Value>,
    /// A tool that the host is about to run with `with` as its arguments: kctl is asked, and only what is allowed is run.
    pub tool: Option<String>,
    /// Whose names of tools these are; Claude Code's unless said.
    pub host: Option<String>,
    /// Bytes on the standard input of `kctl rpc`.
    pub send: Option<String>,
    /// Words of kctl's command line.
    pub cli: Option<Vec<String>>,
    /// A program of somebody else's.
    pub run: Option<Vec<String>>,
    pub write: Option<BTreeMap<String, String>>,
    pub remove: Option<Vec<String>>,
    /// Symbolic links by name, with their targets.
    pub link: Option<BTreeMap<String, String>>,
    pub probe: Option<BTreeMap<String, i64>>,
    pub commit: Option<String>,
    /// Everything that can be computed again goes: caches, indexes.
    #[serde(default)]
    pub restart: bool,
    /// The clock stands still this many seconds from now.
    pub later: Option<i64>,
    /// A hand in the ledger's database.
    pub sql: Option<String>,
    /// Where every later call of kctl is killed, if it gets there; an empty name ends that.
    pub kill_at: Option<String>,
}

impl Step {
    /// How many verbs it has.
    pub fn verbs(&self) -> usize {
        [
            self.call.is_some(),
            self.tool.is_some(),
            self.send.is_some(),
            self.cli.is_some(),
            self.run.is_some(),
            self.write.is_some(),
            self.remove.is_some(),
            self.link.is_some(),
            self.probe.is_some(),
            self.commit.is_some(),
            self.restart,
            self.later.is_some(),
            self.sql.is_some(),
            self.kill_at.is_some(),
        ]
        .into_iter()
        .filter(|there| *there)
        .count()
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    Tree,
    Main,
    Other,
    Outside,
}

/// One thing that must be seen, at a JSON pointer. A part `[name=value]` of it picks the item of a list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The step's name; the last step with an answer unless said.
    pub at: Option<String>,
    pub ptr: String,
    pub eq: Option<Value>,
    pub ne: Option<Value>,
    /// A list has this item, or a text this part.
    pub has: Option<Value>,
    pub lacks: Option<Value>,
    pub starts: Option<String>,
    /// So many items, or letters.
    pub len: Option<u64>,
    /// A number of at least this, or a list or text that is so long.
    pub min: Option<u64>,
    /// Whether there is anything there but null.
    pub present: Option<bool>,
    /// What stands at `STEP:POINTER`.
    pub same_as: Option<String>,
}

/// The tables as they stand, in one.
pub fn read() -> Table {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/scenarios");
    let entries = TABLES.iter().flat_map(|name| {
        let text = fs::read_to_string(dir.join(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
        toml::from_str::<Table>(&text).unwrap_or_else(|why| panic!("{name}: {why}")).entry
    });
    Table { entry: entries.collect() }
}
