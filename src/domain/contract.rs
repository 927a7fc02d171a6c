//! What was agreed: goal, criteria, scope and constraints, bound by one digest.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;

mod proof;
mod terms;

pub use proof::Proof;
pub use terms::{Terms, Waiver, Weakening};

/// The most criteria one contract may have.
pub const MAX_CRITERIA: usize = 64;
/// The longest criterion id, in bytes: as long as a check's name may be.
pub const MAX_CRITERION_ID_BYTES: usize = 64;

/// The id of the criterion that a contract's limits make; no other may have it.
pub const LIMITS: &str = "limits";

/// Goal, criteria, scope, constraints and forbidden actions of a task or commitment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contract {
    #[serde(default)]
    pub goal: String,
    #[serde(default)]
    pub criteria: Vec<Criterion>,
    /// Globs of the paths the work may change; empty means the whole tree.
    #[serde(default)]
    pub scope: Vec<String>,
    #[serde(default)]
    pub constraints: Vec<Constraint>,
    #[serde(default)]
    pub forbidden: Vec<Constraint>,
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
}

impl Contract {
    /// Binds every part: whoever changes any of it changes the digest.
    pub fn digest(&self) -> Digest {
        Digest::of_json(self)
    }

    /// Whether any criterion has to be met. Limits alone ask for nothing to be shown.
    pub fn requires_something(&self) -> bool {
        self.criteria.iter().any(|criterion| criterion.required && criterion.id.as_str() != LIMITS)
    }

    /// Adds the criterion that the limits make: they are held by the same gates as everything else.
    pub fn with_limits(mut self) -> Self {
        self.criteria.extend(self.limits.criterion());
        self
    }

    /// The required criteria of this contract that `new` no longer asks for as they are: withdrawn, optional, or shown in
    /// another way. A limit that is drawn tighter takes nothing.
    pub fn weakened_in(&self, new: &Contract) -> Vec<CriterionId> {
        let holds = |old: &Criterion| new.criterion(&old.id).is_some_and(|one| one.required && one.proof == old.proof);
        let lost = |old: &&Criterion| old.required && !holds(old);
        let mut ids: Vec<CriterionId> = self.criteria.iter().filter(lost).map(|old| old.id.clone()).collect();
        if let Some(least) = self.limits.max_files
            && new.limits.max_files.is_none_or(|most| most > least)
        {
            ids.extend(self.limits.criterion().map(|limits| limits.id));
        }
        ids
    }

    pub fn criterion(&self, id: &CriterionId) -> Option<&Criterion> {
        self.criteria.iter().find(|criterion| criterion.id == *id)
    }
}

/// How far the work may go. What is not given is not limited; a limit that is passed is refused by the gates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The most files that may differ from the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u32>,
}

impl Limits {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What holds them, as a required criterion.
    pub fn criterion(&self) -> Option<Criterion> {
        let max = self.max_files?;
        let statement = match max {
            1 => "at most 1 file differs from the base".to_owned(),
            _ => format!("at most {max} files differ from the base"),
        };
        let proof = Proof::DiffScope { paths: vec!["**".to_owned()], max_files: Some(max) };
        Some(Criterion { id: CriterionId(LIMITS.to_owned()), statement, required: true, proof })
    }
}

/// A sentence that limits how the work is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Constraint {
    pub text: String,
    /// What holds it: a criterion's id, `check:NAME` or `gate:NAME`. `null` is shown as unenforced: nothing is decorative.
    #[serde(default)]
    pub enforced_by: Option<String>,
}

/// One thing that must hold; satisfied only by evidence, never by a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Criterion {
    pub id: CriterionId,
    pub statement: String,
    pub required: bool,
    pub proof: Proof,
}

impl Criterion {
    pub fn digest(&self) -> Digest {
        Digest::of_json(self)
    }
}

/// A criterion's name within its contract, such as `AC-1`: 1 to 64 of letters, digits, `.`, `_`, `-`. Every check's name is
/// one, so that a check which the profile requires can stand as a criterion of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^[A-Za-z0-9._-]{1,64}$"))]
pub struct CriterionId(String);

impl CriterionId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CriterionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let legal = (1..=MAX_CRITERION_ID_BYTES).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if legal {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("{text:?} is not a criterion's id: 1 to {MAX_CRITERION_ID_BYTES} of letters, digits and . _ -"))
        }
    }
}

impl TryFrom<String> for CriterionId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<CriterionId> for String {
    fn from(id: CriterionId) -> Self {
        id.0
    }
}

impl fmt::Display for CriterionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How far something is established. Derived from the record, never supplied by a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    Asserted,
    Cited,
    Observed,
    Attested,
}

/// How strong the evidence for a commitment must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceClass {
    None,
    Cited,
    #[default]
    Verified,
    Audited,
}

impl EvidenceClass {
    pub const fn least(self) -> Strength {
        match self {
            EvidenceClass::None => Strength::Asserted,
            EvidenceClass::Cited => Strength::Cited,
            EvidenceClass::Verified => Strength::Observed,
            EvidenceClass::Audited => Strength::Attested,
        }
    }
}

/// A person's word that a criterion holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attestation {
    pub criterion: CriterionId,
    pub contract_digest: Digest,
    pub note: String,
    pub grade: super::caller::Grade,
    pub at: super::stamp::Stamp,
    /// The tree that it was given for. None for one that an earlier kctl recorded, or that was given where there is no
    /// work tree: it speaks for the contract alone.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub given_on: Option<GivenOn>,
}

/// The tree that a person looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GivenOn {
    pub work_tree: String,
    /// Digest of every tracked and every untracked, not ignored file of it.
    pub input: Digest,
    pub head: Option<super::id::Oid>,
    /// Whether the tree was exactly that of `head`.
    pub clean: bool,
}
