//! What `lstat` says of a file, in the parts that tell whether it may have changed.

use rustix::fs::{FileType, Stat};

use crate::ports::trees::{MODE_EXECUTABLE, MODE_FILE, MODE_SYMLINK};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    /// `st_mode` with type and permission bits.
    pub st_mode: u32,
    pub size: u64,
    pub mtime_ns: i64,
    pub ctime_ns: i64,
    pub ino: u64,
    pub dev: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Symlink,
    Directory,
    /// A FIFO, a socket or a device: never opened.
    Special,
}

impl Meta {
    #[expect(clippy::unnecessary_cast, reason = "the widths of stat's fields differ between platforms")]
    pub fn of(stat: &Stat) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self {
            st_mode: stat.st_mode as u32,
            size: stat.st_size as u64,
            mtime_ns: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime_ns: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            ino: stat.st_ino as u64,
            dev: stat.st_dev as u64,
        }
    }

    pub fn kind(&self) -> Kind {
        match FileType::from_raw_mode(self.st_mode as _) {
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Symlink,
            FileType::Directory => Kind::Directory,
            _ => Kind::Special,
        }
    }

    /// The mode as git would write it; a special file keeps its type's bits.
    pub fn git_mode(&self) -> u32 {
        match self.kind() {
            Kind::File if self.st_mode & 0o100 != 0 => MODE_EXECUTABLE,
            Kind::File => MODE_FILE,
            Kind::Symlink => MODE_SYMLINK,
            Kind::Directory | Kind::Special => self.st_mode & 0o170_000,
        }
    }
}
