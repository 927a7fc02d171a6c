//! Ledgers in memory: the same contract as the SQLite ones, without a disk. For tests of what uses a ledger, and as
//! the plain reading of the contract that the other adapters are compared with.

mod keep;
mod open;
mod tables;
mod views;
mod write;

pub use open::MemoryLedgers;
