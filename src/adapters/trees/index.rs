//! Git's index as a sorted list: what is tracked, and what git last saw of it on disk.
//!
//! Read here rather than by libgit2, which sums every byte of the file with SHA-1 (git itself does not, on a read), takes
//! three times as long, and knows no index without a checksum (`index.skipHash`, part of `feature.manyFiles`).

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use git2::{Oid, Repository};

use crate::ports::trees::{MAX_FILES, MODE_REPOSITORY, TreeFault};

/// A larger index is not read.
const MAX_INDEX_BYTES: u64 = 1 << 30;
/// Ten numbers of `stat`, the object's name and the flags.
const FIXED_BYTES: usize = 40 + OID_BYTES + 2;
const OID_BYTES: usize = 20;
/// Entry flag: the user told git to look away (`git update-index --assume-unchanged`).
const ASSUME_UNCHANGED: u16 = 0x8000;
/// Entry flag: two more bytes of flags follow.
const EXTENDED: u16 = 0x4000;
const STAGE_MASK: u16 = 0x3000;
/// Extended flag: not part of a sparse checkout.
const SKIP_WORKTREE: u16 = 0x4000;
/// Extended flag: `git add -N`, no content yet.
const INTENT_TO_ADD: u16 = 0x2000;

/// A tracked path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tracked {
    pub path: Vec<u8>,
    pub mode: u32,
    pub oid: Oid,
    pub seen: Seen,
    pub assume_unchanged: bool,
    pub skip_worktree: bool,
    pub intent_to_add: bool,
    pub conflicted: bool,
}

impl Tracked {
    pub fn is_repository(&self) -> bool {
        self.mode == MODE_REPOSITORY
    }
}

/// What git saw on disk when it last knew the file to be what the index says. Sizes and inodes are cut to 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub mtime_ns: i64,
    pub ctime_ns: i64,
    pub ino: u32,
    pub size: u32,
}

/// The index of one worktree.
#[derive(Default)]
pub(crate) struct IndexFile {
    /// Sorted by path; one entry per path.
    pub tracked: Vec<Tracked>,
    /// When the index was written: a file as young as that may have changed unseen.
    pub written_ns: i64,
    /// The tree that the whole index would make, where git noted it.
    pub tree: Option<Oid>,
}

