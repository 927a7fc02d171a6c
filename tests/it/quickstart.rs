//! `kctl quickstart` as somebody runs it on a machine that has git and perhaps Rust, and nothing else.
#![expect(clippy::disallowed_methods, reason = "this is the outside world that kctl meets")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// The programs that git, hooks and checks use; no cargo, no make.
const BARE_PROGRAMS: [&str; 14] =
    ["git", "sh", "bash", "cat", "grep", "sed", "env", "ls", "uname", "basename", "dirname", "mkdir", "rm", "sleep"];

/// A machine without settings of a person.
struct Machine {
    dir: TempDir,
    path: String,
}

impl Machine {
    fn whole() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory"), path: path() }
    }

    /// Only these programs are on PATH.
    fn with(programs: &[&str]) -> Self {
        let machine = Self::whole();
        let bin = machine.dir.path().join("only");
        fs_err::create_dir(&bin).expect("a new directory");
        for program in programs {
            let found = path().split(':').map(|dir| Path::new(dir).join(program)).find(|file| file.is_file());
            symlink(found.unwrap_or_else(|| panic!("{program} is installed")), bin.join(program)).expect("a link");
        }
        Self { path: bin.display().to_string(), ..machine }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir.path()).env_clear().env("PATH", &self.path);
        command.env("TMPDIR", self.dir.path());
        for name in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command
    }

    fn quickstart(&self, args: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_kctl")).arg("quickstart").args(args).output().expect("kctl runs")
    }

    /// Runs a line of the explorer in what was left in `dir`, with the variables that the story says.
    fn explores(&self, story: &str, line: &str) -> Output {
        let exports: Vec<&str> = story.lines().filter_map(|line| line.strip_prefix("  export ")).collect();
        assert_eq!(exports.len(), 3, "{story}");
        let cd = story.lines().rev().find_map(|line| line.strip_prefix("  cd ")).expect("it says where to go");
        let script = format!("export {}; cd {cd} && {line}", exports.join(" "));
        self.command("sh").args(["-c", &script]).output().expect("sh runs")
    }
}

fn path() -> String {
    std::env::var("PATH").expect("PATH is set")
}

fn told(output: &Output) -> String {
    let (story, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && words.is_empty(), "{story}\n--- stderr\n{words}");
    story.into_owned()
}

/// The lines that carry the story, in its order.
const PLOT: [&str; 27] = [
    "$ kctl init --dry-run",
    "create .decapod/kctl.toml",
    "changed: no",
    "$ kctl session acquire --agent ada",
    "$ kctl commit open ",
    "$ kctl task claim t-",
    "error[TASK_HELD]",
    "holder:       ada",
    "[exit 6]",
    "$ kctl workspace ensure t-",
    "$ kctl context resolve t-",
    "error[FINALIZATION_REJECTED]",
    "[exit 10]",
    "error[NOT_CLEARED]",
    "[exit 11]",
    "$ kctl validate t-",
    "[exit 8]",
    "$ git apply --index",
    "changed since",
    "$ git checkout -q -- src/",
    "is not committed",
    "has no clearance for `refs/heads/kctl/t-",
    "publication_ready: yes",
    "remote_verified: yes",
    "met:       AC-1, AC-2",
    "verdict:  fulfilled",
    "sound: yes",
];

fn follows_the_plot(story: &str) {
    let mut rest = story;
    for line in PLOT {
        let at = rest.find(line).unwrap_or_else(|| panic!("`{line}` is missing, or out of order:\n{story}"));
        rest = &rest[at + line.len()..];
    }
    assert!(!story.contains('\u{1b}'), "there is no terminal, so there are no colours");
    let hex = |rest: &str| rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    let told = story.match_indices('.').filter(|(at, _)| hex(&story[at + 1..]) >= 32).count();
    assert_eq!(told, 0, "a token is told:\n{story}");
}

fn left_something_sound(machine: &Machine, story: &str) {
    told(&machine.explores(story, "kctl ledger verify -q"));
    let calls: Vec<&str> = story.lines().filter(|line| line.starts_with("  kctl ")).collect();
    assert_eq!(calls.len(), 5, "{story}");
    for call in calls {
        let output = machine.explores(story, call);
        assert!(output.status.success(), "{call}: {output:?}");
    }
}

