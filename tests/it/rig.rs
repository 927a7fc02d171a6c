//! A repository with a bare remote and kctl set up in it, driven through the real binary, and what must always hold.
#![expect(clippy::needless_pass_by_value, reason = "parameters are written where they are sent")]

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// The binary under test, with failpoints.
pub const KCTL: &str = env!("CARGO_BIN_EXE_kctl");

/// A profile whose one check passes while `a.txt` says `good`.
const PROFILE: &str =
    "version = 1\n\n[checks.test]\nrun = [\"sh\", \"check.sh\"]\ninputs = [\"check.sh\", \"a.txt\"]\n";

/// How a call ended.
#[derive(Debug)]
pub struct Ran {
    /// None if a signal ended it.
    pub status: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            status: output.status.code(),
            signal: output.status.signal(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The one response object on stdout.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|fault| panic!("no JSON on stdout ({fault}): {self:?}"))
    }

    pub fn was_killed(&self) -> bool {
        self.signal == Some(9) && self.stdout.is_empty()
    }

    /// The refusal's code, if it is one.
    pub fn code(&self) -> Option<String> {
        self.json()["error"]["data"]["code"].as_str().map(str::to_owned)
    }

    /// Ids of the events that the receipt acknowledges.
    pub fn events(&self) -> Vec<String> {
        let Ok(answer) = serde_json::from_str::<Value>(&self.stdout) else { return Vec::new() };
        // The command line gives the result alone.
        let result = answer.get("result").unwrap_or(&answer);
        let events = result["receipt"]["events"].as_array().cloned().unwrap_or_default();
        events.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect()
    }
}

/// What a rig was at one moment.
pub struct Saved {
    name: String,
    acknowledged: Vec<String>,
    session: Option<String>,
}

pub struct Rig {
    dir: tempfile::TempDir,
    pub top: PathBuf,
    /// Every event id that an answer has acknowledged: none of them may ever be missing.
    pub acknowledged: RefCell<Vec<String>>,
    /// The session that calls are made with.
    pub session: RefCell<Option<String>>,
}

impl Rig {
    /// A repository with one commit on a bare remote, and no kctl.
    pub fn bare() -> Self {
        Self::named("live")
    }

    /// The same in a directory of this name.
    pub fn named(name: impl AsRef<OsStr>) -> Self {
        Self::made(tempfile::tempdir().expect("a directory"), name.as_ref())
    }

    /// The same on the file system that `parent` is on.
    pub fn within(parent: &Path) -> Self {
        Self::made(tempfile::tempdir_in(parent).expect("a directory"), OsStr::new("live"))
    }

    fn made(dir: tempfile::TempDir, name: &OsStr) -> Self {
        let top = dir.path().canonicalize().expect("it is there").join(name);
        let rig = Self { dir, top, acknowledged: RefCell::default(), session: RefCell::default() };
        for name in ["home", "state", "repo"] {
            fs::create_dir_all(rig.top.join(name)).expect("made");
        }
        rig.git_in(&rig.top, &["init", "-q", "--template=", "--bare", "-b", "main", "remote.git"]);
        rig.git(&["init", "-q", "--template=", "-b", "main"]);
        rig.git(&["remote", "add", "origin", "../remote.git"]);
        rig.put("a.txt", "good\n");
        rig.put("check.sh", "grep -q good a.txt\n");
        rig.put(".decapod/kctl.toml", PROFILE);
        rig.push_all("one");
        rig
    }

    /// A repository in which kctl is set up, and a session of `ada`.
    pub fn new() -> Self {
        Self::set_up(Self::bare())
    }

    pub fn set_up(rig: Self) -> Self {
        rig.ok("init", json!({}));
        rig.push_all("kctl");
        rig.settle();
        rig.be("ada");
        rig
    }

    /// Lets kctl ask the remote where the base is, so that later calls find nothing to ask. No check is run.
    pub fn settle(&self) {
        self.run("validate", &json!({ "checks": ["none"] }));
    }

