//! Publication: exactly what was cleared goes to the remote, and is read back.

pub mod gate;
mod heal;
pub mod list;
pub mod look;
pub mod publish;
