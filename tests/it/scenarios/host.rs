//! A host as it is scripted: it asks kctl before each tool, runs only what is allowed, and reports what came of it.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::place::{Place, write};

/// What the host asks before it runs a tool.
pub fn question(host: &str, tool: &str, arguments: &Value) -> Map<String, Value> {
    let members = [("host", json!(host)), ("tool", json!(tool)), ("arguments", arguments.clone())];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// What it reports afterwards. A status is given only where the tool has one.
pub fn report(mut question: Map<String, Value>, call: &str, result: &Value) -> Map<String, Value> {
    question.insert("call".to_owned(), json!(call));
    if let Some(printed) = result.get("stdout").and_then(Value::as_str) {
        let all = format!("{printed}{}", result["stderr"].as_str().unwrap_or_default());
        question.insert("result".to_owned(), json!(all));
        question.insert("exit".to_owned(), result["status"].clone());
    }
    question
}

/// Runs what was allowed, as Claude Code's tools of these names do. Gives `status` and what was read or printed.
pub fn run(place: &Place, dir: &Path, tool: &str, arguments: &Value) -> Value {
    let member = |name: &str| arguments[name].as_str().unwrap_or_else(|| panic!("`{tool}` has no `{name}`"));
    match tool {
        "Write" => {
            write(&dir.join(member("file_path")), member("content"));
            json!({ "status": 0 })
        }
        "Read" => match fs::read_to_string(dir.join(member("file_path"))) {
            Ok(text) => json!({ "status": 0, "content": text }),
            Err(why) => json!({ "status": 1, "error": why.to_string() }),
        },
        "LS" | "Grep" | "Glob" => {
            let path = dir.join(arguments["path"].as_str().unwrap_or("."));
            let names = fs::read_dir(path).map(|listed| listed.filter_map(Result::ok).count());
            names.map_or_else(
                |why| json!({ "status": 1, "error": why.to_string() }),
                |n| json!({ "status": 0, "entries": n }),
            )
        }
        "Bash" => {
            let ran = place.run(dir, "bash", &["-c", member("command")], None);
            json!({ "status": ran.status, "stdout": ran.stdout, "stderr": ran.stderr })
        }
        other => panic!("the scripted host has no tool `{other}` to run"),
    }
}
