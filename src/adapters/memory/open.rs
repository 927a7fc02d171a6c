//! Opening a ledger in memory, and what is done to one as a whole.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::domain::answer::LedgerHead;
use crate::domain::id::OriginId;
use crate::ports::ledger::{
    Access, Description, Ledger, LedgerFault, Ledgers, Problem, Rebuilt, RecoverFrom, Recovered, Source, Verification,
    Views,
};

use super::keep;
use super::tables::Tables;
use super::write::Handle;

/// Ledgers in memory, by the directory they would be in. Clones share them. New origins are named by `new_origin`.
#[derive(Clone)]
pub struct MemoryLedgers {
    new_origin: Arc<dyn Fn() -> OriginId + Send + Sync>,
    ledgers: Arc<Mutex<HashMap<PathBuf, Arc<Shared>>>>,
}

/// One ledger, as all who opened it share it.
pub struct Shared {
    /// What is committed. Readers take it as it stands; a writer puts a new one in its place.
    pub committed: Mutex<Arc<Tables>>,
    /// Whether somebody writes.
    pub taken: Mutex<bool>,
    pub given_back: Condvar,
}

/// No code panics while it holds one of these locks; if it did, what it guards would still be whole.
pub fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn new(tables: Tables) -> Arc<Self> {
        let committed = Mutex::new(Arc::new(tables));
        Arc::new(Self { committed, taken: Mutex::new(false), given_back: Condvar::new() })
    }

    pub fn tables(&self) -> Arc<Tables> {
        Arc::clone(&held(&self.committed))
    }
}

impl MemoryLedgers {
    pub fn new(new_origin: impl Fn() -> OriginId + Send + Sync + 'static) -> Self {
        Self { new_origin: Arc::new(new_origin), ledgers: Arc::default() }
    }

    fn find(&self, common_dir: &Path) -> Result<Arc<Shared>, LedgerFault> {
        held(&self.ledgers).get(common_dir).cloned().ok_or(LedgerFault::Absent)
    }

    fn handle(&self, common_dir: &Path, access: Access) -> Result<Handle, LedgerFault> {
        let shared = match access {
            Access::Read | Access::Write => self.find(common_dir)?,
            Access::Create => {
                let mut ledgers = held(&self.ledgers);
                let made = || Shared::new(Tables::new((self.new_origin)()));
                Arc::clone(ledgers.entry(common_dir.to_owned()).or_insert_with(made))
            }
        };
        Ok(Handle::new(shared, access))
    }
}

impl Ledgers for MemoryLedgers {
    fn open(&self, common_dir: &Path, access: Access) -> Result<Box<dyn Ledger>, LedgerFault> {
        self.handle(common_dir, access).map(|handle| Box::new(handle) as Box<dyn Ledger>)
    }

    fn verify(&self, common_dir: &Path) -> Result<Verification, LedgerFault> {
        Ok(keep::verify(&self.find(common_dir)?.tables()))
    }

    fn rebuild(&self, common_dir: &Path, dry_run: bool) -> Result<Rebuilt, LedgerFault> {
        keep::rebuild(self.handle(common_dir, Access::Write)?, dry_run)
    }

    fn backup(&self, common_dir: &Path, to: &Path) -> Result<LedgerHead, LedgerFault> {
        let ledger = self.handle(common_dir, Access::Read)?;
        let head = ledger.head()?.ok_or_else(|| LedgerFault::Failed("the ledger holds no event yet".to_owned()))?;
        let mut ledgers = held(&self.ledgers);
        if ledgers.contains_key(to) {
            return Err(LedgerFault::Failed(format!("`{}` exists: a backup never overwrites", to.display())));
        }
        ledgers.insert(to.to_owned(), Shared::new(ledger.tables().as_ref().clone()));
        Ok(head)
    }

    fn recover(&self, common_dir: &Path, from: &RecoverFrom) -> Result<Recovered, LedgerFault> {
        let mut ledgers = held(&self.ledgers);
        let (tables, source) = match from {
            RecoverFrom::Backup(file) => {
                let saved =
                    ledgers.get(file).map(|saved| (saved.tables().as_ref().clone(), file.display().to_string()));
                saved.ok_or_else(|| LedgerFault::Failed(format!("`{}` is not there", file.display())))?
            }
            // Memory is never damaged, only not there.
            RecoverFrom::Damaged | RecoverFrom::DamagedOrNothing => match (ledgers.get(common_dir), from) {
                (Some(found), _) => (found.tables().as_ref().clone(), "the damaged file".to_owned()),
                (None, RecoverFrom::DamagedOrNothing) => (Tables::new((self.new_origin)()), "nothing".to_owned()),
                (None, _) => return Err(LedgerFault::Missing(common_dir.to_owned())),
            },
        };
        let lost = if source == "nothing" {
            vec![Problem { seq: None, what: "everything: there was no ledger".to_owned() }]
        } else {
            Vec::new()
        };
        let events = tables.events.len() as u64;
        ledgers.insert(common_dir.to_owned(), Shared::new(tables));
        Ok(Recovered { events, lost, kept: None, source })
    }

    fn sources(&self, common_dir: &Path) -> Vec<Source> {
        let ledgers = held(&self.ledgers);
        let source = |(path, shared): (&PathBuf, &Arc<Shared>)| Source {
            path: path.display().to_string(),
            events: shared.tables().events.len() as u64,
            in_place: path == common_dir,
        };
        ledgers.iter().map(source).filter(|source| source.events > 0).collect()
    }

    fn purge(&self, common_dir: &Path) -> Result<(), LedgerFault> {
        held(&self.ledgers).remove(common_dir);
        Ok(())
    }

    fn describe(&self, common_dir: &Path) -> Description {
        Description {
            path: common_dir.display().to_string(),
            exists: held(&self.ledgers).contains_key(common_dir),
            bytes: 0,
            sqlite_version: "none: in memory".to_owned(),
            journal_mode: None,
            file_system: "memory".to_owned(),
            writable: true,
        }
    }
}
