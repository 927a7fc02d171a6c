//! A repository with a bare remote, a stand-in for kctl that records how it is called, and the survey that turns what
//! git says into facts.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kctl::adapters::files::DiskFiles;
use kctl::domain::plan::{Place, Plan, Step};
use kctl::ports::files::{EntryKind, Files as _, carry_out};
use kctl::rules::adoption::hooks::{
    self, FORMER_KEY, GateStatus, HOOKS_PATH_KEY, HookFacts, HookFile, MAX_HOOK_BYTES, MAX_HOOK_FILES, OUR_DIR,
    Remembered, Scope, Setting, USUAL_DIR,
};

/// A former hook that records its name, arguments and input beside the repository, then says yes or no.
pub const RECORDER: &str = "#!/bin/sh\n{ echo \"former $0 $*\"; cat; } >> \"$LOG\"\nexit ${FORMER_SAYS:-0}\n";

pub struct World {
    _dir: tempfile::TempDir,
    pub repo: PathBuf,
    pub kctl: PathBuf,
}

impl World {
    /// A repository with one commit, in a directory whose name needs quoting.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("it is there").join("it's a \"dir\" $HOME");
        let (repo, kctl) = (top.join("repo"), top.join("bin dir/kctl"));
        fs::create_dir_all(&repo).expect("made");
        fs::create_dir_all(top.join("bin dir")).expect("made");
        let world = Self { _dir: dir, repo, kctl };
        let recorder = "#!/bin/sh\n{ echo \"gate $*\"; cat; } >> \"$LOG\"\nexit ${GATE_SAYS:-0}\n";
        world.put_at(&world.kctl, recorder, 0o755);
        world.git(&["init", "-q", "--bare", "-b", "main", "../remote.git"]);
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["remote", "add", "origin", "../remote.git"]);
        world.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
        world
    }

    pub fn top(&self) -> &Path {
        self.repo.parent().expect("it has one")
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.top().join("log")).unwrap_or_default()
    }

    pub fn forget(&self) {
        let _ = fs::remove_file(self.top().join("log"));
    }

    pub fn put(&self, path: &str, text: &str, mode: u32) {
        self.put_at(&self.repo.join(path), text, mode);
    }

    fn put_at(&self, path: &Path, text: &str, mode: u32) {
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(path, text).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    }

    /// Runs a program in `dir` with a home of its own and nothing of the machine's git configuration.
    pub fn run(&self, dir: &Path, program: &str, args: &[&str], env: &[(&str, &str)]) -> Output {
        let home = self.top().join("home");
        fs::create_dir_all(&home).expect("made");
        let mut command = Command::new(program);
        command.args(args).current_dir(dir).envs(env.iter().copied());
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "XDG_CONFIG_HOME", "KCTL_HOOK_DEPTH"] {
            command.env_remove(name);
        }
        command.env("HOME", &home).env("LOG", self.top().join("log")).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "ada").env(format!("GIT_{who}_EMAIL"), "ada@example.invalid");
        }
        command.output().unwrap_or_else(|fault| panic!("{program} must start: {fault}"))
    }

    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repo, args)
    }

    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.run(dir, "git", args, &[]);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Commits something new and pushes it. Says whether the push went through, and what was said on stderr.
    pub fn push(&self, env: &[(&str, &str)]) -> (bool, String) {
        self.push_in(&self.repo, "main", env)
    }

    pub fn push_in(&self, dir: &Path, branch: &str, env: &[(&str, &str)]) -> (bool, String) {
        let count = fs::read_to_string(dir.join("n")).unwrap_or_default().len();
        fs::write(dir.join("n"), "n".repeat(count + 1)).expect("written");
        self.git_in(dir, &["add", "n"]);
        self.git_in(dir, &["commit", "-q", "--no-verify", "-m", "more"]);
        self.forget();
        let output = self.run(dir, "git", &["push", "-q", "origin", branch], env);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    pub fn files(&self) -> DiskFiles {
        DiskFiles::new(Some(self.repo.clone()), self.repo.join(".git"))
    }

    fn values(&self, args: &[&str]) -> Vec<Vec<u8>> {
        let output = self.run(&self.repo, "git", &[&["config", "-z"], args].concat(), &[]);
        let values = output.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec);
        let mut values: Vec<Vec<u8>> = values.collect();
        values.pop();
        values
    }

    /// What the operation gathers before it plans.
    pub fn survey(&self) -> HookFacts {
        let scoped = self.values(&["--show-scope", "--type=path", "--get-all", HOOKS_PATH_KEY]);
        let settings = scoped.chunks(2).map(|pair| Setting { scope: scope(&pair[0]), path: path(&pair[1]) });
        let remembered = self.values(&["--local", "--get", FORMER_KEY]).pop().map(|raw| {
            let expanded = self.values(&["--local", "--type=path", "--get", FORMER_KEY]).pop();
            Remembered { raw: path(&raw), path: path(&expanded.expect("it is set")) }
        });
        let mut facts = HookFacts {
            common_dir: self.repo.join(".git"),
            kctl: self.kctl.clone(),
            settings: settings.collect(),
            own_values: self.values(&["--local", "--get-all", HOOKS_PATH_KEY]).iter().map(|raw| path(raw)).collect(),
            remembered,
            usual: self.hook_files(USUAL_DIR),
            usual_is_link: self.repo.join(".git/hooks").is_symlink(),
            ours: self.hook_files(OUR_DIR),
            former_names: Vec::new(),
        };
        let former = fs::read_dir(self.repo.join(facts.former_dir())).into_iter().flatten();
        facts.former_names = former.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        facts
    }

    fn hook_files(&self, dir: &str) -> Vec<HookFile> {
        let files = self.files();
        let read = |name: String| {
            let at = Place::common(format!("{dir}/{name}"));
            let entry = files.look(&at).expect("looked").expect("it was listed");
            let regular = entry.kind == EntryKind::File;
            let bytes = regular.then(|| files.read(&at, MAX_HOOK_BYTES as u64).ok().flatten()).flatten();
            HookFile { name, mode: if regular { entry.mode } else { 0 }, bytes }
        };
        files.list(&Place::common(dir), MAX_HOOK_FILES).expect("listed").into_iter().map(read).collect()
    }

    /// Carries out `plan` as the operation does.
    pub fn carry_out(&self, plan: &Plan) {
        carry_out::<anyhow::Error>(plan, &self.files(), &mut |step| {
            match step {
                Step::SetConfig { key, value } => {
                    self.git(&["config", "--local", key, value.to_str().expect("UTF-8 here")]);
                }
                Step::UnsetConfig { key } => {
                    self.git(&["config", "--local", "--unset", key]);
                }
                other => panic!("not in these tests: {other}"),
            }
            Ok(())
        })
        .expect("carried out");
    }

    pub fn install(&self) -> Plan {
        let plan = hooks::install(&self.survey()).expect("planned");
        self.carry_out(&plan);
        assert_eq!(hooks::install(&self.survey()).map(|again| again.steps), Ok(Vec::new()), "twice is once");
        assert!(matches!(hooks::status(&self.survey()), GateStatus::InForce { outdated: false, .. }));
        plan
    }

    pub fn uninstall(&self) {
        self.carry_out(&hooks::uninstall(&self.survey()));
        assert!(hooks::uninstall(&self.survey()).is_empty(), "twice is once");
        assert_eq!(hooks::status(&self.survey()), GateStatus::Absent);
    }

    /// Every file under git's directory that hooks are made of, with mode and content, and the configuration.
    pub fn snapshot(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for dir in [".git/hooks", ".git/decapod", ".husky", ".githooks", ".decapod"] {
            gather(&self.repo.join(dir), &mut all);
        }
        // Git leaves the header of an emptied section behind, as it does for everybody.
        let config = fs::read_to_string(self.repo.join(".git/config")).expect("there");
        all.insert("config".into(), config.replace("[decapod]\n", ""));
        all
    }
}

fn gather(dir: &Path, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            gather(&path, all);
            continue;
        }
        let text = if path.is_symlink() { format!("{:?}", fs::read_link(&path)) } else { read(&path) };
        all.insert(path.display().to_string(), text);
    }
}

fn read(path: &Path) -> String {
    let mode = fs::metadata(path).expect("there").permissions().mode();
    format!("{mode:o} {}", String::from_utf8_lossy(&fs::read(path).expect("there")))
}

fn path(raw: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(raw.to_vec()))
}

fn scope(name: &[u8]) -> Scope {
    let all = [Scope::System, Scope::Global, Scope::Local, Scope::Worktree, Scope::Command];
    all.into_iter().find(|scope| scope.name().as_bytes() == name).expect("git has no other")
}

/// Where a program is, or None with a line that says the test was skipped.
pub fn tool(name: &str) -> Option<PathBuf> {
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&dirs).map(|dir| dir.join(name)).find(|path| path.is_file());
    if found.is_none() {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "skipped: `{name}` is not installed");
    }
    found
}

pub fn text(path: &Path) -> &str {
    let text: &OsStr = path.as_os_str();
    text.to_str().expect("UTF-8 here")
}
