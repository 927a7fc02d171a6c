//! Proof that whatever the port is asked is answered through an index, and that a page costs no more in a large ledger
//! than in a small one.

use anyhow::{Result, ensure};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, StatementStatus, params_from_iter};

use crate::domain::fold::{Kind, Rel};
use crate::domain::stamp::Stamp;
use crate::ports::ledger::{Cursor, Query};

use super::{refold, schema, select, views, write};

/// Every mix of conditions, with and without a page before.
fn queries() -> Vec<Query> {
    let mut all = Vec::new();
    for mix in 0..3 * 64 {
        let has = |bit: u32| ((mix % 64) >> bit) & 1 == 1;
        all.push(Query {
            statuses: match mix / 64 {
                0 => vec![],
                1 => vec!["open"],
                _ => vec!["claimed", "finished", "open"],
            },
            owner: has(0).then(|| "s-1".to_owned()),
            parent: has(1).then(|| "t-1".to_owned()),
            name: has(2).then(|| "name-1".to_owned()),
            link: has(3).then(|| (Rel::Label, "red".to_owned())),
            live_at: has(4).then_some(Stamp(5)),
            after: has(5).then(|| Cursor { rank: 7, id: "t-7".to_owned() }),
            limit: 50,
            ..Query::all(Kind::Task)
        });
    }
    all
}

fn cursor() -> Option<Cursor> {
    Some(Cursor { rank: 7, id: "t-7".to_owned() })
}

/// All statements that answer the port, and whether they may sort: only what is live is sorted, since no index has
/// both the end of a lease and the order.
fn statements() -> Vec<(String, Vec<Sql>, bool)> {
    let mut all: Vec<(String, Vec<Sql>, bool)> = Vec::new();
    for query in queries() {
        let sorts = query.live_at.is_some() && query.owner.is_none();
        all.extend(select::parts(&query).into_iter().map(|(sql, values)| (sql, values, sorts)));
    }
    let more = [
        select::ready(None, 50),
        select::ready(cursor().as_ref(), 50),
        select::events(None, 7, 50),
        select::events(Some("task:t-1"), 7, 50),
    ];
    all.extend(more.map(|(sql, values)| (sql, values, false)));
    let text = |text: &str| Sql::Text(text.to_owned());
    let fixed = [
        (views::LOAD, vec![text("task"), text("t-1")]),
        (views::WITH_PREFIX, vec![text("task"), text("t-00000000012"), Sql::Integer(3)]),
        (views::COUNTS, vec![text("task")]),
        (views::ANSWER, vec![text("key")]),
        (views::HEAD, vec![text("o-1")]),
        (views::LAST_AT, vec![]),
        (views::LAST, vec![]),
        (write::PRUNE, vec![Sql::Integer(0), Sql::Integer(100)]),
        (refold::NEXT_STREAM, vec![text("task:t-7")]),
    ];
    all.extend(fixed.map(|(sql, values)| (sql.to_owned(), values, false)));
    all
}

#[test]
fn every_query_of_the_port_is_driven_by_an_index_and_none_sorts_but_what_is_live() -> Result<()> {
    let conn = Connection::open_in_memory()?;
    schema::create(&conn, "o-1", 1)?;
    for (sql, values, sorts) in statements() {
        let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        let plan: Vec<String> =
            explain.query_map(params_from_iter(values), |row| row.get(3))?.collect::<Result<_, _>>()?;
        for step in &plan {
            // The newest event is the first row of a walk backwards, and the walk ends there.
            let scans =
                step.starts_with("SCAN") && step != "SCAN CONSTANT ROW" && sql != views::LAST_AT && sql != views::LAST;
            ensure!(!scans && !step.contains("AUTOMATIC"), "{sql}\n{plan:#?}");
            ensure!(sorts || !step.contains("TEMP B-TREE"), "{sql}\n{plan:#?}");
        }
    }
    Ok(())
}

/// A ledger of `states` tasks under one label, eight of ten finished, one claimed, and one open, needing a finished
/// one; every hundred with an owner, a parent and a name of its own, the first five hundred live; and as many events.
fn ledger_of(states: u32) -> Result<Connection> {
    let conn = Connection::open_in_memory()?;
    schema::create(&conn, "o-1", 1)?;
    let numbers = format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {states})");
    conn.execute_batch(&format!(
        "INSERT INTO state (kind, id, ver, seq, status, owner, parent, name, rank, until, body)
         {numbers} SELECT 'task', printf('t-%012d', i), 1, i,
           CASE i % 10 WHEN 0 THEN 'claimed' WHEN 1 THEN 'open' ELSE 'finished' END,
           's-' || (i / 100), 't-' || (i / 100), 'name-' || (i / 100), i, CASE WHEN i <= 500 THEN 10 ELSE 1 END, x'7b7d'
         FROM n;
         INSERT INTO links (kind, id, rel, target, status, rank)
         {numbers} SELECT s.kind, s.id, 'label', 'red', s.status, s.rank FROM n JOIN state s ON s.rowid = n.i;
         INSERT INTO links (kind, id, rel, target, status, rank)
         {numbers} SELECT s.kind, s.id, 'needs', printf('t-%012d', i + 1), s.status, s.rank
         FROM n JOIN state s ON s.rowid = n.i WHERE s.status = 'open';
         INSERT INTO events (id, stream, ver, type, v, at, caller, origin, oseq, prev, body, seal)
         {numbers} SELECT 'e' || i, 'task:t-' || (i % 10), 1, 't', 1, i, '', 'o-1', i, '', x'', '' FROM n;
         INSERT INTO heads VALUES ('o-1', {states}, ''); INSERT INTO counts VALUES ('task', 'open', {states});
         INSERT INTO answers {numbers} SELECT 'k' || i, '', '', i FROM n;"
    ))?;
    Ok(conn)
}

/// How many steps SQLite's machine takes for each statement.
fn costs(states: u32) -> Result<Vec<(String, i32)>> {
    let conn = ledger_of(states)?;
    let mut costs = Vec::new();
    for (sql, values, _) in statements() {
        let mut statement = conn.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while rows.next()?.is_some() {}
        drop(rows);
        costs.push((sql, statement.get_status(StatementStatus::VmStep)));
    }
    Ok(costs)
}

/// Steps that a page of fifty may take, whatever the size.
const MAX_STEPS: i32 = 15_000;

#[test]
fn a_page_costs_the_same_in_a_ledger_of_any_size() -> Result<()> {
    let small = costs(1_000)?;
    for states in [10, 10_000, 100_000] {
        for ((sql, steps), (_, before)) in costs(states)?.into_iter().zip(&small) {
            ensure!(steps <= MAX_STEPS, "{states} states: {steps} steps\n{sql}");
            let grown = f64::from(steps) > f64::from(*before) * 1.5 + 200.0;
            ensure!(states <= 1_000 || !grown, "{states} states: {steps} steps, and {before} for 1000\n{sql}");
        }
    }
    Ok(())
}
