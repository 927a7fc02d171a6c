//! Criteria as they are given: an object, or a short text such as `tests=check:tests`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use crate::domain::contract::{Constraint, Criterion, CriterionId, Proof};
use crate::domain::refusal::{Code, Refusal};

/// How criteria are written, with a text and an object of each kind, for people. A test reads every one of them, and asks
/// the domain for its kinds.
pub const HELP: &str = r#"Criteria are written `[ID=]KIND:ARGUMENT`; without ID= they are numbered AC-1, AC-2, …
  check:test                     the declared check `test` passes
    {"kind":"check","check":"test"}
  file_exists:README.md          the file is there
    {"kind":"file_exists","path":"README.md"}
  file_absent:TODO.md            the file is not there
    {"kind":"file_absent","path":"TODO.md"}
  file_contains:README.md:Usage  the file holds this text; `pattern` for `text`: it matches that
    {"kind":"file_contains","path":"README.md","text":"Usage"}
  json_valid:package.json        the file is JSON; with `"comments":true` comments are let through
    {"kind":"json_valid","path":"package.json"}
  toml_valid:Cargo.toml          the file is TOML
    {"kind":"toml_valid","path":"Cargo.toml"}
  yaml_valid:ci.yml              the file is YAML
    {"kind":"yaml_valid","path":"ci.yml"}
  parses:src/main.py             the file parses as what its name says it is
    {"kind":"parses","path":"src/main.py"}
  search_none:FIXME              no file, or none among `paths`, holds a line that matches this pattern
    {"kind":"search_none","pattern":"FIXME","paths":[]}
  diff_scope:src/**,tests/**     nothing outside of these globs was changed, and at most `max_files`
    {"kind":"diff_scope","paths":["src/**","tests/**"]}
  citation:docs/a.md             each of these was read: `kctl criterion cite`
    {"kind":"citation","sources":["docs/a.md"]}
  receipt:ci                     this signer of the base signed that it holds: `kctl criterion receipt`
    {"kind":"receipt","signer":"ci"}
  attested:'Is it readable?'     a person says yes: `kctl criterion attest`
    {"kind":"attested","question":"Is it readable?"}
  judgement:'Is it clear?'       a model or a reviewer says so: `kctl criterion judge`
    {"kind":"judgement","question":"Is it clear?"}
An object may have `id`, `statement` and `"required":false` as well"#;

/// A criterion as a caller writes it. Without an id it is numbered; without a statement it says what it checks.
#[derive(Clone, Debug)]
pub struct CriterionInput {
    id: Option<CriterionId>,
    statement: Option<String>,
    required: bool,
    proof: Proof,
}

impl CriterionInput {
    /// The criterion under an id that is there already; one of its own must be the same.
    ///
    /// # Errors
    /// `INVALID_VALUE` for another id.
    pub fn called(self, id: &CriterionId) -> Result<Criterion, Refusal> {
        match &self.id {
            Some(own) if own != id => {
                Err(Refusal::invalid("to.id", format!("a criterion keeps its id: `{id}`, not `{own}`")))
            }
            _ => Self { id: Some(id.clone()), ..self }.named(0),
        }
    }

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

/// The same beside criteria that stand already: numbers that are taken are passed over.
///
/// # Errors
/// Never for criteria that were read.
pub fn named_beside(inputs: Vec<CriterionInput>, standing: &[Criterion]) -> Result<Vec<Criterion>, Refusal> {
    let mut number = standing.len();
    inputs
        .into_iter()
        .map(|input| {
            number += 1;
            while standing.iter().any(|one| one.id.as_str() == format!("AC-{number}")) {
                number += 1;
            }
            input.named(number)
        })
        .collect()
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
        Proof::DiffScope { paths, max_files: None } => format!("only {} changed", paths.join(", ")),
        Proof::DiffScope { paths, max_files: Some(max) } => {
            format!("only {} changed, in at most {max} files", paths.join(", "))
        }
        Proof::JsonValid { path, comments: false } => format!("`{path}` is JSON"),
        Proof::JsonValid { path, comments: true } => format!("`{path}` is JSON, comments let through"),
        Proof::TomlValid { path } => format!("`{path}` is TOML"),
        Proof::YamlValid { path } => format!("`{path}` is YAML"),
        Proof::Parses { path } => format!("`{path}` parses"),
        Proof::Citation { sources } => format!("{} is cited", sources.join(", ")),
        Proof::Receipt { signer: Some(signer) } => format!("`{signer}` signed that it holds"),
        Proof::Receipt { signer: None } => "a signer of the base signed that it holds".to_owned(),
        Proof::Attested { question } => question.clone().unwrap_or_else(|| "a person attests that it holds".to_owned()),
        Proof::Judgement { question } => question.clone().unwrap_or_else(|| "somebody judges that it holds".to_owned()),
    }
}

/// Every kind, as it is spelled.
const KINDS: [&str; 14] = [
    "check",
    "file_exists",
    "file_absent",
    "file_contains",
    "json_valid",
    "toml_valid",
    "yaml_valid",
    "parses",
    "search_none",
    "diff_scope",
    "citation",
    "receipt",
    "attested",
    "judgement",
];

fn short(text: &str) -> Result<CriterionInput, String> {
    let (id, rest) = match text.split_once('=') {
        Some((id, rest)) if !id.contains(':') => (Some(id.parse::<CriterionId>()?), rest),
        _ => (None, text),
    };
    let parted = rest.split_once(':');
    let (kind, argument) = parted.unwrap_or((rest, ""));
    // Written with nothing behind the colon it is empty, and is refused for that.
    let given = || parted.map(|_| argument.to_owned());
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
        "diff_scope" => Proof::DiffScope { paths: list(), max_files: None },
        "json_valid" => Proof::JsonValid { path: argument.to_owned(), comments: false },
        "toml_valid" => Proof::TomlValid { path: argument.to_owned() },
        "yaml_valid" => Proof::YamlValid { path: argument.to_owned() },
        "parses" => Proof::Parses { path: argument.to_owned() },
        "citation" => Proof::Citation { sources: list() },
        "receipt" => Proof::Receipt { signer: given() },
        "attested" => Proof::Attested { question: given() },
        "judgement" => Proof::Judgement { question: given() },
        _ => return Err(format!("`{kind}` is not a kind of criterion: {}", KINDS.join(", "))),
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
                `file_contains:PATH:TEXT`, `parses:PATH` (also `json_valid`, `toml_valid`, `yaml_valid`), `search_none:PATTERN`, \
                `diff_scope:src/**,tests/**`, `citation:docs/a.md,https://…`, `receipt:SIGNER`, `attested:QUESTION`, \
                `judgement:QUESTION`; or an object with `kind` and that kind's members",
            "oneOf": [
                { "type": "string", "minLength": 1 },
                {
                    "type": "object",
                    "required": ["kind"],
                    "properties": {
                        "id": { "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$" },
                        "statement": { "type": "string" },
                        "required": { "type": "boolean", "default": true },
                        "kind": { "enum": KINDS },
                        "check": { "type": "string" },
                        "path": { "type": "string" },
                        "text": { "type": "string" },
                        "pattern": { "type": "string" },
                        "paths": { "type": "array", "items": { "type": "string" } },
                        "comments": { "type": "boolean" },
                        "sources": { "type": "array", "items": { "type": "string" } },
                        "signer": { "type": "string" },
                        "question": { "type": "string" }
                    },
                    "additionalProperties": false
                }
            ]
        })
    }
}

/// A limit on how the work is done as a caller writes it: a text, or an object that names what holds it.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum ConstraintInput {
    Text(String),
    Enforced {
        text: String,
        /// A criterion's id, `check:NAME` or `gate:NAME`
        enforced_by: String,
    },
}

impl<'de> Deserialize<'de> for ConstraintInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// What an object holds; what it does not take is refused by name.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Object {
            text: String,
            enforced_by: String,
        }
        struct Reader;
        impl<'de> de::Visitor<'de> for Reader {
            type Value = ConstraintInput;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a constraint: a text, or an object with `text` and `enforced_by`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ConstraintInput, E> {
                Ok(ConstraintInput::Text(text.to_owned()))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<ConstraintInput, A::Error> {
                let Object { text, enforced_by } = Object::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(ConstraintInput::Enforced { text, enforced_by })
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl ConstraintInput {
    pub fn all(inputs: Vec<Self>) -> Vec<Constraint> {
        let one = |input| match input {
            Self::Text(text) => Constraint { text, enforced_by: None },
            Self::Enforced { text, enforced_by } => Constraint { text, enforced_by: Some(enforced_by) },
        };
        inputs.into_iter().map(one).collect()
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

    /// The kinds that the domain has, by the schema that is derived from it.
    fn kinds_of_the_domain() -> Vec<String> {
        let schema = serde_json::to_value(schemars::schema_for!(Proof)).expect("a schema is JSON");
        let variants = schema["oneOf"].as_array().expect("one schema for each kind");
        variants.iter().map(|one| one["properties"]["kind"]["const"].as_str().expect("a kind").to_owned()).collect()
    }

    #[test]
    fn the_help_has_a_text_and_an_object_of_every_kind_and_both_read_the_same() {
        let examples: Vec<&str> = HELP.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        let mut kinds = Vec::new();
        for pair in examples.chunks(2) {
            let text = pair[0].split("  ").next().unwrap_or_default().trim().replace('\'', "");
            let short = read(text.clone().into()).unwrap_or_else(|why| panic!("{text}: {why}"));
            let object = serde_json::from_str(pair[1]).unwrap_or_else(|why| panic!("{}: {why}", pair[1]));
            assert_eq!(Ok(&short), read(object).as_ref(), "{text}");
            kinds.push(short.proof.kind());
        }
        assert_eq!(kinds, kinds_of_the_domain());
    }

    #[test]
    fn every_kind_of_the_domain_is_known_by_name() {
        assert_eq!(KINDS.to_vec(), kinds_of_the_domain());
    }

    #[test]
    fn what_a_kind_does_not_take_is_refused_by_name() {
        let wrong = read(serde_json::json!({ "kind": "check", "check": "tests", "path": "x" }));
        assert!(wrong.is_err_and(|why| why.contains("path")));
        assert!(read("sorcery:x".into()).is_err_and(|why| why.contains("sorcery")));
    }
}
