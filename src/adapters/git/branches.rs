//! Branches and configuration.

use std::path::{Path, PathBuf};

use git2::{BranchType, Config, ConfigLevel, ErrorCode, Reference, Repository};

use super::objects::ours;
use super::place::{broken, open_at};
use crate::adapters::failpoint;
use crate::domain::id::Oid;
use crate::ports::git::{Branch, ConfigOrigin, Configured, GitFault, GitResult, MAX_BRANCHES, Place};

pub(super) fn legal_branch(branch: &str) -> GitResult<String> {
    legal_ref(&format!("refs/heads/{branch}"))
        .ok()
        .filter(|_| !branch.starts_with('-') && branch != "HEAD")
        .ok_or_else(|| GitFault::IllegalName { noun: "branch name", name: branch.to_owned() })
}

/// A full ref name that can also stand in a refspec or a command line.
pub(super) fn legal_ref(name: &str) -> GitResult<String> {
    if name.starts_with("refs/") && Reference::is_valid_name(name) {
        Ok(name.to_owned())
    } else {
        Err(GitFault::IllegalName { noun: "full ref name", name: name.to_owned() })
    }
}

pub(super) fn tip(repo: &Repository, branch: &str) -> GitResult<Option<Oid>> {
    match repo.find_reference(&legal_branch(branch)?) {
        Ok(reference) => Ok(Some(ours(reference.peel_to_commit().map_err(broken)?.id()))),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(broken(error)),
    }
}

pub(super) fn with_prefix(repo: &Repository, prefix: &str) -> GitResult<Vec<Branch>> {
    let mut found = Vec::new();
    for branch in repo.branches(Some(BranchType::Local)).map_err(broken)? {
        let (branch, _) = branch.map_err(broken)?;
        let Ok(Some(name)) = branch.name().map(|name| name.map(str::to_owned)) else { continue };
        let Some(tip) = branch.get().target().filter(|_| name.starts_with(prefix)) else { continue };
        if found.len() == MAX_BRANCHES {
            return Err(GitFault::TooMany { what: "branches", limit: MAX_BRANCHES });
        }
        let full = format!("refs/heads/{name}");
        let upstream = repo.branch_upstream_name(&full).ok();
        let upstream = upstream.map(|name| String::from_utf8_lossy(&name).into_owned());
        found.push(Branch { name, tip: ours(tip), upstream });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

pub(super) fn config(repo: &Repository, key: &str) -> GitResult<Option<Configured>> {
    let config = repo.config().and_then(|mut config| config.snapshot()).map_err(broken)?;
    match config.get_entry(key) {
        Ok(entry) => {
            let value = if entry.has_value() {
                String::from_utf8_lossy(entry.value_bytes()).into_owned()
            } else {
                "true".into()
            };
            Ok(Some(Configured { value, origin: origin(entry.level()) }))
        }
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) if error.code() == ErrorCode::InvalidSpec => {
            Err(GitFault::IllegalName { noun: "configuration key", name: key.to_owned() })
        }
        Err(error) => Err(broken(error)),
    }
}

fn origin(level: ConfigLevel) -> ConfigOrigin {
    match level {
        ConfigLevel::System | ConfigLevel::ProgramData => ConfigOrigin::System,
        ConfigLevel::XDG | ConfigLevel::Global => ConfigOrigin::Global,
        ConfigLevel::Local => ConfigOrigin::Local,
        ConfigLevel::Worktree => ConfigOrigin::Worktree,
        ConfigLevel::App | ConfigLevel::Highest => ConfigOrigin::Other,
    }
}

pub(super) fn set_local(place: &Place, key: &str, value: &str) -> GitResult<()> {
    failpoint::reach("config.setting");
    local(place)?.set_str(key, value).map_err(broken)?;
    failpoint::reach("config.set");
    Ok(())
}

pub(super) fn unset_local(place: &Place, key: &str) -> GitResult<bool> {
    failpoint::reach("config.unsetting");
    match local(place)?.remove(key) {
        Ok(()) => Ok(true),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(false),
        Err(error) => Err(broken(error)),
    }
}

/// The root's own file: never the user's, and never one worktree's.
fn local(place: &Place) -> GitResult<Config> {
    Config::open(&place.common_dir.join("config")).map_err(broken)
}

pub(super) fn hooks_dir(place: &Place, work_tree: Option<&Path>) -> GitResult<PathBuf> {
    let repo = open_at(work_tree.unwrap_or(&place.common_dir))?;
    let config = repo.config().and_then(|mut config| config.snapshot()).map_err(broken)?;
    match config.get_path("core.hookspath") {
        // A relative path is taken from where hooks run: the top of the work tree, or the bare repository.
        Ok(path) => Ok(repo.workdir().unwrap_or(repo.path()).join(path)),
        Err(_) => Ok(place.common_dir.join("hooks")),
    }
}
