//! Failures: what keeps failing, read out of outputs and counted over attempts.

pub mod explain;
pub mod list;
pub mod reground;
pub mod show;
