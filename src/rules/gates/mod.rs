//! What a host is told before it acts. Advice: what a gate missed is caught by `validate` and `publish` from the tree.

mod arguments;
mod file;
mod nearest;
mod tools;

#[cfg(test)]
mod tests;

pub use arguments::{Arguments, MAX_PATH_BYTES, MAX_PATHS, paths};
pub use file::{Facts, Finding, Target, Tree, decide, judge, plainly_wrong, unknown_tool, unresolved};
pub use nearest::closest;
pub use tools::{Host, Tool, find};
