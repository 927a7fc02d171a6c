//! What is found, and why.

use super::{PARSER, Root, WITHIN, WRITER, ask, database, named, paths, refreshed};
use crate::domain::fragment::{OnDisk, Passage};
use crate::domain::path::TreePath;
use crate::ports::passages::{Passages as _, Query, Skip, Storage};

#[test]
fn a_passage_says_where_it_is_and_why_it_was_found() {
    let root = Root::new();
    let view = root.commit(None, &[("src/parser.rs", Some(PARSER)), ("docs/a.md", Some("# Gulls\n\nThey shout.\n"))]);
    let index = root.index();
    let coverage = refreshed(&index, &view);
    assert_eq!((coverage.files, coverage.indexed, coverage.read, coverage.storage), (2, 2, 2, Storage::Disk));
    let found = index.search(&view, &ask("where is the quarterly ledger parsed?"));
    let Passage { path, lines, name, text, score, .. } = &found.passages[0];
    assert_eq!(
        (path.to_string().as_str(), lines.first, lines.last, name.as_str()),
        ("src/parser.rs", 1, 4, "parse_ledger")
    );
    assert_eq!(text, PARSER);
    assert!(score.bm25 > 0 && score.name > 0 && score.total == score.bm25 + score.name + score.recency, "{score:?}");
    assert_eq!(paths(&found), ["src/parser.rs"], "what has no score is left out");
    assert_eq!(paths(&index.search(&view, &ask("zebra"))), [""; 0]);
}

#[test]
fn an_unchanged_tree_is_no_work_and_a_changed_one_only_its_difference() {
    let root = Root::new();
    let first = root.commit(None, &[("a.rs", Some(PARSER)), ("b.rs", Some(WRITER)), ("c/d.md", Some("# Heron\n"))]);
    assert_eq!(refreshed(&root.index(), &first).read, 3);
    assert_eq!(refreshed(&root.index(), &first).read, 0);
    let second = root.commit(Some(&first), &[("a.rs", Some("pub fn osprey() {}\n")), ("b.rs", None)]);
    let index = root.index();
    assert_eq!(refreshed(&index, &second).read, 1);
    assert_eq!(paths(&index.search(&second, &ask("osprey"))), ["a.rs"]);
    assert_eq!(paths(&index.search(&second, &ask("ledger report"))), [""; 0]);
    let rows: i64 = database(&root).query_row("SELECT count(*) FROM files", [], |row| row.get(0)).expect("a count");
    assert_eq!(rows, 2, "what no view has any more is deleted");
    assert_eq!(refreshed(&index, &first).read, 2, "and is read again when it comes back");
}

#[test]
fn views_share_files_and_do_not_see_each_others() {
    let root = Root::new();
    let main = root.commit(None, &[("a.rs", Some(PARSER)), ("b.rs", Some(WRITER))]);
    let side = named(&root.commit(Some(&main), &[("b.rs", Some("fn osprey() {}\n"))]), "side");
    let index = root.index();
    assert_eq!(refreshed(&index, &main).read, 2);
    assert_eq!(refreshed(&index, &side).read, 1);
    assert_eq!(paths(&index.search(&main, &ask("osprey"))), [""; 0]);
    assert_eq!(paths(&index.search(&side, &ask("osprey"))), ["b.rs"]);
    assert_eq!(paths(&index.search(&side, &ask("write_report"))), [""; 0]);
    let alone = Root::new();
    let same = alone.commit(None, &[("a.rs", Some(PARSER)), ("b.rs", Some(WRITER))]);
    let other = alone.index();
    refreshed(&other, &same);
    let query = ask("ledger report text");
    assert_eq!(index.search(&main, &query), other.search(&same, &query), "other views do not move the scores");
}

#[test]
fn more_views_than_the_bound_push_out_the_oldest() {
    let root = Root::new();
    let base = root.commit(None, &[("a.rs", Some(PARSER))]);
    let index = root.index();
    for number in 0..70 {
        let text = format!("fn only_{number}() {{}}\n");
        let view = named(&root.commit(Some(&base), &[("x.rs", Some(text.as_str()))]), &format!("view-{number}"));
        refreshed(&index, &view);
    }
    let count = |table: &str| -> i64 {
        database(&root).query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("a count")
    };
    assert_eq!((count("views"), count("files"), count("fragments")), (64, 65, 65));
}

