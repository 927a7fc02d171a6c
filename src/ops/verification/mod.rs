//! Where criteria stand, and the runs that make evidence.

pub mod assess;
pub mod baseline;
pub mod execute;
pub mod gate;
pub mod integrity;
pub mod reading;
pub mod subject;
pub mod suite;
pub mod supervise;
