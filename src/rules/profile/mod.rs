//! Reading the profile: text in, a profile or the list of its faults out.

mod fault;
mod lines;
mod read;
mod sound;
pub mod vacuous;

pub use fault::{ProfileFault, ProfileFaults};
pub use read::{MAX_PROFILE_BYTES, read};
pub use sound::MAX_LEASE;
