//! Worktrees: which there are, what stands where, adding and removing one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use git2::Repository;
use rustix::io::Errno;

use super::branches::legal_branch;
use super::head;
use super::leaving::{self, Note};
use super::losses;
use super::objects::ours;
use super::place::{io, open_at, pointed_at, read_small};
use super::program::{MAX_CHECKOUT_WAIT, Program, failed};
use super::repair;
use crate::ports::git::{At, Checkout, GitFault, GitResult, Leaving, Lost, Place, Spot, Standing, Worktree};

/// The most worktrees of one root.
const MAX_WORKTREES: usize = 10_000;
/// The reason that git gives while it makes a worktree.
pub(super) const INITIALIZING: &str = "initializing";

const A_SYMLINK: &str = "it is a symlink";

/// What the functions here need: the root, where git runs, and git.
pub(super) struct Yard<'a> {
    pub place: &'a Place,
    pub repo: &'a Repository,
    pub git: &'a Program,
}

impl Yard<'_> {
    pub fn all(&self) -> GitResult<Vec<Worktree>> {
        let mut all = Vec::new();
        if let Some(path) = &self.place.main_work_tree {
            let at = head::at(&open_at(&self.place.common_dir)?).ok();
            all.push(Worktree { name: None, path: Some(path.clone()), at, locked: None, standing: Standing::Sound });
        }
        let dir = self.place.common_dir.join("worktrees");
        let names = match fs_err::read_dir(&dir) {
            Ok(names) => names,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(all),
            Err(error) => return Err(io(&dir, &error)),
        };
        let mut linked = Vec::new();
        for name in names {
            let admin = name.map_err(|error| io(&dir, &error))?.path();
            if admin.is_dir() {
                linked.push(self.registered(&admin));
            }
            if linked.len() > MAX_WORKTREES {
                return Err(GitFault::TooMany { what: "worktrees", limit: MAX_WORKTREES });
            }
        }
        linked.sort_by(|a, b| a.name.cmp(&b.name));
        all.extend(linked);
        Ok(all)
    }

    /// Reads one registration without trusting any part of it to be there.
    fn registered(&self, admin: &Path) -> Worktree {
        let name = admin.file_name().map(|name| name.to_string_lossy().into_owned());
        let dot_git = pointed_at(&admin.join("gitdir"), "");
        let path = dot_git.as_deref().and_then(Path::parent).map(settled);
        let text =
            |file: &str| read_small(&admin.join(file)).map(|text| String::from_utf8_lossy(&text).trim().to_owned());
        let locked = text("locked");
        let at = text("HEAD").and_then(|head| self.parse_head(&head));
        let whole = at.is_some() && admin.join("commondir").is_file() && locked.as_deref() != Some(INITIALIZING);
        let standing = match &path {
            Some(path) if whole => match standing(path, admin) {
                // A removal has begun. What it has left needs not say whose it is any more.
                Standing::Sound if leaving::has_begun(admin) => Standing::HalfMade,
                Standing::Estranged if leaving::has_begun(admin) && !is_there(&path.join(".git")) => Standing::HalfMade,
                standing => standing,
            },
            Some(_) | None => Standing::HalfMade,
        };
        Worktree { name, path, at, locked, standing }
    }

    fn parse_head(&self, head: &str) -> Option<At> {
        let Some(reference) = head.strip_prefix("ref: ") else {
            return head.parse().ok().map(|commit| At::Detached { commit });
        };
        let branch = head::shorten(reference);
        match self.repo.find_reference(reference).and_then(|found| found.peel_to_commit()) {
            Ok(commit) => Some(At::Branch { branch, commit: ours(commit.id()) }),
            Err(_) => Some(At::Unborn { branch }),
        }
    }

    pub fn spot(&self, path: &Path) -> GitResult<Spot> {
        // Before anything is resolved: a link to another worktree would pass for that one.
        if path.is_symlink() {
            return Ok(Spot::Taken { why: A_SYMLINK.to_owned() });
        }
        let wanted = settled(path);
        if let Some(found) = self.all()?.into_iter().find(|tree| tree.path.as_ref() == Some(&wanted)) {
            return Ok(Spot::Worktree(found));
        }
        let taken = |why: &str| Ok(Spot::Taken { why: why.to_owned() });
        match fs_err::symlink_metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Spot::Free),
            Err(error) => return Err(io(path, &error)),
            Ok(meta) if !meta.is_dir() => return taken("it is a file"),
            Ok(_) => {}
        }
        if fs_err::read_dir(path).map_err(|error| io(path, &error))?.next().is_none() {
            return Ok(Spot::Free);
        }
        let ours = pointed_at(&path.join(".git"), "gitdir: ").is_some_and(|admin| {
            admin.parent().map(settled) == Some(settled(&self.place.common_dir.join("worktrees")))
        });
        if ours { Ok(Spot::Leftover) } else { taken("it is a directory with something in it") }
    }

    pub fn add(&self, path: &Path, checkout: &Checkout) -> GitResult<Worktree> {
        match self.spot(path)? {
            Spot::Free => {}
            Spot::Taken { why } => return Err(taken(path, why)),
            Spot::Leftover => {
                return Err(taken(path, "a worktree was left half made there; it can be repaired".to_owned()));
            }
            Spot::Worktree(_) => return Err(taken(path, "a worktree is registered there".to_owned())),
        }
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent).map_err(|error| io(parent, &error))?;
        }
        legal_branch(checkout.branch())?;
        repair::sweep_nameless(self, path)?;
        // `--no-track`: without it parallel creations fail on the lock of the configuration.
        let args: Vec<&OsStr> = match checkout {
            Checkout::New { branch, base } => {
                let args = ["worktree", "add", "--quiet", "--no-track", "-b", branch, "--"].map(OsStr::new);
                args.into_iter().chain([path.as_os_str(), OsStr::new(base.as_str())]).collect()
            }
            Checkout::Existing { branch } => {
                let args = ["worktree", "add", "--quiet", "--no-guess-remote", "--"].map(OsStr::new);
                args.into_iter().chain([path.as_os_str(), OsStr::new(branch)]).collect()
            }
        };
        let ran = self.git.run(self.dir(), &args, MAX_CHECKOUT_WAIT)?;
        match self.spot(path)? {
            // Git answers with the status of a `post-checkout` hook; the worktree stands all the same.
            Spot::Worktree(tree) if tree.standing == Standing::Sound => Ok(tree),
            _ if !ran.ok() => Err(failed(&args, &ran)),
            _ => Err(GitFault::Broken { words: format!("git made no sound worktree at `{}`", path.display()) }),
        }
    }

    pub fn remove(&self, leaving: &Leaving, accepted: &[Lost]) -> GitResult<()> {
        let path = &leaving.path;
        let tree = self.leaving(path)?;
        // A removal that was cut short goes on from where it was; one that had taken nothing yet begins anew.
        let sound = tree.as_ref().and_then(|tree| self.admin_of_whole(tree));
        let note = sound.as_deref().map(|admin| Note::begin(admin, path)).transpose()?;
        let mut lost = losses::of(self, leaving)?;
        lost.retain(|one| !accepted.contains(one));
        if !lost.is_empty() {
            return Err(GitFault::WouldLose { path: path.clone(), what: lost });
        }
        match (tree, note) {
            (Some(tree), Some(note)) => self.remove_sound(path, &tree, note)?,
            (Some(tree), None) => repair::clear(self, path, &tree)?,
            (None, _) => {}
        }
        repair::sweep_nameless(self, path)?;
        match &leaving.home {
            Some(home) => remove_if_empty(home),
            None => Ok(()),
        }
    }

    /// The registration of `tree`, if all that git tracks there stands.
    pub fn admin_of_whole(&self, tree: &Worktree) -> Option<PathBuf> {
        let admin = self.admin(tree.name.as_deref()?);
        let unharmed = || leaving::has_begun(&admin) && leaving::is_unharmed(&admin, tree);
        let whole = match tree.standing {
            Standing::Sound => true,
            Standing::HalfMade => tree.locked.is_none() && unharmed(),
            Standing::Missing | Standing::Estranged => false,
        };
        whole.then_some(admin)
    }

    /// The worktree at `path` that is to go; none if there is none any more.
    pub fn leaving(&self, path: &Path) -> GitResult<Option<Worktree>> {
        // What a link leads to was put there by somebody, and may be anything.
        if fs_err::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
            return Err(taken(path, "it is a symlink".to_owned()));
        }
        match self.spot(path)? {
            Spot::Free => Ok(None),
            Spot::Leftover | Spot::Taken { .. } => Err(taken(path, "no worktree is registered there".to_owned())),
            Spot::Worktree(tree) if tree.name.is_none() => Err(taken(path, "it is the main worktree".to_owned())),
            Spot::Worktree(tree) if tree.standing == Standing::Estranged => {
                Err(taken(path, "it belongs to something else".to_owned()))
            }
            Spot::Worktree(tree) => Ok(Some(tree)),
        }
    }

    fn remove_sound(&self, path: &Path, tree: &Worktree, note: Note) -> GitResult<()> {
        let mut args: Vec<&OsStr> = vec![OsStr::new("worktree"), OsStr::new("remove")];
        let has_modules = tree.name.as_ref().is_some_and(|name| self.admin(name).join("modules").is_dir());
        if has_modules || self.has_populated_submodule(path)? {
            // Git removes no worktree with submodules otherwise; what they hold was looked at before.
            args.push(OsStr::new("--force"));
        }
        args.extend([OsStr::new("--"), path.as_os_str()]);
        note.stands()?;
        let removed = self.git.must(self.dir(), &args, MAX_CHECKOUT_WAIT).map(drop);
        if removed.is_err()
            && let Some(admin) = self.admin_of_whole_at(path)?
        {
            leaving::withdraw(&admin)?;
        }
        removed
    }

    /// The same for whatever is at `path` now.
    fn admin_of_whole_at(&self, path: &Path) -> GitResult<Option<PathBuf>> {
        Ok(self.leaving(path)?.and_then(|tree| self.admin_of_whole(&tree)))
    }

    fn has_populated_submodule(&self, path: &Path) -> GitResult<bool> {
        Ok(super::submodules::submodules(path)?.iter().any(|submodule| submodule.populated))
    }

    pub fn admin(&self, name: &str) -> PathBuf {
        self.place.common_dir.join("worktrees").join(name)
    }

    /// Where git runs: a worktree where there is one, since that is whose sparse checkout a new one gets.
    pub fn dir(&self) -> &Path {
        let place = self.place;
        place.work_tree.as_ref().or(place.main_work_tree.as_ref()).unwrap_or(&place.common_dir)
    }
}

