//! What became of each test, and of the assertions that were lost on the way.

use std::collections::{BTreeMap, BTreeSet};

use super::gone::Gone;
use super::looser::{self, Slack};
use super::model::{Claim, Digest, Finding, Hollow, Kind, Marker, Severity, Strength, Test};
use super::pair::{Item, Pairs, overlap};
use super::reach::Reach;

const EXPECTS_OTHERWISE: &str = "the values that the test expects changed";
const FITTED: &str = "the values that the test expects changed, and nothing that it tests did";

/// What the comparison knows of the two sides besides the tests.
pub(super) struct View<'a> {
    pub old: &'a [Item<'a>],
    pub new: &'a [Item<'a>],
    pub new_paths: &'a [String],
    /// Literals of each new file, by change.
    pub literals: &'a [BTreeSet<u64>],
    pub gone: &'a Gone,
    pub reach: &'a Reach,
}

/// A test that is gone, and whether that must be held.
pub(super) struct Lost {
    pub old: usize,
    pub severity: Severity,
    pub why: String,
}

/// Assertions that are new in the candidate, for those that are lost elsewhere.
struct Surplus {
    units: BTreeMap<usize, u32>,
    digests: BTreeMap<Digest, u32>,
    skeletons: BTreeMap<(usize, Digest), u32>,
}

pub(super) fn compare(view: &View<'_>, pairs: &Pairs) -> (Vec<Finding>, Vec<Lost>) {
    let mut surplus = Surplus::of(view, pairs);
    let mut findings = Vec::new();
    for (old, new) in &pairs.matched {
        let pair = Pair {
            old: view.old[*old].test,
            new: view.new[*new].test,
            path: &view.new_paths[view.new[*new].file],
            at: *new,
        };
        pair.findings(view, &mut surplus, &mut findings);
    }
    let lost = pairs.lost.iter().filter_map(|old| lost(view, pairs, &mut surplus, *old)).collect();
    for new in &pairs.gained {
        gained(view.new[*new].test, &view.new_paths[view.new[*new].file], &mut findings);
    }
    (findings, lost)
}

fn times(claims: &[Claim], of: impl Fn(&Claim) -> Digest) -> BTreeMap<Digest, u32> {
    let mut out = BTreeMap::new();
    for claim in claims {
        let count: &mut u32 = out.entry(of(claim)).or_insert(0);
        *count = count.saturating_add(claim.times);
    }
    out
}

/// What the first has more than the second.
fn minus(more: &BTreeMap<Digest, u32>, less: &BTreeMap<Digest, u32>) -> BTreeMap<Digest, u32> {
    more.iter()
        .map(|(digest, count)| (*digest, count.saturating_sub(less.get(digest).copied().unwrap_or(0))))
        .filter(|(_, count)| *count > 0)
        .collect()
}

impl Surplus {
    fn of(view: &View<'_>, pairs: &Pairs) -> Surplus {
        let mut surplus = Surplus { units: BTreeMap::new(), digests: BTreeMap::new(), skeletons: BTreeMap::new() };
        let empty = BTreeMap::new();
        for new in &pairs.gained {
            surplus.add(*new, view.new[*new].test, view.new[*new].test.effect(), &empty, &empty);
        }
        for (old, new) in &pairs.matched {
            let (old, test) = (view.old[*old].test, view.new[*new].test);
            let digests = times(&old.claims, |claim| claim.digest);
            let skeletons = times(&old.claims, |claim| claim.skeleton);
            surplus.add(*new, test, test.effect().saturating_sub(old.effect()), &digests, &skeletons);
        }
        surplus
    }
    fn add(
        &mut self,
        at: usize,
        test: &Test,
        units: u32,
        digests: &BTreeMap<Digest, u32>,
        skeletons: &BTreeMap<Digest, u32>,
    ) {
        if !test.runs() || units == 0 {
            return;
        }
        self.units.insert(at, units);
        let cases = test.parametrised.unwrap_or(1).max(1);
        for (digest, count) in minus(&times(&test.claims, |claim| claim.digest), digests) {
            let known = self.digests.entry(digest).or_insert(0);
            *known = known.saturating_add(count.saturating_mul(cases));
        }
        for (digest, count) in minus(&times(&test.claims, |claim| claim.skeleton), skeletons) {
            self.skeletons.insert((at, digest), count.saturating_mul(cases));
        }
        if cases > 1 {
            for (digest, count) in times(&test.claims, |claim| claim.skeleton) {
                self.skeletons.entry((at, digest)).or_insert(count.saturating_mul(cases - 1));
            }
        }
    }
    /// Takes assertions with these digests out of the surplus and answers how many were not there.
    fn take(&mut self, wanted: &BTreeMap<Digest, u32>) -> u32 {
        let mut missing = 0u32;
        for (digest, count) in wanted {
            let held = self.digests.entry(*digest).or_insert(0);
            let taken = (*held).min(*count);
            *held -= taken;
            missing = missing.saturating_add(count - taken);
        }
        missing
    }
    fn has(&self, wanted: &BTreeMap<Digest, u32>) -> bool {
        wanted.iter().all(|(digest, count)| self.digests.get(digest).is_some_and(|held| held >= count))
    }
}

