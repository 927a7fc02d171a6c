//! Snapshots of real work trees.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::{LocalTrees, cache};
use crate::adapters::git::fixture::{Fixture, git, make_executable};
use crate::domain::path::TreePath;
use crate::ports::trees::{Entry, Snapshot, TreeFault, Trees};
use crate::rules::inputs::differing;

fn snapshot(top: &Path) -> Snapshot {
    LocalTrees.snapshot(top).expect("the work tree can be read")
}

/// Mode and path of every entry.
fn seen(top: &Path) -> Vec<String> {
    snapshot(top).entries.iter().map(|entry| format!("{:06o} {}", entry.mode, entry.path)).collect()
}

fn entry(snapshot: &Snapshot, path: &[u8]) -> Option<Entry> {
    snapshot.entries.iter().find(|entry| entry.path.as_bytes() == path).cloned()
}

fn changed(old: &Snapshot, new: &Snapshot) -> Vec<String> {
    differing(old, new).iter().map(ToString::to_string).collect()
}

/// Longer than the margin for racy files.
fn let_files_age() {
    std::thread::sleep(Duration::from_millis(150));
}

#[test]
fn tracked_and_untracked_files_count_and_ignored_ones_do_not() {
    let f = Fixture::new();
    f.write(".gitignore", "*.log\n/out/\n!keep.log\n");
    f.write("new file", "x");
    f.write("x.log", "x");
    f.write("keep.log", "x");
    f.write("out/deep/x", "x");
    f.write("dir/.gitignore", "/c.txt\n!d.log\n");
    f.write("dir/c.txt", "x");
    f.write("dir/d.log", "x");
    f.write(".decapod/kctl.toml", "x");
    f.symlink("nowhere", "link");
    f.write("run.sh", "x");
    make_executable(&f.path("run.sh"));
    assert_eq!(
        seen(&f.work),
        [
            "100644 .decapod/kctl.toml",
            "100644 .gitignore",
            "100644 a.txt",
            "100644 dir/.gitignore",
            "100644 dir/b.txt",
            "100644 dir/d.log",
            "100644 keep.log",
            "120000 link",
            "100644 new file",
            "100755 run.sh",
        ]
    );
}

#[test]
fn the_list_is_what_git_lists() {
    let f = Fixture::new();
    f.write(".gitignore", "a*\n!ab\n**/deep\nx/**/z\n\\#odd\ntrail \nq?[0-9]\n/only-top\nd/\n*.o\n");
    f.write("sub/.gitignore", "!*.o\n/here\n*.tmp\n");
    for name in [
        "ab",
        "ac",
        "deep/f",
        "s/deep/f",
        "x/z",
        "x/y/z",
        "x/y/w",
        "#odd",
        "trail",
        "qa1",
        "qab",
        "only-top",
        "s/only-top",
        "d",
        "s/d/f",
        "b.o",
        "sub/b.o",
        "sub/here",
        "sub/deeper/here",
        "sub/c.tmp",
        "sub/deeper/c.tmp",
    ] {
        f.write(name, "x");
    }
    f.write(".git/info/exclude", "excluded\n");
    f.write("excluded", "x");
    f.git(&["add", "-f", "s/d/f", "only-top"]);
    f.write("s/d/untracked-in-ignored", "x");
    let listed = f.git(&["ls-files", "-co", "--exclude-standard"]);
    let mut listed: Vec<&str> = listed.lines().collect();
    listed.sort_unstable();
    let ours: Vec<String> = snapshot(&f.work).entries.iter().map(|entry| entry.path.to_string()).collect();
    assert_eq!(ours, listed);
}

#[test]
fn content_is_raw_and_no_program_of_the_repository_runs() {
    let f = Fixture::new();
    f.write(".gitattributes", "*.txt text eol=crlf\n");
    let marker = f.make_hostile();
    f.write("a.txt", "one\r\n");
    let tree = snapshot(&f.work);
    assert_eq!(entry(&tree, b"a.txt").map(|e| e.digest), Some(Sha256::digest(b"one\r\n").into()));
    f.symlink("a.txt", "link");
    assert_eq!(entry(&snapshot(&f.work), b"link").map(|e| e.digest), Some(Sha256::digest(b"a.txt").into()));
    assert!(!marker.exists());
}

#[test]
fn an_edit_is_seen_whatever_its_size_and_time() {
    let f = Fixture::new();
    let old = snapshot(&f.work);
    let_files_age();
    snapshot(&f.work);
    let before = fs_err::metadata(f.path("a.txt")).expect("it is there");
    f.write("a.txt", "ONE\n");
    let time = before.modified().expect("times are kept");
    fs_err::OpenOptions::new().write(true).open(f.path("a.txt")).and_then(|file| file.set_modified(time)).expect("set");
    assert_eq!(changed(&old, &snapshot(&f.work)), ["a.txt"]);
    f.write("a.txt", "one\n");
    assert_eq!(changed(&old, &snapshot(&f.work)), [] as [&str; 0], "a revert restores the digest");
}

