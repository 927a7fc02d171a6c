//! Finding and opening repositories, whatever `GIT_DIR` and its kin say.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use git2::{Config, ErrorCode, Repository, RepositoryOpenFlags};

use crate::ports::git::{GitFault, GitResult, Place};

/// Directories above one another that are searched for a repository that would not open.
const MAX_LEVELS: usize = 512;
/// The longest `.git` file: it holds one path.
const MAX_GIT_FILE_BYTES: u64 = 64 << 10;

/// Finds the repository that `dir` is in.
///
/// # Errors
/// `NotARepository`, `DubiousOwnership`, `Unsupported` (with the format's name), `Io`, `Broken`.
pub fn discover(dir: &Path) -> GitResult<Place> {
    place_of(&open(dir, RepositoryOpenFlags::empty())?)
}

/// Opens the repository whose work tree or git directory is exactly `path`.
pub(super) fn open_at(path: &Path) -> GitResult<Repository> {
    open(path, RepositoryOpenFlags::NO_SEARCH)
}

pub(super) fn open(dir: &Path, flags: RepositoryOpenFlags) -> GitResult<Repository> {
    // FROM_ENV is not among the flags: libgit2 then reads no `GIT_*` variable at all.
    let repo = match Repository::open_ext(dir, flags, &[] as &[&OsStr]) {
        Ok(repo) => repo,
        Err(error) => return Err(why_not(dir, &error)),
    };
    match partial_clone(&repo) {
        // Objects are missing on purpose, and libgit2 would call them lost.
        Some(remote) => Err(unsupported(dir, format!("a partial clone (of the remote `{remote}`)"))),
        None => Ok(repo),
    }
}

pub(super) fn place_of(repo: &Repository) -> GitResult<Place> {
    let common_dir = canonical(repo.commondir())?;
    let git_dir = canonical(repo.path())?;
    let work_tree = repo.workdir().map(canonical).transpose()?;
    if common_dir == git_dir {
        let bare = repo.is_bare();
        return Ok(Place { common_dir, git_dir, main_work_tree: work_tree.clone(), work_tree, bare });
    }
    let root = open_at(&common_dir)?;
    let bare = root.is_bare();
    let main_work_tree = match root.workdir() {
        // A main worktree that was deleted leaves its `.git` only where that lies elsewhere; it is none then.
        Some(dir) if !bare && dir.is_dir() => Some(canonical(dir)?),
        Some(_) | None => None,
    };
    Ok(Place { common_dir, git_dir, work_tree, main_work_tree, bare })
}

/// `path` without symlinks and without a closing slash, so that one place has one spelling.
pub(super) fn canonical(path: &Path) -> GitResult<PathBuf> {
    fs_err::canonicalize(path).map_err(|error| io(path, &error))
}

pub(super) fn io(path: &Path, error: &std::io::Error) -> GitFault {
    GitFault::Io { path: path.to_owned(), words: error.to_string() }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
pub(super) fn broken(error: git2::Error) -> GitFault {
    GitFault::Broken { words: error.message().to_owned() }
}

fn why_not(dir: &Path, error: &git2::Error) -> GitFault {
    let owned = || dir.to_owned();
    if error.code() == ErrorCode::Owner {
        return GitFault::DubiousOwnership { dir: owned() };
    }
    match fs_err::metadata(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return GitFault::NotARepository { dir: owned() },
        Err(error) => return io(dir, &error),
        Ok(_) => {}
    }
    let Some(common_dir) = dot_git_above(dir) else {
        return GitFault::NotARepository { dir: owned() };
    };
    if let Some(what) = unsupported_format(&common_dir) {
        return unsupported(dir, what);
    }
    match error.code() {
        ErrorCode::NotFound if !common_dir.join("HEAD").exists() => GitFault::NotARepository { dir: owned() },
        _ => GitFault::Broken { words: error.message().to_owned() },
    }
}

fn unsupported(dir: &Path, what: String) -> GitFault {
    GitFault::Unsupported { dir: dir.to_owned(), what }
}

/// The common directory of the nearest repository at or above `dir`, found without git's help.
fn dot_git_above(dir: &Path) -> Option<PathBuf> {
    let dir = fs_err::canonicalize(dir).ok()?;
    let git_dir = dir.ancestors().take(MAX_LEVELS).find_map(|dir| {
        let dot_git = dir.join(".git");
        match dot_git.symlink_metadata() {
            Ok(meta) if meta.is_file() => pointed_at(&dot_git, "gitdir: "),
            Ok(_) => Some(dot_git),
            Err(_) => (dir.join("HEAD").is_file() && dir.join("objects").is_dir()).then(|| dir.to_owned()),
        }
    })?;
    Some(pointed_at(&git_dir.join("commondir"), "").unwrap_or(git_dir))
}

/// The path that a small file names after `prefix`, relative to that file's directory.
pub(super) fn pointed_at(file: &Path, prefix: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = read_small(file)?;
    let path = bytes.strip_prefix(prefix.as_bytes())?;
    let path = path.strip_suffix(b"\n").unwrap_or(path);
    (!path.is_empty()).then(|| file.parent().unwrap_or(file).join(OsStr::from_bytes(path)))
}

/// The content of one of git's one-line files; none if it is missing, too long or no file.
pub(super) fn read_small(file: &Path) -> Option<Vec<u8>> {
    let meta = fs_err::symlink_metadata(file).ok()?;
    if !meta.is_file() || meta.len() > MAX_GIT_FILE_BYTES {
        return None;
    }
    fs_err::read(file).ok()
}

fn unsupported_format(common_dir: &Path) -> Option<String> {
    let config = Config::open(&common_dir.join("config")).ok()?;
    let value = |name: &str| config.get_string(name).ok();
    if let Some(storage) = value("extensions.refstorage").filter(|storage| storage != "files") {
        return Some(format!("the `{storage}` ref storage"));
    }
    if let Some(format) = value("extensions.objectformat").filter(|format| format != "sha1") {
        return Some(format!("{} object names", format.to_uppercase().replace("SHA", "SHA-")));
    }
    if let Some(remote) = value("extensions.partialclone") {
        return Some(format!("a partial clone (of the remote `{remote}`)"));
    }
    let version = config.get_i64("core.repositoryformatversion").unwrap_or(0);
    if version > 1 {
        return Some(format!("version {version} of the repository format"));
    }
    let mut entries = config.entries(Some("^extensions\\.")).ok()?;
    let known = ["noop", "objectformat", "worktreeconfig", "preciousobjects", "relativeworktrees", "refstorage"];
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.name().ok()?.trim_start_matches("extensions.").to_owned();
        if !known.contains(&name.as_str()) {
            return Some(format!("the extension `{name}`"));
        }
    }
    None
}

/// The remote that a partial clone fetches missing objects from.
fn partial_clone(repo: &Repository) -> Option<String> {
    let config = repo.config().ok()?;
    let mut entries = config.entries(Some("^remote\\..*\\.promisor$")).ok()?;
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.name().unwrap_or_default();
        if entry.value().is_ok_and(|value| value != "false") {
            return Some(name.trim_start_matches("remote.").trim_end_matches(".promisor").to_owned());
        }
    }
    None
}
