//! Putting the gate in force.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{
    ALWAYS, FORMER_KEY, FORMER_NAME, HOOKS_PATH_KEY, HookFacts, HookFile, HooksFault, OUR_DIR, Scope, Setting,
    USUAL_DIR, WHERE_PRESENT, dispatcher, find, gate, run_as_legacy,
};
use crate::domain::plan::{Mode, Place, Plan, Step};

/// How many put-aside copies of former hooks are kept apart.
const MAX_COPIES: usize = 99;

/// How the gate is chained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    InPlace,
    Redirected { former: PathBuf },
}

/// Decides between the two ways.
pub fn way(facts: &HookFacts) -> Result<Way, HooksFault> {
    let former = facts.former_dir();
    match facts.in_force() {
        Some(Setting { scope: scope @ (Scope::Worktree | Scope::Command), path }) if *path != facts.our_dir() => {
            return Err(HooksFault::Outranked(*scope));
        }
        Some(setting) if setting.path != facts.common_dir.join(USUAL_DIR) => return Ok(Way::Redirected { former }),
        Some(_) | None => {}
    }
    match find(&facts.usual, "pre-push") {
        _ if facts.usual_is_link => Ok(Way::Redirected { former }),
        Some(hook) if !hook.is_ours() && !survives_another_name(hook) => Ok(Way::Redirected { former }),
        Some(_) | None => Ok(Way::InPlace),
    }
}

/// Whether a hook works the same when it is run as `pre-push.before-kctl`. A symbolic link or a program may be one of
/// many names of a dispatcher; a script may ask for its own.
fn survives_another_name(hook: &HookFile) -> bool {
    let Some(text) = hook.bytes.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()) else { return false };
    !["basename", "##*/", "argv[0]", "PROGRAM_NAME", "__FILE__", "__file__", "BASH_SOURCE"]
        .iter()
        .any(|asks| text.contains(asks))
}

/// Plans what puts the gate in force. Empty where it is.
pub fn install(facts: &HookFacts) -> Result<Plan, HooksFault> {
    let mut plan = Plan::default();
    match way(facts)? {
        Way::InPlace => {
            let script = gate(&facts.kctl, None);
            chain(&mut plan, USUAL_DIR, &facts.usual, script)?;
        }
        Way::Redirected { former } => redirect(&mut plan, facts, &former)?,
    }
    Ok(plan)
}

/// Puts `script` in as `dir`'s pre-push hook and keeps the one that is there. At no point is there no hook.
fn chain(plan: &mut Plan, dir: &'static str, files: &[HookFile], script: Vec<u8>) -> Result<(), HooksFault> {
    let at = |name: &str| Place::common(format!("{dir}/{name}"));
    let current = find(files, "pre-push");
    if let Some(current) = current.filter(|current| !current.is_ours()) {
        if let Some(legacy) = run_as_legacy(files, current) {
            refresh_legacy(plan, at("pre-push.legacy"), legacy, script);
            return Ok(());
        }
        keep_aside(plan, dir, files, current)?;
    }
    if current.is_some_and(|current| current.is_executable() && current.bytes.as_deref() == Some(&script)) {
        return Ok(());
    }
    let replaces = match current {
        Some(current) => Some(current.digest().ok_or_else(|| unreadable(dir, "pre-push"))?),
        None => None,
    };
    let step = Step::Write { at: at("pre-push"), bytes: script, mode: Mode::Executable, replaces };
    plan.push(step, "the pre-push gate; it runs the former hook after it");
    Ok(())
}

/// A tool that put ours aside may run it all the same: then the gate is in force, and only kept up to date.
fn refresh_legacy(plan: &mut Plan, at: Place, legacy: &HookFile, script: Vec<u8>) {
    if legacy.bytes.as_deref() != Some(&script) {
        let step = Step::Write { at, bytes: script, mode: Mode::Executable, replaces: legacy.digest() };
        plan.push(step, "the pre-push gate, where another tool put it and runs it");
    }
}

