//! Everything that is due, shown: proofs at once, checks side by side, each after those it needs.

use std::collections::BTreeMap;

use crate::domain::profile::{Check, CheckName};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::{Run, Verdict};
use crate::domain::tree::Snapshot;
use crate::ops::call::Call;
use crate::ports::runner::{Job, Outcome};
use crate::rules::verification::due::{Due, What};
use crate::rules::verification::state::{flaky, run_again};

use super::assess::{self, Assessed};
use super::beside;
use super::execute::{self, Begun, Seen};
use super::subject::Subject;
use super::supervise;

/// How many checks run at once where the profile does not say, on a machine with that many processors.
const MAX_UNASKED_PARALLEL: usize = 4;

/// What came of one thing that was due.
#[derive(Clone)]
pub enum Came {
    /// Nothing was run, and this is why.
    NotRun(Verdict, String),
    /// There was evidence for exactly these inputs.
    Fresh(Box<Run>),
    Ran(Box<Run>),
}

impl Came {
    /// The run that it rests on.
    pub fn run(self) -> Option<Run> {
        match self {
            Came::NotRun(..) => None,
            Came::Fresh(run) | Came::Ran(run) => Some(*run),
        }
    }

    /// What came of it, for who looks on.
    fn told(&self) -> String {
        match self {
            Came::NotRun(verdict, why) => format!("{}: {why}", verdict.name()),
            Came::Fresh(run) => run.verdict().map_or_else(String::new, |verdict| format!("{}, fresh", verdict.name())),
            Came::Ran(run) => run.verdict().map_or_else(String::new, |verdict| verdict.name().to_owned()),
        }
    }

    fn passed(&self) -> bool {
        match self {
            Came::NotRun(..) => false,
            Came::Fresh(run) | Came::Ran(run) => run.verdict() == Some(Verdict::Pass),
        }
    }
}

/// What came of everything, in the order in which it was due.
pub struct Shown {
    pub came: Vec<(Due, Came)>,
    /// How many checks could run at once, if one had to wait for that.
    pub bound: Option<usize>,
    /// Checks that did both on the same inputs, with how many runs that made.
    pub again: Vec<(String, u32)>,
}

/// Shows everything that `assessed` has no fresh answer for, or all of it if `rerun`.
pub fn show(
    call: &mut Call<'_>,
    subject: &Subject,
    assessed: Vec<Assessed>,
    before: &Snapshot,
    rerun: bool,
) -> Result<Shown, Refusal> {
    let parallel = match call.profile()?.limits.parallel {
        Some(asked) => usize::try_from(asked).unwrap_or(1).max(1),
        None => call.world.runner.processors().clamp(1, MAX_UNASKED_PARALLEL),
    };
    let (runner, progress) = (call.world.runner, call.world.progress);
    let titles: Vec<String> = assessed.iter().map(|one| one.due.title()).collect();
    progress.planned(&titles);
    let came = assessed.iter().map(|_| None).collect();
    let (on, again) = (BTreeMap::new(), BTreeMap::new());
    let mut suite = Suite { subject, before, rerun, parallel, assessed, came, on, has_waited: false, again };
    let first = suite.decide(call)?;
    let mut fault = None;
    runner.run_many(first, parallel, &|key, text| progress.output(&titles[key], text), &mut |key, outcome| {
        // After a fault nothing new is begun; what is on is still recorded, as far as that goes.
        let next = suite.ended(call, key, &outcome).and_then(|()| match &fault {
            None => suite.decide(call),
            Some(_) => Ok(Vec::new()),
        });
        next.unwrap_or_else(|why| {
            fault.get_or_insert(why);
            Vec::new()
        })
    });
    fault.map_or_else(|| Ok(suite.shown()), Err)
}

