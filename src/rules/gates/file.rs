//! Rules about the paths that an action names: protection, containment, custody, and whether what is read is there.
//!
//! They advise before the act, about paths as they are at that moment. A hard link, a mount, or a link that is made a
//! moment later is not seen.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::action::{Capability, Decision, GateCode, Reached, There};

/// A worktree of the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub top: PathBuf,
    pub main: bool,
    /// Whether it is the workspace of a task that somebody holds.
    pub claimed: bool,
    /// Whether the caller holds that task.
    pub own: bool,
}

/// A path as it was given, and where it leads: as the kernel goes, and by its words alone, as some tools do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub given: String,
    pub reached: Vec<Reached>,
}

/// What the rules are decided by.
#[derive(Clone, Debug)]
pub struct Facts {
    pub capability: Capability,
    /// The top of the work tree that the call was made in.
    pub here: PathBuf,
    pub trees: Vec<Tree>,
    /// Whether the call names a session that holds.
    pub session: bool,
    /// Git's directories, and those that kctl keeps its own things in.
    pub sealed: Vec<PathBuf>,
}

/// What one rule has against one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    pub decision: Decision,
    pub code: GateCode,
    /// The path as it was given.
    pub path: Option<String>,
    pub reason: String,
    /// Exactly what to do instead.
    pub next_step: String,
    /// Paths that may have been meant.
    pub candidates: Vec<String>,
    /// Whether the same call can succeed later, once that was done.
    pub repeat_helps: bool,
}

impl Finding {
    fn new(
        decision: Decision,
        code: GateCode,
        path: Option<&str>,
        reason: String,
        next_step: impl Into<String>,
    ) -> Self {
        let (path, next_step) = (path.map(str::to_owned), next_step.into());
        Self { decision, code, path, reason, next_step, candidates: Vec::new(), repeat_helps: code.repeat_helps() }
    }
}

/// The finding that decides: the first denial, or else the first question.
pub fn decide(findings: &[Finding]) -> Option<&Finding> {
    let first = |decision| findings.iter().find(|finding| finding.decision == decision);
    first(Decision::Deny).or_else(|| first(Decision::Ask))
}

pub fn unknown_tool(tool: &str) -> Finding {
    let reason = format!("`{tool}` is in no table of tools, so what it does is not known");
    Finding::new(
        Decision::Ask,
        GateCode::UnknownTool,
        None,
        reason,
        "a person allows it, or a tool that is known is used",
    )
}

/// The finding about a path of which nobody can say where it leads.
pub fn unresolved(given: &str, why: &str) -> Finding {
    let reason = format!("nobody can tell where `{given}` leads: {why}");
    Finding::new(Decision::Deny, GateCode::PathUnresolved, Some(given), reason, "name the file by a path without that")
}

/// What is wrong with the words of a path, before anybody looks at a disk.
pub fn plainly_wrong(given: &str) -> Option<Finding> {
    let deny = |code, reason, next: &str| Some(Finding::new(Decision::Deny, code, Some(given), reason, next));
    if given.contains('\0') {
        let reason = "the path holds a NUL byte, and no file has such a name".to_owned();
        return deny(GateCode::BoundaryViolation, reason, "send the path without it");
    }
    if given.starts_with('~') {
        let reason = format!("`{given}` begins with `~`, which is a home directory to some and a name to others");
        return deny(
            GateCode::BoundaryViolation,
            reason,
            "write a path from the workspace, or `./~…` for a file of that name",
        );
    }
    let scheme = given.split_once("://").map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
        let reason = format!("`{given}` is an address and not a path");
        return deny(GateCode::BoundaryViolation, reason, "write a path from the workspace");
    }
    None
}

/// Every rule's finding about `target`, in the rules' order.
pub fn judge(facts: &Facts, target: &Target) -> Vec<Finding> {
    let rules = [protection, containment, custody, reference];
    // Each way it may be read is judged; what several of them say is said once.
    let mut found: Vec<Finding> = Vec::new();
    for rule in rules {
        for finding in target.reached.iter().filter_map(|reached| rule(facts, &target.given, reached)) {
            if !found.contains(&finding) {
                found.push(finding);
            }
        }
    }
    found
}

/// The innermost worktree that `path` lies in.
fn tree_of<'f>(facts: &'f Facts, path: &Path) -> Option<&'f Tree> {
    facts.trees.iter().filter(|tree| path.starts_with(&tree.top)).max_by_key(|tree| tree.top.components().count())
}