#[test]
fn on_a_machine_with_rust_it_tells_the_whole_story_and_leaves_it_behind() {
    let machine = Machine::whole();
    let story = told(&machine.quickstart(&["--dir", "left here"]));
    assert!(story.contains("a Rust crate without dependencies"), "{story}");
    assert!(story.contains("run = \"cargo test --locked\""), "{story}");
    follows_the_plot(&story);
    left_something_sound(&machine, &story);
}

#[test]
fn without_cargo_the_project_is_one_that_make_can_test() {
    let mut programs = BARE_PROGRAMS.to_vec();
    programs.push("make");
    let machine = Machine::with(&programs);
    let story = told(&machine.quickstart(&[]));
    assert!(story.contains("a shell script with a Makefile"), "{story}");
    assert!(story.contains("run = \"make test\""), "{story}");
    follows_the_plot(&story);
    left_something_sound(&machine, &story);
}

#[test]
fn without_cargo_and_make_a_person_writes_the_check() {
    let machine = Machine::with(&BARE_PROGRAMS);
    let story = told(&machine.quickstart(&[]));
    assert!(story.contains("so a person writes one into the profile"), "{story}");
    follows_the_plot(&story);
}

#[test]
fn settings_and_sessions_of_whoever_runs_it_change_nothing_and_are_not_changed() {
    let machine = Machine::with(&BARE_PROGRAMS);
    let home = machine.dir.path().join("home");
    fs_err::create_dir_all(home.join("templates/hooks")).expect("a new directory");
    let hook = home.join("templates/hooks/pre-commit");
    fs_err::write(&hook, "#!/bin/sh\nexit 1\n").expect("a new file");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let settings = format!(
        "[init]\ntemplateDir = {home}/templates\n[commit]\ngpgSign = true\n[gpg]\nprogram = false\n\
         [core]\nhooksPath = {home}/templates/hooks\n[user]\nuseConfigOnly = true\n[push]\ngpgSign = true\n",
        home = home.display()
    );
    fs_err::write(home.join(".gitconfig"), settings).expect("a new file");
    let mut command = machine.command(env!("CARGO_BIN_EXE_kctl"));
    command.arg("quickstart").env("HOME", &home).env("XDG_CONFIG_HOME", home.join("x"));
    command
        .env("GIT_DIR", "/nowhere")
        .env("GIT_INDEX_FILE", "/nowhere/index")
        .env("XDG_STATE_HOME", home.join("state"));
    command.env("KCTL_SESSION", "s-0000000000zz").env("KCTL_TOKEN", "s-0000000000zz.00");
    follows_the_plot(&told(&command.output().expect("kctl runs")));
    assert!(!home.join("state").exists(), "the state directory of the person is left alone");
}

#[test]
fn a_directory_that_holds_something_is_refused_and_left_alone() {
    let machine = Machine::whole();
    let dir = machine.dir.path().join("mine");
    fs_err::create_dir(&dir).expect("a new directory");
    fs_err::write(dir.join("letter"), "mine").expect("a new file");
    let output = machine.quickstart(&["--dir", "mine"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert!(words.starts_with("error[INVALID_VALUE]: `mine` is not empty"), "{words}");
    assert_eq!(fs_err::read_dir(&dir).expect("it is there").count(), 1);
}

#[test]
fn without_git_it_says_what_to_do() {
    let machine = Machine::with(&["sh"]);
    let output = machine.quickstart(&[]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{words}");
    assert!(words.contains("install git"), "{words}");
}

#[test]
fn a_story_that_breaks_stops_with_an_error() {
    // A git that cannot commit: the first thing that does not go as told.
    let machine = Machine::with(&BARE_PROGRAMS);
    let git = machine.dir.path().join("only/git");
    let real = fs_err::canonicalize(&git).expect("it is a link");
    fs_err::remove_file(&git).expect("it is ours");
    let script = format!("#!/bin/sh\n[ \"$1\" = commit ] && exit 9\nexec '{}' \"$@\"\n", real.display());
    fs_err::write(&git, script).expect("a new file");
    std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let output = machine.quickstart(&[]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{words}");
    assert!(words.contains("the story is broken: it should exit with 0 and exited with 9"), "{words}");
    assert!(words.contains("left_at:"), "{words}");
}
