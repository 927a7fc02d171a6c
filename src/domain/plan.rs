//! What an operation is about to change outside the ledger, as data: shown by `--dry-run`, carried out by
//! `ports::files::carry_out`. A plan without steps means that there is nothing to do.

use std::ffi::OsString;
use std::fmt;

use serde::Serialize;

use super::digest::Digest;

/// The directory that a place is in. Nothing that a plan names can leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// The top of the work tree.
    Tree,
    /// The git common directory.
    Common,
}

/// A file or directory, by its base and its path from there, with `/` between the parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    pub base: Base,
    pub path: String,
}

impl Place {
    pub fn tree(path: impl Into<String>) -> Self {
        Self { base: Base::Tree, path: path.into() }
    }

    pub fn common(path: impl Into<String>) -> Self {
        Self { base: Base::Common, path: path.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            Base::Tree => f.write_str(&self.path),
            Base::Common => write!(f, "$GIT_COMMON_DIR/{}", self.path),
        }
    }
}

/// What the permission bits of a written file become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Those of the file that is replaced; those that the umask gives a new one.
    Keep,
    /// Executable for whoever the umask lets read it.
    Executable,
    /// Exactly these bits.
    Exactly(u32),
}

/// One change. Each names what it expects to find; where it finds something else, nothing is touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Makes the file hold `bytes`. `replaces` is what it holds now; none: it does not exist.
    Write { at: Place, bytes: Vec<u8>, mode: Mode, replaces: Option<Digest> },
    /// Moves a file over another one. `replaces` is what the other holds now; none: it does not exist.
    Move { from: Place, to: Place, holds: Digest, replaces: Option<Digest> },
    /// Removes a file that holds exactly this.
    Remove { at: Place, holds: Digest },
    /// Removes a directory if it is empty.
    RemoveEmptyDir { at: Place },
    /// Sets a key of the repository's own git configuration.
    SetConfig { key: &'static str, value: OsString },
    /// Takes a key out of the repository's own git configuration.
    UnsetConfig { key: &'static str },
    /// Opens the ledger, making it where there is none.
    MakeLedger,
    /// Deletes the ledger with its artifacts, for good.
    PurgeLedger,
}

/// A step and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub step: Step,
    pub why: String,
}

/// Steps in the order in which they are carried out, and what a person should know beside them. The order is such
/// that a plan cut off after any step leaves everything working, and planning again finishes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Planned>,
    pub notices: Vec<String>,
}

impl Plan {
    pub fn push(&mut self, step: Step, why: impl Into<String>) {
        self.steps.push(Planned { step, why: why.into() });
    }

    pub fn notice(&mut self, text: impl Into<String>) {
        self.notices.push(text.into());
    }

    /// Appends what `other` does and says.
    pub fn extend(&mut self, other: Plan) {
        self.steps.extend(other.steps);
        self.notices.extend(other.notices);
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Write { at, bytes, replaces: None, .. } => write!(f, "create {at} ({} bytes)", bytes.len()),
            Step::Write { at, bytes, .. } => write!(f, "update {at} ({} bytes)", bytes.len()),
            Step::Move { from, to, .. } => write!(f, "move {from} to {to}"),
            Step::Remove { at, .. } => write!(f, "remove {at}"),
            Step::RemoveEmptyDir { at } => write!(f, "remove {at} if it is empty"),
            Step::SetConfig { key, value } => write!(f, "set git config {key} = {}", value.to_string_lossy()),
            Step::UnsetConfig { key } => write!(f, "unset git config {key}"),
            Step::MakeLedger => f.write_str("make the ledger at $GIT_COMMON_DIR/decapod/ledger.db"),
            Step::PurgeLedger => f.write_str("delete the ledger and its artifacts under $GIT_COMMON_DIR/decapod"),
        }
    }
}

impl fmt::Display for Plan {
    /// One line for each step, its reason below, then the notices.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Planned { step, why } in &self.steps {
            writeln!(f, "{step}\n    {why}")?;
        }
        if self.is_empty() {
            writeln!(f, "nothing to do")?;
        }
        self.notices.iter().try_for_each(|notice| writeln!(f, "note: {notice}"))
    }
}

/// A step as an answer shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ShownStep {
    /// What is done, in words.
    pub does: String,
    pub why: String,
    /// The text that a written file will hold, where it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Plan {
    /// The steps as an answer shows them.
    pub fn shown(&self) -> Vec<ShownStep> {
        self.steps.iter().map(Planned::shown).collect()
    }
}

impl Planned {
    fn shown(&self) -> ShownStep {
        let text = match &self.step {
            Step::Write { bytes, .. } => String::from_utf8(bytes.clone()).ok(),
            Step::Move { .. }
            | Step::Remove { .. }
            | Step::RemoveEmptyDir { .. }
            | Step::SetConfig { .. }
            | Step::UnsetConfig { .. }
            | Step::MakeLedger
            | Step::PurgeLedger => None,
        };
        ShownStep { does: self.step.to_string(), why: self.why.clone(), text }
    }
}
