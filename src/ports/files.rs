//! Files of the governed repository: bounded reads, atomic writes, and no way out of the directory that a place is in.

use crate::domain::digest::Digest;
use crate::domain::plan::{Mode, Place, Plan, Step};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::stamp::Stamp;

/// How much is read of a file that a step replaces, moves or removes.
pub const MAX_PLANNED_BYTES: u64 = 4 * 1024 * 1024;

/// The two directories that places are in. Symbolic links are followed only as long as they stay inside; a place that
/// leads out is `FileFault::OutOfTree`.
pub trait Files {
    /// What the file holds. None: there is nothing there. Anything but a regular file is a fault.
    fn read(&self, at: &Place, max_bytes: u64) -> Result<Option<Vec<u8>>, FileFault>;

    /// What is there, without following a link in the last part.
    fn look(&self, at: &Place) -> Result<Option<Entry>, FileFault>;

    /// The names in a directory, sorted; those that are not UTF-8 are left out. Empty where there is no directory.
    fn list(&self, at: &Place, max_entries: usize) -> Result<Vec<String>, FileFault>;

    /// Makes the file hold `bytes`: whole or not at all, and on the disk when it returns. Makes missing directories. A
    /// link is written through to the file it names.
    fn write(&self, at: &Place, bytes: &[u8], mode: Mode) -> Result<(), FileFault>;

    /// Renames a file over whatever file `to` is.
    fn rename(&self, from: &Place, to: &Place) -> Result<(), FileFault>;

    /// Removes a file or a link.
    fn remove(&self, at: &Place) -> Result<(), FileFault>;

    /// Removes a directory if it is empty, and says whether it is gone.
    fn remove_empty_dir(&self, at: &Place) -> Result<bool, FileFault>;
}

/// What a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: EntryKind,
    /// Permission bits.
    pub mode: u32,
    pub bytes: u64,
    pub modified: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Dir,
    Link,
    Other,
}

/// Why a file could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    #[error("`{at}` leads out of the directory it must stay in")]
    OutOfTree { at: Place },
    #[error("`{at}` is needed and there is no work tree")]
    NoTree { at: Place },
    #[error("`{at}` is not a regular file")]
    NotAFile { at: Place },
    #[error("`{at}` has more than {max_bytes} bytes")]
    TooLarge { at: Place, max_bytes: u64 },
    #[error("`{at}` has more than {max_entries} entries")]
    TooMany { at: Place, max_entries: usize },
    #[error("`{at}` has changed since the plan was made; nothing of it was touched")]
    Changed { at: Place },
    #[error("`{at}` is denied: {said}")]
    Denied { at: Place, said: String },
    #[error("`{at}`: {said}")]
    Failed { at: Place, said: String },
}

impl FileFault {
    pub fn at(&self) -> &Place {
        match self {
            Self::OutOfTree { at }
            | Self::NoTree { at }
            | Self::NotAFile { at }
            | Self::TooLarge { at, .. }
            | Self::TooMany { at, .. }
            | Self::Changed { at }
            | Self::Denied { at, .. }
            | Self::Failed { at, .. } => at,
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::OutOfTree { .. } => Code::OUT_OF_TREE,
            Self::NoTree { .. } => Code::NO_WORK_TREE,
            Self::NotAFile { .. } | Self::TooLarge { .. } | Self::TooMany { .. } | Self::Changed { .. } => {
                Code::CONFLICT
            }
            Self::Denied { .. } => Code::DENIED,
            Self::Failed { .. } => Code::STORAGE_FAILED,
        }
    }
}

impl From<FileFault> for Refusal {
    fn from(fault: FileFault) -> Self {
        Refusal::new(fault.code(), fault.to_string()).with("path", fault.at().to_string())
    }
}

/// Carries out `plan` in order. Steps that are not about files go to `other`. A step that finds something else than
/// the plan was made for stops it; what came before stands, and planning again continues from there.
pub fn carry_out<E: From<FileFault>>(
    plan: &Plan,
    files: &dyn Files,
    other: &mut dyn FnMut(&Step) -> Result<(), E>,
) -> Result<(), E> {
    for planned in &plan.steps {
        match &planned.step {
            Step::Write { at, bytes, mode, replaces } => {
                expect(files, at, replaces.as_ref())?;
                files.write(at, bytes, *mode)?;
            }
            Step::Move { from, to, holds, replaces } => {
                expect(files, from, Some(holds))?;
                expect(files, to, replaces.as_ref())?;
                files.rename(from, to)?;
            }
            Step::Remove { at, holds } => {
                expect(files, at, Some(holds))?;
                files.remove(at)?;
            }
            Step::RemoveEmptyDir { at } => {
                files.remove_empty_dir(at)?;
            }
            step @ (Step::SetConfig { .. } | Step::UnsetConfig { .. } | Step::MakeLedger | Step::PurgeLedger) => {
                other(step)?;
            }
        }
    }
    Ok(())
}

fn expect(files: &dyn Files, at: &Place, digest: Option<&Digest>) -> Result<(), FileFault> {
    let holds = files.read(at, MAX_PLANNED_BYTES)?.map(|bytes| Digest::of(&bytes));
    if holds.as_ref() == digest { Ok(()) } else { Err(FileFault::Changed { at: at.clone() }) }
}
