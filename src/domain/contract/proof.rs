//! How a criterion is established: by what kctl looks up or runs, or by what is handed in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Strength;

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
    /// The file at `path` is JSON. With `comments`, comments and trailing commas are let through.
    JsonValid {
        path: String,
        #[serde(default, skip_serializing_if = "is_false")]
        comments: bool,
    },
    /// The file at `path` is TOML.
    TomlValid { path: String },
    /// The file at `path` is YAML, with at least one document.
    YamlValid { path: String },
    /// The file at `path` parses as what its name says it is.
    Parses { path: String },
    /// No tracked or untracked file among `paths` (globs; default all) matches `pattern`.
    SearchNone {
        pattern: String,
        #[serde(default)]
        paths: Vec<String>,
    },
    /// Every path changed since the base lies within `paths` (globs), and they are at most `max_files`.
    DiffScope {
        paths: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_files: Option<u32>,
    },
    /// Each of `sources` (paths of the tree, or addresses) was read: `criterion.cite` records its content's digest and
    /// when it was read.
    Citation { sources: Vec<String> },
    /// A statement signed by one of the accepted base's signers says so: `criterion.receipt` verifies it.
    Receipt {
        /// The signer who must have said it; any of the base's if none is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signer: Option<String>,
    },
    /// A person attests it, at grade `tty` or better.
    Attested {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<String>,
    },
    /// A model or a reviewer says so: `criterion.judge` records it with its confidence. It is never more than asserted.
    Judgement {
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
            Proof::JsonValid { .. } => "json_valid",
            Proof::TomlValid { .. } => "toml_valid",
            Proof::YamlValid { .. } => "yaml_valid",
            Proof::Parses { .. } => "parses",
            Proof::SearchNone { .. } => "search_none",
            Proof::DiffScope { .. } => "diff_scope",
            Proof::Citation { .. } => "citation",
            Proof::Receipt { .. } => "receipt",
            Proof::Attested { .. } => "attested",
            Proof::Judgement { .. } => "judgement",
        }
    }

    /// The one file that it is about, if it is about one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Proof::FileExists { path }
            | Proof::FileAbsent { path }
            | Proof::FileContains { path, .. }
            | Proof::JsonValid { path, .. }
            | Proof::TomlValid { path }
            | Proof::YamlValid { path }
            | Proof::Parses { path } => Some(path),
            Proof::Check { .. }
            | Proof::SearchNone { .. }
            | Proof::DiffScope { .. }
            | Proof::Citation { .. }
            | Proof::Receipt { .. }
            | Proof::Attested { .. }
            | Proof::Judgement { .. } => None,
        }
    }

    /// The operation that hands in what it rests on; none for what kctl runs or looks up by itself.
    pub const fn handed_in_by(&self) -> Option<&'static str> {
        match self {
            Proof::Citation { .. } => Some("criterion.cite"),
            Proof::Receipt { .. } => Some("criterion.receipt"),
            Proof::Attested { .. } => Some("criterion.attest"),
            Proof::Judgement { .. } => Some("criterion.judge"),
            Proof::Check { .. }
            | Proof::FileExists { .. }
            | Proof::FileAbsent { .. }
            | Proof::FileContains { .. }
            | Proof::JsonValid { .. }
            | Proof::TomlValid { .. }
            | Proof::YamlValid { .. }
            | Proof::Parses { .. }
            | Proof::SearchNone { .. }
            | Proof::DiffScope { .. } => None,
        }
    }

    /// Whether somebody else has to say so: no work on the tree shows it.
    pub const fn is_by_others(&self) -> bool {
        matches!(self, Proof::Receipt { .. } | Proof::Attested { .. } | Proof::Judgement { .. })
    }

    /// The most this kind of proof can earn.
    pub const fn earns(&self) -> Strength {
        match self {
            Proof::Judgement { .. } => Strength::Asserted,
            Proof::Citation { .. } => Strength::Cited,
            Proof::Receipt { .. } | Proof::Attested { .. } => Strength::Attested,
            Proof::Check { .. }
            | Proof::FileExists { .. }
            | Proof::FileAbsent { .. }
            | Proof::FileContains { .. }
            | Proof::JsonValid { .. }
            | Proof::TomlValid { .. }
            | Proof::YamlValid { .. }
            | Proof::Parses { .. }
            | Proof::SearchNone { .. }
            | Proof::DiffScope { .. } => Strength::Observed,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
