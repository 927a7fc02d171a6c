//! One attempt into the state.

use super::state::{
    Attempt, Covered, Gate, Lineage, Lineages, MAX_ABSOLUTE, MAX_COMMANDS, MAX_GATES, MAX_ITEMS, MAX_LINEAGES,
    MAX_PATHS, MAX_RUNS, MAX_TEXT_CHARS, MAX_UNCHANGED, Progress, Run, Step, Tracked, Verdict,
};
use crate::domain::failure::{Item, Kind};
use std::collections::{BTreeMap, BTreeSet};

impl Lineages {
    /// Takes one attempt in. Cannot fail: what was observed is a fact.
    pub fn observe(&mut self, attempt: &Attempt<'_>) -> Step {
        self.seen += 1;
        let contradicts = self.note_run(attempt);
        if attempt.passed { self.pass(attempt, contradicts) } else { self.fail(attempt, contradicts) }
    }

    /// Closes every lineage whose items are all within what the run covered; others keep their counts.
    fn pass(&mut self, attempt: &Attempt<'_>, contradicts: bool) -> Step {
        let (closed, open) =
            std::mem::take(&mut self.open).into_iter().partition(|lineage| is_covered(lineage, attempt));
        self.open = open;
        let closed: Vec<Lineage> = closed;
        let cleared = closed.iter().map(|lineage| lineage.id).collect();
        Step {
            lineage: None,
            count: 0,
            absolute: 0,
            progress: Progress::Cleared,
            verdict: Verdict::GoOn,
            cleared,
            contradicts,
        }
    }

    fn fail(&mut self, attempt: &Attempt<'_>, contradicts: bool) -> Step {
        let items = keyed(attempt);
        let linked = self.take_linked(attempt, &items);
        let (mut lineage, progress) = match linked {
            Some(lineage) => advance(lineage, attempt, items),
            None => (self.open_lineage(attempt, items), Progress::Opened),
        };
        remember(&mut lineage, attempt);
        lineage.last_seen = self.seen;
        let step = Step {
            lineage: Some(lineage.id),
            count: lineage.count,
            absolute: lineage.absolute,
            progress,
            verdict: verdict(&lineage, progress),
            cleared: Vec::new(),
            contradicts,
        };
        self.open.push(lineage);
        self.forget_oldest();
        step
    }

    /// Takes out the lineages of this gate or with one of these items, as one.
    fn take_linked(&mut self, attempt: &Attempt<'_>, items: &BTreeMap<String, String>) -> Option<Lineage> {
        let is_linked = |lineage: &Lineage| {
            lineage.gates.contains(attempt.gate) || items.keys().any(|key| lineage.now.contains_key(key))
        };
        let (linked, open): (Vec<Lineage>, Vec<Lineage>) =
            std::mem::take(&mut self.open).into_iter().partition(is_linked);
        self.open = open;
        linked.into_iter().reduce(link)
    }

    fn open_lineage(&mut self, attempt: &Attempt<'_>, items: BTreeMap<String, String>) -> Lineage {
        self.next += 1;
        let omitted = u64::try_from(items.len().saturating_sub(MAX_ITEMS)).unwrap_or(u64::MAX);
        let now: BTreeMap<String, Tracked> = items
            .into_iter()
            .take(MAX_ITEMS)
            .map(|(key, cause)| (key, Tracked { count: 1, cause, moved: false, gates: vec![attempt.gate.clone()] }))
            .collect();
        Lineage {
            id: self.next,
            gates: Vec::new(),
            first: now.keys().cloned().collect(),
            fewest: size(&now, omitted),
            now,
            omitted,
            signature: attempt.signature.to_owned(),
            count: 1,
            absolute: 1,
            stage: stage(attempt),
            commands: Vec::new(),
            paths: Vec::new(),
            last_seen: self.seen,
        }
    }

    fn forget_oldest(&mut self) {
        while self.open.len() > MAX_LINEAGES {
            let oldest =
                self.open.iter().enumerate().min_by_key(|(_, lineage)| lineage.last_seen).map_or(0, |(at, _)| at);
            self.open.remove(oldest);
        }
    }

    /// Keeps the run; says whether the same inputs gave the other result before.
    fn note_run(&mut self, attempt: &Attempt<'_>) -> bool {
        let Some(inputs) = attempt.inputs else { return false };
        let same = |run: &&Run| run.gate == *attempt.gate && run.inputs == inputs;
        let contradicts = self.runs.iter().filter(same).any(|run| run.passed != attempt.passed);
        let run = Run { gate: attempt.gate.clone(), inputs: inputs.to_owned(), passed: attempt.passed };
        if !self.runs.contains(&run) {
            self.runs.push_back(run);
        }
        while self.runs.len() > MAX_RUNS {
            self.runs.pop_front();
        }
        contradicts
    }
}

fn verdict(lineage: &Lineage, progress: Progress) -> Verdict {
    match progress {
        Progress::Shrunk | Progress::Later | Progress::Cleared => Verdict::GoOn,
        Progress::Opened | Progress::Churn | Progress::Same if lineage.absolute >= MAX_ABSOLUTE => Verdict::Ticket,
        Progress::Opened | Progress::Churn | Progress::Same if lineage.count >= MAX_UNCHANGED => Verdict::Reground,
        Progress::Opened | Progress::Churn | Progress::Same => Verdict::GoOn,
    }
}

/// Keys with their causes. An attempt that names nothing still failed in some way: by its signature.
fn keyed(attempt: &Attempt<'_>) -> BTreeMap<String, String> {
    if attempt.items.is_empty() {
        return BTreeMap::from([(format!("signature:{}", attempt.signature), String::new())]);
    }
    attempt.items.iter().map(|item| (item.key(), item.cause.clone())).collect()
}

