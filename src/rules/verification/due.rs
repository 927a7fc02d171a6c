//! What a contract, and the base's profile, ask to be shown.

use crate::domain::contract::{Criterion, CriterionId, Proof};
use crate::domain::digest::{Digest, Fields};
use crate::domain::id::{Oid, TaskId};
use crate::domain::profile::{Check, CheckName, Profile, Run};
use crate::domain::workspace::Dirt;

/// One thing to be shown: a check to run, or a proof to look up in the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// What two runs have in common when the newer replaces the older.
    pub key: String,
    /// Digest of what is judged by. Another definition is another thing to be shown.
    pub definition: Digest,
    pub what: What,
    /// The criteria that rest on it. Empty for a check that only publication needs.
    pub criteria: Vec<CriterionId>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Check {
        name: CheckName,
        check: Check,
    },
    Proof(Proof),
    /// What is handed in (`Proof::handed_in_by`): nothing is run or looked up for it.
    HandedIn(Proof),
    /// A criterion that names a check which neither the base nor the work tree declares (any more).
    Undeclared {
        check: String,
    },
}

impl Due {
    /// The files that a verdict speaks for; empty means the whole tree.
    pub fn inputs(&self) -> Vec<String> {
        match &self.what {
            What::Check { check, .. } => check.inputs.clone(),
            What::Undeclared { .. } => Vec::new(),
            What::Proof(proof) | What::HandedIn(proof) => of_inputs(proof),
        }
    }

    /// Whether it is run or looked up; what is handed in is not.
    pub fn is_run(&self) -> bool {
        !matches!(self.what, What::HandedIn(_))
    }

    /// Whether it is a command that nobody declared: what it says is asserted, and is never looked up again.
    pub fn is_ad_hoc(&self) -> bool {
        self.key.starts_with(AD_HOC)
    }

    /// A name for people.
    pub fn title(&self) -> String {
        match &self.what {
            What::Check { name, .. } => name.to_string(),
            What::Undeclared { check } => check.clone(),
            What::Proof(proof) | What::HandedIn(proof) => proof.kind().to_owned(),
        }
    }

    /// What a row of results calls it: a check by its name, a proof by the criteria that rest on it.
    pub fn row(&self) -> String {
        match &self.what {
            What::Proof(_) | What::HandedIn(_) if !self.criteria.is_empty() => named(&self.criteria),
            What::Check { .. } | What::Undeclared { .. } | What::Proof(_) | What::HandedIn(_) => self.title(),
        }
    }
}

/// Criteria as one word of a row.
pub fn named(criteria: &[CriterionId]) -> String {
    criteria.iter().map(CriterionId::as_str).collect::<Vec<_>>().join(", ")
}

/// Globs of the files that a verdict on `proof` speaks for; empty means the whole tree.
fn of_inputs(proof: &Proof) -> Vec<String> {
    match proof {
        Proof::FileExists { path }
        | Proof::FileAbsent { path }
        | Proof::FileContains { path, .. }
        | Proof::JsonValid { path, .. }
        | Proof::TomlValid { path }
        | Proof::YamlValid { path }
        | Proof::Parses { path } => vec![globset::escape(path)],
        Proof::SearchNone { paths, .. } => paths.clone(),
        Proof::Citation { sources } => {
            let files = sources.iter().filter(|source| !is_address(source)).map(|source| globset::escape(source));
            // What lies elsewhere is not staled by the tree: git's own directory is never part of a snapshot.
            files.chain([".git".to_owned()]).collect()
        }
        Proof::DiffScope { .. }
        | Proof::Check { .. }
        | Proof::Receipt { .. }
        | Proof::Attested { .. }
        | Proof::Judgement { .. } => Vec::new(),
    }
}

/// Whether a cited source lies elsewhere, and is no path of the tree.
pub fn is_address(source: &str) -> bool {
    source.contains("://")
}

/// Where definitions come from. The base's come first: a candidate cannot choose its judge (I7).
#[derive(Clone, Copy, Debug)]
pub struct Judges<'a> {
    pub base: Option<&'a Profile>,
    /// Used only for checks that the base does not have.
    pub work_tree: Option<&'a Profile>,
}

impl<'a> Judges<'a> {
    pub fn check(&self, name: &str) -> Option<(&'a CheckName, &'a Check)> {
        [self.base, self.work_tree]
            .into_iter()
            .flatten()
            .find_map(|profile| profile.checks.iter().find(|(known, _)| known.as_str() == name))
    }
}

/// What a `diff_scope` proof is judged against.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub task: Option<&'a TaskId>,
    pub base: Option<&'a Oid>,
    pub baseline: &'a [Dirt],
}

