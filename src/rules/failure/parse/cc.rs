//! What a linker and `make` itself say; compilers of C speak as `diagnostics` reads.

use super::found::{Draft, Found};
use crate::domain::failure::Kind;
use crate::rules::failure::mask::{pattern, volatile};
use crate::rules::failure::text::Text;

pattern!(UNDEFINED, r"undefined (?:reference to|symbol:?) [`'\x22]?([^`'\x22]+)");
pattern!(
    OTHER,
    r"(?:ld|ld\.lld|lld|ld\.gold|mold)(?:\.exe)?: (?:error: )?((?:cannot find|unable to find|library not found|multiple definition|duplicate symbol|symbol\(s\) not found).*)$"
);

pattern!(NO_RULE, r"^g?make(?:\[\d+\])?: \*\*\* (No rule to make target .+?|.+: Permission denied)(?:\.\s+Stop)?\.?$");

pub fn read(text: &Text<'_>, found: &mut Found) {
    for (at, line) in text
        .open()
        .filter(|(_, line)| ["ndefined", "ld", "*** "].iter().any(|word| line.contains(word)))
        .collect::<Vec<_>>()
    {
        if let Some(rule) = NO_RULE.captures(line) {
            found.push(Draft::new(Kind::Compiler, "make").cause(volatile(&rule[1])).message(line));
            text.claim(at, at + 1);
            continue;
        }
        if let Some(symbol) = line.contains("undefined ").then(|| UNDEFINED.captures(line)).flatten()
            && (line.contains("ld") || line.contains(": ") || line.contains("reference to"))
            && !line.contains("TypeError")
        {
            found.push(Draft::new(Kind::Compiler, format!("link {}", symbol[1].trim())).message(line));
            text.claim(at, at + 1);
        } else if let Some(other) = OTHER.captures(line) {
            found.push(Draft::new(Kind::Compiler, "link").cause(volatile(&other[1])).message(line));
            text.claim(at, at + 1);
        }
    }
}
