//! What should happen: facts in, a plan or a refusal out. Pure.

pub mod adoption;
pub mod claim;
pub mod context;
pub mod contract;
pub mod failure;
pub mod gates;
pub mod inputs;
pub mod integrity;
pub mod metrics;
pub mod near;
pub mod profile;
pub mod publication;
pub mod redaction;
pub mod scope;
pub mod stagnation;
pub mod tools;
pub mod verification;
pub mod words;
pub mod workspace;
