//! What is off on a command line, as a refusal with the nearest thing that would have been right.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::domain::op_info::OpInfo;
use crate::domain::refusal::{Code, Refusal};
use crate::rules::near::{MAX_COMPARED_CHARS, near};

/// Refuses an operation that nobody knows.
pub fn unknown_op(name: &str, ops: &[OpInfo]) -> Refusal {
    let name: String = name.chars().take(MAX_COMPARED_CHARS).collect();
    let near = near(&name, ops.iter().map(|info| info.name));
    let hint = match near.first() {
        Some(first) => format!("did you mean `{first}`"),
        None => "`kctl ops list` names them all".to_owned(),
    };
    Refusal::new(Code::UNKNOWN_OPERATION, format!("no operation is called `{name}`: {hint}"))
        .with("op", name)
        .with("near", near)
}

/// The whole commands whose verb is `word`.
pub(super) fn with_verb(word: &str, ops: &[OpInfo]) -> Vec<String> {
    let verb = word.replace('-', "_");
    ops.iter().filter(|info| info.verb() == Some(verb.as_str())).map(OpInfo::command).collect()
}

/// Refuses a verb that a noun does not have.
pub(super) fn unknown_verb(noun: &str, verb: &str, ops: &[OpInfo]) -> Refusal {
    let verb: String = verb.chars().take(MAX_COMPARED_CHARS).collect();
    let of_noun = || ops.iter().filter(|info| info.noun() == noun);
    let near = near(&verb, of_noun().filter_map(OpInfo::verb));
    let all = || of_noun().filter_map(OpInfo::verb).collect::<Vec<_>>().join(", ");
    let hint = match near.first() {
        Some(first) => format!("did you mean `kctl {noun} {first}`"),
        None => format!("it has {}", all()),
    };
    Refusal::new(Code::UNKNOWN_OPERATION, format!("`kctl {noun}` has no verb `{verb}`: {}", hint.replace('_', "-")))
        .with("op", format!("{noun}.{verb}"))
        .with("near", near.iter().map(|verb| format!("{noun}.{verb}")).collect::<Vec<_>>())
}

/// Translates clap's error; `usage` names the command.
pub(super) fn of_clap(error: &clap::Error, usage: &str) -> Refusal {
    let (arg, value) = (text(error, ContextKind::InvalidArg), text(error, ContextKind::InvalidValue));
    let arg = arg.unwrap_or_default();
    // Clap says `--flag <VALUE>`.
    let arg = if arg.starts_with('-') { arg.split(' ').next().unwrap_or_default().to_owned() } else { arg };
    let message = match error.kind() {
        ErrorKind::UnknownArgument if arg.starts_with('-') => match text(error, ContextKind::SuggestedArg) {
            Some(near) => format!("`{usage}` has no flag `{arg}`: did you mean `{near}`"),
            None => format!("`{usage}` has no flag `{arg}`: `{usage} --help` lists them"),
        },
        ErrorKind::UnknownArgument => format!("`{usage}` does not take the word `{arg}`"),
        ErrorKind::InvalidValue => match (value.unwrap_or_default(), text(error, ContextKind::ValidValue)) {
            (word, Some(valid)) if !word.is_empty() => {
                let near = text(error, ContextKind::SuggestedValue).map(|near| format!(": did you mean `{near}`"));
                format!("`{arg}` takes one of {valid}, not `{word}`{}", near.unwrap_or_default())
            }
            (_, Some(valid)) => format!("`{arg}` needs a value, one of {valid}"),
            (_, None) => format!("`{arg}` needs a value"),
        },
        ErrorKind::ArgumentConflict => format!("`{arg}` is given more than once, or beside what it excludes"),
        ErrorKind::InvalidUtf8 => format!("a word given to `{usage}` is not UTF-8"),
        ErrorKind::MissingRequiredArgument => format!("`{usage}` needs {arg}"),
        ErrorKind::TooManyValues if value.is_some() => {
            format!("`{arg}` takes no value, but `{}` was given", value.unwrap_or_default())
        }
        _ => first_line(error),
    };
    let refusal = Refusal::new(Code::USAGE, message);
    if arg.is_empty() { refusal } else { refusal.with("flag", arg) }
}

/// Refuses a command line that leaves out a word which is one of `choices`.
pub(super) fn no_choice(error: &clap::Error, usage: &str, choices: &[String]) -> Refusal {
    let arg = text(error, ContextKind::InvalidArg).unwrap_or_default();
    let named: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
    let words = format!("`{usage}` needs {arg}, one of {}: `{usage} {}`", named.join(", "), choices[0]);
    Refusal::new(Code::USAGE, words).with("flag", arg).with("choices", choices)
}

/// Refuses what was typed behind a switch as its value, where that is what `error` is about.
pub(super) fn behind_switch(error: &clap::Error, args: &[OsString], switches: &[String]) -> Option<Refusal> {
    if !matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict) {
        return None;
    }
    let is_value = |word: &str| matches!(word, "true" | "false" | "yes" | "no" | "on" | "off" | "1" | "0");
    args.windows(2).find_map(|pair| {
        let (flag, word) = (pair[0].to_str()?, pair[1].to_str()?);
        let meant = switches.iter().any(|switch| switch == flag) && is_value(word);
        meant.then(|| {
            let words = format!("`{flag}` takes no value, but `{word}` was given: leave `{word}` out");
            Refusal::new(Code::USAGE, words).with("flag", flag)
        })
    })
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) if texts.is_empty() => None,
        ContextValue::Strings(texts) => {
            Some(texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", "))
        }
        ContextValue::StyledStr(text) => Some(text.to_string()),
        _ => None,
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
