//! What kctl can do: one file per operation, grouped by noun, behind one narrow waist.

pub mod action;
pub mod base;
pub mod call;
pub mod catalogue;
pub mod commit;
pub mod context;
pub mod criteria;
pub mod criterion;
pub mod custody;
pub mod doctor;
pub mod evidence;
pub mod failure;
pub mod fault;
pub mod finding;
pub mod hooks;
pub mod init;
pub mod ledger;
pub mod op;
pub mod program;
pub mod publication;
pub mod redact;
pub mod registry;
pub mod seen;
pub mod session;
pub mod status;
pub mod task;
pub mod ticket;
pub mod tools;
pub mod turn;
pub mod uninstall;
pub mod validate;
pub mod verification;
pub mod waist;
pub mod workspace;
pub mod world;

pub use waist::{Presented, call};
