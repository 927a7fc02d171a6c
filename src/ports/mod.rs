//! What the world must offer: traits, and the facts and faults they speak in. Pure.

pub mod artifacts;
pub mod files;
pub mod git;
pub mod ledger;
pub mod passages;
pub mod paths;
pub mod runner;
pub mod trees;
pub mod world;
