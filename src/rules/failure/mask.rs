//! Takes out of a text what differs between two runs of the same failure.

use super::path;
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// Builds a static regex once.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($text).expect("the pattern is checked by every test"));
    };
}
pub(crate) use pattern;

/// What a message keeps at most.
pub const MAX_MESSAGE_CHARS: usize = 300;

/// Masks in order: a later rule sees what an earlier one left.
static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"\b\d{4}-\d\d-\d\d[T _]\d\d[:_-]\d\d(?:[:_-]\d\d(?:[.,_]\d+)?)?(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))*", "<time>"),
        (r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:[A-Z][a-z]{2} +\d{1,2}|\d{1,2} [A-Z][a-z]{2}),? [\d: ]+[A-Z]{0,4}(?: \d{4})?", "<time>"),
        (r"\b\d{4}[-/]\d\d[-/]\d\d\b|\b\d{1,2}/(?:[A-Z][a-z]{2}|\d{1,2})/\d{4}\b", "<date>"),
        (r"\bm=\+?\d+\.\d+", "<time>"),
        (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"\b1[4-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?s?\b", "<time>"),
        (r"\b(?:\d+h)?\d+m\s?\d+(?:\.\d+)?s\b", "<dur>"),
        (r"\b\d+(?:\.\d+)?\s?(?:ns|µs|μs|us|ms|millis(?:econds)?|milliseconds?|s|secs?|seconds?|mins?|minutes?|hrs?|hours?)\b", "<dur>"),
        (r"\b\d+(?:\.\d+)?\s?(?:[kKMGT]i?B|bytes|B/s|[kKMG]i?B/s)\b", "<size>"),
        (r"\b\d{1,3}(?:\.\d+)?\s?%", "<pct>"),
        (r"0[xX][0-9a-fA-F]{6,}\??", "<addr>"),
        (r"(\blocalhost|\b(?:\d{1,3}\.){3}\d{1,3}|\[[0-9a-f:]+\]|::1|::|\*):\d{2,5}\b", "$1:<port>"),
        (r"(?i)\b(port)([ =:#]+)\d{2,5}\b", "$1$2<port>"),
        (r"\b(?:10|172|192)\.\d{1,3}\.\d{1,3}\.\d{1,3}\b", "<ip>"),
        (r"(?i)\b(pid|ppid|tid|processid|process id|process|thread|thread id|goroutine|fiber|job|session id)([ =:#(]+)\d+\b", "$1$2<n>"),
        (r"(?i)\b([a-z-]*(?:seed|shuffle))([ =:]+(?:is |was |set to )?)\d+\b", "$1$2<n>"),
        (r"\bgw\d+\b", "gw<n>"),
        (r"(?i)\b((?:[a-z]*worker|thread|pool|executor|forkpoolworker|spawnpoolworker))([-_# ]?)\d+\b", "$1$2<n>"),
        (r"\b([A-Za-z_][\w-]*)\[\d{2,7}\]:", "$1[<n>]:"),
        (r"('[^']*') \(\d+\) panicked", "$1 panicked"),
        (r#"(?i)(", line|\bon line|\bat line|\bline:|\bin line) \d+(?:,? (?:col(?:umn)?|char)[ :]?\d+)?"#, "$1 <l>"),
        (r"(\.[A-Za-z]{1,5}|[Mm]akefile|Dockerfile|[Jj]ustfile|Rakefile):\d+(?::\d+)?\b", "$1:<l>"),
        (r"(\.[A-Za-z]{1,5})[(\[]\d+(?:,\d+)*[)\]]", "$1(<l>)"),
        (r"\[[=#>\-.~*█░▓▒ ]{5,}\]|[█░▓▒━╸]{4,}|[#=]{8,}>?|\.{4,}|-{8,}|_{8,}|─{8,}", ""),
        (r"^\s*\[\s*\d+/\d+\]|\(\s*\d+/\d+\)|\b\d+/\d+\b(?: \[)?", "<n/n>"),
        (r"\b\d{9,}\b", "<n>"),
    ]
    .into_iter()
    .map(|(text, mask)| (Regex::new(text).expect("the pattern is checked by every test"), mask))
    .collect()
});

pattern!(HEX, r"\b(?:[0-9a-f]{6,}|[0-9A-F]{8,})\b");
pattern!(PATH, r#"(?:~|[A-Za-z]:)?[/\\](?:[\w.@+\-\[\]$]+[/\\])*[\w.@+\-$]+"#);
pattern!(TEMP_NAME, r"\b(?:tmp|temp)[._-]?[A-Za-z0-9_]{6,}\b|\bpytest-of-\w+/pytest-\d+|\bpytest-\d+\b");
pattern!(SPACE, r"\s+");
pattern!(QUOTED, r#"'[^']*'|"[^"]*"|`[^`]*`|‘[^’]*’|“[^”]*”"#);
pattern!(BRACKETED, r"\[[^\[\]]*\]|\{[^{}]*\}");
pattern!(NUMBER, r"-?\b\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?\b");
pattern!(
    COMPARISON,
    r"(?i)\b(?:expect(?:ed|s)?|want(?:ed)?|got|actual|received|differ(?:s|ent)?|equals?|but was|to be|mismatch)\b|[!=]=|<>"
);

/// Masks times, durations, addresses, ids, seeds, ports, places and progress. Codes and small numbers stay.
pub fn volatile(text: &str) -> String {
    // Spaces first: a rule that holds one looks for one.
    let text = places(&SPACE.replace_all(text.trim(), " "));
    let text = TEMP_NAME.replace_all(&text, temp_name);
    let text = RULES.iter().fold(text.into_owned(), |text, (rule, mask)| match rule.replace_all(&text, *mask) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(masked) => masked,
    });
    let text = HEX.replace_all(&text, hex);
    SPACE.replace_all(text.trim(), " ").into_owned()
}

/// Masks the compared values of an assertion as well: a test that fails with another number still fails.
pub fn values(text: &str) -> String {
    let text = volatile(text);
    if COMPARISON.is_match(&text) { forced(&text) } else { text }
}

/// Masks every value, for a text that is known to compare.
pub fn forced(text: &str) -> String {
    let text = volatile(text);
    let text = QUOTED.replace_all(&text, "<v>");
    let text = BRACKETED.replace_all(&text, "<v>");
    NUMBER.replace_all(&text, "<v>").into_owned()
}

/// Cuts a message to what a reader takes in at once.
pub fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Gives every absolute path its stable name. A path that follows a word or a slash is the rest of a relative one or of
/// an address, and stays.
fn places(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for found in PATH.find_iter(text) {
        let before = &text[..found.start()];
        let scheme = before.strip_suffix("file://");
        let inside = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '}' | ')'))
            || ends_with_mask(before);
        if inside && scheme.is_none() {
            continue;
        }
        out.push_str(scheme.unwrap_or(before).get(from..).unwrap_or_default());
        out.push_str(&place(found.as_str()));
        from = found.end();
    }
    out.push_str(&text[from..]);
    out
}

