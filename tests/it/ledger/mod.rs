//! The ledger: one contract for every adapter, and what a disk can do to the one that lives on it.

mod child;
mod contract;
mod damage;
mod golden;
mod model;
mod race;
mod recover;
mod samples;
mod support;
#[cfg(target_os = "linux")]
mod trouble;
mod union;
