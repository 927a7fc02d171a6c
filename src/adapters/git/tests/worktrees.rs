use super::{head, leaving, oid, open};
use crate::adapters::git::LocalGit;
use crate::adapters::git::fixture::{Fixture, git, make_executable};
use crate::adapters::git::program::Program;
use crate::ports::git::{At, Checkout, Git, GitFault, Lost, Spot, Standing, Whose, Worktree};

fn new(f: &Fixture, branch: &str) -> Checkout {
    Checkout::New { branch: branch.to_owned(), base: head(f) }
}

fn lost(outcome: Result<(), GitFault>) -> Vec<Lost> {
    match outcome {
        Err(GitFault::WouldLose { what, .. }) => what,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn files(what: &[Lost]) -> Vec<String> {
    let name = |lost: &Lost| match lost {
        Lost::File(path) => path.to_string(),
        Lost::Commits { whose: Whose::Repository(path), commits, .. } => format!("{} commits of {path}", commits.len()),
        Lost::Commits { whose, commits, .. } => format!("{} commits of {whose:?}", commits.len()),
        Lost::Locked { reason } => format!("locked: {reason}"),
        Lost::Ignored { path, files, bytes } => format!("ignored {path}: {files} files, {bytes} bytes"),
        Lost::Unread { path, .. } => format!("unread {path}"),
    };
    what.iter().map(name).collect()
}

#[test]
fn a_worktree_is_added_listed_and_removed() {
    let f = Fixture::with_remote();
    f.git(&["config", "branch.autoSetupMerge", "always"]);
    let git = open(&f.work);
    let path = f.root().join("trees/sp ace\n\u{e9}");
    let tree = git.add_worktree(&path, &new(&f, "kctl/t-1")).expect("it can be made");
    assert_eq!(tree.path.as_ref(), Some(&path));
    assert_eq!(tree.at, Some(At::Branch { branch: "kctl/t-1".into(), commit: head(&f) }));
    assert_eq!((tree.locked.clone(), tree.standing), (None, Standing::Sound));
    assert_eq!(git.branches("kctl/").expect("branches")[0].upstream, None, "no upstream is configured");
    assert!(path.join("dir/b.txt").is_file());
    let all = git.worktrees().expect("a list");
    assert_eq!(
        all.iter().map(|tree| tree.path.clone()).collect::<Vec<_>>(),
        [Some(f.work.clone()), Some(path.clone())]
    );
    assert_eq!(open(&path).worktrees(), Ok(all), "every worktree lists the same");
    git.remove_worktree(&leaving(&path), &[]).expect("it holds nothing");
    assert_eq!((path.exists(), git.spot(&path)), (false, Ok(Spot::Free)));
    assert_eq!(git.branch_tip("kctl/t-1"), Ok(Some(head(&f))), "the branch stays");
    let again = git.add_worktree(&path, &Checkout::Existing { branch: "kctl/t-1".into() });
    assert_eq!(again.map(|tree| tree.standing), Ok(Standing::Sound));
}

#[test]
fn nothing_is_put_where_something_is() {
    let f = Fixture::new();
    let git = open(&f.work);
    f.write("../full/x", "x");
    f.write("../file", "x");
    f.symlink("full", "../link");
    for name in ["full", "file", "link"] {
        let outcome = git.add_worktree(&f.root().join(name), &new(&f, "b"));
        assert!(matches!(outcome, Err(GitFault::Taken { .. })), "{name}: {outcome:?}");
    }
    let path = f.root().join("tree");
    git.add_worktree(&path, &new(&f, "b")).expect("it can be made");
    let elsewhere = git.add_worktree(&f.root().join("other"), &Checkout::Existing { branch: "b".into() });
    assert!(matches!(&elsewhere, Err(GitFault::Failed { words, .. }) if words.contains("already")), "{elsewhere:?}");
    assert!(!f.root().join("other").exists());
    for wrong in ["-b", "a..b", "a b"] {
        assert!(matches!(git.add_worktree(&f.root().join("x"), &new(&f, wrong)), Err(GitFault::IllegalName { .. })));
    }
}

#[test]
fn a_failing_post_checkout_hook_does_not_undo_a_sound_worktree() {
    let f = Fixture::new();
    f.write(".git/hooks/post-checkout", "#!/bin/sh\nexit 1\n");
    make_executable(&f.work.join(".git/hooks/post-checkout"));
    let tree = open(&f.work).add_worktree(&f.root().join("tree"), &new(&f, "b"));
    assert_eq!(tree.map(|tree| tree.standing), Ok(Standing::Sound));
}

#[test]
fn a_removal_that_would_lose_something_is_refused_and_names_it() {
    let f = Fixture::with_remote();
    let git_port = open(&f.work);
    let path = f.root().join("tree");
    git_port.add_worktree(&path, &new(&f, "b")).expect("it can be made");
    let refused = || files(&lost(git_port.remove_worktree(&leaving(&path), &[])));
    fs_err::write(path.join("new"), "x").expect("write");
    assert_eq!(refused(), ["new"]);
    fs_err::remove_file(path.join("new")).expect("remove");
    git(&path, &["update-index", "--assume-unchanged", "a.txt"]);
    fs_err::write(path.join("a.txt"), "ONE\n").expect("write");
    assert_eq!(refused(), ["a.txt"], "a hidden change is work too");
    fs_err::write(path.join("a.txt"), "one\n").expect("write");
    git(&path, &["worktree", "lock", "--reason", "on a stick", "."]);
    assert_eq!(refused(), ["locked: on a stick"]);
    git(&path, &["worktree", "unlock", "."]);
    git(&path, &["checkout", "-q", "--detach"]);
    git(&path, &["commit", "-q", "--allow-empty", "-m", "only here"]);
    assert_eq!(refused(), ["1 commits of Head"]);
    git(&path, &["branch", "keep"]);
    git_port.remove_worktree(&leaving(&path), &[]).expect("a branch keeps the commit now");
    assert!(!path.exists());
    assert!(
        matches!(git_port.remove_worktree(&leaving(&f.work), &[]), Err(GitFault::Taken { .. })),
        "the main worktree stays"
    );
}

#[test]
fn a_missing_directory_is_seen_and_other_registrations_are_left_alone() {
    let f = Fixture::new();
    let git = open(&f.work);
    for name in ["one", "two"] {
        git.add_worktree(&f.root().join(name), &new(&f, name)).expect("it can be made");
        fs_err::remove_dir_all(f.root().join(name)).expect("remove");
    }
    let standing = |name: &str| match git.spot(&f.root().join(name)).expect("a look") {
        Spot::Worktree(tree) => Some((tree.standing, tree.prunable())),
        _ => None,
    };
    assert_eq!(standing("one"), Some((Standing::Missing, true)));
    git.remove_worktree(&leaving(&f.root().join("one")), &[]).expect("there is nothing to lose");
    assert_eq!((standing("one"), standing("two")), (None, Some((Standing::Missing, true))));
}

#[test]
fn a_moved_worktree_is_found_at_its_new_place_only_once_git_knows() {
    let f = Fixture::new();
    let git_port = open(&f.work);
    let (old, new_path) = (f.root().join("old"), f.root().join("new"));
    git_port.add_worktree(&old, &new(&f, "b")).expect("it can be made");
    fs_err::rename(&old, &new_path).expect("move");
    assert!(matches!(git_port.spot(&old), Ok(Spot::Worktree(Worktree { standing: Standing::Missing, .. }))));
    git(&new_path, &["worktree", "repair"]);
    assert!(matches!(git_port.spot(&new_path), Ok(Spot::Worktree(Worktree { standing: Standing::Sound, .. }))));
    assert_eq!(git_port.spot(&old), Ok(Spot::Free));
}

#[test]
fn a_relative_registration_is_understood() {
    let f = Fixture::new();
    let git = open(&f.work);
    let path = f.root().join("tree");
    git.add_worktree(&path, &new(&f, "b")).expect("it can be made");
    // As git 2.48 writes with `worktree.useRelativePaths`.
    fs_err::write(path.join(".git"), "gitdir: ../work/.git/worktrees/tree\n").expect("write");
    f.write(".git/worktrees/tree/gitdir", "../../../../tree/.git\n");
    assert!(matches!(git.spot(&path), Ok(Spot::Worktree(Worktree { standing: Standing::Sound, .. }))));
    assert_eq!(git.dirt(&path), Ok(vec![]));
    assert_eq!(open(&path).place().common_dir, f.work.join(".git"));
}

#[test]
fn a_new_worktree_has_the_sparse_checkout_and_the_worktree_settings_of_its_origin() {
    let f = Fixture::new();
    f.git(&["sparse-checkout", "set", "--no-cone", "/a.txt"]);
    assert_eq!(f.git(&["config", "extensions.worktreeConfig"]), "true");
    let path = f.root().join("tree");
    let port = open(&f.work);
    port.add_worktree(&path, &new(&f, "b")).expect("it can be made");
    assert!(path.join("a.txt").is_file() && !path.join("dir").exists());
    assert_eq!(port.dirt(&path), Ok(vec![]));
    port.remove_worktree(&leaving(&path), &[]).expect("it holds nothing");
}

#[test]
fn a_bare_root_gets_worktrees_and_has_no_main_one() {
    let f = Fixture::new();
    git(f.root(), &["clone", "-q", "--bare", "work", "bare.git"]);
    let port = open(&f.root().join("bare.git"));
    let path = f.root().join("tree");
    port.add_worktree(&path, &new(&f, "b")).expect("it can be made");
    assert_eq!(
        port.worktrees().expect("a list").iter().map(|tree| tree.path.clone()).collect::<Vec<_>>(),
        [Some(path.clone())]
    );
    port.remove_worktree(&leaving(&path), &[]).expect("it holds nothing");
}

fn with_submodule() -> (Fixture, Fixture) {
    let (f, inner) = (Fixture::new(), Fixture::with_remote());
    let url = inner.root().join("remote.git").to_string_lossy().into_owned();
    f.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "lib"]);
    f.commit("with a submodule");
    (f, inner)
}