#[test]
fn an_edit_right_after_a_snapshot_is_seen() {
    let f = Fixture::new();
    for round in 0..40 {
        f.write("a.txt", format!("{:04}", 2 * round));
        let old = snapshot(&f.work);
        f.write("a.txt", format!("{:04}", 2 * round + 1));
        assert_eq!(changed(&old, &snapshot(&f.work)), ["a.txt"], "round {round}");
    }
}

#[test]
fn another_inode_is_read_again_though_all_else_is_alike() {
    let f = Fixture::new();
    let_files_age();
    let old = snapshot(&f.work);
    f.write("other", "ONE\n");
    let time = fs_err::metadata(f.path("a.txt")).and_then(|meta| meta.modified()).expect("times are kept");
    fs_err::OpenOptions::new().write(true).open(f.path("other")).and_then(|file| file.set_modified(time)).expect("set");
    fs_err::rename(f.path("other"), f.path("a.txt")).expect("rename");
    assert_eq!(changed(&old, &snapshot(&f.work)), ["a.txt"]);
}

/// The one cache file of the fixture.
fn cache_file(f: &Fixture) -> std::path::PathBuf {
    let dir = f.path(".git/decapod/cache");
    let mut files: Vec<_> = fs_err::read_dir(dir).expect("the cache is there").flatten().collect();
    assert_eq!(files.len(), 1, "one cache, and no temporary file left");
    files.remove(0).path()
}

#[test]
fn a_remembered_digest_is_used_and_a_broken_cache_is_not() {
    let f = Fixture::new();
    fs_err::create_dir(f.path(".git/decapod")).expect("made");
    let_files_age();
    let old = snapshot(&f.work);
    let cache = cache_file(&f);
    let sound = fs_err::read(&cache).expect("the cache is there");
    for broken in [&sound[..sound.len() / 2], b"", b"kctlstat\x02\0\0\0", &[0xff; 4096]] {
        fs_err::write(&cache, broken).expect("break it");
        assert_eq!(snapshot(&f.work), old);
        assert_eq!(fs_err::read(&cache).expect("it was made anew").len(), sound.len());
    }
    let rows_before = fs_err::metadata(&cache).and_then(|meta| meta.modified()).expect("times are kept");
    assert_eq!(snapshot(&f.work), old);
    let rows_after = fs_err::metadata(&cache).and_then(|meta| meta.modified()).expect("times are kept");
    assert_eq!(rows_before, rows_after, "nothing learnt, nothing written");
    // A planted digest shows that it is the cache that answers, and only for the very same file.
    let mut planted = cache::rows(&sound, &top(&f)).expect("a sound cache");
    planted.iter_mut().for_each(|row| row.digest = [9; 32]);
    cache::store(&cache, &top(&f), &planted);
    assert_eq!(entry(&snapshot(&f.work), b"a.txt").map(|e| e.digest), Some([9; 32]));
    make_executable(&f.path("a.txt"));
    let read_again = snapshot(&f.work);
    assert_eq!(entry(&read_again, b"a.txt").map(|e| e.digest), entry(&old, b"a.txt").map(|e| e.digest));
}

/// The work tree as the cache spells it.
fn top(f: &Fixture) -> std::path::PathBuf {
    f.work.join("")
}

#[test]
fn a_cache_that_cannot_be_written_changes_nothing() {
    let f = Fixture::new();
    f.write(".git/decapod", "in the way");
    let_files_age();
    assert_eq!(snapshot(&f.work), snapshot(&f.work));
}

#[test]
fn deleted_replaced_and_special_files_are_told_apart() {
    let f = Fixture::new();
    for name in ["gone", "to-dir", "to-fifo", "to-link", "sub/x"] {
        f.write(name, "x");
    }
    f.commit("more");
    f.remove("gone");
    f.remove("to-dir");
    f.write("to-dir/in", "x");
    f.remove("to-fifo");
    f.remove("to-link");
    f.symlink("a.txt", "to-link");
    let fifo = std::process::Command::new("mkfifo").arg(f.path("to-fifo")).arg(f.path("new-fifo")).status();
    assert!(fifo.expect("mkfifo runs").success());
    let _socket = std::os::unix::net::UnixListener::bind(f.path("socket")).expect("a socket");
    // A directory whose tracked files are now reached through a symlink has none.
    fs_err::rename(f.path("sub"), f.root().join("outside")).expect("move it away");
    f.symlink("../outside", "sub");
    assert_eq!(
        seen(&f.work),
        ["100644 a.txt", "100644 dir/b.txt", "120000 sub", "100644 to-dir/in", "010000 to-fifo", "120000 to-link"]
    );
}

#[test]
fn names_are_bytes() {
    let f = Fixture::new();
    for name in [b"sp ace".as_slice(), b"new\nline", b"quo\"te", b"back\\slash", b"raw\xff", b"A.txt", b"-dash"] {
        f.write(name, name);
    }
    let tree = snapshot(&f.work);
    for name in
        [b"sp ace".as_slice(), b"new\nline", b"quo\"te", b"back\\slash", b"raw\xff", b"A.txt", b"a.txt", b"-dash"]
    {
        assert!(entry(&tree, name).is_some(), "{}", TreePath::new(name));
    }
    f.git(&["add", "-A"]);
    assert_eq!(snapshot(&f.work), tree, "tracking a file does not change what is on disk");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let f = Fixture::new();
    f.write("secret/file", "x");
    let lock = |mode| fs_err::set_permissions(f.path("secret"), std::fs::Permissions::from_mode(mode)).expect("chmod");
    lock(0o000);
    let outcome = LocalTrees.snapshot(&f.work);
    lock(0o755);
    if rustix::process::geteuid().is_root() {
        return; // root reads everything
    }
    assert!(matches!(outcome, Err(TreeFault::Unreadable { path, .. }) if path.as_bytes() == b"secret"));
}