#[test]
fn nearness_imports_and_tags_find_passages_without_a_word() {
    let root = Root::new();
    let view = root.commit(
        None,
        &[
            ("src/parser.rs", Some(PARSER)),
            ("src/other.rs", Some("fn other() {}\n")),
            ("app/writer.rs", Some(WRITER)),
            ("far/away.rs", Some("fn away() {}\n")),
            ("billing/notes.md", Some("# Notes\n\nInvoices.\n")),
        ],
    );
    let index = root.index();
    refreshed(&index, &view);
    let query = Query {
        touched: vec![TreePath::new("src/parser.rs")],
        tags: vec!["billing".to_owned()],
        limit: 9,
        ..Query::default()
    };
    let found = index.search(&view, &query);
    assert_eq!(paths(&found), ["src/parser.rs", "app/writer.rs", "src/other.rs", "billing/notes.md"]);
    assert!(found.passages[1].score.imports > 0 && found.passages[3].score.binding > 0);
    let from_writer = Query { touched: vec![TreePath::new("app/writer.rs")], limit: 9, ..Query::default() };
    assert_eq!(paths(&index.search(&view, &from_writer)), ["app/writer.rs", "src/parser.rs"]);
}

#[test]
fn part_of_an_identifier_finds_it() {
    let root = Root::new();
    let view = root.commit(None, &[("a.rs", Some("fn reconcilePayments() {}\n")), ("b.rs", Some("fn other() {}\n"))]);
    let index = root.index();
    refreshed(&index, &view);
    assert_eq!(paths(&index.search(&view, &ask("conciL"))), ["a.rs"]);
}

#[test]
fn words_that_are_common_alone_are_found_together() {
    let root = Root::new();
    let names: Vec<String> = (0..12_000).map(|number| format!("d{}/f{number}.txt", number % 9)).collect();
    let text = |number: usize| match number {
        7 => "heron and osprey\n",
        number if number % 2 == 0 => "heron\n",
        _ => "osprey\n",
    };
    let files: Vec<_> = names.iter().enumerate().map(|(number, name)| (name.as_str(), Some(text(number)))).collect();
    let view = root.commit(None, &files);
    let index = root.index();
    while index.refresh(&view, WITHIN).pending > 0 {}
    let found = index.search(&view, &ask("heron osprey"));
    assert_eq!((paths(&found), found.too_common.len()), (vec!["d7/f7.txt".to_owned()], 2));
}

#[test]
fn no_query_is_a_syntax_error() {
    let root = Root::new();
    let view = root.commit(None, &[("a.rs", Some(PARSER))]);
    let index = root.index();
    refreshed(&index, &view);
    let huge = "ledger ".repeat(100_000);
    for text in [
        "\"",
        "NEAR(",
        "a AND",
        "ledger*",
        "{x}: y",
        "-ledger",
        "'; DROP TABLE files; --",
        "\0\u{1}",
        "^ + ( ) *",
        "日本",
        &huge,
    ] {
        let query = Query {
            op: Some(text.to_owned()),
            tags: vec![text.to_owned()],
            touched: vec![TreePath::new(text)],
            ..ask(text)
        };
        assert_eq!(index.search(&view, &query).partial, None, "{text:?}");
    }
    let words: String = (0..500).map(|number| format!("word{number} ")).collect();
    assert!(index.search(&view, &ask(&words)).words_left_out > 100);
}

