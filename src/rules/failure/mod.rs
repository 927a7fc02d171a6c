//! Reading failures out of what tools print: what failed, under which name, and what to make of a pass.

mod guard;
pub(super) mod lineage;
mod mask;
mod parse;
mod path;
mod python;
mod signature;
mod text;

pub use guard::compare;
pub use lineage::lineage;
pub use mask::{values, volatile};
pub use parse::{parse, parse_in};
pub use path::stable;
pub use signature::signature;

#[cfg(test)]
use crate::domain::failure::{Item, Lineages, Parser, Report};

#[cfg(test)]
mod tests;
