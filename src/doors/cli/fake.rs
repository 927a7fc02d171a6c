//! Operations for the tests of this door: every kind of parameter, and none of the program's own.
#![expect(dead_code, reason = "only the schemas of these structs are used")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Deserialize;
use serde_json::Value;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::op_info::OpInfo;
use crate::domain::stamp::{Length, Stamp};

/// A comment that must not become the help of the operation.
#[derive(Deserialize, JsonSchema)]
struct Create {
    /// What is to be done,
    /// in one line.
    title: String,
    /// How soon.
    #[serde(default)]
    priority: Priority,
    /// What may be touched.
    #[serde(default)]
    paths: Vec<String>,
    /// At most so many runs.
    #[serde(default = "ten")]
    max_runs: u32,
    /// A size; negative shrinks.
    delta: Option<i64>,
    /// Share of the budget.
    ratio: Option<f64>,
    /// When it must be done.
    due: Option<Stamp>,
    /// How long a claim lasts.
    lease: Option<Length>,
    /// Tell the others.
    #[serde(default = "yes")]
    announce: bool,
    /// Keep it back.
    #[serde(default)]
    draft: bool,
    /// Whether it was agreed; unknown if absent.
    agreed: Option<bool>,
    /// How to tell that it holds.
    criteria: Option<Vec<Criterion>>,
    /// Where it comes from.
    origin: Option<Origin>,
    /// Names and values.
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

fn ten() -> u32 {
    10
}

fn yes() -> bool {
    true
}

#[derive(Default, Deserialize, JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum Priority {
    Low,
    #[default]
    Normal,
    /// Before all others.
    VeryHigh,
}

#[derive(Deserialize, JsonSchema)]
struct Criterion {
    name: String,
    check: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Origin {
    Text(String),
    Link { url: String, title: Option<String> },
}

#[derive(Deserialize, JsonSchema)]
struct Claim {
    /// The task.
    task: TaskRef,
    /// Who says so.
    session: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct List {
    /// Only tasks in one of these states.
    #[serde(default)]
    state: Vec<State>,
    limit: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    Open,
    Done,
}

#[derive(Deserialize, JsonSchema)]
struct Validate {
    /// Checks to run; all of them if none is named.
    #[serde(default)]
    checks: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Attest {
    Run {
        /// The run.
        run: String,
        note: Option<String>,
    },
    Word {
        note: String,
    },
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

const fn op(name: &'static str, about: &'static str, effect: Effect, input_schema: fn() -> Value) -> OpInfo {
    OpInfo {
        name,
        about,
        effect,
        custody: Custody::None,
        input_schema,
        output_schema: schema::<Nothing>,
        positional: &[],
        examples: &[],
        help: "",
        columns: &[],
        hidden: &[],
        texts: &[],
        raw: None,
        holds: None,
    }
}

pub(super) const OPS: &[OpInfo] = &[
    OpInfo {
        custody: Custody::Session,
        positional: &["title"],
        examples: &[(
            "kctl task create 'Mend the parser' --paths src/parse",
            "Create a task that may touch one directory",
        )],
        ..op("task.create", "Create a task", Effect::Write, schema::<Create>)
    },
    OpInfo {
        custody: Custody::Session,
        positional: &["task"],
        ..op("task.claim", "Claim a task", Effect::Write, schema::<Claim>)
    },
    OpInfo {
        columns: &["id", "state", "title", "claim.holder", "at"],
        ..op("task.list", "List tasks", Effect::Read, schema::<List>)
    },
    op("task.set_limits", "Set the limits of a task", Effect::Write, schema::<Nothing>),
    OpInfo {
        positional: &["checks"],
        ..op("validate", "Validate the workspace", Effect::External, schema::<Validate>)
    },
    op("evidence.attest", "Attest by hand", Effect::Irreversible, schema::<Attest>),
    op("hook.install", "Install the hooks of a host", Effect::Write, schema::<Nothing>),
];
