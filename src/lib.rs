//! kctl: the control plane that a coding agent's host calls.
//!
//! Floors, from the bottom: `domain` says what things are, `rules` what should happen, `ports` what the world must
//! offer; `ops` hold one file per operation behind one narrow waist; `adapters` are the world; `doors` are how a call
//! gets in. `tests/it/floors.rs` holds the arrows between them.

pub mod adapters;
pub mod domain;
pub mod doors;
pub mod ops;
pub mod ports;
pub mod rules;

/// The version that records, answers and `--version` name.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
