//! The git port on real repositories.

mod dirt;
mod leaving;
mod reading;
mod remotes;
mod repair;
mod worktrees;

use std::path::Path;

use super::LocalGit;
use super::fixture::Fixture;
use crate::domain::id::Oid;
use crate::ports::git::Leaving;

fn open(dir: &Path) -> LocalGit {
    LocalGit::open(dir).expect("it is a repository")
}

fn oid(text: &str) -> Oid {
    text.trim().parse().expect("git prints object ids")
}

fn head(f: &Fixture) -> Oid {
    oid(&f.git(&["rev-parse", "HEAD"]))
}

/// The worktree at `path` is to go, and no branch with it.
fn leaving(path: &Path) -> Leaving {
    Leaving { path: path.to_owned(), ..Leaving::default() }
}
