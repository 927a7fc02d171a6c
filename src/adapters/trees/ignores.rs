//! Git's ignore rules: those of each directory, of the repository, and of the user.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::Repository;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Mode, OFlags};

/// The longest file of ignore rules that is read; rules of a longer one do not hold, so more is seen, not less.
const MAX_RULES_BYTES: u64 = 16 << 20;

/// The rules that hold in one directory: its own first, then those of the directories above.
pub(crate) struct Ignores {
    above: Option<Arc<Ignores>>,
    /// Bytes of a path that lead to the directory these rules are relative to.
    skip: usize,
    rules: Gitignore,
    case_insensitive: bool,
}

impl Ignores {
    /// No rules at all.
    pub fn none() -> Arc<Self> {
        Arc::new(Self { above: None, skip: 0, rules: Gitignore::empty(), case_insensitive: false })
    }

    /// The user's rules and those of the repository that are not in its tree.
    pub fn of(repo: &Repository) -> Arc<Self> {
        let config = repo.config().ok();
        let flag = |name| config.as_ref().and_then(|config| config.get_bool(name).ok()).unwrap_or(false);
        let case_insensitive = flag("core.ignorecase");
        let users = config.as_ref().and_then(|config| config.get_path("core.excludesfile").ok());
        let users = users.or_else(default_excludes).and_then(|path| read_file(&path));
        let user = Self { above: None, skip: 0, rules: parse(users, case_insensitive), case_insensitive };
        let own = read_file(&repo.commondir().join("info/exclude"));
        let own = parse(own, case_insensitive);
        Arc::new(Self { above: Some(Arc::new(user)), skip: 0, rules: own, case_insensitive })
    }

    /// Adds the `.gitignore` of the open directory `dir`, whose path with its closing slash has `skip` bytes.
    pub fn within(self: &Arc<Self>, dir: impl AsFd, skip: usize) -> Arc<Self> {
        // Git does not follow a symlink here, and a FIFO must not stop us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(dir, ".gitignore", flags, Mode::empty()) else {
            return Arc::clone(self);
        };
        let rules = parse(read_open(file), self.case_insensitive);
        if rules.is_empty() {
            return Arc::clone(self);
        }
        Arc::new(Self { above: Some(Arc::clone(self)), skip, rules, case_insensitive: self.case_insensitive })
    }

    /// Whether `path`, which lies in the directory these rules are for, is ignored by itself. A path in an ignored
    /// directory is ignored too; callers do not enter one.
    pub fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        let mut level = Some(self);
        while let Some(rules) = level {
            let below = Path::new(OsStr::from_bytes(&path[rules.skip..]));
            match rules.rules.matched(below, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => level = rules.above.as_deref(),
            }
        }
        false
    }
}

fn parse(text: Option<Vec<u8>>, case_insensitive: bool) -> Gitignore {
    let Some(text) = text else { return Gitignore::empty() };
    let mut builder = GitignoreBuilder::new("");
    if builder.case_insensitive(case_insensitive).is_err() {
        return Gitignore::empty();
    }
    let text = String::from_utf8_lossy(&text);
    for line in text.strip_prefix('\u{feff}').unwrap_or(&text).lines() {
        // A line that is not a pattern matches nothing, as in git.
        drop(builder.add_line(None, line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn read_file(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    read_open(rustix::fs::open(path, flags, Mode::empty()).ok()?)
}

fn read_open(file: rustix::fd::OwnedFd) -> Option<Vec<u8>> {
    let meta = rustix::fs::fstat(&file).ok()?;
    let regular = rustix::fs::FileType::from_raw_mode(meta.st_mode) == rustix::fs::FileType::RegularFile;
    if !regular || u64::try_from(meta.st_size).unwrap_or(u64::MAX) > MAX_RULES_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    fs_err::File::from_parts(file.into(), "ignore rules").take(MAX_RULES_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Where git looks when `core.excludesFile` is not set.
fn default_excludes() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(config.join("git/ignore"))
}
