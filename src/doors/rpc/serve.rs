//! Serves one request or one batch and is done.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::envelope::{self, Rejected, Request};
use super::reply::{line, response, without_id};
use super::strict::{Items, clip, parse_object};
use super::text::{self, MAX_REQUEST_BYTES};
use crate::domain::answer::Answer;
use crate::domain::refusal::{Code, Refusal};

/// The most requests one batch may hold.
pub const MAX_BATCH: usize = 100;

/// Runs one operation: its name and its parameters by name.
type Call<'c> = dyn FnMut(&str, Map<String, Value>) -> Result<Answer, Refusal> + 'c;

/// Reads a request from `input`, and at most one byte more than a request may have, so that `serve` can refuse it.
///
/// # Errors
/// `STORAGE_FAILED` when the system cannot read it.
pub fn read_request(input: impl Read) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let limit = MAX_REQUEST_BYTES as u64 + 1;
    match input.take(limit).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => {
            let message = format!("the request cannot be read from standard input: {error}");
            Err(Refusal::new(Code::STORAGE_FAILED, message).with("path", "-"))
        }
    }
}

/// Answers the request or the batch in `input`: one line, or `None` when nothing in it may be answered.
pub fn serve(input: &[u8], call: &mut Call<'_>) -> Option<Vec<u8>> {
    match text::checked(input) {
        Err(refusal) => Some(line(without_id(refusal))),
        Ok(raw) if raw.get().starts_with('[') => batch(raw, call).map(line),
        Ok(raw) => single(raw, "", call).map(line),
    }
}

/// Answers `kctl rpc --op`: calls `op` with the JSON object `params` and gives the response to a request with id 1, and
/// what came of it.
pub fn serve_op(op: &str, params: Option<&[u8]>, call: &mut Call<'_>) -> (Vec<u8>, Result<Answer, Refusal>) {
    let id: &RawValue = serde_json::from_str("1").expect("1 is JSON");
    let params = params.map_or_else(|| Ok(Map::new()), parse_object);
    let outcome = params.and_then(|params| run(op, params, call));
    (line(response(id, &outcome)), outcome)
}

fn batch(raw: &RawValue, call: &mut Call<'_>) -> Option<String> {
    let entries = match Items::of(raw, MAX_BATCH) {
        Ok(entries) => entries,
        Err(error) => return Some(without_id(Refusal::new(Code::PARSE_ERROR, error.to_string()))),
    };
    if entries.count == 0 {
        let message = "the batch is empty: send at least one request";
        return Some(without_id(Refusal::new(Code::INVALID_REQUEST, message).with("fault", "empty_batch")));
    }
    if entries.count > MAX_BATCH {
        let message = format!("the batch has {} requests; at most {MAX_BATCH} are taken", entries.count);
        let refusal = Refusal::new(Code::REQUEST_TOO_LARGE, message).with("fault", "too_many_requests");
        return Some(without_id(refusal.with("limit", MAX_BATCH).with("requests", entries.count)));
    }
    let numbered = entries.first.into_iter().enumerate();
    let replies: Vec<String> = numbered.filter_map(|(at, entry)| single(entry, &format!("/{at}"), call)).collect();
    if replies.is_empty() { None } else { Some(format!("[{}]", replies.join(","))) }
}

/// Runs one entry and gives its response object, `None` for a notification.
fn single(entry: &RawValue, prefix: &str, call: &mut Call<'_>) -> Option<String> {
    match envelope::read(entry, prefix) {
        Ok(Request { id, method, params }) => {
            let outcome = run(&method, params, call);
            id.map(|id| response(id, &outcome))
        }
        Err(Rejected { silent: true, .. }) => None,
        Err(Rejected { id: Some(id), refusal, .. }) => Some(response(id, &Err(refusal))),
        Err(Rejected { id: None, refusal, .. }) => Some(without_id(refusal)),
    }
}

fn run(method: &str, params: Map<String, Value>, call: &mut Call<'_>) -> Result<Answer, Refusal> {
    if method.starts_with("rpc.") {
        let message = format!("`{}` is reserved: JSON-RPC keeps names that start with `rpc.` to itself", clip(method));
        return Err(Refusal::new(Code::UNKNOWN_OPERATION, message).with("fault", "reserved_name"));
    }
    // One request's fault must not take the rest of its batch along. What the panic said is on stderr and stays out of
    // the answer: it can hold anything (I12).
    catch_unwind(AssertUnwindSafe(|| call(method, params))).unwrap_or_else(|_| {
        let message = format!("kctl failed inside `{}`; what it said is on stderr", clip(method));
        Err(Refusal::new(Code::INTERNAL, message).with("fault", "panic"))
    })
}