#[test]
fn a_submodule_is_its_head_and_its_dirt() {
    let f = Fixture::new();
    let inner = Fixture::new();
    f.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &inner.work.to_string_lossy(), "lib"]);
    f.commit("with a submodule");
    let clean = snapshot(&f.work);
    assert_eq!(entry(&clean, b"lib").map(|e| e.mode), Some(0o160_000));
    assert!(entry(&clean, b"lib/a.txt").is_none());
    f.write("lib/untracked", "x");
    assert_eq!(changed(&clean, &snapshot(&f.work)), ["lib"]);
    f.remove("lib/untracked");
    assert_eq!(changed(&clean, &snapshot(&f.work)), [] as [&str; 0]);
    git(&f.path("lib"), &["commit", "-q", "--allow-empty", "-m", "moved"]);
    assert_eq!(changed(&clean, &snapshot(&f.work)), ["lib"]);
    f.git(&["submodule", "deinit", "-f", "lib"]);
    let bare = snapshot(&f.work);
    assert!(changed(&clean, &bare).contains(&"lib".to_owned()), "unpopulated is not the same as populated");
    assert_eq!(entry(&bare, b"lib").map(|e| e.mode), Some(0o160_000));
}

#[test]
fn a_repository_inside_is_one_entry_and_a_dot_git_that_leads_nowhere_hides_nothing() {
    let f = Fixture::new();
    git(&f.work, &["init", "-q", "-b", "main", "tools/nested"]);
    f.write("tools/nested/x", "x");
    let unborn = snapshot(&f.work);
    assert_eq!(entry(&unborn, b"tools/nested").map(|e| e.mode), Some(0o160_000));
    f.write("tools/nested/x", "y");
    assert_eq!(changed(&unborn, &snapshot(&f.work)), ["tools/nested"]);
    f.write("tools/nested/.gitignore", "ignored\n");
    let ignoring = snapshot(&f.work);
    f.write("tools/nested/ignored", "x");
    assert_eq!(changed(&ignoring, &snapshot(&f.work)), [] as [&str; 0]);
    f.write("fake/.git", "gitdir: nowhere\n");
    f.write("fake/x", "x");
    f.write("bare/.git/x", "x");
    f.write("bare/y", "x");
    let tree = snapshot(&f.work);
    assert!(entry(&tree, b"fake/x").is_some() && entry(&tree, b"bare/y").is_some());
}

#[test]
fn an_unborn_head_a_linked_worktree_and_a_sparse_checkout_have_snapshots() {
    let unborn = Fixture::empty();
    unborn.write("x", "x");
    assert_eq!(seen(&unborn.work), ["100644 x"]);
    let f = Fixture::new();
    f.git(&["worktree", "add", "-q", "../linked"]);
    fs_err::create_dir(f.path(".git/decapod")).expect("made");
    let_files_age();
    assert_eq!(snapshot(&f.root().join("linked")), snapshot(&f.work));
    assert!(f.path(".git/decapod/cache").is_dir(), "all worktrees share the root's cache directory");
    f.git(&["sparse-checkout", "set", "--no-cone", "/a.txt"]);
    assert_eq!(seen(&f.work), ["100644 a.txt"]);
}

#[test]
fn an_index_that_cannot_be_read_is_a_fault_that_says_what_helps() {
    let f = Fixture::new();
    f.git(&["update-index", "--split-index"]);
    let fault = LocalTrees.snapshot(&f.work).expect_err("libgit2 reads no split index");
    assert!(fault.to_string().contains("--no-split-index"), "{fault}");
    let f = Fixture::new();
    f.write(".git/index", "DIRC garbage");
    assert!(matches!(LocalTrees.snapshot(&f.work), Err(TreeFault::Index { .. })));
}

#[test]
fn many_files_are_walked_and_hashed_by_several_threads_alike() {
    let f = Fixture::empty();
    let mut expected = BTreeMap::new();
    for n in 0..1500 {
        let (name, content) = (format!("d{}/e{}/f{n}", n % 7, n % 13), format!("content {n}"));
        f.write(&name, &content);
        expected.insert(name, <[u8; 32]>::from(Sha256::digest(content)));
    }
    f.git(&["add", "-A"]);
    let of =
        |tree: Snapshot| tree.entries.into_iter().map(|e| (e.path.to_string(), e.digest)).collect::<BTreeMap<_, _>>();
    let_files_age();
    assert_eq!(of(snapshot(&f.work)), expected);
    assert_eq!(of(snapshot(&f.work)), expected, "from the cache");
}
