//! What was agreed: goal, criteria, scope and constraints, bound by one digest.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;

/// The most criteria one contract may have.
pub const MAX_CRITERIA: usize = 64;
/// The longest criterion id, in bytes: as long as a check's name may be.
pub const MAX_CRITERION_ID_BYTES: usize = 64;

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
}

impl Contract {
    /// Binds every part: whoever changes any of it changes the digest.
    pub fn digest(&self) -> Digest {
        Digest::of_json(self)
    }

    /// Whether any criterion has to be met.
    pub fn requires_something(&self) -> bool {
        self.criteria.iter().any(|criterion| criterion.required)
    }

    pub fn criterion(&self, id: &CriterionId) -> Option<&Criterion> {
        self.criteria.iter().find(|criterion| criterion.id == *id)
    }
}

/// A sentence that limits how the work is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Constraint {
    pub text: String,
    /// The criterion or check that holds it. `null` is shown as unenforced: nothing is decorative.
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

/// How a criterion is established.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Proof {
    /// The declared check's verdict is pass.
    Check { check: String },
    /// A regular file exists at `path`.
    FileExists { path: String },
    /// Nothing exists at `path`.
    FileAbsent { path: String },
    /// The file at `path` contains `text` literally, or matches `pattern` (a regular expression); exactly one is given.
    FileContains {
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
    },
    /// No tracked or untracked file among `paths` (globs; default all) matches `pattern`.
    SearchNone {
        pattern: String,
        #[serde(default)]
        paths: Vec<String>,
    },
    /// Every path changed since the base lies within `paths` (globs).
    DiffScope { paths: Vec<String> },
    /// A person attests it, at grade `tty` or better.
    Attested {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<String>,
    },
}

impl Proof {
    pub const fn kind(&self) -> &'static str {
        match self {
            Proof::Check { .. } => "check",
            Proof::FileExists { .. } => "file_exists",
            Proof::FileAbsent { .. } => "file_absent",
            Proof::FileContains { .. } => "file_contains",
            Proof::SearchNone { .. } => "search_none",
            Proof::DiffScope { .. } => "diff_scope",
            Proof::Attested { .. } => "attested",
        }
    }

    /// The one file that it is about, if it is about one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Proof::FileExists { path } | Proof::FileAbsent { path } | Proof::FileContains { path, .. } => Some(path),
            Proof::Check { .. } | Proof::SearchNone { .. } | Proof::DiffScope { .. } | Proof::Attested { .. } => None,
        }
    }

    /// The most this kind of proof can earn.
    pub const fn earns(&self) -> Strength {
        match self {
            Proof::Check { .. }
            | Proof::FileExists { .. }
            | Proof::FileAbsent { .. }
            | Proof::FileContains { .. }
            | Proof::SearchNone { .. }
            | Proof::DiffScope { .. } => Strength::Observed,
            Proof::Attested { .. } => Strength::Attested,
        }
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
}
