//! Looking at a ledger in memory: every row is looked at, so what comes back is what the contract says and no more.

use crate::domain::answer::LedgerHead;
use crate::domain::event::Recorded;
use crate::domain::fold::{Kind, Rel};
use crate::domain::id::OriginId;
use crate::domain::replay::State;
use crate::domain::stamp::Stamp;
use crate::ports::ledger::{Cursor, LedgerFault, MAX_PAGE, Query, Row, StoredAnswer, Views};

use super::tables::Tables;
use super::write::Handle;

impl Views for Handle {
    fn load(&self, kind: Kind, id: &str) -> Result<Option<Row>, LedgerFault> {
        Ok(self.tables().states.get(&(kind, id.to_owned())).map(|state| row(id, state)))
    }

    fn with_prefix(&self, kind: Kind, prefix: &str, limit: u32) -> Result<Vec<String>, LedgerFault> {
        let tables = self.tables();
        let ids = of_kind(&tables, kind).map(|(id, _)| id).filter(|id| id.starts_with(prefix));
        Ok(ids.take(size(limit)).map(str::to_owned).collect())
    }

    fn query(&self, query: &Query) -> Result<Vec<Row>, LedgerFault> {
        let tables = self.tables();
        let found = of_kind(&tables, query.kind).filter(|(_, state)| matches(state, query));
        Ok(page(found, query.after.as_ref(), query.limit))
    }

    fn ready(&self, after: Option<&Cursor>, limit: u32) -> Result<Vec<Row>, LedgerFault> {
        let tables = self.tables();
        let found = of_kind(&tables, Kind::Task).filter(|(_, state)| is_ready(&tables, state));
        Ok(page(found, after, limit))
    }

    fn counts(&self, kind: Kind) -> Result<Vec<(String, u64)>, LedgerFault> {
        let mut counts = std::collections::BTreeMap::new();
        for (_, state) in of_kind(&self.tables(), kind) {
            *counts.entry(state.folded.index.status.to_owned()).or_insert(0) += 1;
        }
        Ok(counts.into_iter().collect())
    }

    fn events(&self, stream: Option<&str>, after_seq: u64, limit: u32) -> Result<Vec<Recorded>, LedgerFault> {
        let tables = self.tables();
        let found = tables.events.iter().filter(|event| event.seq > after_seq);
        let found = found.filter(|event| stream.is_none_or(|stream| event.stream == stream));
        Ok(found.take(size(limit)).cloned().collect())
    }

    fn events_before(&self, stream: Option<&str>, before_seq: u64, limit: u32) -> Result<Vec<Recorded>, LedgerFault> {
        let tables = self.tables();
        let found = tables.events.iter().rev().filter(|event| event.seq < before_seq);
        let found = found.filter(|event| stream.is_none_or(|stream| event.stream == stream));
        let mut events: Vec<Recorded> = found.take(size(limit)).cloned().collect();
        events.reverse();
        Ok(events)
    }

    fn answer(&self, key: &str) -> Result<Option<StoredAnswer>, LedgerFault> {
        Ok(self.tables().answers.get(key).map(|(answer, _)| answer.clone()))
    }

    fn head(&self) -> Result<Option<LedgerHead>, LedgerFault> {
        let tables = self.tables();
        let own = tables.chain();
        let Some(chain) = Some(own).filter(|own| own.oseq > 0).or_else(|| tables.newest()) else { return Ok(None) };
        let seal = chain.seal.parse().expect("a seal in memory is one that was computed");
        let origin = chain.origin.parse().expect("an origin in memory is one that was made");
        Ok(Some(LedgerHead { origin, oseq: chain.oseq, seal }))
    }

    fn last_at(&self) -> Result<Option<Stamp>, LedgerFault> {
        Ok(self.tables().events.last().map(|event| Stamp(event.at)))
    }

    fn origin(&self) -> &OriginId {
        self.own_origin()
    }
}

fn of_kind(tables: &Tables, kind: Kind) -> impl Iterator<Item = (&str, &State)> {
    let states = tables.states.iter().filter(move |((of, _), _)| *of == kind);
    states.map(|((_, id), state)| (id.as_str(), state))
}

fn matches(state: &State, query: &Query) -> bool {
    let index = &state.folded.index;
    let is = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
    let linked =
        |(rel, target): &(Rel, String)| index.links.iter().any(|link| link.rel == *rel && link.target == *target);
    (query.statuses.is_empty() || query.statuses.contains(&index.status))
        && is(&query.owner, &index.owner)
        && is(&query.parent, &index.parent)
        && is(&query.name, &index.name)
        && query.link.as_ref().is_none_or(linked)
        && query.live_at.is_none_or(|at| index.until.is_some_and(|until| until > at.ms()))
}

fn is_ready(tables: &Tables, state: &State) -> bool {
    let index = &state.folded.index;
    let finished = |id: &String| {
        let needed = tables.states.get(&(Kind::Task, id.clone()));
        needed.is_some_and(|state| state.folded.index.status == "finished")
    };
    let mut needs = index.links.iter().filter(|link| link.rel == Rel::Needs);
    index.status == "open" && needs.all(|link| finished(&link.target))
}

fn page<'a>(found: impl Iterator<Item = (&'a str, &'a State)>, after: Option<&Cursor>, limit: u32) -> Vec<Row> {
    let mut rows: Vec<Row> = found
        .map(|(id, state)| row(id, state))
        .filter(|row| after.is_none_or(|after| (row.rank, &row.id) > (after.rank, &after.id)))
        .collect();
    rows.sort_by(|a, b| (a.rank, &a.id).cmp(&(b.rank, &b.id)));
    rows.truncate(size(limit));
    rows
}

fn size(limit: u32) -> usize {
    limit.min(MAX_PAGE) as usize
}

fn row(id: &str, state: &State) -> Row {
    let State { ver, seq, folded } = state;
    Row { id: id.to_owned(), ver: *ver, seq: *seq, rank: folded.index.rank, body: folded.body.clone() }
}
