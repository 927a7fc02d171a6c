//! What an operation's JSON Schema asks for, as the command line can ask for it.
//!
//! The schemas are those of schemars (draft 2020-12, subschemas inline). What has no shape here is taken as JSON text, so
//! that every operation can be called from the command line, and what is wrong is still found by the operation itself.

use serde_json::{Map, Value, json};

/// How far `$ref`, `oneOf` and their kin are followed.
const MAX_SCHEMA_DEPTH: usize = 8;

/// One parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Param {
    /// The member's name on the wire: `max_runs`.
    pub(super) name: String,
    /// Its flag without the dashes: `max-runs`.
    pub(super) flag: String,
    pub(super) kind: Kind,
    /// Whether it is an array, given by repeating the flag.
    pub(super) list: bool,
    pub(super) required: bool,
    /// Whether leaving it out differs from `false`, for a switch.
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    pub(super) help: String,
    /// Whether it is a point in time.
    pub(super) time: bool,
}

impl Param {
    /// What stands for the value in help.
    pub(super) fn value_name(&self) -> String {
        match self.kind {
            Kind::Text if self.time => "TIME".to_owned(),
            Kind::Integer => "N".to_owned(),
            Kind::Number => "NUMBER".to_owned(),
            Kind::Json => "JSON|@FILE".to_owned(),
            Kind::File => "FILE".to_owned(),
            Kind::TextOrJson => "TEXT|JSON|@FILE".to_owned(),
            Kind::Text | Kind::Switch | Kind::Choice(_) | Kind::TextOrInteger => {
                self.flag.replace('-', "_").to_uppercase()
            }
        }
    }

    /// The flag as it is typed: `--max-runs`.
    pub(super) fn dashed(&self) -> String {
        format!("--{}", self.flag)
    }
}

/// What one word of the command line becomes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Text,
    Integer,
    Number,
    /// A boolean: no value, `--x` or `--no-x`.
    Switch,
    /// One of these texts.
    Choice(Vec<String>),
    /// A whole number if it reads as one, otherwise a text.
    TextOrInteger,
    /// JSON if it starts with `{` or `"`, a file of it after `@`, otherwise a text.
    TextOrJson,
    /// JSON text, or a file of it after `@`, or standard input for `-`.
    Json,
    /// A long text: the name of the file that holds it, or `-` for standard input.
    File,
}

#[derive(Clone, Debug, PartialEq)]
struct Shape {
    kind: Kind,
    list: bool,
    nullable: bool,
}

impl Shape {
    const fn one(kind: Kind) -> Self {
        Self { kind, list: false, nullable: false }
    }
}

/// The parameters that `schema`, the schema of an object, has; required ones first, otherwise in its order.
pub(super) fn params(schema: &Value) -> Vec<Param> {
    let schemas = Schemas { root: schema };
    let mut found = Vec::new();
    schemas.collect(schema, true, 0, &mut found);
    let mut params: Vec<Param> = found.iter().map(|member| schemas.param(member)).collect();
    params.sort_by_key(|param| !param.required);
    params
}

/// A member of the object, with every schema that some branch gives it.
struct Member<'s> {
    name: &'s str,
    schemas: Vec<&'s Value>,
    required: bool,
}

struct Schemas<'s> {
    root: &'s Value,
}

