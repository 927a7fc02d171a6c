//! Tokens that their issuer gave a recognisable shape: a prefix and a run of characters.

use crate::domain::id::{ID_CHARS, SessionId};

/// Which characters a token goes on with.
#[derive(Clone, Copy)]
enum Class {
    Alnum,
    UpperDigit,
    Hex,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Url,
    /// Letters, digits, `_`, `-`, `.`, `=`.
    Dotted,
    /// What may stand in an `Authorization` header.
    Token68,
}

impl Class {
    fn has(self, byte: u8) -> bool {
        match self {
            Class::Alnum => byte.is_ascii_alphanumeric(),
            Class::UpperDigit => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Class::Hex => byte.is_ascii_hexdigit(),
            Class::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Class::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Class::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'='),
            Class::Token68 => byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte),
        }
    }
}

struct Family {
    name: &'static str,
    prefix: &'static str,
    class: Class,
    /// How many characters follow the prefix at least.
    min: usize,
    /// Whether exactly `min` follow, and then something else.
    exact: bool,
}

const fn open(name: &'static str, prefix: &'static str, class: Class, min: usize) -> Family {
    Family { name, prefix, class, min, exact: false }
}

const fn exact(name: &'static str, prefix: &'static str, class: Class, length: usize) -> Family {
    Family { name, prefix, class, min: length, exact: true }
}

/// Together by their first byte; longer prefixes come before shorter ones that they begin with.
const FAMILIES: &[Family] = &[
    exact("aws-access-key", "AKIA", Class::UpperDigit, 16),
    exact("aws-access-key", "ASIA", Class::UpperDigit, 16),
    exact("aws-access-key", "ABIA", Class::UpperDigit, 16),
    exact("google-api-key", "AIza", Class::Url, 35),
    open("atlassian", "ATATT3", Class::Dotted, 60),
    open("age", "AGE-SECRET-KEY-1", Class::UpperDigit, 58),
    open("github", "ghp_", Class::Word, 30),
    open("github", "gho_", Class::Word, 30),
    open("github", "ghu_", Class::Word, 30),
    open("github", "ghs_", Class::Dotted, 30),
    open("github", "ghr_", Class::Word, 30),
    open("github", "github_pat_", Class::Word, 22),
    open("gitlab", "glpat-", Class::Dotted, 20),
    open("gitlab", "gldt-", Class::Dotted, 20),
    open("gitlab", "glrt-", Class::Dotted, 20),
    open("gitlab", "glrtr-", Class::Dotted, 20),
    open("gitlab", "glcbt-", Class::Dotted, 20),
    open("gitlab", "glptt-", Class::Dotted, 20),
    open("gitlab", "glft-", Class::Dotted, 20),
    open("gitlab", "glimt-", Class::Dotted, 20),
    open("gitlab", "glagent-", Class::Dotted, 20),
    open("gitlab", "gloas-", Class::Dotted, 20),
    open("gitlab", "glsoat-", Class::Dotted, 20),
    open("groq", "gsk_", Class::Alnum, 40),
    open("slack", "xoxb-", Class::Url, 20),
    open("slack", "xoxp-", Class::Url, 20),
    open("slack", "xoxa-", Class::Url, 20),
    open("slack", "xoxr-", Class::Url, 20),
    open("slack", "xoxs-", Class::Url, 20),
    open("slack", "xoxc-", Class::Url, 20),
    open("slack", "xoxd-", Class::Url, 20),
    open("slack", "xoxe.", Class::Dotted, 20),
    open("slack", "xoxe-", Class::Url, 20),
    open("slack", "xapp-", Class::Url, 20),
    open("xai", "xai-", Class::Alnum, 60),
    open("anthropic", "sk-ant-", Class::Url, 20),
    open("openai", "sk-proj-", Class::Url, 20),
    open("openai", "sk-svcacct-", Class::Url, 20),
    open("openai", "sk-admin-", Class::Url, 20),
    open("openrouter", "sk-or-v1-", Class::Hex, 32),
    // Plain `sk-` is also how style sheets begin: only an unbroken run of letters and digits is a key.
    open("openai", "sk-", Class::Alnum, 32),
    open("stripe", "sk_live_", Class::Alnum, 16),
    open("stripe", "sk_test_", Class::Alnum, 16),
    exact("shopify", "shpat_", Class::Hex, 32),
    open("stripe", "rk_live_", Class::Alnum, 16),
    open("stripe", "whsec_", Class::Token68, 24),
    open("google-oauth", "ya29.", Class::Url, 20),
    open("google-oauth", "GOCSPX-", Class::Url, 20),
    exact("npm", "npm_", Class::Alnum, 36),
    open("pypi", "pypi-AgE", Class::Url, 32),
    exact("crates-io", "cio", Class::Alnum, 32),
    open("hugging-face", "hf_", Class::Alnum, 30),
    open("vault", "hvs.", Class::Url, 24),
    open("docker", "dckr_pat_", Class::Url, 20),
    exact("digitalocean", "dop_v1_", Class::Hex, 64),
    exact("databricks", "dapi", Class::Hex, 32),
    open("sendgrid", "SG.", Class::Dotted, 60),
];

/// A token of one character over and over is a placeholder in a document.
const MIN_DISTINCT: usize = 6;

