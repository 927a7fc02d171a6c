//! Attempts at one gate after another: which failures are the same, which moved, and when to stop trying.

mod fold;
mod packet;
mod state;
#[cfg(test)]
mod tests;

pub use packet::{Contradiction, Counted, Packet};
pub use state::{
    Attempt, Covered, Gate, Lineages, MAX_ABSOLUTE, MAX_COMMANDS, MAX_ITEMS, MAX_LINEAGES, MAX_PATHS, MAX_UNCHANGED,
    Progress, Step, Verdict,
};
