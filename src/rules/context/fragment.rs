//! Makes fragments: text with its digest and its estimated size.

use std::fmt::Write as _;

use crate::domain::digest::Digest;
use crate::domain::fragment::{FileMap, Fragment, Lines, MapEntry, OnDisk, Passage, Source, Trust};
use crate::domain::path::TreePath;

use super::tokens::estimate;

/// Makes a fragment of `text`.
pub fn of(reference: impl Into<String>, source: Source, trust: Trust, text: impl Into<String>) -> Fragment {
    let text = text.into();
    Fragment {
        r#ref: reference.into(),
        source,
        trust,
        lines: None,
        digest: Digest::of(text.as_bytes()),
        tokens: estimate(&text),
        score: None,
        labels: Vec::new(),
        text: Some(text),
    }
}

/// Makes a fragment of a passage that was found. It is text of the repository, whatever it says.
pub fn of_passage(passage: &Passage) -> Fragment {
    let Lines { first, last } = passage.lines;
    let reference = format!("{}#L{first}-L{last}", passage.path);
    let mut fragment = of(reference, Source::Passage, Trust::Untrusted, passage.text.as_str());
    fragment.lines = Some(passage.lines);
    fragment.score = Some(passage.score);
    match passage.on_disk {
        OnDisk::Changed => fragment.labels.push("changed_on_disk".to_owned()),
        OnDisk::Missing => fragment.labels.push("missing_on_disk".to_owned()),
        OnDisk::Same | OnDisk::NotCompared => {}
    }
    fragment
}

/// Makes the fragments of a document: one for each heading.
pub fn of_document(path: &str, source: Source, trust: Trust, text: &str) -> Vec<Fragment> {
    let spans = super::fragments::cut(&TreePath::new(path), text);
    let made = spans.into_iter().map(|span| {
        let Lines { first, last } = span.lines;
        let mut fragment = of(format!("{path}#L{first}-L{last}"), source, trust, &text[span.start..span.end]);
        fragment.lines = Some(span.lines);
        fragment
    });
    made.collect()
}

/// Makes the fragments of a file map: the top level, and the neighbours of the touched paths. Names of files are the
/// repository's text too.
pub fn of_map(map: &FileMap) -> Vec<Fragment> {
    let parts = [("file_map/top", &map.top), ("file_map/near", &map.near)];
    let filled = parts.into_iter().filter(|(_, entries)| !entries.is_empty());
    filled.map(|(reference, entries)| of(reference, Source::FileMap, Trust::Untrusted, listing(entries))).collect()
}

fn listing(entries: &[MapEntry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let slash = if entry.directory { "/" } else { "" };
        let count = entry.files.map(|files| format!(" {files}")).unwrap_or_default();
        writeln!(text, "{}{slash}{count}", entry.path).expect("writing to a string cannot fail");
    }
    text
}
