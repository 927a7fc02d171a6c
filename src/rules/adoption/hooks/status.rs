//! Whether git runs the gate, for `kctl doctor` and `validate`.

use std::path::PathBuf;

use super::{FORMER_NAME, HookFacts, HookFile, HookTool, OUR_DIR, Scope, USUAL_DIR, find, gate, run_as_legacy};

/// Whether a push here is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateStatus {
    /// Git runs the gate at this path. `outdated`: another kctl wrote it, or kctl has moved; init brings it up to date.
    InForce { at: PathBuf, outdated: bool },
    /// It was never installed here.
    Absent,
    /// It was installed, and git does not run it.
    NotInForce(NotInForce),
}

/// Why git does not run the gate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInForce {
    #[error("core.hooksPath ({}) names `{}` instead of the dispatchers; run `kctl init` again", .scope.name(), .path.display())]
    HooksPath { scope: Scope, path: PathBuf },
    #[error("core.hooksPath still names `{}`, where this repository lay before; no hook is run; run `kctl init` again", .path.display())]
    Moved { path: PathBuf },
    #[error("`{}` was written over{}; run `kctl init` again", .at.display(), over_by(.by))]
    Overwritten { at: PathBuf, by: Option<HookTool> },
    #[error("`{}` is gone; run `kctl init` again", .at.display())]
    Gone { at: PathBuf },
    #[error("`{}` is not executable, so git skips it; run `kctl init` again", .at.display())]
    NotExecutable { at: PathBuf },
}

fn over_by(tool: &Option<HookTool>) -> String {
    tool.map(|tool| format!(" by {}", tool.name())).unwrap_or_default()
}

/// Tells whether git runs the gate, and why not.
pub fn status(facts: &HookFacts) -> GateStatus {
    let usual = facts.common_dir.join(USUAL_DIR);
    match facts.in_force() {
        Some(setting) if setting.path == facts.our_dir() => {
            in_dir(facts, OUR_DIR, &facts.ours, &gate(&facts.kctl, Some(&facts.former_dir())), true)
        }
        Some(setting) if facts.is_ours(&setting.path) => {
            GateStatus::NotInForce(NotInForce::Moved { path: setting.path.clone() })
        }
        Some(setting) if setting.path != usual => match was_installed(facts) {
            true => {
                let (scope, path) = (setting.scope, setting.path.clone());
                GateStatus::NotInForce(NotInForce::HooksPath { scope, path })
            }
            false => GateStatus::Absent,
        },
        Some(_) | None => {
            let script = gate(&facts.kctl, None);
            in_dir(facts, USUAL_DIR, &facts.usual, &script, was_installed(facts))
        }
    }
}

fn was_installed(facts: &HookFacts) -> bool {
    let trace = |file: &HookFile| file.is_ours() || file.name == FORMER_NAME;
    facts.remembered.is_some() || facts.usual.iter().chain(&facts.ours).any(trace)
}

fn in_dir(facts: &HookFacts, dir: &str, files: &[HookFile], script: &[u8], installed: bool) -> GateStatus {
    let at = facts.common_dir.join(dir).join("pre-push");
    let Some(hook) = find(files, "pre-push") else {
        return if installed { GateStatus::NotInForce(NotInForce::Gone { at }) } else { GateStatus::Absent };
    };
    if hook.is_ours() {
        return match hook.is_executable() {
            true => GateStatus::InForce { at, outdated: hook.bytes.as_deref() != Some(script) },
            false => GateStatus::NotInForce(NotInForce::NotExecutable { at }),
        };
    }
    match run_as_legacy(files, hook) {
        Some(legacy) => {
            let outdated = legacy.bytes.as_deref() != Some(script);
            GateStatus::InForce { at: at.with_file_name("pre-push.legacy"), outdated }
        }
        None if installed => GateStatus::NotInForce(NotInForce::Overwritten { at, by: hook.tool() }),
        None => GateStatus::Absent,
    }
}
