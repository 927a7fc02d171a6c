//! Digests remembered by what `lstat` said, so that an unchanged file costs a stat.
//!
//! One file per work tree below the root's `decapod/cache/`, written whole to a temporary name and renamed. It is a
//! cache in every sense: a file that is missing, torn, of another version or of another work tree is not used, and one
//! that cannot be written is not missed. Whoever runs as the same user could forge it, as they could the ledger (L1).

use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::meta::Meta;

const MAGIC: &[u8; 8] = b"kctlstat";
const VERSION: u32 = 1;
/// A larger cache is neither read nor written.
const MAX_BYTES: u64 = 1 << 30;
/// A file that changed later than this before it was read may change again without its times telling.
const RACY_NS: i64 = 100_000_000;
/// The same on file systems that keep whole seconds only, or every second one.
const RACY_COARSE_NS: i64 = 3_000_000_000;
/// Path length, mode, size, two times, inode, device, digest.
const FIXED_BYTES: usize = 4 + 4 + 8 + 8 + 8 + 8 + 8 + 32;
const HEADER_BYTES: usize = 8 + 4 + 32;

/// A remembered file.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub path: &'a [u8],
    pub meta: Meta,
    pub digest: [u8; 32],
}

impl Row<'_> {
    /// Whether a file last changed as `meta` says, and read from `began_ns` on, can be told from a later version.
    pub fn is_clearly_old(meta: &Meta, began_ns: i64) -> bool {
        let coarse = meta.mtime_ns % 1_000_000_000 == 0 && meta.ctime_ns % 1_000_000_000 == 0;
        let margin = if coarse { RACY_COARSE_NS } else { RACY_NS };
        meta.mtime_ns.max(meta.ctime_ns).saturating_add(margin) < began_ns
    }
}

/// Where the cache of `work_tree` lies.
pub(crate) fn place(common_dir: &Path, work_tree: &Path) -> PathBuf {
    let name = Sha256::digest(work_tree.as_os_str().as_bytes());
    let name: String = name[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    common_dir.join("decapod/cache").join(format!("{name}.stat"))
}

/// The bytes of a cache file; [`rows`] says what is in them.
pub(crate) fn load(path: &Path) -> Option<Vec<u8>> {
    let file = fs_err::File::open(path).ok()?;
    let length = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= MAX_BYTES)?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length).ok()? + 1);
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The rows of a whole, sound cache of `work_tree`, sorted by path; none otherwise.
pub(crate) fn rows<'a>(bytes: &'a [u8], work_tree: &Path) -> Option<Vec<Row<'a>>> {
    let (header, body) = bytes.split_at_checked(HEADER_BYTES)?;
    let sound = header[..8] == *MAGIC && header[8..12] == VERSION.to_le_bytes();
    if !sound || header[12..] != *Sha256::digest(body) {
        return None;
    }
    let mut rest = Reader(body);
    let length = rest.u32()?;
    if rest.bytes(length as usize)? != work_tree.as_os_str().as_bytes() {
        return None;
    }
    let count = usize::try_from(rest.u64()?).ok()?;
    let mut rows = Vec::with_capacity(count.min(body.len() / FIXED_BYTES));
    for _ in 0..count {
        rows.push(rest.row()?);
    }
    (rest.0.is_empty() && rows.is_sorted_by(|a, b| a.path < b.path)).then_some(rows)
}

