//! Actions: what a host is about to do.

pub mod evaluate;
