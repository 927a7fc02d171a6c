//! What a check goes by that a snapshot of the tree does not hold: a program of nobody's version control, and files that
//! git ignores.

use std::path::{Path, PathBuf};

use crate::domain::digest::Digest;
use crate::domain::path::TreePath;
use crate::domain::profile::Check;
use crate::domain::refusal::Refusal;
use crate::domain::tree::Snapshot;
use crate::ops::call::Call;
use crate::ports::paths::There;
use crate::rules::verification::due::{Due, What};
use crate::rules::verification::named;

use super::subject::{Subject, open_workspaces};

/// The largest program whose content is read, in bytes.
const MAX_PROGRAM_BYTES: u64 = 64 * 1024 * 1024;

/// A check's program that no snapshot holds and that is no tool: its content counts as an input.
pub struct Own {
    /// As the profile writes it.
    pub name: String,
    pub content: String,
    /// It lies in the tree, where git ignores it.
    is_inside: bool,
    /// Where it is, with every link followed.
    at: PathBuf,
}

/// Where something is, beside the snapshot.
enum Beside {
    Ignored(PathBuf),
    Outside(PathBuf),
}

/// The program of `check`, where it is such a one.
pub fn own(call: &Call<'_>, work_tree: &Path, check: &Check, snapshot: &Snapshot) -> Option<Own> {
    let name = named::of(&check.run).program?;
    let found = beside(call, work_tree, &name, snapshot)?;
    let is_inside = matches!(found, Beside::Ignored(_));
    let (Beside::Ignored(at) | Beside::Outside(at)) = found;
    let (dir, file) = (at.parent()?, at.file_name()?);
    let read = call.world.trees.read(dir, &TreePath::new(file.as_encoded_bytes()), MAX_PROGRAM_BYTES);
    // One that cannot be read says why, and is the same as long as that is so.
    let content = match read {
        Ok(bytes) => Digest::of(&bytes?).to_string(),
        Err(why) => why,
    };
    Some(Own { name, content, is_inside, at })
}

/// Why `check` is not run in the subject's tree: its program is that of another work tree of this repository. One that
/// finds its files from where it lies would judge that tree, and its verdict would be taken for one about this.
pub fn of_another_tree(
    call: &Call<'_>,
    subject: &Subject,
    check: &Check,
    snapshot: &Snapshot,
) -> Result<Option<String>, Refusal> {
    let Some(own) = own(call, &subject.work_tree, check, snapshot).filter(|own| !own.is_inside) else {
        return Ok(None);
    };
    let common_dir = call.repository()?.place().common_dir.clone();
    let root = common_dir.file_name().filter(|name| *name == ".git").and(common_dir.parent()).map(Path::to_owned);
    let others = open_workspaces(call)?.into_iter().map(|workspace| PathBuf::from(workspace.path)).chain(root);
    let is_below = |top: PathBuf| call.world.paths.reach(&top).is_ok_and(|top| own.at.starts_with(top.real));
    let words = "is of another work tree of this repository, and may judge that one: write it from the top of the tree";
    Ok(others.into_iter().any(is_below).then(|| format!("its program `{}` {words}", own.name)))
}

/// The file that `word` names, unless the snapshot speaks for it or it is a tool.
fn beside(call: &Call<'_>, work_tree: &Path, word: &str, snapshot: &Snapshot) -> Option<Beside> {
    let home = call.world.env.var("HOME").map(PathBuf::from);
    let written = named::place(word, work_tree, home.as_deref())?;
    let reached = call.world.paths.reach(&written).ok().filter(|reached| reached.there == There::File)?;
    let is_env = |path: &Path| {
        let top = path.parent().and_then(Path::parent);
        top.is_some_and(|top| call.world.paths.reach(&top.join("pyvenv.cfg")).is_ok_and(|at| at.there == There::File))
    };
    let top = call.world.paths.reach(work_tree).ok()?.real;
    match reached.real.strip_prefix(&top) {
        Ok(inside) if snapshot.speaks_for(inside.as_os_str().as_encoded_bytes()) => None,
        // What a tool is called inside of the tree is told from there on: the tree itself may lie anywhere.
        Ok(inside) if named::is_tool(inside) || is_env(&written) => None,
        Ok(_) => Some(Beside::Ignored(reached.real)),
        Err(_) if named::is_tool(&written) || named::is_tool(&reached.real) || is_env(&written) => None,
        Err(_) => Some(Beside::Outside(reached.real)),
    }
}

/// What whoever rests on `due` should know, with the code of each warning. A few looks at names, and no content is read.
pub fn warnings(call: &Call<'_>, subject: &Subject, due: &[Due], snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for one in due {
        let What::Check { name, check } = &one.what else { continue };
        // What a check needs may have made what it goes by.
        let may_be_made = !check.needs.is_empty();
        let of_program = own(call, &subject.work_tree, check, snapshot);
        if let Some(own) = of_program.filter(|own| !(own.is_inside && may_be_made)) {
            let place = if own.is_inside { "which git ignores" } else { "which lies outside of the tree" };
            let words = "its content counts as an input, but nobody else has it: put it under version control";
            all.push(("program_outside", format!("`{name}` runs `{}`, {place}: {words}", own.name)));
        }
        let mut ignored: Vec<String> = Vec::new();
        for word in
            named::of(&check.run).given.iter().filter(|word| !may_be_made && check.report.as_ref() != Some(word))
        {
            if let Some(Beside::Ignored(_)) = beside(call, &subject.work_tree, word, snapshot) {
                ignored.push(format!("`{word}`"));
            }
        }
        ignored.extend(
            check
                .inputs
                .iter()
                .filter(|glob| names_ignored(call, subject, glob, snapshot))
                .map(|glob| format!("`{glob}`")),
        );
        if !ignored.is_empty() {
            let words = "a change of what git ignores does not make evidence stale; let the check, or one that it needs, \
                         make it from what is tracked";
            all.push(("inputs_outside", format!("`{name}` goes by {}: {words}", ignored.join(", "))));
        }
    }
    all
}

/// Whether `glob` names a place that is there and of which the snapshot has nothing.
fn names_ignored(call: &Call<'_>, subject: &Subject, glob: &str, snapshot: &Snapshot) -> bool {
    let special = glob.find(['*', '?', '[', '{', '\\']);
    let plain = special.map_or(glob, |at| glob[..at].rsplit_once('/').map_or("", |(dir, _)| dir));
    let plain = plain.trim_start_matches("./").trim_end_matches('/');
    let at = subject.work_tree.join(plain);
    let is_there = || call.world.paths.reach(&at).is_ok_and(|reached| reached.there != There::Nothing);
    !plain.is_empty() && plain != "." && !snapshot.speaks_for(plain.as_bytes()) && is_there()
}
