//! Redaction: in whatever pieces a text comes, the result is that of the whole, and secrets that were planted in it are
//! gone.
//!
//! The first bytes choose the pieces, where the secrets stand, and how much filler makes lines too long to be held.
#![no_main]

use kctl::domain::secret::Redaction as _;
use kctl::rules::redaction::Redactor;
use libfuzzer_sys::fuzz_target;

/// A value that the environment would have named, and tokens by their issuers' shapes.
const KNOWN: &str = "Zq9-planted value_7";
const TOKENS: [&str; 4] = [
    "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "AKIAQ7R3T9W2Y5U8P1L4",
    "glpat-x7K2m9Q4w8E1r5T3y6U0",
    "hf_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG",
];
/// The pieces of a text whose bytes choose how long each is.
const MAX_PIECE: usize = 96;

fn in_pieces(redactor: &Redactor, text: &str, sizes: &[u8]) -> (String, u32) {
    let (mut stream, mut out) = (redactor.clone().stream(), String::new());
    let mut sizes = sizes.iter().cycle();
    let mut rest = text;
    while !rest.is_empty() {
        let size = sizes.next().map_or(1, |size| usize::from(*size) % MAX_PIECE + 1);
        // A large text in tiny pieces would only be slow.
        let size = size.max(text.len() / 512).min(rest.len());
        let end = (size..=rest.len()).find(|at| rest.is_char_boundary(*at)).expect("the end is one");
        stream.push(&rest[..end], &mut out);
        rest = &rest[end..];
    }
    stream.finish(&mut out);
    let count = stream.count();
    (out, count)
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first_chunk::<8>() else { return };
    let text = String::from_utf8_lossy(rest);
    let at = usize::from(u16::from_le_bytes([choice[0], choice[1]])) % (text.len() + 1);
    let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let token = TOKENS[usize::from(choice[2]) % TOKENS.len()];
    // Up to 127 KiB of one line, in front of everything or not at all.
    let filler = if choice[3] == 7 { "lorem ".repeat(usize::from(choice[4]) * 85) } else { String::new() };
    let (before, after) = text.split_at(at);
    let whole = format!("{filler}{before}{KNOWN} {token} {after}");

    let redactor = Redactor::new(&[KNOWN.to_owned()]);
    let (redacted, count) = redactor.redact(&whole);
    assert!(!redacted.contains(KNOWN), "a known value stayed: {redacted}");
    assert!(!redacted.contains(token), "a token stayed: {redacted}");
    assert!(count >= 1, "something was taken out");
    let streamed = in_pieces(&redactor, &whole, &choice[5..]);
    assert_eq!(streamed, (redacted, count), "pieces change nothing");
});
