//! Response objects.

use jsonrpc_core::{Error, ErrorCode, Version};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::domain::answer::Answer;
use crate::domain::refusal::Refusal;

#[derive(Serialize)]
struct Success<'a> {
    jsonrpc: Version,
    id: &'a RawValue,
    result: &'a Answer,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: Version,
    id: &'a RawValue,
    error: Error,
}

/// The response object to the request with this `id`, without a line end. The id stands as it came.
pub(super) fn response(id: &RawValue, outcome: &Result<Answer, Refusal>) -> String {
    let text = match outcome {
        Ok(result) => serde_json::to_string(&Success { jsonrpc: Version::V2, id, result }),
        Err(refusal) => serde_json::to_string(&Failure { jsonrpc: Version::V2, id, error: error(refusal) }),
    };
    text.expect("JSON values, texts and numbers always serialise")
}

/// The response to something of which no id could be read.
pub(super) fn without_id(refusal: Refusal) -> String {
    response(RawValue::NULL, &Err(refusal))
}

/// The line that refuses a call before any request was read: bad flags, or standard input that cannot be read.
pub fn refused(refusal: &Refusal) -> Vec<u8> {
    line(without_id(refusal.clone()))
}

/// One line of output.
pub(super) fn line(mut text: String) -> Vec<u8> {
    text.push('\n');
    text.into_bytes()
}

fn error(refusal: &Refusal) -> Error {
    Error {
        code: ErrorCode::from(refusal.code().number()),
        message: refusal.message().to_owned(),
        data: Some(refusal.data()),
    }
}
