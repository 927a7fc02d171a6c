//! Whether this exact candidate may be published. A clearance is made here and nowhere else.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::contract::{CriterionId, LIMITS};
use crate::domain::id::Oid;
use crate::domain::publication::Cleared;
use crate::domain::refusal::Code;

use super::verification::state::{CriterionState, Standing};

/// How many paths or names one blocker lists.
const MAX_NAMED: usize = 10;

/// Something that stands against publication, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Blocker {
    #[serde(serialize_with = "name_of", rename = "code")]
    #[schemars(with = "String")]
    pub kind: Code,
    pub what: String,
    pub remedy: String,
}

fn name_of<S: serde::Serializer>(code: &Code, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.name())
}

/// Whether one commit is known to build on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildsOn {
    Yes,
    No,
    /// History here ends too early to tell.
    Unknown,
}

/// A criterion whose proof looked at a file on disk that the commit says something else about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffCommit {
    pub criterion: CriterionId,
    pub path: String,
    /// Whether the commit has something at `path`.
    pub is_there: bool,
}

/// What the gate looked at.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What is to be published, as it would be cleared.
    pub candidate: Cleared,
    /// Without `refs/heads/`.
    pub branch: String,
    pub base_branch: String,
    /// The branch that the workspace is on; none when its head is detached.
    pub on_branch: Option<String>,
    pub uncommitted: Vec<String>,
    pub builds_on_base: BuildsOn,
    /// Whether the candidate builds on what the remote's branch holds; `Yes` for a new branch.
    pub builds_on_remote: BuildsOn,
    pub protected: bool,
    /// Whether the base's tree has a profile that can judge.
    pub judged: bool,
    /// Whether the candidate changes the profile it will be judged by next.
    pub profile_changed: bool,
    /// The task's criteria, and the base's required checks as criteria.
    pub criteria: Vec<CriterionState>,
    /// Met criteria about one file that the commit does not have as they say.
    pub off_commit: Vec<OffCommit>,
    /// Files whose bytes on disk, which the checks saw, are not what the commit holds.
    pub converted: Vec<String>,
    /// A question or blocker that is open on the task.
    pub blocked: Option<String>,
    /// How often finishing was refused, if it was given up on and there is no progress since.
    pub exhausted: Option<u32>,
}

/// The proof that the gate said yes: to this commit, for this ref, with these leases. It cannot be copied or made
/// elsewhere.
#[derive(Debug)]
pub struct Clearance(Cleared);

impl Clearance {
    pub fn cleared(&self) -> &Cleared {
        &self.0
    }
}

/// Judges the facts.
///
/// # Errors
/// Every blocker there is, each with its remedy.
pub fn clear(facts: Facts) -> Result<Clearance, Vec<Blocker>> {
    let blockers: Vec<Blocker> = [place(&facts), tree(&facts), base(&facts), evidence(&facts)].concat();
    if blockers.is_empty() { Ok(Clearance(facts.candidate)) } else { Err(blockers) }
}

fn blocker(kind: Code, what: impl Into<String>, remedy: impl Into<String>) -> Blocker {
    Blocker { kind, what: what.into(), remedy: remedy.into() }
}

fn place(facts: &Facts) -> Vec<Blocker> {
    let mut found = Vec::new();
    let branch = &facts.branch;
    if facts.protected {
        found.push(blocker(
            Code::PROTECTED_BRANCH,
            format!("the base's profile protects `{branch}`"),
            "publish from the branch that `workspace.ensure` made",
        ));
    }
    if facts.on_branch.as_ref() != Some(branch) {
        let at = facts.on_branch.as_ref().map_or_else(|| "no branch".to_owned(), |other| format!("`{other}`"));
        found.push(blocker(
            Code::NOT_CLEARED,
            format!("the workspace is on {at}, not on `{branch}`"),
            format!("git switch {branch}"),
        ));
    }
    if facts.builds_on_remote != BuildsOn::Yes {
        let held = facts.candidate.expected.as_ref().map_or("nothing", Oid::short);
        found.push(blocker(
            Code::REMOTE_MOVED,
            format!("the remote's `{branch}` holds {held}, which the candidate does not build on"),
            format!(
                "git fetch, look at what was pushed, and build on it: git rebase {}/{branch}",
                facts.candidate.remote
            ),
        ));
    }
    found
}

