//! The world: disks, clocks, processes, git. Adapters implement ports and know nothing of operations or rules.
#![expect(clippy::disallowed_methods, reason = "this floor is where the world is touched")]

pub mod artifacts;
mod board;
pub mod diagnostics;
pub mod failpoint;
pub mod files;
pub mod git;
pub mod layout;
pub mod lock;
pub mod memory;
pub mod passages;
pub mod paths;
pub mod process;
pub mod progress;
pub mod shell;
pub mod sqlite;
pub mod stdout;
pub mod trees;
pub mod world;
