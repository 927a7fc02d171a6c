//! Which contract a caller means: it may say so, and is refused if it is another by now.

use serde_json::{Value, json};

use crate::domain::digest::Digest;
use crate::domain::refusal::{Code, Refusal};

/// Refuses a caller that means another contract than the one that is judged by. `this` are the parameters that name what is
/// judged.
///
/// # Errors
/// `CONTRACT_DIGEST_MISMATCH`.
pub fn refuse_other_contract(meant: Option<&Digest>, is: &Digest, this: Value) -> Result<(), Refusal> {
    match meant {
        Some(meant) if meant != is => {
            let words = "the contract is another than the one that is meant: it was amended, or belongs to other work";
            Err(Refusal::new(Code::CONTRACT_DIGEST_MISMATCH, words)
                .with("field", json!("contract_digest"))
                .with("meant", meant)
                .with("is", is)
                .next("criterion.list", "shows what the contract asks for now", this))
        }
        Some(_) | None => Ok(()),
    }
}
