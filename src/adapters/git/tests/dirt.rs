use super::{head, open};
use crate::adapters::git::fixture::{Fixture, command, git, make_executable};
use crate::adapters::trees::LocalTrees;
use crate::ports::git::{Change, ChangeKind, Git, Layer};
use crate::ports::trees::Trees as _;

/// Changes as one word each: layer, kind, path.
fn words(changes: &[Change]) -> Vec<String> {
    let one = |change: &Change| {
        let layer = match change.layer {
            Layer::Committed => "committed",
            Layer::Staged => "staged",
            Layer::WorkTree => "on disk",
        };
        let kind = match &change.kind {
            ChangeKind::Added => "added".to_owned(),
            ChangeKind::Modified => "modified".to_owned(),
            ChangeKind::Deleted => "deleted".to_owned(),
            ChangeKind::TypeChanged => "retyped".to_owned(),
            ChangeKind::Untracked => "untracked".to_owned(),
            ChangeKind::Renamed { from } => format!("renamed from {from} to"),
            ChangeKind::Conflicted => "conflicted".to_owned(),
        };
        format!("{layer}: {kind} {}", change.path)
    };
    changes.iter().map(one).collect()
}

fn dirt(f: &Fixture) -> Vec<String> {
    let dirt = words(&open(&f.work).dirt(&f.work).expect("the work tree can be compared"));
    let snapshot = LocalTrees.snapshot(&f.work).expect("the work tree can be read");
    assert_eq!(snapshot.clean, dirt.is_empty(), "both say the same of {dirt:?}");
    dirt
}

#[test]
fn every_kind_of_change_is_told_with_its_layer() {
    let f = Fixture::new();
    for name in ["mod", "del", "type", "exec", "staged-mod", "staged-del", "both"] {
        f.write(name, format!("{name}\n"));
    }
    f.write("old-name", "a longer content\nthat survives a rename\n");
    f.write(".gitignore", "*.log\n");
    f.commit("more");
    assert_eq!(dirt(&f), [] as [&str; 0]);
    f.write("mod", "MOD\n");
    f.remove("del");
    f.remove("type");
    f.symlink("mod", "type");
    make_executable(&f.path("exec"));
    f.write("staged-mod", "x");
    f.write("staged-new", "x");
    f.write("both", "x");
    f.git(&["add", "staged-mod", "staged-new", "both"]);
    f.git(&["rm", "-q", "staged-del"]);
    f.git(&["mv", "old-name", "new-name"]);
    f.write("both", "y");
    f.write(b"untracked \xff\n\"", "x");
    f.write("x.log", "x");
    assert_eq!(
        dirt(&f),
        [
            "staged: modified both",
            "on disk: modified both",
            "on disk: deleted del",
            "on disk: modified exec",
            "on disk: modified mod",
            "staged: renamed from old-name to new-name",
            "staged: deleted staged-del",
            "staged: modified staged-mod",
            "staged: added staged-new",
            "on disk: retyped type",
            r#"on disk: untracked "untracked \377\n\"""#,
        ]
    );
}

#[test]
fn changes_since_a_base_name_both_sides_of_a_rename_and_what_was_undone_later() {
    let f = Fixture::new();
    f.write("moved", "some content\nthat is moved\n");
    f.write("kept", "x");
    f.commit("base");
    let base = head(&f);
    f.git(&["mv", "moved", "to"]);
    f.write("extra", "x");
    f.commit("work");
    f.remove("extra");
    f.git(&["add", "-A"]);
    f.write("kept", "y");
    f.write("new", "x");
    let changes = open(&f.work).changed_since(&f.work, &base).expect("the base is here");
    assert_eq!(
        words(&changes),
        [
            "committed: added extra",
            "staged: deleted extra",
            "on disk: modified kept",
            "committed: deleted moved",
            "on disk: untracked new",
            "committed: added to",
        ]
    );
}

#[test]
fn nothing_that_the_repository_names_runs() {
    let f = Fixture::new();
    f.write("other", "x\n");
    f.commit("more");
    let base = head(&f);
    let tree = f.root().join("tree");
    f.git(&["worktree", "add", "-q", "-b", "b", "../tree"]);
    let marker = f.make_hostile();
    f.write("a.txt", "ONE\n");
    f.write("new", "x");
    // New times with the old content: only the content tells.
    f.write("other", "x\n");
    let git = open(&f.work);
    let changes = words(&git.dirt(&f.work).expect("a comparison"));
    assert_eq!(changes, ["on disk: modified a.txt", "on disk: untracked new"]);
    git.changed_since(&f.work, &base).expect("a comparison");
    git.head(&f.work).expect("a head");
    git.losses(&super::leaving(&tree)).expect("a look");
    git.branches("").expect("branches");
    git.worktrees().expect("worktrees");
    git.resolve("HEAD").expect("a commit");
    git.submodules(&f.work).expect("submodules");
    git.lfs_pointers(&f.work).expect("pointers");
    git.hooks_dir(Some(&f.work)).expect("a directory");
    assert!(!marker.exists(), "a read ran a program");
    command(&f.work, &["status"]).env("GIT_OPTIONAL_LOCKS", "0").output().expect("git runs");
    assert!(marker.exists(), "and plain `git status` would have");
}