fn tree(facts: &Facts) -> Vec<Blocker> {
    let mut found = Vec::new();
    if !facts.converted.is_empty() {
        let list = names(&facts.converted);
        found.push(blocker(
            Code::NOT_CLEARED,
            format!("what was checked on disk is not what the commit holds, in {list}"),
            "take away the filter or encoding between disk and commit (git check-attr -a PATH), check the files out \
             again, and validate",
        ));
    }
    if facts.uncommitted.is_empty() {
        return found;
    }
    found.push(blocker(
        Code::NOT_CLEARED,
        match facts.uncommitted.len() {
            1 => format!("{} is not committed", names(&facts.uncommitted)),
            count => format!("{count} paths are not committed: {}", names(&facts.uncommitted)),
        },
        "commit what belongs to the work; add what does not to .gitignore, or take it elsewhere",
    ));
    found
}

fn base(facts: &Facts) -> Vec<Blocker> {
    let mut found = Vec::new();
    let (short, name) = (facts.candidate.base.short(), &facts.base_branch);
    match facts.builds_on_base {
        BuildsOn::Yes => {}
        BuildsOn::No => found.push(blocker(
            Code::ACCEPTED_BASE_NOT_ANCESTOR,
            format!("the candidate does not build on {short}, where `{name}` is now"),
            format!(
                "git fetch {remote} {name} && git rebase {short}, then validate again",
                remote = facts.candidate.remote
            ),
        )),
        BuildsOn::Unknown => found.push(blocker(
            Code::ACCEPTED_BASE_NOT_ANCESTOR,
            format!("this clone's history is too shallow to tell whether the candidate builds on {short}"),
            "git fetch --unshallow",
        )),
    }
    if !facts.judged {
        found.push(blocker(
            Code::BASE_UNKNOWN,
            format!("`{name}` has no .decapod/kctl.toml, so nothing there says what must hold"),
            format!("a person commits and pushes the profile to `{name}` first"),
        ));
    }
    if facts.profile_changed {
        found.push(blocker(
            Code::NOT_CLEARED,
            "the candidate changes .decapod/kctl.toml, by which it would be judged",
            format!("leave the profile to a change of its own, which a person puts on `{name}`"),
        ));
    }
    found
}

fn evidence(facts: &Facts) -> Vec<Blocker> {
    let mut found = Vec::new();
    if let Some(reason) = &facts.blocked {
        found.push(blocker(Code::NOT_CLEARED, format!("the task is blocked: {reason}"), "have it answered"));
    }
    if let Some(refused) = facts.exhausted {
        found.push(blocker(
            Code::FINALIZATION_EXHAUSTED,
            format!("finishing was refused {refused} times without progress"),
            "ask a person with task.block and a question; what they answer with task.unblock lets the work begin anew",
        ));
    }
    for criterion in facts.criteria.iter().filter(|one| one.required && !one.state.is_settled()) {
        let (what, remedy) = match criterion.state {
            Standing::NeverChecked => ("was never checked", "validate with scope `branch`"),
            Standing::Failed => ("failed", "mend what it found, commit, and validate with scope `branch`"),
            Standing::Error => ("was left undecided by an error", "look at its output, and validate again"),
            Standing::Unavailable => ("cannot be checked here", "install what it needs, and validate again"),
            Standing::Stale => ("is stale: its inputs changed since", "validate with scope `branch`"),
            Standing::Flaky => ("passed and failed on the same inputs", "validate until runs agree, or mend it"),
            Standing::Suspicious => ("passed suspiciously", "look at the findings; a person accepts or rejects them"),
            Standing::InsufficientStrength => {
                ("is no more than asserted", "show it by a check or a person's attestation")
            }
            Standing::Met | Standing::Waived => continue,
        };
        if criterion.by_person && criterion.state == Standing::Suspicious {
            found.push(held(criterion));
            continue;
        }
        let remedy = if criterion.by_person { "a person looks at it, and calls criterion.attest" } else { remedy };
        found.push(blocker(Code::NOT_CLEARED, format!("`{}` ({}) {what}", criterion.id, criterion.statement), remedy));
    }
    found.extend(facts.off_commit.iter().map(off_commit));
    if facts.criteria.iter().all(|criterion| criterion.id.as_str() == LIMITS) && facts.judged {
        found.push(blocker(
            Code::NOT_CLEARED,
            "neither the task nor the profile asks for anything to be shown",
            "a person declares a check in .decapod/kctl.toml on the base, or the task gets criteria",
        ));
    }
    found
}

/// Findings that nobody accepted, each in its line.
fn held(criterion: &CriterionState) -> Blocker {
    let lines = criterion.last.as_ref().map_or_else(String::new, |last| last.reasons.join("; "));
    blocker(
        Code::INTEGRITY_HELD,
        format!("the change weakens what judges it: {lines}"),
        "undo it, or have a person look at `kctl finding list` and accept each",
    )
}

