//! JSON values, strictly: a member that is given twice, a number that does not fit and a NUL in a text are refused by
//! their JSON pointer. serde_json alone keeps the last duplicate and says nothing.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer as _, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::text;
use crate::domain::refusal::{Code, Refusal};

/// The most characters of a caller's text that a message repeats.
const MAX_QUOTED_CHARS: usize = 200;

/// Reads `input`, which comes from outside, as one JSON value.
///
/// # Errors
/// `PARSE_ERROR`, `REQUEST_TOO_LARGE` or, when the JSON is legal but ambiguous, `INVALID_PARAMS` with a pointer.
pub fn parse(input: &[u8]) -> Result<Value, Refusal> {
    value(text::checked(input)?, "")
}

/// Reads `input` as one JSON object.
///
/// # Errors
/// As [`parse`], and `INVALID_PARAMS` when it is another kind of value.
pub fn parse_object(input: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match parse(input)? {
        Value::Object(members) => Ok(members),
        other => {
            let message = format!("params must be an object with members by name, not {}", kind_of(&other.to_string()));
            Err(Refusal::new(Code::INVALID_PARAMS, message).with("fault", "not_by_name"))
        }
    }
}

/// Reads text that has passed `text::checked`. Pointers start with `prefix`.
pub(super) fn value(raw: &RawValue, prefix: &str) -> Result<Value, Refusal> {
    let mut walk = Walk { path: vec![prefix.to_owned()], fault: None };
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    Node(&mut walk).deserialize(&mut deserializer).map_err(|error| walk.refusal(&error))
}

/// What kind of JSON value `raw` is, for a message.
pub(super) fn kind_of(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Shortens `text` for a message.
pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A member's name as one step of a JSON pointer.
pub(super) fn step(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Where the reader is. A failed step is not taken back, so that the path still says where.
struct Walk {
    path: Vec<String>,
    fault: Option<Fault>,
}

#[derive(Clone, Copy)]
enum Fault {
    Duplicate,
    Nul,
}

impl Walk {
    fn refusal(&self, error: &serde_json::Error) -> Refusal {
        let pointer = clip(&self.path.concat());
        let (fault, message) = match self.fault {
            Some(Fault::Duplicate) => ("duplicate_member", format!("the member `{pointer}` is given twice")),
            Some(Fault::Nul) => {
                ("nul_character", format!("`{pointer}` has a NUL character, which no text here may have"))
            }
            None => ("number_out_of_range", format!("`{pointer}` cannot be read: {error}")),
        };
        Refusal::new(Code::INVALID_PARAMS, message).with("fault", fault).with("pointer", pointer)
    }

    fn fail<E: serde::de::Error>(&mut self, fault: Fault) -> E {
        self.fault = Some(fault);
        E::custom("refused")
    }
}

struct Node<'w>(&'w mut Walk);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = serde_json::Number::from_f64(value).ok_or_else(|| E::custom("number out of range"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        if value.contains('\0') {
            return Err(self.0.fail(Fault::Nul));
        }
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            self.0.path.push(format!("/{}", list.len()));
            let Some(item) = items.next_element_seed(Node(self.0))? else { break };
            self.0.path.pop();
            list.push(item);
        }
        self.0.path.pop();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            self.0.path.push(step(&name));
            if object.contains_key(&name) {
                return Err(self.0.fail(Fault::Duplicate));
            }
            if name.contains('\0') {
                return Err(self.0.fail(Fault::Nul));
            }
            let value = members.next_value_seed(Node(self.0))?;
            self.0.path.pop();
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

/// The members of an object in the order they are given, duplicates among them, each value as it stands.
pub(super) struct Members<'de>(pub(super) Vec<(String, &'de RawValue)>);

impl<'de> Members<'de> {
    /// Splits `raw`, which is known to be a JSON object.
    pub(super) fn of(raw: &'de RawValue) -> Result<Self, serde_json::Error> {
        serde_json::Deserializer::from_str(raw.get()).deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Members<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(member) = members.next_entry()? {
            list.push(member);
        }
        Ok(Members(list))
    }
}

/// The first items of an array as they stand, and how many there are.
pub(super) struct Items<'de> {
    pub(super) first: Vec<&'de RawValue>,
    pub(super) count: usize,
}

impl<'de> Items<'de> {
    /// Splits `raw`, which is known to be a JSON array, keeping at most `limit` items.
    pub(super) fn of(raw: &'de RawValue, limit: usize) -> Result<Self, serde_json::Error> {
        serde_json::Deserializer::from_str(raw.get()).deserialize_seq(ItemsVisitor(limit))
    }
}

struct ItemsVisitor(usize);

impl<'de> Visitor<'de> for ItemsVisitor {
    type Value = Items<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Items<'de>, A::Error> {
        let mut found = Items { first: Vec::new(), count: 0 };
        while let Some(item) = items.next_element()? {
            found.count = found.count.checked_add(1).ok_or_else(|| A::Error::custom("too many items"))?;
            if found.count <= self.0 {
                found.first.push(item);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pointer_of(text: &str) -> String {
        let refusal = parse(text.as_bytes()).expect_err("refused");
        refusal.details()["pointer"].as_str().expect("a pointer is given").to_owned()
    }

    #[test]
    fn a_duplicate_is_named_by_its_pointer_at_any_depth() {
        assert_eq!(pointer_of(r#"{"a":1,"a":2}"#), "/a");
        assert_eq!(pointer_of(r#"{"a":[0,{"b":{"c":1,"\u0063":2}}]}"#), "/a/1/b/c");
        assert_eq!(pointer_of(r#"[[],[{"x~/y":1,"x~/y":1}]]"#), "/1/0/x~0~1y");
    }

    #[test]
    fn the_same_name_in_two_objects_is_no_duplicate() {
        let text = r#"{"a":{"a":[{"a":1},{"a":[]}]},"b":[],"c":[[],[1]]}"#;
        assert_eq!(parse(text.as_bytes()), Ok(json!({"a":{"a":[{"a":1},{"a":[]}]},"b":[],"c":[[],[1]]})));
    }

    #[test]
    fn what_cannot_be_kept_exactly_is_refused_by_name() {
        assert_eq!(pointer_of(r#"{"a":[1,1e999]}"#), "/a/1");
        assert_eq!(pointer_of(r#"{"a":{"t":"x\u0000y"}}"#), "/a/t");
    }

    #[test]
    fn a_message_never_repeats_a_megabyte_of_input() {
        let name = "é".repeat(1_000_000);
        assert!(pointer_of(&format!(r#"{{"{name}":1,"{name}":2}}"#)).chars().count() <= MAX_QUOTED_CHARS + 1);
    }
}
