//! Configured values with the configuration each of them comes from, and symbolic refs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use git2::Repository;

use super::place::broken;
use super::program::{MAX_LOCAL_WAIT, Program};
use crate::ports::git::{ConfigOrigin, ConfigValue, GitResult};

/// Every value of `key`, weakest first. Git itself is asked: it alone knows every scope, and how it expands a path.
pub(super) fn values(git: &Program, dir: &Path, key: &str) -> GitResult<Vec<ConfigValue>> {
    let raw = listed(git, dir, &["config", "-z", "--show-scope", "--get-all", key])?;
    let expanded = listed(git, dir, &["config", "-z", "--show-scope", "--type=path", "--get-all", key])?;
    let paths = expanded.chunks_exact(2).map(|pair| path(&pair[1]));
    let values = raw.chunks_exact(2).zip(paths).map(|(pair, expanded)| ConfigValue {
        origin: origin(&pair[0]),
        raw: path(&pair[1]),
        path: expanded,
    });
    Ok(values.collect())
}

/// What git prints, parted at each NUL; nothing where the key is not set.
fn listed(git: &Program, dir: &Path, args: &[&str]) -> GitResult<Vec<Vec<u8>>> {
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let ran = git.run(dir, &args, MAX_LOCAL_WAIT)?;
    let mut parts: Vec<Vec<u8>> = ran.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    parts.pop();
    Ok(parts)
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

fn origin(scope: &[u8]) -> ConfigOrigin {
    match scope {
        b"system" => ConfigOrigin::System,
        b"global" => ConfigOrigin::Global,
        b"local" => ConfigOrigin::Local,
        b"worktree" => ConfigOrigin::Worktree,
        _ => ConfigOrigin::Other,
    }
}

/// What the symbolic ref `reference` names.
pub(super) fn symbolic(repo: &Repository, reference: &str) -> GitResult<Option<String>> {
    match repo.find_reference(reference) {
        Ok(found) => Ok(found.symbolic_target().ok().flatten().map(str::to_owned)),
        Err(why) if matches!(why.code(), git2::ErrorCode::NotFound | git2::ErrorCode::InvalidSpec) => Ok(None),
        Err(why) => Err(broken(why)),
    }
}
