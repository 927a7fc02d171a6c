//! The index on real repositories, through the port.

use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{Repository, Signature, Time};

use super::PassageIndex;
use crate::domain::fragment::{Lines, Span};
use crate::domain::path::TreePath;
use crate::ports::passages::{Coverage, Found, Passages as _, Query, View};

mod found;
mod trouble;

const WITHIN: Duration = Duration::from_secs(20);

/// Cuts a file in one piece, named by its first function. How the real one cuts is no business of this floor.
fn cut(_: &TreePath, text: &str) -> Vec<Span> {
    let rest = text.split_once("fn ").map_or("", |(_, rest)| rest);
    let name = rest.split('(').next().unwrap_or_default().to_owned();
    let last = u32::try_from(text.lines().count()).expect("a small text").max(1);
    vec![Span { name, lines: Lines { first: 1, last }, start: 0, end: text.len() }]
}

struct Root {
    dir: tempfile::TempDir,
    repo: Repository,
}

impl Root {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let repo = Repository::init(dir.path()).expect("a repository");
        Self { dir, repo }
    }

    fn common_dir(&self) -> PathBuf {
        self.dir.path().join(".git")
    }

    fn database(&self) -> PathBuf {
        self.common_dir().join("decapod/index.db")
    }

    fn index(&self) -> PassageIndex {
        PassageIndex::new(self.common_dir(), cut)
    }

    /// Commits the files on top of `parent`, on no branch; `None` as content deletes.
    fn commit(&self, parent: Option<&View>, files: &[(&str, Option<&str>)]) -> View {
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_bytes(), text.map(str::as_bytes))).collect();
        self.commit_bytes(parent, &files)
    }

    fn commit_bytes(&self, parent: Option<&View>, files: &[(&[u8], Option<&[u8]>)]) -> View {
        let parent = parent
            .map(|view| self.repo.find_commit(view.commit.as_str().parse().expect("an id")).expect("it is there"));
        let mut index = git2::Index::new().expect("an index in memory");
        if let Some(parent) = &parent {
            index.read_tree(&parent.tree().expect("a tree")).expect("it is read");
        }
        for (path, bytes) in files {
            match bytes {
                Some(bytes) => index.add(&entry(path, self.repo.blob(bytes).expect("a blob"))).expect("it is added"),
                None => index.remove(Path::new(std::str::from_utf8(path).expect("text")), 0).expect("it was there"),
            }
        }
        let tree = self.repo.find_tree(index.write_tree_to(&self.repo).expect("a tree")).expect("it is there");
        let who = Signature::new("t", "t@example.org", &Time::new(1_700_000_000, 0)).expect("a name");
        let parents: Vec<_> = parent.iter().collect();
        let id = self.repo.commit(None, &who, &who, "m", &tree, &parents).expect("a commit");
        View { name: "main".to_owned(), commit: id.to_string().parse().expect("an id"), work_tree: None }
    }
}

fn entry(path: &[u8], id: git2::Oid) -> git2::IndexEntry {
    let zero = git2::IndexTime::new(0, 0);
    git2::IndexEntry {
        ctime: zero,
        mtime: zero,
        dev: 0,
        ino: 0,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.to_vec(),
    }
}

fn named(view: &View, name: &str) -> View {
    View { name: name.to_owned(), ..view.clone() }
}

fn ask(text: &str) -> Query {
    Query { text: text.to_owned(), limit: 10, ..Query::default() }
}

fn paths(found: &Found) -> Vec<String> {
    found.passages.iter().map(|passage| passage.path.to_string()).collect()
}

fn refreshed(index: &PassageIndex, view: &View) -> Coverage {
    let coverage = index.refresh(view, WITHIN);
    assert_eq!(coverage.partial, None);
    coverage
}

const PARSER: &str =
    "/// Parses the quarterly ledger.\npub fn parse_ledger(text: &str) -> Ledger {\n    todo(text)\n}\n";
const WRITER: &str = "use crate::parser::parse_ledger;\n\npub fn write_report() {\n    parse_ledger(\"\");\n}\n";

fn database(root: &Root) -> rusqlite::Connection {
    rusqlite::Connection::open(root.database()).expect("the index")
}