#[test]
fn the_index_is_not_touched() {
    let f = Fixture::new();
    f.write("a.txt", "one\n");
    let before = fs_err::read(f.work.join(".git/index")).expect("an index");
    assert_eq!(dirt(&f), [] as [&str; 0]);
    assert_eq!(fs_err::read(f.work.join(".git/index")).expect("an index"), before);
    f.write(".git/index.lock", "");
    assert_eq!(dirt(&f), [] as [&str; 0], "somebody's lock does not stop a read");
}

#[test]
fn bits_that_tell_git_to_look_away_hide_nothing() {
    let f = Fixture::new();
    f.git(&["update-index", "--assume-unchanged", "a.txt"]);
    f.git(&["update-index", "--skip-worktree", "dir/b.txt"]);
    assert_eq!(dirt(&f), [] as [&str; 0]);
    f.write("a.txt", "ONE\n");
    f.write("dir/b.txt", "longer than before\n");
    assert_eq!(f.git(&["status", "--porcelain"]), "", "git looks away");
    assert_eq!(dirt(&f), ["on disk: modified a.txt", "on disk: modified dir/b.txt"]);
}

#[test]
fn a_sparse_checkout_is_clean_and_a_file_that_came_back_is_compared() {
    let f = Fixture::new();
    f.git(&["sparse-checkout", "set", "--no-cone", "/a.txt"]);
    assert!(!f.path("dir").exists());
    assert_eq!(dirt(&f), [] as [&str; 0]);
    f.write("dir/b.txt", "changed");
    assert_eq!(dirt(&f), ["on disk: modified dir/b.txt"]);
}

#[test]
fn line_ending_conversion_is_no_change() {
    let f = Fixture::new();
    f.write(".gitattributes", "*.crlf text eol=crlf\n*.id ident\n");
    f.write("x.crlf", "one\r\ntwo\r\n");
    f.write("x.id", "$Id$\n");
    f.commit("converted");
    f.git(&["rm", "-q", "--cached", "-r", "."]);
    f.git(&["reset", "-q", "--hard"]);
    // Content as it was, times that the index does not know.
    let text = fs_err::read(f.path("x.crlf")).expect("it is there");
    assert_eq!(text, b"one\r\ntwo\r\n");
    f.write("x.crlf", text);
    let text = fs_err::read(f.path("x.id")).expect("it is there");
    f.write("x.id", text);
    assert_eq!(dirt(&f), [] as [&str; 0]);
    f.write("x.crlf", "one\r\nTWO\r\n");
    assert_eq!(dirt(&f), ["on disk: modified x.crlf"]);
}

#[test]
fn the_content_of_an_lfs_pointer_is_no_change_and_a_pointer_on_disk_is_reported() {
    let f = Fixture::new();
    let content = "large content\n";
    let sum = crate::domain::digest::Digest::of(content.as_bytes());
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n", sum.hex(), content.len());
    f.write(".gitattributes", "*.bin filter=lfs diff=lfs -text\n");
    f.write("x.bin", &pointer);
    f.commit("a pointer");
    let paths = || -> Vec<String> {
        let found = open(&f.work).lfs_pointers(&f.work).expect("a search");
        found.iter().map(ToString::to_string).collect()
    };
    assert_eq!((paths(), dirt(&f)), (vec!["x.bin".to_owned()], vec![]));
    f.write("x.bin", content);
    assert_eq!((paths(), dirt(&f)), (vec![], vec![]));
    f.write("x.bin", "other content\n");
    assert_eq!(dirt(&f), ["on disk: modified x.bin"]);
}

#[test]
fn conflicts_are_named_once() {
    let f = Fixture::new();
    f.git(&["checkout", "-q", "-b", "other"]);
    f.write("a.txt", "theirs\n");
    f.commit("theirs");
    f.git(&["checkout", "-q", "main"]);
    f.write("a.txt", "ours\n");
    f.commit("ours");
    command(&f.work, &["merge", "other"]).output().expect("git runs");
    assert_eq!(dirt(&f), ["on disk: conflicted a.txt"]);
}

