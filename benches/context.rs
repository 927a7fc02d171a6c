//! How long the context index takes, on a repository made for it: the first index, a new process that finds nothing
//! changed, and searches. Prints; never fails by a clock. `cargo bench --bench context -- 10000`, or a repository's
//! directory in place of the number, which is then searched at its HEAD.
#![expect(clippy::disallowed_methods, reason = "a bench is where time is taken")]
#![expect(clippy::print_stdout, reason = "the table is the result")]

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use git2::{IndexEntry, IndexTime, Repository, Signature};
use kctl::adapters::passages::PassageIndex;
use kctl::domain::path::TreePath;
use kctl::ports::passages::{Passages, Query, View};
use kctl::rules::context::capsule::{Kind, Parts, pack};
use kctl::rules::context::fragment::{of_map, of_passage};
use kctl::rules::context::fragments::cut;

const RUNS: usize = 21;
const WORDS: [&str; 40] = [
    "session", "token", "ledger", "parse", "render", "commit", "branch", "worker", "queue", "retry", "timeout",
    "socket", "buffer", "cursor", "schema", "index", "query", "cache", "config", "policy", "signal", "thread",
    "packet", "frame", "matrix", "vector", "invoice", "account", "payment", "customer", "report", "metric", "sensor",
    "filter", "encode", "decode", "digest", "verify", "publish", "archive",
];

fn main() -> Result<()> {
    let files = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(10_000);
    let dir = tempfile::tempdir()?;
    let given = std::env::args().skip(1).find(|argument| Path::new(argument).is_dir());
    let root = given.as_deref().map_or(dir.path(), Path::new);
    let view = if given.is_some() { at_head(root)? } else { repository(root, files)? };
    let common_dir = root.join(".git");
    let started = Instant::now();
    let mut calls = 0;
    let coverage = loop {
        calls += 1;
        let coverage = PassageIndex::new(&common_dir, cut).refresh(&view, Duration::from_secs(2));
        if coverage.partial.is_none() || calls > 1000 {
            break coverage;
        }
    };
    println!("first index: {:?} in {calls} calls, {coverage:?}", started.elapsed());
    println!("size: {} MiB", common_dir.join("decapod/index.db").metadata()?.len() >> 20);
    let touched = vec![TreePath::new("crate3/mod7/file37.rs")];
    for text in [
        "where is the payment token verified",
        "decode_socket_frame retry",
        "unique_5021",
        "session queue cache policy",
    ] {
        let query = Query { text: text.to_owned(), touched: touched.clone(), limit: 24, ..Query::default() };
        let mut times: [Vec<Duration>; 3] = Default::default();
        let mut note = String::new();
        for _ in 0..RUNS {
            let start = Instant::now();
            let index = PassageIndex::new(&common_dir, cut);
            index.refresh(&view, Duration::from_secs(2));
            times[0].push(start.elapsed());
            let start = Instant::now();
            let found = index.search(&view, &query);
            times[1].push(start.elapsed());
            let start = Instant::now();
            let map = of_map(&index.map(&view, &touched));
            let passages = found.passages.iter().map(of_passage).collect();
            let optional = vec![(Kind::Passages, passages), (Kind::FileMap, map)];
            let capsule = pack(Parts { optional, ..Parts::default() }, 8000).context("nothing is required")?;
            times[2].push(start.elapsed());
            note =
                format!("{} found, {} common, ~{} tokens", found.passages.len(), found.too_common.len(), capsule.used);
        }
        let median = |mut times: Vec<Duration>| {
            times.sort();
            times[RUNS / 2]
        };
        let [open, search, capsule] = times.map(median);
        println!("{text:40} open+refresh {open:9.1?} search {search:9.1?} map+capsule {capsule:9.1?} ({note})");
    }
    Ok(())
}

fn at_head(dir: &Path) -> Result<View> {
    let commit = Repository::open(dir)?.head()?.peel_to_commit()?.id();
    let commit = commit.to_string().parse().map_err(anyhow::Error::msg)?;
    Ok(View { name: "main".to_owned(), commit, work_tree: Some(dir.to_path_buf()) })
}

/// Makes a commit of `files` files of 40 to 200 lines.
fn repository(dir: &Path, files: usize) -> Result<View> {
    let repo = Repository::init(dir)?;
    let mut index = repo.index()?;
    let mut state: u64 = 42;
    for number in 0..files {
        let text = source(number, &mut state);
        let path = format!("crate{}/mod{}/file{number}.rs", number % 10, number / 10 % 30);
        let zero = IndexTime::new(0, 0);
        index.add(&IndexEntry {
            ctime: zero,
            mtime: zero,
            dev: 0,
            ino: 0,
            mode: 0o100_644,
            uid: 0,
            gid: 0,
            file_size: 0,
            id: repo.blob(text.as_bytes())?,
            flags: 0,
            flags_extended: 0,
            path: path.into_bytes(),
        })?;
    }
    let tree = repo.find_tree(index.write_tree()?)?;
    let who = Signature::now("bench", "bench@example.org")?;
    let commit = repo.commit(Some("HEAD"), &who, &who, "all", &tree, &[])?;
    let commit = commit.to_string().parse().map_err(anyhow::Error::msg)?;
    Ok(View { name: "main".to_owned(), commit, work_tree: Some(dir.to_path_buf()) })
}

fn source(number: usize, state: &mut u64) -> String {
    let mut next = |most: usize| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % most
    };
    let mut text = format!("//! Part {number}.\n\nuse crate::mod{}::file{};\n\n", next(30), next(1000));
    for function in 0..4 + next(16) {
        let (a, b, c) = (WORDS[next(40)], WORDS[next(40)], WORDS[next(40)]);
        text.push_str(&format!("/// Tries to {a} the {b}, and then the {c}.\npub fn {a}_{b}_{number}_{function}(input: &str) -> Option<usize> {{\n"));
        for _ in 0..1 + next(8) {
            let (d, e) = (WORDS[next(40)], WORDS[next(40)]);
            text.push_str(&format!("    let {d} = input.find(\"{e}\").map(|at| at + {})?;\n", next(1000)));
        }
        text.push_str("    Some(input.len())\n}\n\n");
    }
    text.push_str(&format!("pub fn unique_{number}() {{}}\n"));
    text
}
