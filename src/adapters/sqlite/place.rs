//! The directory and the files of a ledger: whether they are there, whose they are, and whether locks hold on them.

use std::io::{self, Write};
use std::path::Path;

use fs_err as fs;

use crate::adapters::layout::Layout;
use crate::ports::ledger::LedgerFault;

use super::fault;

/// The layout under `common_dir` as the system spells it: SQLite is told to follow no link, and a home or a temporary
/// directory often is behind one.
pub fn layout(common_dir: &Path) -> Layout {
    Layout::of(&fs::canonicalize(common_dir).unwrap_or_else(|_| common_dir.to_owned()))
}

/// Whether there is a ledger, as a fault if there is none: `Absent` if there never was one, `Missing` if it is gone.
pub fn presence(layout: &Layout) -> Result<(), LedgerFault> {
    let path = layout.ledger();
    // The marker is looked for first: it is made last, so a ledger that is being made is not taken for a lost one.
    let marked = fs::symlink_metadata(layout.marker()).is_ok();
    match fs::symlink_metadata(&path) {
        Ok(found) if !found.is_file() => {
            Err(LedgerFault::Failed(format!("`{}` is not a regular file: custody follows no link", path.display())))
        }
        Ok(found) if found.len() > 0 => Ok(()),
        Err(why) if !matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(LedgerFault::Failed(format!("the ledger cannot be looked at: {why}")))
        }
        Ok(_) | Err(_) if marked => Err(LedgerFault::Missing(path)),
        Ok(_) | Err(_) => Err(LedgerFault::Absent),
    }
}

/// Which file stands at a path: its device and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(u64, u64);

#[cfg(unix)]
pub fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(path).map(|found| Identity(found.dev(), found.ino()))
}

#[cfg(not(unix))]
pub fn identity(path: &Path) -> io::Result<Identity> {
    fs::symlink_metadata(path).map(|_| Identity(0, 0))
}

/// Makes the directory, for its owner only: the ledger holds what agents wrote.
pub fn make_dir(layout: &Layout) -> Result<(), LedgerFault> {
    let dir = layout.dir();
    match fs::symlink_metadata(dir) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => {
            return Err(LedgerFault::Failed(format!(
                "`{}` is not a directory: custody follows no link",
                dir.display()
            )));
        }
        Err(_) => {}
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(dir) {
        Ok(()) => {}
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
        Err(why) => return Err(fault::of_io(dir, &why)),
    }
    dir.parent().map_or(Ok(()), sync_dir)
}

/// Makes the new empty file `path`, for its owner only. SQLite would make it for everybody to read.
pub fn make_file(path: &Path) -> io::Result<()> {
    let mut how = fs::OpenOptions::new();
    how.write(true).create_new(true);
    #[cfg(unix)]
    fs_err::os::unix::fs::OpenOptionsExt::mode(&mut how, 0o600);
    how.open(path).map(drop)
}

/// Leaves the origin's id beside the ledger, so that a ledger that vanishes is missed.
pub fn mark(layout: &Layout, origin: &str) -> Result<(), LedgerFault> {
    let path = layout.marker();
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(layout.dir())?;
        file.write_all(format!("{origin}\n").as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|fault| fault.error).map(drop)
    };
    write().map_err(|why| fault::of_io(&path, &why))?;
    sync_dir(layout.dir())
}

/// Makes the names in `dir` durable.
pub fn sync_dir(dir: &Path) -> Result<(), LedgerFault> {
    fs::File::open(dir).and_then(|file| file.sync_all()).map_err(|why| fault::of_io(dir, &why))
}

/// File systems by the number that Linux gives them, and whether locks on them hold between machines.
#[cfg(target_os = "linux")]
const FILE_SYSTEMS: [(i64, &str, bool); 13] = [
    (0x6969, "nfs", false),
    (0x517b, "smb", false),
    (0xff53_4d42, "cifs", false),
    (0xfe53_4d42, "smb2", false),
    (0x564c, "ncp", false),
    (0x5346_414f, "afs", false),
    (0xef53, "ext", true),
    (0x5846_5342, "xfs", true),
    (0x9123_683e, "btrfs", true),
    (0x0102_1994, "tmpfs", true),
    (0x794c_7630, "overlay", true),
    (0x2fc1_2fc1, "zfs", true),
    (0xf2f5_2010, "f2fs", true),
];

/// Refuses file systems on which locks are advisory at best; custody there would be a guess.
#[cfg(target_os = "linux")]
pub fn refuse_network_file_system(dir: &Path) -> Result<(), LedgerFault> {
    let magic = magic(dir);
    match FILE_SYSTEMS.iter().find(|(known, _, _)| Some(*known) == magic) {
        Some((_, name, false)) => Err(LedgerFault::Unsuitable((*name).to_owned())),
        Some((_, _, true)) | None => Ok(()),
    }
}

/// The name of the file system that `dir` is on, or its number.
#[cfg(target_os = "linux")]
pub fn file_system(dir: &Path) -> String {
    let Some(magic) = magic(dir) else { return "unknown".to_owned() };
    let known = FILE_SYSTEMS.iter().find(|(known, _, _)| *known == magic);
    known.map_or_else(|| format!("{magic:#x}"), |(_, name, _)| (*name).to_owned())
}

#[cfg(target_os = "linux")]
fn magic(dir: &Path) -> Option<i64> {
    #[expect(clippy::unnecessary_cast, reason = "the width differs between platforms")]
    rustix::fs::statfs(dir).ok().map(|found| found.f_type as i64 & 0xffff_ffff)
}

#[cfg(not(target_os = "linux"))]
pub fn refuse_network_file_system(_: &Path) -> Result<(), LedgerFault> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn file_system(_: &Path) -> String {
    "unknown".to_owned()
}
