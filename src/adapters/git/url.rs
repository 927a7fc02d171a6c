//! Addresses of remotes without what may be secret in them (I12).

use std::sync::LazyLock;

use regex::Regex;

use crate::ports::git::RemoteUrl;

static USER_INFO: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"([A-Za-z][A-Za-z0-9+.-]*://)[^/\s'"<>]*@"#).expect("a legal pattern"));
static QUERY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"([A-Za-z][A-Za-z0-9+.-]*://[^\s'"<>?#]*)[?#][^\s'"<>]*"#).expect("a legal pattern"));

pub(super) fn remote_url(secret: &str) -> RemoteUrl {
    RemoteUrl { secret: secret.to_owned(), shown: redact(secret) }
}

/// An address without user, password, query and fragment. `git@host:path` and paths stay as they are.
fn redact(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    // The last `@` before the path ends what may be secret; a password may hold others.
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{path}"),
        None => format!("{scheme}://{host}{path}"),
    }
}

/// Somebody's words, with every address in them redacted.
pub(super) fn redact_words(words: &str) -> String {
    let words = USER_INFO.replace_all(words, "$1***@");
    QUERY.replace_all(&words, "$1").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_user_password_or_query_is_shown() {
        for (url, shown) in [
            ("https://ada:s3cret@example.com/a.git", "https://***@example.com/a.git"),
            ("https://token@example.com:8443/a?key=s3cret#x", "https://***@example.com:8443/a"),
            ("https://a:p@ss@example.com", "https://***@example.com"),
            ("https://example.com/@scope/a", "https://example.com/@scope/a"),
            ("git@example.com:a/b.git", "git@example.com:a/b.git"),
            ("../remote.git", "../remote.git"),
        ] {
            assert_eq!(remote_url(url).shown, shown);
            assert_eq!(format!("{:?}", remote_url(url)), shown);
        }
        let words = "fatal: unable to access 'https://ada:s3cret@example.com/a.git/?t=s3cret': no";
        assert_eq!(redact_words(words), "fatal: unable to access 'https://***@example.com/a.git/': no");
    }
}
