//! A place to drive the real binary in: a repository with a bare remote, a home and a state directory of its own.
//! Every answer and refusal that passes through it is held to the laws of the wire (`laws`).
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::laws;

/// The profile that a place's base has, unless a test writes its own. `test` passes while `broken` is not there.
pub const PROFILE: &str = r#"version = 1

[checks.test]
run = "test ! -e broken"
kind = "test"
timeout = "20s"
"#;

/// A repository, its remote, and everything that kctl would else take from the machine.
pub struct Place {
    /// Removed with the place; none for the templates, which live as long as the process.
    _dir: Option<tempfile::TempDir>,
    pub repo: PathBuf,
    pub remote: PathBuf,
    /// Variables that every later call gets; none as the value takes the variable away.
    env: Mutex<Vec<(String, Option<String>)>>,
    /// The still clock of later calls, in milliseconds since the epoch; 0 lets it run.
    now_ms: AtomicI64,
}

/// What came of one process.
#[derive(Clone, Debug)]
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            // A process that a signal ended has no status of its own.
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn ok(&self) -> &Self {
        assert_eq!(self.status, 0, "{self:#?}");
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("stdout is not JSON: {why}\n{self:#?}"))
    }
}

impl Place {
    /// A repository that kctl is set up in, with [`PROFILE`] on the base and pushed.
    pub fn new() -> Self {
        Self::copied(template())
    }

    /// A repository with one commit that is pushed, in which kctl was never called.
    pub fn untouched() -> Self {
        Self::copied(plain())
    }

    /// Like [`Place::new`], with `profile` on the base instead.
    pub fn with_profile(profile: &str) -> Self {
        let place = Self::new();
        place.rebase_profile(profile);
        place
    }

    fn copied(from: &Place) -> Self {
        let dir = tempfile::Builder::new().prefix("kctl it ").tempdir().expect("a directory");
        let place = Self::at(&dir.path().canonicalize().expect("it is there"), Some(dir));
        copy_dir(from.top(), place.top());
        // Git resolves a relative address from each work tree's own top, so that of a workspace would lead nowhere.
        let config = place.repo.join(".git/config");
        let text = fs::read_to_string(&config).expect("read");
        let remote = place.remote.to_str().expect("UTF-8");
        fs::write(&config, text.replace("../remote.git", remote)).expect("written");
        place
    }

    fn at(top: &Path, dir: Option<tempfile::TempDir>) -> Self {
        Self {
            repo: top.join("calc"),
            remote: top.join("remote.git"),
            _dir: dir,
            env: Mutex::default(),
            now_ms: AtomicI64::new(0),
        }
    }

    /// The directory that holds everything of this place.
    pub fn top(&self) -> &Path {
        self.repo.parent().expect("it has one")
    }

    pub fn state(&self) -> PathBuf {
        self.top().join("state")
    }

    /// Puts `profile` on the base, here and on the remote.
    pub fn rebase_profile(&self, profile: &str) {
        self.write(".decapod/kctl.toml", profile);
        self.commit("profile");
        self.git(&["push", "-q", "origin", "main"]);
        // So that kctl asks the remote now, and later calls find nothing to ask. No check is run.
        drop(self.call("validate", json!({ "checks": ["none"] })));
    }

    /// Sets a variable for every later call, or takes it away.
    pub fn set(&self, name: &str, value: Option<&str>) {
        self.env.lock().expect("held by nobody").push((name.to_owned(), value.map(str::to_owned)));
    }

    /// Makes the clock of every later call stand still, `seconds` after the real one.
    pub fn later(&self, seconds: i64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
        let later = i64::try_from(now).expect("before 292 million AD") + seconds * 1000;
        self.now_ms.store(later, Ordering::Relaxed);
    }

