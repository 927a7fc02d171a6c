//! What the survey of a test file holds, and what a finding says.

use std::collections::{BTreeMap, BTreeSet};

/// A file longer than this is not read; the answer names it.
pub const MAX_FILE_BYTES: usize = 2 * 1024 * 1024;
/// More findings than this are counted and left out, notes first.
pub const MAX_FINDINGS: usize = 500;
/// Nothing inside more levels of modules, classes or describe blocks than this is read.
pub const MAX_NESTING: usize = 48;
/// An assertion in a loop or a table counts at most so often.
pub const MAX_TIMES: u32 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Java,
}

/// One changed file. A missing path means that the file does not exist on that side.
#[derive(Debug, Clone, Default)]
pub struct Change<'a> {
    pub old_path: Option<String>,
    pub new_path: Option<String>,
    pub old: Option<&'a [u8]>,
    pub new: Option<&'a [u8]>,
    /// A side is longer than is read: its bytes are not here.
    pub too_long: bool,
}

/// What the project itself says about its tests, as globs over paths.
#[derive(Debug, Clone, Default)]
pub struct Checks {
    /// Test files besides those that a runner finds by its own naming rule.
    pub tests: Vec<String>,
    /// Configuration of the tests besides the files that are known by name.
    pub config: Vec<String>,
    /// Recorded expectations besides `*.snap`, `__snapshots__` and golden directories.
    pub snapshots: Vec<String>,
    /// Programs that the checks run, by name.
    pub programs: Vec<String>,
    /// Targets that the checks have `make` or `just` make.
    pub targets: Vec<String>,
    /// Files that the checks run, by their paths.
    pub runs: Vec<String>,
    /// Searches for tests that the checks have unittest do.
    pub discoveries: Vec<super::Discovery>,
    /// A check runs pytest, which looks wherever it is.
    pub pytest: bool,
    /// All files of Python that the candidate has, where that is known.
    pub python: Option<BTreeSet<String>>,
}

/// A digest of normalised text. It compares; it does not seal.
pub type Digest = u128;

/// How much an assertion demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// It cannot fail.
    Nothing,
    Truthy,
    AnyError,
    Called,
    Unequal,
    /// Reached only when something else failed: `panic!`, `fail()`.
    Failure,
    /// Greater, smaller, not zero.
    Ordered,
    /// Containment, pattern, type, nearness.
    Partial,
    TypedError,
    Snapshot,
    Equal,
    ExactError,
}

impl Strength {
    /// Two steps down is a weakening that a person must see; one step is a note.
    #[must_use]
    pub fn rank(self) -> i8 {
        match self {
            Strength::Nothing => -1,
            Strength::Truthy | Strength::AnyError => 1,
            Strength::Called | Strength::Unequal | Strength::Failure | Strength::Ordered => 2,
            Strength::Partial | Strength::TypedError => 3,
            Strength::Snapshot | Strength::Equal => 4,
            Strength::ExactError => 5,
        }
    }
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Strength::Nothing => "always true",
            Strength::Truthy => "truthiness",
            Strength::AnyError => "any error",
            Strength::Called => "a call",
            Strength::Unequal => "inequality",
            Strength::Failure => "an explicit failure",
            Strength::Ordered => "a comparison",
            Strength::Partial => "containment or form",
            Strength::TypedError => "an error of a type",
            Strength::Snapshot => "a snapshot",
            Strength::Equal => "equality",
            Strength::ExactError => "an exact error",
        }
    }
}

/// One assertion, as often as it runs in one case of its test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub strength: Strength,
    pub digest: Digest,
    /// The digest with every literal and every plain name left out.
    pub skeleton: Digest,
    pub times: u32,
    pub line: u32,
    /// It expects an error, whichever strength it has.
    pub error: bool,
    /// The function that it is an assertion by the name of.
    pub by_name: Option<String>,
    /// How far what it compares may differ.
    pub(super) slack: Option<super::looser::Slack>,
    /// It asks only that something is one of several.
    pub(super) among: bool,
}

/// A skip, an ignore, an expected failure or a focus, where it stands and what it says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Marker {
    pub text: String,
    pub line: u32,
    /// It depends on something: a platform, a feature, a variable.
    pub conditional: bool,
    /// It stands on a class, a module or a block around the test.
    pub inherited: bool,
}

/// Why none of a test's assertions can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hollow {
    EmptyBody,
    NoAssertion,
    AlwaysTrue,
    ReturnsFirst,
    NeverEntered,
    Swallowed,
}

impl Hollow {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Hollow::EmptyBody => "its body is empty",
            Hollow::NoAssertion => "it asserts nothing",
            Hollow::AlwaysTrue => "its assertions are always true",
            Hollow::ReturnsFirst => "it returns before its assertions",
            Hollow::NeverEntered => "its assertions stand where control never comes",
            Hollow::Swallowed => "the failure of its assertions is caught and dropped",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Module, class or describe path and name, joined with ` > `.
    pub id: String,
    pub name: String,
    pub line: u32,
    /// Live assertions in one case, those of local helpers included, each as often as it runs.
    pub assertions: u32,
    pub kinds: BTreeMap<Strength, u32>,
    pub skipped: Option<Marker>,
    pub expected_failure: Option<Marker>,
    pub focused: Option<Marker>,
    /// Number of cases, where the list of cases can be counted. Cases that are marked as skipped do not count.
    pub parametrised: Option<u32>,
    pub cases_marked: u32,
    pub body_digest: Digest,
    /// The body with every literal left out.
    pub shape_digest: Digest,
    pub trivially_true: bool,
    pub hollow: Option<Hollow>,
    /// Own and helpers' live claims, equal ones merged.
    pub claims: Vec<Claim>,
    /// Assertions that can never fail: dead, swallowed or always true.
    pub dead_claims: u32,
    /// Names called in the body, for finding what the test is about.
    pub calls: BTreeSet<String>,
    pub literals: BTreeSet<u64>,
    /// `unwrap`, `expect`, `?`: a failure without an assertion.
    pub implicit: u32,
    /// Live claims that stand under an `if` without an `else`.
    pub conditional: u32,
    /// Rows of the table that its loop runs over.
    pub table: Option<u32>,
    /// It runs over a list whose length is not seen.
    pub uncounted: bool,
    /// Names that the body binds.
    pub(super) bound: BTreeSet<String>,
    pub(super) own: Vec<Claim>,
    pub(super) helper_calls: BTreeMap<String, u32>,
    pub(super) dead: Option<Hollow>,
}

