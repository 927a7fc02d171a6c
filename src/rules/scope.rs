//! Scopes of paths: whether globs are legal, and whether two scopes can meet.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The most globs one scope may have.
pub const MAX_GLOBS: usize = 256;

/// Compiles `globs`: `*` and `?` stay within one part of a path, `**` crosses parts, and a directory covers what is in
/// it.
///
/// # Errors
/// In words, naming the glob.
pub fn compile(globs: &[String]) -> Result<GlobSet, String> {
    if globs.len() > MAX_GLOBS {
        return Err(format!("a scope has at most {MAX_GLOBS} globs, not {}", globs.len()));
    }
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let trimmed = check(glob)?;
        for spelling in [trimmed.to_owned(), format!("{trimmed}/**")] {
            let built = GlobBuilder::new(&spelling).literal_separator(true).backslash_escape(true).build();
            set.add(built.map_err(|why| format!("`{glob}` is not a glob: {}", why.kind()))?);
        }
    }
    set.build().map_err(|why| why.to_string())
}

/// A glob that stays inside the tree, without its trailing slash.
fn check(glob: &str) -> Result<&str, String> {
    let trimmed = glob.strip_prefix("./").unwrap_or(glob).trim_end_matches('/');
    if trimmed.is_empty() {
        return Err("an empty glob covers nothing: leave it out, or write `**` for everything".to_owned());
    }
    if trimmed.starts_with('/') || trimmed.split('/').any(|part| part == "..") {
        return Err(format!("`{glob}` leaves the tree: globs are relative to its top"));
    }
    Ok(trimmed)
}

/// Whether some path can be in both scopes. Where that cannot be told cheaply the answer is yes (the cautious side).
/// An empty scope has not said what it touches, and meets nothing.
pub fn overlap(a: &[String], b: &[String]) -> Option<(String, String)> {
    a.iter().flat_map(|left| b.iter().map(move |right| (left, right))).find_map(|(left, right)| {
        let (l, r) = (fixed_part(left), fixed_part(right));
        (is_beneath(l, r) || is_beneath(r, l)).then(|| (left.clone(), right.clone()))
    })
}

/// The part of a glob before its first wildcard.
fn fixed_part(glob: &str) -> &str {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let end = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
    let fixed = &glob[..end];
    if end == glob.len() { fixed.trim_end_matches('/') } else { &fixed[..fixed.rfind('/').map_or(0, |slash| slash)] }
}

fn is_beneath(path: &str, dir: &str) -> bool {
    dir.is_empty() || path == dir || path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(list: &[&str]) -> Vec<String> {
        list.iter().map(|glob| (*glob).to_owned()).collect()
    }

    #[test]
    fn scopes_meet_where_a_path_can_be_in_both() {
        for (a, b, meet) in [
            ("src/**", "src/parse.rs", true),
            ("src/parse.rs", "src/parse.rs", true),
            ("src/parse/**", "src/print/**", false),
            ("src/a.rs", "src/ab.rs", false),
            ("**/*.md", "src/**", true),
            ("docs/*.md", "src/**", false),
            ("src/", "src/x/y.rs", true),
        ] {
            assert_eq!(overlap(&globs(&[a]), &globs(&[b])).is_some(), meet, "{a} {b}");
            assert_eq!(overlap(&globs(&[b]), &globs(&[a])).is_some(), meet, "{b} {a}");
        }
        assert_eq!(overlap(&[], &globs(&["**"])), None);
    }

    #[test]
    fn a_directory_covers_what_is_in_it_and_a_star_stays_in_its_part() {
        let set = compile(&globs(&["src", "*.toml"])).expect("legal globs");
        for (path, covered) in [("src/a/b.rs", true), ("Cargo.toml", true), ("a/Cargo.toml", false), ("srcs", false)] {
            assert_eq!(set.is_match(path), covered, "{path}");
        }
    }

    #[test]
    fn globs_that_leave_the_tree_or_cover_nothing_are_refused() {
        for wrong in ["", "/", "/etc/**", "../x", "a/../../b", "a[", "{a"] {
            assert!(compile(&globs(&[wrong])).is_err(), "{wrong}");
        }
    }
}
