use super::{head, oid, open};
use crate::adapters::git::fixture::{Fixture, git, make_executable};
use crate::domain::id::Oid;
use crate::ports::git::{Depth, Git, GitFault, Pushed, RefUpdate, Rejection, RemoteUrl};

const MAIN: &str = "refs/heads/main";

fn url(f: &Fixture) -> RemoteUrl {
    open(&f.work).push_url("origin").expect("one address")
}

fn remote_at(f: &Fixture, name: &str) -> Option<Oid> {
    let refs = open(&f.work).remote_refs(&url(f), &[name]).expect("the remote answers");
    refs.into_iter().next().map(|(_, oid)| oid)
}

fn update(oid: &Oid, dst: &str, expected: Option<&Oid>) -> RefUpdate {
    RefUpdate { oid: oid.clone(), dst: dst.to_owned(), expected: expected.cloned() }
}

fn push(f: &Fixture, updates: &[RefUpdate]) -> Pushed {
    open(&f.work).push(&url(f), updates).expect("git runs")
}

fn hook(f: &Fixture, name: &str, body: &str) {
    let path = f.root().join("remote.git/hooks").join(name);
    fs_err::create_dir_all(path.parent().expect("a directory")).expect("make it");
    fs_err::write(&path, format!("#!/bin/sh\n{body}\n")).expect("write");
    make_executable(&path);
}

#[test]
fn a_push_sends_exactly_one_commit_to_one_ref() {
    let f = Fixture::with_remote();
    let first = head(&f);
    let second = oid(&f.commit("second"));
    f.git(&["tag", "-a", "-m", "x", "follow-me"]);
    f.git(&["config", "push.followTags", "true"]);
    f.commit("not pushed");
    assert_eq!(push(&f, &[update(&second, MAIN, Some(&first))]), Pushed::Accepted);
    assert_eq!(remote_at(&f, MAIN), Some(second.clone()));
    assert_eq!(remote_at(&f, "refs/tags/follow-me"), None);
    assert_eq!(push(&f, &[update(&second, MAIN, Some(&second))]), Pushed::UpToDate);
    assert_eq!(push(&f, &[update(&first, "refs/heads/new/branch", None)]), Pushed::Accepted);
    assert_eq!(remote_at(&f, "refs/heads/new/branch"), Some(first));
}

