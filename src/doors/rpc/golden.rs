//! The golden requests in `tests/golden/rpc`, one test over all of them, and laws over any input.
//!
//! `NAME.request` holds the bytes of the input; `NAME.repeat.json` says how to make an input too large to keep
//! (`{"before", "text", "times", "after"}`). `NAME.expected` holds the calls that ran, one a line, and then the answer to
//! the byte. A missing expectation is written, and the test fails so that somebody reads it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::serve;
use crate::domain::answer::{Answer, Truncation, Warning};
use crate::domain::refusal::{Code, Next, Refusal};

#[derive(Deserialize)]
struct Repeat {
    before: String,
    text: String,
    times: usize,
    after: String,
}

/// Operations that show each kind of outcome.
fn run(op: &str, params: Map<String, Value>) -> Result<Answer, Refusal> {
    match op {
        "test.echo" => Ok(Answer::of(Value::Object(params))),
        "test.full" => {
            let mut answer = Answer::of(json!({"tasks": []}));
            answer.next.push(Next::new("test.echo", "see it again", json!({"n": 1})));
            answer.warnings.push(Warning::new("slow_disk", "the disk is slow"));
            let how = "send `after`".to_owned();
            answer.truncated.push(Truncation { what: "/tasks".into(), limit: 10, total: Some(12), how });
            Ok(answer)
        }
        "test.refuse" => Err(Refusal::new(Code::TASK_HELD, "task `t-1` is held by `ada`").with("holder", "ada").next(
            "test.echo",
            "look at another",
            json!({"n": 2}),
        )),
        "test.panic" => panic!("a secret that must not be in the answer"),
        _ => Err(Refusal::new(Code::UNKNOWN_OPERATION, format!("no operation is called `{op}`"))),
    }
}

/// What was called, and what came back.
fn transcript(input: &[u8]) -> Vec<u8> {
    let mut out = String::new();
    let answer = serve(input, &mut |op, params| {
        out.push_str(&format!("ran: {op:?} {}\n", Value::Object(params.clone())));
        run(op, params)
    });
    let mut out = out.into_bytes();
    match answer {
        Some(bytes) => {
            out.extend(b"answer: ");
            out.extend(bytes);
        }
        None => out.extend(b"no answer\n"),
    }
    out
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rpc")
}

fn input(name: &str) -> Vec<u8> {
    if let Ok(bytes) = fs_err::read(directory().join(format!("{name}.request"))) {
        return bytes;
    }
    let recipe = fs_err::read(directory().join(format!("{name}.repeat.json"))).expect("a case has an input");
    let recipe: Repeat = serde_json::from_slice(&recipe).expect("a recipe is JSON");
    [recipe.before, recipe.text.repeat(recipe.times), recipe.after].concat().into_bytes()
}

fn cases() -> BTreeSet<String> {
    let entries = fs_err::read_dir(directory()).expect("the golden directory is there");
    let names =
        entries.map(|entry| entry.expect("it can be listed").file_name().into_string().expect("names are ASCII"));
    names
        .filter_map(|name| name.split_once('.').map(|(case, _)| case.to_owned()))
        .filter(|case| !case.is_empty())
        .collect()
}

#[test]
fn every_golden_request_is_answered_to_the_byte() {
    let cases = cases();
    assert!(cases.len() >= 60, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    for name in &cases {
        let path = directory().join(format!("{name}.expected"));
        let got = transcript(&input(name));
        match fs_err::read(&path) {
            Ok(expected) if expected == got => {}
            Ok(expected) => wrong.push(format!(
                "{name}\n  expected {}\n  got      {}",
                String::from_utf8_lossy(&expected),
                String::from_utf8_lossy(&got)
            )),
            Err(_) => {
                fs_err::write(&path, got).expect("the golden directory can be written");
                wrong.push(format!("{name}: written; read it before you keep it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_a_panic_says_stays_out_of_the_answer() {
    let answer = transcript(br#"{"jsonrpc":"2.0","id":1,"method":"test.panic"}"#);
    let answer = String::from_utf8(answer).expect("answers are UTF-8");
    assert!(answer.contains("-32603") && !answer.contains("secret"), "{answer}");
}

/// That `bytes` is what the specification calls a response, or an array of them.
fn is_legal_output(bytes: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return false };
    let responses = match value {
        Value::Array(responses) if responses.is_empty() => return false,
        Value::Array(responses) => responses,
        single => vec![single],
    };
    responses.iter().all(|response| {
        let Some(members) = response.as_object() else { return false };
        let id_is_legal = matches!(members.get("id"), Some(Value::Null | Value::String(_) | Value::Number(_)));
        let outcomes = ["result", "error"].iter().filter(|name| members.contains_key(**name)).count();
        let number = members.get("error").map(|error| error["code"].is_i64() && error["message"].is_string());
        members["jsonrpc"] == "2.0" && id_is_legal && outcomes == 1 && members.len() == 3 && number != Some(false)
    })
}

/// Texts that are nearly requests.
fn near_requests() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"jsonrpc\"",
        "\"2.0\"",
        "\"id\"",
        "\"method\"",
        "\"params\"",
        "\"test.echo\"",
        "1",
        "-1",
        "1.5",
        "1e3",
        "null",
        "true",
        "\"\\ud800\"",
        "\"\\u0000\"",
        " ",
        "\"a\"",
        "{\"a\":1}",
        "[]",
        "\u{feff}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"test.echo\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"test.echo\"}",
    ]);
    prop::collection::vec(token, 0..14).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn any_bytes_get_a_legal_answer_or_none(input in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Some(answer) = serve(&input, &mut run) {
            prop_assert!(is_legal_output(&answer));
        }
    }

    #[test]
    fn anything_near_a_request_gets_a_legal_answer_or_none(input in near_requests()) {
        if let Some(answer) = serve(input.as_bytes(), &mut run) {
            prop_assert!(is_legal_output(&answer), "{}", String::from_utf8_lossy(&answer));
        }
    }

    #[test]
    fn an_id_comes_back_byte_for_byte(id in "(-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][-+]?[0-9]{1,5})?)|\"[a-zé\\\\n]{0,9}\"") {
        prop_assume!(serde_json::from_str::<&serde_json::value::RawValue>(&id).is_ok());
        let input = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"test.echo"}}"#);
        let answer = serve(input.as_bytes(), &mut run).expect("a request is answered");
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        prop_assert!(answer.starts_with(head.as_bytes()), "{}", String::from_utf8_lossy(&answer));
    }
}
