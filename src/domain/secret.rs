//! What a secret looks like by its name, and what takes secrets out of text. No value is kept here.

/// Takes secrets out of a text that arrives in pieces, before any of it is kept, shown or stored (I12).
///
/// A secret that is split between two pieces is still found, so some text is held back until `finish`.
pub trait Redaction: Send {
    /// Takes the next piece; appends to `out` what can no longer turn out to be part of a secret.
    fn push(&mut self, piece: &str, out: &mut String);

    /// Appends what was held back. Nothing may be pushed afterwards.
    fn finish(&mut self, out: &mut String);

    /// How many secrets were taken out so far.
    fn count(&self) -> u32;
}

/// Names longer than this are not looked at: no variable or key that a person wrote is.
const MAX_NAME_BYTES: usize = 256;

/// Words that make any name a secret's name, wherever in it they stand.
const NOUNS: &[&str] = &[
    "accesskey",
    "apikey",
    "auth",
    "authorization",
    "authtoken",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "creds",
    "jwt",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "privatekey",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
];

/// Words that make a following `key` secret.
const KEY_KINDS: &[&str] = &[
    "access",
    "account",
    "admin",
    "api",
    "client",
    "deploy",
    "encryption",
    "gpg",
    "master",
    "private",
    "secret",
    "service",
    "shared",
    "signing",
    "ssh",
    "storage",
];

/// Ends of words that people glue to a program's name: `PGPASSWORD`, `SSHPASS`.
const GLUED: &[&str] = &["passwd", "password", "secret", "apikey", "pgpass", "sshpass"];

/// Words beside which `tokens` are counted, not kept: `MAX_TOKENS`.
const COUNTS: &[&str] = &["budget", "count", "limit", "max", "min", "num"];

/// Whether a variable of this name is to be treated as holding a secret: a secret's word stands anywhere in it.
pub fn names_a_secret(name: &str) -> bool {
    let words = words(name);
    // `PWD` and `OLDPWD` are directories in every environment; `DB_PWD` is not.
    if words.len() == 1 && is(words[0], "pwd") {
        return false;
    }
    (0..words.len()).any(|at| is_noun(&words, at)) || ends_in_pass(&words)
}

/// Whether the thing called `name` is itself a secret: `db_password` is, `password_file` and `token_url` are not.
pub fn is_a_secret(name: &str) -> bool {
    let last_part = name.rsplit('.').next().unwrap_or(name);
    let words = words(last_part);
    words.len().checked_sub(1).is_some_and(|last| is_noun(&words, last)) || ends_in_pass(&words)
}

/// Whether the secret called `name` is one that people choose: shorter and plainer than one a machine makes.
pub fn is_a_password(name: &str) -> bool {
    let chosen = ["pass", "passphrase", "passwd", "password", "pwd"];
    words(name).last().is_some_and(|word| is_one_of(word, &chosen) || is_glued(word))
}

fn is_noun(words: &[&str], at: usize) -> bool {
    let word = words[at];
    if is(word, "tokens") {
        return !words.iter().any(|other| is_one_of(other, COUNTS));
    }
    if is(word, "key") || is(word, "keys") {
        return at > 0 && is_one_of(words[at - 1], KEY_KINDS);
    }
    is_one_of(word, NOUNS) || is_glued(word)
}

/// `DB_PASS`, but not `PASS`: `PASS: case 1` is how half of all test harnesses report.
fn ends_in_pass(words: &[&str]) -> bool {
    words.len() > 1 && words.last().is_some_and(|word| is(word, "pass"))
}

fn is_glued(word: &str) -> bool {
    let ends = |end: &&str| word.len().checked_sub(end.len()).is_some_and(|start| is(&word[start..], end));
    GLUED.iter().any(ends)
}

fn is_one_of(word: &str, among: &[&str]) -> bool {
    among.iter().any(|other| is(word, other))
}

fn is(word: &str, other: &str) -> bool {
    word.eq_ignore_ascii_case(other)
}

/// The words of `DB_PASSWORD`, `apiKey` and `x-api-key`: runs of ASCII letters and digits, parted also where lower
/// case turns into upper.
fn words(name: &str) -> Vec<&str> {
    let bytes = &name.as_bytes()[..name.len().min(MAX_NAME_BYTES)];
    let mut words = Vec::with_capacity(4);
    let mut start = 0;
    for at in 0..=bytes.len() {
        let is_over = bytes.get(at).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let turns = !is_over && at > 0 && bytes[at - 1].is_ascii_lowercase() && bytes[at].is_ascii_uppercase();
        if (is_over || turns) && start < at {
            words.push(&name[start..at]);
        }
        if is_over || turns {
            start = if is_over { at + 1 } else { at };
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_with_a_secrets_word_in_its_name_is_a_secret() {
        let secret = [
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "DB_PASSWORD",
            "apiKey",
            "OPENAI_API_KEY",
            "SSH_AUTH_SOCK",
            "PGPASSWORD",
            "npm_config__authToken",
            "STRIPE_APIKEY",
            "DB_PASS",
            "PGPASS",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "MY_PRIVATE_KEY",
        ];
        for name in secret {
            assert!(names_a_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "AUTHOR",
            "TOKENIZERS_PARALLELISM",
            "MAX_TOKENS",
            "KEYBOARD",
            "PASSENGER",
            "",
        ] {
            assert!(!names_a_secret(name), "{name}");
        }
    }

    #[test]
    fn a_thing_about_a_secret_is_not_the_secret() {
        for name in ["password", "db_pass", "spring.datasource.password", "x-api-key", "clientSecret", "--token"] {
            assert!(is_a_secret(name), "{name}");
        }
        for name in ["password_file", "token_url", "PASS", "token.rs", "secret_name", "public_key", "key", "max_tokens"]
        {
            assert!(!is_a_secret(name), "{name}");
        }
    }
}