pub(super) struct Pair<'a> {
    pub old: &'a Test,
    pub new: &'a Test,
    path: &'a str,
    at: usize,
}

impl Pair<'_> {
    pub fn finding(&self, severity: Severity, kind: Kind, before: String, after: String, message: String) -> Finding {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Finding {
            severity,
            kind,
            path: self.path.to_owned(),
            line: Some(self.new.line),
            test: Some(self.new.id.clone()),
            before: some(before),
            after: some(after),
            message,
        }
    }

    fn findings(&self, view: &View<'_>, surplus: &mut Surplus, out: &mut Vec<Finding>) {
        self.expected_failure(out);
        if self.old.claims == self.new.claims
            && self.old.parametrised == self.new.parametrised
            && self.old.hollow == self.new.hollow
            && self.old.conditional == self.new.conditional
            && self.old.cases_marked == self.new.cases_marked
            && self.old.calls == self.new.calls
        {
            return self.expectation(view, out);
        }
        if self.emptied(view, out) {
            return;
        }
        let lost = self.lost_units(view, surplus);
        if lost > 0 {
            self.removed(out);
        }
        if self.new.cases_marked > self.old.cases_marked {
            let (before, after) = (self.old.cases_marked, self.new.cases_marked);
            out.push(self.finding(
                Severity::Hold,
                Kind::SkipAdded,
                format!("{before} cases marked"),
                format!("{after} cases marked"),
                "cases of the test are marked as skipped or failing".to_owned(),
            ));
        }
        self.weakened(out);
        looser::findings(self, out);
        let file = view.new[self.at].file;
        looser::computed(self, |literal| view.literals[file].contains(&literal), out);
        self.expectation(view, out);
    }

    fn expected_failure(&self, out: &mut Vec<Finding>) {
        let Some(marker) = self.new.expected_failure.as_ref().filter(|marker| !marker.inherited) else { return };
        if let Some(known) = &self.old.expected_failure {
            if known.conditional && !marker.conditional {
                out.push(self.marked(Kind::XfailAdded, Some(known), marker, "the test is now always expected to fail"));
            }
            return;
        }
        // A test that expected an error in its body may come to do so in its attribute.
        let had_error = marker.text.contains("should_panic") && self.old.claims.iter().any(|claim| claim.error)
            || self.old.skipped.as_ref().is_some_and(|skip| !skip.conditional);
        if !had_error {
            out.push(self.marked(Kind::XfailAdded, None, marker, "the test is now expected to fail"));
        }
    }

    fn marked(&self, kind: Kind, before: Option<&Marker>, after: &Marker, message: &str) -> Finding {
        let finding = self.finding(
            Severity::Hold,
            kind,
            before.map_or(String::new(), |marker| marker.text.clone()),
            after.text.clone(),
            message.to_owned(),
        );
        Finding { line: Some(after.line), ..finding }
    }

    /// Nothing in it can fail any more.
    fn emptied(&self, view: &View<'_>, out: &mut Vec<Finding>) -> bool {
        let before = format!("{} assertions", self.old.assertions);
        let Some(why) = self.new.hollow.filter(|_| self.new.assertions == 0) else { return false };
        let inner = format!("{} > ", self.new.id);
        let file = view.new[self.at].file;
        if view.new.iter().any(|item| {
            item.file == file && item.test.runs() && item.test.assertions > 0 && item.test.id.starts_with(&inner)
        }) {
            return false; // Its subtests assert.
        }
        if self.old.assertions > 0 {
            out.push(self.finding(
                Severity::Hold,
                Kind::TestEmptied,
                before,
                "0 assertions".to_owned(),
                format!("the test cannot fail any more: {}", why.name()),
            ));
            return true;
        }
        let did_something = self.old.hollow == Some(Hollow::NoAssertion) && !self.old.calls.is_empty();
        let idle = why != Hollow::NoAssertion
            || (self.old.implicit > 0 && self.new.implicit == 0)
            || self.new.calls.is_empty();
        if did_something && idle {
            out.push(self.finding(
                Severity::Hold,
                Kind::TestEmptied,
                "ran code".to_owned(),
                why.name().to_owned(),
                "the test ran code that could fail, and no longer does".to_owned(),
            ));
        }
        did_something && idle
    }

    /// Assertions that are in no other test of the candidate either.
    fn lost_units(&self, view: &View<'_>, surplus: &mut Surplus) -> u32 {
        let deficit = self.old.effect().saturating_sub(self.new.effect());
        if deficit == 0 {
            return 0;
        }
        let cases = |test: &Test| test.parametrised.unwrap_or(1).max(1);
        let scaled = |test: &Test| -> BTreeMap<Digest, u32> {
            times(&test.claims, |claim| claim.digest)
                .into_iter()
                .map(|(digest, count)| (digest, count.saturating_mul(cases(test))))
                .collect()
        };
        let wanted = minus(&scaled(self.old), &scaled(self.new));
        let total: u32 = wanted.values().fold(0, |sum, count| sum.saturating_add(*count));
        let moved = total.saturating_sub(surplus.take(&wanted));
        let left = deficit.saturating_sub(moved);
        if left > 0 && absorbed(view, surplus, self.old, Some(self.at), left) { 0 } else { left }
    }

    fn removed(&self, out: &mut Vec<Finding>) {
        let (old, new) = (self.old, self.new);
        let fewer_cases = match (old.parametrised, new.parametrised) {
            (Some(before), Some(after)) if after < before => Some((before, after)),
            (Some(before), None) if before > 1 => Some((before, 1)),
            _ => match (old.table, new.table) {
                (Some(before), Some(after)) if after < before => Some((before, after)),
                _ => None,
            },
        };
        if let Some((before, after)) = fewer_cases {
            let severity = if new.uncounted { Severity::Note } else { Severity::Hold };
            out.push(self.finding(
                severity,
                Kind::CasesRemoved,
                format!("{before} cases"),
                format!("{after} cases"),
                "the test runs fewer cases".to_owned(),
            ));
            if old.claims.len() <= new.claims.len() || new.uncounted {
                return;
            }
        }
        let distinct = |test: &Test| u32::try_from(test.claims.len()).unwrap_or(u32::MAX);
        let uncounted = new.uncounted
            && !old.uncounted
            && distinct(new) >= 1
            && (distinct(new) >= distinct(old) || overlap(&old.calls, &new.calls) >= 0.5);
        let severity = if uncounted || self.merged() { Severity::Note } else { Severity::Hold };
        out.push(self.finding(
            severity,
            Kind::AssertionRemoved,
            format!("{} assertions", old.assertions),
            format!("{} assertions", new.assertions),
            "the test asserts less".to_owned(),
        ));
    }

    /// Several assertions became one that compares the whole: every value that was expected still is.
    fn merged(&self) -> bool {
        let old: BTreeSet<Digest> = self.old.claims.iter().map(|claim| claim.digest).collect();
        let added: Vec<&Claim> = self.new.claims.iter().filter(|claim| !old.contains(&claim.digest)).collect();
        !added.is_empty()
            && added.iter().all(|claim| claim.strength.rank() >= Strength::Equal.rank())
            && !self.old.literals.is_empty()
            && overlap(&self.old.literals, &self.new.literals) >= 1.0
    }

    fn weakened(&self, out: &mut Vec<Finding>) {
        let (before, after) =
            (times(&self.old.claims, |claim| claim.digest), times(&self.new.claims, |claim| claim.digest));
        let of = |claims: &[Claim], wanted: BTreeMap<Digest, u32>| -> Vec<Strength> {
            let mut found: Vec<Strength> =
                claims.iter().filter(|claim| wanted.contains_key(&claim.digest)).map(|claim| claim.strength).collect();
            found.sort_by_key(|strength| std::cmp::Reverse(strength.rank()));
            found
        };
        let gone = of(&self.old.claims, minus(&before, &after));
        let fresh = of(&self.new.claims, minus(&after, &before));
        let drop = gone
            .iter()
            .zip(&fresh)
            .map(|(old, new)| (old.rank() - new.rank(), *old, *new))
            .max_by_key(|(drop, ..)| *drop);
        match drop {
            Some((drop, old, new)) if drop > 0 => {
                let severity = if drop >= 2 { Severity::Hold } else { Severity::Note };
                out.push(self.finding(
                    severity,
                    Kind::AssertionWeakened,
                    old.name().to_owned(),
                    new.name().to_owned(),
                    "an assertion demands less".to_owned(),
                ));
            }
            _ => self.guarded(out),
        }
        if self.new.dead_claims > self.old.dead_claims
            && self.new.assertions < self.old.assertions.saturating_add(self.new.dead_claims)
            && !gone.is_empty()
            && fresh.len() < gone.len()
        {
            let why = self.new.dead.map_or("they cannot fail", Hollow::name);
            out.push(self.finding(
                Severity::Hold,
                Kind::AssertionWeakened,
                format!("{} dead", self.old.dead_claims),
                format!("{} dead", self.new.dead_claims),
                format!("assertions of the test cannot fail any more: {why}"),
            ));
        }
    }

    /// All of its assertions now stand under a condition.
    fn guarded(&self, out: &mut Vec<Finding>) {
        let all = u32::try_from(self.new.claims.len()).unwrap_or(u32::MAX);
        if self.old.conditional == 0 && self.new.conditional > 0 && self.new.conditional >= all {
            out.push(self.finding(
                Severity::Hold,
                Kind::AssertionWeakened,
                "always run".to_owned(),
                "run under a condition".to_owned(),
                "the test's assertions may now not run at all".to_owned(),
            ));
        }
    }

    fn expectation(&self, view: &View<'_>, out: &mut Vec<Finding>) {
        let skeletons = |test: &Test| times(&test.claims, |claim| claim.skeleton);
        let changed = self.old.body_digest != self.new.body_digest
            && (self.old.shape_digest == self.new.shape_digest
                || (self.old.claims != self.new.claims && skeletons(self.old) == skeletons(self.new)))
            && self.old.literals != self.new.literals;
        if changed {
            // What the code does is what it did: the expectation is made to fit it.
            let (severity, message) = match self.expects_otherwise() {
                true if !view.reach.may_change(self.old) => (Severity::Hold, FITTED),
                true => (Severity::Note, EXPECTS_OTHERWISE),
                false => (Severity::Note, "the values that the test uses changed"),
            };
            let none = String::new;
            out.push(self.finding(severity, Kind::ExpectationChanged, none(), none(), message.to_owned()));
        }
    }

    /// An assertion that names a value now names another, and the old value is gone from the test.
    fn expects_otherwise(&self) -> bool {
        let exact = |test: &Test| -> BTreeSet<Digest> {
            let claims = test.claims.iter().filter(|claim| claim.strength.rank() >= Strength::Partial.rank());
            claims.map(|claim| claim.digest).collect()
        };
        // How far a value may differ is judged for itself.
        let slack: BTreeSet<u64> =
            self.old.claims.iter().filter_map(|claim| claim.slack.as_ref()).map(Slack::literal).collect();
        let lost =
            self.old.literals.iter().any(|literal| !self.new.literals.contains(literal) && !slack.contains(literal));
        lost && exact(self.old) != exact(self.new)
    }
}

