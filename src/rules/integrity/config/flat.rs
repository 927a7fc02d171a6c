//! A configuration file as a flat list of keys, and what differs between two of them.

use std::collections::{BTreeMap, BTreeSet};

const MAX_DEPTH: usize = 40;

/// Key path and values: one for a scalar, each element for a list.
pub(super) type Flat = BTreeMap<String, Vec<String>>;

pub(super) struct Difference {
    pub key: String,
    pub old: Option<Vec<String>>,
    pub new: Option<Vec<String>>,
}

impl Difference {
    pub fn last(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or("")
    }
    pub fn was(&self) -> &[String] {
        self.old.as_deref().unwrap_or_default()
    }
    pub fn is(&self) -> &[String] {
        self.new.as_deref().unwrap_or_default()
    }
    pub fn added(&self) -> Vec<&str> {
        let old: BTreeSet<&String> = self.was().iter().collect();
        self.is().iter().filter(|value| !old.contains(value)).map(String::as_str).collect()
    }
    pub fn removed(&self) -> Vec<&str> {
        let new: BTreeSet<&String> = self.is().iter().collect();
        self.was().iter().filter(|value| !new.contains(value)).map(String::as_str).collect()
    }
    pub fn is_new(&self, value: &str) -> bool {
        self.is() == [value.to_owned()]
    }
    /// The number became smaller, or is gone.
    pub fn lowered(&self) -> bool {
        let number =
            |values: &[String]| values.first().and_then(|value| value.trim_end_matches('%').parse::<f64>().ok());
        match (number(self.was()), number(self.is())) {
            (Some(old), Some(new)) => new < old,
            (Some(_), None) => true,
            _ => false,
        }
    }
}

pub(super) fn differences(old: &Flat, new: &Flat) -> Vec<Difference> {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    keys.into_iter()
        .filter(|key| old.get(*key) != new.get(*key))
        .map(|key| Difference { key: key.clone(), old: old.get(key).cloned(), new: new.get(key).cloned() })
        .collect()
}

pub(super) fn toml(text: &str) -> Flat {
    let mut out = Flat::new();
    match text.parse::<toml::Table>() {
        Ok(table) => toml_table(&table, "", 0, &mut out),
        Err(_) => {
            out.insert("(unreadable)".to_owned(), vec![text.to_owned()]);
        }
    }
    out
}

fn toml_table(table: &toml::Table, prefix: &str, depth: usize, out: &mut Flat) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        toml_value(value, &path, depth, out);
    }
}

fn toml_value(value: &toml::Value, path: &str, depth: usize, out: &mut Flat) {
    match value {
        _ if depth > MAX_DEPTH => {}
        toml::Value::Table(table) => toml_table(table, path, depth + 1, out),
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            for (at, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(toml::Value::as_str).map_or_else(|| at.to_string(), str::to_owned);
                toml_value(item, &format!("{path}.{name}"), depth + 1, out);
            }
        }
        toml::Value::Array(items) => {
            out.insert(path.to_owned(), items.iter().map(scalar).collect());
        }
        other => {
            out.insert(path.to_owned(), vec![scalar(other)]);
        }
    }
}

fn scalar(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn json(text: &str) -> Flat {
    let mut out = Flat::new();
    match serde_json::from_str(&without_comments(text)) {
        Ok(value) => json_value(&value, "", 0, &mut out),
        Err(_) => {
            out.insert("(unreadable)".to_owned(), vec![text.to_owned()]);
        }
    }
    out
}

fn json_value(value: &serde_json::Value, path: &str, depth: usize, out: &mut Flat) {
    let within = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        _ if depth > MAX_DEPTH => {}
        serde_json::Value::Object(map) => {
            map.iter().for_each(|(key, value)| json_value(value, &within(key), depth + 1, out))
        }
        serde_json::Value::Array(items) if items.iter().any(serde_json::Value::is_object) => {
            items.iter().enumerate().for_each(|(at, item)| json_value(item, &within(&at.to_string()), depth + 1, out));
        }
        serde_json::Value::Array(items) => {
            out.insert(path.to_owned(), items.iter().map(json_scalar).collect());
        }
        other => {
            out.insert(path.to_owned(), vec![json_scalar(other)]);
        }
    }
}

fn json_scalar(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// JSON with comments and trailing commas made into plain JSON.
fn without_comments(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut quoted) = (0, false);
    while let Some(c) = chars.get(at).copied() {
        let next = chars.get(at + 1).copied();
        match (c, next) {
            ('\\', Some(escaped)) if quoted => {
                out.push(c);
                out.push(escaped);
                at += 1;
            }
            ('"', _) => {
                quoted = !quoted;
                out.push(c);
            }
            ('/', Some('/')) if !quoted => {
                while chars.get(at + 1).is_some_and(|c| *c != '\n') {
                    at += 1;
                }
            }
            ('/', Some('*')) if !quoted => {
                while at + 1 < chars.len() && !(chars[at] == '*' && chars[at + 1] == '/') {
                    at += 1;
                }
                at += 1;
            }
            (']' | '}', _) if !quoted && out.trim_end().ends_with(',') => {
                out.truncate(out.trim_end().len() - 1);
                out.push(c);
            }
            _ => out.push(c),
        }
        at += 1;
    }
    out
}

/// `[section]`, `key = value`, indented lines continue the value.
pub(super) fn ini(text: &str) -> Flat {
    let mut out = Flat::new();
    let (mut section, mut key) = (String::new(), String::new());
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim().to_owned();
            key.clear();
            continue;
        }
        let continues = line.starts_with([' ', '\t']) && !key.is_empty();
        let (name, value) = trimmed.split_once('=').unwrap_or((trimmed, ""));
        if !continues {
            key = format!("{section}.{}", name.trim());
        }
        let value = if continues { trimmed } else { value.trim() };
        let values = out.entry(key.clone()).or_default();
        if !value.is_empty() {
            values.push(value.to_owned());
        }
    }
    out
}
