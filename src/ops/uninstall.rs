//! `uninstall`: what init put into the repository is taken back, and nothing that somebody changed since.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::plan::{Place, ShownStep, Step};
use crate::domain::profile::PROFILE_PATH;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::root::{Root, RootEvent};
use crate::ops::call::Call;
use crate::ops::custody;
use crate::ops::fault;
use crate::ops::hooks;
use crate::ops::op::{Needs, Op, Span};
use crate::ports::files::carry_out;
use crate::rules::adoption::agents_block::AGENTS_PATH;
use crate::rules::adoption::{self, UninstallFacts};
use crate::rules::profile::MAX_PROFILE_BYTES;

use super::init::MAX_AGENTS_BYTES;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Delete the ledger and all evidence as well, for good
    #[serde(default)]
    purge: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    changed: bool,
    steps: Vec<ShownStep>,
    notices: Vec<String>,
}

pub struct Uninstall;

impl Op for Uninstall {
    const NAME: &'static str = "uninstall";
    const ABOUT: &'static str = "Take back what init put into the repository; the ledger stays unless it is purged";
    const EFFECT: Effect = Effect::Irreversible;
    const CUSTODY: Custody = Custody::Person;
    const NEEDS: Needs = Needs::Repository;
    const SPAN: Span = Span::Steps;
    const SHOWN_TO_ALL: bool = true;
    const COLUMNS: &'static [&'static str] = &["does", "why"];
    const HIDDEN: &'static [&'static str] = &["steps.text"];
    const TEXTS: &'static [&'static str] = &["steps.text"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl uninstall --dry-run", "shows what would go and what would stay; anybody may look")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        if input.purge && !call.caller.is_person() {
            return Err(custody::person_required(&call.caller).with("field", "purge"));
        }
        let mut plan = adoption::uninstall(&survey(call, input.purge)?)?;
        let workspaces = if call.ledger.is_some() { workspaces(call)? } else { 0 };
        if workspaces > 0 {
            let stay = if workspaces == 1 { "worktree stays" } else { "worktrees stay" };
            let words = "with all work in it: see `kctl workspace list`, and `kctl workspace remove`";
            plan.notice(format!("{workspaces} open {stay}, {words}"));
        }
        if input.purge && workspaces > 0 {
            return Err(Refusal::new(
                Code::WOULD_LOSE_WORK,
                "there are workspaces: remove them before the ledger goes",
            )
            .next("workspace.list", "lists them", serde_json::json!({})));
        }
        let changed = !call.dry_run && !plan.is_empty();
        if changed {
            record(call)?;
            let files = call.files(None)?;
            let common_dir = call.repository()?.place().common_dir.clone();
            carry_out::<Refusal>(&plan, files.as_ref(), &mut |step| match step {
                Step::PurgeLedger => {
                    call.ledger = None;
                    call.world.ledgers.purge(&common_dir).map_err(fault::of_ledger)
                }
                step => hooks::configure(call, step),
            })?;
        }
        Ok(Out { changed, steps: plan.shown(), notices: plan.notices })
    }
}

fn survey(call: &Call<'_>, purge: bool) -> Result<UninstallFacts, Refusal> {
    let place = call.repository()?.place();
    let has_tree = place.work_tree.is_some() || place.main_work_tree.is_some();
    let files = call.files(None)?;
    let read = |path: &str, max: u64| {
        if has_tree { files.read(&Place::tree(path), max).map_err(Refusal::from) } else { Ok(None) }
    };
    let written_profile = call.roots()?.into_iter().find_map(|root| root.profile_written);
    Ok(UninstallFacts {
        has_ledger: call.ledger.is_some(),
        profile: read(PROFILE_PATH, MAX_PROFILE_BYTES as u64)?,
        written_profile,
        agents: read(AGENTS_PATH, MAX_AGENTS_BYTES)?,
        hooks: hooks::survey(call)?,
        purge,
    })
}

/// How many workspaces were not removed.
fn workspaces(call: &Call<'_>) -> Result<u64, Refusal> {
    let counts = call.views()?.counts(crate::domain::fold::Kind::Workspace).map_err(fault::of_ledger)?;
    Ok(counts.iter().filter(|(status, _)| status != "removed").map(|(_, count)| count).sum())
}

fn record(call: &mut Call<'_>) -> Result<(), Refusal> {
    let installed = call.roots()?.into_iter().filter(|root| root.installed).map(|root| root.origin);
    for origin in installed.collect::<Vec<_>>() {
        call.step(|call| {
            let held = call.load_or_blank::<Root>(&origin)?;
            call.record::<Root>(&origin, held.ver, RootEvent::Uninstalled {}).map(drop)
        })?;
    }
    Ok(())
}