/// Declared place first, then whether the check got as far as running.
fn stage(attempt: &Attempt<'_>) -> (u32, u32) {
    let builds = |item: &Item| !matches!(item.kind, Kind::Compiler | Kind::MissingModule);
    (attempt.stage.unwrap_or(0), u32::from(!attempt.items.is_empty() && attempt.items.iter().all(builds)))
}

fn size(now: &BTreeMap<String, Tracked>, omitted: u64) -> u64 {
    u64::try_from(now.len()).unwrap_or(u64::MAX).saturating_add(omitted)
}

/// Two lineages that turn out to be one keep the higher counts: an item's attempts are not counted twice.
fn link(a: Lineage, b: Lineage) -> Lineage {
    let (mut into, from) = if a.id <= b.id { (a, b) } else { (b, a) };
    for gate in from.gates {
        push_bounded(&mut into.gates, gate, MAX_GATES);
    }
    for (key, tracked) in from.now {
        if into.now.len() < MAX_ITEMS {
            into.now.entry(key).or_insert(tracked);
        }
    }
    into.first.extend(from.first.into_iter().take(MAX_ITEMS.saturating_sub(into.first.len())));
    into.count = into.count.max(from.count);
    into.absolute = into.absolute.max(from.absolute);
    into.stage = into.stage.max(from.stage);
    into.fewest = size(&into.now, into.omitted);
    from.commands.into_iter().for_each(|command| push_bounded(&mut into.commands, command, MAX_COMMANDS));
    from.paths.into_iter().for_each(|path| push_bounded(&mut into.paths, path, MAX_PATHS));
    into
}

fn advance(mut lineage: Lineage, attempt: &Attempt<'_>, items: BTreeMap<String, String>) -> (Lineage, Progress) {
    let before: BTreeSet<String> = lineage.now.keys().cloned().collect();
    let before_size = size(&lineage.now, lineage.omitted);
    lineage.omitted = u64::try_from(items.len().saturating_sub(MAX_ITEMS)).unwrap_or(u64::MAX);
    // What this run could not have shown still fails as far as anyone knows.
    lineage.now.retain(|key, tracked| items.contains_key(key) || !covers(attempt, key, tracked));
    let moved = take_in(&mut lineage, attempt, items);
    let after: BTreeSet<String> = lineage.now.keys().cloned().collect();
    let after_size = size(&lineage.now, lineage.omitted);
    let at = stage(attempt);
    let progress = if at > lineage.stage {
        Progress::Later
    } else if at == lineage.stage && after.is_subset(&before) && after_size < before_size && after_size < lineage.fewest
    {
        Progress::Shrunk
    } else if after == before && !moved {
        Progress::Same
    } else {
        Progress::Churn
    };
    lineage.absolute = lineage.absolute.saturating_add(1);
    lineage.signature = attempt.signature.to_owned();
    match progress {
        Progress::Later | Progress::Shrunk => {
            lineage.count = 1;
            lineage.stage = at;
            lineage.fewest = after_size;
        }
        Progress::Opened | Progress::Churn | Progress::Same | Progress::Cleared => {
            lineage.count = lineage.count.saturating_add(1)
        }
    }
    (lineage, progress)
}

/// Counts every item of this attempt; says whether a known one failed in another way.
fn take_in(lineage: &mut Lineage, attempt: &Attempt<'_>, items: BTreeMap<String, String>) -> bool {
    let mut any_moved = false;
    for (key, cause) in items {
        if let Some(tracked) = lineage.now.get_mut(&key) {
            tracked.count = tracked.count.saturating_add(1);
            let moved = tracked.cause != cause;
            tracked.moved |= moved;
            any_moved |= moved;
            tracked.cause = cause;
            push_bounded(&mut tracked.gates, attempt.gate.clone(), MAX_GATES);
        } else if lineage.now.len() < MAX_ITEMS {
            let gates = vec![attempt.gate.clone()];
            lineage.now.insert(key, Tracked { count: 1, cause, moved: false, gates });
        }
    }
    any_moved
}

fn is_covered(lineage: &Lineage, attempt: &Attempt<'_>) -> bool {
    let hidden = lineage.omitted > 0 && matches!(attempt.covered, Covered::Items(_));
    !hidden && lineage.now.iter().all(|(key, tracked)| covers(attempt, key, tracked))
}

fn covers(attempt: &Attempt<'_>, key: &str, tracked: &Tracked) -> bool {
    match attempt.covered {
        Covered::All => true,
        Covered::Items(items) => items.contains(key),
        Covered::Gate => tracked.gates.iter().any(|gate: &Gate| attempt.gate.covers(gate)),
    }
}

fn remember(lineage: &mut Lineage, attempt: &Attempt<'_>) {
    push_bounded(&mut lineage.gates, attempt.gate.clone(), MAX_GATES);
    if let Some(command) = attempt.command {
        push_bounded(&mut lineage.commands, command.chars().take(MAX_TEXT_CHARS).collect(), MAX_COMMANDS);
    }
    for path in attempt.changed_paths {
        push_bounded(&mut lineage.paths, path.chars().take(MAX_TEXT_CHARS).collect(), MAX_PATHS);
    }
}

/// Adds what is not there yet; beyond the bound the oldest goes.
fn push_bounded<T: PartialEq>(all: &mut Vec<T>, one: T, max: usize) {
    if !all.contains(&one) {
        if all.len() >= max {
            all.remove(0);
        }
        all.push(one);
    }
}
