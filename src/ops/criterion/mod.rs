//! Criteria of tasks and commitments: shown, added, changed, withdrawn, waived, and met by what is handed in.

pub mod add;
pub mod amend;
pub mod attest;
pub mod cite;
pub mod files;
pub mod holder;
pub mod judge;
pub mod list;
pub mod named;
pub mod receipt;
pub mod recorded;
pub mod waive;
pub mod withdraw;
