//! Repositories, through libgit2 for reads and the git program for what talks to others or makes worktrees.

mod branches;
mod compare;
mod converted;
mod dirt;
mod head;
mod ignored;
mod inner;
mod leaving;
mod left;
mod local;
mod losses;
mod objects;
mod place;
mod program;
mod remotes;
mod repair;
mod settings;
mod submodules;
mod url;
mod worktrees;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

pub(crate) use dirt::is_clean;
pub use local::{LocalGit, LocalRepositories};
pub use place::discover;
