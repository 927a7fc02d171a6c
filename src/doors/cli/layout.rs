//! Data as lines for a person: names and values, tables, and texts behind them. It knows no operation; what an
//! operation has to say about how its answer reads is in its `Hints`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::render::{BOLD, DIM, Look, writeln_to};
use super::table::{Columns, is_scalar, table};
use super::text::{in_short, is_id, label, neutral};
use crate::domain::op_info::OpInfo;

/// How deep values are laid out; what lies deeper is shown as JSON.
const MAX_LAYOUT_DEPTH: usize = 6;

/// A list of words up to this many characters stands on one line.
const MAX_INLINE_CHARS: usize = 80;

/// What an operation says about how its answer reads. Paths have dots and go through lists.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hints<'h> {
    pub columns: &'h [&'h str],
    pub hidden: &'h [&'h str],
    pub texts: &'h [&'h str],
}

impl Hints<'_> {
    pub(super) fn of(op: Option<&OpInfo>) -> Self {
        op.map_or_else(Self::default, |info| Self { columns: info.columns, hidden: info.hidden, texts: info.texts })
    }
}

/// Lays values out in lines.
pub(super) struct Layout<'l> {
    pub hints: Hints<'l>,
    pub look: &'l Look,
}

impl Layout<'_> {
    /// All of `data`: what fits between other things, then the texts.
    pub(super) fn whole(&self, data: &Value) -> String {
        let mut out = String::new();
        match data {
            Value::Object(members) => match sole_list(members) {
                Some((name, items)) => self.list(items, name, 0, &mut out),
                None => self.object(members, "", 0, &mut out),
            },
            Value::Array(items) => self.list(items, "", 0, &mut out),
            scalar => writeln_to(&mut out, &self.scalar(scalar)),
        }
        self.texts(data, &mut out);
        out
    }

    /// The members of an object whose path is `path`, one after the other.
    pub(super) fn object(&self, members: &Map<String, Value>, path: &str, indent: usize, out: &mut String) {
        let shown: Vec<(&String, &Value, String)> = members
            .iter()
            .map(|(name, value)| (name, value, joined(path, name)))
            .filter(|(_, value, path)| self.shows(value, path))
            .collect();
        let short = shown.iter().filter(|(_, value, _)| self.inline(value, indent).is_some());
        let width = short.map(|(name, ..)| neutral(label(name)).chars().count()).max().unwrap_or(0);
        for (name, value, path) in shown {
            let (name, pad) = (neutral(label(name)), " ".repeat(indent));
            match self.inline(value, indent) {
                Some(text) => {
                    let gap = " ".repeat(width.saturating_sub(name.chars().count()));
                    writeln_to(out, &format!("{pad}{}:{gap} {text}", self.look.paint(DIM, &name)));
                }
                None => {
                    writeln_to(out, &format!("{pad}{}:", self.look.paint(DIM, &name)));
                    self.block(value, &path, indent + 2, out);
                }
            }
        }
    }

    /// Whether the member at `path` stands among the others: what is empty says nothing, and costs a line.
    fn shows(&self, value: &Value, path: &str) -> bool {
        if self.hints.texts.contains(&path) {
            return false;
        }
        self.look.verbose > 0 || !(self.hints.hidden.contains(&path) || self.is_blank(value, path))
    }

    fn is_blank(&self, value: &Value, path: &str) -> bool {
        match value {
            Value::Null => true,
            Value::String(text) => text.trim().is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.iter().all(|(name, value)| !self.shows(value, &joined(path, name))),
            Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// The value on the line of its name, if it fits there.
    fn inline(&self, value: &Value, indent: usize) -> Option<String> {
        match value {
            Value::Null => Some("-".to_owned()),
            Value::String(text) if text.trim_end().contains('\n') => None,
            Value::Array(items) if items.is_empty() => Some("none".to_owned()),
            Value::Object(members) if members.is_empty() => Some("none".to_owned()),
            Value::Array(items) if items.iter().all(is_scalar) => {
                let line = items.iter().map(|item| self.scalar(item)).collect::<Vec<_>>().join(", ");
                let one_line = line.chars().count() <= MAX_INLINE_CHARS;
                let whole = |item: &Value| !item.as_str().is_some_and(|text| text.contains(','));
                (one_line && items.iter().all(whole)).then_some(line)
            }
            Value::Array(_) | Value::Object(_) if indent / 2 >= MAX_LAYOUT_DEPTH => Some(neutral(&value.to_string())),
            Value::Array(_) | Value::Object(_) => None,
            scalar => Some(self.scalar(scalar)),
        }
    }

    fn block(&self, value: &Value, path: &str, indent: usize, out: &mut String) {
        match value {
            Value::Object(members) => self.object(members, path, indent, out),
            Value::Array(items) => self.list(items, path, indent, out),
            Value::String(text) => lines(text, indent, out),
            scalar => writeln_to(out, &format!("{}{}", " ".repeat(indent), self.scalar(scalar))),
        }
    }

    fn list(&self, items: &[Value], path: &str, indent: usize, out: &mut String) {
        let rows: Vec<&Map<String, Value>> = items.iter().filter_map(Value::as_object).collect();
        if !rows.is_empty() && rows.len() == items.len() {
            out.push_str(&table(&rows, &self.columns(&rows, path), indent, self.look));
            return;
        }
        for item in items {
            match self.inline(item, indent) {
                Some(text) if indent == 0 => writeln_to(out, &text),
                Some(text) => writeln_to(out, &format!("{}- {text}", " ".repeat(indent))),
                None => {
                    writeln_to(out, &format!("{}-", " ".repeat(indent)));
                    self.block(item, path, indent + 2, out);
                }
            }
        }
    }

    /// The operation chose columns for one of its lists, and not for what lies in other things.
    fn columns(&self, rows: &[&Map<String, Value>], path: &str) -> Columns {
        let known = |name: &str| rows.iter().any(|row| row.contains_key(name.split('.').next().unwrap_or(name)));
        let shown = |name: &str| {
            let path = joined(path, name);
            !self.hints.texts.contains(&path.as_str())
                && (self.look.verbose > 0 || !self.hints.hidden.contains(&path.as_str()))
        };
        let chosen = self.hints.columns;
        if !chosen.is_empty() && chosen.iter().all(|name| name.ends_with('?') || known(name)) {
            let names = chosen.iter().map(|name| name.trim_end_matches('?'));
            return names.filter(|name| known(name) && shown(name)).map(str::to_owned).collect();
        }
        super::table::fitting(rows).into_iter().filter(|name| shown(name)).collect()
    }

    fn scalar(&self, value: &Value) -> String {
        match value {
            Value::Null => "-".to_owned(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::String(text) if is_id(text) => self.look.paint(BOLD, text),
            Value::String(text) => in_short(text, self.look.now, self.look.verbose > 0),
            other => neutral(&other.to_string()),
        }
    }

    /// The texts, each under the name of the row or the member that it belongs to.
    fn texts(&self, data: &Value, out: &mut String) {
        let verbose = self.look.verbose > 0;
        let wanted = self.hints.texts.iter().filter(|path| verbose || !self.hints.hidden.contains(path));
        let mut found = Vec::new();
        for path in wanted {
            collect(data, path, None, &mut found);
        }
        for (index, (name, text)) in found.iter().enumerate() {
            // The end of an output is not shown above the whole of it.
            if found[index + 1..].iter().any(|(_, later)| holds(later, text)) {
                continue;
            }
            writeln_to(out, &format!("{}:", self.look.paint(DIM, &neutral(name))));
            lines(text, 2, out);
        }
    }
}

/// The one list that is all there is in an object.
pub(super) fn sole_list(members: &Map<String, Value>) -> Option<(&str, &[Value])> {
    let mut all = members.iter();
    match (all.next(), all.next()) {
        (Some((name, Value::Array(items))), None) => Some((name, items)),
        _ => None,
    }
}

/// Finds the texts at `path`, with the first member of the row, or else the last part of the path, for a name.
fn collect<'v>(value: &'v Value, path: &str, row: Option<&'v str>, found: &mut Vec<(String, Cow<'v, str>)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| {
            let first = item.as_object().and_then(|members| members.values().next()).and_then(Value::as_str);
            collect(item, path, first, found);
        }),
        Value::Object(members) => {
            let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
            match (members.get(head), rest) {
                (Some(below), Some(rest)) => collect(below, rest, row, found),
                (Some(Value::String(text)), None) if !text.trim().is_empty() => {
                    found.push((row.unwrap_or(head).to_owned(), Cow::Borrowed(text)));
                }
                (Some(Value::Array(texts)), None) if !texts.is_empty() && texts.iter().all(Value::is_string) => {
                    let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
                    found.push((row.unwrap_or(head).to_owned(), Cow::Owned(texts.join("\n"))));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

/// Whether the lines of `part` stand in `whole` in one piece; blank lines do not count.
fn holds(whole: &str, part: &str) -> bool {
    let dense = |text: &str| {
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
        lines.fold(String::from("\n"), |all, line| all + line + "\n")
    };
    dense(whole).contains(&dense(part))
}

fn lines(text: &str, indent: usize, out: &mut String) {
    for line in text.trim_end().lines() {
        writeln_to(out, &format!("{}{}", " ".repeat(indent), neutral(&line.replace('\t', "    "))));
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
