//! How every event is spelled, kept for good: a ledger written today must read in ten years.
//!
//! `tests/golden/events/<type>.v<N>.json` holds the bodies of version N. They are never edited. A changed event gets a
//! new version, a lift, and a new file beside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use kctl::domain::event::{Event, current_version};
use serde_json::Value;
use serde_json::value::RawValue;

use super::samples;

fn dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/events")
}

/// Bodies by type, spelled as they are today.
fn spelled() -> BTreeMap<String, Vec<String>> {
    let mut bodies: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in samples::all() {
        let spelled = event.spell();
        bodies.entry(spelled.type_name).or_default().push(String::from_utf8(spelled.body).expect("JSON is UTF-8"));
    }
    bodies
}

/// The golden files: type, version, and the bodies as they stand, byte for byte.
fn golden() -> Result<Vec<(String, u32, Vec<String>)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir())? {
        let name = entry?.file_name().into_string().expect("golden files have plain names");
        let stem = name.strip_suffix(".json").with_context(|| format!("`{name}` is no golden file"))?;
        let (type_name, version) = stem.rsplit_once(".v").with_context(|| format!("`{name}` names no version"))?;
        let text = std::fs::read_to_string(dir().join(&name))?;
        let bodies: Vec<Box<RawValue>> = serde_json::from_str(&text)?;
        let bodies = bodies.into_iter().map(|body| body.get().to_owned()).collect();
        files.push((type_name.to_owned(), version.parse()?, bodies));
    }
    Ok(files)
}

/// Every type of every family, as the schema has it.
fn types_in_the_schema() -> BTreeSet<String> {
    let schema = schemars::schema_for!(Event);
    let mut types = BTreeSet::new();
    visit(schema.as_value(), &mut |value| {
        if let Some(name) = value.pointer("/properties/type/const").and_then(Value::as_str)
            && value.pointer("/properties/body").is_some()
        {
            types.insert(name.to_owned());
        }
    });
    types
}

/// Every word of every closed set in the schema: the values of enums, and tags.
fn words_in_the_schema() -> BTreeSet<String> {
    let schema = schemars::schema_for!(Event);
    let mut words = BTreeSet::new();
    visit(schema.as_value(), &mut |value| {
        words.extend(value["const"].as_str().map(str::to_owned));
        let listed = value["enum"].as_array().into_iter().flatten();
        words.extend(listed.filter_map(Value::as_str).map(str::to_owned));
    });
    words
}

fn visit(value: &Value, see: &mut impl FnMut(&Value)) {
    see(value);
    match value {
        Value::Object(members) => members.values().for_each(|member| visit(member, see)),
        Value::Array(items) => items.iter().for_each(|item| visit(item, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_type_of_event_has_a_sample_and_a_golden_file_of_every_version() -> Result<()> {
    let types = types_in_the_schema();
    assert!(types.len() >= 30, "the schema tells its types: {types:?}");
    assert_eq!(spelled().into_keys().collect::<BTreeSet<_>>(), types, "`samples` and the enums name the same types");
    let mut missing = Vec::new();
    for (type_name, bodies) in spelled() {
        let current = current_version(&type_name);
        for version in 1..=current {
            let path = dir().join(format!("{type_name}.v{version}.json"));
            if !path.exists() {
                missing.push(path.file_name().map(std::ffi::OsStr::to_owned));
            }
            if !path.exists() && version == current {
                std::fs::write(&path, format!("[\n{}\n]\n", bodies.join(",\n")))?;
            }
        }
    }
    ensure!(
        missing.is_empty(),
        "these were missing; current ones are written now, look at them and commit: {missing:?}"
    );
    Ok(())
}

#[test]
fn every_body_ever_written_still_reads() -> Result<()> {
    let files = golden()?;
    assert!(!files.is_empty());
    for (type_name, version, bodies) in files {
        assert!(!bodies.is_empty(), "{type_name}.v{version}");
        for body in bodies {
            let read = Event::read(&type_name, version, body.as_bytes());
            let event = read.with_context(|| format!("{type_name}.v{version}: {body}"))?;
            assert_eq!(event.type_name(), type_name);
        }
    }
    Ok(())
}

#[test]
fn the_spelling_of_a_version_never_changes() -> Result<()> {
    let today = spelled();
    for (type_name, version, bodies) in golden()? {
        if version != current_version(&type_name) {
            continue;
        }
        let words = format!("the spelling of `{type_name}` changed: give it a new version and a lift");
        assert_eq!(today.get(&type_name), Some(&bodies), "{words}");
        for body in &bodies {
            let event = Event::read(&type_name, version, body.as_bytes())?;
            assert_eq!(String::from_utf8(event.spell().body)?, *body, "{words}");
        }
    }
    Ok(())
}

#[test]
fn every_word_that_an_event_can_hold_is_in_a_golden_file() -> Result<()> {
    let mut seen = types_in_the_schema();
    for (_, _, bodies) in golden()? {
        for body in bodies {
            visit(&serde_json::from_str(&body)?, &mut |value| seen.extend(value.as_str().map(str::to_owned)));
        }
    }
    let unseen: Vec<_> = words_in_the_schema().into_iter().filter(|word| !seen.contains(word)).collect();
    assert_eq!(unseen, [""; 0], "add a sample that holds it, with a new version of its event");
    Ok(())
}