    pub fn repo(&self) -> PathBuf {
        self.top.join("repo")
    }

    pub fn ledger(&self) -> PathBuf {
        self.repo().join(".git/decapod/ledger.db")
    }

    pub fn put(&self, path: &str, text: &str) {
        let path = self.repo().join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Commits everything and pushes it to the base.
    pub fn push_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["push", "-q", "--no-verify", "origin", "main"]);
    }

    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repo(), args)
    }

    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.program("git").args(args).current_dir(dir).output().expect("git starts");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// A program with a home of its own, and nothing of the machine's configuration or of the tests' environment.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(self.repo());
        command.env("HOME", self.top.join("home")).env("XDG_STATE_HOME", self.top.join("state"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("TMPDIR", self.dir.path());
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "ada").env(format!("GIT_{who}_EMAIL"), "ada@example.invalid");
        }
        command.stdin(Stdio::null());
        command
    }

    /// `kctl rpc --op`, ready to start.
    pub fn prepared(&self, op: &str, params: &Value) -> Command {
        let mut params = params.clone();
        if let Some(session) = self.session.borrow().as_ref().filter(|_| params.get("session").is_none()) {
            params["session"] = json!(session);
        }
        let mut command = self.program(KCTL);
        command.args(["rpc", "--op", op, "--params", &params.to_string()]);
        command
    }

    pub fn run(&self, op: &str, params: &Value) -> Ran {
        self.finish(&mut self.prepared(op, params))
    }

    /// Runs to the end; what the answer acknowledges is remembered.
    pub fn finish(&self, command: &mut Command) -> Ran {
        let ran = Ran::of(&command.output().expect("it starts"));
        self.remember(&ran);
        ran
    }

    pub fn remember(&self, ran: &Ran) {
        self.acknowledged.borrow_mut().extend(ran.events());
    }

    /// Runs what must succeed, and gives its data.
    pub fn ok(&self, op: &str, params: Value) -> Value {
        let ran = self.run(op, &params);
        let mut answer = ran.json();
        assert!(answer.get("result").is_some(), "`{op}` {params} was refused: {answer}\n{}", ran.stderr);
        answer["result"]["data"].take()
    }

    /// Acquires a session for `agent` and goes on as that.
    pub fn be(&self, agent: &str) -> String {
        let acquired = self.ok("session.acquire", json!({ "agent": agent, "ttl": "30d" }));
        let session = acquired["session"].as_str().expect("it has one").to_owned();
        self.session.replace(Some(session.clone()));
        session
    }

    /// A new task's id.
    pub fn task(&self, params: Value) -> String {
        self.ok("task.create", params)["id"].as_str().expect("it has one").to_owned()
    }

    /// Keeps a copy of everything, under the same path to come back to.
    pub fn save(&self) -> Saved {
        self.save_as("saved")
    }

    /// The same beside another such copy.
    pub fn save_as(&self, name: &str) -> Saved {
        copy(&self.top, &self.dir.path().join(name));
        let (acknowledged, session) = (self.acknowledged.borrow().clone(), self.session.borrow().clone());
        Saved { name: name.to_owned(), acknowledged, session }
    }

    pub fn restore(&self, saved: &Saved) {
        copy(&self.dir.path().join(&saved.name), &self.top);
        self.acknowledged.replace(saved.acknowledged.clone());
        self.session.replace(saved.session.clone());
    }

    /// The ledger verifies, and nothing that was acknowledged is missing from it.
    pub fn assert_sound(&self, when: &str) {
        let verified = self.run("ledger.verify", &json!({})).json();
        assert_eq!(verified["result"]["data"]["sound"], true, "{when}: {verified}");
        let there = self.logged();
        let lost: Vec<_> = self.acknowledged.borrow().iter().filter(|id| !there.contains(*id)).cloned().collect();
        assert!(lost.is_empty(), "{when}: acknowledged and lost: {lost:?}");
    }

    /// The ids of every recorded event.
    pub fn logged(&self) -> HashSet<String> {
        let mut there = HashSet::new();
        let mut after = 0;
        loop {
            let page = self.ok("ledger.log", json!({ "after": after, "limit": 499 }));
            let items = page["items"].as_array().cloned().unwrap_or_default();
            let Some(last) = items.last() else { return there };
            after = last["seq"].as_u64().expect("it has one");
            there.extend(items.iter().filter_map(|item| item["id"].as_str().map(str::to_owned)));
        }
    }

    /// Nothing half made is left: no worktree, branch, registration, lock or publication that nobody answers for.
    pub fn assert_tidy(&self, when: &str) {
        let listed = self.git(&["worktree", "list", "--porcelain"]);
        assert!(!listed.contains("prunable") && !listed.contains("locked"), "{when}: {listed}");
        let known = self.ok("workspace.list", json!({ "limit": 499 }))["items"].as_array().cloned().unwrap_or_default();
        let of = |name: &str| known.iter().filter_map(|item| item[name].as_str().map(str::to_owned)).collect();
        let (paths, branches): (HashSet<String>, HashSet<String>) = (of("path"), of("branch"));
        let trees = listed.lines().filter_map(|line| line.strip_prefix("worktree ")).skip(1);
        let strays: Vec<_> = trees.filter(|path| !paths.contains(*path)).collect();
        assert!(strays.is_empty(), "{when}: worktrees that nobody knows: {strays:?}");
        let local = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/kctl"]);
        let strays: Vec<_> = local.lines().filter(|branch| !branches.contains(*branch)).collect();
        assert!(strays.is_empty(), "{when}: branches that nobody knows: {strays:?}");
        let locks = self.stale_locks();
        assert!(locks.is_empty(), "{when}: locks left: {locks:?}");
    }

    /// Files of git's that say that somebody is at work. Kctl's own lock files stay, and say nothing.
    pub fn stale_locks(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        gather_locks(&self.repo().join(".git"), &mut found);
        gather_locks(&self.top.join("remote.git"), &mut found);
        found
    }

    /// Every publication has ended, and the remote holds what the last one of each branch says.
    pub fn assert_published(&self, when: &str) {
        let items = self.ok("publication.list", json!({}))["items"].as_array().cloned().unwrap_or_default();
        for item in &items {
            assert_ne!(item["status"], "started", "{when}: a publication that never ended: {item}");
        }
        let mut seen = HashSet::new();
        for done in items.iter().filter(|item| item["status"] == "done") {
            let reference = done["reference"].as_str().expect("it has one").to_owned();
            let held = self.git(&["ls-remote", "origin", &reference]);
            let held = held.split('\t').next().unwrap_or_default().to_owned();
            assert!(!seen.insert(reference) || done["observed"] == held, "{when}: {done}, and the remote has {held}");
        }
    }

    /// The workspace of `task`, with a commit in it.
    pub fn worked_on(&self, task: &str) -> PathBuf {
        let path = self.ok("workspace.ensure", json!({ "task": task }))["path"].as_str().map(PathBuf::from);
        let path = path.expect("it has one");
        fs::write(path.join("b.txt"), task).expect("written");
        self.git_in(&path, &["add", "-A"]);
        self.git_in(&path, &["commit", "-q", "-m", "work"]);
        path
    }
}

fn gather_locks(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && !path.is_symlink() {
            if name != "decapod" {
                gather_locks(&path, found);
            }
        } else if path.extension() == Some(OsStr::new("lock")) {
            found.push(path);
        }
    }
}

/// Replaces `to` by a copy of `from` that git takes for the same: times and modes stay.
fn copy(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).expect("removed");
    }
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status().expect("cp starts");
    assert!(copied.success());
}

/// Says why a test was not run, where the machine does not allow what it needs.
pub fn skipped(test: &str, why: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}
