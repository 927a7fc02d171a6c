//! Red before green: the same checks on the accepted base, in a worktree that is there for that alone.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::failure::{Item, Kind as ItemKind};
use crate::domain::fold::Kind;
use crate::domain::id::Oid;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::{Run, Verdict};
use crate::ops::base::Base;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::workspace::prepare;
use crate::ports::git::{ChangeKind, Checkout, Leaving, Spot};
use crate::ports::ledger::Query;
use crate::rules::verification::due::{Due, What};
use crate::rules::workspace::home;

use super::assess;
use super::subject::Subject;
use super::suite;

/// How many runs of one check are looked through for one on the base.
const MAX_LOOKED_AT: u32 = 50;
/// The most changed files that are read for the name of a test, and the largest of them, in bytes.
const MAX_CHANGED_READ: usize = 500;
const MAX_CHANGED_BYTES: u64 = 4 << 20;

/// How a verdict stands against the one on the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// It passed there and does not here, or something fails here that did not there: this work broke it.
    Regression,
    /// It does not pass there either, and nothing else fails here.
    AlreadyFailing,
    /// It did not pass there and does here.
    Fixed,
    /// It passes at both.
    Holding,
    /// The base says nothing: the check could not be run or did not decide there, or all that newly fails are tests that
    /// it does not have.
    New,
}

impl Against {
    pub fn of(here: Verdict, base: Option<&Run>, newly: Newly) -> Self {
        match (here, base.and_then(Run::verdict)) {
            (Verdict::Pass, Some(Verdict::Pass)) => Against::Holding,
            (Verdict::Pass, Some(Verdict::Fail)) => Against::Fixed,
            (Verdict::Fail | Verdict::Error, Some(Verdict::Pass | Verdict::Fail)) if newly == Newly::OnlyNewTests => {
                Against::New
            }
            (Verdict::Fail | Verdict::Error, Some(Verdict::Pass)) => Against::Regression,
            (Verdict::Fail | Verdict::Error, Some(Verdict::Fail)) if newly == Newly::Something => Against::Regression,
            (Verdict::Fail | Verdict::Error, Some(Verdict::Fail)) => Against::AlreadyFailing,
            _ => Against::New,
        }
    }
}

/// What fails here and did not on the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newly {
    Nothing,
    /// Tests that the base does not have, and nothing else.
    OnlyNewTests,
    Something,
}

/// Items that fail in `here` and did not on the base. The end of an output and an exit status name nothing that fails.
pub fn newly_failing<'r>(here: &'r Run, base: &Run) -> Vec<&'r Item> {
    let before: Vec<String> = items(base).iter().map(Item::key).collect();
    let is_named = |item: &&Item| !matches!(item.kind, ItemKind::Line | ItemKind::Exit | ItemKind::Signal);
    items(here).iter().filter(is_named).filter(|item| !before.contains(&item.key())).collect()
}

fn items(run: &Run) -> &[Item] {
    run.record.as_ref().and_then(|record| record.failing.as_ref()).map_or(&[], |failing| &failing.items)
}

