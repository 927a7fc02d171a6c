//! What a new worktree needs before work begins in it: submodules, copied files, the profile's set-up commands.

use std::path::Path;

use crate::domain::id::Oid;
use crate::domain::path::TreePath;
use crate::domain::plan::{Mode, Place};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::stamp::Length;
use crate::domain::workspace::Dirt;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::program;
use crate::ports::git::ChangeKind;
use crate::ports::runner::{Ended, Invocation};

/// How long one set-up command may take.
const SETUP_TIMEOUT: Length = Length::minutes(20);
/// The largest file that is copied into a workspace, in bytes.
const MAX_COPIED_BYTES: u64 = 16 * 1024 * 1024;
/// The most dirt a baseline remembers.
const MAX_BASELINE: usize = 10_000;

/// Prepares the worktree at `path`. What fails is told and does not undo the workspace: it can be done by hand there.
pub fn prepare(call: &mut Call<'_>, path: &Path) -> Result<(), Refusal> {
    submodules(call, path)?;
    let rules = call.profile()?.workspace;
    for name in &rules.copy {
        copy(call, path, name)?;
    }
    for run in &rules.setup {
        let invocation = Invocation::new(program::of(run), path, SETUP_TIMEOUT);
        let outcome = call.world.runner.run(&invocation, &mut |_| {});
        if outcome.ended != (Ended::Exited { code: 0 }) {
            let tail = program::tail(&outcome.output.text, 5);
            call.warn("setup_failed", format!("`{run}` {}: {tail}", outcome.ended));
            break;
        }
    }
    let pointers = call.repository()?.lfs_pointers(path).map_err(fault::of_git)?;
    if let Some(first) = pointers.first() {
        let words =
            format!("{} files such as `{first}` are Git LFS pointers: `git lfs pull` fetches them", pointers.len());
        call.warn("lfs_pointers", words);
    }
    Ok(())
}

fn submodules(call: &mut Call<'_>, path: &Path) -> Result<(), Refusal> {
    let git = call.repository()?;
    if git.submodules(path).map_err(fault::of_git)?.iter().all(|submodule| submodule.populated) {
        return Ok(());
    }
    if let Err(why) = git.init_submodules(path) {
        call.warn("submodules_not_initialised", why.to_string());
    }
    Ok(())
}

/// Copies an untracked file of the root's main worktree, unless the workspace has one of that name.
fn copy(call: &mut Call<'_>, path: &Path, name: &str) -> Result<(), Refusal> {
    let Some(from) = call.repository()?.place().main_work_tree.clone() else { return Ok(()) };
    let at = Place::tree(name);
    let (root, workspace) = (call.files(Some(&from))?, call.files(Some(path))?);
    let copied = || -> Result<bool, Refusal> {
        if workspace.look(&at)?.is_some() {
            return Ok(true);
        }
        let (Some(bytes), Some(entry)) = (root.read(&at, MAX_COPIED_BYTES)?, root.look(&at)?) else { return Ok(false) };
        workspace.write(&at, &bytes, Mode::Exactly(entry.mode & 0o777))?;
        Ok(true)
    };
    match copied() {
        Ok(true) => {}
        Ok(false) => call.warn("not_copied", format!("`{name}` is not in the root's work tree")),
        Err(why) => call.warn("not_copied", format!("`{name}`: {why}")),
    }
    Ok(())
}

/// The head of the worktree at `path`, and what differs there from it.
pub fn baseline(call: &Call<'_>, path: &Path) -> Result<(Oid, Vec<Dirt>), Refusal> {
    let git = call.repository()?;
    let head = git.head(path).map_err(fault::of_git)?;
    let head = head.at.commit().cloned().ok_or_else(|| {
        Refusal::new(Code::WORKSPACE_FAILED, "the workspace has no commit yet").with("path", path.display().to_string())
    })?;
    let mut dirt = git.dirt(path).map_err(fault::of_git)?;
    // By path: of two layers the one on disk counts, which sorts last.
    dirt.reverse();
    dirt.dedup_by(|a, b| a.path == b.path);
    dirt.reverse();
    let snapshot = call.world.trees.snapshot(path).map_err(fault::of_tree)?;
    let content = |path: &TreePath| {
        let entry = snapshot.entries.binary_search_by(|entry| entry.path.cmp(path)).ok();
        entry.map_or_else(String::new, |index| hex(&snapshot.entries[index].digest))
    };
    let kept = dirt
        .into_iter()
        .take(MAX_BASELINE)
        .map(|change| match change.kind {
            ChangeKind::Deleted => Dirt { content: String::new(), path: change.path },
            _ => Dirt { content: content(&change.path), path: change.path },
        })
        .collect();
    Ok((head, kept))
}

/// Lowercase hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