#[test]
fn a_ref_that_is_not_where_it_was_expected_is_not_moved() {
    let f = Fixture::with_remote();
    let first = head(&f);
    git(f.root(), &["clone", "-q", "remote.git", "colleague"]);
    let colleague = f.root().join("colleague");
    git(&colleague, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
    git(&colleague, &["push", "-q", "origin", "main"]);
    let theirs = oid(&git(&colleague, &["rev-parse", "HEAD"]));
    // A just-fetched tracking ref must not become the lease.
    f.git(&["fetch", "-q"]);
    let mine = oid(&f.commit("mine"));
    assert_eq!(push(&f, &[update(&mine, MAIN, Some(&first))]), Pushed::LeaseMoved { dst: MAIN.into() });
    assert_eq!(push(&f, &[update(&mine, MAIN, None)]), Pushed::LeaseMoved { dst: MAIN.into() });
    let drops = push(&f, &[update(&mine, MAIN, Some(&theirs))]);
    assert!(matches!(drops, Pushed::Rejected { reason: Rejection::NotAncestor, .. }), "{drops:?}");
    assert_eq!(remote_at(&f, MAIN), Some(theirs));
}

#[test]
fn a_tag_never_moves_and_other_refs_move_by_their_lease() {
    let f = Fixture::with_remote();
    let (first, second) = (head(&f), oid(&f.commit("second")));
    assert_eq!(push(&f, &[update(&first, "refs/tags/v1", None)]), Pushed::Accepted);
    let moved = push(&f, &[update(&second, "refs/tags/v1", Some(&first))]);
    assert!(matches!(moved, Pushed::Rejected { reason: Rejection::NotAncestor, .. }));
    let claim = "refs/decapod/claims/t-1";
    assert_eq!(push(&f, &[update(&second, claim, None)]), Pushed::Accepted);
    assert_eq!(push(&f, &[update(&first, claim, Some(&second))]), Pushed::Accepted, "a claim may go anywhere");
    assert_eq!(push(&f, &[update(&second, claim, Some(&second))]), Pushed::LeaseMoved { dst: claim.into() });
}

#[test]
fn several_refs_move_together_or_not_at_all() {
    let f = Fixture::with_remote();
    let (first, second) = (head(&f), oid(&f.commit("second")));
    let evidence = "refs/decapod/evidence/x";
    let both = |expected| [update(&second, MAIN, Some(&first)), update(&second, evidence, expected)];
    assert_eq!(push(&f, &both(Some(&first))), Pushed::LeaseMoved { dst: evidence.into() });
    assert_eq!((remote_at(&f, MAIN), remote_at(&f, evidence)), (Some(first.clone()), None));
    assert_eq!(push(&f, &both(None)), Pushed::Accepted);
    assert_eq!((remote_at(&f, MAIN), remote_at(&f, evidence)), (Some(second.clone()), Some(second)));
}

#[test]
fn who_said_no_is_told() {
    let f = Fixture::with_remote();
    let (first, second) = (head(&f), oid(&f.commit("second")));
    let outcome = || push(&f, &[update(&second, MAIN, Some(&first))]);
    hook(&f, "pre-receive", "echo 'no: policy 7' >&2; exit 1");
    match outcome() {
        Pushed::Rejected { reason: Rejection::Remote, words } => assert!(words.contains("no: policy 7"), "{words}"),
        other => panic!("{other:?}"),
    }
    fs_err::remove_file(f.root().join("remote.git/hooks/pre-receive")).expect("remove");
    f.write(".git/hooks/pre-push", "#!/bin/sh\necho 'not cleared' >&2\nexit 1\n");
    make_executable(&f.work.join(".git/hooks/pre-push"));
    match outcome() {
        Pushed::Rejected { reason: Rejection::Local, words } => assert!(words.contains("not cleared"), "{words}"),
        other => panic!("{other:?}"),
    }
    f.remove(".git/hooks/pre-push");
    fs_err::rename(f.root().join("remote.git"), f.root().join("away.git")).expect("move");
    assert!(matches!(outcome(), Pushed::Unreachable { .. }));
    let asked = open(&f.work).remote_refs(&url(&f), &[MAIN]);
    assert!(matches!(asked, Err(GitFault::Unreachable { .. })));
}

#[test]
fn names_that_could_be_options_or_patterns_are_refused() {
    let f = Fixture::with_remote();
    let git = open(&f.work);
    for wrong in ["main", "--all", "refs/heads/*", "refs/heads/a b", "refs/heads/a:b", "+refs/heads/a", ""] {
        let asked = git.remote_refs(&url(&f), &[wrong]);
        assert!(matches!(asked, Err(GitFault::IllegalName { .. })), "{wrong}");
        let pushed = git.push(&url(&f), &[update(&head(&f), wrong, None)]);
        assert!(matches!(pushed, Err(GitFault::IllegalName { .. })), "{wrong}");
    }
    for wrong in ["--upload-pack=x", "", "a b"] {
        assert!(matches!(git.push_url(wrong), Err(GitFault::IllegalName { .. })), "{wrong}");
    }
}

#[test]
fn only_the_exact_refs_are_answered() {
    let f = Fixture::with_remote();
    f.git(&["push", "-q", "origin", "main:refs/x/refs/heads/main"]);
    let refs = open(&f.work).remote_refs(&url(&f), &[MAIN, "refs/heads/absent"]).expect("the remote answers");
    assert_eq!(refs, [(MAIN.to_owned(), head(&f))]);
}

#[test]
fn an_address_is_the_push_address_and_is_shown_without_its_secret() {
    let f = Fixture::with_remote();
    f.git(&["remote", "set-url", "--push", "origin", "https://ada:s3cret@example.com/a.git"]);
    assert_eq!(url(&f).secret, "https://ada:s3cret@example.com/a.git");
    assert_eq!(url(&f).shown, "https://***@example.com/a.git");
    f.git(&["remote", "set-url", "--push", "--add", "origin", "../second.git"]);
    assert!(matches!(open(&f.work).push_url("origin"), Err(GitFault::TooMany { .. })));
    assert!(matches!(open(&f.work).push_url("absent"), Err(GitFault::Failed { .. })));
    assert_eq!(open(&f.work).remotes(), Ok(vec!["origin".to_owned()]));
}

#[test]
fn a_fetch_brings_the_commit_and_moves_no_branch() {
    let f = Fixture::with_remote();
    let before = head(&f);
    git(f.root(), &["clone", "-q", "remote.git", "colleague"]);
    let colleague = f.root().join("colleague");
    git(&colleague, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
    git(&colleague, &["tag", "v9"]);
    git(&colleague, &["push", "-q", "origin", "main", "v9"]);
    let theirs = oid(&git(&colleague, &["rev-parse", "HEAD"]));
    let port = open(&f.work);
    assert!(port.tree_of(&theirs).is_err());
    assert_eq!(port.fetch("origin", MAIN, Depth::AsConfigured), Ok(Some(theirs.clone())));
    assert!(port.tree_of(&theirs).is_ok());
    assert_eq!(port.branch_tip("main"), Ok(Some(before)));
    assert!(!f.work.join(".git/FETCH_HEAD").exists());
    assert_eq!(f.git(&["tag"]), "");
    assert_eq!(port.fetch("origin", "refs/heads/absent", Depth::AsConfigured), Ok(None));
}

#[test]
fn a_shallow_clone_can_be_made_whole() {
    let f = Fixture::with_remote();
    let first = head(&f);
    for n in 0..3 {
        f.commit(&format!("more {n}"));
    }
    f.git(&["push", "-q", "origin", "main"]);
    let address = format!("file://{}/remote.git", f.root().display());
    git(f.root(), &["clone", "-q", "--depth=1", &address, "shallow"]);
    let dir = f.root().join("shallow");
    let port = open(&dir);
    assert!(port.tree_of(&first).is_err());
    assert_eq!(port.fetch("origin", MAIN, Depth::Whole), Ok(Some(head(&f))));
    assert!(port.tree_of(&first).is_ok());
    assert!(!open(&dir).head(&dir).expect("a head").shallow);
}
