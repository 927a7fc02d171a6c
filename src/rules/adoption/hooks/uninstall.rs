//! Taking the gate back. What another tool has put in its place meanwhile stays.

use super::{FORMER_KEY, FORMER_NAME, HOOKS_PATH_KEY, HookFacts, HookFile, OUR_DIR, USUAL_DIR, find};
use crate::domain::plan::{Place, Plan, Step};

/// Plans what restores the hooks that were there before.
pub fn uninstall(facts: &HookFacts) -> Plan {
    let mut plan = Plan::default();
    // The configuration comes first: git must not look into a directory whose dispatchers are gone.
    restore_setting(&mut plan, facts);
    restore(&mut plan, USUAL_DIR, &facts.usual);
    restore(&mut plan, OUR_DIR, &facts.ours);
    for file in facts.ours.iter().filter(|file| !file.name.starts_with("pre-push")) {
        let at = Place::common(format!("{OUR_DIR}/{}", file.name));
        match file.digest().filter(|_| file.is_ours()) {
            Some(holds) => plan.push(Step::Remove { at, holds }, "kctl made it"),
            None => plan.notice(format!("{at} is not kctl's and stays; git no longer runs it")),
        }
    }
    if facts.ours.iter().any(HookFile::is_ours) {
        plan.push(Step::RemoveEmptyDir { at: Place::common(OUR_DIR) }, "kctl made it");
    }
    plan
}

fn restore_setting(plan: &mut Plan, facts: &HookFacts) {
    let ours = facts.own_values.last().is_some_and(|value| facts.is_ours(value));
    match &facts.remembered {
        Some(remembered) if ours => {
            let step = Step::SetConfig { key: HOOKS_PATH_KEY, value: remembered.raw.clone().into_os_string() };
            plan.push(step, "what it was before `kctl init`");
        }
        None if ours => plan.push(Step::UnsetConfig { key: HOOKS_PATH_KEY }, "it was not set before `kctl init`"),
        // Somebody has set it since: that stays.
        Some(_) | None => {}
    }
    if facts.remembered.is_some() {
        plan.push(Step::UnsetConfig { key: FORMER_KEY }, "no longer needed");
    }
}

/// Puts the kept hook back where ours stands, under whatever name a tool has given ours.
fn restore(plan: &mut Plan, dir: &str, files: &[HookFile]) {
    let at = |name: &str| Place::common(format!("{dir}/{name}"));
    let kept = find(files, FORMER_NAME);
    let current = find(files, "pre-push");
    let mut back = None;
    for ours in files.iter().filter(|file| file.name.starts_with("pre-push") && file.is_ours()) {
        let Some(holds) = ours.digest() else { continue };
        match kept.and_then(|kept| Some((kept, kept.digest()?))) {
            Some((kept, digest)) if back.is_none() && !is_running_already(ours, kept, current) => {
                let (from, to) = (at(FORMER_NAME), at(&ours.name));
                plan.push(
                    Step::Move { from, to, holds: digest, replaces: Some(holds) },
                    "the hook that was there before",
                );
                back = Some(&ours.name);
            }
            _ => plan.push(Step::Remove { at: at(&ours.name), holds }, "kctl made it"),
        }
    }
    let Some((kept, digest)) = kept.and_then(|kept| Some((kept, kept.digest()?))).filter(|_| back.is_none()) else {
        return;
    };
    match current.filter(|current| !current.is_ours()) {
        Some(current) if current.bytes == kept.bytes => {
            plan.push(Step::Remove { at: at(FORMER_NAME), holds: digest }, "the same hook is in its place again");
        }
        Some(_) => plan.notice(format!("{} stays: another hook has taken its place since", at(FORMER_NAME))),
        None => {
            let (from, to) = (at(FORMER_NAME), at("pre-push"));
            plan.push(Step::Move { from, to, holds: digest, replaces: None }, "the hook that was there before");
        }
    }
}

/// Whether the tool that put ours aside is the one whose hook was kept: put back beside its new one, it would run twice.
fn is_running_already(ours: &HookFile, kept: &HookFile, current: Option<&HookFile>) -> bool {
    ours.name != "pre-push" && kept.tool().is_some() && kept.tool() == current.and_then(HookFile::tool)
}
