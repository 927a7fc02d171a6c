//! Supervised processes. `supervisor` tells a run from start to end; the others are its parts, in the order in which
//! a byte or a signal meets them.
//!
//! A command runs in a session of its own, so that it has no terminal and kctl's own children are never taken for its.
//! While a run is on, kctl is a child subreaper: what leaves the session and loses its parent becomes kctl's child and
//! is found. A marker in the environment says to which of several runs such an orphan belongs.
//!
//! When kctl is told to stop (TERM, INT, HUP), it takes its runs down first. When kctl itself is killed (KILL), the
//! kernel kills the command it started; what that command had started loses the reading end of its output, and
//! otherwise stays until it ends by itself. A command that is shut in by `bwrap` (`shut`) is in a process namespace, and the
//! kernel ends that whole: nothing stays.
//!
//! Other adapters may start children, as long as these stay in kctl's session and do not daemonise (for git: `gc.auto`
//! and `maintenance.auto` off): an unmarked orphan in another session is ended with the last run.

mod capture;
mod compiled;
mod environment;
mod interrupt;
mod kept;
mod kin;
mod many;
mod plain;
mod registry;
mod shell;
pub mod shut;
mod start;
mod supervisor;
mod sweep;
mod variables;
mod version;
mod watch;

pub use interrupt::interrupted;
pub use supervisor::{MakeRedaction, Supervisor};

#[cfg(test)]
mod tests;
