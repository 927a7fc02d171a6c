//! What holds for every answer and refusal there is, whatever was called. `Place` asks it of everything that it sees, so
//! that each story of the suite is one more trial.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use kctl::domain::answer::Answer;
use kctl::domain::refusal::{Category, Code};
use kctl::ops::registry;
use kctl::ops::waist::RESERVED;
use serde_json::{Value, json};

use crate::place::{Place, Ran};

/// Schemas of one side of an operation, compiled once.
type Compiled = Mutex<HashMap<&'static str, Arc<Validator>>>;

static INPUTS: LazyLock<Compiled> = LazyLock::new(Compiled::default);
static OUTPUTS: LazyLock<Compiled> = LazyLock::new(Compiled::default);
/// Proposals that were sent on: the operation proposed, and the names of its parameters.
static SENT: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

fn compiled(cache: &Compiled, op: &'static str, schema: fn() -> Value) -> Arc<Validator> {
    let mut cache = cache.lock().expect("no test panics while it holds this");
    let compile = || Arc::new(jsonschema::validator_for(&schema()).expect("a schema of the registry compiles"));
    Arc::clone(cache.entry(op).or_insert_with(compile))
}

/// What a command printed with `--json`, and how it ended.
pub fn hold_cli(place: &Place, args: &[&str], ran: &Ran) {
    assert!(!ran.stderr.contains("panicked at"), "{args:?} panicked: {ran:#?}");
    if !args.contains(&"--json") || args.contains(&"--help") {
        return;
    }
    let said = ran.json();
    match said.get("error") {
        Some(error) => {
            let code = hold_refusal(place, error);
            assert_eq!(ran.status, i32::from(code.exit_status()), "{args:?}: {ran:#?}");
        }
        None => {
            hold_answer(place, &said, None);
            assert!(matches!(ran.status, 0 | 8), "{args:?} answered: {ran:#?}");
        }
    }
}

/// What the RPC door said to one request.
pub fn hold_rpc(place: &Place, request: &Value, response: &Value) {
    if let (Some(requests), Some(responses)) = (request.as_array(), response.as_array()) {
        for (request, response) in requests.iter().zip(responses) {
            hold_rpc(place, request, response);
        }
        return;
    }
    assert_eq!(response["jsonrpc"], "2.0", "{response:#}");
    match (response.get("result"), response.get("error")) {
        (Some(result), None) => hold_answer(place, result, request["method"].as_str()),
        (None, Some(error)) => {
            hold_refusal(place, error);
        }
        _ => panic!("neither result nor error, or both: {response:#}"),
    }
}

fn hold_answer(place: &Place, answer: &Value, op: Option<&str>) {
    serde_json::from_value::<Answer>(answer.clone()).unwrap_or_else(|why| panic!("no answer: {why}\n{answer:#}"));
    if let Some(entry) = op.and_then(registry::find) {
        let schema = compiled(&OUTPUTS, entry.info.name, entry.info.output_schema);
        if let Err(why) = schema.validate(&answer["data"]) {
            panic!("`{}` answered against its schema: {why}\n{answer:#}", entry.info.name);
        }
    }
    hold_next(place, &answer["next"]);
}

/// Checks that a refusal says what its code says, and gives the code.
fn hold_refusal(place: &Place, error: &Value) -> Code {
    let data = &error["data"];
    let name = data["code"].as_str().unwrap_or_else(|| panic!("no code: {error:#}"));
    let code = *Code::ALL.iter().find(|code| code.name() == name).unwrap_or_else(|| panic!("unknown code: {error:#}"));
    let expected = json!({
        "code": code.name(),
        "category": code.category(),
        "recoverable": code.recoverable(),
        "retry_helps": code.retry_helps(),
        "next": data["next"],
        "details": data["details"],
    });
    assert_eq!(*data, expected, "{error:#}");
    assert_eq!(error["code"], code.number(), "{error:#}");
    assert!(data["details"].is_object(), "{error:#}");
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error:#}");
    assert_ne!(code, Code::INTERNAL, "a fault of kctl itself: {error:#}");
    hold_next(place, &data["next"]);
    code
}

/// Every proposal names an operation that is there and fits its schema. One of each kind is sent on: a read as it is, a
/// write as a dry run.
fn hold_next(place: &Place, proposals: &Value) {
    for next in proposals.as_array().unwrap_or_else(|| panic!("`next` is a list: {proposals:#}")) {
        let op = next["op"].as_str().unwrap_or_else(|| panic!("no operation: {next:#}"));
        let entry = registry::find(op).unwrap_or_else(|| panic!("no operation is called so: {next:#}"));
        let mut params = next["params"].as_object().unwrap_or_else(|| panic!("no parameters: {next:#}")).clone();
        let names: Vec<&str> = params.keys().map(String::as_str).collect();
        let kind = format!("{op}({})", names.join(","));
        let own = params.iter().filter(|(name, _)| !RESERVED.contains(&name.as_str()));
        let own: Value = Value::Object(own.map(|(name, value)| (name.clone(), value.clone())).collect());
        let schema = compiled(&INPUTS, entry.info.name, entry.info.input_schema);
        if let Err(why) = schema.validate(&own) {
            panic!("proposed against its schema: {why}\n{next:#}");
        }
        if SENT.lock().expect("no test panics while it holds this").insert(kind) {
            if entry.info.effect.changes() {
                params.insert("dry_run".to_owned(), json!(true));
            }
            if let Err(refusal) = place.call(op, Value::Object(params)) {
                assert_ne!(
                    refusal["category"],
                    json!(Category::Decode),
                    "proposed, and malformed: {refusal:#}\n{next:#}"
                );
            }
        }
    }
}
