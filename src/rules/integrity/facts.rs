//! What the base's profile says about its tests: the files that its checks run.

use super::model::Checks;
use super::paths::{base, language_of};
use crate::domain::profile::{CheckKind, PROFILE_PATH, Profile, Run};
use crate::rules::failure::lineage::shell;

/// Directories whose name says that tests lie in them.
const OF_TESTS: [&str; 9] = ["test", "tests", "__tests__", "spec", "specs", "e2e", "testing", "it", "t"];
/// Programs that run the file that is their first argument.
const INTERPRETERS: [&str; 15] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "ruby", "perl", "php", "deno", "bun",
    "source",
];

/// Facts about the checks of `profile`; `is_file` says of a path whether the base has a file there.
#[must_use]
pub fn checks(profile: &Profile, is_file: impl Fn(&str) -> bool) -> Checks {
    let mut facts = Checks::default();
    for check in profile.checks.values() {
        if check.kind == CheckKind::Test {
            facts.tests.extend(check.inputs.iter().filter(|glob| names_tests(glob)).cloned());
        }
        for path in scripts(&check.run).into_iter().filter(|path| is_file(path)) {
            let glob = globset::escape(&path);
            // A program of a language that is read is compared by what it asserts; any other is held as it is.
            if language_of(&path).is_some() { facts.tests.push(glob) } else { facts.config.push(glob) }
        }
    }
    facts.config.retain(|glob| glob != PROFILE_PATH);
    facts
}

fn names_tests(glob: &str) -> bool {
    let dirs = glob.rsplit_once('/').map_or("", |(dirs, _)| dirs);
    !glob.starts_with('!') && dirs.split('/').any(|dir| OF_TESTS.contains(&dir))
}

/// Files that a command runs, as it spells them from the top of the tree.
fn scripts(run: &Run) -> Vec<String> {
    let commands = match run {
        Run::Shell(text) => shell::commands(text),
        Run::Argv(words) => vec![words.clone()],
    };
    commands.iter().filter_map(|words| script(words)).collect()
}

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
        let facts = checks(&profile, |path| path != "absent.sh");
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
    fn inputs_that_name_a_directory_of_tests_are_tests() {
        let run = || Run::Shell("node run.js".to_owned());
        let inputs = ["src/**", "tests/**", "web/spec/*.x", "Cargo.*", "**"];
        assert_eq!(of(run(), CheckKind::Test, &inputs).0, ["tests/**", "web/spec/*.x", "run.js"]);
        assert_eq!(of(run(), CheckKind::Build, &inputs).0, ["run.js"]);
    }
}
