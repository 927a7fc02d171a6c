//! The input digest of a check: what of a work tree it speaks for (I4).

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::domain::digest::{Digest, Fields};
use crate::domain::path::TreePath;
use crate::domain::tree::{Entry, MODE_REPOSITORY, Snapshot};

/// The most patterns of one check.
pub const MAX_GLOBS: usize = 1000;

/// A pattern that cannot narrow inputs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobFault {
    #[error("`{glob}` is not a glob: {why}")]
    Malformed { glob: String, why: String },
    #[error("`{glob}` excludes; inputs are stated by what they include")]
    Excludes { glob: String },
    #[error("there are more than {MAX_GLOBS} globs")]
    TooMany,
}

/// Digests path, mode and content of the entries that `globs` name; no globs name the whole tree.
///
/// `*` and `?` stop at `/`, `**` does not. A glob that names a directory names everything in it. A repository inside the
/// tree is one entry, so it counts as soon as a glob could name anything in it.
pub fn digest(snapshot: &Snapshot, globs: &[String]) -> Result<Digest, GlobFault> {
    Ok(of_entries(narrowed(snapshot, globs)?))
}

/// Digests everything there is: what [`digest`] gives without globs.
pub fn whole(snapshot: &Snapshot) -> Digest {
    of_entries(&snapshot.entries)
}

fn of_entries<'s>(entries: impl IntoIterator<Item = &'s Entry>) -> Digest {
    let mut fields = Fields::new();
    for entry in entries {
        fields.push(entry.path.as_bytes()).push(&entry.mode.to_le_bytes()).push(&entry.digest);
    }
    fields.finish()
}

/// The entries that `globs` name. A check whose globs name nothing would stay fresh for ever: callers ask.
pub fn narrowed<'s>(snapshot: &'s Snapshot, globs: &[String]) -> Result<Vec<&'s Entry>, GlobFault> {
    if globs.is_empty() {
        return Ok(snapshot.entries.iter().collect());
    }
    let narrowing = Narrowing::new(globs)?;
    Ok(snapshot.entries.iter().filter(|entry| narrowing.names(entry)).collect())
}

/// The paths that are in one snapshot only, or differ in mode or content; sorted.
pub fn differing(a: &Snapshot, b: &Snapshot) -> Vec<TreePath> {
    let (mut left, mut right) = (a.entries.iter().peekable(), b.entries.iter().peekable());
    let mut paths = Vec::new();
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return paths,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(l), Some(r)) => l.path.cmp(&r.path),
        };
        let old = if order.is_le() { left.next() } else { None };
        let new = if order.is_ge() { right.next() } else { None };
        if old != new {
            paths.extend(old.or(new).map(|entry| entry.path.clone()));
        }
    }
}

/// Whether `globs` name one of `paths`, each of which may be a repository. Globs that cannot be read name everything.
pub fn name_any<'p>(globs: &[String], paths: impl IntoIterator<Item = &'p TreePath>) -> bool {
    let mut paths = paths.into_iter();
    let narrowing = if globs.is_empty() { None } else { Narrowing::new(globs).ok() };
    let Some(narrowing) = narrowing else { return paths.next().is_some() };
    paths.any(|path| narrowing.names(&Entry { path: path.clone(), mode: MODE_REPOSITORY, digest: [0; 32] }))
}

struct Narrowing {
    files: GlobSet,
    /// What each glob says before its first special character.
    literal_starts: Vec<Vec<u8>>,
}

impl Narrowing {
    fn new(globs: &[String]) -> Result<Self, GlobFault> {
        if globs.len() > MAX_GLOBS {
            return Err(GlobFault::TooMany);
        }
        let mut set = GlobSetBuilder::new();
        let mut literal_starts = Vec::with_capacity(globs.len());
        for glob in globs {
            if glob.starts_with('!') {
                return Err(GlobFault::Excludes { glob: glob.clone() });
            }
            let malformed =
                |error: globset::Error| GlobFault::Malformed { glob: glob.clone(), why: error.kind().to_string() };
            let plain = match glob.strip_prefix("./").unwrap_or(glob).trim_end_matches('/') {
                "" | "." => "**",
                plain => plain,
            };
            for pattern in [plain.to_owned(), format!("{plain}/**")] {
                let built = GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).build();
                set.add(built.map_err(malformed)?);
            }
            let special = plain.find(['*', '?', '[', '{', '\\']).unwrap_or(plain.len());
            literal_starts.push(plain.as_bytes()[..special].to_vec());
        }
        let files = set.build().map_err(|error| GlobFault::Malformed {
            glob: error.glob().unwrap_or_default().to_owned(),
            why: error.kind().to_string(),
        })?;
        Ok(Self { files, literal_starts })
    }

    fn names(&self, entry: &Entry) -> bool {
        let path = entry.path.as_bytes();
        self.files.is_match_candidate(&Candidate::from_bytes(path))
            || (entry.mode == MODE_REPOSITORY && self.literal_starts.iter().any(|start| may_be_inside(path, start)))
    }
}

