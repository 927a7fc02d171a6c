//! The words of a failure report: items, counts, parsers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a tool said about one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The readers that contributed, joined by `+`; `lines`, `exit` or `signal` when none did, `none` without failure.
    pub parser: String,
    pub items: Vec<Item>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Tests>,
    /// The output says that a result was taken from a cache.
    pub cached: bool,
    /// The output says that something failed, whatever the exit code was.
    pub said_failed: bool,
    /// Lines left out of the fallback as noise.
    pub dropped: usize,
    /// Items beyond the bound, which neither the list nor the signature holds.
    pub items_omitted: usize,
}

/// One thing that failed. `kind` and `id` say which, and stay the same while code and values move around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    pub kind: Kind,
    /// Which one: a test id, code and file, rule and file, frame, module, signal.
    pub id: String,
    /// How it failed, without volatile tokens; empty where the output does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Shown, never part of an identity: it moves with every edit above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub message: String,
}

impl Item {
    /// Names the item across causes: what attempts are counted by.
    pub fn key(&self) -> String {
        format!("{}:{}", self.kind, self.id)
    }

    /// Names the item and its cause: what signatures are made of.
    pub fn identity(&self) -> String {
        format!("{}\u{1f}{}\u{1f}{}", self.kind, self.id, self.cause)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Test,
    Compiler,
    Lint,
    Panic,
    MissingModule,
    Signal,
    Exit,
    Line,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Test => "test",
            Self::Compiler => "compiler",
            Self::Lint => "lint",
            Self::Panic => "panic",
            Self::MissingModule => "missing_module",
            Self::Signal => "signal",
            Self::Exit => "exit",
            Self::Line => "line",
        })
    }
}

/// Test counts as the tool printed them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tests {
    /// Tests that were executed: passed and failed, without skipped ones.
    pub run: u64,
    pub passed: u64,
    pub failed: u64,
    /// Skipped, ignored, pending, todo.
    pub skipped: u64,
}

impl Tests {
    pub fn of(passed: u64, failed: u64, skipped: u64) -> Self {
        Self { run: passed.saturating_add(failed), passed, failed, skipped }
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            run: self.run.saturating_add(other.run),
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }
}

/// The reader that a check declares. A wrong one does no harm: the output decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Parser {
    #[default]
    Auto,
    /// Only the exit status counts.
    None,
    CargoTest,
    Nextest,
    Rustc,
    Pytest,
    Unittest,
    Jest,
    Vitest,
    Mocha,
    GoTest,
    Tsc,
    Eslint,
    Lint,
    #[serde(alias = "maven")]
    Surefire,
    Gradle,
    Javac,
    Make,
    Gcc,
    Junit,
    Tap,
    Phpunit,
    Rspec,
    Dotnet,
    Ctest,
}

impl Parser {
    pub const ALL: [Self; 25] = [
        Self::Auto,
        Self::None,
        Self::CargoTest,
        Self::Nextest,
        Self::Rustc,
        Self::Pytest,
        Self::Unittest,
        Self::Jest,
        Self::Vitest,
        Self::Mocha,
        Self::GoTest,
        Self::Tsc,
        Self::Eslint,
        Self::Lint,
        Self::Surefire,
        Self::Gradle,
        Self::Javac,
        Self::Make,
        Self::Gcc,
        Self::Junit,
        Self::Tap,
        Self::Phpunit,
        Self::Rspec,
        Self::Dotnet,
        Self::Ctest,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::CargoTest => "cargo-test",
            Self::Nextest => "nextest",
            Self::Rustc => "rustc",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Mocha => "mocha",
            Self::GoTest => "go-test",
            Self::Tsc => "tsc",
            Self::Eslint => "eslint",
            Self::Lint => "lint",
            Self::Surefire => "surefire",
            Self::Gradle => "gradle",
            Self::Javac => "javac",
            Self::Make => "make",
            Self::Gcc => "gcc",
            Self::Junit => "junit",
            Self::Tap => "tap",
            Self::Phpunit => "phpunit",
            Self::Rspec => "rspec",
            Self::Dotnet => "dotnet",
            Self::Ctest => "ctest",
        }
    }

    /// Reads a profile's spelling; `None` for a name that is not a reader.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parser| parser.name() == name)
    }
}
