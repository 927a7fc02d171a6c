//! `ops.list` and `ops.describe`: what there is to call. They need no repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::effect::{Custody, Effect};
use crate::domain::refusal::{Code, Refusal};
use crate::ops::call::{Call, List};
use crate::ops::op::{Needs, Op};
use crate::ops::registry;
use crate::ops::waist::RESERVED;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    name: &'static str,
    about: &'static str,
    effect: Effect,
    custody: Custody,
}

pub struct ListOps;

impl Op for ListOps {
    const NAME: &'static str = "ops.list";
    const ABOUT: &'static str = "List every operation";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const NEEDS: Needs = Needs::Nothing;
    const COLUMNS: &'static [&'static str] = &["name", "effect", "custody", "about"];
    type In = NoParams;
    type Out = List<Line>;

    fn run(_: &mut Call<'_>, _: NoParams) -> Result<List<Line>, Refusal> {
        let line = |entry: &'static crate::ops::op::Entry| {
            let info = &entry.info;
            Line { name: info.name, about: info.about, effect: info.effect, custody: info.custody }
        };
        Ok(List { items: registry::OPS.iter().map(line).collect() })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The operation's name, such as `task.claim`
    name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Example {
    command: &'static str,
    what: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Described {
    name: &'static str,
    about: &'static str,
    effect: Effect,
    custody: Custody,
    /// The words that call it on the command line.
    command: String,
    /// The parameters, for people.
    parameters: Vec<Parameter>,
    /// What they cannot say in a line.
    help: &'static str,
    /// JSON Schema of the parameters.
    input: Value,
    /// JSON Schema of the answer's `data`.
    output: Value,
    /// Members that the parameters of every operation may carry as well.
    envelope: [&'static str; 4],
    examples: Vec<Example>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Parameter {
    name: String,
    required: bool,
    kind: String,
    about: String,
}

/// The members that `schema` asks for.
fn parameters(schema: &Value) -> Vec<Parameter> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = schema["properties"].as_object().into_iter().flatten();
    let parameter = |(name, member): (&String, &Value)| Parameter {
        name: name.clone(),
        required: required.contains(&name.as_str()),
        kind: kind(member),
        about: member["description"].as_str().unwrap_or_default().to_owned(),
    };
    members.map(parameter).collect()
}

/// A schema's type in a few words.
pub fn kind(schema: &Value) -> String {
    if let Some(all) = schema["enum"].as_array() {
        let names = all.iter().filter_map(Value::as_str).map(|name| format!("`{name}`"));
        return names.collect::<Vec<_>>().join(" ");
    }
    if let Some(branches) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let mut kinds: Vec<String> = branches.iter().map(kind).filter(|kind| kind != "null").collect();
        kinds.dedup();
        return kinds.join(" or ");
    }
    if let Some(only) = schema["const"].as_str() {
        return format!("`{only}`");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    }
}

pub struct DescribeOp;

impl Op for DescribeOp {
    const NAME: &'static str = "ops.describe";
    const ABOUT: &'static str = "Describe one operation: parameters, answer, effect, custody, examples";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const NEEDS: Needs = Needs::Nothing;
    const POSITIONAL: &'static [&'static str] = &["name"];
    const HIDDEN: &'static [&'static str] = &["input", "output", "envelope"];
    const TEXTS: &'static [&'static str] = &["help"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl ops describe task.claim --json", "with the JSON Schemas")];
    type In = In;
    type Out = Described;

    fn run(_: &mut Call<'_>, input: In) -> Result<Described, Refusal> {
        let Some(entry) = registry::find(&input.name) else {
            return Err(Refusal::new(Code::NOT_FOUND, format!("no operation is called `{}`", input.name))
                .with("field", "name")
                .with("near", registry::near(&input.name))
                .next("ops.list", "lists every operation", json!({})));
        };
        let info = &entry.info;
        Ok(Described {
            name: info.name,
            about: info.about,
            effect: info.effect,
            custody: info.custody,
            command: info.command(),
            parameters: parameters(&(info.input_schema)()),
            help: info.help,
            input: (info.input_schema)(),
            output: (info.output_schema)(),
            envelope: RESERVED,
            examples: info.examples.iter().map(|(command, what)| Example { command, what }).collect(),
        })
    }
}