/// What `criteria` ask for. Criteria that say the same share one entry; attested ones ask for no run.
pub fn of_criteria(criteria: &[Criterion], judges: Judges<'_>, ground: Ground<'_>) -> Vec<Due> {
    let mut due: Vec<Due> = Vec::new();
    for criterion in criteria {
        let Some(mut one) = of_proof(&criterion.proof, judges, ground) else { continue };
        match due.iter_mut().find(|known| known.key == one.key) {
            Some(known) => known.criteria.push(criterion.id.clone()),
            None => {
                one.criteria.push(criterion.id.clone());
                due.push(one);
            }
        }
    }
    due
}

/// What publication asks for: the required checks of the base's profile, beside what is `due` already.
pub fn add_required(due: &mut Vec<Due>, base: &Profile) {
    for (name, check) in base.required() {
        let one = of_check(name, check);
        if !due.iter().any(|known| known.key == one.key) {
            due.push(one);
        }
    }
}

/// Adds the checks that the due ones need first, and puts every check after what it needs.
pub fn in_order(due: Vec<Due>, judges: Judges<'_>) -> Vec<Due> {
    let mut ordered: Vec<Due> = Vec::new();
    for one in due {
        place(one, judges, &mut ordered, 0);
    }
    ordered
}

/// Needs are acyclic in a profile that was read; the bound only guards against one that was not.
const MAX_NESTED_NEEDS: usize = 64;

fn place(one: Due, judges: Judges<'_>, ordered: &mut Vec<Due>, depth: usize) {
    if let Some(known) = ordered.iter_mut().find(|known| known.key == one.key) {
        known.criteria.extend(one.criteria);
        return;
    }
    if let What::Check { check, .. } = &one.what
        && depth < MAX_NESTED_NEEDS
    {
        for need in &check.needs {
            if let Some((name, check)) = judges.check(need.as_str()) {
                place(of_check(name, check), judges, ordered, depth + 1);
            }
        }
    }
    ordered.push(one);
}

/// What the keys of commands begin with that nobody declared.
const AD_HOC: &str = "command:";

/// A command of the caller's own, run as a check is. No criterion can rest on it: its key is no check's.
pub fn of_command(run: Run) -> Due {
    let check = Check { required: false, ..Check::new(run) };
    let definition = check.digest();
    let name = "command".parse().expect("a legal name");
    let key = format!("{AD_HOC}{}", &definition.hex()[..16]);
    Due { key, definition, what: What::Check { name, check }, criteria: Vec::new() }
}

pub fn of_check(name: &CheckName, check: &Check) -> Due {
    Due {
        key: format!("check:{name}"),
        definition: check.digest(),
        what: What::Check { name: name.clone(), check: check.clone() },
        criteria: Vec::new(),
    }
}

/// What one proof asks for; none for an attested one.
pub fn of_proof(proof: &Proof, judges: Judges<'_>, ground: Ground<'_>) -> Option<Due> {
    match proof {
        Proof::Attested { .. } => None,
        Proof::Check { check } => Some(match judges.check(check) {
            Some((name, check)) => of_check(name, check),
            None => Due {
                key: format!("check:{check}"),
                definition: Digest::of_json(proof),
                what: What::Undeclared { check: check.clone() },
                criteria: Vec::new(),
            },
        }),
        Proof::DiffScope { .. } => {
            let task = ground.task.map(ToString::to_string).unwrap_or_default();
            let mut fields = Fields::new();
            fields.push(Digest::of_json(proof).as_str().as_bytes());
            fields.push(ground.base.map(Oid::as_str).unwrap_or_default().as_bytes());
            fields.push(Digest::of_json(&ground.baseline).as_str().as_bytes());
            Some(of_tree(proof, format!("{}:{task}", proof_key(proof)), fields.finish()))
        }
        Proof::Citation { .. } | Proof::Receipt { .. } | Proof::Judgement { .. } => Some(Due {
            what: What::HandedIn(proof.clone()),
            ..of_tree(proof, proof_key(proof), Digest::of_json(proof))
        }),
        Proof::FileExists { .. }
        | Proof::FileAbsent { .. }
        | Proof::FileContains { .. }
        | Proof::JsonValid { .. }
        | Proof::TomlValid { .. }
        | Proof::YamlValid { .. }
        | Proof::Parses { .. }
        | Proof::SearchNone { .. } => Some(of_tree(proof, proof_key(proof), Digest::of_json(proof))),
    }
}

fn proof_key(proof: &Proof) -> String {
    format!("proof:{}", &Digest::of_json(proof).hex()[..16])
}

fn of_tree(proof: &Proof, key: String, definition: Digest) -> Due {
    Due { key, definition, what: What::Proof(proof.clone()), criteria: Vec::new() }
}
