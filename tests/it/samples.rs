//! Parameters that fit an operation's schema, made from the schema.

use kctl::ops::registry;
use serde_json::{Map, Value, json};

/// Parameters of `op` with every required member, and no other.
pub fn params_of(op: &str) -> Value {
    let entry = registry::find(op).unwrap_or_else(|| panic!("no operation is called {op}"));
    Value::Object(filled(&(entry.info.input_schema)()))
}

/// Values that fit `schema`, for every required member.
pub fn filled(schema: &Value) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    required.map(|name| (name.to_owned(), sample(&schema["properties"][name]))).collect()
}

fn sample(schema: &Value) -> Value {
    if let Some(Value::Array(all)) = schema.get("enum") {
        return all[0].clone();
    }
    if let Some(Value::Array(branches)) = schema.get("oneOf").or(schema.get("anyOf")) {
        return sample(&branches[0]);
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    match schema["type"].as_str() {
        Some("string") => match schema["pattern"].as_str() {
            Some(pattern) if pattern.starts_with("^t-") => json!("t-0"),
            Some(pattern) if pattern.starts_with("^f-") => json!("f-0"),
            Some(pattern) if pattern.starts_with("^c-") => json!("c-0"),
            Some(pattern) if pattern.starts_with("^e-") => json!("e-0"),
            _ => json!("x"),
        },
        Some("array") => json!([]),
        Some("object") => Value::Object(filled(schema)),
        Some("integer") => json!(1),
        Some("boolean") => json!(true),
        other => panic!("no sample of {other:?}: {schema:#}"),
    }
}