pub(super) fn taken(path: &Path, why: String) -> GitFault {
    GitFault::Taken { path: path.to_owned(), why }
}

/// Whether anything has this name, a link that leads nowhere too.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Removes a directory that holds nothing.
fn remove_if_empty(dir: &Path) -> GitResult<()> {
    match rustix::fs::rmdir(dir) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(()),
        Err(error) => Err(io(dir, &error.into())),
    }
}

/// Whether the directory at `path` says it is the worktree that `admin` registers.
fn standing(path: &Path, admin: &Path) -> Standing {
    let Ok(mut names) = std::fs::read_dir(path) else { return Standing::Missing };
    match pointed_at(&path.join(".git"), "gitdir: ") {
        Some(named) if settled(&named) == settled(admin) => Standing::Sound,
        None if names.next().is_none() => Standing::Missing,
        Some(_) | None => Standing::Estranged,
    }
}

/// Looks at the two files by which worktree and registration name each other, and at no other worktree.
pub(super) fn estranged(place: &Place, path: &Path) -> GitResult<Option<String>> {
    let not = |why: &str| Ok(Some(why.to_owned()));
    match fs_err::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return not("it is not there"),
        Err(error) => return Err(io(path, &error)),
        Ok(meta) if meta.is_symlink() => return not(A_SYMLINK),
        Ok(meta) if !meta.is_dir() => return not("it is a file"),
        Ok(_) => {}
    }
    let dot_git = path.join(".git");
    let admin = pointed_at(&dot_git, "gitdir: ").map(|admin| settled(&admin));
    let ours = |admin: &PathBuf| admin.parent() == Some(settled(&place.common_dir.join("worktrees")).as_path());
    let Some(admin) = admin.filter(ours) else { return not("its directory belongs to something else") };
    let names_it = pointed_at(&admin.join("gitdir"), "").is_some_and(|named| settled(&named) == settled(&dot_git));
    if names_it && leaving::has_begun(&admin) && !leaving::has_all(path) {
        return not("its removal was cut short, and has taken files");
    }
    if names_it { Ok(None) } else { not("its directory says it is a worktree that is registered elsewhere") }
}

/// `path` in its one spelling: symlinks resolved as far as it exists, `.` and `..` gone.
pub(super) fn settled(path: &Path) -> PathBuf {
    if let Ok(path) = fs_err::canonicalize(path) {
        return path;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => settled(parent).join(name),
        _ => path.to_owned(),
    }
}
