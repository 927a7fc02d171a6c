//! Whether files on disk are still what the index saw: by their bytes, never by their times.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::admit::MAX_FILE_BYTES;
use crate::domain::fragment::OnDisk;

/// The most bytes that are read to compare, over all passages of an answer.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Compares files of one work tree, within a bound on what it reads.
pub struct Comparison<'a> {
    work_tree: Option<&'a Path>,
    left: u64,
}

impl<'a> Comparison<'a> {
    pub fn new(work_tree: Option<&'a Path>) -> Self {
        Self { work_tree, left: MAX_BYTES }
    }

    /// Compares the file at `path` with the bytes of its blob.
    pub fn compare(&mut self, path: &[u8], blob: &[u8]) -> OnDisk {
        let Some(work_tree) = self.work_tree else { return OnDisk::NotCompared };
        let file = work_tree.join(OsStr::from_bytes(path));
        // What is not a regular file is not opened: a pipe would wait for ever.
        let size = match fs_err::symlink_metadata(&file) {
            Ok(meta) if meta.is_file() => meta.len(),
            Ok(_) => return OnDisk::Changed,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return OnDisk::Missing,
            Err(_) => return OnDisk::NotCompared,
        };
        if size > 2 * MAX_FILE_BYTES as u64 {
            // Indexed files are smaller, carriage returns included.
            return OnDisk::Changed;
        }
        if size > self.left {
            return OnDisk::NotCompared;
        }
        self.left -= size;
        match fs_err::read(&file) {
            Ok(bytes) if is_blob(&bytes, blob) => OnDisk::Same,
            Ok(_) => OnDisk::Changed,
            Err(_) => OnDisk::NotCompared,
        }
    }
}

fn is_blob(bytes: &[u8], blob: &[u8]) -> bool {
    bytes == blob || (bytes.contains(&b'\r') && without_carriage_returns(bytes) == blob)
}

/// What git stores for a file that it checks out with `\r\n`.
fn without_carriage_returns(bytes: &[u8]) -> Vec<u8> {
    let ends_line = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n');
    (0..bytes.len()).filter(|at| !ends_line(*at)).map(|at| bytes[at]).collect()
}
