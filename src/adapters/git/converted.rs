//! Files on disk against what a commit stores of them, byte by byte.
//!
//! A check reads what lies on disk, and a push sends what is stored. Between the two stand filters and encodings that the
//! clone's configuration or the candidate's own attributes can name. No time and no size is believed here: git's index
//! says of a filtered file that nothing changed.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::{ObjectType, Repository};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::compare::{MAX_IN_MEMORY_BYTES, is_lfs_content, raw_oid};
use super::objects::{list_at, read_at, theirs};
use super::place::{broken, open_at};
use crate::adapters::trees::nested;
use crate::domain::id::Oid;
use crate::domain::path::TreePath;
use crate::ports::git::{GitFault, GitResult, Listed, MAX_CONVERTED};
use crate::ports::trees::{MODE_REPOSITORY, TreeFault};

/// The longest `.gitattributes` whose rules hold; one that is longer explains nothing.
const MAX_ATTRIBUTES_BYTES: u64 = 4 << 20;
const ATTRIBUTES: &[u8] = b".gitattributes";

pub(super) fn converted(work_tree: &Path, commit: &Oid, base: &Oid) -> GitResult<Vec<TreePath>> {
    let repo = open_at(work_tree)?;
    let top = repo.workdir().ok_or_else(|| GitFault::NoWorkTree { dir: work_tree.to_owned() })?;
    let rules = OnceCell::new();
    let mut found = Vec::new();
    for entry in list_at(&repo, commit, &TreePath::new(""))? {
        if found.len() == MAX_CONVERTED {
            break;
        }
        if entry.mode == MODE_REPOSITORY || is_stored(&repo, top, &entry)? {
            continue;
        }
        if rules.get().is_none() {
            drop(rules.set(Rules::of(&repo, base)?));
        }
        let known = rules.get().map_or_else(Conversion::default, |rules: &Rules| rules.of_path(entry.path.as_bytes()));
        if !explains(&repo, top, &entry, known)? {
            found.push(entry.path);
        }
    }
    Ok(found)
}

/// Whether the bytes on disk are those that are stored, or the content that a stored Git LFS pointer names. What is not
/// there, or is of another kind, is told elsewhere.
fn is_stored(repo: &Repository, top: &Path, entry: &Listed) -> GitResult<bool> {
    let path = nested::join(top, entry.path.as_bytes());
    let unreadable = |error: std::io::Error| unreadable(entry, &error);
    let meta = match fs_err::symlink_metadata(&path) {
        Ok(meta) => meta,
        Err(error) if is_absent(&error) => return Ok(true),
        Err(error) => return Err(unreadable(error)),
    };
    let oid = theirs(&entry.oid)?;
    if meta.is_symlink() {
        let target = fs_err::read_link(&path).map_err(unreadable)?;
        let target = git2::Oid::hash_object(ObjectType::Blob, target.as_os_str().as_bytes()).map_err(broken)?;
        return Ok(target == oid);
    }
    if !meta.is_file() {
        return Ok(true);
    }
    let stored = repo.odb().and_then(|odb| odb.read_header(oid)).map_err(broken)?.0 as u64;
    if stored == meta.len() && raw_oid(&path, meta.len()).map_err(unreadable)? == Some(oid) {
        return Ok(true);
    }
    is_lfs_content(repo, oid, &path, stored).map_err(unreadable)
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

fn unreadable(entry: &Listed, error: &std::io::Error) -> GitFault {
    GitFault::Tree(TreeFault::Unreadable { path: entry.path.clone(), words: error.to_string() })
}

/// Whether `known` makes of the bytes on disk exactly those that are stored.
fn explains(repo: &Repository, top: &Path, entry: &Listed, known: Conversion) -> GitResult<bool> {
    if known == Conversion::default() {
        return Ok(false);
    }
    let path = nested::join(top, entry.path.as_bytes());
    let blob = repo.find_blob(theirs(&entry.oid)?).map_err(broken)?;
    let small = fs_err::symlink_metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_IN_MEMORY_BYTES);
    if !small {
        return Ok(false);
    }
    let mut bytes = fs_err::read(&path).map_err(|error| unreadable(entry, &error))?;
    let mut stored = blob.content().to_vec();
    if known.line_endings {
        bytes = without_returns(&bytes);
    }
    if known.ident {
        (bytes, stored) = (without_ident(&bytes), without_ident(&stored));
    }
    Ok(bytes == stored)
}

/// Every CRLF as LF.
fn without_returns(bytes: &[u8]) -> Vec<u8> {
    let is_return = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n');
    (0..bytes.len()).filter(|at| !is_return(*at)).map(|at| bytes[at]).collect()
}

