//! Texts as a terminal may see them. Titles, paths and git's words are hostile until they have been through here.

use std::fmt::Write as _;

use crate::domain::id::ID_CHARS;
use crate::domain::stamp::Stamp;

/// Whether showing `c` can do more than show: control characters (escape sequences start with one), characters that
/// turn the direction of text, and characters that take no room.
pub(super) fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` on one line, with every hostile character spelled out: `\n`, `\u{1b}`.
pub fn neutral(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !is_hostile(c) {
            out.push(c);
        } else if matches!(c, '\n' | '\r' | '\t') {
            out.extend(c.escape_default());
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

/// Spells hostile characters of JSON text as JSON does, which changes nothing for whoever parses it.
pub(super) fn neutral_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hostile(c) {
            let mut units = [0_u16; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether `text` is a whole id, such as `t-0123456789ab`.
pub(super) fn is_id(text: &str) -> bool {
    let Some((prefix, rest)) = text.split_once('-') else { return false };
    prefix.len() == 1
        && prefix.bytes().all(|byte| byte.is_ascii_lowercase())
        && rest.len() == ID_CHARS
        && rest.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase() && !b"ilou".contains(&byte))
}

/// The point in time that `text` spells in full.
pub(super) fn stamp(text: &str) -> Option<Stamp> {
    let bytes = text.as_bytes();
    let looks = bytes.len() >= 20 && bytes[4] == b'-' && bytes[10] == b'T' && bytes[13] == b':';
    if looks { text.parse().ok() } else { None }
}

/// Members whose names on the wire say little to a person, as people see them.
const LABELS: [(&str, &str); 4] = [
    ("attempts_left", "tries before a person is asked"),
    ("repeat_count", "refused alike before"),
    ("fresh", "reused"),
    ("ran_out", "expired"),
];

/// What a person sees for the name of a member.
pub(super) fn label(name: &str) -> &str {
    LABELS.iter().find(|(member, _)| *member == name).map_or(name, |(_, label)| label)
}

/// How long before or after `now` the point `at` is: `3 min ago`, `in 2 h`.
pub(super) fn relative(at: Stamp, now: Stamp) -> String {
    let (past, future) = (at.seconds_until(now), now.seconds_until(at));
    let seconds = past.max(future);
    // To the nearest: what was said to last an hour is not 59 minutes a moment later.
    let nearest = |unit_s: i64| (seconds + unit_s / 2) / unit_s;
    let length = match seconds {
        0..5 => return "now".to_owned(),
        5..90 => format!("{seconds} s"),
        90..5_400 => format!("{} min", nearest(60)),
        5_400..129_600 => format!("{} h", nearest(3_600)),
        _ => format!("{} days", nearest(86_400)),
    };
    if future > past { format!("in {length}") } else { format!("{length} ago") }
}

/// How many characters of a digest or a commit are enough to tell it from the others here.
const SHORT_HEX_CHARS: usize = 12;

/// The beginning of a whole digest or commit id; any other text as it is.
pub(super) fn shortened(text: &str) -> &str {
    let (hex, whole) = match text.strip_prefix("sha256:") {
        Some(hex) => (hex, 64),
        None => (text, 40),
    };
    let is_whole = hex.len() == whole && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if is_whole { &text[..text.len() - whole + SHORT_HEX_CHARS] } else { text }
}

/// `text` as a value on a line. Unless it is wanted `exact`, times lose their fractions and digests their tails.
pub(super) fn in_short(text: &str, now: Stamp, exact: bool) -> String {
    let Some(at) = stamp(text) else {
        return if exact { neutral(text) } else { neutral(shortened(text)) };
    };
    let told = match text.split_once('.') {
        Some((seconds, rest)) if !exact && rest.ends_with('Z') => format!("{seconds}Z"),
        _ => text.to_owned(),
    };
    format!("{} ({})", neutral(&told), relative(at, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_the_cursor_or_turns_the_text_gets_through() {
        assert_eq!(neutral("a\x1b[2Jb\u{9b}31m\u{202e}c\u{200b}\r\n\t\x7f"), {
            r"a\u{1b}[2Jb\u{9b}31m\u{202e}c\u{200b}\r\n\t\u{7f}"
        });
        assert_eq!(neutral("naïve 🦀 日本 عربى"), "naïve 🦀 日本 عربى");
    }

    #[test]
    fn json_stays_the_same_value_when_it_is_made_harmless() {
        let value = serde_json::json!({"a\u{9b}": "x\u{202e}y\x7f\x1b\u{e0041}é"});
        let text = neutral_json(&value.to_string());
        assert!(!text.chars().any(is_hostile), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("still JSON"), value);
    }

    #[test]
    fn times_are_told_as_people_tell_them() {
        let now = Stamp(1_000_000_000);
        let told = |seconds: i64| relative(Stamp(now.0 - seconds * 1000), now);
        assert_eq!([told(0), told(42), told(180), told(7_300)], ["now", "42 s ago", "3 min ago", "2 h ago"]);
        assert_eq!([told(-60), told(-700_000), told(864_000)], ["in 60 s", "in 8 days", "10 days ago"]);
        assert_eq!([told(-3_599), told(-43_199), told(-2_591_999)], ["in 60 min", "in 12 h", "in 30 days"]);
        assert_eq!([told(89), told(90), told(5_399), told(5_400)], ["89 s ago", "2 min ago", "90 min ago", "2 h ago"]);
    }
}
