//! Findings: what in a change weakens what judges it, and what a person decides about it.

pub mod accept;
mod decide;
pub mod list;
pub mod reject;
