//! Sessions: an agent's periods of custody.

pub mod acquire;
pub mod list;
pub mod release;
pub mod renew;
