//! `ledger.backup`: a consistent copy, taken while others write.

use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::answer::LedgerHead;
use crate::domain::effect::{Custody, Effect};
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::{Op, Span};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The new file; an existing one is never overwritten
    to: PathBuf,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    to: String,
    head: LedgerHead,
}

pub struct Backup;

impl Op for Backup {
    const NAME: &'static str = "ledger.backup";
    const ABOUT: &'static str = "Copy the ledger to a new file";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const SPAN: Span = Span::Steps;
    const POSITIONAL: &'static [&'static str] = &["to"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl ledger backup ../ledger-monday.db", "`kctl ledger recover --from` reads it back")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let common_dir = call.repository()?.place().common_dir.clone();
        let to = place(call, &input.to)?;
        let head = if call.dry_run {
            call.views()?.head().map_err(fault::of_ledger)?
        } else {
            Some(call.world.ledgers.backup(&common_dir, &to).map_err(|why| fault::of_ledger(why).with("field", "to"))?)
        };
        let head = head.ok_or_else(|| Refusal::invalid("to", "the ledger holds no event yet"))?;
        Ok(Out { to: to.display().to_string(), head })
    }
}

/// Where the copy goes: a name that can be typed, and no place where it would stand in a work tree as a change.
fn place(call: &Call<'_>, to: &Path) -> Result<PathBuf, Refusal> {
    let asked = call.world.cwd.join(to);
    let text = to.to_string_lossy();
    if text.trim().is_empty() {
        return Err(Refusal::invalid("to", "`to` is empty: name the new file"));
    }
    if let Some(c) = text.chars().find(|c| c.is_control()) {
        let words = format!("`to` is a name without control characters, and has {}", c.escape_unicode());
        return Err(Refusal::invalid("to", words));
    }
    let to = plain(&asked);
    let git = call.repository()?;
    let of_git = [&git.place().common_dir, &git.place().git_dir];
    if of_git.into_iter().any(|dir| to.starts_with(dir)) {
        return Ok(asked);
    }
    let worktrees = git.worktrees().map_err(fault::of_git)?;
    let tops = worktrees.into_iter().filter_map(|worktree| worktree.path).chain(git.place().work_tree.clone());
    // Worktrees may lie in each other: the innermost is the one that would have it.
    let inside = tops.filter(|top| to.starts_with(top)).max_by_key(|top| top.components().count());
    let Some(top) = inside else { return Ok(asked) };
    let within = to.strip_prefix(&top).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    if within.is_empty() || git.is_ignored(&top, &within).map_err(fault::of_git)? {
        return Ok(asked);
    }
    let words =
        format!("`{within}` would be a change of the work tree: name a place outside of it, or one git ignores");
    Err(Refusal::invalid("to", words).with("work_tree", top.display().to_string()))
}

/// Without `.` and `..`, as far as that can be told without looking.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
        plain
    })
}
