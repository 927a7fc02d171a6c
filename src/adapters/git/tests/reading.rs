use std::time::Instant;

use super::{head, oid, open};
use crate::adapters::git::discover;
use crate::adapters::git::fixture::{Fixture, git};
use crate::domain::path::TreePath;
use crate::ports::git::{Ancestry, At, ConfigOrigin, Git, GitFault, InProgress, Place};

#[test]
fn a_place_is_found_from_any_directory_of_a_worktree() {
    let f = Fixture::new();
    let common_dir = f.work.join(".git");
    let main = Place {
        common_dir: common_dir.clone(),
        git_dir: common_dir.clone(),
        work_tree: Some(f.work.clone()),
        main_work_tree: Some(f.work.clone()),
        bare: false,
    };
    assert_eq!(discover(&f.path("dir")), Ok(main.clone()));
    f.symlink("dir", "link");
    assert_eq!(discover(&f.path("link")), Ok(main.clone()), "symlinks are resolved");
    f.git(&["worktree", "add", "-q", "-b", "b", "../a b\n\u{e9}"]);
    let linked = f.root().join("a b\n\u{e9}");
    let place = discover(&linked.join("dir")).expect("it is a worktree");
    assert_eq!(
        (&place.common_dir, &place.work_tree, &place.main_work_tree),
        (&common_dir, &Some(linked), &Some(f.work.clone()))
    );
    assert_ne!(place.git_dir, common_dir);
}

#[test]
fn a_worktree_of_a_bare_root_has_no_main_worktree() {
    let f = Fixture::new();
    git(f.root(), &["clone", "-q", "--bare", "work", "bare.git"]);
    let bare = f.root().join("bare.git");
    let place = discover(&bare).expect("it is a repository");
    assert_eq!((place.bare, place.work_tree, place.main_work_tree), (true, None, None));
    git(&bare, &["worktree", "add", "-q", "../linked", "main"]);
    let place = discover(&f.root().join("linked")).expect("it is a worktree");
    assert_eq!((place.bare, place.work_tree, place.main_work_tree), (true, Some(f.root().join("linked")), None));
    assert!(matches!(open(&bare).head(&f.root().join("linked")).expect("a head").at, At::Branch { .. }));
}

#[test]
fn finding_a_place_takes_less_than_a_millisecond() {
    let f = Fixture::new();
    discover(&f.work).expect("warm");
    let best = (0..20)
        .map(|_| {
            let began = Instant::now();
            discover(&f.path("dir")).expect("it is a repository");
            began.elapsed().as_micros()
        })
        .min();
    assert!(best < Some(1000), "{best:?} µs");
}

#[test]
fn what_cannot_be_opened_is_told_apart() {
    let outside = tempfile::tempdir().expect("a temporary directory");
    let dir = outside.path().canonicalize().expect("it is there");
    assert_eq!(discover(&dir), Err(GitFault::NotARepository { dir: dir.clone() }));
    let absent = dir.join("absent");
    assert_eq!(discover(&absent), Err(GitFault::NotARepository { dir: absent.clone() }));
    let unsupported = |name: &str, args: &[&str]| {
        git(&dir, &[&["init", "-q"], args, &[name]].concat());
        discover(&dir.join(name)).expect_err("libgit2 cannot read it").to_string()
    };
    assert!(unsupported("reftable", &["--ref-format=reftable"]).contains("the `reftable` ref storage"));
    assert!(unsupported("sha256", &["--object-format=sha256"]).contains("SHA-256 object names"));
    git(&dir, &["init", "-q", "odd"]);
    git(&dir.join("odd"), &["config", "extensions.madeup", "true"]);
    git(&dir.join("odd"), &["config", "core.repositoryformatversion", "1"]);
    let words = discover(&dir.join("odd")).expect_err("an unknown extension").to_string();
    assert!(words.contains("the extension `madeup`"), "{words}");
}

#[test]
fn a_partial_clone_is_named() {
    let f = Fixture::new();
    f.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", f.work.display());
    git(f.root(), &["clone", "-q", "--filter=blob:none", &url, "partial"]);
    let words = discover(&f.root().join("partial")).expect_err("objects are missing on purpose").to_string();
    assert!(words.contains("a partial clone (of the remote `origin`)"), "{words}");
}

