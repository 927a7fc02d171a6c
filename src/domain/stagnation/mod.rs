//! What an agent has seen already, and whether it only sees it again.

mod fold;
mod lines;
mod observation;
mod state;

#[cfg(test)]
mod tests;

pub use lines::{Lines, Spans};
pub use observation::{ActionEvent, Ground, Mode, Observation, Process, Saw, Subject, Touched, TurnKind};
pub use state::{
    Advice, Judged, Known, MAX_KNOWN, MAX_REDUNDANT_IN_ROW, MAX_REDUNDANT_TURNS, MAX_UNMOVED, Progress, Stagnation,
};
