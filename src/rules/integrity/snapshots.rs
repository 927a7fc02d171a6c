//! Recorded expectations: what the tests compare with.

use std::collections::{BTreeMap, BTreeSet};

use globset::GlobSet;

use super::model::{Change, Finding, Kind, Severity};
use super::paths::{base, has_dir};

const DIRS: [&str; 6] = ["__snapshots__", "golden", "goldens", "__image_snapshots__", "goldenfiles", "golden_files"];
const ENDS: [&str; 7] = [".snap", ".golden", ".ambr", ".approved.txt", ".approved.json", ".snap.new", ".approved.md"];
const UNDER_TESTS: [&str; 4] = ["snapshots", "expected", "golden", "baselines"];

fn is_snapshot(path: &str, extra: &GlobSet) -> bool {
    let name = base(path);
    let code = super::paths::language_of(path).is_some();
    let in_tests =
        has_dir(path, &["test", "tests", "testdata", "spec", "__tests__", "resources"]) && has_dir(path, &UNDER_TESTS);
    let playwright = path.split('/').any(|part| part.ends_with("-snapshots"));
    extra.is_match(path)
        || ENDS.iter().any(|end| name.ends_with(end))
        || has_dir(path, &DIRS) && !code
        || (in_tests || playwright) && !code
}

pub(super) fn findings(changes: &[Change<'_>], extra: &GlobSet, out: &mut Vec<Finding>) {
    let of = |path: &Option<String>| path.as_deref().is_some_and(|path| is_snapshot(path, extra));
    let mut added: Vec<&[u8]> = Vec::new();
    for change in changes.iter().filter(|change| of(&change.new_path) && change.old.is_none()) {
        added.extend(change.new);
    }
    let mut entries_elsewhere: BTreeSet<String> = BTreeSet::new();
    for change in changes.iter().filter(|change| of(&change.new_path)) {
        entries_elsewhere.extend(entries(change.new.unwrap_or_default()).into_values());
    }
    for change in changes.iter().filter(|change| of(&change.old_path)) {
        let path = change.new_path.clone().or_else(|| change.old_path.clone()).unwrap_or_default();
        let (Some(old), new) = (change.old, change.new) else { continue };
        let finding = |severity, kind, before: String, after: String, message: &str| Finding {
            severity,
            kind,
            path: path.clone(),
            line: None,
            test: None,
            before: Some(before),
            after: Some(after),
            message: message.to_owned(),
        };
        let moved_out = new.is_some() && !of(&change.new_path);
        match new {
            Some(new) if !moved_out => {
                let (before, after) = (entries(old), entries(new));
                let gone = before.values().filter(|body| !entries_elsewhere.contains(*body)).count();
                if gone > 0 {
                    let counts = (format!("{} entries", before.len()), format!("{} entries", after.len()));
                    let message = format!("{gone} recorded expectations changed or are gone");
                    out.push(finding(Severity::Hold, Kind::SnapshotChanged, counts.0, counts.1, &message));
                } else if before != after {
                    out.push(finding(
                        Severity::Note,
                        Kind::SnapshotChanged,
                        format!("{} entries", before.len()),
                        format!("{} entries", after.len()),
                        "recorded expectations were added or renamed",
                    ));
                }
            }
            _ if path.ends_with(".snap.new") => {}
            _ => {
                let kept = added.contains(&old) || entries(old).values().all(|body| entries_elsewhere.contains(body));
                if !kept {
                    out.push(finding(
                        Severity::Hold,
                        Kind::SnapshotDeleted,
                        "recorded".to_owned(),
                        "gone".to_owned(),
                        "a recorded expectation is gone",
                    ));
                }
            }
        }
    }
}

/// The entries of a snapshot file by name: jest's `exports[…]`, or the whole file without insta's own header.
fn entries(bytes: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let mut out = BTreeMap::new();
    if !text.contains("\nexports[") && !text.starts_with("exports[") {
        let body = text
            .strip_prefix("---\n")
            .and_then(|rest| rest.split_once("\n---\n"))
            .map_or(text.as_str(), |(_, body)| body);
        out.insert(String::new(), body.trim_end().to_owned());
        return out;
    }
    let (mut name, mut body) = (String::new(), String::new());
    for line in text.lines() {
        if let Some((key, value)) = line.strip_prefix("exports[").and_then(|rest| rest.split_once("] = ")) {
            keep(&mut out, &mut name, &mut body);
            name = key.to_owned();
            body = value.to_owned();
        } else {
            body.push('\n');
            body.push_str(line);
        }
    }
    keep(&mut out, &mut name, &mut body);
    out
}

fn keep(out: &mut BTreeMap<String, String>, name: &mut String, body: &mut String) {
    if !name.is_empty() {
        out.insert(std::mem::take(name), body.trim_end().to_owned());
    }
    body.clear();
}
