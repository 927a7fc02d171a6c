//! The paths port: where a path leads on this machine, without touching what is there.

use std::path::Path;

pub use crate::domain::action::{Reached, There};

/// How many links are followed on the way of one path.
pub const MAX_LINKS: usize = 40;

/// Resolves paths.
pub trait Paths: Send + Sync {
    /// Where the absolute `path` leads: every link on the way is followed, one that leads nowhere too, and `..` goes up
    /// from where the links led. What is not there is kept as it is written.
    ///
    /// # Errors
    /// In words, where nobody can tell: a loop of links, a directory that may not be looked into, a link of `/proc` that
    /// leads elsewhere for each process.
    fn reach(&self, path: &Path) -> Result<Reached, String>;
}