#[test]
fn what_is_not_worth_searching_is_counted_by_reason() {
    let root = Root::new();
    let huge = "word\n".repeat(200_000);
    let view = root.commit(
        None,
        &[
            ("a.bin", Some("a\0b")),
            ("vendor/x.go", Some("package x\n")),
            ("Cargo.lock", Some("# it\n")),
            ("big.txt", Some(huge.as_str())),
            ("empty.rs", Some("")),
            ("ok.rs", Some("fn ok() {}\n")),
        ],
    );
    let coverage = refreshed(&root.index(), &view);
    let skipped: Vec<_> = coverage.skipped.into_iter().collect();
    assert_eq!(skipped, [(Skip::Binary, 1), (Skip::Generated, 1), (Skip::Vendored, 1), (Skip::Huge, 1)]);
    assert_eq!((coverage.files, coverage.indexed), (6, 2));
}

#[test]
fn paths_and_contents_need_not_be_utf8() {
    let root = Root::new();
    let view = root.commit_bytes(None, &[(b"d\xff/n\xfe.rs", Some(b"fn caf\xe9_heron() {}\nfn osprey() {}\n"))]);
    let index = root.index();
    refreshed(&index, &view);
    let found = index.search(&view, &ask("osprey"));
    assert_eq!(found.passages[0].path.as_bytes(), b"d\xff/n\xfe.rs");
    assert!(found.passages[0].text.contains('\u{fffd}'));
    let map = index.map(&view, &[TreePath::new(b"d\xff/n\xfe.rs".to_vec())]);
    assert_eq!((map.top[0].files, map.near[0].path.as_bytes()), (Some(1), &b"d\xff/n\xfe.rs"[..]));
}

#[test]
fn a_file_that_changed_on_disk_is_flagged() {
    let root = Root::new();
    let text = "fn osprey() {}\nfn heron() {}\n";
    let files = ["same.rs", "crlf.rs", "edited.rs", "gone.rs", "folder.rs"];
    let mut view = root.commit(None, &files.map(|path| (path, Some(text))));
    let work_tree = root.dir.path();
    for (path, text) in [("same.rs", text), ("crlf.rs", &text.replace('\n', "\r\n")), ("edited.rs", "fn osprey() {}\n")]
    {
        fs_err::write(work_tree.join(path), text).expect("written");
    }
    fs_err::create_dir(work_tree.join("folder.rs")).expect("made");
    view.work_tree = Some(work_tree.to_path_buf());
    let index = root.index();
    refreshed(&index, &view);
    let found = index.search(&view, &ask("osprey"));
    let mut states: Vec<_> = found.passages.iter().map(|p| (p.path.to_string(), p.on_disk)).collect();
    states.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        ("crlf.rs", OnDisk::Same),
        ("edited.rs", OnDisk::Changed),
        ("folder.rs", OnDisk::Changed),
        ("gone.rs", OnDisk::Missing),
        ("same.rs", OnDisk::Same),
    ];
    assert_eq!(states, expected.map(|(path, state)| (path.to_owned(), state)));
}

#[test]
fn the_map_is_bounded_and_counts_what_lies_below() {
    let root = Root::new();
    let mut names: Vec<String> = (0..100).map(|number| format!("dir{number:03}/f.rs")).collect();
    names.extend((0..200).map(|number| format!("dir000/sub/g{number:03}.rs")));
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), Some("x\n"))).collect();
    let view = root.commit(None, &files);
    let index = root.index();
    refreshed(&index, &view);
    let map = index.map(&view, &[TreePath::new("dir000/sub/g000.rs"), TreePath::new("no/such.rs")]);
    assert_eq!((map.top.len(), map.near.len(), map.left_out, map.partial), (64, 96, 36 + 104, None));
    assert_eq!(map.top[0].files, Some(201));
}

#[test]
fn recent_changes_count_a_little() {
    let root = Root::new();
    let first = root.commit(None, &[("a.rs", Some(PARSER)), ("b.rs", Some(PARSER))]);
    let second = root.commit(Some(&first), &[("b.rs", Some(&format!("{PARSER}\n")))]);
    let index = root.index();
    refreshed(&index, &second);
    let found = index.search(&second, &ask("ledger"));
    assert_eq!(paths(&found), ["b.rs", "a.rs"]);
    assert_eq!((found.passages[0].score.recency, found.passages[1].score.recency), (1000, 0));
}