struct Suite<'s> {
    subject: &'s Subject,
    before: &'s Snapshot,
    rerun: bool,
    parallel: usize,
    assessed: Vec<Assessed>,
    came: Vec<Option<Came>>,
    /// The checks that run now.
    on: BTreeMap<usize, On>,
    has_waited: bool,
    /// How many runs were begun of those that did both on the same inputs.
    again: BTreeMap<usize, u32>,
}

struct On {
    begun: Begun,
    /// What moved while it ran, and who else ran then.
    beside: Option<String>,
}

impl Shown {
    /// Whether anything was run or looked up anew.
    pub fn ran(&self) -> bool {
        self.came.iter().any(|(_, came)| matches!(came, Came::Ran(_)))
    }
}

impl Suite<'_> {
    /// Decides all that can be decided without running a check, and begins the checks that can run now.
    fn decide(&mut self, call: &mut Call<'_>) -> Result<Vec<Job>, Refusal> {
        let mut jobs = Vec::new();
        // What needs another stands after it, so that one round sees every consequence.
        for at in 0..self.assessed.len() {
            if self.came[at].is_some() || self.on.contains_key(&at) {
                continue;
            }
            match self.look(call, at)? {
                Step::Came(came) => {
                    call.world.progress.ended(&self.assessed[at].due.title(), &came.told());
                    self.came[at] = Some(came);
                }
                Step::Wait => {}
                Step::Run if self.on.len() >= self.parallel => self.has_waited = true,
                Step::Run => jobs.push(self.begin(call, at)?),
            }
        }
        Ok(jobs)
    }

    fn look(&self, call: &mut Call<'_>, at: usize) -> Result<Step, Refusal> {
        let one = &self.assessed[at];
        if let Some(why) = &one.found.unavailable {
            return Ok(Step::Came(Came::NotRun(Verdict::Unavailable, why.clone())));
        }
        if let Some(step) = self.needs(&one.due) {
            return Ok(step);
        }
        if let What::Check { check, .. } = &one.due.what
            && let Some(why) = beside::of_another_tree(call, self.subject, check, self.before)?
        {
            return Ok(Step::Came(Came::NotRun(Verdict::Error, why)));
        }
        if one.is_answered(self.subject.fence) && !(self.rerun && one.due.is_run()) {
            let run = one.found.fresh.clone().expect("what is fresh was found");
            return Ok(Step::Came(Came::Fresh(Box::new(run))));
        }
        if call.dry_run {
            return Ok(Step::Came(Came::NotRun(Verdict::Skipped, "it is due".to_owned())));
        }
        Ok(match &one.due.what {
            What::Check { .. } => Step::Run,
            What::Proof(proof) => {
                let run = execute::prove(call, self.subject, one, proof, self.before)?;
                Step::Came(Came::Ran(Box::new(run)))
            }
            What::HandedIn(proof) => {
                let op = proof.handed_in_by().unwrap_or("criterion.list");
                Step::Came(Came::NotRun(Verdict::Skipped, format!("it is handed in by `{op}`, not run")))
            }
            What::Undeclared { check } => {
                return Err(Refusal::new(Code::CHECK_UNKNOWN, format!("the profile declares no check `{check}`")));
            }
        })
    }

    /// What the checks that `due` needs make of it; none if they all passed.
    fn needs(&self, due: &Due) -> Option<Step> {
        let What::Check { check, .. } = &due.what else { return None };
        let mut waits = false;
        for need in &check.needs {
            let at = self.assessed.iter().position(|one| one.due.title() == need.as_str());
            match at.map(|at| &self.came[at]) {
                Some(Some(came)) if !came.passed() => {
                    let why = format!("it needs `{need}`, which did not pass");
                    return Some(Step::Came(Came::NotRun(Verdict::Skipped, why)));
                }
                Some(None) => waits = true,
                Some(Some(_)) | None => {}
            }
        }
        waits.then_some(Step::Wait)
    }

    fn begin(&mut self, call: &mut Call<'_>, at: usize) -> Result<Job, Refusal> {
        self.renew_program(call, at)?;
        let one = &self.assessed[at];
        let again = run_again(&one.found.verdicts);
        let begun = execute::begin(call, self.subject, one, check_of(one), again.as_deref())?;
        if again.is_some() {
            *self.again.entry(at).or_default() += 1;
        }
        let invocation = begun.invocation.clone();
        self.on.insert(at, On { begun, beside: None });
        Ok(Job { key: at, invocation })
    }

    /// A check that ran before this one may have made its program, which git ignores: it is judged as it is run.
    fn renew_program(&mut self, call: &Call<'_>, at: usize) -> Result<(), Refusal> {
        let input = assess::whole_input_of(call, self.subject, &self.assessed[at].due, self.before)?;
        let one = &mut self.assessed[at];
        if input != one.input {
            one.input = input;
            one.found.verdicts.clear();
        }
        Ok(())
    }

    fn ended(&mut self, call: &mut Call<'_>, at: usize, outcome: &Outcome) -> Result<(), Refusal> {
        let after = assess::snapshot(call, self.subject)?;
        self.note_moves(call, &after)?;
        let on = self.on.remove(&at).expect("it was on");
        let one = &self.assessed[at];
        let seen = Seen { outcome, after: &after, beside: on.beside.as_deref() };
        let run = execute::finish(call, self.subject, one, &on.begun, check_of(one), &seen)?;
        // A command of the caller's own is nobody's gate.
        if let Some(task) = self.subject.task.as_ref().filter(|_| !one.due.is_ad_hoc()) {
            supervise::observe(call, task, &one.due, at, (&run, &one.found.changed))?;
        }
        // A check that did both on these inputs is run until enough agree, or it fails again.
        let verdict = run.record.as_ref().filter(|record| !record.is_held_back()).map(|record| record.verdict);
        let verdicts = &mut self.assessed[at].found.verdicts;
        verdicts.splice(0..0, verdict.filter(|verdict| matches!(verdict, Verdict::Pass | Verdict::Fail)));
        if verdict != Some(Verdict::Pass) || flaky(verdicts).is_none() {
            self.came[at] = Some(Came::Ran(Box::new(run)));
        }
        Ok(())
    }

    /// If inputs of a check that is on have moved, any of those that are on may have moved them, and none of their
    /// verdicts can be told to speak for what it saw (I4).
    fn note_moves(&mut self, call: &Call<'_>, after: &Snapshot) -> Result<(), Refusal> {
        if self.on.len() < 2 {
            return Ok(());
        }
        let mut moved = None;
        for at in self.on.keys() {
            let one = &self.assessed[*at];
            if assess::whole_input_of(call, self.subject, &one.due, after)? != one.input {
                moved.get_or_insert_with(|| one.due.title());
            }
        }
        if let Some(moved) = moved {
            let why =
                format!("inputs of `{moved}` changed while checks ran side by side, and any of them may have done it");
            self.on.values_mut().for_each(|on| on.beside = on.beside.take().or_else(|| Some(why.clone())));
        }
        Ok(())
    }

    fn shown(self) -> Shown {
        let again = self.again.iter().map(|(at, runs)| (self.assessed[*at].due.title(), *runs)).collect();
        let came = self.assessed.into_iter().zip(self.came);
        let undecided = || Came::NotRun(Verdict::Skipped, "it waits for a check that was not run".to_owned());
        Shown {
            came: came.map(|(one, came)| (one.due, came.unwrap_or_else(undecided))).collect(),
            bound: self.has_waited.then_some(self.parallel),
            again,
        }
    }
}

enum Step {
    Came(Came),
    /// For what it needs.
    Wait,
    Run,
}

fn check_of(one: &Assessed) -> (&CheckName, &Check) {
    match &one.due.what {
        What::Check { name, check } => (name, check),
        What::Proof(_) | What::HandedIn(_) | What::Undeclared { .. } => unreachable!("only checks are begun"),
    }
}
