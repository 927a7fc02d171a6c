//! Tasks: units of work, and the leases on them.

pub mod block;
pub mod cancel;
pub mod claim;
pub mod claiming;
pub mod complete;
pub mod create;
pub mod decompose;
pub mod finish;
pub mod handoff;
pub mod history;
pub mod list;
pub mod needs;
pub mod next;
pub mod onward;
pub mod ready;
pub mod release;
pub mod renew;
pub mod show;
pub mod takeover;
pub mod unblock;
pub mod update;
pub mod view;
pub mod yield_claim;
