//! Laws of the registry: what every operation must be, whoever writes the next one.

use std::collections::HashSet;
use std::ffi::OsString;

use kctl::domain::effect::{Custody, Effect};
use kctl::domain::op_info::OpInfo;
use kctl::doors::cli::{self, Action, Console, Source};
use kctl::ops::registry::OPS;
use kctl::ops::waist::RESERVED;
use serde_json::{Value, json};

use crate::place::{Place, text};
use crate::samples::filled;

fn infos() -> Vec<OpInfo> {
    OPS.iter().map(|entry| entry.info).collect()
}

#[test]
fn names_are_unique_and_spelled_noun_dot_verb() {
    let mut seen = HashSet::new();
    for info in infos() {
        assert!(seen.insert(info.name), "{} stands twice", info.name);
        let parts: Vec<&str> = info.name.split('.').collect();
        let word = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(parts.len() <= 2 && parts.iter().all(word), "{}", info.name);
        assert!(
            info.about.starts_with(|c: char| c.is_ascii_uppercase()) && !info.about.ends_with('.'),
            "{}",
            info.about
        );
        assert!(info.about.len() <= 100, "{}: help shows one line", info.name);
    }
    let nouns: HashSet<&str> = infos().iter().filter(|info| info.verb().is_some()).map(OpInfo::noun).collect();
    let mixed: Vec<&str> = infos()
        .iter()
        .filter(|info| info.verb().is_none() && nouns.contains(info.name))
        .map(|info| info.name)
        .collect();
    assert!(mixed.is_empty(), "a word is a noun or an operation of its own: {mixed:?}");
}

#[test]
fn every_schema_is_one_names_its_members_and_refuses_others() {
    for entry in OPS {
        let info = &entry.info;
        for schema in [(info.input_schema)(), (info.output_schema)()] {
            jsonschema::meta::validate(&schema).unwrap_or_else(|why| panic!("{}: {why}", info.name));
        }
        let input = (info.input_schema)();
        assert_eq!(input["type"], "object", "{}", info.name);
        assert_eq!(input["additionalProperties"], false, "{} takes what it does not know", info.name);
        let members = input["properties"].as_object().cloned().unwrap_or_default();
        for reserved in RESERVED {
            assert!(!members.contains_key(reserved), "{}: `{reserved}` belongs to the envelope", info.name);
        }
        for name in info.positional {
            assert!(members.contains_key(*name), "{}: no member `{name}` to take by position", info.name);
        }
        let params = filled(&input);
        if let Err(refusal) = (entry.prepare)(params.clone()) {
            panic!("{} refuses what fits its schema: {refusal} ({params:?})", info.name);
        }
        let mut unknown = params;
        unknown.insert("no_such_member".to_owned(), json!(1));
        let refusal = (entry.prepare)(unknown).err().unwrap_or_else(|| panic!("{} takes an unknown member", info.name));
        assert_eq!(refusal.details()["member"], "no_such_member", "{}", info.name);
    }
}

#[test]
fn an_operation_under_a_claim_names_its_task_and_columns_and_verdicts_are_in_its_output() {
    for entry in OPS {
        let info = &entry.info;
        if matches!(info.custody, Custody::Claim | Custody::Workspace) {
            let prepared =
                (entry.prepare)(filled(&(info.input_schema)())).unwrap_or_else(|refusal| panic!("{refusal}"));
            assert!(prepared.task.is_some(), "{} names no task", info.name);
            assert!(info.effect.changes(), "{}: who only reads needs no claim", info.name);
        }
        let output = (info.output_schema)();
        let has = |member: &str| output.pointer(&format!("/properties/{member}")).is_some();
        if let Some(holds) = info.holds {
            assert!(has(holds), "{}: no member `{holds}`", info.name);
        }
        for member in entry.shown_once {
            assert!(has(member), "{}: no member `{member}`", info.name);
        }
        let text = output.to_string();
        for column in info.columns {
            let column = column.trim_end_matches('?');
            assert!(text.contains(&format!("\"{column}\":")), "{}: no column `{column}`", info.name);
        }
        assert!(info.columns.is_empty() || text.contains("\"items\"") || text.contains("array"), "{}", info.name);
    }
}

#[test]
fn what_changes_nothing_asks_for_no_custody() {
    for info in infos().iter().filter(|info| info.effect == Effect::Read) {
        assert_eq!(info.custody, Custody::None, "{}: everybody may look", info.name);
    }
}

/// The words of a shell line, as far as examples use a shell: quotes, and one command inside `$( )`.
fn words(line: &str) -> Vec<OsString> {
    let line = match line.split_once("$(") {
        Some((_, rest)) => rest.split(" | ").next().unwrap_or_default(),
        None => line,
    };
    let (mut words, mut word, mut quote, mut any) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => (quote, any) = (Some(c), true),
            (Some(open), c) if c == open => quote = None,
            (None, ' ') => {
                if any || !word.is_empty() {
                    words.push(OsString::from(std::mem::take(&mut word)));
                }
                any = false;
            }
            (_, c) => word.push(c),
        }
    }
    if any || !word.is_empty() {
        words.push(OsString::from(word));
    }
    words
}

#[test]
fn every_example_is_a_command_line_of_its_operation() {
    let ops = infos();
    for info in &ops {
        for (line, what) in info.examples {
            assert!(!what.is_empty(), "{line}");
            let words = words(line);
            assert_eq!(words[0], "kctl", "{line}");
            let mut open = |_: Source<'_>| Ok(Box::new(std::io::empty()) as Box<dyn std::io::Read>);
            let mut console = Console { columns: 0, open: &mut open };
            let parsed =
                cli::parse(&words[1..], &ops, &mut console).unwrap_or_else(|refusal| panic!("{line}: {refusal}"));
            match parsed.action {
                Action::Op { name, params } => {
                    assert_eq!(name, info.name, "{line}");
                    let schema = jsonschema::validator_for(&(info.input_schema)()).expect("it compiles");
                    if let Err(why) = schema.validate(&Value::Object(params)) {
                        panic!("{line}: {why}");
                    }
                }
                other => panic!("{line} is no call: {other:?}"),
            }
        }
    }
}

#[test]
fn every_operation_can_be_asked_for_help_and_described() {
    let place = Place::untouched();
    let nowhere = place.top();
    let listed = place.kctl_in(nowhere, &["ops", "list", "--json"]);
    let names: Vec<String> =
        listed.ok().json()["data"]["items"].as_array().expect("a list").iter().map(|one| text(&one["name"])).collect();
    assert_eq!(names, infos().iter().map(|info| info.name.to_owned()).collect::<Vec<_>>());
    let batch: Vec<Value> = names
        .iter()
        .map(|name| json!({ "jsonrpc": "2.0", "id": name, "method": "ops.describe", "params": { "name": name } }))
        .collect();
    let answers = place.rpc_in(nowhere, &Value::Array(batch));
    for (answer, info) in answers.as_array().expect("a batch").iter().zip(infos()) {
        assert_eq!(answer["result"]["data"]["command"], json!(info.command()), "{answer:#}");
        let command = info.command();
        let args: Vec<&str> = command.split(' ').skip(1).chain(["--help"]).collect();
        let help = place.kctl_in(nowhere, &args);
        assert_eq!(help.status, 0, "{command}");
        assert!(help.stdout.contains("Usage:") && help.stdout.contains("--json"), "{}", help.stdout);
        // Help is wrapped, and an example with it.
        let flowing = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (line, _) in info.examples {
            assert!(flowing(&help.stdout).contains(&flowing(line)), "{command} shows its examples");
        }
    }
}
