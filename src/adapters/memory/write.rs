//! Appending to a ledger in memory.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::chain::link_all;
use crate::domain::event::{Draft, Recorded};
use crate::domain::id::OriginId;
use crate::domain::replay::State;
use crate::domain::stamp::Stamp;
use crate::ports::ledger::{ANSWER_LIFETIME_MS, Access, Ledger, LedgerFault, MAX_LOCK_WAIT_MS, StoredAnswer};

use super::open::{Shared, held};
use super::tables::Tables;

/// One open ledger. Its drop gives up whatever was not committed.
pub struct Handle {
    shared: Arc<Shared>,
    access: Access,
    origin: OriginId,
    /// The copy that the transaction works on, and that this handle alone sees.
    working: Option<Arc<Tables>>,
}

impl Handle {
    pub fn new(shared: Arc<Shared>, access: Access) -> Self {
        let origin = shared.tables().origin.clone();
        Self { shared, access, origin, working: None }
    }

    pub fn own_origin(&self) -> &OriginId {
        &self.origin
    }

    /// What this handle sees: its own transaction, or what is committed.
    pub fn tables(&self) -> Arc<Tables> {
        self.working.clone().unwrap_or_else(|| self.shared.tables())
    }

    /// What the transaction changes.
    ///
    /// # Errors
    /// When none is open.
    pub fn working(&mut self) -> Result<&mut Tables, LedgerFault> {
        let working = self.working.as_mut().map(Arc::make_mut);
        working.ok_or_else(|| LedgerFault::Failed("no transaction is open".to_owned()))
    }

    fn give_back(&mut self) {
        if self.working.take().is_some() {
            *held(&self.shared.taken) = false;
            self.shared.given_back.notify_one();
        }
    }
}

impl Ledger for Handle {
    fn begin(&mut self) -> Result<(), LedgerFault> {
        if self.access == Access::Read {
            return Err(LedgerFault::NotWritable("the ledger was opened to read".to_owned()));
        }
        if self.working.is_some() {
            return Err(LedgerFault::Failed("a transaction is open already".to_owned()));
        }
        let taken = held(&self.shared.taken);
        let limit = Duration::from_millis(MAX_LOCK_WAIT_MS);
        let waited = self.shared.given_back.wait_timeout_while(taken, limit, |taken| *taken);
        let (mut taken, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        if *taken {
            return Err(LedgerFault::Busy { waited_ms: MAX_LOCK_WAIT_MS });
        }
        *taken = true;
        drop(taken);
        self.working = Some(self.shared.tables());
        Ok(())
    }

    fn append(&mut self, drafts: &[Draft]) -> Result<Vec<Recorded>, LedgerFault> {
        let tables = self.working()?;
        let mut chain = tables.chain();
        let linked = match link_all(&mut chain, drafts, |stream| Ok(tables.before(stream))) {
            Ok(linked) => linked,
            Err(moved @ LedgerFault::Moved { .. }) => return Err(moved),
            Err(why) => {
                self.rollback();
                return Err(why);
            }
        };
        let mut written = Vec::with_capacity(drafts.len());
        for (draft, link) in drafts.iter().zip(linked) {
            if tables.events.iter().any(|event| event.id == link.recorded.id) {
                self.rollback();
                return Err(LedgerFault::Failed("an event of that id is recorded already".to_owned()));
            }
            let seq = tables.events.len() as u64 + 1;
            let recorded = Recorded { seq, ..link.recorded };
            let state = State { ver: recorded.ver, seq, folded: link.folded };
            tables.states.insert((draft.stream.kind, draft.stream.id.clone()), state);
            tables.events.push(recorded.clone());
            written.push(recorded);
        }
        if !written.is_empty() {
            tables.heads.insert(chain.origin.clone(), chain);
        }
        Ok(written)
    }

    fn remember(&mut self, key: &str, answer: &StoredAnswer, at: Stamp) -> Result<(), LedgerFault> {
        let tables = self.working()?;
        let oldest = at.ms().saturating_sub(ANSWER_LIFETIME_MS);
        tables.answers.retain(|_, (_, at)| at.ms() >= oldest);
        if tables.answers.contains_key(key) {
            self.rollback();
            return Err(LedgerFault::Failed(format!("the idempotency key `{key}` was answered meanwhile: call again")));
        }
        tables.answers.insert(key.to_owned(), (answer.clone(), at));
        Ok(())
    }

    fn commit(&mut self) -> Result<(), LedgerFault> {
        self.working()?;
        *held(&self.shared.committed) = self.tables();
        self.give_back();
        Ok(())
    }

    fn rollback(&mut self) {
        self.give_back();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.rollback();
    }
}