/// Every `$Id: …$` as `$Id$`.
fn without_ident(bytes: &[u8]) -> Vec<u8> {
    const OPENS: &[u8] = b"$Id:";
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, OPENS) {
        let body = &rest[at + OPENS.len()..];
        let end = body.iter().position(|byte| matches!(byte, b'$' | b'\n')).filter(|end| body[*end] == b'$');
        out.extend_from_slice(&rest[..at]);
        match end {
            Some(end) => {
                out.extend_from_slice(b"$Id$");
                rest = &body[end + 1..];
            }
            None => {
                out.extend_from_slice(OPENS);
                rest = body;
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

/// What git itself does to a file between disk and store, by the attributes of a base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Conversion {
    line_endings: bool,
    ident: bool,
}

/// The rules of every `.gitattributes` of one commit, those of outer directories first.
struct Rules(Vec<Rule>);

struct Rule {
    /// Bytes of a path that lead to the directory the rule is relative to.
    within: Vec<u8>,
    pattern: Gitignore,
    says: Vec<Says>,
}

#[derive(Clone, Copy)]
enum Says {
    Text(Option<bool>),
    Eol(bool),
    Ident(bool),
}

impl Rules {
    fn of(repo: &Repository, base: &Oid) -> GitResult<Self> {
        let mut rules = Vec::new();
        let named = |entry: &Listed| entry.path.as_bytes().rsplit(|byte| *byte == b'/').next() == Some(ATTRIBUTES);
        // Sorted by path, `a/.gitattributes` comes before `a/b/.gitattributes`: an inner one has the last word.
        for entry in list_at(repo, base, &TreePath::new(""))?.iter().filter(|entry| named(entry)) {
            let Ok(Some(blob)) = read_at(repo, base, &entry.path, MAX_ATTRIBUTES_BYTES) else { continue };
            let path = entry.path.as_bytes();
            let within = &path[..path.len() - ATTRIBUTES.len()];
            let text = String::from_utf8_lossy(&blob.bytes);
            rules.extend(text.lines().filter_map(|line| rule(within, line)));
        }
        Ok(Self(rules))
    }

    fn of_path(&self, path: &[u8]) -> Conversion {
        let (mut text, mut eol, mut ident) = (None, false, false);
        for rule in &self.0 {
            let Some(below) = path.strip_prefix(rule.within.as_slice()) else { continue };
            if !rule.pattern.matched(Path::new(OsStr::from_bytes(below)), false).is_ignore() {
                continue;
            }
            for says in &rule.says {
                match says {
                    Says::Text(said) => text = *said,
                    Says::Eol(said) => eol = *said,
                    Says::Ident(said) => ident = *said,
                }
            }
        }
        Conversion { line_endings: text.unwrap_or(eol), ident }
    }
}

/// One line: a pattern, and what it says of the attributes that matter here. Macros of the user's are not known.
fn rule(within: &[u8], line: &str) -> Option<Rule> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', '!', '[']) {
        return None;
    }
    let (pattern, attributes) = match line.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        Some((quoted, rest)) => (quoted, rest),
        None => line.split_once(char::is_whitespace)?,
    };
    let mut builder = GitignoreBuilder::new("");
    builder.add_line(None, pattern).ok()?;
    let says: Vec<Says> = attributes.split_whitespace().filter_map(attribute).collect();
    (!says.is_empty()).then_some(Rule { within: within.to_vec(), pattern: builder.build().ok()?, says })
}

fn attribute(word: &str) -> Option<Says> {
    Some(match word {
        "text" | "text=auto" | "crlf" | "crlf=input" => Says::Text(Some(true)),
        "-text" | "-crlf" | "binary" => Says::Text(Some(false)),
        "!text" | "!crlf" => Says::Text(None),
        "eol=lf" | "eol=crlf" => Says::Eol(true),
        "-eol" | "!eol" => Says::Eol(false),
        "ident" => Says::Ident(true),
        "-ident" | "!ident" => Says::Ident(false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_that_matches_says_what_is_converted() {
        let text =
            "* text=auto\n*.bin -text\n# x\n[attr]mine text\n\"with space\" eol=crlf\n/top.c ident\nout -text eol=lf\n";
        let mut rules: Vec<Rule> = text.lines().filter_map(|line| rule(b"", line)).collect();
        rules.extend(rule(b"sub/", "*.bin text"));
        let rules = Rules(rules);
        let of = |path: &str| rules.of_path(path.as_bytes());
        let is = |line_endings, ident| Conversion { line_endings, ident };
        for (path, expected) in [
            ("a.c", is(true, false)),
            ("deep/a.bin", is(false, false)),
            ("sub/a.bin", is(true, false)),
            ("subs/a.bin", is(false, false)),
            ("top.c", is(true, true)),
            ("deep/top.c", is(true, false)),
            ("out", is(false, false)),
        ] {
            assert_eq!(of(path), expected, "{path}");
        }
    }

    #[test]
    fn line_endings_and_idents_are_all_that_is_taken_away() {
        assert_eq!(without_returns(b"a\r\nb\rc\r\r\n\r"), b"a\nb\rc\r\n\r");
        assert_eq!(without_ident(b"x $Id: abc $ y $Id: open\n$Id$ $Id:$"), b"x $Id$ y $Id: open\n$Id$ $Id$");
    }
}
