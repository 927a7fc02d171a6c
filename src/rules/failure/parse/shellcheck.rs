//! shellcheck's own format: messages under the line that they point into.

use super::diagnostics::severity;
use super::found::Found;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;

pattern!(PLACE, r"^In (.+) line (\d+):$");
pattern!(MESSAGE, r"^\s*\^-*\^? (SC\d{4}) \((error|warning|info|style)\): (.+)$");

pub fn read(text: &Text<'_>, found: &mut Found) {
    if !text.has(" SC") {
        return;
    }
    let mut place = None;
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(next) = PLACE.captures(line) {
            place = Some((next[1].to_owned(), next[2].parse().ok()));
        } else if let Some(message) = MESSAGE.captures(line)
            && let Some((file, number)) = &place
        {
            found.push(severity(&message[2], &message[1], &message[3], file, *number));
            text.claim(at, at + 1);
        }
    }
}
