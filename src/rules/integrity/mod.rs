//! Test-integrity findings: what a candidate does, against its base, to the tests, the snapshots, the test
//! configuration and the pipeline that are to judge it. Pure: bytes in, findings out.

mod bindings;
mod body;
mod calls;
mod chain;
mod claims;
mod claims_java;
mod claims_script;
mod compare;
mod compared;
mod config;
mod discovery;
mod express;
mod facts;
mod findings;
mod flow;
mod go;
mod gone;
mod grammar;
mod java;
mod known;
mod length;
mod looser;
mod markers;
mod marks;
mod model;
mod options;
mod pair;
mod paths;
mod python;
mod reach;
mod rust;
mod script;
mod snapshots;
mod stand_ins;
mod standard;
mod subject;
mod suite;
mod syntax;
#[cfg(test)]
mod tests;

pub use discovery::Discovery;
pub use facts::checks;
pub use findings::findings;
pub use known::{ANYWHERE, BENDING, Changed, Known, NOBODY_S, Side, hidden, ignored, known, paired};
pub use model::{
    Change, Checks, Claim, Digest, Finding, Findings, Hollow, Kind, Language, MAX_FILE_BYTES, MAX_FINDINGS, Marker,
    Severity, Strength, Suite, Symbol, Test, Unread,
};
pub use paths::language_of;
pub use suite::survey;
