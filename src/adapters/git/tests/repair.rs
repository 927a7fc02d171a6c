//! Crashes of `git worktree add`, made by hand at each step of it.

use std::path::{Path, PathBuf};

use super::{head, leaving, open};
use crate::adapters::git::fixture::{Fixture, git};
use crate::ports::git::{Checkout, Git, GitFault, Lost, Repair, Spot, Standing};

/// A repository with a sound worktree `tree` on branch `b`, to be broken.
struct Broken {
    f: Fixture,
    path: PathBuf,
    admin: PathBuf,
    checkout: Checkout,
}

impl Broken {
    fn new() -> Self {
        let f = Fixture::new();
        f.write("long.txt", "line\n".repeat(1000));
        f.symlink("a.txt", "link");
        f.commit("more");
        let path = f.root().join("tree");
        let checkout = Checkout::New { branch: "b".into(), base: head(&f) };
        open(&f.work).add_worktree(&path, &checkout).expect("it can be made");
        let admin = f.work.join(".git/worktrees/tree");
        Self { f, path, admin, checkout }
    }

    /// The lock that git lifts last.
    fn locked(self) -> Self {
        fs_err::write(self.admin.join("locked"), "initializing").expect("write");
        self
    }

    fn repair(&self) -> Result<Repair, GitFault> {
        let port = open(&self.f.work);
        let outcome = port.repair_worktree(&self.path, &self.checkout);
        if outcome.is_ok() {
            assert!(matches!(port.spot(&self.path), Ok(Spot::Worktree(tree)) if tree.standing == Standing::Sound));
            assert_eq!(port.dirt(&self.path), Ok(vec![]));
            assert_eq!(port.repair_worktree(&self.path, &self.checkout), Ok(Repair::Nothing), "it is sound now");
            let registered = self.f.git(&["worktree", "list", "--porcelain"]);
            assert_eq!(registered.matches("worktree ").count(), 2, "{registered}");
            self.f.git(&["fsck", "--no-progress"]);
        }
        outcome
    }

    fn lost(&self) -> Vec<String> {
        match self.repair() {
            Err(GitFault::WouldLose { what, .. }) => what.iter().map(|lost| format!("{lost:?}")).collect(),
            other => panic!("expected a refusal, got {other:?}"),
        }
    }
}

fn remove(path: &Path) {
    if path.is_dir() { fs_err::remove_dir_all(path) } else { fs_err::remove_file(path) }.expect("remove");
}

#[test]
fn stopped_before_anything_or_after_the_branch() {
    let b = Broken::new();
    b.f.git(&["worktree", "remove", "tree"]);
    assert_eq!(b.repair(), Ok(Repair::Made), "the branch is there and at the base");
    b.f.git(&["worktree", "remove", "tree"]);
    b.f.git(&["branch", "-D", "b"]);
    assert_eq!(b.repair(), Ok(Repair::Made));
}

#[test]
fn stopped_before_the_registration_knew_its_path() {
    let b = Broken::new().locked();
    for file in ["gitdir", "HEAD", "commondir", "index", "logs"] {
        remove(&b.admin.join(file));
    }
    remove(&b.path);
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs_err::File::open(&b.admin).and_then(|dir| dir.set_modified(long_ago)).expect("set its time");
    assert_eq!(b.repair(), Ok(Repair::Made));
    assert!(!b.f.work.join(".git/worktrees/tree1").exists(), "the nameless registration is gone");
}

#[test]
fn stopped_between_the_directory_and_its_head() {
    let b = Broken::new().locked();
    for file in ["HEAD", "commondir", "index", "logs"] {
        remove(&b.admin.join(file));
    }
    for file in ["a.txt", "dir", "link", "long.txt"] {
        remove(&b.path.join(file));
    }
    assert_eq!(b.repair(), Ok(Repair::MadeAnew));
}

#[test]
fn stopped_in_the_middle_of_the_checkout_with_a_torn_file() {
    let b = Broken::new().locked();
    remove(&b.path.join("a.txt"));
    remove(&b.admin.join("index"));
    fs_err::write(b.admin.join("index.lock"), "").expect("write");
    fs_err::write(b.path.join("long.txt"), "line\nli").expect("write");
    assert_eq!(b.repair(), Ok(Repair::MadeAnew));
}

#[test]
fn stopped_before_the_lock_was_lifted() {
    let b = Broken::new().locked();
    assert_eq!(b.repair(), Ok(Repair::Unlocked));
}

