//! What a model needs to go on, within a budget: estimating, cutting, and fitting text. Pure.

pub mod capsule;
pub mod fragment;
pub mod fragments;
pub mod tokens;

mod fit;
mod markdown;
mod symbols;
