//! The words of a text, as they are indexed and looked for: identifiers in parts and whole, lower case, and CJK in
//! pairs of characters. Both sides use the same function, so no query syntax exists that could be wrong.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Longer words are cut to this many bytes.
const MAX_WORD_BYTES: usize = 48;

/// Calls `take` with every word of `text`.
pub fn each(text: &str, mut take: impl FnMut(&str)) {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    for run in text.split(|c: char| !is_part(c)).filter(|run| !run.is_empty()) {
        if run.chars().any(is_cjk) {
            pairs(run, &mut take);
        } else {
            identifier(run, &mut take);
        }
    }
}

/// The words of `text` in order, without repetition.
pub fn distinct(text: &str, most: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    each(text, |word| {
        if words.len() < most && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    });
    words
}

/// Splits `text` into what is given to the index for it.
pub fn columns(text: &str) -> Columns {
    // By hash: two words that share one only count as one.
    let mut seen: HashMap<u64, usize, Mixed> = HashMap::default();
    let (mut all, mut found): (String, Vec<(usize, u32)>) = (String::with_capacity(text.len()), Vec::new());
    let mut total = 0;
    each(text, |word| {
        total += 1;
        let place = *seen.entry(hash(word)).or_insert(found.len());
        match found.get_mut(place) {
            Some((_, times)) => *times += 1,
            None => {
                all.push_str(word);
                all.push(' ');
                found.push((all.len(), 1));
            }
        }
    });
    let mut columns = Columns { total, ..Columns::default() };
    let mut start = 0;
    for (end, times) in found {
        let column = match times {
            1 => 0,
            2 | 3 => 1,
            _ => 2,
        };
        columns.by_times[column].push_str(&all[start..end]);
        start = end;
    }
    columns
}

/// FNV-1a: the same in every process, so that the same file is always indexed alike.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The names of `Columns`, as the index has them, and how often a word in each of them occurs.
pub const COLUMNS: [(&str, f64); 3] = [("once", 1.0), ("twice", 2.4), ("often", 5.0)];

/// The words of a text by how often they occur in it: once, two or three times, more often. A word is in one of the
/// three, so the index has one entry for it and BM25 still knows its weight.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Columns {
    pub by_times: [String; 3],
    /// Words of the text, with repetition.
    pub total: usize,
}

/// Spreads keys that are numbers already.
pub type Mixed = BuildHasherDefault<Mix>;

#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let mixed = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn write_i64(&mut self, key: i64) {
        self.write_u64(key.cast_unsigned());
    }
}

/// Bytes as text; what is not UTF-8 is replaced, always in the same way.
pub fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Whether a word says too little to look for it.
pub fn is_stop_word(word: &str) -> bool {
    const STOP: [&str; 44] = [
        "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "do", "doe", "for", "from", "has",
        "have", "how", "i", "if", "in", "into", "is", "it", "not", "of", "on", "or", "so", "that", "the", "then",
        "thi", "to", "wa", "we", "what", "when", "where", "which", "why", "will", "with", "you",
    ];
    STOP.contains(&word)
}

fn identifier(run: &str, take: &mut impl FnMut(&str)) {
    if run.bytes().all(|byte| byte.is_ascii_lowercase()) {
        // Most words are of this kind.
        return take(stem(cut(run)));
    }
    let (mut whole, mut parts) = (String::new(), 0);
    let mut part = |part: &str| {
        if !part.is_empty() {
            parts += 1;
            if part.len() > 1 {
                take(stem(part));
            }
        }
    };
    if run.is_ascii() {
        ascii_parts(run.as_bytes(), &mut whole, &mut part);
    } else {
        for piece in run.split('_').flat_map(by_case) {
            let lower = lowered(piece);
            whole.push_str(&lower);
            part(&lower);
        }
    }
    match parts {
        0 => {}
        1 if whole.len() == 1 => take(&whole),
        1 => {}
        _ => take(stem(cut(&whole))),
    }
}

