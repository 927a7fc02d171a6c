//! Which program a declared command needs, as far as its words say so.

use crate::domain::profile::Run;

/// Words that begin a shell command and are no program of their own on every machine.
const SHELL_WORDS: [&str; 32] = [
    "!", ".", ":", "[", "[[", "case", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "for",
    "function", "if", "printf", "pushd", "read", "set", "shift", "shopt", "source", "test", "time", "trap", "true",
    "ulimit", "umask", "until", "while",
];

/// The program that `run` starts first. None where its words do not say so plainly.
pub fn needed(run: &Run) -> Option<&str> {
    let first = match run {
        Run::Argv(words) => words.first()?.as_str(),
        Run::Shell(text) => text.split_whitespace().find(|word| !is_assignment(word))?,
    };
    let plain = !first.is_empty() && first.chars().all(|c| c.is_ascii_alphanumeric() || "._+-/".contains(c));
    (plain && !SHELL_WORDS.contains(&first)).then_some(first)
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_is_named_where_the_words_say_it_plainly() {
        let shell = |text: &str| needed(&Run::Shell(text.to_owned())).map(str::to_owned);
        assert_eq!(shell("cargo test --locked"), Some("cargo".to_owned()));
        assert_eq!(shell("RUST_LOG=x  A=1 cargo test | tee log"), Some("cargo".to_owned()));
        assert_eq!(shell("./check.sh && true"), Some("./check.sh".to_owned()));
        for unclear in
            ["", "cd web && npm test", "[ -f x ]", "$TOOL run", "(make)", "if true; then x; fi", "A=1", "\"a b\" c"]
        {
            assert_eq!(shell(unclear), None, "{unclear}");
        }
        assert_eq!(needed(&Run::Argv(vec!["go".into(), "test".into()])), Some("go"));
        assert_eq!(needed(&Run::Argv(Vec::new())), None);
    }
}