#[test]
fn submodules_are_dirty_when_moved_or_changed_inside() {
    let f = Fixture::new();
    let inner = Fixture::new();
    f.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &inner.work.to_string_lossy(), "lib"]);
    f.commit("with a submodule");
    assert_eq!(dirt(&f), [] as [&str; 0]);
    f.write("lib/new", "x");
    assert_eq!(dirt(&f), ["on disk: modified lib"]);
    f.remove("lib/new");
    git(&f.path("lib"), &["commit", "-q", "--allow-empty", "-m", "moved"]);
    assert_eq!(dirt(&f), ["on disk: modified lib"]);
    f.git(&["submodule", "deinit", "-q", "-f", "lib"]);
    assert_eq!(dirt(&f), [] as [&str; 0], "unpopulated is clean");
    f.write("lib/stray", "x");
    assert_eq!(dirt(&f), ["on disk: modified lib"], "what lies where a submodule goes is not hidden");
}

#[test]
fn an_unborn_head_and_a_repository_inside_have_dirt() {
    let f = Fixture::empty();
    f.write("staged", "x");
    f.git(&["add", "staged"]);
    f.write("new", "x");
    git(&f.work, &["init", "-q", "inside"]);
    f.write("inside/x", "x");
    assert_eq!(dirt(&f), ["on disk: untracked inside", "on disk: untracked new", "staged: added staged"]);
}

#[test]
fn an_index_without_a_checksum_is_compared_like_any_other() {
    let f = Fixture::new();
    f.git(&["config", "index.skipHash", "true"]);
    f.write("staged", "x");
    f.git(&["add", "staged"]);
    f.write("new", "x");
    assert_eq!(dirt(&f), ["on disk: untracked new", "staged: added staged"]);
}

/// Which files are not on disk what the head commit stores, by the attributes of `base`.
fn converted(f: &Fixture, base: &str) -> Vec<String> {
    let (head, base) = (f.git(&["rev-parse", "HEAD"]), f.git(&["rev-parse", base]));
    let git = open(&f.work);
    let found = git.converted(&f.work, &head.parse().expect("an id"), &base.parse().expect("an id"));
    found.expect("it is compared").iter().map(ToString::to_string).collect()
}

#[test]
fn what_a_filter_or_an_encoding_makes_of_a_file_is_named_though_git_calls_it_clean() {
    let f = Fixture::new();
    f.write("same-size.txt", "bad!\n");
    f.write("wide.txt", "wide\n");
    f.commit("base");
    f.git(&["config", "filter.flip.clean", "sed s/good/bad!/"]);
    f.git(&["config", "filter.flip.smudge", "sed s/bad!/good/"]);
    fs_err::write(f.work.join(".git/info/attributes"), "*.txt filter=flip\n").expect("written");
    f.write("longer.txt", "good and longer\n");
    f.write("same-size.txt", "good\n");
    f.commit("filtered");
    let expected = ["longer.txt", "same-size.txt"];
    assert_eq!(dirt(&f), [] as [&str; 0]);
    assert_eq!(converted(&f, "HEAD~1"), expected);
    assert_eq!(f.git(&["show", "HEAD:same-size.txt"]), "bad!");
    // Git remembers by its index that nothing changed, with the filter and without it.
    fs_err::remove_file(f.work.join(".git/info/attributes")).expect("removed");
    f.git(&["config", "--remove-section", "filter.flip"]);
    assert_eq!(converted(&f, "HEAD~1"), expected);
    f.git(&["update-index", "--assume-unchanged", "same-size.txt"]);
    assert_eq!(converted(&f, "HEAD~1"), expected);
}

#[test]
fn line_endings_are_converted_as_the_bases_attributes_say_and_not_the_candidates() {
    let f = Fixture::new();
    f.write(".gitattributes", "base.txt text eol=crlf\n");
    f.commit("base");
    f.write(".gitattributes", "*.txt text eol=crlf\n");
    f.write("base.txt", "one\r\ntwo\r\n");
    f.write("own.txt", "one\r\ntwo\r\n");
    f.commit("candidate");
    assert_eq!(f.git(&["show", "HEAD:base.txt"]), "one\ntwo", "it was stored without");
    assert_eq!(converted(&f, "HEAD~1"), ["own.txt"]);
    assert_eq!(converted(&f, "HEAD"), [] as [&str; 0], "once accepted it is the base's");
    // A setting of the clone is nobody's word but the clone's.
    let f = Fixture::new();
    f.git(&["config", "core.autocrlf", "true"]);
    f.write("own.txt", "one\r\n");
    f.commit("candidate");
    assert_eq!(converted(&f, "HEAD~1"), ["own.txt"]);
}

#[test]
fn the_content_of_a_git_lfs_pointer_is_what_the_commit_holds() {
    let f = Fixture::new();
    let content = "large\n";
    let digest = crate::domain::digest::Digest::of(content.as_bytes());
    let pointer = |hex: &str| format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hex}\nsize 6\n");
    f.write("right.bin", pointer(digest.hex()));
    f.write("wrong.bin", pointer(&"0".repeat(64)));
    f.write("pointer.bin", pointer(digest.hex()));
    f.commit("pointers");
    f.write("right.bin", content);
    f.write("wrong.bin", content);
    assert_eq!(converted(&f, "HEAD"), ["wrong.bin"]);
}