/// Reads the index of `repo`, whose work tree is `top`. A repository without one tracks nothing yet.
pub(crate) fn read(repo: &Repository, top: &Path) -> Result<IndexFile, TreeFault> {
    let fault = |words: String| TreeFault::Index { dir: top.to_owned(), words };
    // Git replaces an index by renaming: the open file, its times and its content belong together.
    let mut file = match fs_err::File::open(repo.path().join("index")) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(IndexFile::default()),
        Err(error) => return Err(fault(error.to_string())),
    };
    let meta = file.metadata().map_err(|error| fault(error.to_string()))?;
    if !meta.is_file() || meta.len() > MAX_INDEX_BYTES {
        return Err(fault(format!("it is not a file of at most {MAX_INDEX_BYTES} bytes")));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.by_ref().take(MAX_INDEX_BYTES).read_to_end(&mut bytes).map_err(|error| fault(error.to_string()))?;
    let (tracked, tree) = parse(&bytes).map_err(|unread| fault(unread.to_string()))?;
    let written_ns = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
    Ok(IndexFile { tracked, written_ns, tree })
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Unread {
    #[error("it is not an index, or is cut short")]
    Malformed,
    #[error("it has version {0}")]
    Version(u32),
    #[error("it is a split index; `git update-index --no-split-index` makes it whole")]
    Split,
    #[error("it is a sparse index; `git sparse-checkout reapply --no-sparse-index` makes it whole")]
    Sparse,
    #[error("it needs the extension `{0}`")]
    Extension(String),
    #[error("it has more than {MAX_FILES} entries")]
    TooMany,
}

fn parse(bytes: &[u8]) -> Result<(Vec<Tracked>, Option<Oid>), Unread> {
    let body = bytes.len().checked_sub(OID_BYTES).map(|end| &bytes[..end]).ok_or(Unread::Malformed)?;
    let mut rest = Rest { bytes: body, at: 0 };
    if rest.take(4)? != b"DIRC" {
        return Err(Unread::Malformed);
    }
    let version = rest.u32()?;
    if !(2..=4).contains(&version) {
        return Err(Unread::Version(version));
    }
    let count = rest.u32()? as usize;
    if count > MAX_FILES {
        return Err(Unread::TooMany);
    }
    let mut tracked: Vec<Tracked> = Vec::with_capacity(count.min(body.len() / FIXED_BYTES));
    for _ in 0..count {
        let next = rest.entry(version, tracked.last().map_or(b"", |last| &last.path))?;
        match tracked.last_mut() {
            // The stages of a conflict are one path on disk.
            Some(last) if last.path == next.path && next.conflicted => last.conflicted = true,
            Some(last) if last.path >= next.path => return Err(Unread::Malformed),
            _ => tracked.push(next),
        }
    }
    let tree = rest.extensions()?;
    Ok((tracked, tree))
}

struct Rest<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Unread> {
        let end = self.at.checked_add(length).ok_or(Unread::Malformed)?;
        let taken = self.bytes.get(self.at..end).ok_or(Unread::Malformed)?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Unread> {
        Ok(self.take(N)?.try_into().expect("as many bytes as were asked for"))
    }

    fn u32(&mut self) -> Result<u32, Unread> {
        self.array().map(u32::from_be_bytes)
    }

    fn u16(&mut self) -> Result<u16, Unread> {
        self.array().map(u16::from_be_bytes)
    }

    fn time_ns(&mut self) -> Result<i64, Unread> {
        // Git keeps the low 32 bits of the seconds, without a sign.
        Ok(i64::from(self.u32()?) * 1_000_000_000 + i64::from(self.u32()?))
    }

    fn entry(&mut self, version: u32, before: &[u8]) -> Result<Tracked, Unread> {
        let start = self.at;
        let (ctime_ns, mtime_ns) = (self.time_ns()?, self.time_ns()?);
        let (_dev, ino, mode) = (self.u32()?, self.u32()?, self.u32()?);
        let (_uid, _gid, size) = (self.u32()?, self.u32()?, self.u32()?);
        let oid = Oid::from_bytes(self.take(OID_BYTES)?).map_err(|_| Unread::Malformed)?;
        let flags = self.u16()?;
        let extended = if version >= 3 && flags & EXTENDED != 0 { self.u16()? } else { 0 };
        let path = if version == 4 { self.compressed_path(before)? } else { self.padded_path(start)? };
        if path.is_empty() {
            // An entry that replaces one of the shared part has no name of its own.
            return Err(Unread::Split);
        }
        if mode == 0o040_000 {
            return Err(Unread::Sparse);
        }
        Ok(Tracked {
            path,
            mode,
            oid,
            seen: Seen { mtime_ns, ctime_ns, ino, size },
            assume_unchanged: flags & ASSUME_UNCHANGED != 0,
            skip_worktree: extended & SKIP_WORKTREE != 0,
            intent_to_add: extended & INTENT_TO_ADD != 0,
            conflicted: flags & STAGE_MASK != 0,
        })
    }

    fn until_nul(&mut self) -> Result<&'a [u8], Unread> {
        let rest = self.bytes.get(self.at..).ok_or(Unread::Malformed)?;
        let length = memchr::memchr(0, rest).ok_or(Unread::Malformed)?;
        let text = self.take(length)?;
        self.take(1)?;
        Ok(text)
    }

    /// Versions 2 and 3: NULs fill the entry up to a multiple of eight bytes.
    fn padded_path(&mut self, start: usize) -> Result<Vec<u8>, Unread> {
        let path = self.until_nul()?.to_vec();
        let length = self.at - start;
        self.take(length.next_multiple_of(8) - length)?;
        Ok(path)
    }

    /// Version 4: how many bytes of the path before are dropped, and what follows them.
    fn compressed_path(&mut self, before: &[u8]) -> Result<Vec<u8>, Unread> {
        let mut byte = self.array::<1>()?[0];
        let mut dropped = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.array::<1>()?[0];
            let grown = dropped.checked_add(1).and_then(|value| value.checked_mul(128)).ok_or(Unread::Malformed)?;
            dropped = grown | usize::from(byte & 0x7f);
        }
        let kept = before.len().checked_sub(dropped).ok_or(Unread::Malformed)?;
        Ok([&before[..kept], self.until_nul()?].concat())
    }

    /// An extension whose name begins with a capital may be skipped; any other changes what the entries mean.
    fn extensions(&mut self) -> Result<Option<Oid>, Unread> {
        let mut tree = None;
        while self.at < self.bytes.len() {
            let name = self.take(4)?;
            let length = self.u32()? as usize;
            match name {
                b"link" => return Err(Unread::Split),
                b"sdir" => return Err(Unread::Sparse),
                b"TREE" => tree = whole_tree(self.take(length)?),
                [b'A'..=b'Z', ..] => drop(self.take(length)?),
                _ => return Err(Unread::Extension(String::from_utf8_lossy(name).into_owned())),
            }
        }
        Ok(tree)
    }
}

