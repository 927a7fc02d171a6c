//! The ledger itself: its log, its proof, its copies and its repair.

pub mod backup;
pub mod export;
pub mod log;
pub mod rebuild;
pub mod recover;
pub mod verify;
