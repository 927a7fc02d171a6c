//! Formatters that were asked to check: black, ruff format, prettier, rustfmt.

use super::diagnostics::lint;
use super::found::Found;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;

pattern!(WOULD, r"^[Ww]ould reformat:? (.+)$");
pattern!(PRETTIER, r"^\[warn\] (\S+\.\w+)$");
pattern!(RUSTFMT, r"^Diff in (.+?\.rs)(?::| at line )(\d+):?$");

pub fn read(text: &Text<'_>, found: &mut Found) {
    let prettier = text.has("Prettier") || text.has("Checking formatting");
    for (at, line) in text.open().collect::<Vec<_>>() {
        let file = WOULD
            .captures(line)
            .or_else(|| RUSTFMT.captures(line))
            .or_else(|| PRETTIER.captures(line).filter(|_| prettier));
        if let Some(file) = file {
            found.push(lint("format", "not formatted", &file[1], None));
            text.claim(at, at + 1);
        }
    }
}