/// The root of git's note of which trees the entries make: an empty path, the number of entries (-1 once an entry
/// has changed since), the number of trees below, the tree's name.
fn whole_tree(note: &[u8]) -> Option<Oid> {
    let rest = note.strip_prefix(b"\0")?;
    let end = memchr::memchr(b'\n', rest)?;
    let entries = std::str::from_utf8(&rest[..end]).ok()?.split(' ').next()?;
    entries.parse::<u32>().ok()?;
    Oid::from_bytes(rest.get(end + 1..end + 1 + OID_BYTES)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::git::fixture::{Fixture, command};

    fn of(f: &Fixture) -> Vec<Tracked> {
        let repo = Repository::open(&f.work).expect("it is a repository");
        read(&repo, &f.work).expect("a whole index").tracked
    }

    /// What libgit2 reads, in the same words.
    fn by_libgit2(f: &Fixture) -> Vec<(Vec<u8>, u32, Oid, u32, u32)> {
        let repo = Repository::open(&f.work).expect("it is a repository");
        let index = repo.index().expect("libgit2 reads it");
        index.iter().map(|entry| (entry.path, entry.mode, entry.id, entry.ino, entry.file_size)).collect()
    }

    #[test]
    fn every_version_reads_as_libgit2_reads_it() {
        let f = Fixture::new();
        for n in 0..300 {
            f.write(format!("deep/{}/file {n}", n % 7), "x".repeat(n));
        }
        f.write(b"raw\xff\n", "x");
        f.write("x".repeat(200), "x");
        f.write(format!("{}/y", "x/".repeat(1000)), "x");
        f.git(&["add", "-A"]);
        for version in ["2", "4", "3"] {
            f.git(&["update-index", "--index-version", version]);
            if version == "3" {
                f.git(&["update-index", "--skip-worktree", "a.txt"]);
            }
            let ours: Vec<_> = of(&f).into_iter().map(|t| (t.path, t.mode, t.oid, t.seen.ino, t.seen.size)).collect();
            assert_eq!(ours, by_libgit2(&f), "version {version}");
        }
        assert!(of(&f)[0].skip_worktree && !of(&f)[1].skip_worktree);
    }

    #[test]
    fn flags_conflicts_and_an_index_without_a_checksum_are_read() {
        let f = Fixture::new();
        f.git(&["update-index", "--assume-unchanged", "a.txt"]);
        f.write("later", "x");
        f.git(&["add", "-N", "later"]);
        let flags: Vec<_> = of(&f).iter().map(|t| (t.assume_unchanged, t.intent_to_add)).collect();
        assert_eq!(flags, [(true, false), (false, false), (false, true)]);
        let blob = f.git(&["rev-parse", "HEAD:a.txt"]);
        let stages: String = (1..=3).map(|stage| format!("100644 {blob} {stage}\tboth\n")).collect();
        let mut git = command(&f.work, &["update-index", "--index-info"]);
        let mut git = git.stdin(std::process::Stdio::piped()).spawn().expect("git starts");
        std::io::Write::write_all(&mut git.stdin.take().expect("piped"), stages.as_bytes()).expect("written");
        assert!(git.wait().expect("it ends").success());
        let both: Vec<_> = of(&f).into_iter().filter(|t| t.path == b"both").map(|t| t.conflicted).collect();
        assert_eq!(both, [true], "the three stages are one path");
        f.git(&["config", "index.skipHash", "true"]);
        f.git(&["reset", "-q", "--hard"]);
        assert_eq!(of(&f).len(), 2);
        assert!(fs_err::read(f.work.join(".git/index")).expect("an index").ends_with(&[0; OID_BYTES]));
    }

    #[test]
    fn a_torn_or_changed_index_is_a_fault_or_another_list_and_never_a_panic() {
        let f = Fixture::new();
        let bytes = fs_err::read(f.work.join(".git/index")).expect("an index");
        let (whole, _) = parse(&bytes).expect("a whole index");
        for length in 0..bytes.len() {
            // All that can go unseen are the extensions, which are not read.
            assert!(parse(&bytes[..length]).map_or(true, |(cut, _)| cut == whole), "cut to {length}");
        }
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                drop(parse(&changed));
            }
        }
        let mut many = bytes;
        many[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(parse(&many).err(), Some(Unread::TooMany));
    }

    #[test]
    fn the_noted_tree_is_the_heads_until_something_is_staged() {
        let f = Fixture::new();
        let noted = || {
            let repo = Repository::open(&f.work).expect("it is a repository");
            read(&repo, &f.work).expect("a whole index").tree.map(|tree| tree.to_string())
        };
        assert_eq!(noted(), Some(f.git(&["rev-parse", "HEAD^{tree}"])));
        f.write("dir/new", "x");
        f.git(&["add", "dir/new"]);
        assert_eq!(noted(), None);
        f.git(&["write-tree"]);
        assert_eq!(noted(), Some(f.git(&["write-tree"])));
    }

    #[test]
    fn an_index_that_is_not_whole_says_what_makes_it_whole() {
        let f = Fixture::new();
        f.git(&["update-index", "--split-index"]);
        let index = fs_err::read(f.work.join(".git/index")).expect("an index");
        assert_eq!(parse(&index).err(), Some(Unread::Split));
        let f = Fixture::new();
        f.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "nowhere"]);
        let index = fs_err::read(f.work.join(".git/index")).expect("an index");
        assert_eq!(parse(&index).err(), Some(Unread::Sparse));
    }
}
