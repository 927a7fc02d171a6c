//! The context index: fragments of tracked files in SQLite's full-text search, keyed by git blob ids.
//!
//! It is a cache. Text is never stored, only where it is: passages are read from git's objects and checked against the
//! searched tree, so a stale, damaged or hostile index can lose passages but cannot invent one.

mod admit;
mod fold;
mod imports;
mod index;
mod look_up;
mod map;
mod on_disk;
mod pending;
mod rank;
mod recent;
mod search;
mod store;
mod tree;
mod words;

#[cfg(test)]
mod tests;

pub use index::PassageIndex;
