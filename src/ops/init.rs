//! `init`: kctl is put into a repository. Everything is planned first; `dry_run` shows the plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::OriginId;
use crate::domain::plan::{Place, ShownStep, Step};
use crate::domain::profile::PROFILE_PATH;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::root::{BaseName, Root, RootEvent, SeenBase};
use crate::ops::base;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::hooks;
use crate::ops::op::{Needs, Op, Span};
use crate::ops::seen;
use crate::ops::tools;
use crate::ports::files::{Files, carry_out};
use crate::ports::ledger::Access;
use crate::rules::adoption::agents_block::AGENTS_PATH;
use crate::rules::adoption::checks::{MAX_CONTENT_BYTES, TreeFacts, wanted};
use crate::rules::adoption::{self, Adopted, InitFacts, Wanted};
use crate::rules::profile::MAX_PROFILE_BYTES;

/// The largest AGENTS.md that is edited, in bytes.
pub const MAX_AGENTS_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Leave AGENTS.md alone
    #[serde(default)]
    no_agents: bool,
    /// Leave git's hooks alone
    #[serde(default)]
    no_hooks: bool,
    /// Replace a block in AGENTS.md that was edited by hand
    #[serde(default)]
    replace_edits: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ProposedCheck {
    name: String,
    run: String,
    because: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    /// Whether anything was changed; false in a dry run, and when everything was in place.
    changed: bool,
    steps: Vec<ShownStep>,
    /// What was proposed for a new profile, and from what.
    checks: Vec<ProposedCheck>,
    notices: Vec<String>,
}

pub struct Init;

impl Op for Init {
    const NAME: &'static str = "init";
    const ABOUT: &'static str = "Set kctl up in this repository: profile, AGENTS.md block, ledger, pre-push gate";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const NEEDS: Needs = Needs::Repository;
    const SPAN: Span = Span::Steps;
    const COLUMNS: &'static [&'static str] = &["does", "why", "name", "run", "because"];
    const HIDDEN: &'static [&'static str] = &["steps.text"];
    const TEXTS: &'static [&'static str] = &["steps.text"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl init --dry-run", "shows every change, and the checks it would propose"),
        ("kctl init", "makes them; a second time there is nothing left to do"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let wanted = Wanted { agents: !input.no_agents, hooks: !input.no_hooks, replace_edits: input.replace_edits };
        let adopted = adoption::init(&survey(call)?, wanted)?;
        for (name, program) in absent_tools(call, &adopted) {
            let words =
                format!("check `{name}` needs `{program}`, which is not on PATH: install it, or change the check");
            call.warn("tool_missing", words);
        }
        let unrecorded = !is_recorded(call)?;
        let changed = !call.dry_run && (!adopted.plan.is_empty() || unrecorded);
        if changed {
            carry_out_plan(call, &adopted)?;
            if adopted.written_profile.is_some() {
                let words = "commit .decapod/kctl.toml and push it to the base, as a person without `KCTL_SESSION`: there it judges";
                call.warn("profile_not_on_base", words);
            }
            call.propose("doctor", "checks that everything is in place", json!({}));
            call.propose("task.create", "writes down the first task", json!({ "title": "what is to be done" }));
        }
        Ok(Out { changed, steps: adopted.plan.shown(), checks: proposed(&adopted), notices: adopted.plan.notices })
    }
}

/// The proposed checks whose program is not there.
fn absent_tools(call: &Call<'_>, adopted: &Adopted) -> Vec<(String, String)> {
    let checks = adopted.proposals.iter().flat_map(|proposals| &proposals.checks);
    let absent = |check: &adoption::checks::Proposal| {
        tools::absent(call, &check.definition.run).map(|program| (check.name.to_string(), program.to_owned()))
    };
    checks.filter_map(absent).collect()
}

fn proposed(adopted: &Adopted) -> Vec<ProposedCheck> {
    let checks = adopted.proposals.iter().flat_map(|proposals| &proposals.checks);
    let shown = |check: &adoption::checks::Proposal| ProposedCheck {
        name: check.name.to_string(),
        run: check.definition.run.to_string(),
        because: check.because.clone(),
    };
    checks.map(shown).collect()
}

