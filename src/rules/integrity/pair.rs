//! Which test of the base became which test of the candidate.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Digest, Test};

/// More pairs than this are not weighed against each other.
const MAX_WEIGHED: usize = 60_000;
const ALIKE: f64 = 0.6;
const SAME_NAME_ALIKE: f64 = 0.3;

/// A test and the index of the change that it stands in.
#[derive(Clone, Copy)]
pub(super) struct Item<'t> {
    pub file: usize,
    pub test: &'t Test,
}

pub(super) struct Pairs {
    /// Old index and new index.
    pub matched: Vec<(usize, usize)>,
    pub lost: Vec<usize>,
    pub gained: Vec<usize>,
}

pub(super) fn pair(old: &[Item<'_>], new: &[Item<'_>]) -> Pairs {
    let mut state = State { old, new, partner: vec![None; old.len()], taken: vec![false; new.len()] };
    state.by_key(|item| Some((item.file, item.test.id.clone(), 0)));
    state.by_key(|item| known_body(item.test).map(|digest| (0, item.test.name.clone(), digest)));
    state.by_key(|item| known_body(item.test).map(|digest| (item.file, String::new(), digest)));
    state.by_key(|item| known_body(item.test).map(|digest| (0, String::new(), digest)));
    state.by_likeness(|a, b| a.test.name == b.test.name && a.file == b.file, 0.0);
    state.by_likeness(|a, b| a.test.name == b.test.name, SAME_NAME_ALIKE);
    state.by_likeness(|a, b| a.file == b.file, ALIKE);
    let matched: Vec<(usize, usize)> =
        state.partner.iter().enumerate().filter_map(|(at, partner)| partner.map(|new| (at, new))).collect();
    let lost = (0..old.len()).filter(|at| state.partner[*at].is_none()).collect();
    let gained = (0..new.len()).filter(|at| !state.taken[*at]).collect();
    Pairs { matched, lost, gained }
}

/// A body that says something: an empty one is like every other empty one.
fn known_body(test: &Test) -> Option<Digest> {
    (test.assertions > 0 || test.calls.len() > 1).then_some(test.body_digest)
}

struct State<'a> {
    old: &'a [Item<'a>],
    new: &'a [Item<'a>],
    partner: Vec<Option<usize>>,
    taken: Vec<bool>,
}

type Key = (usize, String, Digest);

impl State<'_> {
    fn by_key(&mut self, key: impl Fn(&Item<'_>) -> Option<Key>) {
        let mut free: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for (at, item) in self.new.iter().enumerate().rev() {
            if let Some(key) = key(item).filter(|_| !self.taken[at]) {
                free.entry(key).or_default().push(at);
            }
        }
        for (at, item) in self.old.iter().enumerate() {
            if self.partner[at].is_none()
                && let Some(found) = key(item).and_then(|key| free.get_mut(&key)?.pop())
            {
                self.partner[at] = Some(found);
                self.taken[found] = true;
            }
        }
    }
    fn by_likeness(&mut self, may: impl Fn(&Item<'_>, &Item<'_>) -> bool, least: f64) {
        let free: Vec<usize> = (0..self.new.len()).filter(|at| !self.taken[*at]).collect();
        let open: Vec<usize> = (0..self.old.len()).filter(|at| self.partner[*at].is_none()).collect();
        if free.len().saturating_mul(open.len()) > MAX_WEIGHED {
            return;
        }
        let mut weighed: Vec<(f64, usize, usize)> = Vec::new();
        for old in &open {
            for new in &free {
                if may(&self.old[*old], &self.new[*new]) {
                    let score = likeness(self.old[*old].test, self.new[*new].test);
                    if score >= least {
                        weighed.push((score, *old, *new));
                    }
                }
            }
        }
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        for (_, old, new) in weighed {
            if self.partner[old].is_none() && !self.taken[new] {
                self.partner[old] = Some(new);
                self.taken[new] = true;
            }
        }
    }
}

/// How much of the old test is found in the new one, from 0 to 1.
pub(super) fn likeness(old: &Test, new: &Test) -> f64 {
    if old.body_digest == new.body_digest {
        return 1.0;
    }
    let held: BTreeSet<Digest> = new.claims.iter().map(|claim| claim.digest).collect();
    let kept = old.claims.iter().filter(|claim| held.contains(&claim.digest)).count();
    let claims = if old.claims.is_empty() {
        f64::from(u8::from(old.shape_digest == new.shape_digest))
    } else {
        share(kept, old.claims.len())
    };
    0.5 * claims + 0.25 * overlap(&old.calls, &new.calls) + 0.25 * overlap(&old.literals, &new.literals)
}

/// The share of the first set that is in the second.
pub(super) fn overlap<T: Ord>(old: &BTreeSet<T>, new: &BTreeSet<T>) -> f64 {
    if old.is_empty() { 1.0 } else { share(old.intersection(new).count(), old.len()) }
}

fn share(part: usize, whole: usize) -> f64 {
    let small = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    small(part) / small(whole.max(1))
}
