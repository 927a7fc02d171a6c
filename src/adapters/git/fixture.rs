//! Real repositories in temporary directories, made with the git program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A repository `work` with a bare remote `remote.git` beside it.
pub(crate) struct Fixture {
    /// Removed when the fixture is dropped.
    _dir: TempDir,
    pub work: PathBuf,
}

impl Fixture {
    /// An empty repository on branch `main`.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("the directory is there");
        git(&root, &["init", "-q", "-b", "main", "work"]);
        Self { _dir: dir, work: root.join("work") }
    }

    /// One commit with `a.txt` and `dir/b.txt`.
    pub fn new() -> Self {
        let fixture = Self::empty();
        fixture.write("a.txt", "one\n");
        fixture.write("dir/b.txt", "two\n");
        fixture.commit("first");
        fixture
    }

    /// [`Fixture::new`] with everything pushed to a bare `origin`.
    pub fn with_remote() -> Self {
        let fixture = Self::new();
        git(fixture.root(), &["init", "-q", "--bare", "-b", "main", "remote.git"]);
        fixture.git(&["remote", "add", "origin", "../remote.git"]);
        fixture.git(&["push", "-q", "-u", "origin", "main"]);
        fixture
    }

    pub fn root(&self) -> &Path {
        self.work.parent().expect("work lies in the root")
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(&self.work, args)
    }

    pub fn path(&self, name: impl AsRef<[u8]>) -> PathBuf {
        self.work.join(OsStr::from_bytes(name.as_ref()))
    }

    pub fn write(&self, name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().expect("a file has a directory")).expect("make its directory");
        fs_err::write(path, content).expect("write a file");
    }

    pub fn remove(&self, name: impl AsRef<[u8]>) {
        fs_err::remove_file(self.path(name)).expect("remove a file");
    }

    pub fn symlink(&self, target: &str, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).expect("make a symlink");
    }

    /// Commits everything; the new commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Makes every program that a repository can name leave `marker` behind.
    pub fn make_hostile(&self) -> PathBuf {
        let marker = self.root().join("marker");
        let script = self.root().join("evil.sh");
        fs_err::write(&script, format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display())).expect("write a script");
        make_executable(&script);
        let hooks = self.root().join("evil-hooks");
        fs_err::create_dir_all(&hooks).expect("make a directory");
        for hook in ["post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"] {
            fs_err::copy(&script, hooks.join(hook)).expect("copy a script");
        }
        let evil = script.to_str().expect("a UTF-8 path");
        for key in ["filter.x.clean", "filter.x.smudge", "core.fsmonitor", "diff.external", "diff.x.textconv"] {
            self.git(&["config", key, evil]);
        }
        for key in ["core.pager", "core.editor", "gpg.program", "diff.x.command", "core.askPass"] {
            self.git(&["config", key, evil]);
        }
        self.git(&["config", "alias.status", &format!("!{evil}")]);
        self.git(&["config", "core.hooksPath", hooks.to_str().expect("a UTF-8 path")]);
        fs_err::write(self.work.join(".git/info/attributes"), "* filter=x diff=x\n").expect("write attributes");
        assert!(!marker.exists(), "making it hostile runs nothing");
        marker
    }
}

pub(crate) fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("make it executable");
}

/// Runs git as a user would and returns what it printed, without the last newline.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = command(dir, args).output().expect("git runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?} in {}: {words}", dir.display());
    String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
}

pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args);
    for (name, _) in std::env::vars_os() {
        if name.as_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.com");
    }
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_ALLOW_PROTOCOL", "file").env("LC_ALL", "C");
    command
}
