//! Perl's tests under `prove`, which shows the points themselves only when it is asked to.

use super::found::{Draft, Found};
use crate::rules::failure::mask::pattern;
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(FAILED, r"^#\s+Failed test (?:'(.+)')?$");
pattern!(PLACE, r"^#\s+at (.+) line (\d+)\.$");
pattern!(POINT, r"^not ok \d+");

pub fn read(text: &Text<'_>, found: &mut Found) {
    if !text.has("Failed test") {
        return;
    }
    let before = found.len();
    for (at, line) in text.open().collect::<Vec<_>>() {
        let Some(failed) = FAILED.captures(line) else { continue };
        let Some(place) = PLACE.captures(text.line(at + 1)) else { continue };
        let file = path::stable(&place[1]);
        let name = failed.get(1).map_or("unnamed", |name| name.as_str());
        found.push(Draft::test(format!("{file} > {name}")).at(file, place[2].parse().ok()).message(line));
        text.claim(at, at + 2);
    }
    if found.len() > before {
        // The points say the same again, without the file.
        text.open().filter(|(_, line)| POINT.is_match(line)).for_each(|(at, _)| text.claim(at, at + 1));
    }
}
