//! Reads the files of a view that are not indexed yet, in batches that are whole, until the time is up.

use std::time::{Duration, Instant};

use git2::{ErrorCode, ObjectType, Oid, Repository};
use rusqlite::{Connection, TransactionBehavior, params};

use super::admit::{self, MAX_FILE_BYTES};
use super::fold::{INDEXED, state_of};
use super::store::Trouble;
use super::{imports, words};
use crate::domain::fragment::{Cut, Span};
use crate::domain::path::TreePath;
use crate::ports::passages::Skip;

/// One batch is committed after this long, so that other processes wait no longer than that.
const BATCH_WITHIN: Duration = Duration::from_millis(200);
const MAX_BATCH_FILES: i64 = 512;
/// The most fragments of one file: as many as an id has room for.
const MAX_FRAGMENTS: usize = 1 << SEQUENCE_BITS;

/// The most words of a path or a name.
const MAX_NAME_WORDS: usize = 48;

// A fragment's id says its file, its place in it, and how long it is: ranking needs no row for that.
const SEQUENCE_BITS: u32 = 10;
const LENGTH_BITS: u32 = 5;

pub fn file_of(fragment: i64) -> i64 {
    fragment >> (SEQUENCE_BITS + LENGTH_BITS)
}

/// Which of its file's fragments it is, from 0.
pub fn place_of(fragment: i64) -> i64 {
    (fragment >> LENGTH_BITS) & ((1 << SEQUENCE_BITS) - 1)
}

/// The first and the last id that a fragment of `file` can have.
pub fn ids_of(file: i64) -> (i64, i64) {
    let low = file << (SEQUENCE_BITS + LENGTH_BITS);
    (low, low | ((1 << (SEQUENCE_BITS + LENGTH_BITS)) - 1))
}

/// About how many words the fragment has.
pub fn words_of(fragment: i64) -> f64 {
    let class = fragment & ((1 << LENGTH_BITS) - 1);
    2_f64.powf(class as f64 / 3.0)
}

fn id(file: i64, sequence: usize, words: usize) -> i64 {
    let class = ((words.max(1) as f64).log2() * 3.0).round().min(31.0) as i64;
    (ids_of(file).0) | ((sequence as i64) << LENGTH_BITS) | class
}

/// Indexes the view's pending files until `until`. Gives how many were read.
pub fn index(db: &mut Connection, repo: &Repository, view: i64, cut: Cut, until: Instant) -> Result<u32, Trouble> {
    let mut read = 0;
    while Instant::now() < until {
        // Which files are pending is asked under the lock: another process may be at the same work.
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let batch_until = until.min(Instant::now() + BATCH_WITHIN);
        let files = pending(&change, view)?;
        if files.is_empty() {
            break;
        }
        for file in &files {
            if Instant::now() >= batch_until {
                break;
            }
            take(&change, repo, file, cut)?;
            read += 1;
        }
        change.commit()?;
    }
    // Also when nothing was read: another view, or a process that was killed, may have read the files.
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    super::fold::recount(&change, view)?;
    change.commit()?;
    Ok(read)
}

struct File {
    id: i64,
    path: Vec<u8>,
    blob: Vec<u8>,
}

fn pending(db: &Connection, view: i64) -> Result<Vec<File>, Trouble> {
    let mut select = db.prepare_cached(
        "SELECT id, path, blob FROM files
         WHERE state = 0 AND NOT EXISTS (SELECT 1 FROM absent WHERE file = files.id AND view = ?1) ORDER BY id LIMIT ?2",
    )?;
    let read = |row: &rusqlite::Row<'_>| Ok(File { id: row.get(0)?, path: row.get(1)?, blob: row.get(2)? });
    Ok(select.query_map([view, MAX_BATCH_FILES], read)?.collect::<Result<_, _>>()?)
}

fn take(db: &Connection, repo: &Repository, file: &File, cut: Cut) -> Result<(), Trouble> {
    let (state, fragments) = match read_blob(repo, &file.blob)? {
        Ok(bytes) => match admit::by_content(&bytes) {
            Some(skip) => (state_of(skip), 0),
            None => (INDEXED, insert(db, file, &words::text_of(bytes), cut)?),
        },
        Err(skip) => (state_of(skip), 0),
    };
    let mut update = db.prepare_cached("UPDATE files SET state = ?2, fragments = ?3 WHERE id = ?1")?;
    update.execute(params![file.id, state, fragments])?;
    Ok(())
}

/// The bytes of a blob that is there and not huge.
fn read_blob(repo: &Repository, blob: &[u8]) -> Result<Result<Vec<u8>, Skip>, Trouble> {
    let blob = Oid::from_bytes(blob)?;
    let odb = repo.odb()?;
    match odb.read_header(blob) {
        Ok((size, ObjectType::Blob)) if size <= MAX_FILE_BYTES => {}
        Ok((_, ObjectType::Blob)) => return Ok(Err(Skip::Huge)),
        Ok(_) => return Ok(Err(Skip::Missing)),
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(Err(Skip::Missing)),
        Err(error) => return Err(error.into()),
    }
    match odb.read(blob) {
        Ok(object) => Ok(Ok(object.data().to_vec())),
        Err(_) => Ok(Err(Skip::Missing)),
    }
}

fn insert(db: &Connection, file: &File, text: &str, cut: Cut) -> Result<usize, Trouble> {
    let path = TreePath::new(file.path.clone());
    let place = words::distinct(&String::from_utf8_lossy(&file.path), MAX_NAME_WORDS).join(" ");
    let mut insert = db.prepare_cached("INSERT INTO places (rowid, path, imports) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![file.id, place, imports::of(text)])?;
    let spans = cut(&path, text);
    let mut count = 0;
    for span in spans.iter().take(MAX_FRAGMENTS) {
        let Some(body) = text.get(span.start..span.end).filter(|body| !body.trim().is_empty()) else { continue };
        insert_fragment(db, file.id, count, span, body)?;
        count += 1;
    }
    Ok(count)
}

fn insert_fragment(db: &Connection, file: i64, sequence: usize, span: &Span, body: &str) -> Result<(), Trouble> {
    let words::Columns { by_times: [once, twice, often], total } = words::columns(body);
    let id = id(file, sequence, total);
    let row = "INSERT INTO fragments (id, first, last, start, stop, name) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let Span { name, lines, start, end } = span;
    db.prepare_cached(row)?.execute(params![id, lines.first, lines.last, start, end, name])?;
    db.prepare_cached("INSERT INTO bodies (rowid, once, twice, often) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![id, once, twice, often])?;
    let title = words::distinct(name, MAX_NAME_WORDS).join(" ");
    db.prepare_cached("INSERT INTO titles (rowid, name) VALUES (?1, ?2)")?.execute(params![id, title])?;
    db.prepare_cached("INSERT INTO grams (rowid, name) VALUES (?1, ?2)")?.execute(params![id, name.to_lowercase()])?;
    Ok(())
}
