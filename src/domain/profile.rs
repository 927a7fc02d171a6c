//! The profile: what a repository declares about itself in `.decapod/kctl.toml`. Committed, reviewed like code;
//! the accepted base's copy judges a candidate (I7). `rules::profile` reads it; `docs/PROFILE.md` describes it.

mod name;
mod reading;
mod run;
mod size;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::failure::Parser;
pub use name::CheckName;
pub use reading::{IsolationWish, SandboxRules};
pub use run::Run;
pub use size::Size;

use reading::is_default;

use super::digest::Digest;
use super::stamp::Length;

/// Where the profile lies, from the top of the work tree.
pub const PROFILE_PATH: &str = ".decapod/kctl.toml";

/// The only version of the format there is.
pub const PROFILE_VERSION: u32 = 1;

/// Everything the profile says, with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub version: u32,
    #[serde(default)]
    pub checks: BTreeMap<CheckName, Check>,
    #[serde(default)]
    pub workspace: WorkspaceRules,
    #[serde(default)]
    pub publish: PublishRules,
    #[serde(default)]
    pub tasks: TaskRules,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "is_default")]
    pub sandbox: SandboxRules,
}

impl Profile {
    /// Digests the whole profile. Two texts that mean the same have the same digest.
    pub fn digest(&self) -> Digest {
        Digest::of_json(self)
    }

    /// The checks that publication needs, by name.
    pub fn required(&self) -> impl Iterator<Item = (&CheckName, &Check)> {
        self.checks.iter().filter(|(_, check)| check.required)
    }
}

impl Default for Profile {
    /// What holds where there is no profile: no checks, and every other default.
    fn default() -> Self {
        Self {
            version: PROFILE_VERSION,
            checks: BTreeMap::new(),
            workspace: WorkspaceRules::default(),
            publish: PublishRules::default(),
            tasks: TaskRules::default(),
            limits: Limits::default(),
            sandbox: SandboxRules::default(),
        }
    }
}

/// A declared command with its inputs and limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub run: Run,
    /// Globs of the files whose content the verdict speaks for. The whole tree where none is given.
    #[serde(default = "whole_tree")]
    pub inputs: Vec<String>,
    #[serde(default = "default_timeout")]
    pub timeout: Length,
    #[serde(default)]
    pub kind: CheckKind,
    /// Checks that must pass before this one is run.
    #[serde(default)]
    pub needs: Vec<CheckName>,
    /// Names of environment variables that are let through to the command.
    #[serde(default)]
    pub env: Vec<String>,
    /// Whether publication needs it.
    #[serde(default = "yes")]
    pub required: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub parser: Parser,
    /// A result file that the check writes, from the top of the work tree.
    #[serde(default, skip_serializing_if = "is_default")]
    pub report: Option<String>,
    /// How many tests must have run. None: one, for a check of kind `test` whose results can be read.
    #[serde(default, skip_serializing_if = "is_default")]
    pub min_tests: Option<u32>,
    /// Whether it may reach the network.
    #[serde(default, skip_serializing_if = "is_default")]
    pub network: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub isolation: IsolationWish,
}

impl Check {
    /// A check that runs `run`, with every default.
    pub fn new(run: Run) -> Self {
        Self {
            run,
            inputs: whole_tree(),
            timeout: default_timeout(),
            kind: CheckKind::default(),
            needs: Vec::new(),
            env: Vec::new(),
            required: true,
            parser: Parser::default(),
            report: None,
            min_tests: None,
            network: false,
            isolation: IsolationWish::default(),
        }
    }

    /// Digests what a verdict of this check depends on. `required` is left out: it says who asks for the check, not
    /// what the check proves, and changing it must not stale evidence. A field added later must be left out of the
    /// JSON while it has its default, or every evidence there is goes stale at the upgrade.
    pub fn digest(&self) -> Digest {
        let mut proves = self.clone();
        proves.required = true;
        Digest::of_json(&proves)
    }
}

/// What a check is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    Test,
    Build,
    Lint,
    Typecheck,
    #[default]
    Command,
}

/// Where worktrees go and how they are prepared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceRules {
    /// The directory that holds the worktrees, from the top of the root's work tree. None: `<root>.work` beside it.
    #[serde(default)]
    pub dir: Option<String>,
    /// Commands run in a new worktree, in order.
    #[serde(default)]
    pub setup: Vec<Run>,
    /// Untracked files copied from the root's work tree into a new worktree.
    #[serde(default)]
    pub copy: Vec<String>,
}

