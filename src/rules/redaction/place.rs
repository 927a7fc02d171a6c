//! Secrets that are known by where they stand: `password=…`, `Authorization: …`, `--token …`, `https://user:…@`.

use crate::domain::secret::{is_a_password, is_a_secret};

/// How far back from a `=` or `:` its name may begin.
const MAX_NAME_BYTES: usize = 64;
/// How much of a value decides whether it is one. Bounds the cost of a near miss.
const SAMPLE_BYTES: usize = 64;
const MIN_PASSWORD_BYTES: usize = 8;
const MIN_TOKEN_BYTES: usize = 16;
/// Bits per character. English and source code lie about as low as passwords do; digests and keys lie above.
const MIN_PASSWORD_ENTROPY: f64 = 2.5;
const MIN_TOKEN_ENTROPY: f64 = 3.0;
/// How often a token changes between lower case, upper case and digits within a word.
const MIN_TOKEN_TURNS: usize = 3;

/// A value, and where the text begins that makes it one.
pub struct Placed {
    pub context: usize,
    pub start: usize,
    pub end: usize,
}

/// The secret that is assigned by the `=` or `:` at `at`.
pub fn assigned_at(line: &str, at: usize) -> Option<Placed> {
    let bytes = line.as_bytes();
    // `==`, `::`, `!=`, `<=` compare or qualify.
    let next = bytes.get(at + 1).copied();
    if matches!(next, Some(b'=' | b':')) && bytes[at] == next? {
        return None;
    }
    let (context, name) = name_before(line, at)?;
    if name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("proxy-authorization") {
        return credentials(line, at + 1).map(|(start, end)| Placed { context, start, end });
    }
    if !is_a_secret(name) {
        return None;
    }
    let from = if matches!(next, Some(b'=' | b'>')) { at + 2 } else { at + 1 };
    plausible_value(line, from, is_a_password(name)).map(|(start, end)| Placed { context, start, end })
}

/// The secret that follows the flag whose `--` is at `at`, as in `--token abc`. `--token=abc` is an assignment.
pub fn flagged_at(line: &str, at: usize) -> Option<Placed> {
    let bytes = line.as_bytes();
    let length = bytes[at + 2..].iter().take(MAX_NAME_BYTES).position(|byte| !is_name_byte(*byte))?;
    let end_of_name = at + 2 + length;
    let name = &line[at + 2..end_of_name];
    if bytes[end_of_name] != b' ' || !is_a_secret(name) {
        return None;
    }
    plausible_value(line, end_of_name, is_a_password(name)).map(|(start, end)| Placed { context: at, start, end })
}

/// The password of the URL whose `://` is at `at`, or the whole user where it is a token.
pub fn userinfo_at(line: &str, at: usize) -> Option<Placed> {
    let bytes = line.as_bytes();
    let start = at + "://".len();
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace() || matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
    };
    let authority_end = start + bytes[start..].iter().position(ends).unwrap_or(bytes.len() - start);
    let host_at = start + bytes[start..authority_end].iter().rposition(|byte| *byte == b'@')?;
    let colon = bytes[start..host_at].iter().position(|byte| *byte == b':').map(|offset| start + offset);
    let secret_at = colon.map_or(start, |colon| colon + 1);
    let secret = &bytes[secret_at..host_at];
    let is_placeholder = matches!(secret.first(), None | Some(b'$' | b'{' | b'*' | b'['));
    let sample = &secret[..secret.len().min(SAMPLE_BYTES)];
    if is_placeholder || (colon.is_none() && !is_plausible(sample, false)) {
        return None;
    }
    Some(Placed { context: at, start: secret_at, end: host_at })
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// The name that the `=` or `:` at `at` assigns to: `"api_key" :`, `DB_PASSWORD=`, `token :=`.
fn name_before(line: &str, at: usize) -> Option<(usize, &str)> {
    let bytes = line.as_bytes();
    let mut end = at;
    for skipped in [b" ".as_slice(), b"\"'", b"\\"] {
        if end > 0 && skipped.contains(&bytes[end - 1]) {
            end -= 1;
        }
    }
    let length = bytes[..end].iter().rev().take(MAX_NAME_BYTES).take_while(|byte| is_name_byte(**byte)).count();
    (length >= 3).then(|| (end - length, &line[end - length..end]))
}