#[test]
fn a_repository_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return; // only root can give a directory away
    }
    let f = Fixture::new();
    let status = std::process::Command::new("chown").args(["-R", "65534"]).arg(&f.work).status();
    assert!(status.expect("chown runs").success());
    assert_eq!(discover(&f.work), Err(GitFault::DubiousOwnership { dir: f.work.clone() }));
}

#[test]
fn a_head_is_unborn_on_a_branch_or_detached() {
    let unborn = Fixture::empty();
    let found = open(&unborn.work).head(&unborn.work).expect("a head");
    assert_eq!((found.at, found.tree), (At::Unborn { branch: "main".into() }, None));
    let f = Fixture::new();
    let git = open(&f.work);
    let found = git.head(&f.work).expect("a head");
    assert_eq!(found.at, At::Branch { branch: "main".into(), commit: head(&f) });
    assert_eq!(found.tree, Some(oid(&f.git(&["rev-parse", "HEAD^{tree}"]))));
    assert_eq!((found.in_progress, found.index_lock, found.shallow), (None, None, false));
    f.git(&["checkout", "-q", "--detach"]);
    assert_eq!(git.head(&f.work).expect("a head").at, At::Detached { commit: head(&f) });
}

#[test]
fn an_operation_in_progress_and_a_left_lock_are_seen() {
    let f = Fixture::new();
    f.git(&["checkout", "-q", "-b", "other"]);
    f.write("a.txt", "theirs\n");
    f.commit("theirs");
    f.git(&["checkout", "-q", "main"]);
    f.write("a.txt", "ours\n");
    f.commit("ours");
    let fails = |args: &[&str]| {
        let output = crate::adapters::git::fixture::command(&f.work, args).output().expect("git runs");
        assert!(!output.status.success());
    };
    let git = open(&f.work);
    let in_progress = || git.head(&f.work).expect("a head").in_progress;
    for (begin, end, expected) in [
        (["merge", "other"], ["merge", "--abort"], InProgress::Merge),
        (["rebase", "other"], ["rebase", "--abort"], InProgress::Rebase),
        (["cherry-pick", "other"], ["cherry-pick", "--abort"], InProgress::CherryPick),
    ] {
        fails(&begin);
        assert_eq!(in_progress(), Some(expected));
        f.git(&end);
        assert_eq!(in_progress(), None);
    }
    f.git(&["bisect", "start"]);
    assert_eq!(in_progress(), Some(InProgress::Bisect));
    f.write(".git/index.lock", "");
    let lock = git.head(&f.work).expect("a head").index_lock.expect("a lock");
    assert_eq!(lock.path, f.work.join(".git/index.lock"));
    assert!(lock.age_ms < 60_000);
}

#[test]
fn revisions_resolve_to_commits_or_are_unknown() {
    let f = Fixture::new();
    f.git(&["tag", "-a", "-m", "x", "v1"]);
    let git = open(&f.work);
    for rev in ["HEAD", "main", "v1", head(&f).short()] {
        assert_eq!(git.resolve(rev), Ok(head(&f)), "{rev}");
    }
    for rev in ["nope", "HEAD~9", "--all", "HEAD:a.txt", ""] {
        assert!(matches!(git.resolve(rev), Err(GitFault::UnknownRevision { .. })), "{rev}");
    }
}

#[test]
fn ancestry_is_unknown_where_a_shallow_clone_ends() {
    let f = Fixture::new();
    let first = head(&f);
    f.git(&["checkout", "-q", "-b", "side"]);
    let side = oid(&f.commit("side"));
    f.git(&["checkout", "-q", "main"]);
    for n in 0..4 {
        f.commit(&format!("more {n}"));
    }
    let last = head(&f);
    let git = open(&f.work);
    assert_eq!(git.ancestry(&first, &last), Ok(Ancestry::Yes));
    assert_eq!(git.ancestry(&last, &last), Ok(Ancestry::Yes));
    assert_eq!(git.ancestry(&last, &first), Ok(Ancestry::No));
    assert_eq!(git.ancestry(&side, &last), Ok(Ancestry::No));
    let url = format!("file://{}", f.work.display());
    crate::adapters::git::fixture::git(f.root(), &["clone", "-q", "--depth=2", "--no-single-branch", &url, "shallow"]);
    let shallow = open(&f.root().join("shallow"));
    assert!(shallow.head(&f.root().join("shallow")).expect("a head").shallow);
    let parent = oid(&f.git(&["rev-parse", "HEAD~1"]));
    assert_eq!(shallow.ancestry(&parent, &last), Ok(Ancestry::Yes));
    assert_eq!(shallow.ancestry(&first, &last), Ok(Ancestry::UnknownShallow), "it is here and the way to it is not");
    assert_eq!(shallow.ancestry(&side, &last), Ok(Ancestry::UnknownShallow));
    let absent = oid(&f.git(&["rev-parse", "HEAD~3"]));
    assert_eq!(shallow.ancestry(&absent, &last), Ok(Ancestry::UnknownShallow));
}