/// Whether a glob that begins with `start` could name something below the directory `path`.
fn may_be_inside(path: &[u8], start: &[u8]) -> bool {
    let below = [path, b"/"].concat();
    below.starts_with(start) || start.starts_with(&below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tree::{MODE_EXECUTABLE, MODE_FILE};

    fn entry(path: &[u8], mode: u32, content: u8) -> Entry {
        Entry { path: TreePath::new(path), mode, digest: [content; 32] }
    }

    fn snapshot(mut entries: Vec<Entry>) -> Snapshot {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Snapshot { entries, clean: true }
    }

    fn globs(globs: &[&str]) -> Vec<String> {
        globs.iter().map(|glob| (*glob).to_owned()).collect()
    }

    fn named(snapshot: &Snapshot, patterns: &[&str]) -> Vec<String> {
        let entries = narrowed(snapshot, &globs(patterns)).expect("the globs of these tests are legal");
        entries.iter().map(|entry| entry.path.to_string()).collect()
    }

    fn sample() -> Snapshot {
        snapshot(vec![
            entry(b"Cargo.toml", MODE_FILE, 1),
            entry(b"src/a.rs", MODE_FILE, 2),
            entry(b"src/deep/b.rs", MODE_FILE, 3),
            entry(b"src/\xff.rs", MODE_FILE, 4),
            entry(b"lib", MODE_REPOSITORY, 5),
            entry(b"other/lib", MODE_REPOSITORY, 6),
        ])
    }

    #[test]
    fn a_star_stops_at_a_slash_and_a_directory_names_everything_in_it() {
        let tree = sample();
        assert_eq!(named(&tree, &["src/*.rs"]), ["src/a.rs", r#""src/\377.rs""#]);
        for whole in ["src", "src/", "./src", "src/**"] {
            assert_eq!(named(&tree, &[whole]), ["src/a.rs", "src/deep/b.rs", r#""src/\377.rs""#], "{whole}");
        }
    }

    #[test]
    fn a_repository_counts_when_a_glob_could_name_something_in_it() {
        let tree = sample();
        assert_eq!(named(&tree, &["lib/src/**"]), ["lib"]);
        assert_eq!(named(&tree, &["other/lib/x.c"]), ["other/lib"]);
        assert_eq!(named(&tree, &["Cargo.*"]), ["Cargo.toml"]);
        assert_eq!(named(&tree, &["**/*.c"]), ["lib", "other/lib"]);
    }

    #[test]
    fn the_digest_sees_path_mode_and_content_and_nothing_outside_the_globs() {
        let of = |entries| digest(&snapshot(entries), &globs(&["in/**"])).expect("a legal glob");
        let base = of(vec![entry(b"in/a", MODE_FILE, 1), entry(b"out", MODE_FILE, 1)]);
        assert_eq!(base, of(vec![entry(b"in/a", MODE_FILE, 1), entry(b"out", MODE_EXECUTABLE, 9)]));
        for other in [
            vec![entry(b"in/b", MODE_FILE, 1)],
            vec![entry(b"in/a", MODE_EXECUTABLE, 1)],
            vec![entry(b"in/a", MODE_FILE, 2)],
            vec![],
        ] {
            assert_ne!(base, of(other));
        }
    }

    #[test]
    fn a_glob_that_cannot_be_read_is_named() {
        let fault = |glob: &str| digest(&sample(), &globs(&["src/**", glob])).expect_err("the glob is not legal");
        assert!(matches!(fault("a[") , GlobFault::Malformed { glob, .. } if glob == "a["));
        assert!(matches!(fault("!src") , GlobFault::Excludes { glob } if glob == "!src"));
    }

    #[test]
    fn differing_names_what_was_added_removed_and_changed() {
        let old = snapshot(vec![entry(b"a", MODE_FILE, 1), entry(b"b", MODE_FILE, 1), entry(b"c", MODE_FILE, 1)]);
        let new = snapshot(vec![entry(b"b", MODE_FILE, 2), entry(b"c", MODE_FILE, 1), entry(b"d", MODE_FILE, 1)]);
        let paths: Vec<String> = differing(&old, &new).iter().map(ToString::to_string).collect();
        assert_eq!(paths, ["a", "b", "d"]);
        assert!(differing(&old, &old).is_empty());
    }
}
