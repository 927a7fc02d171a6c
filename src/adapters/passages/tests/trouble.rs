//! What happens when time runs out, or the index is damaged, locked, closed or shared.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use super::super::PassageIndex;
use super::{PARSER, Root, WITHIN, WRITER, ask, cut, database, named, paths, refreshed};
use crate::ports::passages::{Passages as _, Storage};

#[test]
fn a_first_index_that_runs_out_of_time_goes_on_with_the_next_call() {
    let root = Root::new();
    let names: Vec<String> = (0..3000).map(|number| format!("d{}/f{number}.rs", number % 7)).collect();
    let text = PARSER.repeat(40);
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), Some(text.as_str()))).collect();
    let view = root.commit(None, &files);
    let first = root.index().refresh(&view, Duration::ZERO);
    assert_eq!((first.files, first.pending), (3000, 3000));
    assert_eq!(root.index().search(&view, &ask("ledger")).partial.as_deref(), Some("some files are not indexed yet"));
    let second = root.index().refresh(&view, Duration::from_millis(60));
    assert!(second.read > 0 && second.pending > 0 && second.indexed == second.read, "{second:?}");
    assert_eq!(second.partial, Some(format!("{} of 3000 files are not indexed yet", second.pending)));
    let mut last = second;
    while last.pending > 0 {
        last = root.index().refresh(&view, Duration::from_secs(1));
        assert!(last.read > 0);
    }
    assert_eq!((last.indexed, last.partial), (3000, None));
}

#[test]
fn a_damaged_or_foreign_or_deleted_index_is_made_again() {
    let root = Root::new();
    let view = root.commit(None, &[("a.rs", Some(PARSER))]);
    let index = root.index();
    refreshed(&index, &view);
    let good = fs_err::read(root.database()).expect("the index");
    let foreign = root.dir.path().join("foreign.db");
    rusqlite::Connection::open(&foreign)
        .expect("a file")
        .execute_batch("CREATE TABLE views (x); PRAGMA user_version = 1;")
        .expect("made");
    let mut torn = good.clone();
    torn[4096..].fill(0x5a);
    let foreign = fs_err::read(foreign).expect("read");
    for bytes in
        [b"not a database at all, but long enough to be read as one".to_vec(), torn, foreign, good[..5000].to_vec()]
    {
        fs_err::write(root.database(), bytes).expect("written");
        let index = root.index();
        refreshed(&index, &view);
        assert_eq!(paths(&index.search(&view, &ask("ledger"))), ["a.rs"]);
    }
    fs_err::remove_file(root.database()).expect("deleted");
    assert_eq!(index.search(&view, &ask("ledger")).partial.as_deref(), Some("nothing is indexed yet"));
    assert_eq!(refreshed(&index, &view).read, 1);
    assert_eq!(paths(&index.search(&view, &ask("ledger"))), ["a.rs"]);
}

#[test]
fn damage_that_only_a_search_meets_is_repaired_by_the_next_refresh() {
    let root = Root::new();
    let view = root.commit(None, &[("a.rs", Some(PARSER))]);
    refreshed(&root.index(), &view);
    database(&root).execute_batch("DELETE FROM bodies_data; DELETE FROM bodies_idx;").expect("spoilt");
    let index = root.index();
    let found = index.search(&view, &ask("ledger"));
    assert!(found.partial.is_some() || !found.passages.is_empty(), "{found:?}");
    refreshed(&index, &view);
    assert_eq!(paths(&index.search(&view, &ask("ledger"))), ["a.rs"]);
}

#[test]
fn an_index_cannot_invent_a_passage() {
    let root = Root::new();
    let view = root.commit(None, &[("a.rs", Some(PARSER)), ("b.rs", Some(WRITER))]);
    refreshed(&root.index(), &view);
    database(&root).execute_batch("UPDATE files SET path = 'evil.rs' WHERE path = CAST('a.rs' AS BLOB);").unwrap_err();
    database(&root)
        .execute_batch("UPDATE files SET path = CAST('evil.rs' AS BLOB) WHERE path = CAST('a.rs' AS BLOB);")
        .expect("spoilt");
    let index = root.index();
    assert_eq!(paths(&index.search(&view, &ask("quarterly ledger"))), ["b.rs"]);
}

