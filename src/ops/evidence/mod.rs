//! Evidence: finished runs, and what they were about.

pub mod accept;
pub mod list;
pub mod log;
pub mod show;
