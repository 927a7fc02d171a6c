//! `go test -json`: the events of one test become the text that `go test -v` prints, so that both have one reader.

use super::found::Found;
use super::go;
use crate::rules::failure::text::Text;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

pub fn read(text: &Text<'_>, found: &mut Found) {
    if !text.has("\"Action\":\"") {
        return;
    }
    let mut packages: BTreeMap<String, String> = BTreeMap::new();
    for (at, line) in text.open().filter(|(_, line)| line.starts_with('{')).collect::<Vec<_>>() {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let (Some(action), Some(package)) =
            (event["Action"].as_str(), event["Package"].as_str().or(event["ImportPath"].as_str()))
        else {
            continue;
        };
        let lines = packages.entry(package.to_owned()).or_default();
        if let ("output" | "build-output", Some(output)) = (action, event["Output"].as_str()) {
            write!(lines, "{output}").expect("writing to a string cannot fail");
        }
        text.claim(at, at + 1);
    }
    for lines in packages.values() {
        go::read(&Text::new(lines), found);
    }
}