#[test]
fn where_the_index_cannot_be_made_it_is_held_in_memory() {
    let root = Root::new();
    let view = root.commit(None, &[("a.rs", Some(PARSER))]);
    // A file where the directory should be cannot be had by any user, root included.
    fs_err::write(root.common_dir().join("decapod"), "in the way").expect("written");
    let index = root.index();
    let coverage = index.refresh(&view, WITHIN);
    assert_eq!((coverage.storage, coverage.indexed), (Storage::Memory, 1));
    assert!(coverage.partial.is_some());
    assert_eq!(paths(&index.search(&view, &ask("ledger"))), ["a.rs"]);
    fs_err::remove_file(root.common_dir().join("decapod")).expect("removed");
    fs_err::create_dir_all(root.database()).expect("a directory in its place");
    assert_eq!(root.index().refresh(&view, WITHIN).storage, Storage::Memory);
}

#[test]
fn an_index_that_may_not_be_written_is_read() {
    if rustix::process::geteuid().is_root() {
        return read_only_by_pragma();
    }
    let root = Root::new();
    let first = root.commit(None, &[("a.rs", Some(PARSER)), ("b.rs", Some(WRITER))]);
    refreshed(&root.index(), &first);
    let second = root.commit(Some(&first), &[("b.rs", Some("fn osprey() {}\n"))]);
    let folder = root.common_dir().join("decapod");
    fs_err::set_permissions(&folder, std::fs::Permissions::from_mode(0o500)).expect("closed");
    fs_err::set_permissions(root.database(), std::fs::Permissions::from_mode(0o400)).expect("closed");
    let index = root.index();
    let coverage = index.refresh(&second, WITHIN);
    assert_eq!(coverage.storage, Storage::ReadOnly);
    assert!(coverage.partial.is_some());
    let found = index.search(&second, &ask("ledger report"));
    assert_eq!(paths(&found), ["a.rs"], "a passage of another tree is left out");
    fs_err::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).expect("opened");
}

/// For root no permission closes a file; another process's lock does.
fn read_only_by_pragma() {
    let root = Root::new();
    let first = root.commit(None, &[("a.rs", Some(PARSER)), ("b.rs", Some(WRITER))]);
    let index = root.index();
    refreshed(&index, &first);
    let second = root.commit(Some(&first), &[("b.rs", Some("fn osprey() {}\n"))]);
    let other = database(&root);
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    let coverage = index.refresh(&second, WITHIN);
    assert_eq!(coverage.partial.as_deref(), Some("the context index is being written by another process"));
    let found = index.search(&second, &ask("ledger report"));
    assert_eq!(paths(&found), ["a.rs"], "a passage of another tree is left out");
    assert!(found.partial.is_some());
    other.execute_batch("ROLLBACK; BEGIN EXCLUSIVE").expect("locked");
    let blind = root.index().refresh(&second, WITHIN);
    assert_eq!((blind.storage, blind.indexed), (Storage::Memory, 2));
}

#[test]
fn processes_that_index_together_do_not_fail_each_other() {
    let root = Root::new();
    let names: Vec<String> = (0..600).map(|number| format!("f{number}.rs")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), Some(PARSER))).collect();
    let view = root.commit(None, &files);
    let common_dir = root.common_dir();
    let run = |name: String| {
        let (common_dir, view) = (common_dir.clone(), named(&view, &name));
        move || {
            let index = PassageIndex::new(common_dir, cut);
            let coverage = index.refresh(&view, WITHIN);
            (coverage, index.search(&view, &ask("ledger")))
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|number| scope.spawn(run(format!("view-{}", number % 3)))).collect();
        for thread in threads {
            let (coverage, found) = thread.join().expect("no panic");
            assert!(coverage.storage == Storage::Disk || coverage.partial.is_some(), "{coverage:?}");
            // A search can meet another process's commit where the refresh did not; then it says so itself.
            let said = coverage.partial.is_some() || found.partial.is_some();
            assert!(found.passages.len() == 10 || said, "{coverage:?} {found:?}");
        }
    });
    assert_eq!(refreshed(&root.index(), &view).indexed, 600);
    let rows: i64 = database(&root).query_row("SELECT count(*) FROM fragments", [], |row| row.get(0)).expect("a count");
    assert_eq!(rows, 600, "nothing was indexed twice");
}

#[test]
fn a_missing_repository_or_commit_is_a_reason_and_not_a_fault() {
    let root = Root::new();
    let mut view = root.commit(None, &[("a.rs", Some(PARSER))]);
    view.commit = "0123456789012345678901234567890123456789".parse().expect("an id");
    let index = root.index();
    assert!(index.refresh(&view, WITHIN).partial.is_some());
    assert!(index.search(&view, &ask("ledger")).partial.is_some());
    assert!(index.map(&view, &[]).partial.is_some());
    let nowhere = PassageIndex::new("/nonexistent/nowhere", cut);
    assert!(nowhere.refresh(&view, WITHIN).partial.is_some() && nowhere.search(&view, &ask("x")).partial.is_some());
}
