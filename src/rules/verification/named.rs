//! The files that a check's command names: its program, and what that is given, as far as the words say so plainly.
//!
//! Only the first command of a line counts: what comes after it may use what it made.

use std::path::{Component, Path, PathBuf};

use crate::domain::profile::Run;

/// What the words of a command name. None of it need be there, or be a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The program by its path, or the script that an interpreter is given.
    pub program: Option<String>,
    pub given: Vec<String>,
}

/// Programs that start the one that is meant.
const WRAPPERS: [&str; 7] = ["command", "env", "exec", "nice", "nohup", "time", "timeout"];
/// Programs that run the file they are given first.
const INTERPRETERS: [&str; 14] =
    [".", "bash", "bun", "dash", "deno", "ksh", "lua", "node", "perl", "php", "ruby", "sh", "source", "zsh"];
/// Programs that make or take away what they are given, and go by none of it.
const WRITERS: [&str; 8] = ["chmod", "ln", "mkdir", "rm", "rmdir", "tee", "touch", "truncate"];
/// Flags after which no file is run.
const NO_SCRIPT: [&str; 4] = ["-c", "-e", "-m", "-s"];
/// What flags are called whose value is written, not read.
const WRITTEN: [&str; 7] = ["out", "report", "log", "xml", "dir", "cache", "json"];

/// Where a system keeps its programs; what stands there is a tool, by whatever name it is called.
const SYSTEM: [&str; 18] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix",
    "/snap",
    "/etc",
    "/gnu",
    "/dev",
    "/proc",
    "/sys",
    "/Library",
    "/System",
    "/Applications",
    "/home/linuxbrew",
];
/// Directories that managers of tools and packages keep, wherever they are.
const KEPT: [&str; 38] = [
    ".asdf",
    ".bun",
    ".cabal",
    ".cargo",
    ".composer",
    ".conda",
    ".deno",
    ".dotnet",
    ".fnm",
    ".gem",
    ".ghcup",
    ".goenv",
    ".gradle",
    ".jenv",
    ".linuxbrew",
    ".local",
    ".m2",
    ".mise",
    ".nix-profile",
    ".nox",
    ".npm-global",
    ".nvm",
    ".opam",
    ".pixi",
    ".pub-cache",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rye",
    ".sdkman",
    ".stack",
    ".tox",
    ".venv",
    ".virtualenvs",
    ".volta",
    "miniconda3",
    "node_modules",
    "venv",
];
/// The same where only their programs lie in a directory of that name.
const KEPT_BIN: [&str; 3] = ["go", "vendor", "gems"];

/// What the first command of `run` names.
pub fn of(run: &Run) -> Named {
    let words = match run {
        Run::Argv(words) => words.clone(),
        Run::Shell(text) => first_command(text),
    };
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.peek() {
        if is_assignment(word) {
            words.next();
        } else if WRAPPERS.contains(&word.as_str()) {
            words.next();
            // Its flags, and how long or how nicely the program may run.
            let is_own = |word: &String| word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit());
            while words.next_if(is_own).is_some() {}
        } else {
            break;
        }
    }
    let Some(first) = words.next() else { return Named::default() };
    let is_writer = WRITERS.contains(&first.as_str());
    let mut given = files_among(words);
    let program = if is_interpreter(&first) {
        let script = !given.is_empty() && !given[0].starts_with('-');
        script.then(|| given.remove(0))
    } else {
        first.contains('/').then_some(first)
    };
    given.retain(|word| !word.starts_with('-') && !is_writer);
    Named { program, given }
}

/// Words that may be files to read, in their order. A flag after which no file is run stands before them.
fn files_among(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        if word.contains('>') {
            // `>` alone is followed by what is written.
            words.next_if(|_| word.ends_with('>'));
        } else if NO_SCRIPT.contains(&word.as_str()) && files.is_empty() {
            files.push(word);
        } else if word.starts_with('-') {
            let writes = word == "-o" || WRITTEN.iter().any(|part| word.contains(part));
            words.next_if(|_| writes && !word.contains('='));
        } else {
            files.push(word);
        }
    }
    files
}

