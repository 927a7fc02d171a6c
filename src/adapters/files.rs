//! The governed repository's files on the disk.

use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use crate::adapters::failpoint;
use crate::domain::plan::{Base, Mode, Place};
use crate::domain::stamp::Stamp;
use crate::ports::files::{Entry, EntryKind, FileFault, Files};

/// The name of a file that is being written starts with this; a killed write may leave one behind.
const TEMPORARY: &str = ".kctl-writing-";

/// How many levels of missing directories are made.
const MAX_DEPTH: usize = 32;

/// The work tree, where there is one, and the git common directory.
#[derive(Clone, Debug)]
pub struct DiskFiles {
    tree: Option<PathBuf>,
    common: PathBuf,
}

impl DiskFiles {
    /// Both directories exist; `tree` is None in a bare repository.
    pub fn new(tree: Option<PathBuf>, common: PathBuf) -> Self {
        Self { tree, common }
    }

    fn root(&self, at: &Place) -> Result<PathBuf, FileFault> {
        let root = match at.base {
            Base::Tree => self.tree.as_ref().ok_or_else(|| FileFault::NoTree { at: at.clone() })?,
            Base::Common => &self.common,
        };
        fs::canonicalize(root).map_err(|fault| failed(at, &fault))
    }

    /// The place with every link but one in the last part resolved. None: the directory it would lie in is missing.
    fn place(&self, at: &Place) -> Result<Option<PathBuf>, FileFault> {
        let (root, path) = (self.root(at)?, Path::new(&at.path));
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        let Some(name) = path.file_name().filter(|_| plain && !at.path.contains('\0')) else {
            return Err(out(at));
        };
        let parent = root.join(path.parent().unwrap_or(Path::new("")));
        match fs::canonicalize(&parent) {
            Ok(parent) if parent.starts_with(&root) => Ok(Some(parent.join(name))),
            Ok(_) => Err(out(at)),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(fault) => Err(failed(at, &fault)),
        }
    }

    /// The file that a link in the last part names, or the place itself. A link to nothing leads out.
    fn target(&self, at: &Place) -> Result<Option<PathBuf>, FileFault> {
        let Some(path) = self.place(at)? else { return Ok(None) };
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => match fs::canonicalize(&path) {
                Ok(target) if target.starts_with(self.root(at)?) => Ok(Some(target)),
                Ok(_) | Err(_) => Err(out(at)),
            },
            Ok(_) => Ok(Some(path)),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(Some(path)),
            Err(fault) => Err(failed(at, &fault)),
        }
    }

    /// Makes the directory that `at` lies in, one level at a time, so that no link on the way leads out.
    fn make_parents(&self, at: &Place) -> Result<(), FileFault> {
        let parents: Vec<&str> = at.path.split('/').collect();
        if parents.len() > MAX_DEPTH {
            return Err(out(at));
        }
        for depth in 1..parents.len() {
            let dir = Place { base: at.base, path: parents[..depth].join("/") };
            let path = self.place(&dir)?.ok_or_else(|| out(at))?;
            match fs::create_dir(&path) {
                Ok(()) => sync_dir(path.parent()).map_err(|fault| failed(at, &fault))?,
                Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
                Err(fault) => return Err(failed(at, &fault)),
            }
        }
        Ok(())
    }

    fn existing(&self, at: &Place) -> Result<PathBuf, FileFault> {
        let missing = || FileFault::Failed { at: at.clone(), said: "there is no such file".into() };
        let path = self.place(at)?.ok_or_else(missing)?;
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => Err(FileFault::NotAFile { at: at.clone() }),
            Ok(_) => Ok(path),
            Err(fault) => Err(failed(at, &fault)),
        }
    }
}

impl Files for DiskFiles {
    fn read(&self, at: &Place, max_bytes: u64) -> Result<Option<Vec<u8>>, FileFault> {
        let Some(path) = self.target(at)? else { return Ok(None) };
        // Not blocking: a named pipe would otherwise hold the call for ever.
        let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits().cast_signed();
        let file = match fs::OpenOptions::new().read(true).custom_flags(flags).open(&path) {
            Ok(file) => file,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(fault) => return Err(failed(at, &fault)),
        };
        let found = file.metadata().map_err(|fault| failed(at, &fault))?;
        if !found.is_file() {
            return Err(FileFault::NotAFile { at: at.clone() });
        }
        let mut bytes = Vec::new();
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(|fault| failed(at, &fault))?;
        if bytes.len() as u64 > max_bytes {
            return Err(FileFault::TooLarge { at: at.clone(), max_bytes });
        }
        Ok(Some(bytes))
    }