fn survey(call: &Call<'_>) -> Result<InitFacts, Refusal> {
    let place = call.repository()?.place().clone();
    let files = call.files(None)?;
    let has_tree = place.work_tree.is_some() || place.main_work_tree.is_some();
    let read = |path: &str, max: u64| {
        if has_tree { files.read(&Place::tree(path), max).map_err(Refusal::from) } else { Ok(None) }
    };
    Ok(InitFacts {
        has_ledger: call.ledger.is_some(),
        tree: if has_tree { Some(tree_facts(call, files.as_ref())?) } else { None },
        profile: read(PROFILE_PATH, MAX_PROFILE_BYTES as u64)?,
        profile_ignored: is_ignored(call, PROFILE_PATH)?,
        agents: read(AGENTS_PATH, MAX_AGENTS_BYTES)?,
        hooks: hooks::survey(call)?,
    })
}

fn tree_facts(call: &Call<'_>, files: &dyn Files) -> Result<TreeFacts, Refusal> {
    let place = call.repository()?.place();
    let Some(top) = place.work_tree.as_ref().or(place.main_work_tree.as_ref()) else { return Ok(TreeFacts::default()) };
    let snapshot = call.world.trees.snapshot(top).map_err(fault::of_tree)?;
    let paths = snapshot.entries.iter().filter_map(|entry| entry.path.as_str().map(str::to_owned)).collect();
    let mut facts = TreeFacts { paths, ..TreeFacts::default() };
    for path in wanted(&facts.paths) {
        let read = files.read(&Place::tree(&path), MAX_CONTENT_BYTES as u64).ok().flatten();
        if let Some(text) = read.and_then(|bytes| String::from_utf8(bytes).ok()) {
            facts.contents.insert(path, text);
        }
    }
    Ok(facts)
}

/// Whether git ignores `path`, itself or by one of its directories.
fn is_ignored(call: &Call<'_>, path: &str) -> Result<bool, Refusal> {
    let git = call.repository()?;
    let Some(top) = git.place().work_tree.clone() else { return Ok(false) };
    git.is_ignored(&top, path).map_err(fault::of_git)
}

/// Whether the ledger says that kctl is installed, and which base it was installed on if there is one by now.
fn is_recorded(call: &Call<'_>) -> Result<bool, Refusal> {
    let installed = call.roots()?.iter().any(|root| root.installed);
    Ok(installed && (call.recorded_base()?.is_some() || base_name(call)?.is_none_or(|base| base.remote.is_none())))
}

fn base_name(call: &Call<'_>) -> Result<Option<BaseName>, Refusal> {
    // A base whose profile cannot be read is still the base.
    let base = match call.base() {
        Err(why) if why.code() == Code::PROFILE_INVALID => return Ok(None),
        found => found?,
    };
    Ok(base.map(|base| BaseName { remote: base.remote, branch: base.branch }))
}

fn carry_out_plan(call: &mut Call<'_>, adopted: &Adopted) -> Result<(), Refusal> {
    let files = call.files(None)?;
    let common_dir = call.repository()?.place().common_dir.clone();
    let agents_existed = files.look(&Place::tree(AGENTS_PATH)).ok().flatten().is_some();
    carry_out::<Refusal>(&adopted.plan, files.as_ref(), &mut |step| match step {
        Step::MakeLedger => {
            call.ledger = Some(call.world.ledgers.open(&common_dir, Access::Create).map_err(fault::of_ledger)?);
            Ok(())
        }
        step => hooks::configure(call, step),
    })?;
    let origin: OriginId = call.views()?.origin().clone();
    let base = base_name(call)?;
    let accepted = accepted(call, base.as_ref())?;
    call.step(|call| {
        let held = call.load_or_blank::<Root>(&origin)?;
        let initialised = RootEvent::Initialised {
            kctl_version: crate::VERSION.to_owned(),
            profile_written: adopted.written_profile.clone(),
            agents_file_created: !agents_existed,
            base: base.clone(),
        };
        call.record::<Root>(&origin, held.ver, initialised)?;
        accepted.as_ref().map_or(Ok(()), |seen| seen::note(call, seen))
    })
}

/// The base as this clone has it, accepted by whoever sets kctl up. Only the first time: later the remote is asked.
fn accepted(call: &Call<'_>, base: Option<&BaseName>) -> Result<Option<SeenBase>, Refusal> {
    let Some((remote, branch)) = base.and_then(|base| Some((base.remote.clone()?, base.branch.clone()))) else {
        return Ok(None);
    };
    if call.seen_bases()?.iter().any(|seen| seen.remote == remote && seen.branch == branch) {
        return Ok(None);
    }
    let here = base::tracking(call.repository()?, &base::reference(Some(&remote), &branch))?;
    Ok(here.map(|commit| SeenBase { remote, branch, commit, at: call.now() }))
}