/// Whether a file system could take `name` for `.git`: without regard to case, to what it ignores, or by its short name.
fn is_git(name: &OsStr) -> bool {
    let ignored = |letter: &char| matches!(*letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let name: String = name.to_string_lossy().chars().filter(|letter| !ignored(letter)).collect();
    let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

fn in_git(facts: &Facts, path: &Path) -> bool {
    let inside = tree_of(facts, path).and_then(|tree| path.strip_prefix(&tree.top).ok()).unwrap_or(path);
    inside.components().any(|part| matches!(part, Component::Normal(name) if is_git(name)))
        || facts.sealed.iter().any(|dir| path.starts_with(dir))
}

/// Files by which hosts call kctl, from the top of a work tree; a directory stands for all in it.
const HOOKS: [&str; 9] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex",
    ".gemini/settings.json",
    ".cursor/hooks.json",
    ".opencode/plugins",
    ".pi/extensions",
    ".mcp.json",
    "opencode.json",
];

/// Whether `path` is `place` or lies in it, on a file system that may not tell capitals apart.
fn is_below(path: &Path, place: &str) -> bool {
    let mut parts = path.components();
    place.split('/').all(|name| parts.next().is_some_and(|part| part.as_os_str().eq_ignore_ascii_case(name)))
}

fn protection(facts: &Facts, given: &str, reached: &Reached) -> Option<Finding> {
    if !facts.capability.changes_files() {
        return None;
    }
    let real = &reached.real;
    let said = |decision, reason: String, next: &str| {
        Some(Finding::new(decision, GateCode::ProtectedPath, Some(given), reason, next))
    };
    if in_git(facts, real) {
        let reason = format!("`{given}` belongs to git or to kctl, and is changed by their commands only");
        return said(Decision::Deny, reason, "call git or kctl for what you want to change");
    }
    if facts.trees.iter().any(|tree| tree.top.starts_with(real)) {
        let reason = format!("`{given}` holds a whole worktree");
        return said(Decision::Deny, reason, "name the files that are meant; `workspace.remove` removes a workspace");
    }
    let tree = tree_of(facts, real)?;
    let inside = real.strip_prefix(&tree.top).ok()?;
    if is_below(inside, ".decapod") {
        let reason = format!("`{given}` decides how work is judged");
        return said(Decision::Ask, reason, "a person allows the change, and puts it on the base by itself");
    }
    if HOOKS.iter().any(|place| is_below(inside, place)) {
        let claimed = facts.trees.iter().any(|tree| tree.own);
        let decision = if claimed { Decision::Deny } else { Decision::Ask };
        return said(decision, format!("`{given}` decides whether kctl is asked at all"), "a person makes this change");
    }
    None
}

fn containment(facts: &Facts, given: &str, reached: &Reached) -> Option<Finding> {
    let real = &reached.real;
    let deny = |reason: String, next: String| {
        Some(Finding::new(Decision::Deny, GateCode::BoundaryViolation, Some(given), reason, next))
    };
    if in_git(facts, real) {
        let reason = format!("`{given}` lies in a directory of git's or kctl's own");
        return deny(reason, "ask git or kctl for what you want to know".to_owned());
    }
    let here = facts.here.display();
    match tree_of(facts, real) {
        Some(tree) if tree.own || tree.top == facts.here => None,
        // Custody says where the work goes, which helps more.
        Some(_) if facts.capability.changes_files() && sends_elsewhere(facts, real) => None,
        Some(tree) => {
            let inside = real.strip_prefix(&tree.top).unwrap_or(real).display();
            let reason = format!("`{given}` lies in another worktree, `{}`", tree.top.display());
            deny(reason, format!("use `{inside}` of this worktree, `{here}`"))
        }
        None => {
            let leads =
                if Path::new(given) == real { String::new() } else { format!(" (it leads to `{}`)", real.display()) };
            deny(format!("`{given}`{leads} lies outside of the workspace"), format!("stay below `{here}`"))
        }
    }
}

/// Whether the work that goes on belongs into another tree than the one `path` is in.
fn sends_elsewhere(facts: &Facts, path: &Path) -> bool {
    let Some(tree) = tree_of(facts, path) else { return false };
    let others_work = tree.claimed && facts.session && !tree.own;
    let beside_work = tree.main && facts.trees.iter().any(|tree| tree.claimed);
    !tree.own && (others_work || beside_work)
}

fn custody(facts: &Facts, given: &str, reached: &Reached) -> Option<Finding> {
    if !facts.capability.changes_files() || !sends_elsewhere(facts, &reached.real) {
        return None;
    }
    let tree = tree_of(facts, &reached.real)?;
    let inside = reached.real.strip_prefix(&tree.top).ok()?;
    let own = facts.trees.iter().filter(|tree| tree.own).map(|tree| tree.top.join(inside).display().to_string());
    let candidates: Vec<String> = own.collect();
    let place =
        if tree.main { "the main worktree, and work goes on in a workspace" } else { "another task's workspace" };
    let next = match candidates.first() {
        Some(path) => format!("write `{path}`"),
        None => "claim a task and write in its workspace".to_owned(),
    };
    let reason = format!("`{given}` lies in {place}");
    let finding = Finding::new(Decision::Deny, GateCode::WrongWorkspace, Some(given), reason, next);
    Some(Finding { candidates, ..finding })
}

fn reference(facts: &Facts, given: &str, reached: &Reached) -> Option<Finding> {
    if facts.capability != Capability::FileRead || reached.there != There::Nothing {
        return None;
    }
    let reason = format!("`{given}` is not there");
    let next = "read a path that is there; if the file is new, write it";
    Some(Finding::new(Decision::Deny, GateCode::ReferenceMissing, Some(given), reason, next))
}