fn keep_aside(plan: &mut Plan, dir: &'static str, files: &[HookFile], current: &HookFile) -> Result<(), HooksFault> {
    let at = |name: &str| Place::common(format!("{dir}/{name}"));
    let bytes = current.bytes.clone().ok_or_else(|| unreadable(dir, "pre-push"))?;
    if let Some(older) = find(files, FORMER_NAME) {
        if older.bytes.as_ref() == Some(&bytes) && older.mode == current.mode {
            return Ok(());
        }
        // A tool wrote its hook over ours. What runs without kctl is that hook; the older one is only kept.
        let holds = older.digest().ok_or_else(|| unreadable(dir, FORMER_NAME))?;
        let names = (1..=MAX_COPIES).map(|number| format!("{FORMER_NAME}.{number}"));
        let free = names.into_iter().find(|name| find(files, name).is_none());
        let to = at(&free.ok_or_else(|| unreadable(dir, FORMER_NAME))?);
        plan.notice(format!("the hook that was kept before is now at {to}; it is not run"));
        plan.push(Step::Move { from: at(FORMER_NAME), to, holds, replaces: None }, "an older former hook is kept");
    }
    let mode = Mode::Exactly(current.mode);
    let by = current.tool().map_or("", super::HookTool::name);
    let why = format!("the former hook{}{by} keeps its text and mode", if by.is_empty() { "" } else { " of " });
    plan.push(Step::Write { at: at(FORMER_NAME), bytes, mode, replaces: None }, why);
    Ok(())
}

fn unreadable(dir: &'static str, name: &str) -> HooksFault {
    HooksFault::Unreadable { dir, name: name.to_owned() }
}

fn redirect(plan: &mut Plan, facts: &HookFacts, former: &Path) -> Result<(), HooksFault> {
    if facts.own_values.len() > 1 {
        return Err(HooksFault::SeveralValues(facts.own_values.len()));
    }
    for name in dispatched(facts) {
        if name == "pre-push" {
            chain(plan, OUR_DIR, &facts.ours, gate(&facts.kctl, Some(former)))?;
            continue;
        }
        let at = Place::common(format!("{OUR_DIR}/{name}"));
        let (bytes, current) = (dispatcher(name, former), find(&facts.ours, name));
        match current {
            Some(current) if !current.is_ours() => plan.notice(format!("{at} is not kctl's and is left as it is")),
            Some(current) if current.is_executable() && current.bytes.as_ref() == Some(&bytes) => {}
            current => {
                let replaces = current.and_then(HookFile::digest);
                let why = format!("hands over to {}", former.join(name).display());
                plan.push(Step::Write { at, bytes, mode: Mode::Executable, replaces }, why);
            }
        }
    }
    drop_stale(plan, facts);
    configure(plan, facts);
    Ok(())
}

/// The hooks that get a dispatcher, in a fixed order.
fn dispatched(facts: &HookFacts) -> impl Iterator<Item = &'static str> {
    let present: BTreeSet<&str> = facts.former_names.iter().map(String::as_str).collect();
    let extra: Vec<&str> = WHERE_PRESENT.iter().copied().filter(|name| present.contains(name)).collect();
    ALWAYS.iter().copied().chain(extra)
}

/// Takes out dispatchers whose mere existence would change what git does.
fn drop_stale(plan: &mut Plan, facts: &HookFacts) {
    for name in WHERE_PRESENT.iter().filter(|name| !facts.former_names.iter().any(|there| there == *name)) {
        if let Some(holds) = find(&facts.ours, name).filter(|file| file.is_ours()).and_then(HookFile::digest) {
            let at = Place::common(format!("{OUR_DIR}/{name}"));
            plan.push(Step::Remove { at, holds }, "the former directory no longer has this hook");
        }
    }
}

/// The configuration comes last: until it names our directory, nothing has changed for anybody.
fn configure(plan: &mut Plan, facts: &HookFacts) {
    let own = facts.own_values.last().filter(|value| !facts.is_ours(value));
    let has_ours = facts.own_values.last().is_some_and(|value| facts.is_ours(value));
    match (own, &facts.remembered) {
        (Some(own), remembered) if remembered.as_ref().map(|remembered| &remembered.raw) != Some(own) => {
            let step = Step::SetConfig { key: FORMER_KEY, value: own.clone().into_os_string() };
            plan.push(step, "what core.hooksPath was, for `kctl uninstall`");
        }
        (None, Some(_)) if !has_ours => {
            plan.push(Step::UnsetConfig { key: FORMER_KEY }, "core.hooksPath is no longer set here");
        }
        (Some(_) | None, _) => {}
    }
    let ours = facts.our_dir();
    if facts.in_force().is_none_or(|setting| setting.path != ours) {
        let step = Step::SetConfig { key: HOOKS_PATH_KEY, value: ours.into_os_string() };
        plan.push(step, "git runs the dispatchers, and they the former hooks");
    }
}
