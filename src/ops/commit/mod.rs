//! Commitments: durable obligations that close with a verdict and evidence.

pub mod close;
pub mod evaluate;
pub mod list;
pub mod open;
pub mod show;
