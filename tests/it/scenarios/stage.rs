//! Where a scenario is played: a repository with its remote, and the real binary.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value, json};

use crate::place::{Place, Ran, text, write};

use super::expect::{self, Answers};
use super::host;
use super::table::{Expectation, Given, Setup, Step, Where};

/// A tracked script of the base. What the world says to it stands in a tracked file as well.
const PROBE: &str = "#!/bin/sh\n# Ends as `state/NAME` says.\nread -r status <\"state/${0##*/}\"\n\
    if [ \"$status\" -ne 0 ]; then echo \"${0##*/}: 1 expectation not met\" >&2; fi\nexit \"$status\"\n";

pub struct Stage {
    place: Place,
    /// Names that a text may hold after a `$`.
    names: BTreeMap<&'static str, String>,
    /// The sessions there are, by agent.
    sessions: BTreeMap<String, String>,
    /// How many calls the host has reported.
    calls: u32,
    /// Whether calls may be killed, so that they need not answer.
    killing: bool,
    pub answers: Answers,
}

impl Stage {
    pub fn set(given: &Given) -> Self {
        let place = if given.setup == Setup::Untouched { Place::untouched() } else { Place::new() };
        let answers = Answers { named: BTreeMap::new(), last: Value::Null };
        let mut stage =
            Self { place, names: BTreeMap::new(), sessions: BTreeMap::new(), calls: 0, killing: false, answers };
        let (main, top) = (stage.place.repo.display().to_string(), stage.place.top().display().to_string());
        let other = stage.place.top().join("other").display().to_string();
        stage.names.extend([("main", main), ("top", top), ("other", other)]);
        stage.put_base(given);
        if given.setup == Setup::Work {
            stage.begin_work(given);
        }
        stage
    }

    fn put_base(&self, given: &Given) {
        let mut profile = "version = 1\n".to_owned();
        for (path, content) in &given.files {
            self.place.write(path, content);
        }
        for (name, status) in &given.probes {
            let _ = write!(
                profile,
                "\n[checks.{name}]\nrun = \"./probes/{name}\"\nkind = \"command\"\ntimeout = \"20s\"\n"
            );
            let script = self.place.repo.join("probes").join(name);
            write(&script, PROBE);
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("set");
            self.place.write(&format!("state/{name}"), &format!("{status}\n"));
        }
        if given.setup == Setup::Untouched {
            if !given.files.is_empty() {
                self.place.commit("files");
            }
            return;
        }
        self.place.rebase_profile(&profile);
    }

    fn begin_work(&mut self, given: &Given) {
        let mut params = json!({ "title": "the work", "goal": "what was asked for" });
        if given.commitment {
            let opened = json!({ "objective": "what was asked for", "criteria": given.criteria });
            let opened = self.place.call("commit.open", opened).expect("opened");
            params["commitment"] = opened["data"]["id"].clone();
            self.names.insert("commitment", text(&opened["data"]["id"]));
        } else {
            params["criteria"] = json!(given.criteria);
        }
        let (session, task, tree) = {
            let ada = self.place.agent("ada");
            let task = ada.claimed(params);
            (ada.session.clone(), task.clone(), ada.workspace(&task).display().to_string())
        };
        self.sessions.insert("ada".to_owned(), session);
        self.names.extend([("task", task), ("tree", tree)]);
    }

    /// `text` with every `$name` replaced.
    fn fill(&self, text: &str) -> String {
        // `$tree` before any shorter name that it begins with.
        self.names.iter().rev().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
    }