#[test]
fn a_directory_without_a_registration_and_a_registration_without_a_directory() {
    let b = Broken::new();
    remove(&b.admin);
    assert_eq!(open(&b.f.work).spot(&b.path), Ok(Spot::Leftover));
    assert_eq!(b.repair(), Ok(Repair::MadeAnew));
    let b = Broken::new();
    remove(&b.path);
    assert_eq!(b.repair(), Ok(Repair::MadeAnew));
}

#[test]
fn work_in_a_half_made_worktree_stops_the_repair_and_stays() {
    for (name, content) in [("new.txt", "mine"), ("long.txt", "line\nMINE"), ("dir/c", "mine"), ("x.log", "ignored")] {
        let b = Broken::new().locked();
        b.f.write(".git/info/exclude", "*.log\n");
        remove(&b.path.join("a.txt"));
        fs_err::write(b.path.join(name), content).expect("write");
        assert_eq!(b.lost(), [format!("File({name})")]);
        assert_eq!(fs_err::read_to_string(b.path.join(name)).expect("it stays"), content);
        assert!(b.path.join("link").is_symlink(), "nothing else was touched either");
        let removed = open(&b.f.work).remove_worktree(&leaving(&b.path), &[]);
        assert!(matches!(removed, Err(GitFault::WouldLose { .. })), "nor may it be removed");
    }
    let b = Broken::new().locked();
    remove(&b.path.join("a.txt"));
    git(&b.path, &["init", "-q", "inside"]);
    fs_err::write(b.path.join("inside/x"), "x").expect("write");
    assert_eq!(b.lost(), ["File(inside)"]);
}

#[test]
fn somebody_elses_things_are_not_repaired() {
    let b = Broken::new();
    b.f.git(&["worktree", "lock", "--reason", "usb", "../tree"]);
    remove(&b.path);
    assert_eq!(b.lost(), [format!("{:?}", Lost::Locked { reason: "usb".into() })]);
    let b = Broken::new();
    git(&b.path, &["checkout", "-q", "-b", "elsewhere"]);
    assert!(matches!(b.repair(), Err(GitFault::Taken { why, .. }) if why.contains("elsewhere")));
    let b = Broken::new();
    remove(&b.path);
    git(b.f.root(), &["init", "-q", "tree"]);
    assert!(matches!(b.repair(), Err(GitFault::Taken { .. })));
    let b = Broken::new();
    b.f.git(&["worktree", "remove", "tree"]);
    b.f.git(&["checkout", "-q", "b"]);
    b.f.commit("moved");
    b.f.git(&["checkout", "-q", "main"]);
    assert!(matches!(b.repair(), Err(GitFault::Taken { why, .. }) if why.contains("exists")));
}

#[test]
fn a_real_kill_at_any_moment_is_repaired() {
    let f = Fixture::new();
    for n in 0..300 {
        f.write(format!("many/{n}"), "content\n".repeat(200));
    }
    f.commit("many");
    let port = open(&f.work);
    let checkout = Checkout::New { branch: "b".into(), base: head(&f) };
    let path = f.root().join("tree");
    for delay_ms in [1, 3, 5, 8, 12, 16, 20, 30] {
        let args = ["worktree", "add", "--no-track", "-b", "b", "--", path.to_str().expect("UTF-8"), "HEAD"];
        let mut child = crate::adapters::git::fixture::command(&f.work, &args);
        let mut child = std::os::unix::process::CommandExt::process_group(&mut child, 0)
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("git starts");
        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
        let group = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        child.wait().expect("it ends");
        // The ref's own lock file is git's to clear, by hand: a killed `git branch` may leave it.
        fs_err::remove_file(f.work.join(".git/refs/heads/b.lock")).ok();
        let outcome = port.repair_worktree(&path, &checkout);
        assert!(outcome.is_ok(), "killed after {delay_ms} ms: {outcome:?}");
        assert_eq!(port.dirt(&path), Ok(vec![]), "killed after {delay_ms} ms");
        port.remove_worktree(&leaving(&path), &[]).expect("it holds nothing");
        port.delete_branch("b", &head(&f)).expect("it is at the base");
        let left = port.worktrees().expect("a list").into_iter().filter(|tree| tree.path.is_some());
        assert_eq!(left.count(), 1, "killed after {delay_ms} ms");
    }
}