/// As `by_case`, for the usual identifiers, and without an allocation for each part.
fn ascii_parts(run: &[u8], whole: &mut String, part: &mut impl FnMut(&str)) {
    let mut from = 0;
    for (at, byte) in run.iter().enumerate() {
        let begins = at > 0 && begins_part(run[at - 1], *byte, run.get(at + 1).copied());
        if *byte == b'_' || begins {
            part(cut(&whole[from..]));
            from = whole.len();
        }
        if *byte != b'_' {
            whole.push(byte.to_ascii_lowercase() as char);
        }
    }
    part(cut(&whole[from..]));
}

fn begins_part(before: u8, byte: u8, after: Option<u8>) -> bool {
    let ends_shout = before.is_ascii_uppercase() && after.is_some_and(|after| after.is_ascii_lowercase());
    let upper = byte.is_ascii_uppercase() && (before.is_ascii_lowercase() || ends_shout);
    before != b'_' && (upper || before.is_ascii_digit() != byte.is_ascii_digit())
}

/// Parts of an identifier: `parseHTTPRequest2` is parse, HTTP, Request, 2.
fn by_case(piece: &str) -> Vec<&str> {
    if piece.is_empty() {
        return Vec::new();
    }
    let characters: Vec<(usize, char)> = piece.char_indices().collect();
    let (mut parts, mut from) = (Vec::new(), 0);
    for (index, pair) in characters.windows(2).enumerate() {
        let ((_, before), (at, after)) = (pair[0], pair[1]);
        let next_is_lower = characters.get(index + 2).is_some_and(|(_, c)| c.is_lowercase());
        let ends_word = after.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_lower));
        if ends_word || before.is_numeric() != after.is_numeric() {
            parts.push(&piece[from..at]);
            from = at;
        }
    }
    parts.push(&piece[from..]);
    parts
}

fn lowered(part: &str) -> String {
    let mut lower = part.to_lowercase();
    lower.truncate(cut(&lower).len());
    lower
}

fn cut(word: &str) -> &str {
    let end = (0..=MAX_WORD_BYTES.min(word.len())).rev().find(|at| word.is_char_boundary(*at)).unwrap_or(0);
    &word[..end]
}

/// Takes a plural's `s` away, so that `tasks` finds `task`.
fn stem(word: &str) -> &str {
    let is_plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
    if is_plural { &word[..word.len() - 1] } else { word }
}

fn pairs(run: &str, take: &mut impl FnMut(&str)) {
    let places: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if places.len() == 2 {
        take(run);
    }
    for window in places.windows(3) {
        take(&run[window[0]..window[2]].to_lowercase());
    }
}

fn is_cjk(c: char) -> bool {
    matches!(c as u32, 0x0e00..=0x0eff | 0x2e80..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_found_in_parts_and_whole() {
        assert_eq!(
            distinct("parseHTTPRequest2(MAX_TASKS, x) größer", 20),
            ["parse", "http", "request", "parsehttprequest2", "max", "task", "maxtask", "x", "größer"]
        );
    }

    #[test]
    fn ascii_identifiers_are_parted_like_all_others() {
        for run in ["parseHTTPRequest2", "_a__B_", "x86_64", "HTTPServer", "aB", "AB", "A1b2", "é", "___", "camelCaseA"]
        {
            let mut parts = Vec::new();
            ascii_parts(run.replace('é', "e").as_bytes(), &mut String::new(), &mut |part: &str| {
                parts.push(part.to_owned())
            });
            parts.retain(|part| !part.is_empty());
            let pieces: Vec<String> =
                run.split('_').flat_map(by_case).map(|part| lowered(part).replace('é', "e")).collect();
            assert_eq!(parts, pieces.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>(), "{run}");
        }
    }

    #[test]
    fn text_without_spaces_is_found_by_pairs() {
        assert_eq!(distinct("読めない a", 9), ["読め", "めな", "ない", "a"]);
    }

    #[test]
    fn a_word_is_indexed_once_by_how_often_it_occurs() {
        let Columns { by_times, total } = columns(&format!("one two two {}", "many ".repeat(9)));
        assert_eq!((by_times, total), (["one ", "two ", "many "].map(str::to_owned), 12));
    }
}
