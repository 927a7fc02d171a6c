//! The turns of an agent, as its host tells of them.

pub mod end;
mod look;