impl Test {
    /// Assertions in all cases.
    #[must_use]
    pub fn effect(&self) -> u32 {
        self.assertions.saturating_mul(self.parametrised.unwrap_or(1).max(1)).min(MAX_TIMES)
    }
    #[must_use]
    pub fn runs(&self) -> bool {
        self.skipped.is_none()
    }
}

/// A function or type that is not a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub line: u32,
    pub body_digest: Digest,
    /// Hashes of the words of the body, its own name left out: tells a renamed function from a deleted one.
    pub words: Vec<u64>,
    pub claims: Vec<Claim>,
    pub calls: BTreeMap<String, u32>,
    pub skips: Vec<Marker>,
    pub in_tests: bool,
    pub function: bool,
}

/// Why a file, or a part of it, was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    TooLong,
    TooDeep,
    TooHard,
}

impl Unread {
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Unread::TooLong => "the file is too long to be examined",
            Unread::TooDeep => "the file nests too deeply to be examined whole",
            Unread::TooHard => "the file could not be parsed within bounds",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suite {
    pub tests: Vec<Test>,
    pub helpers: Vec<Symbol>,
    /// Modules of tests that a Rust file pulls in: `#[cfg(test)] mod tests;`.
    pub modules: Vec<(String, u32)>,
    /// Calls that end the process with success.
    pub exits: Vec<Marker>,
    /// Skips that stand outside of every test: in a fixture, a hook, the module.
    pub loose_skips: Vec<Marker>,
    /// Silenced warnings: `noqa`, `eslint-disable`, `#[allow]`.
    pub suppressions: Vec<Marker>,
    /// Build constraints and other conditions on the whole file.
    pub constraints: Vec<Marker>,
    pub parse_errors: u32,
    /// Hashes of all literals of the file.
    pub literals: BTreeSet<u64>,
    pub unread: Option<Unread>,
    /// What the code does to the run that judges it.
    pub(super) marks: Vec<super::marks::Mark>,
    pub(super) names: super::subject::Names,
    pub(super) bindings: super::bindings::Bindings,
    pub(super) compared: super::compared::Compared,
    pub(super) outline: super::reach::Outline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A person must accept it.
    Hold,
    Note,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    TestDeleted,
    TestFileDeleted,
    TestFileRenamedOut,
    TestEmptied,
    AssertionRemoved,
    AssertionWeakened,
    SkipAdded,
    OnlyAdded,
    XfailAdded,
    CasesRemoved,
    ExpectationChanged,
    SnapshotChanged,
    SnapshotDeleted,
    TestConfigChanged,
    CiChanged,
    CheckDefinitionChanged,
    SuppressAdded,
    ExitAdded,
    ParseError,
    NotRead,
    FileHidden,
    /// The runner or its assertions are changed from within.
    RunnerPatched,
    /// Code that asks whether it is being tested.
    TestDetected,
    /// What is tested is no longer what was.
    SubjectReplaced,
    RetryAdded,
}

impl Kind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::TestDeleted => "test_deleted",
            Kind::TestFileDeleted => "test_file_deleted",
            Kind::TestFileRenamedOut => "test_file_renamed_out",
            Kind::TestEmptied => "test_emptied",
            Kind::AssertionRemoved => "assertion_removed",
            Kind::AssertionWeakened => "assertion_weakened",
            Kind::SkipAdded => "skip_added",
            Kind::OnlyAdded => "only_added",
            Kind::XfailAdded => "xfail_added",
            Kind::CasesRemoved => "cases_removed",
            Kind::ExpectationChanged => "expectation_changed",
            Kind::SnapshotChanged => "snapshot_changed",
            Kind::SnapshotDeleted => "snapshot_deleted",
            Kind::TestConfigChanged => "test_config_changed",
            Kind::CiChanged => "ci_changed",
            Kind::CheckDefinitionChanged => "check_definition_changed",
            Kind::SuppressAdded => "suppress_added",
            Kind::ExitAdded => "exit_added",
            Kind::ParseError => "parse_error",
            Kind::NotRead => "not_read",
            Kind::FileHidden => "file_hidden",
            Kind::RunnerPatched => "runner_patched",
            Kind::TestDetected => "test_detected",
            Kind::SubjectReplaced => "subject_replaced",
            Kind::RetryAdded => "retry_added",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub severity: Severity,
    pub kind: Kind,
    pub path: String,
    pub line: Option<u32>,
    pub test: Option<String>,
    pub before: Option<String>,
    pub after: Option<String>,
    pub message: String,
}

/// The findings, holds first, and how many were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    pub findings: Vec<Finding>,
    pub omitted: usize,
    pub omitted_holds: usize,
    /// Tests of the changed files that no test of the base became.
    pub new_tests: usize,
    /// Files that were not read, and why.
    pub unread: Vec<(String, Unread)>,
}
