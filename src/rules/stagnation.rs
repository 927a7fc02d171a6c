//! A host's action, spelled one way: what it was about, whatever words the host had for it.

use serde_json::Value;

use super::failure;
use super::gates::{Arguments, Host};
use crate::domain::digest::Digest;
use crate::domain::failure::Key;
use crate::domain::profile::{Check, CheckName, Profile, Run};
use crate::domain::stagnation::{Advice, Judged, Lines, Progress};

/// The longest command that is read, in bytes.
pub const MAX_COMMAND_BYTES: usize = 64 * 1024;
/// The longest text that is searched for, in bytes.
pub const MAX_QUERY_BYTES: usize = 4 * 1024;
/// The most lines that are counted: what a host says of lines beyond is no file's.
const MAX_LINE: u64 = 1 << 32;
/// What is recorded of a command.
const MAX_SHOWN_CHARS: usize = 300;

/// The member that does not fit, and why in words.
pub type Misfit = (&'static str, String);

/// The command of a process, as one line for a shell.
///
/// # Errors
/// When there is none, it is no text and no list of texts, or it is too long.
pub fn command(arguments: &Arguments) -> Result<String, Misfit> {
    let misfit = |why: &str| ("command", format!("`command` {why}"));
    let command = match arguments.0.get("command") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(words)) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            shell_words::join(words.ok_or_else(|| misfit("is a list of texts"))?)
        }
        Some(_) => return Err(misfit("is a text, or a list of texts")),
        None => return Err(misfit("says what was run, and is missing")),
    };
    if command.trim().is_empty() {
        return Err(misfit("is empty"));
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(misfit(&format!("has more than {MAX_COMMAND_BYTES} bytes")));
    }
    Ok(command)
}

/// What is searched for, with its words sorted, and what narrows it.
///
/// # Errors
/// When a member is no text, or too long.
pub fn query(arguments: &Arguments) -> Result<(String, Option<String>), Misfit> {
    let mut named = Vec::new();
    for member in ["query", "pattern"] {
        named.extend(text(arguments, member)?);
    }
    let mut narrowed = Vec::new();
    for member in ["glob", "include", "type"] {
        narrowed.extend(text(arguments, member)?.map(|text| format!("{member} {text}")));
    }
    Ok((sorted_words(&named.join(" ")), (!narrowed.is_empty()).then(|| narrowed.join(", "))))
}

fn text(arguments: &Arguments, member: &'static str) -> Result<Option<String>, Misfit> {
    match arguments.0.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() > MAX_QUERY_BYTES => {
            Err((member, format!("`{member}` has more than {MAX_QUERY_BYTES} bytes")))
        }
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err((member, format!("`{member}` is a text"))),
    }
}

/// The words of `text` in one order: a search for the same words is the same search.
pub fn sorted_words(text: &str) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words.join(" ")
}

/// The lines that a read was about, of a file with `total` of them.
///
/// # Errors
/// When a member is no number of lines.
pub fn lines(host: Host, arguments: &Arguments, total: u64) -> Result<Lines, Misfit> {
    let (first, last, skipped, count) = match host {
        Host::Plain => ("first_line", "last_line", None, "lines"),
        Host::ClaudeCode | Host::Codex => ("offset", "last_line", None, "limit"),
        Host::GeminiCli => ("start_line", "end_line", Some("offset"), "limit"),
    };
    let begins = match (number(arguments, first)?, skipped.map(|skipped| number(arguments, skipped)).transpose()?) {
        (Some(first), _) => first.max(1),
        (None, Some(Some(skipped))) => skipped + 1,
        (None, Some(None) | None) => 1,
    };
    let ends = number(arguments, last)?;
    let count = match (ends, number(arguments, count)?) {
        (Some(ends), _) if ends < begins => return Err((last, format!("`{last}` is before the first line"))),
        (Some(ends), _) => ends - begins + 1,
        (None, Some(count)) => count,
        (None, None) => MAX_LINE,
    };
    Ok(Lines::within(begins, count, total))
}

fn number(arguments: &Arguments, member: &'static str) -> Result<Option<u64>, Misfit> {
    match arguments.0.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().filter(|number| *number <= MAX_LINE) {
            Some(number) => Ok(Some(number)),
            None => Err((member, format!("`{member}` is a number of lines, from 0 to {MAX_LINE}"))),
        },
    }
}

/// What a command is known by: without wrappers, presentation and pipes. The digest is of all of it, the text is cut.
pub fn known_as(key: &Key) -> (String, Digest) {
    let whole = key.to_string();
    (whole.chars().take(MAX_SHOWN_CHARS).collect(), Digest::of(whole.as_bytes()))
}

/// The check of `profile` that a command runs, all of it or a part.
pub fn check_of<'p>(profile: &'p Profile, key: &Key) -> Option<(&'p CheckName, &'p Check)> {
    let of = |check: &Check| failure::lineage(&line(&check.run));
    let exactly = profile.checks.iter().find(|(_, check)| of(check) == *key);
    exactly.or_else(|| profile.checks.iter().find(|(_, check)| of(check).covers(key)))
}

/// A check's command as one line.
pub fn line(run: &Run) -> String {
    match run {
        Run::Shell(text) => text.clone(),
        Run::Argv(words) => shell_words::join(words),
    }
}