fn off_commit(off: &OffCommit) -> Blocker {
    let OffCommit { criterion, path, is_there } = off;
    let (what, remedy) = match is_there {
        false => (
            format!("`{criterion}` rests on `{path}`, which is on this disk and not in the commit: git ignores it"),
            "commit the file with `git add -f`, or have the criterion changed",
        ),
        true => (
            format!("`{criterion}` rests on the absence of `{path}`, which the commit has"),
            "take it out of the commit, or have the criterion changed",
        ),
    };
    blocker(Code::NOT_CLEARED, what, remedy)
}

fn names(list: &[String]) -> String {
    let shown = list.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if list.len() > MAX_NAMED { format!("{shown} and {} more", list.len() - MAX_NAMED) } else { shown }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::contract::Strength;
    use crate::domain::digest::Digest;
    use crate::domain::id::TaskId;

    fn criterion(state: Standing) -> CriterionState {
        CriterionState {
            id: "tests".parse().expect("legal"),
            statement: "check `tests` passes".into(),
            required: true,
            state,
            strength: Strength::Observed,
            evidence: None,
            last: None,
            regressed_at: None,
            waiver: None,
            waits_for: None,
            by_person: false,
        }
    }

    fn facts() -> Facts {
        let oid = |digit: &str| digit.repeat(40).parse::<Oid>().expect("an object id");
        Facts {
            candidate: Cleared {
                task: TaskId::new(Uuid::from_u128(1)),
                remote: "origin".into(),
                url: "../remote.git".into(),
                reference: "refs/heads/kctl/t".into(),
                commit: oid("a"),
                tree: oid("b"),
                base: oid("c"),
                base_ref: "refs/heads/main".into(),
                expected: None,
                profile_digest: Digest::of(b"profile"),
                evidence: Vec::new(),
                fence: 1,
                input: None,
            },
            branch: "kctl/t".into(),
            base_branch: "main".into(),
            on_branch: Some("kctl/t".into()),
            uncommitted: Vec::new(),
            builds_on_base: BuildsOn::Yes,
            builds_on_remote: BuildsOn::Yes,
            protected: false,
            judged: true,
            profile_changed: false,
            criteria: vec![criterion(Standing::Met)],
            off_commit: Vec::new(),
            converted: Vec::new(),
            blocked: None,
            exhausted: None,
        }
    }

    fn codes(facts: Facts) -> Vec<Code> {
        clear(facts).err().unwrap_or_default().into_iter().map(|blocker| blocker.kind).collect()
    }

    #[test]
    fn each_fact_alone_can_stand_against_it() {
        assert_eq!(codes(facts()), []);
        type Change = fn(&mut Facts);
        let cases: [(Code, Change); 15] = [
            (Code::PROTECTED_BRANCH, |facts| facts.protected = true),
            (Code::NOT_CLEARED, |facts| facts.on_branch = None),
            (Code::NOT_CLEARED, |facts| facts.uncommitted = vec!["a".into()]),
            (Code::REMOTE_MOVED, |facts| facts.builds_on_remote = BuildsOn::No),
            (Code::REMOTE_MOVED, |facts| facts.builds_on_remote = BuildsOn::Unknown),
            (Code::ACCEPTED_BASE_NOT_ANCESTOR, |facts| facts.builds_on_base = BuildsOn::No),
            (Code::ACCEPTED_BASE_NOT_ANCESTOR, |facts| facts.builds_on_base = BuildsOn::Unknown),
            (Code::BASE_UNKNOWN, |facts| facts.judged = false),
            (Code::NOT_CLEARED, |facts| facts.profile_changed = true),
            (Code::NOT_CLEARED, |facts| facts.criteria.clear()),
            (Code::NOT_CLEARED, |facts| facts.blocked = Some("a question".into())),
            (Code::FINALIZATION_EXHAUSTED, |facts| facts.exhausted = Some(4)),
            (Code::NOT_CLEARED, |facts| facts.converted = vec!["a".into()]),
            (Code::NOT_CLEARED, |facts| {
                let criterion = facts.criteria[0].id.clone();
                facts.off_commit = vec![OffCommit { criterion, path: "a".into(), is_there: false }];
            }),
            (Code::NOT_CLEARED, |facts| facts.criteria = vec![criterion(Standing::Stale)]),
        ];
        for (index, (code, change)) in cases.into_iter().enumerate() {
            let mut changed = facts();
            change(&mut changed);
            assert_eq!(codes(changed), [code], "case {index}");
        }
    }

    #[test]
    fn every_standing_but_met_stands_against_it() {
        for standing in
            [Standing::NeverChecked, Standing::Failed, Standing::Error, Standing::Unavailable, Standing::Stale]
        {
            let mut changed = facts();
            changed.criteria = vec![criterion(Standing::Met), criterion(standing)];
            assert_eq!(codes(changed), [Code::NOT_CLEARED], "{standing:?}");
        }
    }
}
