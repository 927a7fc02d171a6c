//! What `kctl init` and `kctl uninstall` change: facts in, a plan out.

pub mod agents_block;
pub mod checks;
pub mod hooks;
mod init;
mod profile_text;

pub use init::{Adopted, AdoptionFault, InitFacts, UninstallFacts, Wanted, init, uninstall};
pub use profile_text::profile_text;
