//! Commands that cannot fail. A check made of one would prove nothing, so the profile refuses it; what this reading
//! of the text misses, the guards on runs are there for.

use crate::domain::profile::Run;
use crate::rules::words::{Token, Word, tokens};

/// How deep `sh -c '…'` is looked into.
const MAX_SHELL_DEPTH: usize = 3;

/// Programs that succeed whatever they are given.
const ALWAYS_SUCCEED: &[&str] = &["true", ":", "echo", "printf"];

/// Words that only say how the next command is run.
const WRAPPERS: &[&str] = &["command", "builtin", "exec", "env", "nohup", "time", "{", "}"];

/// Says why `run` cannot fail. None: nothing speaks against it.
pub fn why(run: &Run) -> Option<String> {
    match run {
        Run::Shell(text) => why_text(text, 0),
        Run::Argv(words) => {
            let words: Vec<Word> = words.iter().map(|text| Word::plain(text)).collect();
            why_words(&words, 0)
        }
    }
}

fn why_words(words: &[Word], depth: usize) -> Option<String> {
    let (program, arguments) = program(words)?;
    let name = program.rsplit('/').next().unwrap_or_default();
    let first = arguments.first().map(|word| word.text.as_str());
    match name {
        "exit" | "return" if first == Some("0") => Some(format!("`{name} 0` always succeeds")),
        "sh" | "bash" | "dash" | "zsh" if depth < MAX_SHELL_DEPTH => {
            let flag = arguments.iter().position(|word| is_flag(&word.text, 'c'))?;
            why_text(&arguments.get(flag + 1)?.text, depth + 1)
        }
        _ if ALWAYS_SUCCEED.contains(&name) => Some(format!("`{name}` always succeeds")),
        _ => None,
    }
}

/// The program and its arguments, without assignments and wrappers before it. A lone assignment counts as `:`.
fn program(words: &[Word]) -> Option<(&str, &[Word])> {
    let start = words.iter().position(|word| !word.is_assignment() && !WRAPPERS.contains(&word.text.as_str()));
    match start {
        Some(start) => Some((&words[start].text, &words[start + 1..])),
        None if words.iter().any(|word| word.is_assignment() && !word.substitutes) => Some((":", &[])),
        None => None,
    }
}

fn why_text(text: &str, depth: usize) -> Option<String> {
    if text.trim().is_empty() {
        return None;
    }
    let lists = lists(text);
    let Some(last) = lists.last() else { return Some("it holds no command".into()) };
    let stops_early = lists.iter().any(|list| list.commands.iter().any(Command::sets_errexit));
    let can_fail = match stops_early {
        true => lists.iter().any(|list| list.can_fail(depth) && !list.commands.iter().all(Command::sets_errexit)),
        false => last.can_fail(depth),
    };
    if can_fail {
        return None;
    }
    let mut commands = lists.iter().flat_map(|list| &list.commands).filter(|command| !command.sets_errexit());
    if commands.all(|command| !command.can_fail(depth)) {
        return last.commands.iter().flat_map(|command| &command.stages).find_map(|words| why_words(words, depth));
    }
    if last.background {
        return Some("its last part runs in the background".into());
    }
    let tail = last.commands.last().map(|command| command.shown(&last.joined_by())).unwrap_or_default();
    Some(format!("its last part, `{tail}`, hides the exit status"))
}

/// Commands joined by `&&` and `||`, up to a `;`, a `&` or the end of a line.
#[derive(Default)]
struct List {
    commands: Vec<Command>,
    background: bool,
}

/// One command, or several joined by `|`; `joined_by` stands before it.
#[derive(Default)]
struct Command {
    joined_by: &'static str,
    stages: Vec<Vec<Word>>,
}

impl List {
    fn can_fail(&self, depth: usize) -> bool {
        let fold = |before: Option<bool>, command: &Command| {
            let can_fail = command.can_fail(depth);
            Some(match (before, command.joined_by) {
                (Some(before), "||") => before && can_fail,
                (Some(before), "&&") => before || can_fail,
                (_, _) => can_fail,
            })
        };
        !self.background && self.commands.iter().fold(None, fold).unwrap_or(false)
    }

    fn joined_by(&self) -> String {
        match self.commands.last() {
            Some(command) if !command.joined_by.is_empty() => command.joined_by.to_owned(),
            _ => ";".to_owned(),
        }
    }
}

impl Command {
    /// With `pipefail`, a pipe fails where any stage does.
    fn can_fail(&self, depth: usize) -> bool {
        self.stages.iter().any(|words| why_words(words, depth).is_none())
    }

