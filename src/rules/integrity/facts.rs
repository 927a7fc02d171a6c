//! What the base's profile says about its tests: the files that its checks run.

use std::collections::BTreeSet;

use super::Discovery;
use super::config;
use super::model::Checks;
use super::paths::{base, language_of};
use crate::domain::profile::{CheckKind, PROFILE_PATH, Profile, Run};
use crate::rules::failure::lineage::shell;

/// Directories whose name says that tests lie in them.
const OF_TESTS: [&str; 9] = ["test", "tests", "__tests__", "spec", "specs", "e2e", "testing", "it", "t"];
/// Directories whose name says that the work itself lies in them.
const OF_WORK: [&str; 6] = ["src", "source", "app", "pkg", "cmd", "internal"];
/// Programs that run the file that is their first argument.
const INTERPRETERS: [&str; 15] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "ruby", "perl", "php", "deno", "bun",
    "source",
];

/// Files that lead to other files are followed to so many.
const MAX_FOLLOWED: usize = 200;
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const JUSTFILES: [&str; 3] = ["justfile", "Justfile", ".justfile"];

/// Facts about the checks of `profile`; `read` gives the text that the base has at a path.
#[must_use]
pub fn checks(profile: &Profile, read: impl Fn(&str) -> Option<String>) -> Checks {
    let mut follow = Follow { facts: Checks::default(), seen: BTreeSet::new(), from: None, read: &read };
    for check in profile.checks.values() {
        if check.kind == CheckKind::Test {
            follow.facts.tests.extend(check.inputs.iter().filter(|glob| names_tests(glob)).cloned());
        }
        let commands = match &check.run {
            Run::Shell(text) => shell::commands(text),
            Run::Argv(words) => vec![words.clone()],
        };
        commands.iter().for_each(|words| follow.command(words));
    }
    follow.facts
}

/// From a command to the files that decide what it does.
struct Follow<'r> {
    facts: Checks,
    seen: BTreeSet<String>,
    /// The file that is read; none for the profile.
    from: Option<String>,
    read: &'r dyn Fn(&str) -> Option<String>,
}

impl Follow<'_> {
    fn command(&mut self, words: &[String]) {
        let bare: Vec<&String> = words.iter().skip_while(|word| shell::is_assignment(word) || *word == "env").collect();
        let Some(program) = bare.first().map(|program| base(program).to_owned()) else { return };
        let rest: Vec<&str> = bare.iter().skip(1).map(|word| word.as_str()).collect();
        let plain = || rest.iter().copied().filter(|word| !word.starts_with('-') && !word.contains('='));
        match program.as_str() {
            "make" | "gmake" => self.targets(&MAKEFILES, plain().collect()),
            "just" => self.targets(&JUSTFILES, plain().collect()),
            "npm" | "yarn" | "pnpm" | "bun" => {
                let name = plain().find(|word| !matches!(*word, "run" | "run-script" | "exec"));
                self.package(name.map_or("test", |name| if name == "t" { "test" } else { name }));
            }
            _ => {}
        }
        if !bare[0].contains('/') {
            self.facts.programs.push(program.clone());
        }
        if let Some(path) = script(words) {
            self.file(&path);
        }
        self.facts.pytest |=
            matches!(program.as_str(), "pytest" | "py.test" | "tox" | "nox") || rest.contains(&"pytest");
        if let Some(at) = rest.iter().position(|word| *word == "unittest") {
            self.facts.discoveries.extend(Discovery::of(&rest[at + 1..]));
        }
        let module = rest.iter().position(|word| *word == "-m").and_then(|at| rest.get(at + 1));
        if let Some(module) = module {
            let path = module.replace('.', "/");
            self.file(&format!("{path}.py"));
            self.file(&format!("{path}/__main__.py"));
        }
    }

    /// A file that is run: it belongs to what judges, and so does what it runs.
    fn file(&mut self, path: &str) {
        if path == PROFILE_PATH || self.seen.len() >= MAX_FOLLOWED || self.seen.contains(path) {
            return;
        }
        if self.from.as_deref().is_some_and(|from| is_tried(from, path)) {
            return;
        }
        let Some(text) = (self.read)(path) else { return };
        self.seen.insert(path.to_owned());
        let glob = globset::escape(path);
        // A program of a language that is read is compared by what it asserts; any other is held as it is.
        if language_of(path).is_some() {
            self.facts.runs.push(path.to_owned());
            return self.facts.tests.push(glob);
        }
        self.facts.config.push(glob);
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let outer = self.from.replace(path.to_owned());
        for line in text.lines() {
            for words in shell::commands(line) {
                self.command(&words);
            }
            // `. ci/lib.sh`, `source "$(dirname "$0")/lib.sh"`, and scripts that are named in any other way.
            let marks = |c: char| c.is_whitespace() || "\"'`;|&()=$<>".contains(c);
            for word in line.split(marks).filter(|word| is_shell(word)) {
                let word = word.trim_start_matches("./").trim_start_matches('/');
                self.file(word);
                if !dir.is_empty() {
                    self.file(&format!("{dir}/{word}"));
                }
            }
        }
        self.from = outer;
    }

    fn targets(&mut self, files: &[&str], targets: Vec<&str>) {
        let Some(text) = files.iter().find_map(|path| (self.read)(path)) else { return };
        let mut targets: Vec<String> = targets.into_iter().map(str::to_owned).collect();
        if targets.is_empty() {
            targets.extend(config::first_target(&text));
        }
        for line in config::recipes_of(&text, &targets) {
            for words in shell::commands(line.trim_start_matches(['@', '-', '+'])) {
                if self.seen.insert(words.join(" ")) && self.seen.len() < MAX_FOLLOWED {
                    self.command(&words);
                }
            }
        }
        self.facts.targets.extend(targets);
    }

    /// A script of `package.json`.
    fn package(&mut self, name: &str) {
        let Some(text) = (self.read)("package.json") else { return };
        let Ok(package) = serde_json::from_str::<serde_json::Value>(&text) else { return };
        for name in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
            let Some(line) = package["scripts"][&name].as_str() else { continue };
            if self.seen.insert(format!("npm run {name}")) && self.seen.len() < MAX_FOLLOWED {
                shell::commands(line).iter().for_each(|words| self.command(words));
            }
        }
    }
}