/// Programs that ask something, and answer no with 1.
const ASKING: [&str; 14] =
    ["grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "which", "command", "type", "pgrep"];

/// Whether a status other than 0 is an answer, and nothing failed.
pub fn is_answer(key: &Key, exit: i32) -> bool {
    let git = key.program == "git"
        && matches!(key.subcommand.as_deref(), Some("diff" | "merge-base" | "grep" | "check-ignore" | "show-ref"));
    exit == 1 && (git || ASKING.contains(&key.program.as_str()))
}

/// What is said of a judged observation.
pub fn words(judged: &Judged) -> String {
    let times = judged.times;
    match judged.advice {
        Advice::GoOn if judged.polling => "it looks at something that is running: look as often as you need".to_owned(),
        Advice::GoOn => match judged.progress {
            Some(Progress::Resumed) => {
                "the conversation was resumed: what was seen before may be forgotten, and is counted anew".to_owned()
            }
            Some(
                Progress::UserTurn
                | Progress::Mode
                | Progress::TaskState
                | Progress::Evidence
                | Progress::Written
                | Progress::TreeChanged,
            )
            | None => "recorded".to_owned(),
        },
        Advice::Noted => format!("seen {times} times, and nothing has changed since the first"),
        Advice::Reground => {
            "nothing new was seen for a while: what is known is listed; act on it, or look at something else".to_owned()
        }
        Advice::Known => {
            format!("this was asked {times} times and nothing has changed: the answer is where `known` says")
        }
        Advice::Unmoved => {
            let unmoved = judged.unmoved;
            format!("{unmoved} things were looked at, and no file, no evidence and no task has changed meanwhile")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: Value) -> Arguments {
        match value {
            Value::Object(members) => Arguments(members),
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn lines_are_those_that_the_host_means() {
        let cases = [
            (Host::Plain, json!({}), (1, 100)),
            (Host::Plain, json!({ "first_line": 10, "last_line": 20 }), (10, 20)),
            (Host::Plain, json!({ "first_line": 90, "last_line": 2000 }), (90, 100)),
            (Host::Plain, json!({ "first_line": 500 }), (500, 500)),
            (Host::ClaudeCode, json!({ "offset": 11, "limit": 10 }), (11, 20)),
            (Host::ClaudeCode, json!({ "offset": 0, "limit": 0 }), (1, 1)),
            (Host::GeminiCli, json!({ "offset": 10, "limit": 10 }), (11, 20)),
            (Host::GeminiCli, json!({ "start_line": 3, "end_line": 4 }), (3, 4)),
        ];
        for (host, given, (first, last)) in cases {
            assert_eq!(lines(host, &arguments(given.clone()), 100), Ok(Lines { first, last }), "{given}");
        }
        for wrong in [json!({ "first_line": -1 }), json!({ "first_line": "x" }), json!({ "last_line": 1u64 << 60 })] {
            assert!(lines(Host::Plain, &arguments(wrong.clone()), 9).is_err(), "{wrong}");
        }
        let turned = lines(Host::Plain, &arguments(json!({ "first_line": 9, "last_line": 2 })), 9);
        assert_eq!(turned.map_err(|(member, _)| member), Err("last_line"));
    }

    #[test]
    fn the_same_words_are_the_same_search_and_a_list_is_the_same_command() {
        let of = |value| query(&arguments(value)).expect("legal");
        assert_eq!(of(json!({ "query": "parse  error in" })), of(json!({ "query": "in parse error" })));
        assert_ne!(of(json!({ "query": "a", "glob": "*.rs" })), of(json!({ "query": "a" })));
        let known =
            |value| known_as(&failure::lineage(&command(&arguments(json!({ "command": value }))).expect("legal")));
        let plain = known(json!("cargo test parse"));
        for same in [
            json!(["cargo", "test", "parse"]),
            json!("timeout 60 cargo test parse 2>&1 | tail -20"),
            json!("CI=1 cargo test parse"),
            json!(["bash", "-lc", "cargo test parse"]),
        ] {
            assert_eq!(known(same.clone()), plain, "{same}");
        }
        assert_ne!(known(json!("cargo test other")), plain);
    }

    #[test]
    fn a_command_that_cannot_be_read_is_refused_with_its_member() {
        let long = "x".repeat(MAX_COMMAND_BYTES + 1);
        for wrong in [
            json!({}),
            json!({ "command": 7 }),
            json!({ "command": [1] }),
            json!({ "command": " " }),
            json!({ "command": long }),
        ] {
            assert_eq!(command(&arguments(wrong)).map_err(|(member, _)| member), Err("command"));
        }
        assert!(query(&arguments(json!({ "query": "y".repeat(MAX_QUERY_BYTES + 1) }))).is_err());
        assert!(query(&arguments(json!({ "pattern": ["a"] }))).is_err());
    }

    #[test]
    fn what_asks_and_is_answered_no_has_not_failed() {
        let answered = |line: &str, exit| is_answer(&failure::lineage(line), exit);
        for line in ["grep -rn foo src", "test -f x", "diff a b", "git diff --quiet", "rg foo"] {
            assert!(answered(line, 1) && !answered(line, 2), "{line}");
        }
        assert!(!answered("cargo test", 1) && !answered("sh check.sh", 1));
    }
}