    fn look(&self, at: &Place) -> Result<Option<Entry>, FileFault> {
        let Some(path) = self.place(at)? else { return Ok(None) };
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(fault) => return Err(failed(at, &fault)),
        };
        let kind = match found.file_type() {
            kind if kind.is_file() => EntryKind::File,
            kind if kind.is_dir() => EntryKind::Dir,
            kind if kind.is_symlink() => EntryKind::Link,
            _ => EntryKind::Other,
        };
        let modified = Stamp::from_ms(found.mtime() * 1000 + found.mtime_nsec() / 1_000_000);
        Ok(Some(Entry { kind, mode: found.mode() & 0o7777, bytes: found.len(), modified }))
    }

    fn list(&self, at: &Place, max_entries: usize) -> Result<Vec<String>, FileFault> {
        let Some(path) = self.target(at)? else { return Ok(Vec::new()) };
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(fault) => return Err(failed(at, &fault)),
        };
        let mut names = Vec::new();
        for (count, entry) in entries.enumerate() {
            if count >= max_entries {
                return Err(FileFault::TooMany { at: at.clone(), max_entries });
            }
            names.extend(entry.map_err(|fault| failed(at, &fault))?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    fn write(&self, at: &Place, bytes: &[u8], mode: Mode) -> Result<(), FileFault> {
        self.make_parents(at)?;
        let path = self.target(at)?.ok_or_else(|| out(at))?;
        let before = match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => Some(found),
            Ok(_) => return Err(FileFault::NotAFile { at: at.clone() }),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => None,
            Err(fault) => return Err(failed(at, &fault)),
        };
        replace(&path, bytes, mode, before.as_ref()).map_err(|fault| failed(at, &fault))
    }

    fn rename(&self, from: &Place, to: &Place) -> Result<(), FileFault> {
        self.make_parents(to)?;
        let source = self.existing(from)?;
        let target = self.place(to)?.ok_or_else(|| out(to))?;
        fs::rename(&source, &target).map_err(|fault| failed(from, &fault))?;
        failpoint::reach("file.renamed");
        let synced = sync_dir(target.parent()).and_then(|()| sync_dir(source.parent()));
        synced.map_err(|fault| failed(to, &fault))
    }

    fn remove(&self, at: &Place) -> Result<(), FileFault> {
        let path = self.existing(at)?;
        fs::remove_file(&path).map_err(|fault| failed(at, &fault))?;
        failpoint::reach("file.removed");
        sync_dir(path.parent()).map_err(|fault| failed(at, &fault))
    }

    fn remove_empty_dir(&self, at: &Place) -> Result<bool, FileFault> {
        let Some(path) = self.place(at)? else { return Ok(true) };
        match fs::remove_dir(&path) {
            Ok(()) => Ok(true),
            Err(fault) => match fault.kind() {
                io::ErrorKind::NotFound => Ok(true),
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => Ok(false),
                _ => Err(failed(at, &fault)),
            },
        }
    }
}

/// Writes a new file beside `path` and puts it in its place, so that a reader sees the old one or the new one.
fn replace(path: &Path, bytes: &[u8], mode: Mode, before: Option<&std::fs::Metadata>) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let fresh = std::fs::Permissions::from_mode(if mode == Mode::Executable { 0o777 } else { 0o666 });
    // The umask applies to these bits, as it would for any new file.
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).permissions(fresh).tempfile_in(dir)?;
    file.write_all(bytes)?;
    match (mode, before) {
        (Mode::Exactly(bits), _) => file.as_file().set_permissions(std::fs::Permissions::from_mode(bits & 0o7777))?,
        (Mode::Keep, Some(before)) => file.as_file().set_permissions(before.permissions())?,
        (Mode::Keep, None) | (Mode::Executable, _) => {}
    }
    if let Some(before) = before {
        // Only root can give a file away; for everybody else the owner is the same already, or stays their own.
        let _ = std::os::unix::fs::fchown(file.as_file(), Some(before.uid()), Some(before.gid()));
    }
    file.as_file().sync_all()?;
    failpoint::reach("file.written");
    file.persist(path).map_err(|fault| fault.error)?;
    failpoint::reach("file.replaced");
    sync_dir(Some(dir))
}

fn sync_dir(dir: Option<&Path>) -> io::Result<()> {
    match dir {
        Some(dir) => fs::File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}

fn out(at: &Place) -> FileFault {
    FileFault::OutOfTree { at: at.clone() }
}

fn failed(at: &Place, fault: &io::Error) -> FileFault {
    let (at, said) = (at.clone(), fault.to_string());
    match fault.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => FileFault::Denied { at, said },
        _ => FileFault::Failed { at, said },
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
