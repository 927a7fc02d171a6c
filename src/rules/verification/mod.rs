//! What must be shown, what shows it, and whether that still holds.

pub mod due;
pub mod exits;
pub mod gap;
pub mod named;
pub mod proofs;
pub mod receipt;
pub mod state;
pub mod syntax;
pub mod turn;
pub mod verdict;
