//! The plans of `kctl init` and `kctl uninstall` as a whole.

use super::agents_block::{self, AGENTS_PATH, BlockFault, Edit};
use super::checks::{Proposals, TreeFacts, propose};
use super::hooks::{self, HookFacts};
use super::profile_text;
use crate::domain::digest::Digest;
use crate::domain::plan::{Mode, Place, Plan, Step};
use crate::domain::profile::PROFILE_PATH;
use crate::domain::refusal::{Code, Refusal};
use crate::rules::profile;

/// Which parts a person asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub agents: bool,
    pub hooks: bool,
    /// Whether a block that was edited by hand is replaced.
    pub replace_edits: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { agents: true, hooks: true, replace_edits: false }
    }
}

/// Everything that init depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct InitFacts {
    pub has_ledger: bool,
    /// None in a bare repository: then only ledger and hooks are made.
    pub tree: Option<TreeFacts>,
    pub profile: Option<Vec<u8>>,
    /// Whether git ignores the profile's path, so that it cannot be committed.
    pub profile_ignored: bool,
    pub agents: Option<Vec<u8>>,
    pub hooks: HookFacts,
}

/// What init will do, and what it found.
#[derive(Clone, Debug, PartialEq)]
pub struct Adopted {
    pub plan: Plan,
    /// What the new profile's checks were made from. None: there is a profile already, and it is left as it is.
    pub proposals: Option<Proposals>,
    /// The digest of the new profile's text, to be remembered until `kctl uninstall`.
    pub written_profile: Option<Digest>,
}

/// Why nothing is changed at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdoptionFault {
    #[error(transparent)]
    Block(#[from] BlockFault),
}

impl From<AdoptionFault> for Refusal {
    fn from(fault: AdoptionFault) -> Self {
        Refusal::new(Code::CONFLICT, fault.to_string()).with("path", AGENTS_PATH)
    }
}

/// Plans `kctl init`. Where everything is in place, the plan is empty.
pub fn init(facts: &InitFacts, wanted: Wanted) -> Result<Adopted, AdoptionFault> {
    let mut adopted = Adopted { plan: Plan::default(), proposals: None, written_profile: None };
    if !facts.has_ledger {
        adopted.plan.push(Step::MakeLedger, "one ledger for all worktrees of this repository");
    }
    if let Some(tree) = &facts.tree {
        plan_profile(&mut adopted, facts, tree);
        if wanted.agents {
            plan_block(&mut adopted.plan, facts.agents.as_deref(), wanted.replace_edits)?;
        }
    }
    if wanted.hooks {
        match hooks::install(&facts.hooks) {
            Ok(plan) => adopted.plan.extend(plan),
            Err(fault) => adopted.plan.notice(fault.to_string()),
        }
    }
    Ok(adopted)
}

fn plan_profile(adopted: &mut Adopted, facts: &InitFacts, tree: &TreeFacts) {
    let plan = &mut adopted.plan;
    if facts.profile_ignored {
        plan.notice(format!("git ignores `{PROFILE_PATH}`: a profile that is not committed judges nothing"));
    }
    if let Some(bytes) = &facts.profile {
        if let Err(faults) = profile::read(bytes) {
            plan.notice(format!("`{PROFILE_PATH}` is left as it is and cannot be read: {faults}"));
        }
        return;
    }
    let proposals = propose(tree);
    proposals.notices.iter().for_each(|notice| plan.notice(notice));
    if proposals.checks.is_empty() {
        plan.notice(format!("no check was proposed; declare one in `{PROFILE_PATH}`, or nothing can be verified"));
    }
    let bytes = profile_text(&proposals).into_bytes();
    adopted.written_profile = Some(Digest::of(&bytes));
    let why = match proposals.checks.len() {
        1 => "the profile, with 1 proposed check; review it, then commit it".to_owned(),
        count => format!("the profile, with {count} proposed checks; review it, then commit it"),
    };
    plan.push(Step::Write { at: Place::tree(PROFILE_PATH), bytes, mode: Mode::Keep, replaces: None }, why);
    adopted.proposals = Some(proposals);
}

fn plan_block(plan: &mut Plan, file: Option<&[u8]>, replace_edits: bool) -> Result<(), AdoptionFault> {
    match agents_block::install(file, replace_edits) {
        Ok(edit) => push_edit(plan, file, edit, "the calls an agent makes here, in one marked block"),
        Err(fault @ BlockFault::Edited { .. }) => plan.notice(fault.to_string()),
        Err(fault) => return Err(fault.into()),
    }
    Ok(())
}

fn push_edit(plan: &mut Plan, file: Option<&[u8]>, edit: Edit, why: &str) {
    let (at, holds) = (Place::tree(AGENTS_PATH), file.map(Digest::of));
    match (edit, holds) {
        (Edit::Write(bytes), replaces) => plan.push(Step::Write { at, bytes, mode: Mode::Keep, replaces }, why),
        (Edit::RemoveFile, Some(holds)) => plan.push(Step::Remove { at, holds }, why),
        (Edit::RemoveFile, None) | (Edit::Unchanged, _) => {}
    }
}

/// Everything that uninstall depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct UninstallFacts {
    pub has_ledger: bool,
    pub profile: Option<Vec<u8>>,
    /// `Adopted::written_profile` of the init that wrote it.
    pub written_profile: Option<Digest>,
    pub agents: Option<Vec<u8>>,
    pub hooks: HookFacts,
    /// Whether a person asked for the ledger to be deleted.
    pub purge: bool,
}

/// Plans `kctl uninstall`. Only what kctl made or marked goes; the ledger goes only by `purge`.
pub fn uninstall(facts: &UninstallFacts) -> Result<Plan, AdoptionFault> {
    let mut plan = hooks::uninstall(&facts.hooks);
    let edit = agents_block::remove(facts.agents.as_deref())?;
    push_edit(&mut plan, facts.agents.as_deref(), edit, "the marked block goes, every other byte stays");
    if let Some(bytes) = &facts.profile {
        let holds = Digest::of(bytes);
        if facts.written_profile.as_ref() == Some(&holds) {
            plan.push(Step::Remove { at: Place::tree(PROFILE_PATH), holds }, "it is as `kctl init` wrote it");
            plan.push(Step::RemoveEmptyDir { at: Place::tree(".decapod") }, "nothing else is in it");
        } else {
            plan.notice(format!("`{PROFILE_PATH}` was changed since `kctl init` wrote it, and stays"));
        }
    }
    match (facts.has_ledger, facts.purge) {
        (true, true) => plan.push(Step::PurgeLedger, "asked for by `--purge`; it cannot be had back"),
        (true, false) => plan.notice("the ledger stays at `$GIT_COMMON_DIR/decapod`"),
        (false, _) => {}
    }
    Ok(plan)
}

#[cfg(test)]
#[path = "init_tests.rs"]
mod tests;
