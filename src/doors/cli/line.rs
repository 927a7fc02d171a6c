//! A call as a command line that can be pasted into a shell: the way back from `parse`.

use serde_json::{Map, Value};

use super::param::{Kind, Param, params};
use super::text::is_hostile;
use crate::domain::op_info::OpInfo;
use crate::domain::refusal::Next;

/// The command line that sends `next`. What flags cannot say is sent as JSON through `kctl rpc --op`.
pub fn command_line(next: &Next, ops: &[OpInfo]) -> String {
    let info = ops.iter().find(|info| info.name == next.op);
    let words = info.zip(next.params.as_object()).and_then(|(info, params)| flag_words(info, params));
    let words = words.unwrap_or_else(|| rpc_words(next));
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn rpc_words(next: &Next) -> Vec<String> {
    let mut words: Vec<String> = ["kctl", "rpc", "--op"].map(str::to_owned).into();
    words.push(next.op.clone());
    if next.params.as_object().is_none_or(|params| !params.is_empty()) {
        words.extend(["--params".to_owned(), next.params.to_string()]);
    }
    words
}

/// The words for `given`, or `None` when parsing them would not give `given` back.
fn flag_words(info: &OpInfo, given: &Map<String, Value>) -> Option<Vec<String>> {
    let params = params(&(info.input_schema)());
    let mut words: Vec<String> = info.command().split(' ').map(str::to_owned).collect();
    let mut given: Map<String, Value> = given.iter().filter(|(_, value)| !value.is_null()).map(owned).collect();
    let positional = positional_words(info, &params, &mut given)?;
    // A global flag, unless the operation has a parameter of that name.
    let global = info.effect.changes() && params.iter().all(|param| param.name != "dry_run");
    if global && given.get("dry_run") == Some(&Value::Bool(true)) {
        given.shift_remove("dry_run");
        words.push("--dry-run".to_owned());
    }
    // What is acted on comes first, as a person would say it; words that look like flags have to come last.
    let behind = positional.iter().any(|word| word.starts_with('-'));
    if !behind {
        words.extend(positional.iter().cloned());
    }
    for (name, value) in &given {
        let param = params.iter().find(|param| param.name == *name)?;
        push_flag(&mut words, param, value, &params)?;
    }
    if behind {
        words.push("--".to_owned());
        words.extend(positional);
    }
    Some(words)
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// Takes what goes by position out of `given`; a gap cannot be said.
fn positional_words(info: &OpInfo, params: &[Param], given: &mut Map<String, Value>) -> Option<Vec<String>> {
    let (mut words, mut gap) = (Vec::new(), false);
    for name in info.positional {
        let Some(value) = given.shift_remove(*name) else {
            gap = true;
            continue;
        };
        let param = params.iter().find(|param| param.name == *name).filter(|_| !gap)?;
        words.extend(param_words(param, &value)?);
    }
    Some(words)
}

fn push_flag(words: &mut Vec<String>, param: &Param, value: &Value, all: &[Param]) -> Option<()> {
    if param.kind == Kind::Switch && !param.list {
        let negative = format!("no-{}", param.flag);
        words.push(match value {
            Value::Bool(true) => param.dashed(),
            Value::Bool(false) if !all.iter().any(|other| other.flag == negative) => format!("--{negative}"),
            _ => return None,
        });
        return Some(());
    }
    for word in param_words(param, value)? {
        if word.starts_with('-') {
            words.push(format!("{}={word}", param.dashed()));
        } else {
            words.extend([param.dashed(), word]);
        }
    }
    Some(())
}

fn param_words(param: &Param, value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(items) if param.list && items.is_empty() => {
            (param.kind == Kind::Json).then(|| vec!["[]".to_owned()])
        }
        Value::Array(items) if param.list => items.iter().map(|item| item_word(param, item)).collect(),
        _ if param.list => None,
        one => Some(vec![word(&param.kind, one)?]),
    }
}

fn item_word(param: &Param, item: &Value) -> Option<String> {
    // A list inside a list would be taken for the whole list.
    if param.kind == Kind::Json && item.is_array() { None } else { word(&param.kind, item) }
}

fn word(kind: &Kind, value: &Value) -> Option<String> {
    let word = match (kind, value) {
        (Kind::Text | Kind::Choice(_), Value::String(text)) => text.clone(),
        (Kind::Integer | Kind::TextOrInteger, Value::Number(number)) if !number.is_f64() => number.to_string(),
        (Kind::Number, Value::Number(number)) => number.to_string(),
        (Kind::TextOrInteger, Value::String(text)) if text.parse::<i128>().is_err() => text.clone(),
        (Kind::TextOrJson, Value::String(text)) if text.starts_with(['{', '"', '@']) => value.to_string(),
        (Kind::TextOrJson, Value::String(text)) => text.clone(),
        (Kind::TextOrJson, Value::Object(_)) | (Kind::Json, _) => value.to_string(),
        _ => return None,
    };
    // No argument of a process can hold a NUL.
    (!word.contains('\0')).then_some(word)
}

/// `word` as a shell reads it back: bare, in single quotes, or in `$'…'` when it has characters that must not reach a
/// terminal.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.chars().any(is_hostile) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut out = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            c if is_hostile(c) => {
                let mut bytes = [0; 4];
                out.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\x{byte:02x}")));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}