fn is_interpreter(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    INTERPRETERS.contains(&name) || name.strip_prefix("python").is_some_and(|rest| !rest.contains(char::is_alphabetic))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// The words up to the first thing that begins another command. None where the shell makes some of them up.
fn first_command(text: &str) -> Vec<String> {
    if text.contains(['`', '(']) {
        return Vec::new();
    }
    let end = text.trim_start().find([';', '|', '&', '\n']);
    let first = end.map_or(text.trim_start(), |end| &text.trim_start()[..end]);
    // `2>&1` is cut in its middle, which leaves a word that names no file.
    shell_words::split(first).unwrap_or_default()
}

/// Where `word` is, for a command that runs at `top`. None where only the shell knows.
pub fn place(word: &str, top: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let below_home = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|start| word.strip_prefix(start));
    match (below_home, home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        (Some(_), None) => None,
        (None, _) if word.contains(['$', '*', '?', '[', '{', '~', '\0']) => None,
        (None, _) => Some(top.join(word)),
    }
}

/// Whether a program at `path` is a tool of the system or of a manager, whose version is recorded, and no file of the
/// project's.
pub fn is_tool(path: &Path) -> bool {
    let parts: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let bin = |pair: &[&str]| KEPT_BIN.contains(&pair[0]) && pair[1] == "bin";
    SYSTEM.iter().any(|dir| path.starts_with(dir))
        || parts.iter().any(|part| KEPT.contains(part))
        || parts.windows(2).any(bin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> (Option<String>, Vec<String>) {
        let named = of(&Run::Shell(text.to_owned()));
        (named.program, named.given)
    }

    #[test]
    fn the_program_is_named_by_its_path_or_as_the_script_of_an_interpreter() {
        for (text, program) in [
            ("/tmp/x.sh", "/tmp/x.sh"),
            ("A=1 timeout -k 5 60 ./check.sh --fast", "./check.sh"),
            ("bash -eu ~/bin/check all", "~/bin/check"),
            ("python3.12 tools/run.py -q", "tools/run.py"),
            ("env CI=1 node test.js", "test.js"),
            ("./a && /tmp/b", "./a"),
            (". ./env.sh; make", "./env.sh"),
        ] {
            assert_eq!(shell(text).0.as_deref(), Some(program), "{text}");
        }
        for none in ["cargo test", "python -m pytest", "bash -c ./x", "make && ./build/t", "$(which x) y", "", "\"a"] {
            assert_eq!(shell(none).0, None, "{none}");
        }
        let argv = of(&Run::Argv(vec!["/opt/x".into(), "a".into()]));
        assert_eq!((argv.program.as_deref(), argv.given), (Some("/opt/x"), vec!["a".to_owned()]));
    }

    #[test]
    fn what_is_written_is_not_what_is_given() {
        for (text, given) in [
            ("./apk.sh build/app.apk", vec!["build/app.apk"]),
            ("cmp a b > out.txt", vec!["a", "b"]),
            ("pytest tests --junitxml r.xml -o x --log-file=l -q conf", vec!["tests", "conf"]),
            ("node test.js data.json", vec!["data.json"]),
            ("make all && ./t dist/x", vec!["all"]),
            ("grep -q ok results.txt", vec!["ok", "results.txt"]),
            ("rm -f a.out; cc -o a.out a.c", vec![]),
        ] {
            assert_eq!(shell(text).1, given, "{text}");
        }
    }

    #[test]
    fn tools_are_told_from_files_of_the_project() {
        for tool in [
            "/usr/bin/python3",
            "/home/ann/.cargo/bin/cargo-nextest",
            "/home/ann/.nvm/versions/node/v22/bin/node",
            "/home/ann/.pyenv/shims/python",
            "/home/ann/.asdf/shims/ruby",
            "/srv/p/.venv/bin/pytest",
            "/srv/p/node_modules/.bin/jest",
            "/srv/p/vendor/bin/phpunit",
            "/root/go/bin/golangci-lint",
        ] {
            assert!(is_tool(Path::new(tool)), "{tool}");
        }
        for own in ["/tmp/x.sh", "/home/ann/bin/check", "/srv/p/vendor/x.sh", "/srv/p/build/run", "/optional/x"] {
            assert!(!is_tool(Path::new(own)), "{own}");
        }
    }

    #[test]
    fn a_word_is_where_the_shell_would_find_it() {
        let (top, home) = (Path::new("/p"), Path::new("/home/ann"));
        let at = |word| place(word, top, Some(home)).map(|path| path.display().to_string());
        assert_eq!(at("./x"), Some("/p/./x".to_owned()));
        assert_eq!(at("/tmp/x"), Some("/tmp/x".to_owned()));
        for word in ["~/bin/x", "$HOME/bin/x", "${HOME}/bin/x"] {
            assert_eq!(at(word), Some("/home/ann/bin/x".to_owned()));
        }
        for unknown in ["$X/y", "*.sh", "~ann/x"] {
            assert_eq!(at(unknown), None, "{unknown}");
        }
        assert_eq!(place("~/x", top, None), None);
    }
}
