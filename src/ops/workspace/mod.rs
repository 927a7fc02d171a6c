//! Workspaces: git worktrees and branches, each made for one claimed task.

pub mod ensure;
pub mod leave;
pub mod list;
pub mod look;
pub mod prepare;
pub mod prune;
pub mod remove;
pub mod status;