    /// Runs a program in `dir`.
    pub fn run(&self, dir: &Path, program: &str, args: &[&str], stdin: Option<&[u8]>) -> Ran {
        let mut command = self.command(dir, program, args);
        command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|why| panic!("{program} must start: {why}"));
        if let Some(bytes) = stdin {
            // A program that ends before it has read everything is judged by what it says.
            let _ = child.stdin.take().expect("it was piped").write_all(bytes);
        }
        Ran::of(&child.wait_with_output().expect("it ends"))
    }

    /// A program with this place's home and nothing of the machine's, ready to start.
    pub fn command(&self, dir: &Path, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(dir).env_clear();
        for name in ["PATH", "TMPDIR", "LANG", "LLVM_PROFILE_FILE"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", self.top().join("home")).env("XDG_STATE_HOME", self.state());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "ada").env(format!("GIT_{who}_EMAIL"), "ada@example.invalid");
        }
        let now_ms = self.now_ms.load(Ordering::Relaxed);
        command.envs((now_ms != 0).then(|| ("KCTL_TEST_NOW_MS", now_ms.to_string())));
        for (name, value) in self.env.lock().expect("held by nobody").iter() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    pub fn kctl(&self, args: &[&str]) -> Ran {
        self.kctl_in(&self.repo, args)
    }

    pub fn kctl_in(&self, dir: &Path, args: &[&str]) -> Ran {
        let ran = self.run(dir, env!("CARGO_BIN_EXE_kctl"), args, None);
        laws::hold_cli(self, args, &ran);
        ran
    }

    /// Runs kctl as a person does: with a terminal, and without a session. None where `script` cannot make one.
    pub fn person(&self, args: &[&str]) -> Option<Ran> {
        let quoted = |word: &&str| format!("'{}'", word.replace('\'', r"'\''"));
        let words: Vec<String> = [env!("CARGO_BIN_EXE_kctl")].iter().chain(args).map(quoted).collect();
        let typed = words.join(" ");
        let probe = self.run(&self.repo, "script", &["-qec", "test -t 0 -a -t 2", "/dev/null"], None);
        if probe.status != 0 {
            let _ = writeln!(std::io::stderr(), "skipped: `script` gives no terminal here: {probe:?}");
            return None;
        }
        Some(self.run(&self.repo, "script", &["-qec", &typed, "/dev/null"], None))
    }

    /// The answer's `data` of a command that must succeed.
    pub fn data(&self, args: &[&str]) -> Value {
        let ran = self.kctl(&[args, &["--json"]].concat());
        ran.ok().json()["data"].clone()
    }

    /// The refusal of a command that must be refused: `{code, message, category, details, next, …}`.
    pub fn refusal(&self, args: &[&str]) -> Value {
        let ran = self.kctl(&[args, &["--json"]].concat());
        assert_ne!(ran.status, 0, "{args:?} was not refused: {ran:#?}");
        flat(&ran.json()["error"])
    }

    /// The response line to `request` on the RPC door.
    pub fn rpc(&self, request: &Value) -> Value {
        self.rpc_in(&self.repo, request)
    }

    pub fn rpc_in(&self, dir: &Path, request: &Value) -> Value {
        let ran = self.run(dir, env!("CARGO_BIN_EXE_kctl"), &["rpc"], Some(request.to_string().as_bytes()));
        let response = ran.ok().json();
        laws::hold_rpc(self, request, &response);
        response
    }

    /// Calls `op` over RPC: the whole result, or the refusal.
    pub fn call(&self, op: &str, params: Value) -> Result<Value, Value> {
        self.call_in(&self.repo, op, params)
    }

    pub fn call_in(&self, dir: &Path, op: &str, params: Value) -> Result<Value, Value> {
        let mut request = json!({ "jsonrpc": "2.0", "id": 1, "method": op });
        request["params"] = params;
        let response = self.rpc_in(dir, &request);
        match response.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(flat(&response["error"])),
        }
    }

    /// Git in the repository, which must succeed.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repo, args)
    }

    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let ran = self.run(dir, "git", args, None);
        assert_eq!(ran.status, 0, "git {args:?}: {ran:#?}");
        ran.stdout.trim_end().to_owned()
    }

    /// Writes a file of the repository.
    pub fn write(&self, path: &str, text: &str) {
        write(&self.repo.join(path), text);
    }

    /// Commits everything in the repository.
    pub fn commit(&self, message: &str) -> String {
        self.commit_in(&self.repo, message)
    }

    pub fn commit_in(&self, dir: &Path, message: &str) -> String {
        self.git_in(dir, &["add", "-A"]);
        self.git_in(dir, &["commit", "-q", "--no-verify", "-m", message]);
        self.git_in(dir, &["rev-parse", "HEAD"])
    }

    /// What `reference` holds on the remote.
    pub fn remote_holds(&self, reference: &str) -> Option<String> {
        let ran = self.run(&self.remote, "git", &["rev-parse", "--verify", "-q", reference], None);
        (ran.status == 0).then(|| ran.stdout.trim().to_owned())
    }

    /// Every event of the ledger, as `ledger.log` shows it.
    pub fn log(&self) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let after = all.last().map_or(json!(0), |event| event["seq"].clone());
            let page = self.call("ledger.log", json!({ "after": after, "limit": 400 })).expect("it is read");
            match page["data"]["items"].as_array() {
                Some(items) if !items.is_empty() => all.extend(items.iter().cloned()),
                _ => return all,
            }
        }
    }

    /// A session for `name`.
    pub fn agent(&self, name: &str) -> Agent<'_> {
        let data = self.call("session.acquire", json!({ "agent": name })).expect("anybody may")["data"].clone();
        Agent { place: self, session: text(&data["session"]), token: text(&data["token"]) }
    }
}

