//! Running commands under supervision.

pub use crate::domain::process::{
    DEFAULT_OUTPUT_BYTES, Ended, Invocation, Leftover, Leftovers, MAX_LEFTOVERS, MAX_OUTPUT_BYTES, MIN_OUTPUT_BYTES,
    NoVersion, NotStarted, Outcome, Output, Program, Streams,
};

/// Runs commands so that nothing of them outlives the call, and nothing of them is kept unredacted.
///
/// Several runs may go on in several threads. They do not disturb each other.
pub trait Runner: Sync {
    /// Runs to the end, whatever the end is: this returns within the timeout, the grace and some bounded seconds.
    /// `on_output` is shown the kept and the dropped output alike, redacted, as it comes. It is for people.
    fn run(&self, invocation: &Invocation, on_output: &mut dyn FnMut(&str)) -> Outcome;

    /// The first line that `program` says about its version, run in `cwd` (which decides it for tools such as
    /// `rustup`). Bounded in time and length.
    fn tool_version(&self, program: &str, cwd: &std::path::Path) -> Result<String, NoVersion>;
}
