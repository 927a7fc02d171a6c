//! Work trees as they are on disk, file by file.

use super::path::TreePath;

/// A plain file.
pub const MODE_FILE: u32 = 0o100_644;
/// A file with its owner's executable bit.
pub const MODE_EXECUTABLE: u32 = 0o100_755;
/// A symlink; its content is its target.
pub const MODE_SYMLINK: u32 = 0o120_000;
/// A submodule, or a repository inside the tree that is none.
pub const MODE_REPOSITORY: u32 = 0o160_000;

/// One file as it is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: TreePath,
    /// As git writes it: one of the `MODE_*` values. A tracked path that has become a FIFO, a socket or a device has
    /// that file type's bits and the digest of nothing.
    pub mode: u32,
    /// SHA-256 of the raw content; of a symlink's target; of a repository's head commit and everything in it.
    pub digest: [u8; 32],
}

/// All tracked and all untracked, not ignored files of a work tree, sorted by the bytes of their paths.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Snapshot {
    pub entries: Vec<Entry>,
    /// Whether head commit, index and files on disk agree and nothing is untracked. Told by the same walk.
    pub clean: bool,
}

impl Snapshot {
    /// Whether `path` is an entry, has entries below it, or lies in a link or a repository that is one. The top is.
    pub fn speaks_for(&self, path: &[u8]) -> bool {
        if path.is_empty() {
            return true;
        }
        let find = |path: &[u8]| self.entries.binary_search_by(|entry| entry.path.as_bytes().cmp(path));
        let below = [path, b"/"].concat();
        let first = find(&below).unwrap_or_else(|at| at);
        let has_below = self.entries.get(first).is_some_and(|entry| entry.path.as_bytes().starts_with(&below));
        let mut ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let in_entry = ends.any(|end| {
            let above = find(&path[..end]).ok().map(|at| self.entries[at].mode);
            matches!(above, Some(MODE_SYMLINK | MODE_REPOSITORY))
        });
        find(path).is_ok() || has_below || in_entry
    }
}
