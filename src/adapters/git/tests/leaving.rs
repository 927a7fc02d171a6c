//! Crashes of `git worktree remove`, at each step of it, in whatever order the directories list their files.

use std::path::{Path, PathBuf};

use super::{head, leaving, open};
use crate::adapters::git::LocalGit;
use crate::adapters::git::fixture::{Fixture, git, make_executable};
use crate::adapters::git::program::Program;
use crate::domain::path::TreePath;
use crate::ports::git::{Checkout, Git, GitFault, Lost, Repair, Spot};

/// A git that removes nothing itself: it deletes as many of the worktree's files, and then of its registration's, as
/// the file `cut` says, and dies.
const DYING: &str = r#"#!/bin/sh
top=TOP
case " $* " in *" worktree remove "*) ;; *) exec git "$@";; esac
admin="$top/work/.git/worktrees/tree"
{ ORDER; find "$top/tree" -depth -mindepth 1 ! -path "$top/tree/.git"; LAST; echo "$top/tree"; MORE; find "$admin" -depth; } |
head -n "$(cat "$top/cut")" | while read -r one; do
    if [ -d "$one" ] && [ ! -L "$one" ]; then rmdir "$one" || exit; else rm -f "$one"; fi
done
kill -9 $$
"#;
/// What goes first: the worktree's own `.git`, nothing in particular, or of the registration its path.
const ORDERS: [[&str; 3]; 3] = [
    [DOT_GIT, "true", "true"],
    ["true", DOT_GIT, "true"],
    ["true", DOT_GIT, r#"echo "$admin/gitdir"; echo "$admin/kctl-leaving""#],
];
const DOT_GIT: &str = r#"echo "$top/tree/.git""#;
/// More than there is to delete.
const MAX_STEPS: usize = 60;

struct Cut {
    f: Fixture,
    path: PathBuf,
    checkout: Checkout,
}

impl Cut {
    fn new() -> Self {
        let f = Fixture::with_remote();
        f.symlink("a.txt", "link");
        f.write(".gitignore", ".env\nnode_modules/\n");
        f.commit("more");
        f.git(&["push", "-q", "origin", "main"]);
        f.git(&["branch", "b"]);
        let (path, checkout) = (f.root().join("tree"), Checkout::New { branch: "b".into(), base: head(&f) });
        Self { f, path, checkout }
    }

    /// A worktree with ignored files, a cache, a repository inside and links, whose removal is cut short after `steps`.
    fn cut_short(&self, order: [&str; 3], steps: usize) {
        for dir in [&self.path, &self.f.work.join(".git/worktrees")] {
            fs_err::remove_dir_all(dir).ok();
        }
        let existing = Checkout::Existing { branch: "b".into() };
        self.port().add_worktree(&self.path, &existing).expect("it can be made");
        let inside = [("HEAD", "ref: refs/heads/main\n"), ("config", ""), ("objects/x", ""), ("refs/heads/x", "")];
        let inside = inside.map(|(name, text)| (format!("node_modules/inside/.git/{name}"), text));
        let plain = [(".env".to_owned(), "secret"), ("node_modules/x.js".to_owned(), "made")];
        for (name, content) in inside.into_iter().chain(plain) {
            let path = self.path.join(name);
            fs_err::create_dir_all(path.parent().expect("it has one")).expect("made");
            fs_err::write(path, content).expect("written");
        }
        for name in ["objects/x", "refs/heads/x"] {
            fs_err::remove_file(self.path.join("node_modules/inside/.git").join(name)).expect("removed");
        }
        let text = DYING.replace("ORDER", order[0]).replace("LAST", order[1]).replace("MORE", order[2]);
        let text = text.replace("TOP", self.f.root().to_str().expect("UTF-8 here"));
        self.f.write("../git.sh", text);
        make_executable(&self.f.root().join("git.sh"));
        self.f.write("../cut", steps.to_string());
        let dying = self.port().with_program(Program::named(self.f.root().join("git.sh")));
        let env = Lost::Ignored { path: TreePath::new(".env"), files: 1, bytes: 6 };
        let outcome = dying.remove_worktree(&leaving(&self.path), &[env]);
        assert!(matches!(outcome, Err(GitFault::Failed { status: 137, .. })), "{outcome:?}");
    }

    fn port(&self) -> LocalGit {
        open(&self.f.work)
    }

    /// Nothing of it is left, on disk or in git's books.
    fn assert_gone(&self, when: &str) {
        assert_eq!(self.port().spot(&self.path), Ok(Spot::Free), "{when}");
        assert!(!self.path.exists(), "{when}");
        let admin = self.f.work.join(".git/worktrees");
        let left: Vec<_> = fs_err::read_dir(&admin).into_iter().flatten().filter_map(Result::ok).collect();
        // An empty one may be somebody's who is about to make a worktree: git forgets it by itself.
        let left: Vec<_> = left.iter().filter(|admin| holds_something(&admin.path())).collect();
        assert!(left.is_empty(), "{when}: {left:?}");
        assert_eq!(self.f.git(&["worktree", "list"]).lines().count(), 1, "{when}");
    }

    fn is_harmed(&self) -> bool {
        !self.path.join(".git").exists() || !git(&self.path, &["status", "--porcelain"]).is_empty()
    }
}

fn holds_something(dir: &Path) -> bool {
    fs_err::read_dir(dir).is_ok_and(|mut names| names.next().is_some())
}

/// Every order and every step, until one more step changes nothing.
fn at_each_step(mut look: impl FnMut(&Cut, &str)) {
    let cut = Cut::new();
    for (nth, order) in ORDERS.into_iter().enumerate() {
        for steps in 1..=MAX_STEPS {
            cut.cut_short(order, steps);
            let is_over = !cut.path.exists() && !cut.f.work.join(".git/worktrees/tree").exists();
            look(&cut, &format!("order {nth}, after {steps} deletions"));
            if is_over {
                break;
            }
            assert_ne!(steps, MAX_STEPS, "it never ended");
        }
    }
}

#[test]
fn a_removal_that_was_cut_short_is_ended_by_the_next() {
    at_each_step(|cut, when| {
        let harmed = cut.is_harmed();
        let outcome = cut.port().remove_worktree(&leaving(&cut.path), &[]);
        if harmed {
            assert_eq!(outcome, Ok(()), "{when}");
            cut.assert_gone(when);
        } else if let Err(why) = outcome {
            // Nothing that git tracks was taken: it was as if it had not begun.
            let left = cut.path.join(".env").exists();
            assert!(matches!(why, GitFault::WouldLose { .. }) && left, "{when}: {why:?}");
        } else {
            cut.assert_gone(when);
        }
    });
}

#[test]
fn a_workspace_whose_removal_was_cut_short_is_made_anew() {
    at_each_step(|cut, when| {
        let harmed = cut.is_harmed();
        let port = cut.port();
        let outcome = match port.spot(&cut.path).expect("a look") {
            Spot::Free => {
                port.add_worktree(&cut.path, &Checkout::Existing { branch: "b".into() }).map(|_| Repair::Made)
            }
            Spot::Worktree(_) => port.repair_worktree(&cut.path, &cut.checkout),
            other => panic!("{when}: {other:?}"),
        };
        let wanted = if harmed { [Repair::MadeAnew, Repair::Made] } else { [Repair::Nothing; 2] };
        assert!(outcome.as_ref().is_ok_and(|repair| wanted.contains(repair)), "{when}: {outcome:?}");
        assert_eq!(port.dirt(&cut.path), Ok(vec![]), "{when}");
        assert_eq!(port.estranged(&cut.path), Ok(None), "{when}");
        assert_eq!(port.repair_worktree(&cut.path, &cut.checkout), Ok(Repair::Nothing), "{when}");
        assert_eq!(cut.f.git(&["worktree", "list"]).lines().count(), 2, "{when}");
        // Taking it back leaves no note behind: what is deleted from now on is work.
        fs_err::remove_file(cut.path.join("a.txt")).expect("removed");
        let again = port.remove_worktree(&leaving(&cut.path), &[]);
        let names_it = |what: &[Lost]| what.contains(&Lost::File(TreePath::new("a.txt")));
        assert!(matches!(&again, Err(GitFault::WouldLose { what, .. }) if names_it(what)), "{when}: {again:?}");
    });
}

/// Whatever comes into a worktree after its removal was cut short is work, and stays.
#[test]
fn work_that_came_after_a_removal_was_cut_short_stops_its_end_and_stays() {
    at_each_step(|cut, when| {
        if !cut.is_harmed() || !cut.path.exists() {
            return;
        }
        let old = cut.f.root().join("notes");
        fs_err::create_dir_all(&old).expect("made");
        fs_err::write(old.join("from before.txt"), "mine").expect("written");
        let mine = ["new.txt", "node_modules/notes/from before.txt", "a.txt"];
        fs_err::write(cut.path.join("new.txt"), "mine").expect("written");
        // Moved, its files keep their times.
        fs_err::create_dir_all(cut.path.join("node_modules")).expect("made");
        fs_err::rename(&old, cut.path.join("node_modules/notes")).expect("moved");
        fs_err::write(cut.path.join("a.txt"), "mine").expect("written");
        let bytes = |name: &str| fs_err::read_to_string(cut.path.join(name)).expect("it stays");
        let port = cut.port();
        let removed = port.remove_worktree(&leaving(&cut.path), &[]).map(|()| Repair::Nothing);
        for outcome in [removed, port.repair_worktree(&cut.path, &cut.checkout)] {
            let Err(GitFault::WouldLose { what, .. }) = outcome else { panic!("{when}: {outcome:?}") };
            let mut named: Vec<_> = what.iter().map(|lost| format!("{lost:?}")).collect();
            let mut wanted = mine.map(|name| format!("File({name})"));
            named.sort();
            wanted.sort();
            assert_eq!(named, wanted, "{when}");
            assert!(mine.iter().all(|name| bytes(name) == "mine"), "{when}");
        }
    });
}

#[test]
fn a_refused_removal_leaves_no_note() {
    let f = Fixture::with_remote();
    let path = f.root().join("tree");
    let port = open(&f.work);
    port.add_worktree(&path, &Checkout::New { branch: "b".into(), base: head(&f) }).expect("it can be made");
    fs_err::write(path.join("new"), "x").expect("written");
    assert!(matches!(port.remove_worktree(&leaving(&path), &[]), Err(GitFault::WouldLose { .. })));
    fs_err::remove_file(path.join("new")).expect("removed");
    // Git itself refuses what we had not seen.
    f.write("../git.sh", "#!/bin/sh\necho no >&2; exit 128\n");
    make_executable(&f.root().join("git.sh"));
    let refusing = open(&f.work).with_program(Program::named(f.root().join("git.sh")));
    assert!(matches!(refusing.remove_worktree(&leaving(&path), &[]), Err(GitFault::Failed { status: 128, .. })));
    let names = fs_err::read_dir(f.work.join(".git/worktrees/tree")).expect("it is there").filter_map(Result::ok);
    let notes: Vec<_> = names.filter(|name| name.file_name().to_string_lossy().starts_with("kctl")).collect();
    assert!(notes.is_empty(), "{notes:?}");
}
