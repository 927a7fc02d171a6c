//! `specs/generated`: what other programs and readers need of kctl, written from the code. A file that is stale fails
//! here; `KCTL_BLESS=1 cargo test --test it generated::` writes it anew.
#![expect(clippy::disallowed_methods, reason = "a test writes the files that it checks")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use kctl::domain::event::{Event, current_version};
use kctl::domain::op_info::OpInfo;
use kctl::domain::refusal::Code;
use kctl::doors::cli;
use kctl::ops::catalogue::kind;
use kctl::ops::op::schema_of;
use kctl::ops::registry::OPS;
use serde_json::{Value, json};

const NOTE: &str =
    "Written from the code by `tests/it/generated.rs`; edit that and `KCTL_BLESS=1 cargo test --test it generated::`.";

/// Holds the file of this name to `text`, or writes it if that is asked for.
fn hold(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/generated").join(name);
    if std::env::var_os("KCTL_BLESS").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(&path, text).expect("written");
        return;
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    let line = there.lines().zip(text.lines()).position(|(old, new)| old != new);
    let line = line.unwrap_or_else(|| there.lines().count().min(text.lines().count())) + 1;
    assert!(there == text, "specs/generated/{name} is stale from line {line} on: {NOTE}");
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("JSON serialises");
    text.push('\n');
    text
}

#[test]
fn ops_json_holds_every_operation_with_its_schemas() {
    let op = |info: &OpInfo| {
        json!({
            "name": info.name, "about": info.about, "effect": info.effect, "custody": info.custody,
            "command": info.command(), "positional": info.positional, "holds": info.holds,
            "examples": info.examples.iter().map(|(line, what)| json!({ "command": line, "what": what })).collect::<Vec<_>>(),
            "input": (info.input_schema)(), "output": (info.output_schema)(),
        })
    };
    let ops: Vec<Value> = OPS.iter().map(|entry| op(&entry.info)).collect();
    hold("ops.json", &pretty(&json!({ "note": NOTE, "ops": ops })));
}

#[test]
fn ops_md_says_what_each_operation_does_takes_and_needs() {
    let mut text = format!(
        "# Operations\n\n{NOTE}\n\nEvery operation's parameters may carry `session`, `token`, `idempotency_key` and `dry_run` as well.\n"
    );
    for entry in OPS {
        let info = &entry.info;
        let _ = write!(
            text,
            "\n## `{}`\n\n{}.\n\n`{}` · effect: {} · custody: {}\n",
            info.name,
            info.about,
            info.command(),
            info.effect,
            info.custody
        );
        let input = (info.input_schema)();
        let required: Vec<&str> =
            input["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let members = input["properties"].as_object().cloned().unwrap_or_default();
        if !members.is_empty() {
            text.push_str("\n| parameter | type | meaning |\n|---|---|---|\n");
        }
        for (name, member) in &members {
            let must = if required.contains(&name.as_str()) { " (required)" } else { "" };
            let about = member["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
            let _ = writeln!(text, "| `{name}`{must} | {} | {about} |", kind(member));
        }
        if !info.examples.is_empty() {
            text.push_str("\n```sh\n");
            for (line, what) in info.examples {
                let _ = writeln!(text, "{line}  # {what}");
            }
            text.push_str("```\n");
        }
    }
    hold("ops.md", &text);
}

#[test]
fn events_json_holds_the_schema_and_version_of_every_event() {
    let schema = schema_of::<Event>();
    let mut events = Vec::new();
    types(&schema, &mut events);
    events.sort();
    assert!(events.len() > 30, "every family is looked into: {events:?}");
    let versions: serde_json::Map<String, Value> =
        events.iter().map(|name| (name.clone(), json!(current_version(name)))).collect();
    hold("events.json", &pretty(&json!({ "note": NOTE, "versions": versions, "schema": schema })));
}

/// The `type` constants of a schema's branches.
fn types(schema: &Value, found: &mut Vec<String>) {
    let of_branch = schema.pointer("/properties/type/const").and_then(Value::as_str);
    if let Some(name) = of_branch {
        found.push(name.to_owned());
        return;
    }
    for branch in ["oneOf", "anyOf"].iter().filter_map(|name| schema[*name].as_array()).flatten() {
        types(branch, found);
    }
}

#[test]
fn errors_md_lists_every_code_with_its_exit_status() {
    let mut text = format!(
        "# Refusals\n\n{NOTE}\n\nA refusal is a JSON-RPC error whose `data` is `{{code, category, recoverable, retry_helps, next, details}}`. On the command\nline the exit status is that of the category. 0 is an answer; 8 is an answer that says that what was asked about does not\nhold; 74 is an answer that standard output did not take.\n\n| code | number | category | exit | recoverable | repeating helps | meaning |\n|---|---|---|---|---|---|---|\n"
    );
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    for code in Code::ALL {
        let category = serde_json::to_value(code.category()).expect("it serialises");
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {} |",
            code.name(),
            code.number(),
            category.as_str().unwrap_or_default(),
            code.exit_status(),
            yes(code.recoverable()),
            yes(code.retry_helps()),
            code.about().replace('|', "\\|"),
        );
    }
    hold("errors.md", &text);
}

#[test]
fn cli_md_holds_the_help_of_every_command() {
    let ops: Vec<OpInfo> = OPS.iter().map(|entry| entry.info).collect();
    let help = |words: &[&str]| {
        let args: Vec<std::ffi::OsString> = words.iter().map(std::ffi::OsString::from).collect();
        let mut console = cli::Console { columns: 100, open: &mut cli::open };
        match cli::parse(&args, &ops, &mut console).map(|parsed| parsed.action) {
            Ok(cli::Action::Help(text)) => cli::plain(&text).lines().map(str::trim_end).collect::<Vec<_>>().join("\n"),
            other => panic!("{words:?} gives no help: {other:?}"),
        }
    };
    let mut text = format!("# Command line\n\n{NOTE}\n\n## kctl\n\n```text\n{}\n```\n", help(&["--help"]));
    let mut nouns: Vec<&str> = ops.iter().map(OpInfo::noun).collect();
    nouns.dedup();
    for noun in nouns {
        let verbs: Vec<&OpInfo> = ops.iter().filter(|info| info.noun() == noun).collect();
        let word = noun.replace('_', "-");
        if verbs.iter().any(|info| info.verb().is_some()) {
            let _ = write!(text, "\n## kctl {word}\n\n```text\n{}\n```\n", help(&[&word, "--help"]));
        }
        for info in verbs {
            let command = info.command();
            let words: Vec<&str> = command.split(' ').skip(1).chain(["--help"]).collect();
            let _ = write!(text, "\n### {command}\n\n```text\n{}\n```\n", help(&words));
        }
    }
    for builtin in ["rpc", "git-hook", "completions", "man", "quickstart"] {
        let _ = write!(text, "\n### kctl {builtin}\n\n```text\n{}\n```\n", help(&[builtin, "--help"]));
    }
    hold("cli.md", &text);
}
