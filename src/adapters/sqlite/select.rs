//! How states and events are asked for. Each query is driven by one index, chosen here and not by a planner that has no
//! statistics: a `+` before a column keeps SQLite from driving by it.

use rusqlite::types::Value as Sql;

use crate::ports::ledger::{Cursor, MAX_PAGE, Query};

use super::views::EVENT;

/// The columns of a state row.
pub const ROW: &str = "s.id, s.ver, s.seq, s.rank, s.body";

/// What a query is driven by, the most telling first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drive {
    Owner,
    Until,
    Parent,
    Name,
    Link,
    Status,
    Rank,
}

fn drive(query: &Query) -> Drive {
    match query {
        Query { owner: Some(_), .. } => Drive::Owner,
        Query { live_at: Some(_), .. } => Drive::Until,
        Query { parent: Some(_), .. } => Drive::Parent,
        Query { name: Some(_), .. } => Drive::Name,
        Query { link: Some(_), .. } => Drive::Link,
        Query { statuses, .. } if !statuses.is_empty() => Drive::Status,
        _ => Drive::Rank,
    }
}

/// The statements that together answer `query`, each in order and cut to the page; more than one if several statuses
/// drive it.
pub fn parts(query: &Query) -> Vec<(String, Vec<Sql>)> {
    let drive = drive(query);
    if !matches!(drive, Drive::Status | Drive::Link) || query.statuses.is_empty() {
        return vec![part(query, drive, &query.statuses)];
    }
    let mut statuses = query.statuses.clone();
    statuses.sort_unstable();
    statuses.dedup();
    statuses.iter().map(|status| part(query, drive, std::slice::from_ref(status))).collect()
}

fn part(query: &Query, drive: Drive, statuses: &[&'static str]) -> (String, Vec<Sql>) {
    let mut asked = Asked::from(query, drive);
    for (column, value, drives) in [
        ("owner", &query.owner, Drive::Owner),
        ("parent", &query.parent, Drive::Parent),
        ("name", &query.name, Drive::Name),
    ] {
        if let Some(value) = value {
            let plus = if drive == drives { "" } else { "+" };
            asked.and(&format!("{plus}s.{column} = ?"), [Sql::Text(value.clone())]);
        }
    }
    if let Some(at) = query.live_at {
        let plus = if drive == Drive::Until { "" } else { "+" };
        asked.and(&format!("{plus}s.until > ?"), [Sql::Integer(at.ms())]);
    }
    if let (Some((rel, target)), true) = (&query.link, drive != Drive::Link) {
        let linked =
            "EXISTS (SELECT 1 FROM links l WHERE l.kind = s.kind AND l.id = s.id AND l.rel = ? AND l.target = ?)";
        asked.and(linked, [Sql::Text(rel.name().to_owned()), Sql::Text(target.clone())]);
    }
    if !statuses.is_empty() {
        let marks = vec!["?"; statuses.len()].join(", ");
        let condition = match drive {
            Drive::Status => "s.status = ?".to_owned(),
            Drive::Link => "l.status = ?".to_owned(),
            _ => format!("+s.status IN ({marks})"),
        };
        asked.and(&condition, statuses.iter().map(|status| Sql::Text((*status).to_owned())));
    }
    // Driven by a lease's end, the order is made by sorting what is live; else the index has it.
    let order = match drive {
        Drive::Link => ("l.rank", "l.id"),
        Drive::Until => ("+s.rank", "+s.id"),
        Drive::Owner | Drive::Parent | Drive::Name | Drive::Status | Drive::Rank => ("s.rank", "s.id"),
    };
    asked.page(order, query.after.as_ref(), query.limit)
}

struct Asked {
    sql: String,
    values: Vec<Sql>,
}

impl Asked {
    fn from(query: &Query, drive: Drive) -> Self {
        let kind = Sql::Text(query.kind.name().to_owned());
        match &query.link {
            Some((rel, target)) if drive == Drive::Link => Self {
                sql: format!(
                    "SELECT {ROW} FROM links l CROSS JOIN state s ON s.kind = l.kind AND s.id = l.id \
                     WHERE l.kind = ? AND l.rel = ? AND l.target = ?"
                ),
                values: vec![kind, Sql::Text(rel.name().to_owned()), Sql::Text(target.clone())],
            },
            _ => Self { sql: format!("SELECT {ROW} FROM state s WHERE s.kind = ?"), values: vec![kind] },
        }
    }

    fn and(&mut self, condition: &str, values: impl IntoIterator<Item = Sql>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.extend(values);
    }

    fn page(mut self, (rank, id): (&str, &str), after: Option<&Cursor>, limit: u32) -> (String, Vec<Sql>) {
        if let Some(after) = after {
            self.and(&format!("({rank}, {id}) > (?, ?)"), [Sql::Integer(after.rank), Sql::Text(after.id.clone())]);
        }
        self.sql.push_str(&format!(" ORDER BY {rank}, {id} LIMIT ?"));
        self.values.push(page_size(limit));
        (self.sql, self.values)
    }
}

/// Tasks that are open and need nothing that is not finished.
pub fn ready(after: Option<&Cursor>, limit: u32) -> (String, Vec<Sql>) {
    let sql = format!(
        "SELECT {ROW} FROM state s WHERE s.kind = 'task' AND s.status = 'open' AND NOT EXISTS (
           SELECT 1 FROM links l LEFT JOIN state d ON d.kind = 'task' AND d.id = l.target
           WHERE l.kind = 'task' AND l.id = s.id AND l.rel = 'needs' AND d.status IS NOT 'finished')"
    );
    Asked { sql, values: Vec::new() }.page(("s.rank", "s.id"), after, limit)
}

/// Events after `after_seq`, of one stream if it is named.
pub fn events(stream: Option<&str>, after_seq: u64, limit: u32) -> (String, Vec<Sql>) {
    events_from(("seq > ?", "seq"), stream, after_seq, limit)
}

/// Events before `before_seq`, the newest first, of one stream if it is named.
pub fn events_before(stream: Option<&str>, before_seq: u64, limit: u32) -> (String, Vec<Sql>) {
    events_from(("seq < ?", "seq DESC"), stream, before_seq, limit)
}

fn events_from((place, order): (&str, &str), stream: Option<&str>, seq: u64, limit: u32) -> (String, Vec<Sql>) {
    let seq = Sql::Integer(i64::try_from(seq).unwrap_or(i64::MAX));
    let mut asked = Asked { sql: format!("SELECT {EVENT} FROM events WHERE {place}"), values: vec![seq] };
    if let Some(stream) = stream {
        asked.and("stream = ?", [Sql::Text(stream.to_owned())]);
    }
    asked.sql.push_str(&format!(" ORDER BY {order} LIMIT ?"));
    asked.values.push(page_size(limit));
    (asked.sql, asked.values)
}

fn page_size(limit: u32) -> Sql {
    Sql::Integer(limit.min(MAX_PAGE).into())
}
