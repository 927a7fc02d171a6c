//! The request decoder: whatever comes on stdin, what goes out is a legal JSON-RPC 2.0 response, an array of them, or
//! nothing; and no operation's parameters are read so that it panics.
#![no_main]

use std::collections::BTreeMap;

use kctl::domain::answer::Answer;
use kctl::domain::refusal::{Code, Refusal};
use kctl::doors::rpc::serve;
use kctl::ops::registry;
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Decodes the parameters as the operation would, runs nothing, and gives them back.
fn decode(op: &str, params: Map<String, Value>) -> Result<Answer, Refusal> {
    let echo = Value::Object(params.clone());
    match registry::find(op) {
        Some(entry) => (entry.prepare)(params).map(|_| Answer::of(echo)),
        None if op == "echo" => Ok(Answer::of(echo)),
        None => Err(Refusal::new(Code::UNKNOWN_OPERATION, "no such operation")),
    }
}

/// Members as they stand: an id is echoed byte for byte, and may be a number that no machine number holds.
type Response = BTreeMap<String, Box<RawValue>>;

fn is_legal(response: &Response) -> bool {
    let id = response.get("id").is_some_and(|id| {
        let id = id.get();
        id == "null" || id.starts_with('"') || id.starts_with('-') || id.starts_with(|first: char| first.is_ascii_digit())
    });
    let error = response.get("error").is_none_or(|error| {
        let error: Value = serde_json::from_str(error.get()).expect("an error is JSON of our own");
        error["code"].is_i64() && error["message"].is_string() && error["data"]["code"].is_string()
    });
    let one = response.contains_key("result") != response.contains_key("error");
    response.get("jsonrpc").is_some_and(|version| version.get() == "\"2.0\"") && id && error && one && response.len() == 3
}

fuzz_target!(|input: &[u8]| {
    let Some(answer) = serve(input, &mut decode) else { return };
    assert_eq!(answer.iter().filter(|byte| **byte == b'\n').count(), 1, "one line");
    assert_eq!(answer.last(), Some(&b'\n'));
    if answer.starts_with(b"[") {
        let all: Vec<Response> = serde_json::from_slice(&answer).expect("the answer is JSON");
        assert!(!all.is_empty() && all.iter().all(is_legal), "{all:?}");
    } else {
        let single: Response = serde_json::from_slice(&answer).expect("the answer is JSON");
        assert!(is_legal(&single), "{single:?}");
    }
});
