//! Finding the secrets in one line.

use super::families::{self, bearer_at, token_at};
use super::place::{Placed, assigned_at, flagged_at, userinfo_at};
use super::{Redactor, pem};

/// A secret in a line, as byte offsets.
#[derive(Debug)]
pub struct Found {
    /// Where the text begins without which it would not have been found.
    pub context: usize,
    pub start: usize,
    pub end: usize,
    pub family: &'static str,
    /// It opens a private key whose body is in the lines that follow.
    pub opens_block: bool,
}

impl Found {
    fn token(start: usize, end: usize, family: &'static str) -> Self {
        Self { context: start, start, end, family, opens_block: false }
    }

    fn placed(placed: &Placed, family: &'static str) -> Self {
        Self { context: placed.context, start: placed.start, end: placed.end, family, opens_block: false }
    }
}

/// The secrets in `line`, in order, none overlapping. `before` is the byte in front of it, on the same line.
pub fn secrets(redactor: &Redactor, line: &str, before: Option<u8>, found: &mut Vec<Found>) {
    let bytes = line.as_bytes();
    let mut at = 0;
    let mut in_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric());
    while let Some(byte) = bytes.get(at) {
        let interest = redactor.interest[usize::from(*byte)];
        let was_in_word = in_word;
        in_word = interest & WORD != 0;
        if interest & (KNOWN | SIGN) == 0 && (interest & TOKEN == 0 || was_in_word) {
            at += 1;
            continue;
        }
        let before = if at == 0 { before } else { Some(bytes[at - 1]) };
        match secret_at(redactor, line, at, before) {
            Some(secret) => {
                at = secret.end.max(at + 1);
                in_word = bytes[at - 1].is_ascii_alphanumeric();
                found.push(secret);
            }
            None => at += 1,
        }
    }
}

/// A known value starts with this byte.
pub const KNOWN: u8 = 1;
/// What comes before or after this byte may tell that there is a secret.
const SIGN: u8 = 2;
/// A token may start with this byte, where no word goes on.
const TOKEN: u8 = 4;
const WORD: u8 = 8;

/// What each byte can mean. Nine bytes in ten of usual output mean nothing, and only this table is asked about them.
pub fn interest() -> [u8; 256] {
    let mut interest = [0; 256];
    for byte in 0..=u8::MAX {
        let sign = if matches!(byte, b'=' | b':' | b'-') { SIGN } else { 0 };
        let token = if families::may_start(byte) { TOKEN } else { 0 };
        let word = if byte.is_ascii_alphanumeric() { WORD } else { 0 };
        interest[usize::from(byte)] = sign | token | word;
    }
    interest
}

fn secret_at(redactor: &Redactor, line: &str, at: usize, before: Option<u8>) -> Option<Found> {
    let bytes = line.as_bytes();
    if let Some(end) = redactor.known_at(bytes, at) {
        return Some(Found::token(at, end, "known"));
    }
    match bytes[at] {
        b'=' => assignment(redactor, line, at),
        b':' if bytes[at..].starts_with(b"://") => userinfo_at(line, at).map(|it| Found::placed(&it, "url-password")),
        b':' => assignment(redactor, line, at),
        b'-' if bytes[at..].starts_with(b"-----BEGIN ") => private_key(line, at),
        b'-' if bytes[at..].starts_with(b"--") && before != Some(b'-') => {
            flagged_at(line, at).map(|it| Found::placed(&it, "flag"))
        }
        _ => token(bytes, at, before),
    }
}

fn token(bytes: &[u8], at: usize, before: Option<u8>) -> Option<Found> {
    if let Some((end, family)) = token_at(bytes, at, before) {
        return Some(Found::token(at, end, family));
    }
    if bytes[at] | 0x20 != b'b' {
        return None;
    }
    let (start, end) = bearer_at(bytes, at, before)?;
    Some(Found { context: at, start, end, family: "bearer", opens_block: false })
}

/// A value that also has a known shape is called by that.
fn assignment(redactor: &Redactor, line: &str, at: usize) -> Option<Found> {
    let placed = assigned_at(line, at)?;
    let bytes = line.as_bytes();
    let family = match token_at(bytes, placed.start, None) {
        Some((_, family)) => family,
        None if redactor.known_at(bytes, placed.start).is_some() => "known",
        None => "assigned",
    };
    Some(Found::placed(&placed, family))
}

fn private_key(line: &str, at: usize) -> Option<Found> {
    let body = pem::opens_at(line, at)?;
    let closed = pem::closes(&line[body..]).map(|end| body + end);
    let end = closed.unwrap_or_else(|| line.trim_end_matches(['\n', '\r']).len().max(body));
    Some(Found { context: at, start: at, end, family: "private-key", opens_block: closed.is_none() })
}