    fn sets_errexit(&self) -> bool {
        let [words] = self.stages.as_slice() else { return false };
        let sets = |word: &Word| is_flag(&word.text, 'e') || word.text == "errexit";
        words.first().is_some_and(|word| word.text == "set") && words.iter().any(sets)
    }

    fn shown(&self, joined_by: &str) -> String {
        let words = self.stages.iter().map(|words| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>());
        let text = words.map(|words| words.join(" ")).collect::<Vec<_>>().join(" | ");
        format!("{joined_by} {text}").chars().take(60).collect()
    }
}

fn is_flag(text: &str, letter: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}

/// Splits `text` into lists. Parentheses and braces are looked through: what is inside runs in the same order.
fn lists(text: &str) -> Vec<List> {
    let mut lists = vec![List::default()];
    let (mut joined_by, mut piped, mut redirected) = ("", false, false);
    for token in tokens(text) {
        let list = lists.last_mut().expect("there is always one list");
        match token {
            Token::Redirect => redirected = true,
            Token::Word(_) if std::mem::take(&mut redirected) => {}
            Token::Word(word) => {
                if list.commands.is_empty() || !joined_by.is_empty() {
                    list.commands.push(Command { joined_by, stages: vec![Vec::new()] });
                } else if piped && let Some(command) = list.commands.last_mut() {
                    command.stages.push(Vec::new());
                }
                (joined_by, piped) = ("", false);
                let stage = list.commands.last_mut().and_then(|command| command.stages.last_mut());
                stage.expect("a command has a stage").push(word);
            }
            Token::Join("|") => piped = true,
            Token::Join(join @ ("&&" | "||")) if !list.commands.is_empty() => joined_by = join,
            Token::Join(join) => {
                list.background = join == "&";
                (joined_by, piped) = ("", false);
                lists.push(List::default());
            }
        }
    }
    let says_something = |words: &Vec<Word>| words.iter().any(|word| !WRAPPERS.contains(&word.text.as_str()));
    lists.retain(|list| list.commands.iter().flat_map(|command| &command.stages).any(says_something));
    lists
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_cannot_fail_is_found() {
        for text in [
            "true",
            " : ",
            "exit 0",
            "echo ok",
            "echo 'a; b' && true",
            "/bin/true",
            "A=1 true",
            "command true",
            "A=1",
            "# nothing",
            "printf x",
            "{ true; }",
            "(true)",
            "true &",
            "sh -c true",
            "bash -ec 'make || true'",
            "echo a | echo b",
            "cargo test || true",
            "cargo test || :",
            "cargo test || echo failed",
            "cargo test; exit 0",
            "cargo test; true",
            "cargo test\ntrue\n",
            "cargo test || /usr/bin/true # fine",
            "(cd x && make) || true",
            "{ make; true; }",
            "make || \\\n true",
            "make > log 2>&1 || true",
            "make &> log; echo $?",
            "make &",
            "echo $(make)",
            "a && b || exit 0",
            "set -e; make || true",
        ] {
            assert!(why(&Run::Shell(text.into())).is_some(), "{text:?} cannot fail");
        }
        let argv = |words: &[&str]| why(&Run::Argv(words.iter().map(|word| (*word).to_owned()).collect()));
        assert!(argv(&["true"]).is_some() && argv(&["echo", "a"]).is_some());
        assert!(argv(&["sh", "-c", "make || true"]).is_some() && argv(&["make", "||", "true"]).is_none());
    }

    #[test]
    fn what_can_fail_is_left_alone() {
        for text in [
            "cargo test",
            "cargo test && echo ok",
            "echo start; cargo test",
            "make || exit 1",
            "make || { echo bad; false; }",
            "set -e; make; echo done",
            "set -euo pipefail\nmake\necho done",
            "true && make",
            "! true",
            "exit 1",
            "exit",
            "make | tee log",
            "if make; then echo ok; else exit 1; fi",
            "A=$(make)",
            "grep -q true file",
            "echo x | grep -q y",
            "python3 - <<EOF\ntrue\nEOF",
            "make # || true",
            "test -f 'a || true'",
            "true || false; make",
            "for d in a b; do make -C $d; done",
            "echo 'a' > f && cmp f g",
            "make 2>&1",
            "[ \"$(git status --porcelain)\" = '' ]",
            "true\nmake",
        ] {
            assert_eq!(why(&Run::Shell(text.into())), None, "{text:?} can fail");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[-a-z ;&|<>()'\"`$#\\\\\n{}=é]{0,40}") {
            let _ = why(&Run::Shell(text));
        }
    }
}
