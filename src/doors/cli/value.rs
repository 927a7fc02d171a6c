//! One word of the command line as a JSON value.

use std::path::Path;

use serde_json::Value;

use super::param::Kind;
use super::source::{Console, Source};
use crate::domain::refusal::{Code, Refusal};
use crate::doors::rpc;

/// Reads `word` as `kind`; `shown` is the flag it was given to.
///
/// # Errors
/// `USAGE` that names the flag.
pub(super) fn read(kind: &Kind, word: &str, shown: &str, console: &mut Console<'_>) -> Result<Value, Refusal> {
    match kind {
        Kind::Text | Kind::Choice(_) => Ok(Value::from(word)),
        Kind::Integer => integer(word).ok_or_else(|| wrong(shown, "a whole number", word)),
        Kind::Number => number(word).ok_or_else(|| wrong(shown, "a number", word)),
        Kind::Switch => boolean(word).ok_or_else(|| wrong(shown, "`true` or `false`", word)),
        Kind::TextOrInteger => Ok(integer(word).unwrap_or_else(|| Value::from(word))),
        Kind::TextOrJson if word.starts_with(['{', '"', '@']) => json(word, shown, console),
        Kind::TextOrJson => Ok(Value::from(word)),
        Kind::Json => json(word, shown, console),
        Kind::File => file(word, shown, console),
    }
}

/// The bytes that `word` stands for: of the file after `@`, of standard input for `-`, or its own.
///
/// # Errors
/// `USAGE` when the source cannot be read.
pub fn text(word: &str, shown: &str, console: &mut Console<'_>) -> Result<Vec<u8>, Refusal> {
    match word.strip_prefix('@') {
        Some(path) => console.read(Source::File(Path::new(path)), shown),
        None if word == "-" => console.read(Source::Stdin, shown),
        None => Ok(word.as_bytes().to_vec()),
    }
}

/// What is not UTF-8 of an output is kept lossily, as everywhere.
fn file(word: &str, shown: &str, console: &mut Console<'_>) -> Result<Value, Refusal> {
    let source = if word == "-" { Source::Stdin } else { Source::File(Path::new(word)) };
    Ok(Value::from(String::from_utf8_lossy(&console.read(source, shown)?).into_owned()))
}

fn json(word: &str, shown: &str, console: &mut Console<'_>) -> Result<Value, Refusal> {
    rpc::parse(&text(word, shown, console)?).map_err(|refusal| {
        let why = refusal.message().replacen("the request", "the value", 1);
        let message = format!("`{shown}` takes JSON, or `@FILE`, or `-` for standard input: {why}");
        refusal
            .details()
            .iter()
            .fold(Refusal::new(Code::USAGE, message), |all, (name, value)| all.with(name, value))
            .with("flag", shown)
    })
}

fn integer(word: &str) -> Option<Value> {
    // Only the one spelling: `007` and `+7` are texts to whoever typed them.
    let value = word.parse::<i64>().map(Value::from).or_else(|_| word.parse::<u64>().map(Value::from)).ok()?;
    let one_spelling = value.to_string();
    (one_spelling == word).then_some(value)
}

fn number(word: &str) -> Option<Value> {
    integer(word).or_else(|| serde_json::Number::from_f64(word.parse().ok()?).map(Value::Number))
}

fn boolean(word: &str) -> Option<Value> {
    word.parse::<bool>().ok().map(Value::Bool)
}

fn wrong(shown: &str, wanted: &str, word: &str) -> Refusal {
    let word: String = word.chars().take(100).collect();
    Refusal::new(Code::USAGE, format!("`{shown}` takes {wanted}, not `{word}`")).with("flag", shown)
}
