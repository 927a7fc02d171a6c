//! What an output says about itself, beside its items: taken from a cache, failed.

use super::found::Found;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;

pattern!(
    CACHED,
    r"^ok\s+\S+\s+\(cached\)|(?i)cache hit|full turbo|existing outputs match the cache|read the output from (?:the )?cache|^> task :\S*test\S* (?:up-to-date|from-cache)|\(cached\) passed|\[local cache\]|\[remote cache\]"
);
pattern!(
    FAILED,
    r"(?x)
    ^test\ result:\ FAILED | ^FAILED\ \((?:failures|errors)= | ^BUILD\ FAILED | \bBUILD\ FAILURE\b | ^Build\ FAILED
  | ^\s*Tests:?\s.*\b[1-9]\d*\ failed | ^=*\ ?[1-9]\d*\ (?:failed|errors?)\b.*\ in\ | ^=+\ .*\b[1-9]\d*\ failed\b | ^FAIL\b
  | ^not\ ok\ \d | ^error:\ could\ not\ compile | ^make(?:\[\d+\])?:\ \*\*\* | ^npm\ (?:ERR!|error)
  | \b[1-9]\d*\ problems?\ \([1-9]\d*\ errors? | ^Found\ [1-9]\d*\ errors? | ^\s*[1-9]\d*\ failing\b
  | ^FAILURES!$ | ^fatal:\ | ^Segmentation\ fault | \b[1-9]\d*\ examples?,\ [1-9]\d*\ failures?
  | ^Failed!\s+-\ Failed: | tests\ failed\ out\ of\ [1-9] | ^\#\ fail\ [1-9] | ^ELIFECYCLE | ^error:\ test\ failed"
);

pub fn read(text: &Text<'_>, found: &mut Found) {
    for line in &text.lines {
        let line = line.trim_start_matches(['ℹ', '✖', ' ']);
        found.cached |= has_any(line, &["ache", "TURBO", "UP-TO-DATE"]) && CACHED.is_match(line);
        found.said_failed |= may_fail(line) && FAILED.is_match(line);
    }
}

/// Cheap doors before the patterns: most lines of a long output are neither.
fn may_fail(line: &str) -> bool {
    has_any(line, &["FAIL", "ail", "rror", "not ok", "***", "ERR", "atal", "fault", "problem", "ELIFE"])
}

pub fn has_any(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.contains(word))
}
