//! Work trees as they are on disk.

mod cache;
mod hash;
pub(crate) mod ignores;
pub(crate) mod index;
mod links;
mod local;
pub(crate) mod meta;
pub(crate) mod nested;
pub(crate) mod scan;

pub use local::LocalTrees;

#[cfg(test)]
mod tests;