/// What `newly` failing items of a run say. A test is new where its file was changed and no file that was changed, moved
/// or deleted had its name on the base; whatever cannot be told so counts as broken.
///
/// # Errors
/// What git says.
pub fn newly(call: &Call<'_>, subject: &Subject, here: &Run, newly: &[&Item]) -> Result<Newly, Refusal> {
    if newly.is_empty() {
        return Ok(Newly::Nothing);
    }
    let omitted = here.record.as_ref().and_then(|record| record.failing.as_ref()).is_some_and(|all| all.omitted > 0);
    let Some(base) = subject.base.as_ref().filter(|_| !omitted && newly.iter().all(|one| one.kind == ItemKind::Test))
    else {
        return Ok(Newly::Something);
    };
    let git = call.repository()?;
    let changes = git.changed_since(&subject.work_tree, &base.commit).map_err(fault::of_git)?;
    if changes.len() > MAX_CHANGED_READ {
        return Ok(Newly::Something);
    }
    let (mut changed, mut before): (Vec<String>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    for change in &changes {
        let from = match &change.kind {
            ChangeKind::Renamed { from } => Some(from),
            _ => None,
        };
        changed.push(change.path.to_string());
        for path in from.into_iter().chain([&change.path]) {
            let Ok(blob) = git.read_at(&base.commit, path, MAX_CHANGED_BYTES) else { return Ok(Newly::Something) };
            before.extend(blob.map(|blob| blob.bytes));
        }
    }
    let is_new = |item: &&Item| {
        let Some(file) = item.file.as_deref().map(|file| file.trim_start_matches("./")) else { return false };
        let touched = changed.iter().any(|path| path == file || path.ends_with(&format!("/{file}")));
        let name = test_name(&item.id);
        touched && !name.is_empty() && !before.iter().any(|bytes| holds(bytes, name.as_bytes()))
    };
    Ok(if newly.iter().all(is_new) { Newly::OnlyNewTests } else { Newly::Something })
}

fn holds(bytes: &[u8], name: &[u8]) -> bool {
    bytes.windows(name.len()).any(|window| window == name)
}

/// What a test is called in its source: the last part of its id, without its case.
fn test_name(id: &str) -> &str {
    let id = id.split(['[', '(']).next().unwrap_or(id).trim_end();
    let last = id.rsplit(" > ").next().unwrap_or(id);
    let last = last.rsplit(['.', ':']).next().unwrap_or(last);
    last.split('/').next().unwrap_or(last)
}

/// Runs on the base for each check among `due`: those there are, and new ones for the others.
///
/// # Errors
/// `BASE_UNKNOWN` without a base; what making the worktree or running a check refuses.
pub fn show(call: &mut Call<'_>, subject: &Subject, due: &[Due]) -> Result<Vec<(String, Run)>, Refusal> {
    let Some(base) = subject.base.clone() else {
        return Err(Refusal::new(Code::BASE_UNKNOWN, "there is no base that the checks could be run on")
            .with("field", "baseline")
            .next("doctor", "shows what this clone knows of its base", serde_json::json!({})));
    };
    let (mut known, mut wanted) = (Vec::new(), Vec::new());
    for one in due.iter().filter(|one| matches!(one.what, What::Check { .. })) {
        match on_base(call, one, &base.commit)? {
            Some(run) => {
                let verdict = run.verdict().map_or("unknown", Verdict::name);
                call.world.progress.on_base(true);
                call.world.progress.ended(&one.title(), verdict);
                call.world.progress.on_base(false);
                known.push((one.key.clone(), run));
            }
            None => wanted.push(Due { criteria: Vec::new(), ..one.clone() }),
        }
    }
    if wanted.is_empty() || call.dry_run {
        return Ok(known);
    }
    let common_dir = call.repository()?.place().common_dir.clone();
    let _lock = call.world.locks.baseline(&common_dir).map_err(fault::of_lock)?;
    let scratch = Scratch::make(call, &base)?;
    let ran = scratch.run(call, subject, wanted);
    scratch.remove(call, &base);
    known.extend(ran?);
    Ok(known)
}

/// The newest run of `due` on exactly the base that decided something.
fn on_base(call: &Call<'_>, due: &Due, base: &Oid) -> Result<Option<Run>, Refusal> {
    let query = Query { name: Some(due.key.clone()), limit: MAX_LOOKED_AT, ..Query::all(Kind::Run) };
    let decided = |run: &Run| {
        let same = run.subject.as_ref().is_some_and(|about| about.definition == due.definition);
        let there = run.record.as_ref().is_some_and(|record| {
            let candidate = &record.candidate;
            candidate.clean && candidate.head.as_ref() == Some(base)
        });
        same && there && matches!(run.verdict(), Some(Verdict::Pass | Verdict::Fail))
    };
    Ok(call.query::<Run>(&query)?.into_iter().map(|held| held.value).find(decided))
}

/// A worktree at the base.
struct Scratch {
    path: PathBuf,
    home: PathBuf,
    checkout: Checkout,
}

impl Scratch {
    fn make(call: &mut Call<'_>, base: &Base) -> Result<Self, Refusal> {
        let dir = call.profile()?.workspace.dir;
        let git = call.repository()?;
        let place = git.place();
        let home = home(place.main_work_tree.as_deref().unwrap_or(&place.common_dir), dir.as_deref());
        let name = format!("baseline-{}", base.commit.short());
        let path = home.join(&name);
        let branch = format!("kctl/{name}");
        let made = Self { path, home, checkout: Checkout::New { branch, base: base.commit.clone() } };
        let common_dir = place.common_dir.clone();
        {
            let _lock = call.world.locks.worktrees(&common_dir).map_err(fault::of_lock)?;
            match git.spot(&made.path).map_err(fault::of_git)? {
                Spot::Free => git.add_worktree(&made.path, &made.checkout).map(drop).map_err(fault::of_git)?,
                // What a kctl that was killed left here is made sound again.
                _ => git.repair_worktree(&made.path, &made.checkout).map(drop).map_err(fault::of_git)?,
            }
        }
        prepare::prepare(call, &made.path)?;
        Ok(made)
    }

    fn run(&self, call: &mut Call<'_>, subject: &Subject, wanted: Vec<Due>) -> Result<Vec<(String, Run)>, Refusal> {
        let there = Subject::of_dir(call, &self.path)?;
        let there = Subject { tree_profile: subject.tree_profile.clone(), base: subject.base.clone(), ..there };
        let before = assess::snapshot(call, &there)?;
        let assessed = assess::look_up(call, &there, wanted, &before)?;
        call.world.progress.on_base(true);
        let shown = suite::show(call, &there, assessed, &before, false);
        call.world.progress.on_base(false);
        let ran = shown?.came.into_iter().filter_map(|(due, came)| Some((due.key, came.run()?)));
        Ok(ran.collect())
    }

    /// What cannot be removed is told; the next call finds it and goes on from there.
    fn remove(&self, call: &mut Call<'_>, base: &Base) {
        let gone = self.try_remove(call, base);
        if let Err(why) = gone {
            let words = format!("the worktree `{}` was left: {}", self.path.display(), why.message());
            call.warn("baseline_left", words);
        }
    }

    fn try_remove(&self, call: &Call<'_>, base: &Base) -> Result<(), Refusal> {
        let git = call.repository()?;
        let _lock = call.world.locks.worktrees(&git.place().common_dir).map_err(fault::of_lock)?;
        let leaving = Leaving {
            path: self.path.clone(),
            branch: Some(self.checkout.branch().to_owned()),
            base: Some(base.commit.clone()),
            kept: vec![base.commit.clone()],
            home: Some(self.home.clone()),
        };
        // Nobody works here: what lies here was made by the checks.
        let losses = git.losses(&leaving).map_err(fault::of_git)?;
        git.remove_worktree(&leaving, &losses).map_err(fault::of_git)?;
        git.delete_branch(self.checkout.branch(), &base.commit).map(drop).map_err(fault::of_git)
    }
}