/// A session at the RPC door.
pub struct Agent<'p> {
    pub place: &'p Place,
    pub session: String,
    pub token: String,
}

impl Agent<'_> {
    pub fn call(&self, op: &str, params: Value) -> Result<Value, Value> {
        self.call_in(&self.place.repo, op, params)
    }

    pub fn call_in(&self, dir: &Path, op: &str, mut params: Value) -> Result<Value, Value> {
        params["session"] = json!(self.session);
        self.place.call_in(dir, op, params)
    }

    /// The `data` of a call that must succeed.
    pub fn ok(&self, op: &str, params: Value) -> Value {
        match self.call(op, params) {
            Ok(result) => result["data"].clone(),
            Err(refusal) => panic!("{op} was refused: {refusal:#}"),
        }
    }

    /// The refusal of a call that must be refused with `code`.
    pub fn no(&self, code: &str, op: &str, params: Value) -> Value {
        match self.call(op, params) {
            Ok(result) => panic!("{op} was not refused: {result:#}"),
            Err(refusal) => {
                assert_eq!(refusal["code"], code, "{op}: {refusal:#}");
                refusal
            }
        }
    }

    /// A new task that this agent holds.
    pub fn claimed(&self, params: Value) -> String {
        let task = text(&self.ok("task.create", params)["id"]);
        self.ok("task.claim", json!({ "task": task }));
        task
    }

    /// The workspace of a task that this agent holds.
    pub fn workspace(&self, task: &str) -> PathBuf {
        PathBuf::from(text(&self.ok("workspace.ensure", json!({ "task": task }))["path"]))
    }

    /// A claimed task whose workspace holds one commit, with its evidence made.
    pub fn worked(&self, params: Value) -> (String, PathBuf) {
        let task = self.claimed(params);
        let tree = self.workspace(&task);
        write(&tree.join("work.txt"), "done\n");
        self.place.commit_in(&tree, "work");
        let shown = self.ok("validate", json!({ "task": task, "scope": "branch" }));
        assert_eq!(shown["publication_ready"], true, "{shown:#}");
        (task, tree)
    }
}

/// An error object with its `data` beside its `message`.
fn flat(error: &Value) -> Value {
    let mut refusal = error["data"].clone();
    assert!(refusal.is_object(), "an error without data: {error:#}");
    refusal["message"] = error["message"].clone();
    refusal["number"] = error["code"].clone();
    refusal
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}

/// The texts of a list.
pub fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}")).iter().map(text).collect()
}

/// What the operations proposed by an answer or refusal are called.
pub fn proposed(answer: &Value) -> Vec<String> {
    answer["next"].as_array().into_iter().flatten().map(|next| text(&next["op"])).collect()
}

pub fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("it has one")).expect("made");
    fs::write(path, content).expect("written");
}

/// Polls until `holds`, for what happens in another process.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..400 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("waited 10 s in vain until {what}");
}

/// A directory of this process under the build directory; what former processes left there goes.
fn template_dir(name: &str) -> PathBuf {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(all).expect("made");
    for entry in fs::read_dir(all).expect("listed").filter_map(Result::ok) {
        let name = entry.file_name().into_string().unwrap_or_default();
        let pid = name.strip_prefix("template ").and_then(|rest| rest.split(' ').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Another process may be at it as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let dir = all.join(format!("template {} {name}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(dir.join("calc")).expect("made");
    fs::create_dir_all(dir.join("home")).expect("made");
    dir.canonicalize().expect("it is there")
}

fn plain() -> &'static Place {
    static PLAIN: OnceLock<Place> = OnceLock::new();
    PLAIN.get_or_init(|| {
        let place = Place::at(&template_dir("plain"), None);
        place.git(&["init", "-q", "--bare", "-b", "main", "../remote.git"]);
        place.git(&["init", "-q", "-b", "main"]);
        place.git(&["remote", "add", "origin", "../remote.git"]);
        place.write("src/lib.txt", "one\ntwo\n");
        place.commit("start");
        place.git(&["push", "-q", "-u", "origin", "main"]);
        place.git(&["remote", "set-head", "origin", "main"]);
        place
    })
}

fn template() -> &'static Place {
    static TEMPLATE: OnceLock<Place> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let place = Place::at(&template_dir("set up"), None);
        copy_dir(plain().top(), place.top());
        place.kctl(&["init"]).ok();
        place.rebase_profile(PROFILE);
        place
    })
}

/// Copies what a place is made of: directories, files with their modes, links.
fn copy_dir(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("listed").map(|entry| entry.expect("listed")) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("known");
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&path).expect("read"), &target).expect("linked");
        } else if kind.is_dir() {
            fs::create_dir_all(&target).expect("made");
            copy_dir(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}
