//! Where criteria stand, and the runs that make evidence.

pub mod assess;
pub mod execute;
pub mod gate;
pub mod subject;
pub mod suite;
