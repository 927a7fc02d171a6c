//! Where criteria stand, and the runs that make evidence.

pub mod assess;
pub mod baseline;
pub mod beside;
pub mod execute;
pub mod gap;
pub mod gate;
pub mod integrity;
pub mod meant;
pub mod reading;
pub mod rejection;
pub mod sealed;
pub mod subject;
pub mod suite;
pub mod supervise;
