//! Declared checks: what there is, where each stands, and running one of them.

pub mod declared;
pub mod list;
pub mod run;
pub mod show;