impl<'s> Schemas<'s> {
    /// Gathers members from `schema` and its branches. A member of only some branches is not required.
    fn collect(&self, schema: &'s Value, all: bool, depth: usize, found: &mut Vec<Member<'s>>) {
        if depth > MAX_SCHEMA_DEPTH {
            return;
        }
        let schema = self.resolved(schema);
        let required: Vec<&str> = list(schema, "required").iter().filter_map(Value::as_str).collect();
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let required = all && required.contains(&name.as_str());
            match found.iter_mut().find(|other| other.name == name) {
                Some(other) => other.schemas.push(member),
                None => found.push(Member { name, schemas: vec![member], required }),
            }
        }
        for branch in list(schema, "allOf") {
            self.collect(branch, all, depth + 1, found);
        }
        let branches = branches(schema);
        let mut apart: Vec<Member<'s>> = Vec::new();
        for branch in &branches {
            self.collect(branch, false, depth + 1, &mut apart);
        }
        for mut member in apart {
            let in_all = branches.iter().all(|branch| requires(self.resolved(branch), member.name));
            member.required = all && in_all;
            if !found.iter().any(|other| other.name == member.name) {
                found.push(member);
            }
        }
    }

    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        for _ in 0..MAX_SCHEMA_DEPTH {
            let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
            match target.and_then(|pointer| self.root.pointer(pointer)) {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }

    fn param(&self, member: &Member<'s>) -> Param {
        let shapes: Vec<_> = member.schemas.iter().map(|schema| self.shape(schema, 0)).collect();
        let shape = union(shapes).unwrap_or(Shape::one(Kind::Json));
        let text = |key: &str| member.schemas.iter().find_map(|schema| schema.get(key));
        let help = text("description").and_then(Value::as_str).map(unwrapped).unwrap_or_default();
        let flag = member.name.replace('_', "-").to_lowercase();
        Param {
            // `--help` must stay the way to ask for help.
            flag: if flag == "help" { "help-value".to_owned() } else { flag },
            time: text("format").and_then(Value::as_str) == Some("date-time"),
            default: text("default").filter(|default| !default.is_null()).cloned(),
            name: member.name.to_owned(),
            kind: shape.kind,
            list: shape.list,
            nullable: shape.nullable,
            required: member.required,
            help,
        }
    }

    /// The shape of one value; `None` when only null fits.
    fn shape(&self, schema: &'s Value, depth: usize) -> Option<Shape> {
        let schema = self.resolved(schema);
        let Some(members) = schema.as_object().filter(|_| depth <= MAX_SCHEMA_DEPTH) else {
            return Some(Shape::one(Kind::Json));
        };
        if let Some(only) = members.get("const") {
            return choice(std::slice::from_ref(only));
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            return choice(values);
        }
        let branches = branches(schema);
        if !branches.is_empty() {
            return union(branches.into_iter().map(|branch| self.shape(branch, depth + 1)).collect());
        }
        match members.get("allOf") {
            Some(Value::Array(parts)) if parts.len() == 1 => self.shape(&parts[0], depth + 1),
            _ => self.typed(members, depth),
        }
    }

    fn typed(&self, members: &'s Map<String, Value>, depth: usize) -> Option<Shape> {
        match members.get("type") {
            Some(Value::String(name)) => self.named(name, members, depth),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                union(names.map(|name| self.named(name, members, depth)).collect())
            }
            _ => Some(Shape::one(Kind::Json)),
        }
    }

    fn named(&self, name: &str, members: &'s Map<String, Value>, depth: usize) -> Option<Shape> {
        let kind = match name {
            "null" => return None,
            "string" if members.contains_key("contentMediaType") => Kind::File,
            "string" => Kind::Text,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "boolean" => Kind::Switch,
            "array" => return Some(self.items(members, depth)),
            _ => Kind::Json,
        };
        Some(Shape::one(kind))
    }

    fn items(&self, members: &'s Map<String, Value>, depth: usize) -> Shape {
        let item = members.get("items").and_then(|items| self.shape(items, depth + 1));
        let kind = match item {
            Some(Shape { list: false, kind, .. }) if kind != Kind::Switch => kind,
            _ => Kind::Json,
        };
        Shape { kind, list: true, nullable: false }
    }
}

fn list<'s>(schema: &'s Value, key: &str) -> &'s [Value] {
    schema.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn branches(schema: &Value) -> Vec<&Value> {
    list(schema, "oneOf").iter().chain(list(schema, "anyOf")).collect()
}

fn requires(schema: &Value, name: &str) -> bool {
    list(schema, "required").contains(&json!(name))
}

fn choice(values: &[Value]) -> Option<Shape> {
    let some: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
    let texts: Vec<String> = some.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect();
    let kind = match (some.len(), texts.len()) {
        (0, _) => return None,
        (all, texts) if all != texts => Kind::Json,
        _ => Kind::Choice(texts),
    };
    Some(Shape { kind, list: false, nullable: some.len() < values.len() })
}

/// One shape that takes whatever one of `shapes` takes.
fn union(shapes: Vec<Option<Shape>>) -> Option<Shape> {
    let mut nullable = shapes.contains(&None);
    let mut some = shapes.into_iter().flatten();
    let mut all = some.next()?;
    for shape in some {
        nullable |= shape.nullable;
        all = both(all, shape);
    }
    Some(Shape { nullable: nullable || all.nullable, ..all })
}

fn both(a: Shape, b: Shape) -> Shape {
    use Kind::{Choice, Integer, Json, Number, Text, TextOrInteger, TextOrJson};
    if a.list != b.list && a.kind == b.kind {
        // One or many: many can say one.
        return Shape { list: true, ..a };
    }
    if a.list || b.list {
        let kind = if a == b { a.kind } else { Json };
        return Shape { kind, list: a.list && b.list, nullable: false };
    }
    Shape::one(match (a.kind, b.kind) {
        (a, b) if a == b => a,
        (Choice(mut some), Choice(more)) => {
            let new: Vec<String> = more.into_iter().filter(|text| !some.contains(text)).collect();
            some.extend(new);
            Choice(some)
        }
        (Integer, Number) | (Number, Integer) => Number,
        (Text | Choice(_), Text | Choice(_)) => Text,
        (Text | Choice(_) | TextOrInteger, Integer) | (Integer, Text | Choice(_) | TextOrInteger) => TextOrInteger,
        (Text | Choice(_) | TextOrInteger | TextOrJson, Json)
        | (Json, Text | Choice(_) | TextOrInteger | TextOrJson) => TextOrJson,
        _ => Json,
    })
}

/// Takes out the line ends that a doc comment has inside its paragraphs.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
