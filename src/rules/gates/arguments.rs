//! A tool's arguments, read strictly: what cannot be read is refused, and nothing is dropped or guessed.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::tools::{At, Tool};

/// The most paths that one action names.
pub const MAX_PATHS: usize = 1000;

/// The longest path that is looked at, in bytes: no longer one can be opened on Linux.
pub const MAX_PATH_BYTES: usize = 4096;

/// A tool's arguments: an object, or a text that holds one, as some models send it. The text is parsed once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(pub Map<String, Value>);

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Strict::deserialize(deserializer)?.0 {
            Value::Object(members) => Ok(Self(members)),
            Value::String(text) => from_text(&text).map_err(de::Error::custom),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                Err(de::Error::custom("arguments are an object, or a text that holds one"))
            }
        }
    }
}

fn from_text(text: &str) -> Result<Arguments, String> {
    match serde_json::from_str::<Strict>(text) {
        Ok(Strict(Value::Object(members))) => Ok(Arguments(members)),
        Ok(_) => Err("the text of the arguments holds no object".to_owned()),
        Err(why) => Err(format!("the text of the arguments is not JSON: {why}")),
    }
}

impl JsonSchema for Arguments {
    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [{ "type": "object" }, { "type": "string" }] })
    }
}

/// A value in which no object names a member twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Strict)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let Strict(value) = members.next_value()?;
            if all.contains_key(&name) {
                return Err(de::Error::custom(format!("the member `{name}` is given twice")));
            }
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}

/// The paths that a call of `tool` names, each once and in order.
///
/// # Errors
/// The member that does not fit, and why in words.
pub fn paths(tool: &Tool, arguments: &Arguments) -> Result<Vec<String>, (&'static str, String)> {
    match tool.at {
        At::Nowhere => Ok(Vec::new()),
        At::Member(member) => match arguments.0.get(member) {
            Some(_) => one(member, arguments),
            None => Err((member, format!("`{}` needs `{member}`", tool.name))),
        },
        At::MemberOrHere(member) => match arguments.0.get(member) {
            None | Some(Value::Null) => Ok(vec![".".to_owned()]),
            Some(_) => one(member, arguments),
        },
        At::Patch(member) => {
            let Some(Value::String(patch)) = arguments.0.get(member) else {
                return Err((member, format!("`{}` needs `{member}`, the text of a patch", tool.name)));
            };
            in_patch(patch).map_err(|why| (member, why))
        }
    }
}

fn one(member: &'static str, arguments: &Arguments) -> Result<Vec<String>, (&'static str, String)> {
    match arguments.0.get(member) {
        Some(Value::String(path)) if path.is_empty() => Err((member, format!("`{member}` is empty"))),
        Some(Value::String(path)) if path.len() > MAX_PATH_BYTES => Err((member, too_long(member))),
        Some(Value::String(path)) => Ok(vec![path.clone()]),
        _ => Err((member, format!("`{member}` is a path"))),
    }
}

fn too_long(what: &str) -> String {
    format!("`{what}` names a path of more than {MAX_PATH_BYTES} bytes")
}

/// What begins a line that names a file of a patch.
const HEADERS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// The paths in the headers of a patch in Codex's form. Lines of content begin with a space, `+` or `-`, so none of them
/// is taken for a header.
fn in_patch(patch: &str) -> Result<Vec<String>, String> {
    let header =
        |line: &str| HEADERS.iter().find_map(|header| line.trim_start().strip_prefix(header).map(str::to_owned));
    let is_content = |line: &&str| line.starts_with(['+', '-', ' ']) && !line.trim_start().starts_with("***");
    let named = patch.lines().filter(|line| !is_content(line)).filter_map(header);
    let mut seen = BTreeSet::new();
    let paths: Vec<String> =
        named.map(|path| path.trim().to_owned()).filter(|path| seen.insert(path.clone())).take(MAX_PATHS + 1).collect();
    match paths.as_slice() {
        [] => Err("the patch names no file".to_owned()),
        many if many.len() > MAX_PATHS => Err(format!("the patch names more than {MAX_PATHS} files")),
        paths if paths.iter().any(|path| path.len() > MAX_PATH_BYTES) => Err(too_long("the patch")),
        paths if paths.iter().any(String::is_empty) => Err("a header of the patch names no file".to_owned()),
        _ => Ok(paths),
    }
}
