//! What a host is about to do, and what it did.

mod attempt;
pub mod evaluate;
mod finished;
mod ground;
pub mod observe;
mod once;