/// What an `Authorization` header carries after its scheme.
fn credentials(line: &str, from: usize) -> Option<(usize, usize)> {
    const MIN: usize = 6;
    let bytes = line.as_bytes();
    let mut value = Value::after(bytes, from)?;
    let word = value.sample(bytes);
    let is_scheme = word.len() <= 20 && word.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
    let end_of_word = value.start + word.len();
    if is_scheme && bytes.get(end_of_word) == Some(&b' ') {
        value = Value::after(bytes, end_of_word)?;
    }
    let sample = value.sample(bytes);
    let is_placeholder = matches!(sample.first(), Some(b'$' | b'{' | b'<' | b'*' | b'['));
    (sample.len() >= MIN && !is_placeholder).then(|| (value.start, value.end(bytes)))
}

fn plausible_value(line: &str, from: usize, is_password: bool) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let value = Value::after(bytes, from)?;
    is_plausible(value.sample(bytes), is_password).then(|| (value.start, value.end(bytes)))
}

/// A value that starts at or shortly after a sign: in quotes to the closing one, else to where no value goes on.
struct Value {
    start: usize,
    quote: Option<u8>,
    /// The quote itself is escaped, as in JSON within JSON: the next escape ends the value.
    is_escaped: bool,
}

impl Value {
    fn after(bytes: &[u8], from: usize) -> Option<Self> {
        const MAX_SPACES: usize = 4;
        const MAX_ESCAPES: usize = 4;
        let rest = bytes.get(from..)?;
        let spaces = rest.iter().take(MAX_SPACES).take_while(|byte| **byte == b' ').count();
        let escapes = rest[spaces..].iter().take(MAX_ESCAPES).take_while(|byte| **byte == b'\\').count();
        let start = from + spaces + escapes;
        let quote = bytes.get(start).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
        Some(Self { start: if quote.is_some() { start + 1 } else { start }, quote, is_escaped: escapes > 0 })
    }

    /// The first bytes of it. What is decided from them alone keeps a near miss cheap and the whole linear.
    fn sample<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let rest = &bytes[self.start..];
        let rest = &rest[..rest.len().min(SAMPLE_BYTES)];
        &rest[..self.length(rest)]
    }

    fn end(&self, bytes: &[u8]) -> usize {
        self.start + self.length(&bytes[self.start..])
    }

    fn length(&self, rest: &[u8]) -> usize {
        let ends = |byte: &u8| match self.quote {
            Some(quote) => *byte == quote || *byte == b'\n' || (self.is_escaped && *byte == b'\\'),
            None => ends_value(*byte),
        };
        rest.iter().position(ends).unwrap_or(rest.len())
    }
}

/// Whether a value that begins with `sample` can be a secret: no code, path or placeholder, and random enough.
fn is_plausible(sample: &[u8], is_password: bool) -> bool {
    let is_elsewhere = matches!(sample.first(), Some(b'$' | b'%' | b'<' | b'{' | b'/' | b'~' | b'@' | b'*' | b'['));
    let is_code = sample.iter().any(|byte| matches!(byte, b'(' | b' ')) || sample.windows(2).any(|pair| pair == b"::");
    let has_letter = sample.iter().any(u8::is_ascii_alphabetic);
    let has_other = sample.iter().any(|byte| is_no_letter_of_words(*byte));
    if is_elsewhere || is_code || !has_letter || !has_other {
        return false;
    }
    if is_password {
        return sample.len() >= MIN_PASSWORD_BYTES && entropy(sample) >= MIN_PASSWORD_ENTROPY;
    }
    sample.len() >= MIN_TOKEN_BYTES && turns(sample) >= MIN_TOKEN_TURNS && entropy(sample) >= MIN_TOKEN_ENTROPY
}

/// Where a value without quotes cannot go on.
fn ends_value(byte: u8) -> bool {
    const ENDS: &[u8] = b"\"'`,;&<>)]}\\";
    byte <= b' ' || (!byte.is_ascii_alphanumeric() && ENDS.contains(&byte))
}

/// What stands in secrets and seldom in the names and words of source code.
fn is_no_letter_of_words(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'=' | b'?')
}

fn turns(sample: &[u8]) -> usize {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    };
    let turned = |pair: &&[u8]| kind(pair[0]) != kind(pair[1]) && kind(pair[0]) * kind(pair[1]) != 0;
    sample.windows(2).filter(turned).count()
}

/// Shannon entropy in bits per byte.
fn entropy(sample: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in sample {
        counts[usize::from(*byte)] += 1;
    }
    let length = sample.len() as f64;
    let share = |count: &u32| f64::from(*count) / length;
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}
