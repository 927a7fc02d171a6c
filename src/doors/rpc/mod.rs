//! JSON-RPC 2.0 on bytes: one request or a batch in, one response or a batch out, to the letter of the 2013
//! specification.
//!
//! Where the specification leaves room, this door is strict, so that a slip is named instead of guessed at:
//! - a member that a request object does not have (`idempotency_key` beside `params`, `parms`) is an invalid request;
//! - a member that is given twice is refused, at any depth, by its JSON pointer;
//! - `params` are by name. A list of positions is legal JSON-RPC and is refused as invalid params; an empty list holds
//!   no position and is the same as no params;
//! - an id that could be read is echoed byte for byte, with an error as with a result; otherwise it is null;
//! - a request that is not valid is always answered, with or without an id; a valid notification never is.

mod envelope;
mod reply;
mod serve;
mod strict;
mod text;

#[cfg(test)]
mod golden;

pub use reply::refused;
pub use serve::{MAX_BATCH, read_request, serve, serve_op};
pub use strict::{parse, parse_object};
pub use text::{MAX_DEPTH, MAX_REQUEST_BYTES};