/// Writes `rows`, which are sorted by path. Failing to is no fault: the next snapshot reads the files again.
pub(crate) fn store(path: &Path, work_tree: &Path, rows: &[Row<'_>]) {
    let mut body = Vec::with_capacity(rows.iter().map(|row| FIXED_BYTES + row.path.len()).sum::<usize>() + 512);
    let name = work_tree.as_os_str().as_bytes();
    body.extend_from_slice(&(name.len() as u32).to_le_bytes());
    body.extend_from_slice(name);
    body.extend_from_slice(&(rows.len() as u64).to_le_bytes());
    for row in rows {
        push_row(&mut body, row);
    }
    if body.len() as u64 > MAX_BYTES - HEADER_BYTES as u64 {
        return;
    }
    if let Err(error) = write(path, &body) {
        tracing::debug!(%error, path = %path.display(), "the stat cache was not written");
    }
}

fn write(path: &Path, body: &[u8]) -> std::io::Result<()> {
    let dir = path.parent().expect("a cache file lies in its directory");
    // Only where kctl is set up: to look at a repository makes nothing in it.
    match fs_err::create_dir(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let mut file = tempfile::Builder::new().prefix(".stat-").tempfile_in(dir)?;
    file.write_all(MAGIC)?;
    file.write_all(&VERSION.to_le_bytes())?;
    file.write_all(&Sha256::digest(body))?;
    file.write_all(body)?;
    // Not synced: a torn file fails its checksum.
    file.persist(path)?;
    Ok(())
}

fn push_row(body: &mut Vec<u8>, row: &Row<'_>) {
    let Meta { st_mode, size, mtime_ns, ctime_ns, ino, dev } = row.meta;
    body.extend_from_slice(&(row.path.len() as u32).to_le_bytes());
    body.extend_from_slice(row.path);
    body.extend_from_slice(&st_mode.to_le_bytes());
    body.extend_from_slice(&size.to_le_bytes());
    body.extend_from_slice(&mtime_ns.to_le_bytes());
    body.extend_from_slice(&ctime_ns.to_le_bytes());
    body.extend_from_slice(&ino.to_le_bytes());
    body.extend_from_slice(&dev.to_le_bytes());
    body.extend_from_slice(&row.digest);
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn row(&mut self) -> Option<Row<'a>> {
        let length = self.u32()?;
        let path = self.bytes(length as usize)?;
        let meta = Meta {
            st_mode: self.u32()?,
            size: self.u64()?,
            mtime_ns: self.i64()?,
            ctime_ns: self.i64()?,
            ino: self.u64()?,
            dev: self.u64()?,
        };
        Some(Row { path, meta, digest: self.array()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &[u8], ino: u64) -> Row<'_> {
        let meta = Meta { st_mode: 0o100_644, size: 3, mtime_ns: 5, ctime_ns: 6, ino, dev: 9 };
        Row { path, meta, digest: [7; 32] }
    }

    fn stored() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = place(dir.path(), Path::new("/w"));
        store(&path, Path::new("/w"), &[row(b"a", 1)]);
        assert!(!dir.path().join("decapod").exists(), "where kctl is not set up nothing is made");
        fs_err::create_dir(dir.path().join("decapod")).expect("made");
        store(&path, Path::new("/w"), &[row(b"a", 1), row(b"b/\xff\n", 2)]);
        let bytes = load(&path).expect("just written");
        (dir, path, bytes)
    }

    #[test]
    fn a_stored_cache_reads_back() {
        let (_dir, _path, bytes) = stored();
        let rows = rows(&bytes, Path::new("/w")).expect("a sound cache");
        let seen: Vec<_> = rows.iter().map(|row| (row.path, row.meta.ino, row.digest)).collect();
        assert_eq!(seen, [(b"a".as_slice(), 1, [7; 32]), (b"b/\xff\n".as_slice(), 2, [7; 32])]);
    }

    #[test]
    fn a_torn_changed_or_foreign_cache_is_not_used() {
        let (_dir, _path, bytes) = stored();
        for length in 0..bytes.len() {
            assert!(rows(&bytes[..length], Path::new("/w")).is_none(), "cut to {length}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            assert!(rows(&changed, Path::new("/w")).is_none(), "changed at {at}");
        }
        assert!(rows(&bytes, Path::new("/other")).is_none());
        assert!(rows(&[&bytes[..], b"x"].concat(), Path::new("/w")).is_none());
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_no_fault() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs_err::write(dir.path().join("decapod"), "in the way").expect("a file");
        let path = place(dir.path(), Path::new("/w"));
        store(&path, Path::new("/w"), &[row(b"a", 1)]);
        assert!(load(&path).is_none());
    }

    #[test]
    fn a_file_as_young_as_its_reading_is_not_remembered() {
        let meta = |mtime_ns, ctime_ns| Meta { mtime_ns, ctime_ns, ..row(b"a", 1).meta };
        let second = 1_000_000_000;
        assert!(Row::is_clearly_old(&meta(second + 1, second + 1), 2 * second));
        assert!(!Row::is_clearly_old(&meta(2 * second - 1, second + 1), 2 * second));
        assert!(!Row::is_clearly_old(&meta(second + 1, 2 * second - 1), 2 * second));
        assert!(!Row::is_clearly_old(&meta(9 * second + 1, second + 1), 2 * second), "a time in the future");
        assert!(!Row::is_clearly_old(&meta(second, second), 2 * second), "whole seconds need a wider margin");
    }
}
