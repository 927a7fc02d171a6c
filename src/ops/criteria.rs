//! Criteria as they are given: an object, or a short text such as `tests=check:tests`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use crate::domain::contract::{Criterion, CriterionId, Proof};
use crate::domain::refusal::{Code, Refusal};

/// A criterion as a caller writes it. Without an id it is numbered; without a statement it says what it checks.
#[derive(Clone, Debug)]
pub struct CriterionInput {
    id: Option<CriterionId>,
    statement: Option<String>,
    required: bool,
    proof: Proof,
}

impl CriterionInput {
    fn named(self, number: usize) -> Result<Criterion, Refusal> {
        let id = match self.id {
            Some(id) => id,
            None => format!("AC-{number}").parse().map_err(|why: String| Refusal::new(Code::INTERNAL, why))?,
        };
        let statement = self.statement.unwrap_or_else(|| describe(&self.proof));
        Ok(Criterion { id, statement, required: self.required, proof: self.proof })
    }
}

/// Numbers and names the criteria in the order they were given.
///
/// # Errors
/// Never for criteria that were read.
pub fn named(inputs: Vec<CriterionInput>) -> Result<Vec<Criterion>, Refusal> {
    inputs.into_iter().enumerate().map(|(index, input)| input.named(index + 1)).collect()
}

/// What a proof shows, in words.
pub fn describe(proof: &Proof) -> String {
    match proof {
        Proof::Check { check } => format!("check `{check}` passes"),
        Proof::FileExists { path } => format!("`{path}` exists"),
        Proof::FileAbsent { path } => format!("`{path}` does not exist"),
        Proof::FileContains { path, text: Some(text), .. } => format!("`{path}` contains `{text}`"),
        Proof::FileContains { path, pattern, .. } => {
            format!("`{path}` matches `{}`", pattern.as_deref().unwrap_or_default())
        }
        Proof::SearchNone { pattern, paths } if paths.is_empty() => format!("nothing matches `{pattern}`"),
        Proof::SearchNone { pattern, paths } => format!("nothing in {} matches `{pattern}`", paths.join(", ")),
        Proof::DiffScope { paths } => format!("only {} changed", paths.join(", ")),
        Proof::Attested { question } => question.clone().unwrap_or_else(|| "a person attests that it holds".to_owned()),
    }
}

fn short(text: &str) -> Result<CriterionInput, String> {
    let (id, rest) = match text.split_once('=') {
        Some((id, rest)) if !id.contains(':') => (Some(id.parse::<CriterionId>()?), rest),
        _ => (None, text),
    };
    let parted = rest.split_once(':');
    let (kind, argument) = parted.unwrap_or((rest, ""));
    let list = || argument.split(',').map(str::trim).filter(|glob| !glob.is_empty()).map(str::to_owned).collect();
    let proof = match kind {
        "check" => Proof::Check { check: argument.to_owned() },
        "file_exists" => Proof::FileExists { path: argument.to_owned() },
        "file_absent" => Proof::FileAbsent { path: argument.to_owned() },
        "file_contains" => {
            let (path, text) = argument.split_once(':').ok_or("write it `file_contains:PATH:TEXT`")?;
            Proof::FileContains { path: path.to_owned(), text: Some(text.to_owned()), pattern: None }
        }
        "search_none" => Proof::SearchNone { pattern: argument.to_owned(), paths: Vec::new() },
        "diff_scope" => Proof::DiffScope { paths: list() },
        "attested" => Proof::Attested { question: parted.map(|_| argument.to_owned()) },
        _ => {
            return Err(format!(
                "`{kind}` is not a kind of criterion: check, file_exists, file_absent, file_contains, search_none, \
                 diff_scope, attested"
            ));
        }
    };
    Ok(CriterionInput { id, statement: None, required: true, proof })
}

fn from_object(mut object: Map<String, Value>) -> Result<CriterionInput, String> {
    fn take<T: de::DeserializeOwned>(object: &mut Map<String, Value>, name: &str) -> Result<Option<T>, String> {
        match object.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value).map(Some).map_err(|why| format!("`{name}`: {why}")),
        }
    }
    let id = take(&mut object, "id")?;
    let statement = take(&mut object, "statement")?;
    let required = take(&mut object, "required")?.unwrap_or(true);
    let proof = serde_json::from_value(Value::Object(object)).map_err(|why| why.to_string())?;
    Ok(CriterionInput { id, statement, required, proof })
}

impl<'de> Deserialize<'de> for CriterionInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> de::Visitor<'de> for Reader {
            type Value = CriterionInput;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a criterion: an object with `kind`, or a text such as `tests=check:tests`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<CriterionInput, E> {
                short(text).map_err(E::custom)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<CriterionInput, A::Error> {
                let object = Map::deserialize(de::value::MapAccessDeserializer::new(map))?;
                from_object(object).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for CriterionInput {
    fn schema_name() -> Cow<'static, str> {
        "CriterionInput".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a text `[ID=]KIND:ARGUMENT` such as `tests=check:tests`, `file_exists:README.md`, \
                `file_contains:PATH:TEXT`, `search_none:PATTERN`, `diff_scope:src/**,tests/**`, `attested:QUESTION`; \
                or an object with `kind` and that kind's members",
            "oneOf": [
                { "type": "string", "minLength": 1 },
                {
                    "type": "object",
                    "required": ["kind"],
                    "properties": {
                        "id": { "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$" },
                        "statement": { "type": "string" },
                        "required": { "type": "boolean", "default": true },
                        "kind": { "enum": ["check", "file_exists", "file_absent", "file_contains", "search_none",
                            "diff_scope", "attested"] },
                        "check": { "type": "string" },
                        "path": { "type": "string" },
                        "text": { "type": "string" },
                        "pattern": { "type": "string" },
                        "paths": { "type": "array", "items": { "type": "string" } },
                        "question": { "type": "string" }
                    },
                    "additionalProperties": false
                }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<Criterion, String> {
        let input: CriterionInput = serde_json::from_value(value).map_err(|why| why.to_string())?;
        input.named(1).map_err(|refusal| refusal.message().to_owned())
    }

    #[test]
    fn the_short_form_and_the_object_say_the_same() {
        let short = read("tests=check:tests".into());
        let long = read(serde_json::json!({ "id": "tests", "kind": "check", "check": "tests" }));
        assert_eq!(short, long);
        assert_eq!(short.map(|criterion| criterion.statement), Ok("check `tests` passes".to_owned()));
    }

    #[test]
    fn what_a_kind_does_not_take_is_refused_by_name() {
        let wrong = read(serde_json::json!({ "kind": "check", "check": "tests", "path": "x" }));
        assert!(wrong.is_err_and(|why| why.contains("path")));
        assert!(read("sorcery:x".into()).is_err_and(|why| why.contains("sorcery")));
    }
}
