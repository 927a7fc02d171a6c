//! The floor of every call: a program that does nothing.

fn main() {}
