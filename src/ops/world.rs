//! The world as an operation sees it: ports, and where the call was made.

use std::path::{Path, PathBuf};

use crate::ports::artifacts::Artifacts;
use crate::ports::files::Files;
use crate::ports::git::Repositories;
use crate::ports::ledger::Ledgers;
use crate::ports::passages::Passages;
use crate::ports::paths::Paths;
use crate::ports::runner::Runner;
use crate::ports::trees::Trees;
use crate::ports::world::{Clock, Env, Ids, Locks, Progress, Secrets};

/// Opens the files of a work tree, if there is one, and of a git common directory.
pub type OpenFiles = dyn Fn(Option<&Path>, &Path) -> Box<dyn Files>;

/// Everything that is handed in. Tests hand in a still clock and counted ids; nothing else differs.
pub struct World<'w> {
    pub cwd: PathBuf,
    /// The kctl that is running, absolute.
    pub program: PathBuf,
    pub clock: &'w dyn Clock,
    pub ids: &'w dyn Ids,
    pub env: &'w dyn Env,
    pub secrets: &'w dyn Secrets,
    pub progress: &'w dyn Progress,
    pub locks: &'w dyn Locks,
    pub ledgers: &'w dyn Ledgers,
    pub repositories: &'w dyn Repositories,
    pub trees: &'w dyn Trees,
    pub paths: &'w dyn Paths,
    pub runner: &'w dyn Runner,
    pub files: &'w OpenFiles,
    /// The artifacts of the root with this git common directory.
    pub artifacts: &'w dyn Fn(&Path) -> Box<dyn Artifacts>,
    /// The passages of the root with this git common directory.
    pub passages: &'w dyn Fn(&Path) -> Box<dyn Passages>,
}
