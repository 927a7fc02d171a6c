//! What fails, under which name, how often, and whether it moves. `rules::failure` reads it out of outputs.

mod doubt;
mod item;
mod key;
mod supervise;

pub use doubt::Doubt;
pub use item::{Item, Kind, Parser, Report, Tests};
pub use key::{Key, MAX_TARGETS};
pub use supervise::{
    Attempt, Contradiction, Counted, Covered, Gate, Lineages, MAX_ABSOLUTE, MAX_COMMANDS, MAX_ITEMS, MAX_LINEAGES,
    MAX_PATHS, MAX_UNCHANGED, Packet, Progress, Step, Verdict,
};
