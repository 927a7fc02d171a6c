//! Tickets: gates that wait for somebody with other means. A ticket closes when its gate passes, and by nothing else.

pub mod list;
pub mod open;