#[test]
fn files_of_a_commit_are_read_as_stored_and_within_a_bound() {
    let f = Fixture::new();
    f.symlink("a.txt", "link");
    f.write(b"raw\xff name\n", "x");
    f.commit("more");
    let git = open(&f.work);
    let at = head(&f);
    f.write("a.txt", "changed on disk\n");
    let read = |path: &[u8], max| git.read_at(&at, &TreePath::new(path), max);
    let blob = read(b"a.txt", 4).expect("it is small enough").expect("it is there");
    assert_eq!((blob.bytes.as_slice(), blob.mode), (b"one\n".as_slice(), 0o100_644));
    assert_eq!(
        read(b"link", 100).expect("ok").map(|blob| (blob.bytes, blob.mode)),
        Some((b"a.txt".to_vec(), 0o120_000))
    );
    assert_eq!(read(b"raw\xff name\n", 100).expect("ok").map(|blob| blob.bytes), Some(b"x".to_vec()));
    for absent in [b"dir".as_slice(), b"nope", b"", b"a.txt/b", b"../a.txt"] {
        assert_eq!(read(absent, 100), Ok(None), "{}", TreePath::new(absent));
    }
    assert!(matches!(read(b"a.txt", 3), Err(GitFault::TooLarge { size: 4, limit: 3, .. })));
    let listed = |prefix: &str| -> Vec<String> {
        let listed = git.list_at(&at, &TreePath::new(prefix)).expect("a tree");
        listed.iter().map(|entry| entry.path.to_string()).collect()
    };
    assert_eq!(listed(""), ["a.txt", "dir/b.txt", "link", r#""raw\377 name\n""#]);
    assert_eq!(listed("dir"), ["dir/b.txt"]);
    assert_eq!(listed("dir/"), ["dir/b.txt"]);
    assert!(listed("a.txt").is_empty() && listed("nope").is_empty());
}

#[test]
fn branches_are_listed_and_deleted_only_where_they_were_expected() {
    let f = Fixture::with_remote();
    for name in ["kctl/b", "kctl/a", "other"] {
        f.git(&["branch", name]);
    }
    let git = open(&f.work);
    let names = |prefix: &str| -> Vec<String> {
        git.branches(prefix).expect("branches").into_iter().map(|branch| branch.name).collect()
    };
    assert_eq!(names("kctl/"), ["kctl/a", "kctl/b"]);
    assert_eq!(git.branches("main").expect("branches")[0].upstream.as_deref(), Some("refs/remotes/origin/main"));
    let first = head(&f);
    let second = oid(&f.commit("second"));
    assert!(matches!(git.delete_branch("kctl/a", &second), Err(GitFault::Failed { .. })));
    assert_eq!(git.branch_tip("kctl/a"), Ok(Some(first.clone())));
    f.git(&["worktree", "add", "-q", "../linked", "kctl/a"]);
    let held = git.delete_branch("kctl/a", &first);
    assert!(matches!(held, Err(GitFault::Taken { why, .. }) if why.contains("checked out")));
    f.git(&["worktree", "remove", "../linked"]);
    assert_eq!(git.delete_branch("kctl/a", &first), Ok(true));
    assert_eq!(git.delete_branch("kctl/a", &first), Ok(false));
    assert_eq!(names("kctl/"), ["kctl/b"]);
    for wrong in ["-d", "a..b", "", "a b", "../x"] {
        assert!(matches!(git.branch_tip(wrong), Err(GitFault::IllegalName { .. })), "{wrong}");
    }
}

#[test]
fn commits_that_exist_nowhere_else_are_named() {
    let f = Fixture::with_remote();
    let published = head(&f);
    f.git(&["checkout", "-q", "-b", "mine"]);
    let first = oid(&f.commit("my first\n\nbody"));
    let second = oid(&f.commit("my second"));
    let git = open(&f.work);
    let subjects = |tip, kept: &[_]| -> Vec<String> {
        let found = git.unpublished(tip, kept).expect("history");
        found.commits.into_iter().map(|commit| commit.subject).collect()
    };
    assert_eq!(subjects(&second, &[]), ["my second", "my first"]);
    assert_eq!(subjects(&second, &[first]), ["my second"]);
    assert!(subjects(&published, &[]).is_empty());
    f.git(&["push", "-q", "origin", "mine"]);
    assert!(subjects(&second, &[]).is_empty());
}

#[test]
fn configuration_is_read_with_its_origin_and_set_for_the_root_only() {
    let f = Fixture::new();
    let git = open(&f.work);
    let value = |key| git.config(Some(&f.work), key).expect("a key").map(|found| (found.value, found.origin));
    assert_eq!(value("kctl.test"), None);
    git.set_local_config("kctl.test", "a b").expect("set");
    assert_eq!(value("kctl.test"), Some(("a b".to_owned(), ConfigOrigin::Local)));
    assert_eq!(f.git(&["config", "kctl.test"]), "a b");
    assert_eq!((git.unset_local_config("kctl.test"), git.unset_local_config("kctl.test")), (Ok(true), Ok(false)));
    assert!(git.config(None, "not a key").is_err());
    assert_eq!(git.hooks_dir(Some(&f.work)), Ok(f.work.join(".git/hooks")));
    f.git(&["worktree", "add", "-q", "../linked"]);
    let linked = f.root().join("linked");
    assert_eq!(git.hooks_dir(Some(&linked)), Ok(f.work.join(".git/hooks")), "hooks belong to the root");
    f.git(&["config", "core.hooksPath", "own/hooks"]);
    assert_eq!(git.hooks_dir(Some(&linked)), Ok(linked.join("own/hooks")));
    f.git(&["config", "extensions.worktreeConfig", "true"]);
    crate::adapters::git::fixture::git(&linked, &["config", "--worktree", "core.hooksPath", "theirs"]);
    assert_eq!(git.hooks_dir(Some(&linked)), Ok(linked.join("theirs")));
    assert_eq!(git.hooks_dir(Some(&f.work)), Ok(f.work.join("own/hooks")));
    let found = git.config(Some(&linked), "core.hooksPath").expect("a key").expect("it is set");
    assert_eq!(found.origin, ConfigOrigin::Worktree);
}

#[test]
fn gits_own_variables_change_nothing() {
    let tests = std::env::current_exe().expect("this program has a path");
    for name in [
        "adapters::git::tests::reading::a_place_is_found_from_any_directory_of_a_worktree",
        "adapters::git::tests::remotes::a_push_sends_exactly_one_commit_to_one_ref",
        "adapters::git::tests::worktrees::a_worktree_is_added_listed_and_removed",
        "adapters::git::tests::dirt::every_kind_of_change_is_told_with_its_layer",
        "adapters::trees::tests::tracked_and_untracked_files_count_and_ignored_ones_do_not",
    ] {
        let mut again = std::process::Command::new(&tests);
        again.args(["--exact", name]);
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
            again.env(variable, "/nowhere");
        }
        again.env("GIT_NAMESPACE", "other").env("GIT_CEILING_DIRECTORIES", "/").env("GIT_CONFIG", "/nowhere");
        again.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.bare").env("GIT_CONFIG_VALUE_0", "true");
        again.env("GIT_CONFIG_PARAMETERS", "'core.worktree'='/nowhere'").env("GIT_EXTERNAL_DIFF", "false");
        let output = again.output().expect("the tests run");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{name}: {said}");
    }
}

#[test]
fn without_a_home_directory_everything_still_opens() {
    let tests = std::env::current_exe().expect("this program has a path");
    let name = "adapters::trees::tests::tracked_and_untracked_files_count_and_ignored_ones_do_not";
    let mut again = std::process::Command::new(tests);
    again.args(["--exact", name]).env_remove("HOME").env_remove("XDG_CONFIG_HOME");
    let output = again.output().expect("the tests run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