    /// The same in every text of a value; a text `@STEP:POINTER` is what stands there.
    pub fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match text.strip_prefix('@') {
                Some(place) => self.answers.at(place).unwrap_or_else(|why| panic!("{why}")).clone(),
                None => Value::String(self.fill(text)),
            },
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect())
            }
            other => other.clone(),
        }
    }

    /// Says what does not hold, if anything.
    pub fn check(&self, one: &Expectation) -> Result<(), String> {
        let one = Expectation { ptr: self.fill(&one.ptr), ..one.clone() };
        expect::hold(&one, &self.answers, |value| self.filled(value))
    }

    fn dir(&self, place: Option<Where>) -> PathBuf {
        let tree = self.names.get("tree").map(PathBuf::from);
        match place {
            None => tree.unwrap_or_else(|| self.place.repo.clone()),
            Some(Where::Tree) => tree.expect("there is a workspace"),
            Some(Where::Main) => self.place.repo.clone(),
            Some(Where::Other) => self.other(),
            Some(Where::Outside) => {
                let dir = self.place.top().join("outside");
                fs::create_dir_all(&dir).expect("made");
                dir
            }
        }
    }

    /// Another repository that kctl is set up in.
    fn other(&self) -> PathBuf {
        let dir = self.place.top().join("other");
        if !dir.exists() {
            fs::create_dir(&dir).expect("made");
            self.place.git_in(&dir, &["init", "-q", "-b", "main"]);
            write(&dir.join("README.md"), "another project\n");
            self.place.commit_in(&dir, "start");
            self.place.kctl_in(&dir, &["init"]).ok();
        }
        dir
    }

    pub fn act(&mut self, step: &Step) {
        let before = self.recorded();
        let bytes = fs::read(self.ledger()).ok();
        let Some(mut answer) = self.done(step) else { return };
        let after = self.recorded();
        // What kctl recorded meanwhile, seen past kctl: types of events, how many, and whether the file is another.
        let new = after.get(before.len().min(after.len())..).unwrap_or_default();
        answer["logged"] = json!(new.len());
        answer["events"] = json!(new);
        answer["rewritten"] = json!(fs::read(self.ledger()).ok() != bytes);
        match &step.name {
            Some(name) => drop(self.answers.named.insert(name.clone(), answer.clone())),
            None => assert!(went_well(&answer), "nobody expects anything of it, and it failed: {step:?}\n{answer:#}"),
        }
        self.answers.last = answer;
    }

    /// What came of it, where the step has an answer.
    fn done(&mut self, step: &Step) -> Option<Value> {
        let dir = self.dir(step.place);
        if let Some(op) = &step.call {
            return Some(self.call(step, op, &dir));
        }
        if let Some(tool) = &step.tool {
            return Some(self.tool(step, tool, &dir));
        }
        if let Some(bytes) = &step.send {
            return Some(said(&self.kctl(&dir, &["rpc"], Some(self.fill(bytes).as_bytes()))));
        }
        if let Some(words) = &step.cli {
            let words: Vec<String> = words.iter().map(|word| self.fill(word)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            return Some(said(&self.kctl(&dir, &words, None)));
        }
        if let Some(words) = &step.run {
            let words: Vec<String> = words.iter().map(|word| self.fill(word)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            return Some(said(&self.place.run(&dir, words[0], &words[1..], None)));
        }
        self.change(step, &dir);
        None
    }

    fn kctl(&self, dir: &Path, words: &[&str], stdin: Option<&[u8]>) -> Ran {
        let ran = self.place.run(dir, env!("CARGO_BIN_EXE_kctl"), words, stdin);
        assert!(!ran.stderr.contains("panicked at"), "{words:?}: {ran:#?}");
        ran
    }

    /// What a host does for a tool: it asks, runs only what is allowed, and reports what came of it.
    fn tool(&mut self, step: &Step, tool: &str, dir: &Path) -> Value {
        let arguments = step.with.as_ref().map_or(json!({}), |with| self.filled(with));
        let question = host::question(step.host.as_deref().unwrap_or("claude_code"), tool, &arguments);
        let mut answer = self.ask("action.evaluate", step.by.as_deref(), question.clone(), dir);
        let allowed = answer["data"]["allowed"] == true;
        answer["ran"] = json!(allowed);
        if allowed {
            let result = host::run(&self.place, dir, tool, &arguments);
            if step.by.as_deref() != Some("nobody") && self.ledger().exists() {
                self.calls += 1;
                let report = host::report(question, &format!("call-{}", self.calls), &result);
                answer["observed"] = self.ask("action.observe", step.by.as_deref(), report, dir);
            }
            answer["result"] = result;
        }
        answer
    }

    fn call(&mut self, step: &Step, op: &str, dir: &Path) -> Value {
        let mut params = self.named_by(op);
        if let Some(with) = &step.with {
            params.extend(self.filled(with).as_object().expect("`with` is a table").clone());
        }
        self.ask(op, step.by.as_deref(), params, dir)
    }

    fn ask(&mut self, op: &str, by: Option<&str>, mut params: Map<String, Value>, dir: &Path) -> Value {
        let agent = by.unwrap_or("ada");
        if agent != "nobody" && !params.contains_key("session") && self.place.repo.join(".git/decapod").exists() {
            params.insert("session".to_owned(), json!(self.session(agent)));
        }
        if self.killing {
            let params = Value::Object(params).to_string();
            return said(&self.kctl(dir, &["rpc", "--op", op, "--params", &params], None));
        }
        match self.place.call_in(dir, op, Value::Object(params)) {
            Ok(result) => result,
            Err(refusal) => json!({ "error": refusal }),
        }
    }

    /// The parameters by which an operation knows what it is about.
    fn named_by(&self, op: &str) -> Map<String, Value> {
        let one = |name: &str| self.names.get(name).map(|id| (name.to_owned(), json!(id)));
        let about = match op {
            "validate" | "context.resolve" | "turn.end" | "publish" => one("task"),
            "evidence.list" => one("task"),
            "criterion.list" => one("commitment").or(one("task")),
            "commit.evaluate" | "commit.show" | "commit.close" => one("commitment"),
            _ if op.starts_with("task.") && op != "task.list" && op != "task.create" => one("task"),
            _ if op.starts_with("workspace.") && op != "workspace.list" => one("task"),
            _ => None,
        };
        let mut params: Map<String, Value> = about.into_iter().collect();
        if op == "commit.close" {
            params.insert("verdict".to_owned(), json!("fulfilled"));
        }
        params
    }

    fn session(&mut self, agent: &str) -> String {
        if let Some(session) = self.sessions.get(agent) {
            return session.clone();
        }
        let session = self.place.agent(agent).session.clone();
        self.sessions.insert(agent.to_owned(), session.clone());
        session
    }

    /// A change of the world around kctl.
    fn change(&mut self, step: &Step, dir: &Path) {
        for (path, content) in step.write.iter().flatten() {
            write(&dir.join(path), content);
        }
        for path in step.remove.iter().flatten() {
            let path = dir.join(self.fill(path));
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.expect("removed");
        }
        for (path, target) in step.link.iter().flatten() {
            symlink(self.fill(target), dir.join(path)).expect("linked");
        }
        for (name, status) in step.probe.iter().flatten() {
            write(&dir.join("state").join(name), &format!("{status}\n"));
        }
        if let Some(message) = &step.commit {
            self.place.commit_in(dir, message);
        }
        if let Some(seconds) = step.later {
            self.place.later(seconds);
        }
        if step.restart {
            let _ = fs::remove_dir_all(self.place.repo.join(".git/decapod/cache"));
            let _ = fs::remove_file(self.place.repo.join(".git/decapod/index.db"));
        }
        if let Some(sql) = &step.sql {
            Connection::open(self.ledger()).and_then(|db| db.execute_batch(sql)).expect("the hand is skilled");
        }
        if let Some(at) = &step.kill_at {
            self.place.set("KCTL_FAILPOINT", Some(at.as_str()).filter(|at| !at.is_empty()));
            self.killing = !at.is_empty();
        }
    }

    fn ledger(&self) -> PathBuf {
        self.place.repo.join(".git/decapod/ledger.db")
    }

    /// The types of all recorded events, read past kctl from a copy: what a dead writer left is rolled back there alone.
    fn recorded(&self) -> Vec<String> {
        let copy = self.place.top().join("peek.db");
        let journal = |path: &Path| path.with_extension("db-journal");
        for (from, to) in [(self.ledger(), copy.clone()), (journal(&self.ledger()), journal(&copy))] {
            let _ = fs::remove_file(&to);
            if from.exists() {
                fs::copy(from, to).expect("copied");
            }
        }
        let Ok(db) = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_WRITE) else { return Vec::new() };
        let read = || {
            let mut rows = db.prepare("SELECT type FROM events ORDER BY seq")?;
            let types = rows.query_map([], |row| row.get(0))?;
            types.collect::<rusqlite::Result<Vec<String>>>()
        };
        read().expect("the ledger can be read")
    }
}

/// Whether a step did what it was for: a call was answered, a tool was run, a program ended with 0.
fn went_well(answer: &Value) -> bool {
    let refused = [answer.get("error"), answer.get("observed").and_then(|observed| observed.get("error"))];
    refused.iter().all(Option::is_none)
        && answer["ran"] != false
        && answer.get("status").is_none_or(|status| status == 0)
}

/// How a process ended and what it printed, as JSON where it is.
fn said(ran: &Ran) -> Value {
    let printed = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
    json!({ "status": ran.status, "stdout": ran.stdout, "stderr": ran.stderr, "json": printed })
}
