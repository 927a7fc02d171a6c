//! Red before green: the same checks on the accepted base, in a worktree that is there for that alone.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::failure::Item;
use crate::domain::fold::Kind;
use crate::domain::id::Oid;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::{Run, Verdict};
use crate::ops::base::Base;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::workspace::prepare;
use crate::ports::git::{Checkout, Leaving, Spot};
use crate::ports::ledger::Query;
use crate::rules::verification::due::{Due, What};
use crate::rules::workspace::home;

use super::assess;
use super::subject::Subject;
use super::suite;

/// How many runs of one check are looked through for one on the base.
const MAX_LOOKED_AT: u32 = 50;

/// How a verdict stands against the one on the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// It passed there and does not here: this work broke it.
    Regression,
    /// It does not pass there either.
    AlreadyFailing,
    /// It did not pass there and does here.
    Fixed,
    /// It passes at both.
    Holding,
    /// The base says nothing: the check could not be run or did not decide there.
    New,
}

impl Against {
    pub fn of(here: Verdict, base: Option<&Run>) -> Self {
        match (here, base.and_then(Run::verdict)) {
            (Verdict::Pass, Some(Verdict::Pass)) => Against::Holding,
            (Verdict::Pass, Some(Verdict::Fail)) => Against::Fixed,
            (Verdict::Fail | Verdict::Error, Some(Verdict::Pass)) => Against::Regression,
            (Verdict::Fail | Verdict::Error, Some(Verdict::Fail)) => Against::AlreadyFailing,
            _ => Against::New,
        }
    }
}

/// Items that fail in `here` and did not on the base.
pub fn newly_failing(here: &Run, base: &Run) -> Vec<String> {
    let keys = |run: &Run| -> Vec<String> {
        let failing = run.record.as_ref().and_then(|record| record.failing.as_ref());
        failing.map(|failing| failing.items.iter().map(Item::key).collect()).unwrap_or_default()
    };
    let before = keys(base);
    keys(here).into_iter().filter(|key| !before.contains(key)).collect()
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
            Some(run) => known.push((one.key.clone(), run)),
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
        let shown = suite::show(call, &there, assessed, &before, false)?;
        let ran = shown.came.into_iter().filter_map(|(due, came)| Some((due.key, came.run()?)));
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