/// For each byte, which of `FAMILIES` start with it.
static STARTING: [(usize, usize); 256] = starting();

const fn starting() -> [(usize, usize); 256] {
    let mut starting = [(0, 0); 256];
    let mut at = 0;
    while at < FAMILIES.len() {
        let byte = FAMILIES[at].prefix.as_bytes()[0] as usize;
        let (from, until) = starting[byte];
        assert!(from == until || until == at, "families stand together by their first byte");
        starting[byte] = if from == until { (at, at + 1) } else { (from, at + 1) };
        at += 1;
    }
    starting
}

/// Whether a token, a JWT or `Bearer` starts with this byte.
pub fn may_start(byte: u8) -> bool {
    let (from, until) = STARTING[usize::from(byte)];
    from < until || matches!(byte, b'e' | b'b' | b'B')
}

/// The end and the family's name of the token whose first byte is at `at`. A token starts where no word goes on.
pub fn token_at(bytes: &[u8], at: usize, before: Option<u8>) -> Option<(usize, &'static str)> {
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let rest = &bytes[at..];
    let (from, until) = STARTING[usize::from(*rest.first()?)];
    FAMILIES[from..until]
        .iter()
        .find_map(|family| family_in(rest, family).map(|length| (at + length, family.name)))
        .or_else(|| session_token_in(rest).map(|length| (at + length, "kctl-session")))
        .or_else(|| jwt_in(rest, before).map(|length| (at + length, "jwt")))
}

/// A session's token of kctl's own: `s-` and the id's characters, a dot, 64 hex digits and no more.
fn session_token_in(rest: &[u8]) -> Option<usize> {
    const SECRET_CHARS: usize = 64;
    let secret_at = SessionId::PREFIX.len() + ID_CHARS + 1;
    let id = std::str::from_utf8(rest.get(..secret_at - 1)?).ok()?;
    let secret = rest.get(secret_at..secret_at + SECRET_CHARS)?;
    let goes_on = rest.get(secret_at + SECRET_CHARS).is_some_and(u8::is_ascii_hexdigit);
    let is_one = rest[secret_at - 1] == b'.'
        && id.parse::<SessionId>().is_ok()
        && secret.iter().all(u8::is_ascii_hexdigit)
        && distinct(secret) >= MIN_DISTINCT
        && !goes_on;
    is_one.then_some(secret_at + SECRET_CHARS)
}

fn family_in(rest: &[u8], family: &Family) -> Option<usize> {
    let prefix = family.prefix.as_bytes();
    if !rest.starts_with(prefix) {
        return None;
    }
    let body = &rest[prefix.len()..];
    // The first `min` characters decide, so that a near miss costs no more than they do: the whole stays linear.
    let sample = body.get(..family.min)?;
    if !sample.iter().all(|byte| family.class.has(*byte)) || distinct(sample) < MIN_DISTINCT {
        return None;
    }
    if family.exact {
        let goes_on = body.get(family.min).is_some_and(|byte| family.class.has(*byte));
        return (!goes_on).then_some(prefix.len() + family.min);
    }
    Some(prefix.len() + run(body, family.class))
}

/// Three base64url parts, the first two of which are JSON objects; the signature may be empty.
fn jwt_in(rest: &[u8], before: Option<u8>) -> Option<usize> {
    const MIN_PART: usize = 10;
    // Within a run of base64url no second candidate may start, or a long one would be read again and again.
    if !rest.starts_with(b"eyJ") || before.is_some_and(|byte| Class::Url.has(byte)) {
        return None;
    }
    let header = run(rest, Class::Url);
    let payload_at = header + 1;
    if header < MIN_PART || rest.get(header) != Some(&b'.') || !rest[payload_at..].starts_with(b"eyJ") {
        return None;
    }
    let payload = run(&rest[payload_at..], Class::Url);
    let end = payload_at + payload;
    if payload < MIN_PART || rest.get(end) != Some(&b'.') {
        return None;
    }
    Some(end + 1 + run(&rest[end + 1..], Class::Url))
}

/// The start and end of what follows `Bearer `, where it can be a token. `at` is the `B`.
pub fn bearer_at(bytes: &[u8], at: usize, before: Option<u8>) -> Option<(usize, usize)> {
    const WORD: &[u8] = b"bearer ";
    const MIN: usize = 16;
    let word = bytes.get(at..at + WORD.len())?;
    if !word.eq_ignore_ascii_case(WORD) || before.is_some_and(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let start = at + WORD.len();
    let sample = bytes.get(start..start + MIN)?;
    let plausible = sample.iter().all(|byte| Class::Token68.has(*byte))
        && sample.iter().any(u8::is_ascii_digit)
        && distinct(sample) >= MIN_DISTINCT;
    plausible.then(|| (start, start + run(&bytes[start..], Class::Token68)))
}

fn run(bytes: &[u8], class: Class) -> usize {
    bytes.iter().position(|byte| !class.has(*byte)).unwrap_or(bytes.len())
}

pub fn distinct(sample: &[u8]) -> usize {
    let mut seen = [false; 256];
    sample.iter().filter(|byte| !std::mem::replace(&mut seen[usize::from(**byte)], true)).count()
}