/// Whether what the file `from` names at `path` is what it tries, and no part of how: a test tries what lies in no
/// directory of tests, and any other script what lies among the sources.
fn is_tried(from: &str, path: &str) -> bool {
    let lies_in = |path: &str, dirs: &[&str]| {
        path.rsplit_once('/').is_some_and(|(under, _)| under.split('/').any(|dir| dirs.contains(&dir)))
    };
    !lies_in(path, &OF_TESTS) && (lies_in(from, &OF_TESTS) || lies_in(path, &OF_WORK))
}

fn is_shell(word: &str) -> bool {
    word.ends_with(".sh") || word.ends_with(".bash")
}

fn names_tests(glob: &str) -> bool {
    let dirs = glob.rsplit_once('/').map_or("", |(dirs, _)| dirs);
    !glob.starts_with('!') && dirs.split('/').any(|dir| OF_TESTS.contains(&dir))
}

/// The file that a command runs, as it spells it from the top of the tree.
fn script(words: &[String]) -> Option<String> {
    let mut words = words.iter().skip_while(|word| shell::is_assignment(word) || *word == "env");
    let program = words.next()?;
    let path = if INTERPRETERS.contains(&base(program)) {
        // `python -m pytest` and `sh -c …` run no file of the tree.
        let first = words.find(|word| !word.starts_with('-') || *word == "-m" || *word == "-c")?;
        Some(first).filter(|word| !word.starts_with('-'))?
    } else {
        Some(program).filter(|program| program.contains('/'))?
    };
    let path = path.strip_prefix("./").unwrap_or(path);
    (!path.starts_with('/') && !path.contains("..")).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::profile::Check;

    fn of(run: Run, kind: CheckKind, inputs: &[&str]) -> (Vec<String>, Vec<String>) {
        let mut profile = Profile::default();
        let mut check = Check::new(run);
        check.kind = kind;
        check.inputs = inputs.iter().map(|glob| (*glob).to_owned()).collect();
        profile.checks.insert("one".parse().expect("legal"), check);
        let facts = checks(&profile, |path| (path != "absent.sh" && !path.ends_with("file")).then(String::new));
        (facts.tests, facts.config)
    }

    fn shell(text: &str) -> Vec<String> {
        of(Run::Shell(text.to_owned()), CheckKind::Command, &["**"]).1
    }

    #[test]
    fn the_script_that_a_check_runs_belongs_to_what_judges() {
        assert_eq!(shell("sh check.sh"), ["check.sh"]);
        assert_eq!(shell("cd x && CI=1 bash -eu ./ci/run.sh fast"), ["ci/run.sh"]);
        assert_eq!(shell("./bin/verify a.txt"), ["bin/verify"]);
        for none in
            ["grep -q good a.txt", "cargo test", "sh absent.sh", "sh -c true", "python -m pytest tests", "test -f a"]
        {
            assert_eq!(shell(none), [""; 0], "{none}");
        }
        let argv = Run::Argv(["sh", "check.sh"].map(str::to_owned).to_vec());
        assert_eq!(of(argv, CheckKind::Command, &["**"]).1, ["check.sh"]);
    }

    #[test]
    fn what_searches_for_tests_is_known() {
        let of = |run: &str| {
            let mut profile = Profile::default();
            profile.checks.insert("one".parse().expect("legal"), Check::new(Run::Shell(run.to_owned())));
            let facts = checks(&profile, |_| None);
            let found = facts.discoveries.into_iter().map(|search| (search.start, search.pattern));
            (found.collect::<Vec<_>>(), facts.pytest)
        };
        let one = |start: &str, pattern: &str| (vec![(start.to_owned(), pattern.to_owned())], false);
        assert_eq!(of("python3 -m unittest discover -s tests -t . -v"), one("tests", "test*.py"));
        assert_eq!(of("CI=1 python -m unittest discover ./tests/ -p 'check_*.py'"), one("tests", "check_*.py"));
        assert_eq!(of("python -m unittest"), one("", "test*.py"));
        assert_eq!(of("python -m unittest discover --start-directory=."), one("", "test*.py"));
        assert_eq!(of("python -m unittest tests.test_a"), (Vec::new(), false));
        assert_eq!(of("python -m pytest -q tests"), (Vec::new(), true));
        assert_eq!(of("pytest"), (Vec::new(), true));
    }

    #[test]
    fn inputs_that_name_a_directory_of_tests_are_tests() {
        let run = || Run::Shell("node run.js".to_owned());
        let inputs = ["src/**", "tests/**", "web/spec/*.x", "Cargo.*", "**"];
        assert_eq!(of(run(), CheckKind::Test, &inputs).0, ["tests/**", "web/spec/*.x", "run.js"]);
        assert_eq!(of(run(), CheckKind::Build, &inputs).0, ["run.js"]);
    }

    #[test]
    fn what_a_test_tries_is_no_part_of_how_it_is_tried() {
        let of = |run: &str| {
            let files = |path: &str| {
                let text = match path {
                    "tests/all.sh" => {
                        ". ./src/discount.sh\n. tests/lib.sh\nsh ./tool.sh 1\n. \"$(dirname \"$0\")/more.sh\"\n"
                    }
                    "check.sh" => ". ./src/discount.sh\nsh ci/part.sh\n",
                    "src/discount.sh" | "tests/lib.sh" | "tests/more.sh" | "tool.sh" | "ci/part.sh" => "",
                    _ => return None,
                };
                Some(text.to_owned())
            };
            let mut profile = Profile::default();
            profile.checks.insert("one".parse().expect("legal"), Check::new(Run::Shell(run.to_owned())));
            checks(&profile, files).config
        };
        assert_eq!(of("sh tests/all.sh"), ["tests/all.sh", "tests/lib.sh", "tests/more.sh"]);
        assert_eq!(of("sh check.sh"), ["check.sh", "ci/part.sh"]);
        assert_eq!(of("sh src/discount.sh"), ["src/discount.sh"], "the profile itself names it as its check");
    }

    #[test]
    fn files_are_followed_from_one_to_the_next() {
        let files = |path: &str| {
            let text = match path {
                "Makefile" => {
                    "VERIFY = sh ci/verify.sh\nall: docs verify\ndocs:\n\tsh docs.sh\nverify: unit\n\t@$(VERIFY)\n\tsh ci/verify.sh\nunit:\n\tnpm test\nother:\n\tsh other.sh\n"
                }
                "ci/verify.sh" => "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\nsame a b\nbash ci/deep.sh | cat\n",
                "ci/lib.sh" | "ci/deep.sh" | "docs.sh" | "other.sh" | "pre.sh" | "unit.js" => "",
                "package.json" => {
                    r#"{"scripts": {"pretest": "sh pre.sh", "test": "npm run unit", "unit": "node unit.js", "x": "sh other.sh"}}"#
                }
                _ => return None,
            };
            Some(text.to_owned())
        };
        let mut profile = Profile::default();
        let run = Run::Shell("make verify".to_owned());
        profile.checks.insert("one".parse().expect("legal"), Check::new(run));
        let facts = checks(&profile, files);
        assert_eq!(facts.config, ["ci/verify.sh", "ci/lib.sh", "ci/deep.sh", "pre.sh"]);
        assert_eq!(facts.tests, ["unit.js"]);
        assert_eq!(facts.runs, ["unit.js"]);
        assert_eq!(facts.targets, ["verify"]);
        assert!(["make", "npm", "node"].iter().all(|program| facts.programs.iter().any(|known| known == program)));
    }
}
