//! A host reports each of its calls once: a second report under the same id gets the first answer.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::digest::Digest;
use crate::domain::id::SessionId;
use crate::domain::refusal::{Code, Refusal};
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ports::ledger::StoredAnswer;

/// A report, by the host's id of the call.
pub struct Reported {
    /// No idempotency key begins like this: those are a session's own, and begin with its id or `-`.
    stored_as: String,
    shown: String,
    request: Digest,
}

impl Reported {
    pub fn new(session: &SessionId, call: &str, request: Digest) -> Self {
        Self { stored_as: format!("observed/{session}/{call}"), shown: call.to_owned(), request }
    }

    /// The answer to an earlier report of the same.
    ///
    /// # Errors
    /// `IDEMPOTENCY_MISMATCH` when another action was reported under this id.
    pub fn answered<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<Option<T>, Refusal> {
        let ledger = call.ledger.as_ref().ok_or_else(fault::not_initialised)?;
        let Some(stored) = ledger.answer(&self.stored_as).map_err(fault::of_ledger)? else { return Ok(None) };
        let shown = &self.shown;
        if stored.request != self.request {
            let words = format!("another action was reported as `{shown}`: every call has an id of its own");
            return Err(Refusal::new(Code::IDEMPOTENCY_MISMATCH, words).with("field", "call"));
        }
        serde_json::from_str(&stored.answer)
            .map(Some)
            .map_err(|why| Refusal::new(Code::LEDGER_CORRUPT, format!("the answer to `{shown}` cannot be read: {why}")))
    }

    /// Keeps the answer, in the step that records the action.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn keep<T: Serialize>(&self, call: &mut Call<'_>, answer: &T) -> Result<(), Refusal> {
        let at = call.now();
        let answer = serde_json::to_string(answer).expect("an answer always serialises");
        let stored = StoredAnswer { request: self.request.clone(), answer };
        let ledger = call.ledger.as_mut().ok_or_else(fault::not_initialised)?;
        ledger.remember(&self.stored_as, &stored, at).map_err(fault::of_ledger)
    }
}