/// The port of a user whose environment allows submodules on local paths.
fn allowing_local_clones(f: &Fixture) -> LocalGit {
    let script = f.root().join("git-allowing");
    fs_err::write(&script, "#!/bin/sh\nGIT_ALLOW_PROTOCOL=file exec git \"$@\"\n").expect("write a script");
    make_executable(&script);
    open(&f.work).with_program(Program::named(script))
}

#[test]
fn submodules_are_reported_and_why_they_could_not_be_fetched() {
    let (f, _inner) = with_submodule();
    let path = f.root().join("tree");
    let port = open(&f.work);
    port.add_worktree(&path, &new(&f, "b")).expect("it can be made");
    let listed = port.submodules(&path).expect("a list");
    assert_eq!(
        listed.iter().map(|s| (s.path.to_string(), s.populated)).collect::<Vec<_>>(),
        [("lib".to_owned(), false)]
    );
    // Git does not clone a submodule from a local path, and says so.
    let fault = port.init_submodules(&path).expect_err("a local path is not allowed").to_string();
    assert!(fault.contains("transport 'file' not allowed"), "{fault}");
    f.git(&["config", "submodule.lib.update", "!touch ../ran"]);
    let port = allowing_local_clones(&f);
    port.init_submodules(&path).expect("the user allowed it");
    assert!(port.submodules(&path).expect("a list")[0].populated);
    assert!(!path.join("ran").exists() && !f.root().join("ran").exists(), "an update command does not run");
}

#[test]
fn a_worktree_whose_submodule_holds_unpublished_commits_is_not_removed() {
    let (f, _inner) = with_submodule();
    let path = f.root().join("tree");
    let port = allowing_local_clones(&f);
    port.add_worktree(&path, &new(&f, "b")).expect("it can be made");
    port.init_submodules(&path).expect("the user allowed it");
    let lib = path.join("lib");
    let published = git(&lib, &["rev-parse", "HEAD"]);
    git(&lib, &["checkout", "-q", "-b", "mine"]);
    git(&lib, &["commit", "-q", "--allow-empty", "-m", "only here"]);
    git(&lib, &["checkout", "-q", &published]);
    assert_eq!(port.dirt(&path), Ok(vec![]), "nothing shows in the worktree itself");
    assert_eq!(files(&lost(port.remove_worktree(&leaving(&path), &[]))), ["1 commits of lib"]);
    git(&lib, &["push", "-q", "origin", "mine"]);
    port.remove_worktree(&leaving(&path), &[]).expect("all of it is published");
    assert!(!path.exists());
    assert_eq!(oid(&published).as_str(), published);
}
