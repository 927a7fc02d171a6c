//! A typed "yes": what every door gives back when an operation has run (DESIGN §5, Wire).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::Digest;
use super::id::{EventId, OriginId};
use super::refusal::Next;

/// The answer to one call. Every member is always present on the wire, empty or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// What was asked for; its shape is the operation's output schema.
    pub data: Value,
    pub receipt: Receipt,
    /// Operations that are legal now, most useful first, ready to send.
    pub next: Vec<Next>,
    pub warnings: Vec<Warning>,
    /// What was cut from `data` and how to get the rest.
    pub truncated: Vec<Truncation>,
}

impl Answer {
    /// An answer that recorded nothing and has nothing to add.
    pub fn of(data: Value) -> Self {
        Self { data, receipt: Receipt::default(), next: Vec::new(), warnings: Vec::new(), truncated: Vec::new() }
    }
}

/// What the call recorded. An event named here is on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    pub events: Vec<EventId>,
    /// The end of this clone's ledger after the call; `null` when no ledger was opened.
    pub ledger: Option<LedgerHead>,
    /// Whether this is the stored answer of an earlier call with the same idempotency key.
    pub replayed: bool,
}

/// The last event of one origin's chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerHead {
    pub origin: OriginId,
    /// How many events the origin has recorded.
    pub oseq: u64,
    /// The seal of the last of them.
    pub seal: Digest,
}

/// Something the caller should know that did not stop the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// A stable name in snake case.
    pub code: String,
    pub message: String,
}

impl Warning {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }
}

/// A bound that bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Truncation {
    /// The part of `data` that was cut, as a JSON pointer or a plain name.
    pub what: String,
    /// The bound: items or bytes, as `what` implies.
    pub limit: u64,
    /// How much there was, where that is known.
    pub total: Option<u64>,
    /// How to get the rest.
    pub how: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_shape_on_the_wire_is_whole_even_when_there_is_nothing_to_say() {
        let wire = serde_json::to_value(Answer::of(json!({}))).expect("an answer serialises");
        let receipt = json!({"events": [], "ledger": null, "replayed": false});
        assert_eq!(wire, json!({"data": {}, "receipt": receipt, "next": [], "warnings": [], "truncated": []}));
    }

    #[test]
    fn an_answer_that_was_stored_reads_back_the_same() {
        let seal = Digest::of(b"x");
        let mut answer = Answer::of(json!([1]));
        answer.receipt.ledger = Some(LedgerHead { origin: OriginId::new(uuid::Uuid::nil()), oseq: 42, seal });
        answer.warnings.push(Warning::new("clock_set_back", "the clock was set back"));
        answer.truncated.push(Truncation { what: "/0".into(), limit: 1, total: None, how: "ask again".into() });
        let stored = serde_json::to_string(&answer).expect("an answer serialises");
        assert_eq!(serde_json::from_str::<Answer>(&stored).expect("what was stored is legal"), answer);
    }
}
