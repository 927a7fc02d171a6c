//! Everything that is tested from outside: real repositories, real processes, real files. One `mod` a line.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests touch the real world")]

mod adoption;
mod commitment;
mod contention;
mod context;
mod crash;
mod criteria;
mod docs;
mod finish;
mod floors;
mod generated;
mod hostile;
mod idempotency;
mod judge;
mod keeping;
mod kinds;
mod laws;
mod leaving;
mod ledger;
mod parallel;
mod place;
mod publish;
mod quickstart;
mod registry;
mod rig;
mod samples;
mod session;
mod setup;
mod shut_in;
mod small;
mod task;
mod terminal;
mod terms;
mod validate;
mod wire;
mod workspace;
