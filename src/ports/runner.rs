//! Running commands under supervision.

pub use crate::domain::isolation::{Isolation, Sandbox, Tier};
pub use crate::domain::process::{
    DEFAULT_OUTPUT_BYTES, Ended, Invocation, Leftover, Leftovers, MAX_LEFTOVERS, MAX_OUTPUT_BYTES, MIN_OUTPUT_BYTES,
    NoVersion, NotStarted, Outcome, Output, Program, Streams,
};

/// One of several runs. `key` tells whoever asked which one it is.
#[derive(Clone, Debug)]
pub struct Job {
    pub key: usize,
    pub invocation: Invocation,
}

/// Runs commands so that nothing of them outlives the call, and nothing of them is kept unredacted.
///
/// Several runs may go on in several threads. They do not disturb each other.
pub trait Runner: Sync {
    /// Runs to the end, whatever the end is: this returns within the timeout, the grace and some bounded seconds.
    /// `on_output` is shown the kept and the dropped output alike, redacted, as it comes. It is for people.
    fn run(&self, invocation: &Invocation, on_output: &mut dyn FnMut(&str)) -> Outcome;

    /// Runs `first` and whatever `on_end` asks for after that, at most `parallel` at once, until nothing is left.
    /// `on_end` is called where this was called, once for each run as it ends; `on_output` where the run is.
    fn run_many(
        &self,
        first: Vec<Job>,
        parallel: usize,
        on_output: &(dyn Fn(usize, &str) + Sync),
        on_end: &mut dyn FnMut(usize, Outcome) -> Vec<Job>,
    );

    /// How many processors there are for runs.
    fn processors(&self) -> usize;

    /// The first line that `program` says about its version, run in `cwd` (which decides it for tools such as
    /// `rustup`). Bounded in time and length. A tool of the repository is shut in as its check is.
    fn tool_version(
        &self,
        program: &str,
        cwd: &std::path::Path,
        sandbox: Option<&Sandbox>,
    ) -> Result<String, NoVersion>;

    /// How far a run would be shut in.
    fn isolation(&self, sandbox: &Sandbox) -> Isolation;
}