/// A test of the candidate took over what the old one asserted: it calls the same, knows the same values, and has
/// as many assertions more than before.
fn absorbed(view: &View<'_>, surplus: &mut Surplus, old: &Test, except: Option<usize>, units: u32) -> bool {
    let wanted = units.max(1);
    let skeletons: BTreeSet<Digest> = old.claims.iter().map(|claim| claim.skeleton).collect();
    let fits = |at: usize, held: u32| {
        let item = view.new[at];
        let many = item.test.parametrised.is_some() || item.test.table.is_some() || item.test.uncounted;
        let literals = if many {
            overlap(&old.literals, &view.literals[item.file]).max(overlap(&old.literals, &item.test.literals))
        } else {
            overlap(&old.literals, &item.test.literals)
        };
        let same_form = skeletons.iter().filter(|digest| surplus.skeletons.contains_key(&(at, **digest))).count();
        let enough = held >= wanted || item.test.uncounted;
        let alike =
            overlap(&old.calls, &item.test.calls) >= 0.5 || same_form == skeletons.len() && !skeletons.is_empty();
        Some(at) != except && enough && literals >= 0.7 && alike
    };
    let Some(at) = surplus.units.iter().find(|(at, held)| fits(**at, **held)).map(|(at, _)| *at) else { return false };
    if let Some(held) = surplus.units.get_mut(&at) {
        *held = held.saturating_sub(wanted);
    }
    true
}

