//! What git says of its hooks here, for init, uninstall and doctor.

use std::path::Path;

use crate::domain::plan::{Place, Step};
use crate::domain::refusal::{Code, Refusal};
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ports::files::{EntryKind, Files};
use crate::ports::git::{ConfigOrigin, ConfigValue};
use crate::rules::adoption::hooks::{
    FORMER_KEY, HOOKS_PATH_KEY, HookFacts, HookFile, MAX_HOOK_BYTES, MAX_HOOK_FILES, OUR_DIR, Remembered, Scope,
    Setting, USUAL_DIR,
};

/// Gathers what hook plans and hook status depend on.
pub fn survey(call: &Call<'_>) -> Result<HookFacts, Refusal> {
    let git = call.repository()?;
    let place = git.place();
    let files = call.files(None)?;
    let values = git.config_values(HOOKS_PATH_KEY).map_err(fault::of_git)?;
    let own = |value: &&ConfigValue| value.origin == ConfigOrigin::Local;
    let former = git.config_values(FORMER_KEY).map_err(fault::of_git)?;
    let mut facts = HookFacts {
        common_dir: place.common_dir.clone(),
        kctl: call.world.program.clone(),
        own_values: values.iter().filter(own).map(|value| value.raw.clone()).collect(),
        settings: values.into_iter().map(|value| Setting { scope: scope(value.origin), path: value.path }).collect(),
        remembered: former
            .into_iter()
            .rfind(|value| value.origin == ConfigOrigin::Local)
            .map(|value| Remembered { raw: value.raw, path: value.path }),
        usual: hook_files(files.as_ref(), USUAL_DIR)?,
        usual_is_link: files.look(&Place::common(USUAL_DIR))?.is_some_and(|entry| entry.kind == EntryKind::Link),
        ours: hook_files(files.as_ref(), OUR_DIR)?,
        former_names: Vec::new(),
    };
    let top = place.work_tree.as_deref().or(place.main_work_tree.as_deref()).unwrap_or(&place.common_dir);
    facts.former_names = names(call, &top.join(facts.former_dir()));
    Ok(facts)
}

/// The entries of a hooks directory that may lie anywhere. One that cannot be listed has none that git could run.
fn names(call: &Call<'_>, dir: &Path) -> Vec<String> {
    (call.world.files)(Some(dir), dir).list(&Place::tree("."), MAX_HOOK_FILES).unwrap_or_default()
}

fn scope(origin: ConfigOrigin) -> Scope {
    match origin {
        ConfigOrigin::System => Scope::System,
        ConfigOrigin::Global => Scope::Global,
        ConfigOrigin::Local => Scope::Local,
        ConfigOrigin::Worktree => Scope::Worktree,
        ConfigOrigin::Other => Scope::Command,
    }
}

fn hook_files(files: &dyn Files, dir: &str) -> Result<Vec<HookFile>, Refusal> {
    let read = |name: String| -> Result<Option<HookFile>, Refusal> {
        let at = Place::common(format!("{dir}/{name}"));
        let Some(entry) = files.look(&at)? else { return Ok(None) };
        let regular = entry.kind == EntryKind::File;
        let bytes = regular.then(|| files.read(&at, MAX_HOOK_BYTES as u64).ok().flatten()).flatten();
        Ok(Some(HookFile { name, mode: if regular { entry.mode } else { 0 }, bytes }))
    };
    let listed = files.list(&Place::common(dir), MAX_HOOK_FILES)?;
    Ok(listed.into_iter().map(read).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Carries out a step of a plan that is about git's configuration.
pub fn configure(call: &Call<'_>, step: &Step) -> Result<(), Refusal> {
    let git = call.repository()?;
    match step {
        Step::SetConfig { key, value } => {
            let value = value.to_str().ok_or_else(|| {
                let words = format!("`{}` is not UTF-8, and cannot be git's `{key}`", value.to_string_lossy());
                Refusal::new(Code::STORAGE_FAILED, words)
            })?;
            git.set_local_config(key, value).map_err(fault::of_git)
        }
        Step::UnsetConfig { key } => git.unset_local_config(key).map(drop).map_err(fault::of_git),
        Step::Write { .. }
        | Step::Move { .. }
        | Step::Remove { .. }
        | Step::RemoveEmptyDir { .. }
        | Step::MakeLedger
        | Step::PurgeLedger => Ok(()),
    }
}