/// Where work is published and which branches are protected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishRules {
    #[serde(default = "origin")]
    pub remote: String,
    /// The branch that work is based on. None: the branch that the remote's HEAD names.
    #[serde(default)]
    pub base: Option<String>,
    /// Globs of branch names that nothing is worked on or pushed to directly. The base is always among them.
    #[serde(default = "usual_protected")]
    pub protected: Vec<String>,
    #[serde(default)]
    pub gate: Gate,
}

impl PublishRules {
    /// Whether nothing may be worked on or pushed to `branch` directly, when `base` is the accepted base's branch.
    /// A glob that does not compile protects everything (I14); reading the profile refuses it first.
    pub fn protects(&self, branch: &str, base: &str) -> bool {
        branch == base || self.protected.iter().any(|glob| matcher(glob).is_none_or(|glob| glob.is_match(branch)))
    }
}

impl Default for PublishRules {
    fn default() -> Self {
        Self { remote: origin(), base: None, protected: usual_protected(), gate: Gate::default() }
    }
}

/// Which pushes the pre-push gate judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Those of branches that kctl made for a task, and those to protected branches by an agent.
    #[default]
    Workspaces,
    /// Every push.
    All,
}

/// How tasks are claimed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRules {
    #[serde(default)]
    pub overlap: Overlap,
    #[serde(default = "default_lease")]
    pub lease: Length,
}

impl Default for TaskRules {
    fn default() -> Self {
        Self { overlap: Overlap::default(), lease: default_lease() }
    }
}

/// What happens when two live claims' paths overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    #[default]
    Warn,
    Refuse,
}

/// Bounds on what a run may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// How much of a run's output is kept; head and tail stay, the middle is counted.
    #[serde(default = "default_output")]
    pub max_output: Size,
    /// How many checks run at once. None: as many as there are processors, and at most four.
    #[serde(default, skip_serializing_if = "is_default")]
    pub parallel: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_output: default_output(), parallel: None }
    }
}

fn whole_tree() -> Vec<String> {
    vec!["**".to_owned()]
}

fn default_timeout() -> Length {
    Length::minutes(10)
}

fn default_lease() -> Length {
    Length::hours(1)
}

fn default_output() -> Size {
    Size::mebibytes(8)
}

fn yes() -> bool {
    true
}

fn origin() -> String {
    "origin".to_owned()
}

fn usual_protected() -> Vec<String> {
    ["main", "master", "release/*"].map(str::to_owned).to_vec()
}

/// Compiles a glob of the profile: `*` stays within one path part, `**` does not.
pub fn matcher(glob: &str) -> Option<globset::GlobMatcher> {
    let built = globset::GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
    Some(built.ok()?.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_keeps_its_digest_when_only_who_asks_for_it_changes() {
        let check = Check::new(Run::Shell("cargo test".into()));
        let optional = Check { required: false, ..check.clone() };
        let longer = Check { timeout: Length::hours(1), ..check.clone() };
        assert_eq!(check.digest(), optional.digest());
        assert_ne!(check.digest(), longer.digest());
    }

    #[test]
    fn what_has_its_default_is_not_digested_so_that_evidence_outlives_an_upgrade() {
        let check = Check::new(Run::Shell("cargo test".into()));
        assert_eq!(
            serde_json::to_string(&check).expect("it is data"),
            r#"{"run":"cargo test","inputs":["**"],"timeout":"10m","kind":"command","needs":[],"env":[],"required":true}"#
        );
        for changed in [
            Check { parser: Parser::Tap, ..check.clone() },
            Check { report: Some("junit.xml".into()), ..check.clone() },
            Check { min_tests: Some(1), ..check.clone() },
            Check { network: true, ..check.clone() },
            Check { isolation: IsolationWish::None, ..check.clone() },
        ] {
            assert_ne!(changed.digest(), check.digest(), "{changed:?}");
        }
        let profile = serde_json::to_string(&Profile::default()).expect("it is data");
        assert!(!profile.contains("sandbox") && !profile.contains("parallel"), "{profile}");
    }

    #[test]
    fn the_base_is_protected_even_where_nothing_is_listed() {
        let rules = PublishRules { protected: Vec::new(), ..PublishRules::default() };
        assert!(rules.protects("trunk", "trunk") && !rules.protects("main", "trunk"));
        let usual = PublishRules::default();
        assert!(usual.protects("release/1.2", "trunk") && !usual.protects("release/1/2", "trunk"));
        assert!(!usual.protects("kctl/t-0a-main", "main"));
    }
}