fn lost(view: &View<'_>, _pairs: &Pairs, surplus: &mut Surplus, at: usize) -> Option<Lost> {
    let test = view.old[at].test;
    let cases = test.parametrised.unwrap_or(1).max(1);
    let wanted: BTreeMap<Digest, u32> = times(&test.claims, |claim| claim.digest)
        .into_iter()
        .map(|(digest, count)| (digest, count.saturating_mul(cases)))
        .collect();
    if !wanted.is_empty() && surplus.has(&wanted) {
        surplus.take(&wanted);
        return None;
    }
    if !test.claims.is_empty() && absorbed(view, surplus, test, None, test.effect()) {
        return None;
    }
    let note = |why: String| Some(Lost { old: at, severity: Severity::Note, why });
    if let Some(symbol) = view.gone.subject(test) {
        return note(format!("the test is gone together with `{symbol}`, which it tested"));
    }
    if test.hollow.is_some_and(|why| why != Hollow::NoAssertion) {
        return note(format!("the test is gone; it could not fail: {}", test.hollow.map_or("", Hollow::name)));
    }
    if test.skipped.as_ref().is_some_and(|marker| !marker.conditional) {
        return note("the test is gone; it was skipped".to_owned());
    }
    Some(Lost {
        old: at,
        severity: Severity::Hold,
        why: "the test is gone, and nothing in the change asserts what it asserted".to_owned(),
    })
}

/// A test that is new: what is odd about it is a note.
fn gained(test: &Test, path: &str, out: &mut Vec<Finding>) {
    let marks = [
        (Kind::SkipAdded, &test.skipped, "a new test is skipped"),
        (Kind::XfailAdded, &test.expected_failure, "a new test is expected to fail"),
    ];
    for (kind, marker, message) in marks {
        let errors = test.claims.iter().any(|claim| claim.error);
        let Some(marker) = marker.as_ref().filter(|marker| !marker.inherited && (kind == Kind::SkipAdded || !errors))
        else {
            continue;
        };
        out.push(Finding {
            severity: Severity::Note,
            kind,
            path: path.to_owned(),
            line: Some(marker.line),
            test: Some(test.id.clone()),
            before: None,
            after: Some(marker.text.clone()),
            message: message.to_owned(),
        });
    }
}
