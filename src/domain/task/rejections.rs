//! How often finishing was refused: counted in the ledger, so that it outlives processes and conversations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::contract::CriterionId;
use crate::domain::digest::Digest;
use crate::domain::stamp::{Length, Stamp};

/// How often in a row finishing is refused on the same basis before a person should be asked.
pub const MAX_UNCHANGED: u32 = 3;
/// How often it is refused at all before that, unless there is progress.
pub const MAX_TOTAL: u32 = 8;
/// How long one end of a turn may be told twice and count once. Not longer, so that a host which gives every turn the
/// same id is let go all the same.
pub const SAME_TURN: Length = Length::seconds(60);

/// How often finishing was refused. Reset only by progress: fewer unmet criteria than ever before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rejections {
    pub total: u32,
    /// Refusals in a row on the same basis (unmet set and tree).
    pub unchanged: u32,
    pub basis: Option<Digest>,
    pub unmet: Vec<CriterionId>,
    /// The fewest criteria that were unmet in any refusal: only fewer are progress.
    pub fewest: Option<usize>,
    /// Each unmet criterion with how often it was so, for the same reason.
    pub repeats: Vec<Repeat>,
    /// The claim under which it was refused last.
    pub fence: u64,
    /// The turn whose end was refused last, as the host calls it.
    pub turn: Option<Turn>,
    /// Since when no turn is held up any more.
    pub exhausted: Option<Stamp>,
}

/// A criterion that stayed unmet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    pub criterion: CriterionId,
    /// Its state, and the inputs that it was judged on.
    pub basis: Digest,
    /// How often before the last refusal it was unmet on the same basis.
    pub count: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    pub id: String,
    pub at: Stamp,
}

/// One refusal, as it is counted.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    pub fence: u64,
    pub unmet: &'a [CriterionId],
    pub basis: &'a Digest,
    /// Of each unmet criterion, in the same order; empty in what an earlier kctl recorded.
    pub bases: &'a [Digest],
    pub turn: Option<&'a str>,
    pub at: Stamp,
}

impl Rejections {
    /// Counts one more.
    pub fn count(&mut self, refused: &Refused<'_>) {
        let unmet = refused.unmet.len();
        let progress = self.fewest.is_some_and(|fewest| (1..fewest).contains(&unmet));
        self.total = if progress { 1 } else { self.total.saturating_add(1) };
        self.unchanged = match &self.basis {
            Some(last) if last == refused.basis => self.unchanged.saturating_add(1),
            _ => 1,
        };
        if progress {
            self.exhausted = None;
        }
        if unmet > 0 {
            self.fewest = Some(self.fewest.map_or(unmet, |fewest| fewest.min(unmet)));
        }
        self.repeats = refused.unmet.iter().zip(refused.bases).map(|(id, basis)| self.again(id, basis)).collect();
        self.basis = Some(refused.basis.clone());
        self.unmet = refused.unmet.to_vec();
        self.fence = refused.fence;
        self.turn = refused.turn.map(|id| Turn { id: id.to_owned(), at: refused.at });
    }

    fn again(&self, id: &CriterionId, basis: &Digest) -> Repeat {
        let same = self.repeats.iter().find(|known| known.criterion == *id && known.basis == *basis);
        let count = same.map_or(0, |known| known.count.saturating_add(1));
        Repeat { criterion: id.clone(), basis: basis.clone(), count }
    }

    /// How often before the last refusal the criterion `id` was unmet for the same reason.
    pub fn repeats_of(&self, id: &CriterionId) -> u32 {
        self.repeats.iter().find(|known| known.criterion == *id).map_or(0, |known| known.count)
    }

    /// How many refusals are left before nobody is held up any more.
    pub fn left(&self) -> u32 {
        match self.exhausted {
            Some(_) => 0,
            None => MAX_UNCHANGED.saturating_sub(self.unchanged).min(MAX_TOTAL.saturating_sub(self.total)),
        }
    }

    /// Whether it was refused more often than it may be without progress.
    pub fn is_over(&self) -> bool {
        self.unchanged > MAX_UNCHANGED || self.total > MAX_TOTAL
    }

    /// Whether the task is given up on until there is progress, where `unmet` criteria are unmet now.
    pub fn is_shut(&self, unmet: usize) -> bool {
        self.exhausted.is_some() && unmet > 0 && self.fewest.is_none_or(|fewest| unmet >= fewest)
    }

    /// Whether the end of turn `id` was refused just now, so that it is told a second time.
    pub fn is_same_turn(&self, id: &str, now: Stamp) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.id == id && turn.at.plus(SAME_TURN) > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<CriterionId> {
        names.iter().map(|name| name.parse().expect("legal")).collect()
    }

    fn refuse(rejections: &mut Rejections, names: &[&str], tree: &str) {
        let unmet = ids(names);
        let bases: Vec<Digest> = names.iter().map(|name| Digest::of(name.as_bytes())).collect();
        let basis = Digest::of(tree.as_bytes());
        let at = Stamp(0);
        rejections.count(&Refused { fence: 1, unmet: &unmet, basis: &basis, bases: &bases, turn: Some("a"), at });
    }

    #[test]
    fn only_fewer_unmet_criteria_than_ever_reset_the_count() {
        let mut rejections = Rejections::default();
        for (names, tree, total, unchanged) in [
            (&["a", "b", "c"][..], "1", 1, 1),
            (&["a", "b", "c"], "1", 2, 2),
            (&["a", "b", "c"], "2", 3, 1),
            (&["a", "b"], "3", 1, 1),
            (&["a", "b", "c"], "4", 2, 1),
            // Going back to two is no progress: two were unmet before.
            (&["a", "b"], "5", 3, 1),
            (&["b"], "6", 1, 1),
        ] {
            refuse(&mut rejections, names, tree);
            assert_eq!((rejections.total, rejections.unchanged), (total, unchanged), "{names:?} {tree}");
        }
    }

    #[test]
    fn each_criterion_has_a_count_of_its_own() {
        let mut rejections = Rejections::default();
        refuse(&mut rejections, &["a", "b"], "1");
        refuse(&mut rejections, &["a", "b"], "2");
        refuse(&mut rejections, &["b", "c"], "3");
        let counts = ["a", "b", "c"].map(|name| rejections.repeats_of(&name.parse().expect("legal")));
        assert_eq!(counts, [0, 2, 0]);
    }

    #[test]
    fn what_is_exhausted_is_shut_until_less_is_unmet() {
        let mut rejections = Rejections::default();
        refuse(&mut rejections, &["a", "b"], "1");
        rejections.exhausted = Some(Stamp(0));
        assert_eq!([0, 1, 2, 3].map(|unmet| rejections.is_shut(unmet)), [false, false, true, true]);
        assert_eq!(rejections.left(), 0);
        refuse(&mut rejections, &["a"], "2");
        assert_eq!((rejections.exhausted, rejections.left()), (None, 2));
    }

    #[test]
    fn one_turn_told_twice_is_one_for_a_minute() {
        let mut rejections = Rejections::default();
        refuse(&mut rejections, &["a"], "1");
        assert!(rejections.is_same_turn("a", Stamp(59_999)) && !rejections.is_same_turn("b", Stamp(0)));
        assert!(!rejections.is_same_turn("a", Stamp(60_000)));
    }
}
