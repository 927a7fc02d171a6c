//! Whether an expectation holds of what was answered.

use std::collections::BTreeMap;

use serde_json::Value;

use super::table::Expectation;

/// What came of each step that has a name, and of the last one.
pub struct Answers {
    pub named: BTreeMap<String, Value>,
    pub last: Value,
}

impl Answers {
    pub fn of(&self, step: Option<&str>) -> Result<&Value, String> {
        match step {
            None => Ok(&self.last),
            Some(name) => self.named.get(name).ok_or_else(|| format!("no step is called `{name}`")),
        }
    }

    /// What stands at `STEP:POINTER`.
    pub fn at(&self, place: &str) -> Result<&Value, String> {
        let (step, ptr) = place.split_once(':').ok_or_else(|| format!("`{place}` is not STEP:POINTER"))?;
        find(self.of(Some(step))?, ptr).ok_or_else(|| format!("nothing stands at `{place}`"))
    }
}

/// Follows `ptr`, in which `[name=value]` picks the item of a list with that member, and `[-1]` the last one.
pub fn find<'v>(value: &'v Value, ptr: &str) -> Option<&'v Value> {
    let parts = ptr.strip_prefix('/').map(|rest| rest.split('/')).into_iter().flatten();
    parts.into_iter().try_fold(value, |value, part| match (value, part.strip_prefix('[')) {
        (Value::Array(items), Some("-1]")) => items.last(),
        (Value::Array(items), Some(rest)) => {
            let (name, wanted) = rest.strip_suffix(']')?.split_once('=')?;
            // As in a JSON pointer, `~1` stands for a slash.
            let wanted = wanted.replace("~1", "/");
            items.iter().find(|item| item[name] == wanted.as_str())
        }
        (Value::Array(items), None) => items.get(part.parse::<usize>().ok()?),
        (value, _) => value.get(part),
    })
}

/// What is asked of the place, in words, and whether it holds.
type Asked = (String, bool);

/// Says what does not hold, if anything. `filled` puts in the names that are known only when it is played.
pub fn hold(expected: &Expectation, answers: &Answers, filled: impl Fn(&Value) -> Value) -> Result<(), String> {
    let answer = answers.of(expected.at.as_deref())?;
    let found = find(answer, &expected.ptr).filter(|found| !found.is_null());
    let mut asked: Vec<Asked> = Vec::new();
    let mut ask = |words: String, holds: bool| asked.push((words, holds));
    if let Some(present) = expected.present {
        ask(if present { "is missing" } else { "should not be there" }.to_owned(), found.is_some() == present);
    }
    if let Some(eq) = expected.eq.as_ref().map(&filled) {
        ask(format!("is not {eq}"), found == Some(&eq));
    }
    if let Some(ne) = expected.ne.as_ref().map(&filled) {
        ask(format!("is {ne}, or not there"), found.is_some_and(|is| *is != ne));
    }
    if let Some(part) = expected.has.as_ref().map(&filled) {
        ask(format!("has no {part}"), has(found, &part));
    }
    if let Some(part) = expected.lacks.as_ref().map(&filled) {
        ask(format!("has {part}, or is not there"), found.is_some() && !has(found, &part));
    }
    if let Some(start) = &expected.starts {
        let begins = found.and_then(Value::as_str).is_some_and(|text| text.starts_with(start.as_str()));
        ask(format!("does not begin with `{start}`"), begins);
    }
    if let Some(len) = expected.len {
        ask(format!("is not {len} long"), found.filter(|found| !found.is_number()).and_then(size) == Some(len));
    }
    if let Some(min) = expected.min {
        ask(format!("is less than {min}"), found.and_then(size).is_some_and(|size| size >= min));
    }
    if let Some(place) = &expected.same_as {
        let other = answers.at(place)?;
        ask(format!("differs from `{place}`, which is {other}"), found == Some(other));
    }
    if asked.is_empty() {
        return Err(format!("`{}` expects nothing", expected.ptr));
    }
    let at = expected.at.as_deref().unwrap_or("last");
    let shown = || found.map_or_else(|| "not there".to_owned(), Value::to_string);
    match asked.into_iter().find(|(_, holds)| !holds) {
        Some((words, _)) => Err(format!("{at}: `{}` {words}; it is {}", expected.ptr, shown())),
        None => Ok(()),
    }
}

fn has(found: Option<&Value>, part: &Value) -> bool {
    match (found, part) {
        (Some(Value::Array(items)), part) => items.contains(part),
        (Some(Value::String(text)), Value::String(part)) => text.contains(part.as_str()),
        _ => false,
    }
}

fn size(found: &Value) -> Option<u64> {
    match found {
        Value::Array(items) => Some(items.len() as u64),
        Value::Object(members) => Some(members.len() as u64),
        Value::String(text) => Some(text.len() as u64),
        number => number.as_u64(),
    }
}
