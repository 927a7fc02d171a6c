//! Evidence: finished runs, and what they were about.

pub mod list;
pub mod log;
pub mod show;