/// A mask stands for the word that it took the place of.
fn ends_with_mask(text: &str) -> bool {
    let name = text.strip_suffix('>').and_then(|text| text.rsplit_once('<')).map_or("", |(_, name)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '/')
}

fn place(path: &str) -> String {
    let temp =
        ["/tmp/", "/var/folders/", "/private/", "/var/tmp/", "/dev/shm/"].iter().any(|dir| path.starts_with(dir));
    // One component, as in `/usage`, names no place.
    if path.matches(['/', '\\']).count() < 2 && !temp {
        return path.to_owned();
    }
    let stable = path::stable(path);
    let bare = !stable.contains('/');
    if temp && bare && (path::is_random(&stable) || !stable.contains('.')) { "<tmp>".to_owned() } else { stable }
}

fn temp_name(found: &Captures<'_>) -> String {
    let name = &found[0];
    if name.starts_with("pytest-") || path::is_random(name) && has_noise(name) {
        "<tmp>".to_owned()
    } else {
        name.to_owned()
    }
}

fn has_noise(name: &str) -> bool {
    let body = name.trim_start_matches("tmp").trim_start_matches("temp").trim_start_matches(['.', '_', '-']);
    body.chars().any(|c| c.is_ascii_digit())
        || (name.starts_with("tmp") && name.len() == 11)
        || body.chars().skip(1).any(|c| c.is_ascii_uppercase())
}

fn hex(found: &Captures<'_>) -> String {
    let word = &found[0];
    let digits = word.chars().any(|c| c.is_ascii_digit());
    let letters = word.chars().any(|c| c.is_ascii_alphabetic());
    if digits && letters { "<hex>".to_owned() } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_from_run_to_run_is_masked() {
        for (a, b) in [
            ("at 2026-11-30 09:20:54.088 +0000 UTC m=+0.0004", "at 2026-12-01 10:00:01.1 +0000 UTC m=+0.1"),
            ("<C object at 0x7ff9e2773d50>", "<C object at 0x7f9c09c1d890>"),
            ("took 1.24s", "took 310ms"),
            ("took 2m 13s", "took 1m2.5s"),
            ("bound 127.0.0.1:46659", "bound 127.0.0.1:3391"),
            ("already in use :::46659", "already in use :::1024"),
            ("dir /tmp/tmp8wqgxs_7", "dir /tmp/tmp4tjdqo9i"),
            ("dir /tmp/tmp8wqgxs_7/out.json", "dir /tmp/tmpx4tjdqo9/out.json"),
            ("id 5f0c6b1e-8a53-4c6f-9d0e-0b3a5f7c9d11", "id 6f0c6b1e-8a53-4c6f-9d0e-0b3a5f7c9d12"),
            ("commit 3fa9c1d", "commit 9bd02ef1"),
            ("pid 31727 of worker-3", "pid 755 of worker-1"),
            ("Using --randomly-seed=4711", "Using --randomly-seed=99"),
            ("[=====>    ] 45%", "[=========>] 99%"),
            ("wrote 12.5 kB", "wrote 99 MB"),
            ("/home/ann/p/src/a.rs:6:36: bad", "/tmp/x/src/a.rs:9:1: bad"),
            ("File \"/tmp/a/app.py\", line 4, in load", "File \"/home/b/c/app.py\", line 41, in load"),
            ("[gw0] app[123]: x", "[gw1] app[4567]: x"),
        ] {
            assert_eq!(volatile(a), volatile(b));
        }
    }

    #[test]
    fn what_says_which_failure_it_is_stays() {
        for text in [
            "expected 3 got 4",
            "exit 2",
            "error[E0308]: mismatched types",
            "CS0103",
            "HTTP 404 from /users",
            "a/b differs",
            "https://repo.example.org/maven2 refused",
            "src/deep/a.rs is bad",
            "facade of templates in tmp_directory",
            "[Errno 98] in use",
        ] {
            assert_eq!(volatile(text), text);
        }
    }

    #[test]
    fn compared_values_go_only_where_something_is_compared() {
        assert_eq!(values("add(1,2)=3 want 4"), "add(<v>,<v>)=<v> want <v>");
        assert_eq!(values("Cannot read 'name'"), "Cannot read 'name'");
        assert_eq!(values("expected \"a b\" to equal [1, 2]"), values("expected \"c\" to equal [7]"));
    }
}
