//! An operation as the doors see it: its name, its schemas and what it does, without the code that runs it.

use std::borrow::Cow;

use serde_json::Value;

use super::effect::{Custody, Effect};

/// Nouns that are another word for one that has the operations.
pub const SYNONYMS: [(&str, &str); 1] = [("run", "evidence")];

/// The operation's name for `name`, whose noun may be another word for it: `evidence.log` for `run.log`.
pub fn canonical(name: &str) -> Cow<'_, str> {
    let Some((noun, verb)) = name.split_once('.') else { return Cow::Borrowed(name) };
    match meant(noun) {
        same if same == noun => Cow::Borrowed(name),
        meant => Cow::Owned(format!("{meant}.{verb}")),
    }
}

/// The noun that has the operations, for `word`, which may be another word for it.
pub fn meant(word: &str) -> &str {
    SYNONYMS.iter().find(|(other, _)| *other == word).map_or(word, |(_, noun)| noun)
}

/// `noun`, and every other word for it.
pub fn words_for(noun: &'static str) -> impl Iterator<Item = &'static str> {
    let others = SYNONYMS.iter().filter(move |(_, meant)| *meant == noun).map(|(word, _)| *word);
    std::iter::once(noun).chain(others)
}

/// One operation. Doors render flags, help, tools and references from it and from nothing else.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// `noun.verb`, or one word: `task.create`, `validate`.
    pub name: &'static str,
    /// What it does, in one sentence that starts with a verb.
    pub about: &'static str,
    pub effect: Effect,
    pub custody: Custody,
    /// JSON Schema (draft 2020-12, subschemas inline) of the parameters object.
    pub input_schema: fn() -> Value,
    /// JSON Schema of the answer's `data`.
    pub output_schema: fn() -> Value,
    /// Parameters that the command line takes by position, in this order. Only the last may be a list.
    pub positional: &'static [&'static str],
    /// Command lines and what each of them does.
    pub examples: &'static [(&'static str, &'static str)],
    /// What flags cannot say in a line: shown below them, as it is. Empty for most.
    pub help: &'static str,
    /// Columns of the table when `data` is a list, or holds one; empty: every member that fits in a cell. One that ends in
    /// `?` is only shown where a row has it.
    pub columns: &'static [&'static str],
    /// Members of `data` that a person sees only on asking for more (`-v`), as paths with dots that go through lists:
    /// `criteria.strength`. `--json` has them always.
    pub hidden: &'static [&'static str],
    /// Members of `data`, as such paths, that are texts: shown line by line behind everything else. One that is hidden
    /// as well is shown there on asking for more.
    pub texts: &'static [&'static str],
    /// The member of `data` that, where it is there, is all that is printed without `--json`: a text for other programs.
    pub raw: Option<&'static str>,
    /// The member of `data` that says whether what was asked about holds. Where it is false the command line exits as
    /// for `CHECKS_FAILED`: the call did its work, and the news is bad.
    pub holds: Option<&'static str>,
}

impl OpInfo {
    /// What the operation is about: `task` of `task.create`, `validate` of `validate`.
    pub fn noun(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(noun, _)| noun)
    }

    /// What is done to the noun; `None` when the name is one word.
    pub fn verb(&self) -> Option<&'static str> {
        self.name.split_once('.').map(|(_, verb)| verb)
    }

    /// The words that call it on the command line, `kctl` first.
    pub fn command(&self) -> String {
        match self.verb() {
            Some(verb) => format!("kctl {} {}", self.noun(), verb.replace('_', "-")),
            None => format!("kctl {}", self.name.replace('_', "-")),
        }
    }
}
