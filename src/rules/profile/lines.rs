//! Where the keys of a TOML text stand.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A parsed text that can say on which line a key stands, and which key stands at a place.
pub struct Lines<'t> {
    text: &'t str,
    table: Spanned<DeTable<'t>>,
}

impl<'t> Lines<'t> {
    pub fn parse(text: &'t str) -> Result<Self, toml::de::Error> {
        Ok(Self { text, table: DeTable::parse(text)? })
    }

    pub fn table(&self) -> &DeTable<'t> {
        self.table.get_ref()
    }

    /// The line of the key at `path`, or of its nearest ancestor that is written down.
    pub fn of(&self, path: &[&str]) -> usize {
        let (mut table, mut offset) = (self.table.get_ref(), 0);
        for part in path {
            let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == part) else { break };
            offset = key.span().start;
            let DeValue::Table(inner) = value.get_ref() else { break };
            table = inner;
        }
        line_at(self.text, offset)
    }

    /// The dotted key whose name or value covers `span`, and its line.
    pub fn at(&self, span: Option<Range<usize>>) -> (String, usize) {
        let offset = span.map_or(0, |span| span.start);
        let mut path = Vec::new();
        descend(self.table.get_ref(), offset, &mut path);
        (dotted(&path), line_at(self.text, offset))
    }
}

fn descend<'a>(table: &'a DeTable<'_>, offset: usize, path: &mut Vec<&'a str>) -> bool {
    for (key, value) in table {
        path.push(key.get_ref().as_ref());
        if key.span().contains(&offset) {
            return true;
        }
        // A table's members come first: their spans may lie outside that of its header.
        if let DeValue::Table(inner) = value.get_ref()
            && descend(inner, offset, path)
        {
            return true;
        }
        if value.span().contains(&offset) {
            return true;
        }
        path.pop();
    }
    false
}

/// Joins the parts of a key as TOML writes them.
pub fn dotted(path: &[&str]) -> String {
    let bare = |part: &&str| {
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if !part.is_empty() && part.bytes().all(legal) { (*part).to_owned() } else { format!("{part:?}") }
    };
    path.iter().map(bare).collect::<Vec<_>>().join(".")
}

/// The line, from 1, of the byte at `offset`.
pub fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}
