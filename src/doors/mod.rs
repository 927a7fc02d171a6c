//! How a call gets in. A door reads a request, hands it to `ops::call`, and writes what comes back; it decides nothing.

pub mod cli;
pub mod git_hook;
pub mod quickstart;
pub mod rpc;
mod run;

pub use run::run;
